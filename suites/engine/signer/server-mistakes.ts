/** The diagnosis of a server from outside: which mistake does it expect, when it refuses a right signature? */

import { defaultScheme } from '../document.ts'
import { fromHex, utf8 } from './bytes.ts'
import { type KnownMistake, mistakeById, mistakes } from './mistakes.ts'
import { draftOf, type Mistake, type SignInput } from './sign.ts'

export interface ServerMistake {
  /** The mistake to pass to `sign`. */
  mistake: Mistake
  id: string
}

/**
 * Likely mistakes only, the most likely first, because each one costs a refused call on the server of a user. Mistakes that depend on the
 * characters of a nonce are left out, and so are those that a server accepts only if it accepts anything.
 */
const mistakeIds = [
  'signature/untruncated',
  'data/without-final-newline',
  'data/with-doubled-newline',
  'data/with-crlf',
  'data/with-full-url',
  'data/with-lowercase-method',
  'data/with-empty-body',
  'signature/in-hex',
  'signature/base64url',
  'signature/unpadded',
  'signature/base64-of-hex',
  'signature/last-20-bytes',
  'signature/one-byte-short',
  'signature/one-byte-long',
  'signature/first-16-bytes',
  'signature/sha1',
  'signature/sha512',
  'signature/arguments-swapped',
  'signature/plain-hash',
  'signature/cut-hex',
  'signature/hmac-with-key-id-as-secret',
  'signature/over-hash',
  'signature/over-sha512',
  'signature/prehashed',
  'signature/hmac-with-public-pem',
  'data/without-method',
  'data/without-uri',
  'data/with-path-without-slash',
  'data/with-trailing-slash',
  'data/with-root-path',
  'data/with-host-and-path',
  'data/with-commas',
  'data/with-colons',
  'data/with-newlines-for-semicolons',
  'data/without-separators',
  'data/with-nonce-first',
  'data/with-request-first',
  'data/without-timestamp',
  'data/without-nonce',
  'data/with-decoded-nonce',
  'data/with-timestamp-in-seconds',
  'data/with-body-spaced',
  'data/with-body-sorted',
  'data/with-body-hash',
  'data/with-key-id',
  'data/with-version',
]

/** A request like those of a run: only mistakes that can be made in it are tried. */
const sample: Omit<SignInput, 'key'> = {
  scheme: defaultScheme,
  keyId: 'a-key',
  method: 'POST',
  uri: '/api',
  body: utf8('{"jsonrpc":"2.0","id":1,"method":"solution/listSolutions","params":{}}'),
  timestamp: '1702555410352',
  nonce: '/u7dzLuqmYh3ZlVEMyIRABCd',
}

const keys: { [kind in 'hmac' | 'ecc']: SignInput['key'] } = {
  hmac: { kind: 'secret', secret: 'a-secret' },
  ecc: { kind: 'ed25519', seed: fromHex('07'.repeat(32)) ?? new Uint8Array(32) },
}

/**
 * The mistakes to try one after another, each with a fresh nonce, when a server refused a right signature with this kind of key. The first
 * one that the server accepts names its defect.
 */
export function serverMistakes(kind: 'hmac' | 'ecc'): ServerMistake[] {
  const right = draftOf({ ...sample, key: keys[kind] })
  return mistakeIds.flatMap((id) => {
    const known = mistakeById(id)
    return known === undefined || known.apply(right) === null ? [] : [asServerMistake(known)]
  })
}

/**
 * The mistakes to try when a server refused a right signature over one body and accepted one over another: only those that change nothing
 * in the accepted body, because with any other it would have been refused too.
 */
export function mistakesInBody(refused: Uint8Array, accepted: Uint8Array): ServerMistake[] {
  const draftWith = (body: Uint8Array) => draftOf({ ...sample, body, key: keys.hmac })
  const inRefused = draftWith(refused)
  const inAccepted = draftWith(accepted)
  const distinguishes = ({ id, found, apply }: KnownMistake): boolean =>
    id.startsWith('data/') && found && apply(inRefused) !== null && apply(inAccepted) === null
  return mistakes.filter(distinguishes).map(asServerMistake)
}

/** What a server should do, by the requirement that it breaks. (The `fix` of a mistake speaks to the author of a client.) */
const serverFixes: { [requirement: string]: string } = {
  'signatures/data-to-sign': 'Compute the signature over <timestamp>;<nonce>;<METHOD> LF <URI> LF <body> LF',
  'signatures/timestamp': 'Take the timestamp into the data exactly as the header has it',
  'signatures/nonce': 'Take the nonce into the data as text, as the header has it',
  'signatures/request-line-feeds': 'End method, URI and body with exactly one LF each when you compute the data',
  'signatures/request-method': 'Begin the request data with the HTTP method in upper case and LF',
  'signatures/request-uri': 'Take the URI /api alone into the data, without scheme, host, base path or query',
  'signatures/request-body': 'Take the bytes of the body as they were received, before they are parsed',
  'signatures/hmac': 'Compute HMAC-SHA256 with the secret as the key over the data',
  'signatures/hmac-length': 'Compare the signature with the first 20 bytes of the MAC, no more and no less',
  'signatures/hmac-encoding': 'Decode the signature as BASE64 with + and / and with = padding, then compare bytes',
  'signatures/ecc': 'Verify plain ED25519 over the data, with the public key of the API key',
  'signatures/key-id': 'Compute the MAC with the secret of the key, never with its id',
  'signatures/public-key-refuses-hmac': 'Accept only ED25519 signatures for a key with a public key',
}

/** Two sentences for the author of a server that takes signatures with this mistake: what it accepts, and what it should compute. */
export function serverHint({ requirement, when, fix }: KnownMistake): string {
  return `The server accepts this call when ${when}. ${serverFixes[requirement] ?? fix}`
}

function asServerMistake({ id }: KnownMistake): ServerMistake {
  const [group, word] = id.split('/') as [string, string]
  return { mistake: { [group]: word }, id }
}
