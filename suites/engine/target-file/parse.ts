import type { SafetyClass } from '../fixture/model.ts'
import { demand } from '../fixture/schemas.ts'
import { readYaml } from '../fixture/yaml-source.ts'

/** What a target file may say; every key is optional. Paths are as written. */
export interface TargetFile {
  url?: string
  root?: { id: string; secret?: string; privateKeyFile?: string }
  scheme?: string
  tokenPrefix?: string
  signedUri?: string
  scopeNames?: { [name: string]: string }
  allow?: SafetyClass[]
  cast?: string
  secondAddress?: string
  clientAddress?: string
  probes?: { [area: string]: { method: string; params?: unknown } }
  solutions?: string[]
  cleanup?: { method: string; params?: unknown }
  requestTimeoutMs?: number
  rate?: number
  headers?: { [name: string]: string }
  tls?: { ca?: string; insecure?: boolean }
}

/**
 * @param file the path that errors name
 * @throws SuiteError (`fixture`): an unknown key with its place and a did-you-mean, a value that does not fit
 */
export function parseTargetFile(text: string, file: string): TargetFile {
  const source = readYaml(text, file)
  if (source.value === null) return {}
  demand(source, 'target')
  const target = source.value as TargetFile
  if (target.root?.secret !== undefined && target.root.privateKeyFile !== undefined) {
    const message = 'a key has a secret or a private key, name one of "secret" and "privateKeyFile"'
    throw source.error({ path: ['root', 'privateKeyFile'], onKey: true, message })
  }
  return target
}
