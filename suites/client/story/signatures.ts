import { callPath } from '../../engine/document.ts'
import { type HeaderFields, splitHeader, writeHeader } from '../../engine/signer/draft.ts'
import type { DiagnoseInput, Diagnosis, NamedMistake } from '../../lab/diagnose.ts'
import { readHeader, type VerifyInput, verify } from '../../lab/verify.ts'
import type { JournalKey } from '../journal.ts'
import { headerOf, type Request, type Story } from './story.ts'

/** The checks about signatures. */
const signatureChecks = [
  'signature/body-as-sent',
  'signature/method-path-newline',
  'signature/twenty-bytes',
  'signature/base64',
  'signature/five-fields',
  'signature/values-as-signed',
  'signature/timestamp-ms',
  'keys/public-key-signs-only',
] as const
export type SignatureCheck = (typeof signatureChecks)[number]

interface SignatureFault {
  check: SignatureCheck
  /** What is wrong, and what would be right. */
  message: string
  /** The diagnosis, line by line. */
  diagnosis: readonly string[]
}

/** What a signed request shows about the checks of signatures. */
export interface SignedRequest {
  request: Request
  /** The checks that it shows to hold. */
  shows: readonly SignatureCheck[]
  faults: readonly SignatureFault[]
}

/** Names the mistake in a signature that does not verify; null when no time is left for the search. */
export type Explain = (input: DiagnoseInput) => Diagnosis | null

/** Looks at every signed request of a story, in order. */
export function judgeSignatures(story: Story, explain: Explain): SignedRequest[] {
  return story.requests.flatMap((request) => {
    const { authorization, body } = request
    if (authorization.kind !== 'signature' || body.kind === 'cut-off') return []
    return [{ request, ...judgeSignature(story, request, authorization.header, explain) }]
  })
}

function judgeSignature(
  story: Story,
  request: Request,
  header: string,
  explain: Explain,
): Omit<SignedRequest, 'request'> {
  const key = keyOf(story, header)
  if (key === null) return { shows: [], faults: [] }
  const input: VerifyInput = {
    header,
    key: signingKey(key),
    scheme: story.setting.scheme,
    keyId: key.id,
    method: request.exchange.httpMethod,
    uri: callPath,
    body: request.exchange.body,
  }
  const { fields } = readHeader(header, input)
  const faults = [...timestampFaults(fields)]
  if (isRight(input)) return shown(key, faults)
  // A search can find nothing if no part of the header is a timestamp.
  const form = hasTimestamp(header) ? null : formFaults(input)
  const known = form ?? encodingFaults(input, fields) ?? otherIdFaults(input)
  if (known !== null) return shown(key, form === null ? [...faults, ...known] : known)
  const host = headerOf(request.exchange, 'host') ?? '127.0.0.1'
  const diagnosis = explain({ ...input, url: `http://${host}${request.exchange.target}` })
  const judged = shownByDiagnosis(key, faults, diagnosis && asSentDiagnosis(input, diagnosis))
  if (diagnosis?.explained === true) return judged
  const ofForm = formFaults(input)
  if (ofForm !== null) return shown(key, ofForm)
  if (diagnosis === null) return judged
  return { ...judged, faults: [...judged.faults, ...certainFaults(input, fields)] }
}

const hasTimestamp = (header: string): boolean => header.split(/[\s;,]/).some((part) => /^\d{13}$/.test(part))

function shownByDiagnosis(
  key: JournalKey,
  faults: SignatureFault[],
  diagnosis: Diagnosis | null,
): Omit<SignedRequest, 'request'> {
  if (diagnosis === null) return { shows: [], faults }
  const lines = linesOf(diagnosis)
  const found = diagnosis.mistakes.map(
    (mistake): SignatureFault => ({
      check: checkOfMistake(mistake, key.kind),
      message: `${mistake.title}. ${mistake.fix}`,
      diagnosis: lines,
    }),
  )
  const ofTimestamp = found.some(({ check }) => check === 'signature/timestamp-ms') ? [] : faults
  if (diagnosis.explained) return shown(key, [...ofTimestamp, ...found])
  const unexplained: SignatureFault = {
    check: 'signature/values-as-signed',
    message: 'The signature does not fit the bytes that were sent, and none of the known mistakes explains it',
    diagnosis: lines,
  }
  return { shows: [], faults: [...ofTimestamp, ...found, unexplained] }
}

/** An explained mistake means that everything else is right. */
function shown(key: JournalKey, faults: readonly SignatureFault[]): Omit<SignedRequest, 'request'> {
  const wrong = faults.map(({ check }) => check)
  const apply = signatureChecks.filter(
    (check) => check !== (key.kind === 'secret' ? 'keys/public-key-signs-only' : 'signature/twenty-bytes'),
  )
  return { shows: apply.filter((check) => !wrong.includes(check)), faults }
}

/** The key that a header names, or the only one that it can mean. */
function keyOf({ keys }: Story, header: string): JournalKey | null {
  const ids = splitHeader(header).fields.flatMap((field) => field.split(/[,:]/).map((part) => part.trim()))
  return keys.find(({ id }) => ids.includes(id)) ?? keys[0] ?? null
}

function signingKey(key: JournalKey): VerifyInput['key'] {
  if (key.kind === 'secret') return { kind: 'secret', secret: key.secret }
  return key.seed === undefined
    ? { kind: 'ed25519-public', publicKey: key.publicKey }
    : { kind: 'ed25519', seed: key.seed }
}

function linesOf({ explained, mistakes, ruledOut }: Diagnosis): string[] {
  const named = mistakes.flatMap(({ id, title, fix }) => [`${title} (${id})`, `Fix: ${fix}`])
  if (explained) return named
  return [...named, `${ruledOut.length} known mistakes were tried, alone and in pairs, and do not explain it`]
}

// ---- the check whose sentence a mistake breaks

const byRequirement: { readonly [requirement: string]: SignatureCheck } = {
  'signatures/request-body': 'signature/body-as-sent',
  'signatures/request-line-feeds': 'signature/method-path-newline',
  'signatures/request-method': 'signature/method-path-newline',
  'signatures/request-uri': 'signature/method-path-newline',
  'signatures/hmac-length': 'signature/twenty-bytes',
  'signatures/secret-key-refuses-ecc': 'signature/twenty-bytes',
  'signatures/hmac-encoding': 'signature/base64',
  'signatures/ecc-encoding': 'signature/base64',
  'signatures/header-fields': 'signature/five-fields',
  'signatures/version': 'signature/five-fields',
  'signatures/scheme': 'signature/five-fields',
  'signatures/public-key-refuses-hmac': 'keys/public-key-signs-only',
}

/** A value of the header that is wrong in itself, not only different from the signed one. */
const byMistake: { readonly [id: string]: SignatureCheck } = {
  'data/with-newline-before-method': 'signature/method-path-newline',
  'data/with-timestamp-in-milliseconds': 'signature/timestamp-ms',
  'fields/timestamp-in-seconds': 'signature/timestamp-ms',
  'fields/timestamp-in-microseconds': 'signature/timestamp-ms',
  'fields/timestamp-no-integer': 'signature/timestamp-ms',
  // Twenty characters of the text instead of twenty bytes.
  'signature/cut-text': 'signature/twenty-bytes',
  'signature/cut-hex-text': 'signature/twenty-bytes',
  'fields/empty-nonce': 'signature/five-fields',
  'fields/other-key-id': 'signature/five-fields',
}

/** The check whose sentence a mistake breaks; `signature/values-as-signed` for mistakes without their own check. */
function checkOfMistake({ id, requirement }: NamedMistake, key: JournalKey['kind']): SignatureCheck {
  const known = byMistake[id] ?? byRequirement[requirement]
  if (known !== undefined) return known
  // Another computation than HMAC-SHA256, such as SHA-1, makes other bytes than its first 20.
  const isComputation = id.startsWith('signature/') && requirement === 'signatures/hmac' && !isDamage(id)
  return key === 'secret' && isComputation ? 'signature/twenty-bytes' : 'signature/values-as-signed'
}

const isDamage = (id: string): boolean => id === 'signature/damaged' || id.startsWith('signature/one-bit-flipped')

// ---- a signature without a search: right, right in another encoding, or right for other likely bytes

/** Right as sent, or with the padding that the document's own sample leaves out, of the nonce or the signature. */
function isRight(input: VerifyInput): boolean {
  if (verify(input).valid) return true
  const { scheme, fields } = splitHeader(input.header)
  const [id = '', version = '', timestamp = '', nonce = '', signature = ''] = fields
  if (fields.length !== 5) return false
  return [nonce, padded(nonce)].some((signed) => {
    const header = writeHeader(scheme, [id, version, timestamp, signed, padded(signature)])
    return verify({ ...input, header }).valid
  })
}

function padded(text: string): string {
  return text.replace(/=+$/, '').padEnd(Math.ceil(text.replace(/=+$/, '').length / 4) * 4, '=')
}

function timestampFaults(fields: HeaderFields | null): SignatureFault[] {
  if (fields === null || /^\d{13}$/.test(fields.timestamp)) return []
  return [
    fault('signature/timestamp-ms', `The timestamp is "${fields.timestamp}". Send milliseconds since 1970, 13 digits`),
  ]
}

const hex = /^([0-9a-f]{40}|[0-9a-f]{64}|[0-9a-f]{128})$/i

/** The encoding of a signature whose bytes are right; null if they are wrong. */
function encodingFaults(input: VerifyInput, fields: HeaderFields | null): SignatureFault[] | null {
  if (fields === null) return null
  const { signature } = fields
  if (hex.test(signature)) {
    const bytes = Buffer.from(signature, 'hex')
    const faults = [encodingFault(`The signature is sent as ${signature.length} hex digits`)]
    return bytes.length === 32 ? [...faults, wholeMac] : faults
  }
  if (!/[-_]/.test(signature)) return null
  const standard = signature.replaceAll('-', '+').replaceAll('_', '/')
  const { scheme } = splitHeader(input.header)
  const header = writeHeader(scheme, [fields.keyId, fields.version, fields.timestamp, fields.nonce, standard])
  return isRight({ ...input, header }) ? [encodingFault('The signature is sent as base64url, with - and _')] : null
}

/** The certain faults of an unexplained signature: it is not BASE64, or has the wrong number of bytes. */
function certainFaults({ key }: VerifyInput, fields: HeaderFields | null): SignatureFault[] {
  if (fields === null) return []
  const { signature } = fields
  if (!/^[A-Za-z0-9+/]+={0,2}$/.test(signature)) return [encodingFault('The signature is not BASE64')]
  const { length } = Buffer.from(signature, 'base64')
  if (key.kind !== 'secret' || length === 20) return []
  return [fault('signature/twenty-bytes', `The signature has ${length} bytes. Send the first 20 of HMAC-SHA256`)]
}

/** A fault that needs no search. */
const fault = (check: SignatureCheck, message: string): SignatureFault => ({ check, message, diagnosis: [] })

const encodingFault = (what: string): SignatureFault =>
  fault('signature/base64', `${what}. Encode its bytes in BASE64, with + and /`)

const wholeMac = fault('signature/twenty-bytes', 'All 32 bytes of the MAC are sent. Send the first 20')

/**
 * Looks for the right values in another form: with names or quotes, with a value missing or too many, in another order. Returns null if they
 * do not make a right header when they are put together again.
 */
function formFaults(input: VerifyInput): SignatureFault[] | null {
  const { scheme } = splitHeader(input.header)
  const words = input.header.slice(scheme.length).split(/[\s;,&|{}]+/)
  const values = [...new Set(words.flatMap((word) => [word, bareValue(word)]))].filter((value) => value !== '')
  const timestamp = values.find((value) => /^\d{13}$/.test(value))
  if (timestamp === undefined) return null
  const others = values.filter((value) => value !== timestamp && value.length <= longestValue).slice(0, mostValues)
  // Verifying a signature takes time, so only texts that may be one are tried.
  const signatures = others.filter((value) => [macBytes, ed25519Bytes].includes(Buffer.from(value, 'base64').length))
  const isSigned = signatures.some((signature) =>
    others.some((nonce) => {
      const header = writeHeader(input.scheme, [input.keyId ?? '', '1', timestamp, nonce, signature])
      return nonce !== signature && isRight({ ...input, header })
    }),
  )
  if (!isSigned) return null
  const message =
    'The header does not have its five fields. Send <key id>;1;<timestamp>;<nonce>;<signature>, the bare values with ";" between them'
  return [fault('signature/five-fields', message)]
}

/** How many values are tried at most; a header in another form has fewer. */
const mostValues = 16
const longestValue = 512
const macBytes = 20
const ed25519Bytes = 64

/** A value without a name before it and quotes around it. */
const bareValue = (word: string): string =>
  word.replace(/^["']?[A-Za-z_-]{1,24}["']?[=:]/, '').replace(/^["']|["']$/g, '')

/** A body whose id was added after it was signed. */
function otherIdFaults(input: VerifyInput): SignatureFault[] | null {
  const text = new TextDecoder().decode(input.body)
  const id = /"id"\s*:\s*(-?\d+)/.exec(text)
  if (id === null) return null
  const number = Number(id[1])
  const others = ['0', '1', 'null', '-1', String(number - 1), String(number + 1)]
  const isSigned = others.some((other) => {
    const signed = text.replace(id[0], id[0].replace(/-?\d+$/, other))
    return isRight({ ...input, body: new TextEncoder().encode(signed) })
  })
  if (!isSigned) return null
  const message = 'The body was signed with another id than it was sent with. Sign the bytes exactly as they are sent'
  return [fault('signature/body-as-sent', message)]
}

/** A line feed that was added to the body after signing looks like one that the data lacks at its end. */
function asSentDiagnosis({ body }: VerifyInput, diagnosis: Diagnosis): Diagnosis {
  const trimmed = [...diagnosis.mistakes, ...diagnosis.alternatives].find(({ id }) => id === 'data/with-body-trimmed')
  const [only, ...others] = diagnosis.mistakes
  const isAmbiguous = only?.id === 'data/without-final-newline' && others.length === 0 && body.at(-1) === 0x0a
  if (!isAmbiguous) return diagnosis
  const added: NamedMistake = {
    id: 'data/with-body-trimmed',
    title: 'The body ends with a line feed that was not signed',
    requirement: 'signatures/request-body',
    fix: 'Sign the bytes of the body exactly as they are sent',
  }
  return { ...diagnosis, mistakes: [trimmed ?? added] }
}
