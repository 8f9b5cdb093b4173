import { expect, test } from 'vitest'
import { type MadeUpCall, madeUpTarget } from '../self/made-up-target.ts'
import { emptyKnowledge } from './knowledge.ts'
import { preflight } from './preflight.ts'
import { seededRandom } from './random.ts'
import { startRun } from './seat.ts'

const corpus = { requirements: [], questions: [], cast: [], schemas: {}, scenarios: [] }

/** A server that sees us under this address, and knows the root key. */
function seenAs(address: string) {
  const granted = new Map<string, string>()
  return ({ method, params, authorization = '' }: MadeUpCall) => {
    const refused = { status: 401 }
    if (method === 'manager/auth') {
      if (params.apiKeyId !== 'root') return refused
      const accessToken = `token-${granted.size}`
      const bound = (params.scope as string[]).find((scope) => scope.startsWith('ipAddr:'))
      granted.set(accessToken, bound?.slice('ipAddr:'.length) ?? address)
      return { result: { accessToken } }
    }
    const [scheme, rest = ''] = authorization.split(' ')
    if (scheme === 'Basic') return atob(rest) === 'root:not-a-secret' ? { result: {} } : refused
    return scheme === 'Bearer' && granted.get(rest) === address ? { result: {} } : refused
  }
}

async function learnedAddress(seen: string, settings: object, allow: 'sessions'[] = ['sessions']) {
  const target = madeUpTarget({ answer: seenAs(seen), settings })
  const run = startRun({ target, corpus, knowledge: emptyKnowledge(), random: seededRandom(1), unique: 'test' })
  await preflight(run, allow)
  return run.knowledge.clientAddress
}

const likely = { likelyAddresses: ['127.0.0.1', '192.0.2.5', '172.17.0.1'] }

test('the address that the server sees is the likely one that a token is good for', async () => {
  expect(await learnedAddress('127.0.0.1', likely)).toBe('127.0.0.1')
  expect(await learnedAddress('172.17.0.1', likely)).toBe('172.17.0.1')
})

test('where no likely address works it is not known, so that nothing is judged by it', async () => {
  expect(await learnedAddress('198.51.100.1', likely)).toBeUndefined()
})

test('a declared address is not doubted, and without tokens the likeliest is taken', async () => {
  expect(await learnedAddress('127.0.0.1', { ...likely, clientAddress: '192.0.2.9' })).toBe('192.0.2.9')
  expect(await learnedAddress('172.17.0.1', likely, [])).toBe('127.0.0.1')
})
