import { expect, test } from 'vitest'
import { seededRandom } from '../engine/signer/random.ts'
import { type MadeUpCall, madeUpTarget } from '../self/made-up-target.ts'
import { demandAccess } from './access.ts'
import { createCaller } from './caller.ts'

const demand = async (target: ReturnType<typeof madeUpTarget>, patientMs: number | null = 0): Promise<void> =>
  demandAccess(createCaller(await target.open(), seededRandom(1)), patientMs)

test('one accepted way to call is enough', async () => {
  const answer = ({ authorization }: MadeUpCall) =>
    authorization?.startsWith('Basic') === true ? { result: {} } : { status: 401 }
  await expect(demand(madeUpTarget({ answer }))).resolves.toBeUndefined()
})

test.each([
  [
    401,
    /^Cannot use .* refuses the API key "root" in every way \(Basic credentials: refused \(HTTP 401\); a signature: refused \(HTTP 401\)\); check the key id, the secret/,
  ],
  [404, /HTTP 404: is the base URL right\?$/],
])('%i to every call: the error says what to check', async (status, message) => {
  await expect(demand(madeUpTarget({ answer: () => ({ status }) }))).rejects.toThrow(message)
})

test.each([
  [0, 'is the server running? --wait SECONDS waits for it to come up'],
  [300, 'is the server running? It did not come up within 0.3 s'],
  [null, /is the server running\?$/],
])('a target that refuses connections, with a patience of %s ms', async (patientMs, message) => {
  const target = madeUpTarget({ answer: () => ({ result: {} }) })
  const open = async () => ({
    ...(await target.open()),
    send: async () =>
      ({ kind: 'none', reason: 'the connection was refused', stale: false, refusedConnection: true }) as const,
  })
  await expect(demand({ ...target, open }, patientMs)).rejects.toThrow(message)
})
