import { casesText } from '../commands/show.ts'
import { packageRoot } from '../engine/language/package-root.ts'
import { loadVectors } from '../engine/language/vectors.ts'
import { openCorpus } from '../run/corpus-cache.ts'
import { nearlyNullServers, nullServers } from '../servers/null-servers.ts'
import { brokenServers, conformingServers } from '../servers/table.ts'
import { coveringServers, pairsOf } from './conforming-run.ts'

/** The numbers of the README's table, by the things that they count. */
type Numbers = Record<CountedThing, string>

export type CountedThing =
  | 'Requirements'
  | 'Open questions'
  | 'Scenarios and cases'
  | 'Signature vectors'
  | 'Mutants caught at the requirement they break'
  | 'Conforming variants without a failure'
  | 'Null servers whose refusals count as proof'

/**
 * Counts what the tests of the suite itself go through; each of these tests fails if one of the counted things does. `npm test` goes
 * through a part of the variants and null servers, `npm run proof` through all.
 */
export async function countAll(): Promise<Numbers> {
  const corpus = await openCorpus()
  const { requirements, questions } = corpus
  const vectors = loadVectors(packageRoot)
  const mutants = await brokenServers('own')
  const variants = await conformingServers('own')
  const of = (level: string) => requirements.filter((requirement) => requirement.level === level).length
  const unprovable = requirements.filter(({ untestable }) => untestable && !untestable.without).length
  return {
    Requirements: `${requirements.length}: ${of('must')} must, ${of('implied')} implied; ${unprovable} with a written reason why no scenario can prove them`,
    'Open questions': `${questions.length}, ${questions.filter(({ unobserved }) => unobserved === undefined).length} of them observed`,
    'Scenarios and cases': casesText(corpus),
    'Signature vectors': `${vectors.valid.length} valid and ${vectors.invalid.length} invalid, each with all stages`,
    'Mutants caught at the requirement they break': `${mutants.length} of ${mutants.length}`,
    'Conforming variants without a failure': `${variants.length} of ${variants.length}; also in ${coveringServers(variants).length} servers that together combine all ${pairsOf(variants).length} compatible pairs`,
    'Null servers whose refusals count as proof': `0 of ${nullServers.length}; ${nearlyNullServers.length} more that answer a few calls correctly never conform`,
  }
}

export function numbersTable(numbers: Numbers): string {
  return [
    '| what | number |',
    '|---|---|',
    ...Object.entries(numbers).map(([what, number]) => `| ${what} | ${number} |`),
  ].join('\n')
}
