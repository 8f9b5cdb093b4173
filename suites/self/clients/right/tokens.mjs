/** Right clients that differ in how they take, keep and renew tokens. */
import { rmSync } from 'node:fs'
import { askOnce, clientOf, defaultParts, fileOf, isPastHalfLife, readPairFile, savePair } from '../core.mjs'

const withTokens = clientOf(['token'])

export const tokenClients = [
  withTokens('refresh-on-refusal', 'Never looks at the expiry; renews a token when it is refused', {
    isDue: () => false,
  }),
  withTokens('refresh-at-expiry', 'Renews a token at its expiry, with no margin', {
    isDue: (client, { expiryMs }) => client.parts.now(client) >= expiryMs,
  }),
  withTokens('refresh-at-half-life', 'Renews a token when half of its life is over', {
    isDue: isPastHalfLife,
  }),
  withTokens(
    'single-flight-by-queue',
    'Lets its workers ask for a token one after the other, and looks again whether it is still due',
    {
      tokenFor(client) {
        const turn = (client.memory.queue ?? Promise.resolve()).then(() => defaultParts.tokenFor(client))
        client.memory.queue = turn.catch(() => undefined)
        return turn
      },
      renewOnce: (client) => client.parts.renew(client),
    },
  ),
  withTokens('token-first', 'Takes its token before the first call is due', {
    start: (client) => client.parts.renewOnce(client).catch(() => undefined),
  }),
  withTokens(
    'lost-refresh-not-repeated',
    'Takes a new grant when the answer to a refresh is lost, without a repetition',
    {
      async refresh(client, { refreshToken }) {
        const outcome = await askOnce(client, refreshToken)
        return outcome.kind === 'accepted' ? outcome.pair : undefined
      },
    },
  ),
  withTokens('refresh-token-expiry-read', 'Takes a new grant without asking where the refresh token is long over', {
    readPair(client, result) {
      const pair = defaultParts.readPair(client, result)
      return pair && { ...pair, refreshExpiryMs: Number(result.refreshTokenExpiry) }
    },
    async refresh(client, pair) {
      const isOver = client.parts.now(client) > pair.refreshExpiryMs + 2000
      return isOver ? undefined : defaultParts.refresh(client, pair)
    },
  }),
  withTokens(
    'session-name-added',
    'Adds the scope session:svc-client, the same at every start, where no session is requested',
    {
      scopeAsked: ({ scope }) =>
        scope.some((entry) => entry.startsWith('session:')) ? scope : [...scope, 'session:svc-client'],
    },
  ),
  withTokens('scopes-reordered', 'Asks for its scopes in another order', {
    scopeAsked: ({ scope }) => scope.toReversed(),
  }),
  withTokens(
    'narrow-grant-tried-twice',
    'Does not read the granted scope, but makes no further call after two refusals of new tokens',
    {
      checkGranted: () => undefined,
      async renew(client) {
        if (client.pair?.isRefused && client.renewalsAfterRefusal >= 1) throw new Error('Refused twice')
        return defaultParts.renew(client)
      },
    },
  ),
  withTokens('pair-on-disk', 'Keeps its pair in a file, so that a second start goes on with it', {
    async start(client) {
      client.pair = readPairFile(client)
    },
    keepPair(client, pair) {
      defaultParts.keepPair(client, pair)
      savePair(client, client.pair)
    },
    dropPair(client) {
      defaultParts.dropPair(client)
      rmSync(fileOf(client), { force: true })
    },
    noteRefused(client, token) {
      defaultParts.noteRefused(client, token)
      savePair(client, client.pair)
    },
    end: async (client) => savePair(client, client.pair),
  }),
]
