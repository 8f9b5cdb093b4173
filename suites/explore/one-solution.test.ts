import { expect, test } from 'vitest'
import { bareSettings } from '../engine/target.ts'
import { bundledSettings, loadIndependentMutants, type ServerOptions } from '../targets/bundled.ts'
import { basic, list } from './calls.ts'
import { oneSolutionOnly } from './one-solution.ts'
import type { Caller } from './table.ts'
import { foundIn } from './test-findings.ts'

/** The two solutions of the server, as a user would name them in the target file. */
async function withSolutions({ x, ...caller }: Caller): Promise<Caller> {
  const seen = await x.call(list(basic('root')))
  if (seen?.answer.kind !== 'accepted') throw new Error('The listing was not accepted')
  const { list: listed } = seen.answer.result as { list: { id: string }[] }
  return { ...caller, x: { ...x, options: { ...x.options, solutions: listed.map(({ id }) => id).slice(0, 2) } } }
}

async function brokenBy(server: Omit<ServerOptions, 'clock'>, settings = bundledSettings([])): Promise<string[]> {
  const run = async (caller: Caller): Promise<void> => oneSolutionOnly(await withSolutions(caller), 'root')
  const { found } = await foundIn(server, run, { settings })
  return [...new Set(found.map(({ requirement }) => requirement))]
}

const mutants = await loadIndependentMutants()

test.each([
  ['solution-id-compared-by-prefix', 'scopes/solution-id'],
  ['solution-id-not-held-in-session', 'scopes/solution-id'],
  ['address-opens-all-solutions-to-token-of-one', 'scopes/solution-id'],
  ['refresh-widens-one-solution-to-any', 'refresh/scopes-kept'],
])('%s breaks %s', async (id, requirement) => {
  const mutant = mutants.find((one) => one.id === id)
  expect(await brokenBy({ ...mutant?.create() })).toContain(requirement)
})

test('the reference server breaks nothing', async () => {
  expect(await brokenBy({})).toEqual([])
})

test('without a method of the target file nothing is called', async () => {
  const mutant = mutants.find((one) => one.id === 'solution-id-not-held-in-session')
  expect(await brokenBy({ ...mutant?.create() }, bareSettings)).toEqual([])
})
