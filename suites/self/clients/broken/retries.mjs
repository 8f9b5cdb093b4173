/** Clients that retry wrongly: RFC 9110 §9.2.2 and §10.2.3. */
import { setTimeout as sleep } from 'node:timers/promises'
import { call, clientOf, defaultParts } from '../core.mjs'

const afterIsKept = clientOf(['hmac', 'token'], 'retry/after-is-kept')
const readsAfter = clientOf(['hmac', 'token'], 'retry/after-is-kept', (change) => ({
  retryAfterMs: (text, date) => change(defaultParts.retryAfterMs(text, date)),
}))
const signedAnew = clientOf(['hmac', 'ecc'], 'retry/signed-anew', resend)
const keyNotRepeated = clientOf(['hmac', 'token'], 'retry/create-key-not-repeated')

export const retryClients = [
  readsAfter('retry-after-ignored', 'Tries again 20 ms after a 429, and does not read Retry-After', () => 20),
  readsAfter('retry-after-as-milliseconds', 'Reads the seconds of Retry-After as milliseconds', (ms) => ms / 1000),
  readsAfter('retry-after-capped', 'Waits at most 300 ms, even if Retry-After asks for more', (ms) =>
    Math.min(ms, 300),
  ),
  afterIsKept('retry-after-only-for-the-call', 'Fails the call that was throttled, and makes the next one at once', {
    noteThrottled: () => undefined,
    triesAgain: (client, made) => made.outcome.kind !== 'throttled' && defaultParts.triesAgain(client, made),
    async askForPair(client, purpose, params) {
      const { parts } = client
      const outcome = await parts.attempt(client, { purpose, method: 'manager/auth', params })
      if (outcome.kind === 'throttled') throw new Error('No token')
      const pair = outcome.kind === 'accepted' ? parts.readPair(client, outcome.result) : undefined
      return outcome.kind === 'accepted' && !pair ? { kind: 'broken', reason: 'No pair' } : { ...outcome, pair }
    },
  }),
  clientOf(['token'], 'retry/after-is-kept')(
    'retry-after-not-kept-by-auth',
    'Heeds Retry-After for calls, and tries manager/auth again at once',
    {
      noteThrottled(client, outcome, request) {
        if (request.purpose === 'call') defaultParts.noteThrottled(client, outcome)
      },
    },
  ),
  afterIsKept('retry-after-of-503-ignored', 'Heeds Retry-After with 429 only', {
    noteThrottled(client, outcome) {
      if (outcome.reason === 'HTTP 429') defaultParts.noteThrottled(client, outcome)
    },
  }),

  signedAnew(
    'throttled-call-resent',
    'Sends the same bytes again after a 429 or a 503, in its transport',
    ({ status }) => status === 429 || status === 503,
  ),
  signedAnew(
    'lost-call-resent',
    'Sends the same bytes again when an answer is lost, in its transport',
    ({ broken }) => broken !== undefined,
  ),
  signedAnew(
    'retry-of-the-same-bytes',
    'Its transport sends the same bytes again after any failure',
    ({ status }) => status !== 200,
  ),
  clientOf(['hmac', 'ecc'], 'nonce/unique')(
    'retry-with-old-nonce',
    'Uses the old nonce for a retry, with a new timestamp and signature',
    {
      nonce(_client, { kept }) {
        kept.nonce ??= defaultParts.nonce()
        return kept.nonce
      },
    },
  ),

  keyNotRepeated('create-key-repeated', 'Sends manager/createApiKey again when its answer is lost', {
    isSafe: () => true,
  }),
  keyNotRepeated('create-key-repeated-once-later', 'Sends a lost manager/createApiKey again after all other calls', {
    triesAgain(client, made) {
      const isLost = made.outcome.kind === 'broken' && !defaultParts.isSafe(made.method)
      if (isLost) client.memory.lost = made.method
      return defaultParts.triesAgain(client, made)
    },
    async end(client) {
      if (client.memory.lost) await call(client, client.memory.lost).catch(() => undefined)
    },
  }),
  keyNotRepeated('create-key-repeated-by-transport', 'Sends every request again when the connection was closed', {
    async exchange(client, wire) {
      try {
        return await defaultParts.exchange(client, wire)
      } catch {
        return await defaultParts.exchange(client, wire)
      }
    },
  }),
]

/** A transport that sends a request again, byte for byte, when its answer asks for that. */
function resend(isWanted) {
  const exchange = async (client, wire, request) => {
    for (let tries = 1; ; tries += 1) {
      const answer = await defaultParts.exchange(client, wire).catch((error) => ({ broken: error.message }))
      const mayResend = tries <= 3 && (answer.broken === undefined || client.parts.isSafe(request.method))
      if (!mayResend || !isWanted(answer)) return answer
      await sleep(client.parts.retryAfterMs(answer.headers?.['retry-after'] ?? '0', answer.headers?.date) + 10)
    }
  }
  return { exchange }
}
