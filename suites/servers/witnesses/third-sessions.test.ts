import { describe } from 'vitest'
import {
  accessWorks,
  type Client,
  createsKey,
  grantPair,
  inTurn,
  openSessions,
  type Pair,
  post,
  testWitnesses,
} from '../test-witness.ts'

const live = async (c: Client, pairs: Pair[]) =>
  (await inTurn(pairs.length, (index) => accessWorks(c, pairs[index]))).filter(Boolean).length

/** A grant on a numbered connection. */
async function grantOn(c: Client, connection: number, scope: string[]): Promise<Pair> {
  const params = { grantType: 'api_key_credentials', apiKeyId: c.root.id, apiKeySecret: c.root.secret, scope }
  const body = JSON.stringify({ jsonrpc: '2.0', id: 7, method: 'manager/auth', params })
  return (await post(c, body, undefined, connection)).json.result
}

describe('third set: sessions', () => {
  testWitnesses({
    'sessions-counted-by-each-of-two-workers': async (c) =>
      (await live(c, await inTurn(17, (index) => grantOn(c, index, ['solution', `session:s${index}`])))) === 17,
    'sessions-counted-for-each-set-of-scopes': async (c) => {
      const pairs = await openSessions(c, 16)
      pairs.push(await grantPair(c, ['solution', 'context', 'session:wide']))
      return (await live(c, pairs)) === 17
    },
    'grant-refused-for-its-scope-takes-session-place': async (c) => {
      const pairs = await openSessions(c, 16)
      await grantPair(c, ['nowhere', 'session:more'])
      return (await live(c, pairs)) === 15
    },
    'session-with-expires-in-removes-two-at-the-limit': async (c) => {
      const pairs = await openSessions(c, 16)
      pairs.push(await grantPair(c, ['solution', 'session:more', 'expiresIn:50000']))
      return (await live(c, pairs)) === 15
    },
    'sessions-named-like-members-of-objects-not-counted': async (c) => {
      const pairs = [await grantPair(c, ['solution', 'session:constructor']), ...(await openSessions(c, 16))]
      return (await live(c, pairs)) === 17
    },
    'each-removed-session-makes-room-for-two': async (c) => {
      const first = await live(c, await openSessions(c, 17))
      return first === 16 && (await live(c, await openSessions(c, 34))) > 16
    },
    'key-creation-ends-session-of-its-token': async (c) => {
      const pair = await grantPair(c, ['solution', 'apikey', 'session:one'])
      return (await createsKey(c, { token: pair.accessToken })) && !(await accessWorks(c, pair))
    },
  })
})
