import { once } from 'node:events'
import { expect, test } from 'vitest'
import { openCorpus } from '../run/corpus-cache.ts'
import { brokenServers } from '../servers/table.ts'
import { body } from './made-up-calls.ts'
import { type Hunt, hunt, idleReasons, idleScenarios, itemsOf } from './mutation.ts'
import { startBuilt } from './printed-by.ts'
import { isProof, onlyInProof, turnUnlessProof } from './proof-form.ts'

const corpus = await openCorpus()
const mutants = await brokenServers('own')
/** Outside of a proof every eighth: each kind of rule, and each part of the document, still has some. */
const tried = turnUnlessProof(mutants, 8, 0)
const hunts: Hunt[] = []

test('there are at least a hundred mutants', () => {
  expect(mutants.length).toBeGreaterThanOrEqual(100)
})

test('serve serves a mutant with the switches that it needs', async () => {
  const child = startBuilt(['serve', '--mutant', 'secret-unchecked-behind-another-spelling-of-basic'])
  try {
    const [printed] = await once(child.stdout, 'data')
    const { url, apiKeyId } = JSON.parse(String(printed).split('\n')[0] ?? '') as { url: string; apiKeyId: string }
    const authorization = `bASIC ${btoa(`${apiKeyId}:wrong`)}`
    const headers = { 'content-type': 'application/json', authorization }
    const answer = await fetch(`${url}/api`, { method: 'POST', headers, body: body('solution/listSolutions') })
    expect(await answer.json()).toHaveProperty('result')
  } finally {
    child.kill()
  }
})

test('every requirement that a scenario can prove is broken by a mutant', () => {
  const broken = new Set(mutants.map(({ breaks }) => breaks))
  const provable = corpus.requirements.filter(({ untestable }) => untestable === undefined || untestable.without)
  expect(provable.map(({ id }) => id).filter((id) => !broken.has(id))).toEqual([])
  const known = new Set(corpus.requirements.map(({ id }) => id))
  expect([...broken].filter((id) => !known.has(id))).toEqual([])
})

test.each(tried)(
  'a mutant is killed at the requirement that it breaks, by failed for a must and by warned for an implied: $breaks: $id',
  async (mutant) => {
    const found = await hunt(mutant, corpus, itemsOf(corpus, mutant.breaks), isProof ? 'all' : 'first-kill')
    hunts.push(found)
    const killers = found.killers.map(({ key }) => key)
    expect(killers, `no scenario that proves ${mutant.breaks} catches it: ${found.seen}`).not.toEqual([])
  },
)

test.skipIf(!isProof)(
  onlyInProof('only a scenario that kills no mutant gives a reason, and each of these does'),
  () => {
    expect(hunts, 'run all mutants to see this').toHaveLength(mutants.length)
    const idle = idleScenarios(corpus, hunts)
    expect(idle.filter((id) => idleReasons[id] === undefined)).toEqual([])
    expect(Object.keys(idleReasons).filter((id) => !idle.includes(id))).toEqual([])
  },
)
