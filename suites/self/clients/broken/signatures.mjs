/** Clients that make the signature or its header wrong: interface.md §5.1, steps 1, 3, 4 and 5. */
import { createHash, createHmac } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { clientOf, defaultParts, part } from '../core.mjs'

const twentyBytes = clientOf(['hmac'], 'signature/twenty-bytes', part('shortenMac'))
const base64 = clientOf(['hmac', 'ecc'], 'signature/base64', part('encodeSignature'))
const fiveFields = clientOf(['hmac', 'ecc'], 'signature/five-fields', (fieldsOf) => ({
  signatureHeader: ({ scheme, keyId, timestamp, nonce, signature }) =>
    `${scheme} ${fieldsOf(keyId, timestamp, nonce, signature).join(';')}`,
}))
const valuesAsSigned = clientOf(['hmac', 'ecc'], 'signature/values-as-signed')
const timestampMs = clientOf(['hmac', 'ecc'], 'signature/timestamp-ms', (write) => ({
  timestamp: (client) => write(client.parts.now(client)),
}))
const signsOnly = clientOf(['ecc'], 'keys/public-key-signs-only')

export const signatureClients = [
  twentyBytes('whole-mac', 'Sends all 32 bytes of the MAC', (mac) => mac),
  twentyBytes('last-twenty-bytes', 'Sends the last 20 bytes of the MAC', (mac) => mac.subarray(12)),
  twentyBytes('twenty-one-bytes', 'Sends 21 bytes of the MAC: reads "0 to 20" as inclusive', (mac) =>
    mac.subarray(0, 21),
  ),
  twentyBytes('sixteen-bytes', 'Sends the first 16 bytes of the MAC', (mac) => mac.subarray(0, 16)),
  clientOf(['hmac'], 'signature/twenty-bytes')(
    'twenty-characters',
    'Sends the first 20 characters of the BASE64 text of the whole MAC',
    {
      shortenMac: (mac) => mac,
      encodeSignature: (bytes) => bytes.toString('base64').slice(0, 20),
    },
  ),

  base64('hex-signature', 'Writes the signature in hex', (bytes) => bytes.toString('hex')),
  base64('upper-case-hex-signature', 'Writes the signature in upper-case hex', (bytes) =>
    bytes.toString('hex').toUpperCase(),
  ),
  base64('base64url-signature', 'Writes the signature in the URL-safe alphabet', (bytes) =>
    bytes.toString('base64url'),
  ),
  base64('unpadded-base64-signature', 'Leaves out the padding of the signature', (bytes) =>
    bytes.toString('base64').replace(/=+$/, ''),
  ),
  base64('base64-of-hex', 'Writes the BASE64 of the hex text', (bytes) =>
    Buffer.from(bytes.toString('hex')).toString('base64'),
  ),
  base64('base64-twice', 'Writes the signature in BASE64 twice', (bytes) =>
    Buffer.from(bytes.toString('base64')).toString('base64'),
  ),
  base64('percent-encoded-signature', 'Writes the BASE64 with percent escapes, as for a URL', (bytes) =>
    encodeURIComponent(bytes.toString('base64')),
  ),

  fiveFields('version-left-out', 'Leaves the literal 1 out of the header', (id, time, nonce, mac) => [
    id,
    time,
    nonce,
    mac,
  ]),
  fiveFields('version-two', 'Writes 2 as the second field', (id, time, nonce, mac) => [id, 2, time, nonce, mac]),
  fiveFields('fields-joined-by-commas', 'Joins the fields with commas', (id, time, nonce, mac) => [
    [id, 1, time, nonce, mac].join(','),
  ]),
  fiveFields('nonce-before-timestamp', 'Writes the nonce before the timestamp', (id, time, nonce, mac) => [
    id,
    1,
    nonce,
    time,
    mac,
  ]),
  fiveFields('sixth-field', 'Writes a sixth field, the name of the algorithm', (id, time, nonce, mac) => [
    id,
    1,
    time,
    nonce,
    mac,
    'sha256',
  ]),
  fiveFields('named-fields', 'Writes the fields with names', (id, time, nonce, mac) => [
    `id=${id}`,
    'v=1',
    `ts=${time}`,
    `nonce=${nonce}`,
    `sig=${mac}`,
  ]),

  valuesAsSigned('timestamp-read-twice', 'Reads the clock again for the header', {
    timestampSent: (timestamp) => String(Number(timestamp) + 1),
  }),
  valuesAsSigned('nonce-made-twice', 'Makes another nonce for the header', { nonceSent: () => defaultParts.nonce() }),
  valuesAsSigned('nonce-in-another-case', 'Signs a nonce in lower case and sends it in upper case', {
    nonce: () => `a${defaultParts.nonce()}`,
    nonceSent: (nonce) => nonce.toUpperCase(),
  }),
  valuesAsSigned('nonce-cut', 'Signs a long nonce and sends its first 16 characters', {
    nonceSent: (nonce) => nonce.slice(0, 16),
  }),
  valuesAsSigned('key-id-signed-too', 'Puts the key id before the timestamp in the data to sign', {
    dataToSign: ({ timestamp, nonce, requestData, keyId }) => `${keyId};${timestamp};${nonce};${requestData}`,
  }),
  clientOf(['hmac'], 'signature/values-as-signed')('secret-decoded-from-hex', 'Decodes the secret from hex first', {
    mac: (secret, data) => createHmac('sha256', Buffer.from(secret, 'hex')).update(data).digest(),
  }),
  clientOf(['ecc'], 'signature/values-as-signed')(
    'ecc-signs-a-hash',
    'Signs the SHA-256 of the data with the private key',
    {
      eccSignature: (privateKey, data) =>
        defaultParts.eccSignature(privateKey, createHash('sha256').update(data).digest()),
    },
  ),

  timestampMs('timestamp-seconds', 'Signs and sends the time in seconds', (nowMs) => String(Math.floor(nowMs / 1000))),
  timestampMs('timestamp-microseconds', 'Signs and sends the time in microseconds', (nowMs) => `${nowMs}000`),
  timestampMs('timestamp-fraction', 'Signs and sends milliseconds with a fraction', (nowMs) => `${nowMs}.25`),
  timestampMs('timestamp-iso', 'Signs and sends the time as ISO 8601 text', (nowMs) => new Date(nowMs).toISOString()),

  signsOnly(
    'ecc-key-by-basic',
    'Sends the id of a key with a public key by Basic, with the private key as the secret',
    {
      signed: (client) => `Basic ${btoa(`${client.env.SVC_KEY_ID}:${privateKeyText(client)}`)}`,
    },
  ),
  signsOnly('ecc-key-by-hmac', 'Makes an HMAC with the text of the private key as the secret', {
    signed(client, wire) {
      const env = { ...client.env, SVC_KEY_SECRET: privateKeyText(client) }
      return defaultParts.signed({ ...client, env, auth: 'hmac' }, wire)
    },
  }),
  signsOnly('ecc-key-asks-for-tokens', 'Asks for a token with the credentials of a key that has a public key', {
    async start(client) {
      client.auth = 'token'
      client.env = { ...client.env, SVC_KEY_SECRET: client.env.SVC_KEY_SECRET ?? 'none' }
    },
  }),
]

const privateKeyText = ({ env }) => readFileSync(env.SVC_PRIVATE_KEY_FILE, 'utf8')
