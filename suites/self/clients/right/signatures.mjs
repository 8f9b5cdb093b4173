/** Right clients that differ in how they sign. The document only shows that nonces are strings. */
import { randomBytes, randomUUID } from 'node:crypto'
import { defaultParts } from '../core.mjs'

const signed = ['hmac', 'ecc']
const withNonce = (nonce) => ({ nonce })

export const signingClients = [
  {
    id: 'long-nonces',
    auth: signed,
    about: 'Makes nonces of 128 characters',
    parts: withNonce(() => randomBytes(64).toString('hex')),
  },
  {
    id: 'upper-case-hex-nonces',
    auth: signed,
    about: 'Makes nonces of upper-case hex digits',
    parts: withNonce(() => randomBytes(12).toString('hex').toUpperCase()),
  },
  {
    id: 'uuid-nonces',
    auth: signed,
    about: 'Makes nonces that are UUIDs',
    parts: withNonce(() => randomUUID()),
  },
  {
    id: 'counting-nonces',
    auth: signed,
    about: 'Makes nonces of a random part for each start and a counter',
    parts: {
      nonce() {
        counter += 1
        return `${start}-${counter}`
      },
    },
  },
  {
    id: 'base64-nonces-unpadded-in-header',
    auth: signed,
    about:
      'Makes BASE64 nonces and leaves the padding out of the copy in the header, as the sample of the document does',
    parts: {
      nonce: () => randomBytes(16).toString('base64'),
      nonceSent: (nonce) => nonce.replace(/=+$/, ''),
    },
  },
  {
    id: 'timestamps-on-the-second',
    auth: signed,
    about: 'Has a clock that only knows whole seconds, and writes it with 13 digits',
    parts: { timestamp: (client) => String(Math.floor(client.parts.now(client) / 1000) * 1000) },
  },
  {
    id: 'signs-when-due',
    auth: signed,
    about: 'Learns the offset of the clock from refusals only',
    parts: {
      learnClock(client, answer, sentAtMs) {
        const isError = answer.status >= 400 || /"error"/.test(answer.text ?? '')
        return isError && defaultParts.learnClock(client, answer, sentAtMs)
      },
    },
  },
]

const start = randomBytes(8).toString('hex')
let counter = 0
