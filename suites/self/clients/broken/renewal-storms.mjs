/** Clients that renew too often: two at once, after a late refusal, after a refused refresh. */
import { askOnce, clientOf, defaultParts } from '../core.mjs'

const auth = ['token']
const singleFlight = clientOf(auth, 'refresh/single-flight')
const lateLoser = clientOf(auth, 'refresh/late-loser-keeps-the-newer-pair')
const noLoop = clientOf(auth, 'refresh/no-loop-after-refusal')

/** Renews without a lock; a loser keeps the pair that another worker got. */
async function renewWithoutLock(client) {
  const { parts, pair } = client
  if (pair === undefined) return defaultParts.renewOnce(client)
  if (pair.isRefused && parts.now(client) < pair.expiryMs) parts.countRefusal(client)
  const outcome = await askOnce(client, pair.refreshToken)
  if (outcome.kind === 'accepted') parts.keepPair(client, outcome.pair)
  else if (client.pair === pair) {
    parts.dropPair(client)
    await defaultParts.renewOnce(client)
  }
}

export const renewalClients = [
  singleFlight('refresh-per-worker', 'Lets every worker refresh when it finds the token due', {
    renewOnce: renewWithoutLock,
  }),
  singleFlight('refresh-per-refusal', 'Lets every worker refresh when its call was refused', {
    isDue: () => false,
    renewOnce: renewWithoutLock,
  }),
  singleFlight('lock-without-second-look', 'Lets its workers refresh one after the other, without a second look', {
    renewOnce(client) {
      const isFirst = client.pair === undefined
      if (isFirst) return defaultParts.renewOnce(client)
      const turn = (client.memory.queue ?? Promise.resolve()).then(() => client.parts.renew(client))
      client.memory.queue = turn.catch(() => undefined)
      return turn
    },
  }),
  singleFlight('refreshes-twice', 'Refreshes a new pair at once, since its margin is longer than any life', {
    async renew(client) {
      await defaultParts.renew(client)
      if (client.memory.hasPair) await defaultParts.renew(client)
      client.memory.hasPair = true
    },
  }),

  lateLoser('late-refusal-takes-grant', 'Takes a new grant when a call with an older token is refused late', {
    isDue: () => false,
    noteRefused(client, token) {
      if (client.pair?.accessToken === token) defaultParts.noteRefused(client, token)
      else client.parts.dropPair(client)
    },
  }),
  lateLoser('loser-drops-newer-pair', 'Refreshes without a lock; the loser drops the pair and takes a grant', {
    async renewOnce(client) {
      const { parts, pair } = client
      if (pair === undefined) return defaultParts.renewOnce(client)
      if (pair.isRefused && parts.now(client) < pair.expiryMs) parts.countRefusal(client)
      const outcome = await askOnce(client, pair.refreshToken)
      parts.keepPair(client, outcome.kind === 'accepted' ? outcome.pair : await parts.grant(client))
    },
  }),
  lateLoser('late-refusal-takes-grant-for-itself', 'Takes a grant for the one call that was refused late', {
    isDue: () => false,
    noteRefused(client, token) {
      if (client.pair?.accessToken === token) defaultParts.noteRefused(client, token)
      else client.memory.wasLate = true
    },
    async tokenFor(client) {
      if (!client.memory.wasLate) return defaultParts.tokenFor(client)
      client.memory.wasLate = false
      return (await client.parts.grant(client)).accessToken
    },
  }),

  noLoop('refused-refresh-repeated', 'Sends a refused refresh token up to five times before it takes a grant', {
    async refresh(client, { refreshToken }) {
      for (let tries = 1; tries <= 5; tries += 1) {
        const outcome = await askOnce(client, refreshToken)
        if (outcome.kind === 'accepted') return outcome.pair
        if (outcome.kind === 'broken' && tries > 1) return undefined
      }
      return undefined
    },
  }),
  noLoop('refused-refresh-per-call', 'Sends a refused refresh token again with every call, and takes no grant', {
    async refresh(client, { refreshToken }) {
      const outcome = await askOnce(client, refreshToken)
      if (outcome.kind === 'refused') throw new Error('The refresh is refused')
      return outcome.pair
    },
  }),
  noLoop('refresh-once-per-refused-call', 'Refreshes for every call that is refused, however many are', {
    renew(client) {
      client.renewalsAfterRefusal = 0
      return defaultParts.renew(client)
    },
  }),
]
