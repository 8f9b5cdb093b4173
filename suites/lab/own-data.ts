/** Finds the mistake with the help of the caller's own data to sign. */

import { defined } from '../engine/json.ts'
import { fromBase64Strict, fromLatin1, sameBytes } from '../engine/signer/bytes.ts'
import { type Draft, type HeaderFields, signDraft } from '../engine/signer/draft.ts'
import { ofData as dataChange } from '../engine/signer/draft-changes.ts'
import { type KnownMistake, mistakeOf } from '../engine/signer/mistakes.ts'
import { draftOf } from '../engine/signer/sign.ts'
import {
  dataToSign,
  ed25519Fits,
  firstDifference,
  firstDifferenceInContent,
  readHeader,
  type VerifyInput,
} from './verify.ts'

/** How the caller's own data relate to the right ones. */
interface OwnData {
  isRight: boolean
  /** Whether the signature is made over them, with this key and without another mistake. */
  isSigned: boolean
}

/** Null if the caller gave no data, or the header has no timestamp and nonce. */
export function judgeOwnData(input: VerifyInput): OwnData | null {
  const { callersData } = input
  const { fields } = readHeader(input.header, input)
  if (callersData === undefined || fields === null) return null
  const isRight = sameBytes(dataToSign(input, fields), callersData)
  return { isRight, isSigned: signatureFits(input, fields, callersData) }
}

/** Sentences for people; empty if the caller gave no data. */
export function ownDataSentences(input: VerifyInput): string[] {
  const { callersData } = input
  const { fields } = readHeader(input.header, input)
  const judged = judgeOwnData(input)
  if (callersData === undefined || fields === null || judged === null) return []
  const fit = judged.isSigned
    ? 'the signature is made over your data'
    : 'the signature is not made over your data with this key'
  if (judged.isRight) return [`Your data to sign are right; ${fit}`]
  const right = dataToSign(input, fields)
  const first = firstDifference(right, callersData)
  const inContent = firstDifferenceInContent(right, callersData)
  const { line, column, expected, received } = inContent ?? first
  const words = inContent?.words.every((word) => word !== '') === true ? inContent.words : undefined
  const apart = differencesOf(input, fields, callersData).filter(({ id }) => id !== 'data/with-other-data')
  return [
    `Your data to sign differ${inContent === null ? '' : ' in content'} at line ${line}, byte ${column}: expected ${expected}, found ${received}${words === undefined ? '' : ` ("${words[1]}" for "${words[0]}")`}; ${fit}`,
    ...(inContent === null ? [] : [`White space differs from line ${first.line}, byte ${first.column} on`]),
    ...apart.map(({ title }) => title),
  ]
}

/** The right draft with the caller's own data in place of the right ones. */
export function draftOfOwnData(right: Draft, data: Uint8Array): Draft {
  return { ...right, pieces: [{ origin: 'other', bytes: data }] }
}

/** Which parts of the caller's own data are not those of the request and the header; one mistake for each. */
export function differencesOf(input: VerifyInput, fields: HeaderFields, data: Uint8Array): KnownMistake[] {
  const own = partsOf(data)
  if (own === null)
    return [otherPart('data', 'signatures/data-to-sign', 'other data are signed than those of this request')]
  const both = (name: 'timestamp' | 'nonce'): string =>
    `header and data have different ${name}s: "${fields[name]}" in the header, "${own[name]}" in the data`
  const method = input.method.toUpperCase()
  const body = `a body of ${own.body.length} bytes that is not the one of this request, of ${input.body.length} bytes`
  const parts: readonly [part: keyof typeof own, right: string, requirement: string, when: string][] = [
    ['timestamp', fields.timestamp, 'signatures/timestamp', both('timestamp')],
    ['nonce', fields.nonce, 'signatures/nonce', both('nonce')],
    ['method', method, 'signatures/request-method', `the data have the method "${own.method}" instead of "${method}"`],
    ['uri', input.uri, 'signatures/request-uri', `the data have the URI "${own.uri}" instead of "${input.uri}"`],
    ['body', fromLatin1(input.body), 'signatures/request-body', `the data have ${body}`],
  ]
  return parts.flatMap(([part, right, requirement, when]) =>
    own[part] === right ? [] : [otherPart(part, requirement, when)],
  )
}

/** For the others the fix of the requirement serves. */
const fixes: { [part: string]: string } = {
  timestamp: 'Read the clock once for each request, and put this timestamp into the data and into the header',
  nonce: 'Make the nonce once for each request, and put it into the data and into the header',
}

function otherPart(part: string, requirement: string, when: string): KnownMistake {
  return mistakeOf(
    `data/with-other-${part}`,
    when,
    dataChange(() => null),
    { requirement, ...defined({ fix: fixes[part] }) },
  )
}

/** The parts of data that have the right form, one character for each byte. */
function partsOf(data: Uint8Array) {
  const found = /^([^;\n]*);([^;\n]*);([^\n]*)\n([^\n]*)\n([\s\S]*)\n$/.exec(fromLatin1(data))
  if (found === null) return null
  const [, timestamp = '', nonce = '', method = '', uri = '', body = ''] = found
  return { timestamp, nonce, method, uri, body }
}

function signatureFits(input: VerifyInput, { signature }: HeaderFields, data: Uint8Array): boolean {
  const { key } = input
  if (key.kind === 'secret') {
    const draft = draftOf({ ...input, keyId: '', timestamp: '', nonce: '' })
    return signDraft(draftOfOwnData(draft, data)).signature === signature
  }
  const bytes = fromBase64Strict(signature)
  return bytes !== null && ed25519Fits(key, data, bytes)
}
