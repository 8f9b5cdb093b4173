/** Right clients that differ in how they sign. The document only shows that nonces are strings. */
import { randomBytes, randomUUID } from 'node:crypto'
import { clientOf, defaultParts, part } from '../core.mjs'

const signing = clientOf(['hmac', 'ecc'])
const withNonce = clientOf(['hmac', 'ecc'], undefined, part('nonce'))

export const signingClients = [
  withNonce('long-nonces', 'Makes nonces of 128 characters', () => randomBytes(64).toString('hex')),
  withNonce('upper-case-hex-nonces', 'Makes nonces of upper-case hex digits', () =>
    randomBytes(12).toString('hex').toUpperCase(),
  ),
  withNonce('uuid-nonces', 'Makes nonces that are UUIDs', () => randomUUID()),
  withNonce('counting-nonces', 'Makes nonces of a random part for each start and a counter', () => {
    counter += 1
    return `${start}-${counter}`
  }),
  signing(
    'base64-nonces-unpadded-in-header',
    'Makes BASE64 nonces and leaves the padding out of the copy in the header, as the sample of the document does',
    {
      nonce: () => randomBytes(16).toString('base64'),
      nonceSent: (nonce) => nonce.replace(/=+$/, ''),
    },
  ),
  signing('timestamps-on-the-second', 'Has a clock that only knows whole seconds, and writes it with 13 digits', {
    timestamp: (client) => String(Math.floor(client.parts.now(client) / 1000) * 1000),
  }),
  signing('signs-when-due', 'Learns the offset of the clock from refusals only', {
    learnClock(client, answer, sentAtMs) {
      const isError = answer.status >= 400 || /"error"/.test(answer.text ?? '')
      return isError && defaultParts.learnClock(client, answer, sentAtMs)
    },
  }),
]

const start = randomBytes(8).toString('hex')
let counter = 0
