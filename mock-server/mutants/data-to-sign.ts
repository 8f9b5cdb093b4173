import type { Rules, SignedParts } from '../rules.ts'
import { rules } from '../rules.ts'
import { bytes, sha256, text } from './bytes.ts'
import type { Mutant } from './mutant.ts'

/** Accepts signatures over other data too. The texts are latin-1: one character per byte. */
const alsoData = (make: (parts: SignedParts, body: string) => string): Partial<Rules> => ({
  dataToSign: (parts) => [...rules.dataToSign(parts), bytes(make(parts, text(parts.body)))],
})
/** Other data must be signed. */
const onlyData = (make: (parts: SignedParts, body: string) => string): Partial<Rules> => ({
  dataToSign: (parts) => [bytes(make(parts, text(parts.body)))],
})
const request = ({ httpMethod, uri }: SignedParts, body: string) => `${httpMethod}\n${uri}\n${body}\n`
const joined = (parts: SignedParts, body: string) => `${parts.timestamp};${parts.nonce};${request(parts, body)}`
/** The right data over another body. */
const alsoBody = (change: (body: string) => string) => alsoData((parts, body) => joined(parts, change(body)))
const alsoParts = (change: (parts: SignedParts) => Partial<SignedParts>) =>
  alsoData((parts, body) => joined({ ...parts, ...change(parts) }, body))

/** Sorted and compact, as many serialisers write it. */
const sorted = (body: string) => {
  const members = Object.entries(JSON.parse(body) as object).sort(([one], [other]) => (one < other ? -1 : 1))
  return JSON.stringify(Object.fromEntries(members))
}
const again = (body: string) => JSON.stringify(JSON.parse(body))

/** Part 5.1: what is signed. */
export const dataToSignMutants: Mutant[] = [
  {
    id: 'timestamp-read-up-to-the-first-letter',
    breaks: 'signatures/timestamp',
    with: {
      timestampTaken: (timestamp, nowMs, profile) =>
        rules.timestampTaken(String(Number.parseInt(timestamp, 10)), nowMs, profile),
      dataToSign: (parts) => rules.dataToSign({ ...parts, timestamp: String(Number.parseInt(parts.timestamp, 10)) }),
    },
  },
  {
    id: 'lower-case-method-signed-too',
    breaks: 'signatures/request-method',
    with: alsoParts(() => ({ httpMethod: 'post' })),
  },
  {
    id: 'any-case-of-the-method-signed-too',
    breaks: 'signatures/request-method',
    with: alsoParts(() => ({ httpMethod: 'Post' })),
  },
  { id: 'get-signed-too', breaks: 'signatures/request-method', with: alsoParts(() => ({ httpMethod: 'GET' })) },
  {
    id: 'method-not-signed-too',
    breaks: 'signatures/request-method',
    with: alsoData(({ timestamp, nonce, uri }, body) => `${timestamp};${nonce};${uri}\n${body}\n`),
  },
  {
    id: 'lower-case-method-expected',
    breaks: 'signatures/hmac',
    with: { signedMethod: (method) => method.toLowerCase() },
  },
  {
    id: 'full-url-signed-too',
    breaks: 'signatures/request-uri',
    with: alsoParts(({ host, target }) => ({ uri: `http://${host}${target}` })),
  },
  {
    id: 'host-and-path-signed-too',
    breaks: 'signatures/request-uri',
    with: alsoParts(({ host, target }) => ({ uri: `${host}${target}` })),
  },
  {
    id: 'uri-not-signed-too',
    breaks: 'signatures/request-uri',
    with: alsoData(({ timestamp, nonce, httpMethod }, body) => `${timestamp};${nonce};${httpMethod}\n${body}\n`),
  },
  {
    id: 'trailing-slash-signed-too',
    breaks: 'signatures/request-uri',
    with: alsoParts(({ uri }) => ({ uri: `${uri}/` })),
  },
  { id: 'root-signed-too', breaks: 'signatures/request-uri', with: alsoParts(() => ({ uri: '/' })) },
  {
    id: 'upper-case-uri-signed-too',
    breaks: 'signatures/request-uri',
    with: alsoParts(({ uri }) => ({ uri: uri.toUpperCase() })),
  },
  {
    id: 'full-url-expected',
    breaks: 'signatures/hmac',
    with: onlyData((parts, body) => joined({ ...parts, uri: `http://${parts.host}${parts.target}` }, body)),
  },
  { id: 'body-not-signed-too', breaks: 'signatures/request-body', with: alsoBody(() => '') },
  { id: 'trimmed-body-signed-too', breaks: 'signatures/request-body', with: alsoBody((body) => body.trim()) },
  { id: 'reserialised-body-signed-too', breaks: 'signatures/request-body', with: alsoBody(again) },
  { id: 'sorted-body-signed-too', breaks: 'signatures/request-body', with: alsoBody(sorted) },
  {
    id: 'line-feeds-of-the-body-signed-too',
    breaks: 'signatures/request-body',
    with: alsoBody((body) => body.replaceAll('\r\n', '\n')),
  },
  {
    id: 'escaped-slashes-signed-too',
    breaks: 'signatures/request-body',
    with: alsoBody((body) => again(body).replaceAll('/', '\\/')),
  },
  {
    id: 'params-alone-signed-too',
    breaks: 'signatures/request-body',
    with: alsoBody((body) => JSON.stringify((JSON.parse(body) as { params?: object }).params ?? {})),
  },
  {
    id: 'hash-of-the-body-signed-too',
    breaks: 'signatures/request-body',
    with: alsoBody((body) => sha256(bytes(body)).toString('hex')),
  },
  {
    id: 'reserialised-body-expected',
    breaks: 'signatures/request-body',
    with: onlyData((parts, body) => joined(parts, again(body))),
  },
  {
    id: 'trimmed-body-expected',
    breaks: 'signatures/request-body',
    with: onlyData((parts, body) => joined(parts, body.trim())),
  },
  {
    id: 'body-expected-in-latin-1',
    breaks: 'signatures/request-body',
    with: onlyData((parts, body) => joined(parts, bytes(body).toString('utf8'))),
  },
  {
    id: 'body-in-ascii-signed-too',
    breaks: 'signatures/request-body',
    with: alsoBody((body) =>
      again(bytes(body).toString('utf8')).replace(
        /[\u0080-\uffff]/g,
        (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
      ),
    ),
  },
  {
    id: 'final-line-feed-not-signed-too',
    breaks: 'signatures/request-line-feeds',
    with: alsoData((parts, body) => joined(parts, body).slice(0, -1)),
  },
  {
    id: 'second-final-line-feed-signed-too',
    breaks: 'signatures/request-line-feeds',
    with: alsoData((parts, body) => `${joined(parts, body)}\n`),
  },
  {
    id: 'crlf-signed-too',
    breaks: 'signatures/request-line-feeds',
    with: alsoData((parts, body) => joined(parts, body).replaceAll('\n', '\r\n')),
  },
  {
    id: 'line-feeds-not-signed-too',
    breaks: 'signatures/request-line-feeds',
    with: alsoData((parts, body) => joined(parts, body).replaceAll('\n', '')),
  },
  {
    id: 'final-line-feed-not-expected',
    breaks: 'signatures/hmac',
    with: onlyData((parts, body) => joined(parts, body).slice(0, -1)),
  },
  {
    id: 'commas-signed-too',
    breaks: 'signatures/data-to-sign',
    with: alsoData((parts, body) => `${parts.timestamp},${parts.nonce},${request(parts, body)}`),
  },
  {
    id: 'timestamp-not-signed-too',
    breaks: 'signatures/data-to-sign',
    with: alsoData((parts, body) => `${parts.nonce};${request(parts, body)}`),
  },
  {
    id: 'nonce-not-signed-too',
    breaks: 'signatures/data-to-sign',
    with: alsoData((parts, body) => `${parts.timestamp};${request(parts, body)}`),
  },
  {
    id: 'nonce-before-timestamp-signed-too',
    breaks: 'signatures/data-to-sign',
    with: alsoData((parts, body) => `${parts.nonce};${parts.timestamp};${request(parts, body)}`),
  },
  {
    id: 'nothing-between-signed-too',
    breaks: 'signatures/data-to-sign',
    with: alsoData((parts, body) => `${parts.timestamp}${parts.nonce}${request(parts, body)}`),
  },
  {
    id: 'nonce-before-timestamp-expected',
    breaks: 'signatures/hmac',
    with: onlyData((parts, body) => `${parts.nonce};${parts.timestamp};${request(parts, body)}`),
  },
  {
    id: 'timestamp-may-be-empty-where-signed',
    breaks: 'signatures/timestamp',
    with: alsoParts(() => ({ timestamp: '' })),
  },
  {
    id: 'seconds-signed-too',
    breaks: 'signatures/timestamp',
    with: alsoParts(({ timestamp }) => ({ timestamp: timestamp.slice(0, 10) })),
  },
  {
    id: 'any-moment-signed-too',
    breaks: 'signatures/timestamp',
    with: alsoParts(() => ({ timestamp: '1702555410352' })),
  },
  { id: 'nonce-may-be-empty-where-signed', breaks: 'signatures/nonce', with: alsoParts(() => ({ nonce: '' })) },
  {
    id: 'bytes-of-the-nonce-signed-too',
    breaks: 'signatures/nonce',
    with: alsoParts(({ nonce }) => ({ nonce: Buffer.from(nonce, 'base64').toString('latin1') })),
  },
  {
    id: 'hex-of-the-nonce-signed-too',
    breaks: 'signatures/nonce',
    with: alsoParts(({ nonce }) => ({ nonce: Buffer.from(nonce, 'base64').toString('hex') })),
  },
]
