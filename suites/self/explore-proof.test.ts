import { describe, expect, test } from 'vitest'
import { openCorpus } from '../run/corpus-cache.ts'
import { brokenServers, conformingServers } from '../servers/table.ts'
import { isCatch, type ProofFinding, type ProofLine, prove } from './explore-proof.ts'
import { missedGoals } from './proof-told.ts'

const corpus = await openCorpus()
const options = { corpus, seed: 1, calls: 600, walks: 3 }

async function mutantNamed(name: string) {
  const mutant = (await brokenServers('others')).find(({ id }) => id === name)
  if (mutant === undefined) throw new Error(`There is no independent mutant "${name}"`)
  return { ...mutant, settings: {} }
}

/** The short form of `npm run explore-proof`: servers whose authors knew neither the cases nor the model. */
describe('the model alone', () => {
  test('finds expiry-as-text-with-expires-in, and its scenario works', async () => {
    const mutant = await mutantNamed('expiry-as-text-with-expires-in')
    const { found } = await prove(mutant, 'explore', { ...options, stopAtFirst: true })
    expect(found.find((one) => isCatch(mutant.breaks, one))?.fixture).toBe('works')
  })

  test('does not accuse names-of-refused-creations-stay-taken', async () => {
    const id = 'names-of-refused-creations-stay-taken'
    const variant = (await conformingServers('others')).find((one) => one.id === id)
    if (variant === undefined) throw new Error(`There is no independent variant "${id}"`)
    const line = await prove({ ...variant, breaks: '' }, 'explore', { ...options, stopAtFirst: false })
    expect(line.found).toEqual([])
  })
})

const told = { id: 'found/basic/credentials/let-in', message: '', again: '3/3', steps: 1, fixture: null }
const finding: ProofFinding = { by: 'model', requirement: 'basic/credentials', level: 'must', ...told }
const ofRun = { way: 'run', seed: 1, calls: 1, ms: 1, cpuMs: 1 } as const
const line = (id: string, breaks: string, found: ProofFinding[]): ProofLine => ({ id, breaks, found, ...ofRun })
const caught = Array.from({ length: 19 }, (_, at) => line(`caught-${at}`, 'basic/credentials', [finding]))

describe('the goals', () => {
  test('hold where 95 of 100 are found by a run, and no conforming server is accused', () => {
    expect(missedGoals([...caught, line('missed', 'basic/credentials', []), line('right', '', [])])).toEqual([])
  })

  test('are missed with one more', () => {
    const lines = [...caught, line('one', 'basic/credentials', []), line('two', 'basic/credentials', [])]
    expect(missedGoals(lines)).toEqual(['A run finds less than 95 %'])
    const explored = lines.slice(1).map((one) => ({ ...one, way: 'explore' as const }))
    expect(missedGoals(explored)).toEqual(['"explore" finds less than 98 %'])
  })

  test.each(['model', 'listening'] as const)('are missed where the %s accuses a conforming server', (by) => {
    const warning: ProofFinding = { ...finding, by, level: 'implied' }
    expect(missedGoals([line('right', '', [warning])])).toEqual(['1 false alarm'])
    expect(missedGoals([line('right', '', [{ ...warning, by: 'case' }])])).toEqual([])
  })
})
