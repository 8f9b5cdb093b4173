import { expect, test } from 'vitest'
import { problemText } from '../../report/problem-text.ts'
import { openCorpus } from '../../run/corpus-cache.ts'
import { madeUpTarget } from '../../self/made-up-target.ts'
import { seededRandom } from '../random.ts'
import { openCaller, startRun } from './caller.ts'
import { createTestKey } from './create-test-key.ts'
import { noFacts } from './target-facts.ts'
import { ensureTestKeys } from './test-keys.ts'

const corpus = await openCorpus()
const [, bob] = corpus.testKeys

/** The creation of bob by a signature, on a lasting target. */
function createBob(fresh: boolean, takes: (authorization: string) => boolean) {
  const target = madeUpTarget({
    fresh,
    answer: ({ method, authorization = '' }) => {
      if (method !== 'manager/createApiKey') return { result: {} }
      return takes(authorization) ? { result: { id: 'new', secret: 'new-secret' } } : { status: 403 }
    },
  })
  const run = startRun({ target, corpus, facts: noFacts(), random: seededRandom(1), unique: 'test' })
  if (bob === undefined) throw new Error('no bob')
  return createTestKey(run, bob)
}

test('where no way creates a key, a target that is not fresh may have its ten already', async () => {
  const { verdict, problem } = await createBob(false, () => false)
  expect(verdict).toBe('not-testable')
  expect(problemText(problem)).toContain('all ten places for API keys are taken')
})

test('a fresh target has no keys, so creation fails there, and the hint doubts that it is fresh', async () => {
  const { verdict, problem } = await createBob(true, () => false)
  expect(verdict).toBe('failed')
  expect(problem?.hint).toEqual({ kind: 'perhaps-not-fresh' })
})

test.each([true, false])('where another way creates it, this one is broken (fresh: %s)', async (fresh) => {
  const { verdict, problem } = await createBob(fresh, (authorization) => authorization.startsWith('Basic'))
  expect(verdict).toBe('failed')
  expect(problem?.hint).toBeUndefined()
})

test('a key with a public key whose secret is missing fails once, and is used all the same', async () => {
  let created = 0
  const target = madeUpTarget({
    answer: ({ method }) => {
      if (method === 'manager/createApiKey') created += 1
      return { result: { id: 'new' } }
    },
  })
  const run = startRun({ target, corpus, facts: noFacts(), random: seededRandom(1), unique: 'test' })
  if (bob === undefined) throw new Error('no bob')
  const { requirements } = await createTestKey(run, bob)
  expect(requirements).toEqual({ 'keys/create-authorized': 'passed', 'keys/create-result': 'failed' })
  expect(await ensureTestKeys(await openCaller(run), ['bob'])).toBeUndefined()
  expect(created).toBe(1)
})

test('where no key can be created, other scopes are tried once for each way, not in every case', async () => {
  const creations = async (times: number): Promise<number> => {
    let count = 0
    const answer = ({ method }: { method: string }) => {
      if (method === 'manager/createApiKey') count += 1
      return method === 'solution/listSolutions' ? { result: {} } : { status: 401 }
    }
    const target = madeUpTarget({ answer, fresh: false })
    const run = startRun({ target, corpus, facts: noFacts(), random: seededRandom(1), unique: 'test' })
    const caller = await openCaller(run)
    for (let time = 0; time < times; time++) await ensureTestKeys(caller, ['bob'])
    return count
  }
  const once = await creations(1)
  expect(once).toBeGreaterThan(2)
  expect(await creations(10)).toBe(once + 9 * 2)
})

test.each([[['sol-1']], [[]]])(
  'a key within the scope of the token that creates it, where no token is for one solution (solutions: %s)',
  async (solutions) => {
    const granted = new Map<string, string[]>()
    const lower = (scope: unknown): string[] => (scope as string[]).map((word) => word.toLowerCase())
    const target = madeUpTarget({
      settings: { solutions },
      answer: ({ method, params, authorization = '' }) => {
        if (method === 'manager/auth') {
          const scope = lower(params.scope)
          if (scope.some((word) => /^solution:(?!\*)/.test(word))) return { status: 403 }
          const accessToken = `token-${granted.size}`
          granted.set(accessToken, scope)
          return { result: { accessToken } }
        }
        if (method !== 'manager/createApiKey') return { result: {} }
        const ofToken = granted.get(authorization.replace(/^\w+ /, '')) ?? []
        const isWithin = lower(params.scope).every((word) => ofToken.includes(word))
        return isWithin ? { result: { id: 'new', secret: 'new-secret' } } : { status: 403 }
      },
    })
    const facts = { ...noFacts(), tokenPrefix: 'Bearer' }
    const run = startRun({ target, corpus, facts, random: seededRandom(1), unique: 'test' })
    const carol = corpus.testKeys.find(({ name }) => name === 'carol')
    if (carol === undefined) throw new Error('no carol')
    expect(await createTestKey(run, carol)).toMatchObject({ verdict: 'passed' })
  },
)
