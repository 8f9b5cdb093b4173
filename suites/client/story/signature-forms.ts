/** Checks a signature without a search: right, right in another encoding, or right for other likely bytes. */

import { type HeaderFields, splitHeader, writeHeader } from '../../engine/signer/draft.ts'
import type { Diagnosis, NamedMistake } from '../../lab/diagnose.ts'
import { type VerifyInput, verify } from '../../lab/verify.ts'
import type { SignatureCheck, SignatureFault } from './mistake-checks.ts'

/** Right as sent, or with the padding that the document's own sample leaves out, of the nonce or the signature. */
export function isRight(input: VerifyInput): boolean {
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

export function timestampFaults(fields: HeaderFields | null): SignatureFault[] {
  if (fields === null || /^\d{13}$/.test(fields.timestamp)) return []
  return [
    fault('signature/timestamp-ms', `The timestamp is "${fields.timestamp}". Send milliseconds since 1970, 13 digits`),
  ]
}

const hex = /^([0-9a-f]{40}|[0-9a-f]{64}|[0-9a-f]{128})$/i

/** The encoding of a signature whose bytes are right; null if they are wrong. */
export function encodingFaults(input: VerifyInput, fields: HeaderFields | null): SignatureFault[] | null {
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
export function certainFaults({ key }: VerifyInput, fields: HeaderFields | null): SignatureFault[] {
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
export function formFaults(input: VerifyInput): SignatureFault[] | null {
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
export function otherIdFaults(input: VerifyInput): SignatureFault[] | null {
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
export function asSentDiagnosis({ body }: VerifyInput, diagnosis: Diagnosis): Diagnosis {
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
