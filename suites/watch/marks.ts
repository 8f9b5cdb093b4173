/**
 * Saved traffic without secrets: each secret becomes a short mark, the same for the same secret, so that the saved file is judged as the
 * traffic was. What was found about a signature is saved with it, because a mark signs nothing.
 */
import { parseJson } from '../engine/json.ts'
import type { Fact } from '../engine/model/state.ts'
import { fromUtf8, percentDecoded, toBase64, toBase64url, utf8 } from '../engine/signer/bytes.ts'
import { hmacSha256 } from '../engine/signer/hmac.ts'
import { systemRandom } from '../engine/signer/random.ts'
import type { NamedKey, Observed } from './records.ts'

/** Members whose values are secret, wherever they stand. */
const secretMembers = /("(?:[A-Za-z]*(?:[sS]ecret|[tT]oken|[pP]assword|privateKey))"\s*:\s*)("(?:[^"\\]|\\.)*")/g
/** What may be a secret elsewhere, as in a URL. */
const words = /[A-Za-z0-9+/._~-]{8,}={0,2}/g
/** Headers that hold no secret. */
const plainHeaders =
  /^(host|content-.*|connection|keep-alive|accept.*|user-agent|origin|sec-.*|dnt|te|cache-control|pragma|priority|date|expect|transfer-encoding|upgrade-insecure-requests|via|retry-after|location|server|vary|www-authenticate|etag)$/
/** Secrets that are looked for in other places than their own. */
const mostKnown = 50_000

const unchecked: Fact = { requirement: 'signatures/hmac', is: 'unknown' }
const isSignature = ([name, value]: readonly [string, string]): boolean =>
  name.toLowerCase() === 'authorization' && /[;,:].*[;,:]/.test(value)

export const openMarks = (salt: Uint8Array = systemRandom.bytes(32)) => {
  const known = new Set<string>()
  const mark = (secret: string): string => {
    if (secret === '') return ''
    known.add(secret)
    const [oldest] = known
    if (oldest !== undefined && known.size > mostKnown) known.delete(oldest)
    // Without the salt, which is thrown away, nobody can try secrets out.
    return `~${toBase64url(hmacSha256(salt, utf8(secret))).slice(0, 12)}`
  }

  const ofBody = (text: string): string =>
    text.replace(secretMembers, (_, name: string, value: string) => {
      const secret = parseJson(value)
      return `${name}${JSON.stringify(typeof secret === 'string' ? mark(secret) : '')}`
    })

  const ofAuthorization = (header: string): string => {
    const [, word = '', rest = ''] = /^(\S+)\s+(.*)$/s.exec(header) ?? []
    if (rest === '') return mark(header)
    if (word.toLowerCase() === 'basic') {
      const text = Buffer.from(rest, 'base64').toString('utf8')
      const colon = text.indexOf(':')
      return colon < 0
        ? `${word} ${mark(rest)}`
        : `${word} ${toBase64(utf8(`${text.slice(0, colon)}:${mark(text.slice(colon + 1))}`))}`
    }
    const fields = rest.split(';')
    if (fields.length < 4) return `${word} ${mark(rest)}`
    return `${word} ${[...fields.slice(0, -1), mark(fields.at(-1) ?? '')].join(';')}`
  }

  const elsewhere = (text: string): string => text.replace(words, (word) => (known.has(word) ? mark(word) : word))

  const ofHeader = ([name, value]: readonly [string, string]): [string, string] => {
    const lower = name.toLowerCase()
    if (lower === 'authorization') return [name, ofAuthorization(value)]
    return [name, plainHeaders.test(lower) ? elsewhere(value) : mark(value)]
  }

  return {
    /** The first line of a file: the keys that were known at the start. */
    head: (keys: readonly NamedKey[]): string =>
      JSON.stringify({
        format: 'svc-conformance watch',
        version: 1,
        keys: keys.map((key) =>
          'secret' in key
            ? { id: key.id, secret: mark(key.secret) }
            : { id: key.id, publicKey: toBase64(key.publicKey) },
        ),
      }),
    /** A line for one call. */
    line(observed: Observed): string {
      const { body, bodyBytes, answer, headers, target, ...rest } = observed
      const text = fromUtf8(body)
      const isJson = text !== null && (text === '' || parseJson(text) !== undefined)
      // What cannot be read may hold anything.
      const saved = isJson ? elsewhere(ofBody(text)) : ''
      const isWhole = isJson && body.length === bodyBytes
      return JSON.stringify({
        ...rest,
        // A mark signs nothing, so nobody may check it with marks once its key is known.
        ...(headers.some(isSignature) ? { signature: rest.signature ?? unchecked } : {}),
        order: [observed.order.from, observed.order.to],
        // Nobody sends a value that is safe to keep in the URL of a call.
        target: target.replace(/=([^&#]*)/g, (_, value: string) => `=${mark(percentDecoded(value))}`),
        headers: headers.map(ofHeader),
        body: saved,
        bodyBytes: isWhole ? utf8(saved).length : Math.max(bodyBytes, utf8(saved).length + 1),
        unknown: isWhole || observed.unknown.includes('body') ? observed.unknown : [...observed.unknown, 'body'],
        answer:
          answer === null
            ? null
            : {
                status: answer.status,
                headers: Object.fromEntries(Object.entries(answer.headers).map(ofHeader)),
                body: elsewhere(ofBody(answer.body)),
              },
      })
    },
  }
}
