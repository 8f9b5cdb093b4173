import { describe } from 'vitest'
import {
  accessWorks,
  type Client,
  createsKey,
  grantPair,
  makeKey,
  openSessions,
  type Pair,
  refreshPair,
  refreshWorks,
  testWitnesses,
} from '../test-witness.ts'

const open = (client: Client, name: string, scope = ['solution']) => grantPair(client, [...scope, `session:${name}`])

async function countLive(client: Client, pairs: Pair[]): Promise<number> {
  let live = 0
  for (const pair of pairs) if (await accessWorks(client, pair)) live += 1
  return live
}

describe('sessions', () => {
  testWitnesses({
    'second-overflow-removes-two-sessions': async (c) => (await countLive(c, await openSessions(c, 18))) !== 16,
    'second-overflow-removes-newest-session': async (c) => {
      const pairs = await openSessions(c, 18)
      return accessWorks(c, pairs[1])
    },
    'created-key-has-fifteen-sessions': async (c) =>
      (await countLive(c, await openSessions(c, 16, await makeKey(c)))) !== 16,
    'created-key-has-seventeen-sessions': async (c) =>
      (await countLive(c, await openSessions(c, 17, await makeKey(c)))) !== 16,
    'session-names-cut-at-sixteen-characters': async (c) => {
      const one = await open(c, 'integration-test-one')
      await open(c, 'integration-test-other')
      return !(await accessWorks(c, one))
    },
    'used-access-token-outlives-removed-session': async (c) => {
      const oldest = await open(c, 'oldest')
      await accessWorks(c, oldest)
      await openSessions(c, 16)
      return accessWorks(c, oldest)
    },
    'refreshed-access-token-outlives-removed-session': async (c) => {
      const oldest = await refreshPair(c, await open(c, 'oldest'))
      await openSessions(c, 16)
      return accessWorks(c, oldest)
    },
    'refreshed-refresh-token-outlives-removed-session': async (c) => {
      const oldest = await refreshPair(c, await open(c, 'oldest'))
      await openSessions(c, 16)
      return refreshWorks(c, oldest)
    },
    'refresh-leaves-removed-session': async (c) => {
      const oldest = await open(c, 'oldest')
      await openSessions(c, 16)
      return accessWorks(c, await refreshPair(c, oldest))
    },
    'token-of-removed-session-creates-keys': async (c) => {
      const { accessToken } = await open(c, 'oldest', ['apikey'])
      await openSessions(c, 16)
      return createsKey(c, { token: accessToken })
    },
    'removed-session-works-again-when-name-returns': async (c) => {
      const oldest = await open(c, 'oldest')
      await openSessions(c, 16)
      await open(c, 'oldest')
      return accessWorks(c, oldest)
    },
    'name-of-removed-session-stays-dead': async (c) => {
      await open(c, 'oldest')
      await openSessions(c, 16)
      return !(await accessWorks(c, await open(c, 'oldest')))
    },
    'wrong-secret-takes-a-session-place': async (c) => {
      const [oldest] = await openSessions(c, 16)
      await c.grant(['solution', 'session:refused'], { id: c.root.id, secret: 'wrong' })
      return !(await accessWorks(c, oldest))
    },
    'every-second-refresh-takes-a-session-place': async (c) => {
      const [oldest, , newest] = await openSessions(c, 16)
      if (newest) await refreshPair(c, await refreshPair(c, newest))
      return !(await accessWorks(c, oldest))
    },
    'seventeenth-session-refused-while-oldest-is-in-use': async (c) => {
      const [oldest] = await openSessions(c, 16)
      await accessWorks(c, oldest)
      return !(await accessWorks(c, await open(c, 'next')))
    },
  })
})
