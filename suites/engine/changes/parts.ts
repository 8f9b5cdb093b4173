/** The parts of a call that can be changed, by the names that fixtures/deviations.yaml and the key `alter` of a step use. */

/** Which operations a part takes. */
export type OperationsOfPart = 'text' | 'bytes' | 'body forms' | 'broken bodies' | 'mistakes' | 'values'

interface Part {
  readonly operations: OperationsOfPart
  /** The ways to authorize that have it; undefined: every call. */
  readonly callers?: readonly string[]
}

const signers = ['hmac', 'ecc']
const textOf = (callers: readonly string[]): Part => ({ operations: 'text', callers })

const parts: { readonly [part: string]: Part } = {
  header: { operations: 'text' },
  gap: textOf(['basic', 'token', ...signers]),
  'basic-word': textOf(['basic']),
  'basic-id': textOf(['basic']),
  'basic-colon': textOf(['basic']),
  'basic-secret': textOf(['basic']),
  'basic-text': textOf(['basic']),
  'basic-blob': textOf(['basic']),
  'token-word': textOf(['token']),
  token: textOf(['token']),
  scheme: textOf(signers),
  fields: textOf(signers),
  'key-id': textOf(signers),
  version: textOf(signers),
  timestamp: textOf(signers),
  nonce: textOf(signers),
  signature: textOf(signers),
  'signed-timestamp': textOf(signers),
  'signed-nonce': textOf(signers),
  'signed-method': textOf(signers),
  'signed-uri': textOf(signers),
  'signed-body-text': textOf(signers),
  data: textOf(signers),
  secret: textOf(['hmac']),
  mac: { operations: 'bytes', callers: ['hmac'] },
  seed: { operations: 'bytes', callers: ['ecc'] },
  'signature-bytes': { operations: 'bytes', callers: signers },
  mistake: { operations: 'mistakes', callers: signers },
  'sent-body': { operations: 'body forms', callers: signers },
  'signed-body': { operations: 'body forms', callers: signers },
  body: { operations: 'broken bodies' },
}

/** `param NAME`, `member NAME` (of the request), `name-of NAME`, and `scope 0`: a word of a list. */
const named: readonly [RegExp, Part][] = [
  [/^(param|member) \S+$/, { operations: 'values' }],
  [/^name-of \S+$|^[A-Za-z]+ \d+$/, { operations: 'text' }],
]

/** undefined: there is no such part. */
export const partNamed = (name: string): Part | undefined =>
  Object.hasOwn(parts, name) ? parts[name] : named.find(([pattern]) => pattern.test(name))?.[1]

/** For a reader who mistyped one. */
export const partNames: readonly string[] = [
  ...Object.keys(parts),
  'param apiKeyId',
  'param apiKeySecret',
  'param grantType',
  'param refreshToken',
  'param scope',
  'param name',
  'param publicKey',
  'member jsonrpc',
  'member id',
  'member method',
  'member params',
]
