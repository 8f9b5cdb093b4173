/** Checks of signatures, and of what a key with a public key is used for: part 5 of the document. */
import { callPath } from '../../engine/document.ts'
import { type HeaderFields, splitHeader, writeHeader } from '../../engine/signer/draft.ts'
import { signatureBytes } from '../../engine/signer/ed25519.ts'
import { macBytesSent } from '../../engine/signer/hmac.ts'
import type { DiagnoseInput, Diagnosis } from '../../lab/diagnose.ts'
import { readHeader, type VerifyInput, verify } from '../../lab/verify.ts'
import { type Check, each, finding } from '../check.ts'
import { type Exchange, headerOf, type JournalKey, type SignatureShown, type Story } from '../journal.ts'

/** `of`: a mistake in a signature that breaks one of these requirements breaks this check. */
const rows: readonly [id: string, title: string, sentence: string, ...of: string[]][] = [
  [
    'signature/body-as-sent',
    'The body is signed byte for byte as it is sent',
    'requestData = UPPERCASE(HTTP method) + LF + URI + LF + request body exactly as sent + LF',
    'signatures/request-body',
  ],
  [
    'signature/method-path-newline',
    'The method in upper case, /api and the line feeds are signed',
    'requestData = UPPERCASE(HTTP method) + LF + URI + LF + request body exactly as sent + LF. The URI is /api',
    'signatures/request-line-feeds',
    'signatures/request-method',
    'signatures/request-uri',
  ],
  [
    'signature/twenty-bytes',
    'The signature is the first 20 bytes of HMAC-SHA256',
    'Key without public key (HMAC): BASE64 of the first 20 bytes (bytes 0 to 20) of HMAC-SHA256 computed with the API key secret over dataToSign',
    'signatures/hmac-length',
    'signatures/secret-key-refuses-ecc',
  ],
  [
    'signature/base64',
    'The signature is sent in BASE64',
    'BASE64 of the first 20 bytes of HMAC-SHA256; BASE64 of the signature of dataToSign made with the private key',
    'signatures/hmac-encoding',
    'signatures/ecc-encoding',
  ],
  [
    'signature/five-fields',
    'The header has its five fields in order, separated by semicolons',
    'Authorization: svc-hmac-sha256 <api_key_id>;1;<timestamp>;<nonce>;<signature> (fields separated by ";"; the second field is the literal 1)',
    'signatures/header-fields',
    'signatures/version',
    'signatures/scheme',
  ],
  [
    'signature/values-as-signed',
    'The timestamp and the nonce of the header are those that were signed',
    'dataToSign = <timestamp>;<nonce>;<requestData>; the nonce in the signed data and in the header is the same value',
  ],
  [
    'signature/timestamp-ms',
    'The timestamp is in milliseconds, 13 digits',
    'Choose timestamp (integer, as in the example a 13-digit value)',
  ],
]

const ofKeys: Check = {
  id: 'keys/public-key-signs-only',
  level: 'document',
  title: 'A key with a public key is used for ECC signatures only',
  sentence:
    'An ED25519 public key: then only ECC signatures may be used with the key. Basic is not usable with an API key that has a public key',
  source: 'interface parts 2, 4.1 and 5.2',
  judge(evidence) {
    const { keys, requests } = evidence.story
    const { exercised, findings } = judgedBySignatures(ofKeys.id, evidence)
    const isPublic = (text: unknown): boolean => keys.some(({ kind, id }) => kind === 'public' && id === text)
    const uses = each(requests, ({ authorization, params, kind }) => [
      authorization.kind === 'basic' &&
        isPublic(Buffer.from(authorization.rest.trim(), 'base64').toString('utf8').split(':', 1)[0]) &&
        'Basic credentials name a key that has a public key. Sign with its private key',
      kind === 'grant' &&
        isPublic(params.apiKeyId) &&
        'A token is requested with a key that has a public key. Sign each call instead',
    ])
    return { exercised, findings: [...uses, ...findings] }
  },
}

export const signatureChecks: readonly Check[] = [
  ofKeys,
  ...rows.map(
    ([id, title, sentence]): Check => ({
      id,
      level: 'document',
      title,
      sentence,
      source: 'interface part 5.1',
      judge: (evidence) => judgedBySignatures(id, evidence),
    }),
  ),
]

type Evidence = Parameters<Check['judge']>[0]

/** What the signed requests of a story show about one check. */
function judgedBySignatures(id: string, { signed }: Evidence): ReturnType<Check['judge']> {
  const findings = signed.flatMap(({ request, faults }) =>
    faults
      .filter(({ check }) => check === id)
      .map(({ message, diagnosis }) => ({ ...finding(message, request), diagnosis })),
  )
  return { exercised: signed.some(({ shows }) => shows.includes(id)), findings }
}

/** Names the mistake in a signature that does not verify; null when no time is left for the search. */
type Explain = (input: DiagnoseInput) => Diagnosis | null

/** Looks at every signed request of a story, in order. */
export function judgeSignatures(story: Story, explain: Explain): Evidence['signed'][number][] {
  return story.requests.flatMap((request) => {
    if (request.signed !== undefined) return [{ request, ...request.signed }]
    const { authorization, read } = request
    const key = keyOf(story, authorization.header)
    if (authorization.kind !== 'signature' || read === 'cut-off' || key === null) return []
    return [{ request, ...judgeSignature(story.setting, request, key, explain) }]
  })
}

/** What one signature shows, made with this key. @param explain null where it is known to be right */
export function judgeSignature(
  { scheme }: { scheme: string },
  exchange: Exchange,
  key: JournalKey,
  explain: Explain | null,
): SignatureShown {
  const { faults, isExplained } = explain === null ? rightSignature : faultsOf(scheme, exchange, key, explain)
  // An explained mistake means that everything else is right.
  const wrong = faults.map(({ check }) => check)
  return { shows: isExplained ? shownByRight(key.kind).filter((check) => !wrong.includes(check)) : [], faults }
}

/** The checks that a right signature with a key of this kind shows to hold. */
function shownByRight(kind: JournalKey['kind']): string[] {
  const ofOtherKeys = kind === 'secret' ? ofKeys.id : 'signature/twenty-bytes'
  return signatureChecks.map(({ id }) => id).filter((check) => check !== ofOtherKeys)
}

/** The key that a header names, or the only one that it can mean. */
function keyOf({ keys }: Story, header: string): JournalKey | null {
  const ids = splitHeader(header).fields.flatMap((field) => field.split(/[,:]/).map((part) => part.trim()))
  return keys.find(({ id }) => ids.includes(id)) ?? keys[0] ?? null
}

type Mistake = Diagnosis['mistakes'][number]

type Fault = Evidence['signed'][number]['faults'][number]

interface Faults {
  faults: readonly Fault[]
  /** Whether the faults are all that is wrong. */
  isExplained: boolean
}

const rightSignature: Faults = { faults: [], isExplained: true }

function faultsOf(scheme: string, exchange: Exchange, key: JournalKey, explain: Explain): Faults {
  const { httpMethod: method, target, body } = exchange
  const header = headerOf(exchange, 'authorization') ?? ''
  const input: VerifyInput = { header, key: signingKey(key), scheme, keyId: key.id, method, uri: callPath, body }
  const explained = (...faults: Fault[]): Faults => ({ faults, isExplained: true })
  const { fields } = readHeader(input)
  const ofTime = timestampFaults(fields)
  if (isRight(input)) return explained(...ofTime)
  // A search can find nothing if no part of the header is a timestamp.
  const hasTimestamp = header.split(/[\s;,]/).some((part) => isTimestamp(part))
  const form = hasTimestamp ? null : formFault(input)
  if (form !== null) return explained(form)
  const url = `http://${headerOf(exchange, 'host') ?? '127.0.0.1'}${target}`
  const diagnosis = asSent(body, explain({ ...input, url }))
  const named = diagnosis === null ? [] : diagnosedFaults(diagnosis, key)
  const faults = [...(named.some(({ check }) => check === 'signature/timestamp-ms') ? [] : ofTime), ...named]
  if (diagnosis?.explained === true) return explained(...faults)
  const late = formFault(input)
  if (late !== null) return explained(late)
  const unknown = diagnosis === null ? [] : [unexplained(diagnosis)]
  return { faults: [...faults, ...unknown, ...certainFaults(input, fields)], isExplained: false }
}

function signingKey(key: JournalKey): VerifyInput['key'] {
  if (key.kind === 'secret') return { kind: 'secret', secret: key.secret }
  const { seed, publicKey } = key
  return seed === undefined ? { kind: 'ed25519-public', publicKey } : { kind: 'ed25519', seed }
}

/** Right as sent, or with the padding of the nonce that the document's own sample leaves out. */
function isRight(input: VerifyInput): boolean {
  const { scheme, fields } = splitHeader(input.header)
  const [id = '', version = '', timestamp = '', nonce = '', signature = ''] = fields
  if (fields.length !== 5) return false
  const bare = nonce.replace(/=+$/, '')
  const padded = bare.padEnd(Math.ceil(bare.length / 4) * 4, '=')
  return [nonce, padded].some((signed) => {
    const header = writeHeader(scheme, [id, version, timestamp, signed, signature])
    return verify({ ...input, header }).valid
  })
}

const isTimestamp = (text: string): boolean => /^\d{13}$/.test(text)

// ---- faults that are known without a search

/** A fault that needs no search. */
const fault = (check: string, message: string): Fault => ({ check, message, diagnosis: [] })

function timestampFaults(fields: HeaderFields | null): Fault[] {
  if (fields === null || isTimestamp(fields.timestamp)) return []
  return [
    fault('signature/timestamp-ms', `The timestamp is "${fields.timestamp}". Send milliseconds since 1970, 13 digits`),
  ]
}

const hex = /^([0-9a-f]{40}|[0-9a-f]{64}|[0-9a-f]{128})$/i

const encodingFault = (what: string): Fault =>
  fault('signature/base64', `${what}. Encode its bytes in BASE64, with + and /`)

/** How many values are tried at most; a header in another form has fewer. */
const mostValues = 16
const longestValue = 512

/**
 * Looks for the right values in another form: with names or quotes, with a value missing or too many, in another order. Returns null if they
 * do not make a right header when they are put together again.
 */
function formFault(input: VerifyInput): Fault | null {
  const { scheme } = splitHeader(input.header)
  const words = input.header.slice(scheme.length).split(/[\s;,&|{}]+/)
  const withoutNameAndQuotes = (word: string): string =>
    word.replace(/^["']?[A-Za-z_-]{1,24}["']?[=:]/, '').replace(/^["']|["']$/g, '')
  const values = new Set(words.flatMap((word) => [word, withoutNameAndQuotes(word)]).filter((value) => value !== ''))
  const timestamp = [...values].find(isTimestamp)
  if (timestamp === undefined) return null
  const others = [...values].filter((value) => value !== timestamp && value.length <= longestValue).slice(0, mostValues)
  // Verifying a signature takes time, so only texts that may be one are tried.
  const signatures = others.filter((value) =>
    [macBytesSent, signatureBytes].includes(Buffer.from(value, 'base64').length),
  )
  const isSigned = signatures.some((signature) =>
    others.some((nonce) => {
      const header = writeHeader(input.scheme, [input.keyId ?? '', '1', timestamp, nonce, signature])
      return nonce !== signature && isRight({ ...input, header })
    }),
  )
  const message =
    'The header does not have its five fields. Send <key id>;1;<timestamp>;<nonce>;<signature>, the bare values with ";" between them'
  return isSigned ? fault('signature/five-fields', message) : null
}

/** The certain faults of an unexplained signature: it is not BASE64, or has the wrong number of bytes. */
function certainFaults({ key }: VerifyInput, fields: HeaderFields | null): Fault[] {
  if (fields === null) return []
  const { signature } = fields
  // Hex is BASE64 of other bytes too.
  const isHex = hex.test(signature)
  if (!isHex && !/^[A-Za-z0-9+/]+={0,2}$/.test(signature)) return [encodingFault('The signature is not BASE64')]
  const ofHex = isHex ? [encodingFault(`The signature is sent as ${signature.length} hex digits`)] : []
  const { length } = Buffer.from(signature, isHex ? 'hex' : 'base64')
  if (key.kind !== 'secret' || length === macBytesSent) return ofHex
  return [
    ...ofHex,
    fault('signature/twenty-bytes', `The signature has ${length} bytes. Send the first 20 of HMAC-SHA256`),
  ]
}

// ---- faults that a search names

const diagnosedFaults = (diagnosis: Diagnosis, key: JournalKey): Fault[] =>
  diagnosis.mistakes.map((mistake) => ({
    check: checkOfMistake(mistake, key.kind),
    message: `${mistake.title}. ${mistake.fix}`,
    diagnosis: linesOf(diagnosis),
    mistake: mistake.id,
  }))

const unexplained = (diagnosis: Diagnosis): Fault => ({
  check: 'signature/values-as-signed',
  message: 'The signature does not fit the bytes that were sent, and none of the known mistakes explains it',
  diagnosis: linesOf(diagnosis),
})

function linesOf({ explained, mistakes, ruledOut }: Diagnosis): string[] {
  const named = mistakes.flatMap(({ id, title, fix }) => [`${title} (${id})`, `Fix: ${fix}`])
  if (explained) return named
  return [...named, `${ruledOut.length} known mistakes were tried, alone and in pairs, and do not explain it`]
}

/** A line feed that was added to the body after signing looks like one that the data lacks at its end. */
function asSent(body: Uint8Array, diagnosis: Diagnosis | null): Diagnosis | null {
  const [only, ...others] = diagnosis?.mistakes ?? []
  const isAmbiguous = only?.id === 'data/without-final-newline' && others.length === 0 && body.at(-1) === 0x0a
  if (diagnosis === null || !isAmbiguous) return diagnosis
  const added: Mistake = {
    id: 'data/with-body-trimmed',
    title: 'The body ends with a line feed that was not signed',
    requirement: 'signatures/request-body',
    fix: 'Sign the bytes of the body exactly as they are sent',
  }
  return { ...diagnosis, mistakes: [diagnosis.alternatives.find(({ id }) => id === added.id) ?? added] }
}

/** A value of the header that is wrong in itself, not only different from the signed one. */
const byMistake: { readonly [id: string]: string } = {
  'data/with-newline-before-method': 'signature/method-path-newline',
  'data/with-timestamp-in-milliseconds': 'signature/timestamp-ms',
  'fields/timestamp-in-seconds': 'signature/timestamp-ms',
  'fields/timestamp-in-microseconds': 'signature/timestamp-ms',
  'fields/timestamp-no-integer': 'signature/timestamp-ms',
  // Twenty characters of the text instead of twenty bytes.
  'signature/cut-text': 'signature/twenty-bytes',
  'signature/cut-hex-text': 'signature/twenty-bytes',
  // BASE64 pads, although servers may take a signature without its padding.
  'signature/unpadded': 'signature/base64',
  'fields/empty-nonce': 'signature/five-fields',
  'fields/other-key-id': 'signature/five-fields',
}

/** The check whose sentence a mistake breaks; `signature/values-as-signed` for mistakes without their own check. */
function checkOfMistake({ id, requirement }: Mistake, key: JournalKey['kind']): string {
  if (requirement === 'signatures/public-key-refuses-hmac') return ofKeys.id
  const known = byMistake[id] ?? rows.find(([, , , ...of]) => of.includes(requirement))?.[0]
  if (known !== undefined) return known
  // Another computation than HMAC-SHA256, such as SHA-1, makes other bytes than its first 20.
  const isDamage = id === 'signature/damaged' || id.startsWith('signature/one-bit-flipped')
  const isComputation = id.startsWith('signature/') && requirement === 'signatures/hmac' && !isDamage
  return key === 'secret' && isComputation ? 'signature/twenty-bytes' : 'signature/values-as-signed'
}
