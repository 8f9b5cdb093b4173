/** The parts of a call that can be changed, by the names that fixtures/deviations.yaml and the key `alter` of a step use. */

/** Which operations a part takes. */
export type OperationsOfPart = 'text' | 'bytes' | 'body forms' | 'broken bodies' | 'mistakes' | 'values'

interface Part {
  /** What it is, for a reader. */
  readonly says?: string
  readonly operations: OperationsOfPart
  /** The ways to authorize that have it; undefined: every call. */
  readonly callers?: readonly string[]
}

const signers = ['hmac', 'ecc']
const textOf = (callers: readonly string[], says: string): Part => ({ operations: 'text', callers, says })

const parts: { readonly [part: string]: Part } = {
  header: { operations: 'text', says: 'the whole header' },
  gap: textOf(['basic', 'token', ...signers], 'the space between the words of the header'),
  'basic-word': textOf(['basic'], 'the word before Basic credentials'),
  'basic-id': textOf(['basic'], 'the id in Basic credentials'),
  'basic-colon': textOf(['basic'], 'the colon in Basic credentials'),
  'basic-secret': textOf(['basic'], 'the secret in Basic credentials'),
  'basic-text': textOf(['basic'], 'what Basic credentials encode: id, colon and secret'),
  'basic-blob': textOf(['basic'], 'Basic credentials, encoded'),
  'token-word': textOf(['token'], 'the word before the token'),
  token: textOf(['token'], 'the token'),
  scheme: textOf(signers, 'the word before the fields of a signature'),
  fields: textOf(signers, 'the fields of the header as one text'),
  'key-id': textOf(signers, 'the key id in the header'),
  version: textOf(signers, 'the version in the header'),
  timestamp: textOf(signers, 'the timestamp in the header; the right one is signed'),
  nonce: textOf(signers, 'the nonce in the header; the right one is signed'),
  signature: textOf(signers, 'the signature in the header'),
  'signed-timestamp': textOf(signers, 'the timestamp that is signed; the right one is sent'),
  'signed-nonce': textOf(signers, 'the nonce that is signed; the right one is sent'),
  'signed-method': textOf(signers, 'the method that is signed'),
  'signed-uri': textOf(signers, 'the path that is signed'),
  'signed-body-text': textOf(signers, 'the body that is signed'),
  data: textOf(signers, 'the data that are signed'),
  secret: textOf(['hmac'], 'the secret that signs'),
  mac: { operations: 'bytes', callers: ['hmac'], says: 'the 32 bytes of the MAC' },
  seed: { operations: 'bytes', callers: ['ecc'], says: 'the private key that signs' },
  'signature-bytes': { operations: 'bytes', callers: signers, says: 'the bytes of the signature' },
  mistake: { operations: 'mistakes', callers: signers, says: 'a mistake in the signature' },
  'sent-body': {
    operations: 'body forms',
    callers: signers,
    says: 'the body that is sent after the right one was signed',
  },
  'signed-body': { operations: 'body forms', callers: signers, says: 'the body that is signed; the right one is sent' },
  body: { operations: 'broken bodies', says: 'the body, sent and signed' },
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
