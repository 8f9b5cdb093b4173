import { callPath } from '../../engine/document.ts'
import { splitHeader } from '../../engine/signer/draft.ts'
import type { DiagnoseInput, Diagnosis } from '../../lab/diagnose.ts'
import { readHeader, type VerifyInput } from '../../lab/verify.ts'
import type { JournalKey } from '../journal.ts'
import { checkOfMistake, type SignatureCheck, type SignatureFault, signatureChecks } from './mistake-checks.ts'
import {
  asSentDiagnosis,
  certainFaults,
  encodingFaults,
  formFaults,
  isRight,
  otherIdFaults,
  timestampFaults,
} from './signature-forms.ts'
import type { Request, Story } from './story.ts'
import { headerOf } from './story.ts'

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
