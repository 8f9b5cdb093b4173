/** Clients that use or renew a pair of tokens wrongly: interface.md §3, §4.2 and §5.3. */
import { askOnce, clientOf, defaultParts, isPastHalfLife, readPairFile, savePair } from '../core.mjs'

const auth = ['token']
const oldPairGone = clientOf(auth, 'refresh/old-pair-gone')
const newestUsed = clientOf(auth, 'refresh/newest-used')
const notANewGrant = clientOf(auth, 'refresh/not-a-new-grant')
const noExpiredToken = clientOf(auth, 'refresh/no-expired-token-sent')
const lostAnswer = clientOf(auth, 'refresh/lost-answer')

/** Keeps the old pair next to the new one when a pair is renewed. */
function keepBoth(client, pair) {
  client.memory.old = client.memory.newest
  client.memory.newest = pair
  client.pair = pair
}

/** Makes no further call once a refresh says that all is over. */
const untilLost = (refresh) => async (client, pair) => {
  const refreshed = client.memory.isOver ? { isOver: true } : await refresh(client, pair)
  client.memory.isOver = refreshed.isOver
  if (refreshed.isOver) throw new Error('Logged out')
  return refreshed.pair
}

export const refreshClients = [
  oldPairGone('authorization-made-once', 'Keeps its Authorization header until a call with it is refused', {
    isDue: isPastHalfLife,
    bearer(client, token) {
      client.memory.header ??= defaultParts.bearer(client, token)
      return client.memory.header
    },
    noteRefused(client, token) {
      const isOfToken = client.memory.header === defaultParts.bearer(client, token)
      client.memory.header = undefined
      if (isOfToken) defaultParts.noteRefused(client, token)
    },
  }),
  oldPairGone('old-token-until-expiry', 'Renews early, and uses the old access token until its expiry', {
    isDue: isPastHalfLife,
    keepPair: keepBoth,
    async tokenFor(client) {
      const token = await defaultParts.tokenFor(client)
      const { old } = client.memory
      return old && client.parts.now(client) < old.expiryMs ? old.accessToken : token
    },
    noteRefused(client, token) {
      if (token === client.memory.old?.accessToken) client.memory.old = undefined
      defaultParts.noteRefused(client, token)
    },
  }),
  oldPairGone('new-pair-used-late', 'Uses the old access token for one more call after a refresh', {
    isDue: isPastHalfLife,
    keepPair: keepBoth,
    async tokenFor(client) {
      const token = await defaultParts.tokenFor(client)
      const { old } = client.memory
      client.memory.old = undefined
      return old?.accessToken ?? token
    },
  }),
  newestUsed('first-refresh-token-kept', 'Keeps its first refresh token and takes only the new access token', {
    keepPair(client, pair) {
      client.memory.first ??= pair.refreshToken
      client.pair = { ...pair, refreshToken: client.memory.first }
    },
    dropPair(client) {
      client.memory.first = undefined
      defaultParts.dropPair(client)
    },
  }),
  newestUsed(
    'first-pair-on-disk',
    'Writes only the granted pair to its file; a second start goes on with the old one',
    {
      async start(client) {
        const pair = readPairFile(client)
        client.pair = pair && { ...pair, isSent: true }
      },
      async grant(client) {
        const pair = await defaultParts.grant(client)
        savePair(client, pair)
        return pair
      },
    },
  ),
  newestUsed('refresh-token-replaced-every-second-time', 'Stores the new refresh token only at every second refresh', {
    keepPair(client, pair) {
      const { memory } = client
      memory.renewals = (memory.renewals ?? 0) + 1
      if (memory.renewals % 2 === 1) memory.refreshToken = pair.refreshToken
      client.pair = { ...pair, refreshToken: memory.refreshToken }
    },
    dropPair(client) {
      client.memory.renewals = 0
      defaultParts.dropPair(client)
    },
  }),

  notANewGrant('grant-at-expiry', 'Takes a new grant when its token is due, and never refreshes', {
    refresh: async () => undefined,
  }),
  notANewGrant('grant-on-refusal', 'Takes a new grant when its token is refused, and never refreshes', {
    isDue: () => false,
    refresh: async () => undefined,
  }),
  notANewGrant('grant-per-call', 'Takes a new grant before every call', {
    async tokenFor(client) {
      const pair = await client.parts.grant(client)
      client.parts.checkGranted(client, pair)
      return pair.accessToken
    },
  }),
  notANewGrant('grant-every-second-time', 'Refreshes, and takes a new grant in place of every second refresh', {
    async refresh(client, pair) {
      client.memory.renewals = (client.memory.renewals ?? 0) + 1
      return client.memory.renewals % 2 === 0 ? undefined : defaultParts.refresh(client, pair)
    },
  }),

  noExpiredToken('refused-token-sent-thrice', 'Sends a refused token twice more before it renews it', {
    isDue: () => false,
    triesAgain: (client, made) =>
      made.outcome.kind === 'refused' ? made.refusals <= 3 : defaultParts.triesAgain(client, made),
    noteRefused(client, token) {
      client.memory.refusals = (client.memory.refusals ?? 0) + 1
      if (client.memory.refusals % 3 === 0) defaultParts.noteRefused(client, token)
    },
  }),
  noExpiredToken('never-renews', 'Sends its first token for ever', {
    isDue: () => false,
    noteRefused: () => undefined,
  }),
  noExpiredToken('expiry-read-as-seconds', 'Reads the expiry as seconds, and trusts it more than a refusal', {
    isDue: (client, { expiryMs }) => client.parts.now(client) >= expiryMs * 1000,
    noteRefused: () => undefined,
  }),

  lostAnswer('lost-refresh-repeated-five-times', 'Repeats a refresh whose answer was lost up to five times', {
    async refresh(client, { refreshToken }) {
      for (let tries = 1; tries <= 6; tries += 1) {
        const outcome = await askOnce(client, refreshToken)
        if (outcome.kind === 'accepted') return outcome.pair
        client.memory.isLost ||= outcome.kind === 'broken'
        if (outcome.kind === 'refused' && !client.memory.isLost) return undefined
      }
      return undefined
    },
  }),
  lostAnswer('lost-refresh-ends-all', 'Gives up for good when the answer to a refresh is lost', {
    refresh: untilLost(async (client, { refreshToken }) => {
      const outcome = await askOnce(client, refreshToken)
      return { isOver: outcome.kind === 'broken', pair: outcome.pair }
    }),
  }),
  lostAnswer('lost-refresh-without-grant', 'Repeats a lost refresh, and takes no grant when that is refused', {
    refresh: untilLost(async (client, old) => {
      let isLost = false
      const askForPair = async (_watched, purpose, params) => {
        const outcome = await client.parts.askForPair(client, purpose, params)
        isLost ||= outcome.kind === 'broken'
        return outcome
      }
      const pair = await defaultParts.refresh({ ...client, parts: { ...client.parts, askForPair } }, old)
      return { isOver: isLost && pair === undefined, pair }
    }),
  }),
]
