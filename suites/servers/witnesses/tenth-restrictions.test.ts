import { describe } from 'vitest'
import {
  accessWorks,
  basic,
  type Client,
  createsKey,
  grantPair,
  makeKey,
  type Pair,
  post,
  refreshPair,
  testWitnesses,
  works,
} from '../test-witness.ts'

/** The ids of the solutions of a new server. */
async function solutionsOf(c: Client): Promise<string[]> {
  const { list } = (await c.list({ basic: c.root })).json.result
  return list.map(({ id }: { id: string }) => id)
}

const createsContext = async (c: Client, { accessToken }: Pair, solution = '') => {
  const params = { solution, name: 'one', description: '', scope: 'private' }
  return works(await c.call('context/createContext', params, { token: accessToken }))
}

/** Creates a key on a numbered connection. */
async function makeKeyOn(c: Client, connection: number, scope: string[]): Promise<{ id: string; secret: string }> {
  const params = { name: 'key', scope }
  const body = JSON.stringify({ jsonrpc: '2.0', id: 7, method: 'manager/createApiKey', params })
  return (await post(c, body, basic(c.root.id, c.root.secret), connection)).json.result
}

describe('tenth set: restrictions', () => {
  testWitnesses({
    'solution-any-scope-creates-keys': async (c) => {
      const creates = async (scope: string[]) => createsKey(c, { token: (await grantPair(c, scope)).accessToken })
      return (await creates(['solution:*'])) && !(await creates(['solution', 'solution:abc']))
    },
    'context-token-with-address-lists-solutions': async (c) => {
      const lists = async (scope: string[]) => accessWorks(c, await grantPair(c, scope))
      return (
        (await lists(['context', 'ipAddr:127.0.0.1'])) &&
        !(await lists(['context'])) &&
        !(await lists(['thread', 'ipAddr:127.0.0.1']))
      )
    },
    'grants-in-flight-share-the-scope-of-a-key': async (c) => {
      const narrow = await makeKey(c, { scope: ['solution'] })
      const alone = works(await c.grant(['context'], narrow))
      const [wide] = await Promise.all([c.grant(['context'], narrow), c.grant(['solution'])])
      return !alone && works(wide)
    },
    'key-takes-scopes-of-key-created-before-on-connection': async (c) => {
      await makeKeyOn(c, 1, ['solution'])
      const [same, other] = [await makeKeyOn(c, 1, ['context']), await makeKeyOn(c, 2, ['context'])]
      return works(await c.list({ basic: same })) && !works(await c.list({ basic: other }))
    },
    'address-opens-all-solutions-to-token-of-one': async (c) => {
      const [one, other] = await solutionsOf(c)
      const reaches = async (scope: string[]) =>
        createsContext(c, await grantPair(c, ['context', `solution:${one}`, ...scope]), other)
      return !(await reaches([])) && !(await reaches(['session:one'])) && reaches(['ipAddr:127.0.0.1'])
    },
    'refresh-widens-one-solution-to-any': async (c) => {
      const [one, other] = await solutionsOf(c)
      const pair = await grantPair(c, ['context', `solution:${one}`])
      const before = await createsContext(c, pair, other)
      const next = await refreshPair(c, pair)
      return !before && (await createsContext(c, next, other)) && next.scope.join() === pair.scope.join()
    },
    'calls-in-flight-share-the-address-of-the-last-one': async (c) => {
      const pair = await grantPair(c, ['solution', 'ipAddr:127.0.0.2'])
      const alone = await accessWorks(c, pair)
      const [here] = await Promise.all([accessWorks(c, pair), c.list({ none: true }, { from: '127.0.0.2' })])
      return !alone && here && !(await accessWorks(c, pair))
    },
    'address-list-of-key-grows-with-its-grants': async (c) => {
      const bound = (address: string) => grantPair(c, ['solution', `ipAddr:${address}`])
      const [first, second] = [await bound('127.0.0.1'), await bound('127.0.0.2')]
      return (await accessWorks(c, second, '127.0.0.1')) && !(await accessWorks(c, first, '127.0.0.2'))
    },
    'only-first-area-of-token-opens': async (c) => {
      const pair = await grantPair(c, ['context', 'solution'])
      return (
        !(await accessWorks(c, pair)) &&
        pair.scope.join() === 'context,solution' &&
        (await accessWorks(c, await grantPair(c, ['solution', 'context'])))
      )
    },
  })
})
