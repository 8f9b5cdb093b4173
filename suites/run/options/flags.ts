/** The flags of `run` as they were typed. */
export interface RunFlags {
  url?: string
  keyId?: string
  keySecret?: string
  keySecretFile?: string
  privateKey?: string
  target?: string
  scheme?: string
  tokenPrefix?: string
  allow?: string
  disposable?: boolean
  only?: string[]
  skip?: string[]
  known?: string
  updateKnown?: boolean
  strict?: boolean
  report?: string[]
  shard?: string
  plan?: boolean
  wait?: string
  rate?: string
  concurrency?: string
  timeout?: string
  trace?: boolean
  observations?: boolean
  failed?: string
  watch?: boolean
  bail?: string
  fixtures?: string
  set?: string
  seed?: string
  explore?: boolean
  exploreCalls?: string
}
