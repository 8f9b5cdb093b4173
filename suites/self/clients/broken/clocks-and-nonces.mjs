/** Clients whose nonces repeat, or that trust a wrong clock. */
import { clientOf, defaultParts, part } from '../core.mjs'

const auth = ['hmac', 'ecc']
const unique = clientOf(auth, 'nonce/unique', part('nonce'))
const skew = clientOf(auth, 'clock/skew-survived')

/** The sequence of a generator whose seed is the same at every start. */
function seeded() {
  let state = 42
  return () => {
    state = (state * 1_103_515_245 + 12_345) % 2 ** 31
    return state.toString(16)
  }
}

function forgetClock(client) {
  client.clock = { lowest: -Infinity, highest: Infinity, offsetMs: 0 }
}

const nextSeeded = seeded()
const nonceOfProcess = defaultParts.nonce()
let counter = 0

export const clockClients = [
  unique('nonce-constant', 'Sends the same nonce for ever', () => 'nonce'),
  unique('nonce-of-process', 'Makes one nonce at its start and keeps it', () => nonceOfProcess),
  unique('nonce-of-the-second', 'Uses the second of the clock as its nonce', () =>
    String(Math.floor(Date.now() / 1000)),
  ),
  unique('nonce-of-one-digit', 'Draws its nonces from ten digits', () => String(Math.floor(Math.random() * 10))),
  unique('nonce-counted-from-one', 'Counts its nonces from 1 at every start', () => {
    counter += 1
    return String(counter)
  }),
  unique('nonce-of-a-fixed-seed', 'Draws its nonces from a generator with the same seed at every start', nextSeeded),

  skew('own-clock-trusted', 'Never looks at the Date of an answer', { learnClock: () => false }),
  skew('skew-with-wrong-sign', 'Moves its clock the wrong way', {
    now: (client) => Date.now() - client.clock.offsetMs,
  }),
  skew('skew-ends-all', 'Makes no further call when a timestamp was refused', {
    learnClock: () => false,
    triesAgain(client, made) {
      client.memory.isOver ||= made.outcome.kind === 'refused'
      return !client.memory.isOver && defaultParts.triesAgain(client, made)
    },
    async keepSilence(client) {
      if (client.memory.isOver) throw new Error('The first call was refused')
      await defaultParts.keepSilence(client)
    },
  }),
  skew('skew-forgotten', 'Moves its clock for the retry, and forgets that for the next call', {
    triesAgain(client, made) {
      const again = defaultParts.triesAgain(client, made)
      if (!again) forgetClock(client)
      return again
    },
    noteAccepted: forgetClock,
    learnClock(client, answer, sentAtMs) {
      const isRefusal = answer.status >= 400 || /"error"/.test(answer.text ?? '')
      return isRefusal && defaultParts.learnClock(client, answer, sentAtMs)
    },
  }),
]
