import { describe } from 'vitest'
import {
  accessWorks,
  type Client,
  grantPair,
  inTurn,
  makeKey,
  openSessions,
  type Pair,
  refreshPair,
  testWitnesses,
  works,
} from '../test-witness.ts'

/** Whether more than one of two refreshes of the same token wins. */
async function bothRefresh(client: Client, { refreshToken }: Pair): Promise<boolean> {
  const answers = await Promise.all([client.refresh(refreshToken), client.refresh(refreshToken)])
  return answers.every(works)
}

/** Whether two concurrent calls make a tenth and an eleventh key. */
async function bothCreate(client: Client): Promise<boolean> {
  await inTurn(9, () => makeKey(client))
  const keys = await Promise.all([makeKey(client), makeKey(client)])
  return keys.every(({ id }) => id !== undefined)
}

/** Whether two concurrent grants open a sixteenth and a seventeenth session while the others live on. */
async function bothOpen(client: Client): Promise<boolean> {
  const pairs = await openSessions(client, 15)
  const open = (name: string) => grantPair(client, ['solution', `session:${name}`])
  pairs.push(...(await Promise.all([open('one'), open('other')])))
  return !(await inTurn(17, (index) => accessWorks(client, pairs[index]))).includes(false)
}

const refreshTwice = async (client: Client) => bothRefresh(client, await grantPair(client))

describe('races', () => {
  testWitnesses({
    'refresh-decided-two-ms-before-revocation': refreshTwice,
    'refresh-decided-a-turn-before-revocation': refreshTwice,
    'refresh-decided-some-microtasks-before-revocation': refreshTwice,
    'second-refresh-decided-two-ms-before-revocation': async (c) =>
      bothRefresh(c, await refreshPair(c, await grantPair(c))),
    'keys-counted-two-ms-before-creation': bothCreate,
    'keys-counted-a-turn-before-creation': bothCreate,
    'keys-counted-some-microtasks-before-creation': bothCreate,
    'sessions-counted-two-ms-before-creation': bothOpen,
    'sessions-counted-some-microtasks-before-creation': bothOpen,
  })
})
