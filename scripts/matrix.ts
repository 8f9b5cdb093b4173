/**
 * Runs every scenario against every mutant: which cases find it, at the requirement that it breaks and elsewhere.
 *
 *     npm run matrix [-- --only TEXT]     mutants whose id or requirement begins so
 *
 * It also says how many mutants a report tells in one line, and how many with more than one other requirement.
 */
import { allItems } from '../suites/engine/conversation/cases.ts'
import { countBy } from '../suites/engine/group.ts'
import { openCorpus } from '../suites/run/corpus-cache.ts'
import { type Hunt, hunt, idleReasons, idleScenarios } from '../suites/self/mutation.ts'
import { brokenServers } from '../suites/servers/table.ts'
import { readArguments } from './arguments.ts'

const { values } = readArguments({
  options: { only: { type: 'string', default: '' } },
})
const corpus = await openCorpus()
const everything = allItems(corpus)
const mutants = (await brokenServers('own')).filter(
  ({ id, breaks }) => id.startsWith(values.only) || breaks.startsWith(values.only),
)

const hunts: Hunt[] = []
for (const mutant of mutants) {
  const found = await hunt(mutant, corpus, everything)
  hunts.push(found)
  console.log(line(found))
}

const survivors = hunts.filter(({ killers }) => killers.length === 0)
const elsewhere = survivors.filter((found) => found.elsewhere.length > 0)
const idle = values.only === '' ? idleScenarios(corpus, hunts) : []
const unexplained = idle.filter((id) => idleReasons[id] === undefined)
// How clearly reports tell one defect: in one line, and at how many other requirements.
const several = hunts.filter(({ told }) => told.length !== 1)
const foreign = hunts.filter(({ mutant, told }) => new Set(told.flat().filter((id) => id !== mutant.breaks)).size > 1)
const share = (count: number): string => `${count} (${((100 * count) / hunts.length).toFixed(1)} %)`
console.log(
  [
    '',
    `${hunts.length} mutants, ${hunts.length - survivors.length} killed at the requirement they break`,
    `${survivors.length} survivors${list(survivors.map(({ mutant, seen }) => `${mutant.id} (${seen})`))}`,
    `${elsewhere.length} of them noticed elsewhere only${list(elsewhere.map(({ mutant }) => mutant.id))}`,
    `${share(hunts.length - several.length)} told in one line${list(several.map(({ mutant, told }) => `${mutant.id}: ${told.length} lines`))}`,
    `${share(foreign.length)} with more than one requirement that they do not break${list(foreign.map(({ mutant }) => mutant.id))}`,
    `${idle.length} scenarios that kill no mutant, ${unexplained.length} without a stated reason${list(unexplained)}`,
  ].join('\n'),
)
if (survivors.length + unexplained.length > 0) process.exitCode = 1

function line({ mutant, killers, elsewhere: others, seen }: Hunt): string {
  const own = killers.length === 0 ? `SURVIVED (${seen})` : countByScenario(killers)
  const more = others.length === 0 ? '' : `; elsewhere ${countByScenario(others)}`
  return `${mutant.breaks}  ${mutant.id}: ${own}${more}`
}

function countByScenario(cases: Hunt['killers']): string {
  return [...countBy(cases, ({ id }) => id)].map(([id, count]) => (count === 1 ? id : `${id} ×${count}`)).join(', ')
}

function list(ids: readonly string[]): string {
  return ids.length === 0 ? '' : `:\n  ${ids.join('\n  ')}`
}
