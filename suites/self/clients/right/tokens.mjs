/** Right clients that differ in how they take, keep and renew tokens. */
import { readFileSync, rmSync } from 'node:fs'
import { defaultParts, fileOf, removeOldFiles, savePair } from '../core.mjs'

const auth = ['token']

export const tokenClients = [
  {
    id: 'refresh-on-refusal',
    auth,
    about: 'Never looks at the expiry; renews a token when it is refused',
    parts: { isDue: () => false },
  },
  {
    id: 'refresh-at-expiry',
    auth,
    about: 'Renews a token at its expiry, with no margin',
    parts: { isDue: (client, { expiryMs }) => client.parts.now(client) >= expiryMs },
  },
  {
    id: 'refresh-at-half-life',
    auth,
    about: 'Renews a token when half of its life is over',
    parts: {
      isDue: (client, { expiryMs, receivedAtMs }) =>
        client.parts.now(client) >= receivedAtMs + Math.max(0, expiryMs - receivedAtMs) / 2,
    },
  },
  {
    id: 'single-flight-by-queue',
    auth,
    about: 'Lets its workers ask for a token one after the other, and looks again whether it is still due',
    parts: {
      tokenFor(client) {
        const turn = (client.memory.queue ?? Promise.resolve()).then(() => defaultParts.tokenFor(client))
        client.memory.queue = turn.catch(() => undefined)
        return turn
      },
      renewOnce: (client) => client.parts.renew(client),
    },
  },
  {
    id: 'token-first',
    auth,
    about: 'Takes its token before the first call is due',
    parts: { start: (client) => client.parts.renewOnce(client).catch(() => undefined) },
  },
  {
    id: 'lost-refresh-not-repeated',
    auth,
    about: 'Takes a new grant when the answer to a refresh is lost, without a repetition',
    parts: {
      async refresh(client, { refreshToken }) {
        const outcome = await client.parts.askForPair(
          client,
          'refresh',
          client.parts.refreshParams(client, refreshToken),
        )
        return outcome.kind === 'accepted' ? outcome.pair : undefined
      },
    },
  },
  {
    id: 'refresh-token-expiry-read',
    auth,
    about: 'Takes a new grant without asking where the refresh token is long over',
    parts: {
      readPair(client, result) {
        const pair = defaultParts.readPair(client, result)
        return pair && { ...pair, refreshExpiryMs: Number(result.refreshTokenExpiry) }
      },
      async refresh(client, pair) {
        const isOver = client.parts.now(client) > pair.refreshExpiryMs + 2000
        return isOver ? undefined : defaultParts.refresh(client, pair)
      },
    },
  },
  {
    id: 'session-name-added',
    auth,
    about: 'Adds the scope session:svc-client, the same at every start, where no session is requested',
    parts: {
      scopeAsked: ({ scope }) =>
        scope.some((entry) => entry.startsWith('session:')) ? scope : [...scope, 'session:svc-client'],
    },
  },
  {
    id: 'scopes-reordered',
    auth,
    about: 'Asks for its scopes in another order',
    parts: { scopeAsked: ({ scope }) => scope.toReversed() },
  },
  {
    id: 'narrow-grant-tried-twice',
    auth,
    about: 'Does not read the granted scope, but makes no further call after two refusals of new tokens',
    parts: {
      checkGranted: () => undefined,
      async renew(client) {
        if (client.pair?.isRefused && client.renewalsAfterRefusal >= 1) throw new Error('Refused twice')
        return defaultParts.renew(client)
      },
    },
  },
  {
    id: 'pair-on-disk',
    auth,
    about: 'Keeps its pair in a file, so that a second start goes on with it',
    parts: {
      async start(client) {
        removeOldFiles(client)
        try {
          client.pair = JSON.parse(readFileSync(fileOf(client), 'utf8'))
        } catch {
          client.pair = undefined
        }
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
    },
  },
]
