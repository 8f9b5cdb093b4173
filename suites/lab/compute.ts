/** Computes what the lab page shows for its fields. Pure: the page only reads fields and draws the result. */

import { fromBase64Strict, utf8 } from '../engine/signer/bytes.ts'
import { type Piece, piecesOf, type Signed, type SigningKey, signDraft } from '../engine/signer/draft.ts'
import { publicKeyFromPem, seedFromPkcs8 } from '../engine/signer/pem.ts'
import { draftOf } from '../engine/signer/sign.ts'
import { type DiagnoseInput, type Diagnosis, diagnose } from './diagnose.ts'
import { readPasted, sentBody } from './request.ts'
import { readHeader, verify } from './verify.ts'

/** The fields of the page, as typed. */
interface LabFields {
  /** Header, curl line, raw request, or call of fetch or PowerShell. */
  request: string
  body: string
  bodyForm: 'text' | 'crlf' | 'base64'
  /** Secret, or PEM of an Ed25519 key. */
  key: string
  /** One secret per line. */
  otherSecrets: string
  method: string
  uri: string
  url: string
  scheme: string
  /** The caller's own data to sign; empty for none. */
  ownData: string
}

type LabResult =
  /** Something is missing or cannot be read. */
  | { kind: 'waiting'; message: string }
  | {
      kind: 'checked'
      input: DiagnoseInput
      verification: ReturnType<typeof verify>
      diagnosis: Diagnosis
      /** The right data to sign, byte by byte with their origin; null if the header has no timestamp and nonce. */
      pieces: Piece[] | null
      /** The right signature; null with a public key alone. */
      right: Signed | null
      /** Where the body came from, if not from its own field. */
      note: string
    }

/** Everything the page shows. Never throws. */
export function labResult(fields: LabFields): LabResult {
  const pasted = readPasted(fields.request)
  if (pasted.unreadable !== undefined) return waiting(`Cannot read the request: ${pasted.unreadable}`)
  const { withheld } = pasted
  if (withheld?.header !== undefined) return waiting(`Cannot take the header from the request: ${withheld.header}`)
  if (fields.request.trim() === '' || pasted.header === undefined || pasted.header === '') {
    return waiting('Paste an Authorization header, a curl line or a raw request')
  }
  const key = keyOf(fields.key)
  if (typeof key === 'string') return waiting(key)
  if (fields.body === '' && withheld?.body !== undefined)
    return waiting(`Cannot take the body from the request: ${withheld.body}; paste it into the field "Body"`)
  const fromRequest = fields.body === '' && pasted.body !== undefined
  const body = fromRequest ? pasted.body : bodyOf(fields)
  if (body === undefined) return waiting('The body is not padded BASE64')
  const url = fields.url.trim() || (pasted.url?.includes('://') ? pasted.url : undefined)
  const input: DiagnoseInput = {
    header: pasted.header,
    key,
    otherKeys: otherKeysOf(fields.otherSecrets),
    scheme: fields.scheme.trim(),
    method: fields.method.trim() || pasted.method || 'POST',
    uri: fields.uri,
    ...sentBody(pasted, body),
    url,
    callersData: fields.ownData === '' ? undefined : utf8(fields.ownData),
  }
  const file = fields.body === '' ? pasted.bodyFile?.path : undefined
  const fromFile = file === undefined ? '' : `The request takes its body from "${file}": paste it into the field "Body"`
  const note = fromRequest ? 'The body is the one of the pasted request' : fromFile
  return { kind: 'checked', input, ...stagesOf(input), note }
}

function stagesOf(input: DiagnoseInput) {
  const { fields } = readHeader(input)
  const { method, uri, body, key } = input
  const canSign = fields !== null && key.kind !== 'ed25519-public'
  return {
    verification: verify(input),
    diagnosis: diagnose(input),
    pieces: fields === null ? null : piecesOf({ ...fields, method, uri, body }),
    right: canSign ? signDraft(draftOf({ ...input, ...fields })) : null,
  }
}

/** The key, or what is wrong with it. */
function keyOf(text: string): SigningKey | string {
  const typed = text.replace(/\r?\n$/, '')
  if (typed === '') return 'Give the secret of the key, or its private or public key in PEM'
  try {
    if (typed.includes('-----BEGIN PUBLIC KEY-----')) {
      return { kind: 'ed25519-public', publicKey: publicKeyFromPem(typed) }
    }
    if (typed.includes('-----BEGIN')) return { kind: 'ed25519', seed: seedFromPkcs8(typed) }
  } catch (error) {
    return `Cannot use this key: ${(error as Error).message}`
  }
  return { kind: 'secret', secret: typed }
}

function bodyOf({ body, bodyForm }: LabFields): Uint8Array | undefined {
  if (bodyForm === 'base64') return fromBase64Strict(body.replace(/\s/g, '')) ?? undefined
  // A text field turns every pasted line end into LF.
  return utf8(bodyForm === 'crlf' ? body.replace(/\r?\n/g, '\r\n') : body)
}

function otherKeysOf(text: string): { name: string; key: SigningKey }[] {
  const secrets = text.split('\n').filter((line) => line !== '')
  return secrets.map((secret, at) => ({
    name: `secret ${at + 1} of the other secrets`,
    key: { kind: 'secret', secret },
  }))
}

function waiting(message: string): LabResult {
  return { kind: 'waiting', message }
}
