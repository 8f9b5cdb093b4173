import { expect, test } from 'vitest'
import { openCorpus } from '../corpus-cache.ts'
import { madeUpTarget } from '../self/made-up-target.ts'
import { ensureCast } from './cast.ts'
import { runCastMember } from './cast-row.ts'
import { emptyKnowledge } from './knowledge.ts'
import { seededRandom } from './random.ts'
import { startRun, takeSeat } from './seat.ts'

const corpus = await openCorpus()
const [, bob] = corpus.cast

/** The creation of bob by a signature, on a lasting target. */
function createBob(fresh: boolean, takes: (authorization: string) => boolean) {
  const target = madeUpTarget({
    fresh,
    answer: ({ method, authorization = '' }) => {
      if (method !== 'manager/createApiKey') return { result: {} }
      return takes(authorization) ? { result: { id: 'new', secret: 'new-secret' } } : { status: 403 }
    },
  })
  const run = startRun({ target, corpus, knowledge: emptyKnowledge(), random: seededRandom(1), unique: 'test' })
  if (bob === undefined) throw new Error('no bob')
  return runCastMember(run, bob)
}

test('where no way creates a key, a target that is not fresh may have its ten already', async () => {
  const { verdict, problem } = await createBob(false, () => false)
  expect(verdict).toBe('blocked')
  expect(problem?.message).toContain('or the target has its ten API keys')
})

test('a fresh target has none, so it fails, and it is asked whether it is fresh', async () => {
  const { verdict, problem } = await createBob(true, () => false)
  expect(verdict).toBe('failed')
  expect(problem?.hint).toContain('Is this instance fresh')
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
  const run = startRun({ target, corpus, knowledge: emptyKnowledge(), random: seededRandom(1), unique: 'test' })
  if (bob === undefined) throw new Error('no bob')
  const { requirements } = await runCastMember(run, bob)
  expect(requirements).toEqual({ 'keys/create-authorized': 'passed', 'keys/create-result': 'failed' })
  expect(await ensureCast(await takeSeat(run), ['bob'])).toBeUndefined()
  expect(created).toBe(1)
})

test('a target that creates no key at all is asked for one with other scopes once for each way, not in every row', async () => {
  const creations = async (times: number): Promise<number> => {
    let count = 0
    const answer = ({ method }: { method: string }) => {
      if (method === 'manager/createApiKey') count += 1
      return method === 'solution/listSolutions' ? { result: {} } : { status: 401 }
    }
    const target = madeUpTarget({ answer, fresh: false })
    const run = startRun({ target, corpus, knowledge: emptyKnowledge(), random: seededRandom(1), unique: 'test' })
    const seat = await takeSeat(run)
    for (let time = 0; time < times; time++) await ensureCast(seat, ['bob'])
    return count
  }
  const once = await creations(1)
  expect(once).toBeGreaterThan(2)
  expect(await creations(10)).toBe(once + 9 * 2)
})
