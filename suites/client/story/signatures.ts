import type { DiagnoseInput, Diagnosis, NamedMistake } from '../../diagnose/diagnose.ts'
import { readHeader } from '../../diagnose/reading.ts'
import { type VerifyInput, verify } from '../../diagnose/verify.ts'
import type { HeaderFields } from '../../engine/signer/header.ts'
import { splitHeader, writeHeader } from '../../engine/signer/header.ts'
import type { JournalKey } from '../journal.ts'
import { headerOf } from './authorization.ts'
import { checkOfMistake, type SignatureCheck, signatureChecks } from './mistake-checks.ts'
import type { Request, Story } from './story.ts'

/** What a signed request shows about the checks of signatures. */
export interface SignedRequest {
  request: Request
  /** The checks that it shows to hold. */
  shows: readonly SignatureCheck[]
  faults: readonly SignatureFault[]
}

export interface SignatureFault {
  check: SignatureCheck
  /** What is wrong, and what would be right. */
  message: string
  /** What the diagnosis says, line by line. */
  diagnosis: readonly string[]
}

/** Names the mistake in a signature that does not verify; null where it has no more time for that. */
export type Explain = (input: DiagnoseInput) => Diagnosis | null

const uri = '/api'

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
    uri,
    body: request.exchange.body,
  }
  const { fields } = readHeader(header, input)
  const faults = [...timestampFaults(fields)]
  if (isRight(input)) return shown(key, faults)
  const known = encodingFaults(input, fields) ?? otherIdFaults(input)
  if (known !== null) return shown(key, [...faults, ...known])
  const host = headerOf(request.exchange, 'host') ?? '127.0.0.1'
  const diagnosis = explain({ ...input, url: `http://${host}${request.exchange.target}` })
  return shownByDiagnosis(key, faults, diagnosis && asSentDiagnosis(input, diagnosis))
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

/** A body whose id was put in after it was signed. */
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
  return [{ check: 'signature/body-as-sent', message, diagnosis: [] }]
}

function shownByDiagnosis(
  key: JournalKey,
  faults: SignatureFault[],
  diagnosis: Diagnosis | null,
): Omit<SignedRequest, 'request'> {
  if (diagnosis === null) return { shows: [], faults }
  const told = linesOf(diagnosis)
  const found = diagnosis.mistakes.map(
    (mistake): SignatureFault => ({
      check: checkOfMistake(mistake, key.kind),
      message: `${mistake.title}. ${mistake.fix}`,
      diagnosis: told,
    }),
  )
  const ofTimestamp = found.some(({ check }) => check === 'signature/timestamp-ms') ? [] : faults
  if (diagnosis.explained) return shown(key, [...ofTimestamp, ...found])
  const unexplained: SignatureFault = {
    check: 'signature/values-as-signed',
    message: 'The signature does not fit the bytes that were sent, and none of the known mistakes explains it',
    diagnosis: told,
  }
  return { shows: [], faults: [...ofTimestamp, ...found, unexplained] }
}

/** What is explained leaves everything else right. */
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

export function signingKey(key: JournalKey): VerifyInput['key'] {
  if (key.kind === 'secret') return { kind: 'secret', secret: key.secret }
  return key.seed === undefined
    ? { kind: 'ed25519-public', publicKey: key.publicKey }
    : { kind: 'ed25519', seed: key.seed }
}

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
  const message = `The timestamp is "${fields.timestamp}". Send milliseconds since 1970, 13 digits`
  return [{ check: 'signature/timestamp-ms', message, diagnosis: [] }]
}

const hex = /^([0-9a-f]{40}|[0-9a-f]{64}|[0-9a-f]{128})$/i

/** The right bytes in another encoding; null where that is not it. */
function encodingFaults(input: VerifyInput, fields: HeaderFields | null): SignatureFault[] | null {
  if (fields === null) return null
  const { signature } = fields
  if (hex.test(signature)) {
    const bytes = Buffer.from(signature, 'hex')
    const faults = [encodingFault(`The signature is sent as ${signature.length} hex digits`)]
    if (bytes.length === 32) faults.push(lengthFault())
    return faults
  }
  if (!/[-_]/.test(signature)) return null
  const standard = signature.replaceAll('-', '+').replaceAll('_', '/')
  const { scheme } = splitHeader(input.header)
  const header = writeHeader(scheme, [fields.keyId, fields.version, fields.timestamp, fields.nonce, standard])
  return isRight({ ...input, header }) ? [encodingFault('The signature is sent as base64url, with - and _')] : null
}

function encodingFault(what: string): SignatureFault {
  return {
    check: 'signature/base64',
    message: `${what}. Encode its bytes in BASE64, with + and /`,
    diagnosis: [],
  }
}

function lengthFault(): SignatureFault {
  const message = 'All 32 bytes of the MAC are sent. Send the first 20'
  return { check: 'signature/twenty-bytes', message, diagnosis: [] }
}

function linesOf({ explained, mistakes, ruledOut }: Diagnosis): string[] {
  const named = mistakes.flatMap(({ id, title, fix }) => [`${title} (${id})`, `Fix: ${fix}`])
  if (explained) return named
  return [...named, `${ruledOut.length} known mistakes were tried, alone and in pairs, and do not explain it`]
}
