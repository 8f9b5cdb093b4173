/** Checks of signatures: part 5.1 of the document. story/signatures.ts does the work. */
import { type Check, type Evidence, finding, type Judged } from '../check.ts'
import type { SignatureCheck } from '../story/signatures.ts'

function signatureCheck(id: SignatureCheck, title: string, sentence: string): Check {
  return {
    id,
    level: 'document',
    title,
    sentence,
    source: 'interface part 5.1',
    judge: (evidence) => judgedBySignatures(id, evidence),
  }
}

/** What the signed requests of a story show about one check. */
export function judgedBySignatures(id: SignatureCheck, { signed }: Evidence): Judged {
  const findings = signed.flatMap(({ request, faults }) =>
    faults.flatMap(({ check, message, diagnosis }) =>
      check === id ? [{ ...finding(message, request), diagnosis }] : [],
    ),
  )
  return { exercised: findings.length > 0 || signed.some(({ shows }) => shows.includes(id)), findings }
}

export const signatureChecks: readonly Check[] = [
  signatureCheck(
    'signature/body-as-sent',
    'The body is signed byte for byte as it is sent',
    'requestData = UPPERCASE(HTTP method) + LF + URI + LF + request body exactly as sent + LF',
  ),
  signatureCheck(
    'signature/method-path-newline',
    'The method in upper case, /api and the line feeds are signed',
    'requestData = UPPERCASE(HTTP method) + LF + URI + LF + request body exactly as sent + LF. The URI is /api',
  ),
  signatureCheck(
    'signature/twenty-bytes',
    'The signature is the first 20 bytes of HMAC-SHA256',
    'Key without public key (HMAC): BASE64 of the first 20 bytes (bytes 0 to 20) of HMAC-SHA256 computed with the API key secret over dataToSign',
  ),
  signatureCheck(
    'signature/base64',
    'The signature is sent in BASE64',
    'BASE64 of the first 20 bytes of HMAC-SHA256; BASE64 of the signature of dataToSign made with the private key',
  ),
  signatureCheck(
    'signature/five-fields',
    'The header has its five fields in order, separated by semicolons',
    'Authorization: svc-hmac-sha256 <api_key_id>;1;<timestamp>;<nonce>;<signature> (fields separated by ";"; the second field is the literal 1)',
  ),
  signatureCheck(
    'signature/values-as-signed',
    'The timestamp and the nonce of the header are those that were signed',
    'dataToSign = <timestamp>;<nonce>;<requestData>; the nonce in the signed data and in the header is the same value',
  ),
  signatureCheck(
    'signature/timestamp-ms',
    'The timestamp is in milliseconds, 13 digits',
    'Choose timestamp (integer, as in the example a 13-digit value)',
  ),
]
