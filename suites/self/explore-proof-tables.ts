/** The results of the proof of the model as text: lists for the author, a summary for the reader. */
import type { ProofLine } from './explore-proof.ts'
import { isCatch } from './proof-model.ts'

interface Count {
  readonly asked: number
  readonly missed: readonly ProofLine[]
  /** Found, but only at requirements other than the one that is broken. */
  readonly elsewhere: readonly ProofLine[]
  readonly servers: number
  readonly alarms: readonly ProofLine[]
}

/** If a mutant was tested with several seeds, the first counts. */
function count(lines: readonly ProofLine[], by: (line: ProofLine) => ProofLine): Count {
  const seen = lines.map(by)
  const seed = Math.min(...seen.map((line) => line.seed))
  const mutants = seen.filter((line) => line.breaks !== '' && line.seed === seed)
  const variants = seen.filter(({ breaks }) => breaks === '')
  const caught = (line: ProofLine): boolean => line.found.some((one) => isCatch(line.breaks, one))
  const atHome = ({ found, breaks }: ProofLine): boolean => found.some(({ requirement }) => requirement === breaks)
  return {
    asked: mutants.length,
    missed: mutants.filter((line) => !caught(line)),
    elsewhere: mutants.filter((line) => caught(line) && !atHome(line)),
    servers: variants.length,
    // The refusal of an eleventh key is only implied, so a warning there is not an accusation.
    alarms: variants.filter(({ found }) => found.some(({ by, level }) => by !== 'case' || level === 'must')),
  }
}

const byCases = (line: ProofLine): ProofLine => ({ ...line, found: line.found.filter(({ by }) => by === 'case') })
const byListening = (line: ProofLine): ProofLine => ({ ...line, found: line.found.filter(({ by }) => by !== 'model') })

type Named = readonly [name: string, count: Count]

function counts(lines: readonly ProofLine[]): Named[] {
  const run = lines.filter(({ way }) => way === 'run')
  const explored = lines.filter(({ way }) => way === 'explore')
  return [
    ['scripted cases alone', count(run, byCases)],
    ['scripted cases, with the model listening', count(run, byListening)],
    ['the same, then the model: a disposable run', count(run, (line) => line)],
    ['the model alone: `explore --for 60`', count(explored, (line) => line)],
  ]
}

/** The ids of the servers of each set, by the name of the set. */
type Sets = ReadonlyMap<string, ReadonlySet<string>>

const linesOf = (lines: readonly ProofLine[], sets: Sets): [string, ProofLine[]][] =>
  [...sets].map(([name, ids]) => [`The ${name} set`, lines.filter(({ id }) => ids.has(id))])

/** Every server that was missed, with the reason where it is known, found elsewhere only, or accused, then the counts of each set. */
export function proofTables(lines: readonly ProofLine[], sets: Sets, reasons: Reasons = new Map()): string {
  return linesOf(lines, sets)
    .filter(([, some]) => some.length > 0)
    .map(([name, some]) => [name, '', ...listsOf(counts(some), reasons), '', table(counts(some))].join('\n'))
    .join('\n\n')
}

/** Why a server is missed, by its id. */
type Reasons = ReadonlyMap<string, string>

function listsOf(named: readonly Named[], reasons: Reasons): string[] {
  return named.flatMap(([name, { missed, elsewhere, alarms }]) => [
    ...missed.map(
      ({ id, breaks }) => `${name}: missed ${[`${id} (${breaks})`, reasons.get(id) ?? []].flat().join(': ')}`,
    ),
    ...elsewhere.map(
      ({ id, breaks, found }) =>
        `${name}: ${id} breaks ${breaks}, found at ${[...new Set(found.map(({ requirement }) => requirement))].slice(0, 4).join(', ')}`,
    ),
    ...alarms.map(
      ({ id, seed, found }) =>
        `${name}: FALSE ALARM at ${id} (seed ${seed}): ${found.map(({ requirement, id: what, message }) => `${requirement} ${what}: ${message}`).join('; ')}`,
    ),
  ])
}

const share = (part: number, all: number): string =>
  all === 0 ? '–' : `${part} of ${all} (${((100 * part) / all).toFixed(1)} %)`

function table(named: readonly Named[]): string {
  return [
    '| way | broken servers found | of them at the broken requirement | false alarms |',
    '|---|---|---|---|',
    ...named.map(
      ([name, { asked, missed, elsewhere, servers, alarms }]) =>
        `| ${name} | ${share(asked - missed.length, asked)} | ${asked - missed.length - elsewhere.length} | ${alarms.length} of ${servers} |`,
    ),
  ].join('\n')
}

/** For docs/model.md: the counts, and what no way found. A way that was not tried is left out. */
export function proofSummary(lines: readonly ProofLine[], sets: Sets): string {
  return linesOf(lines, sets)
    .filter(([, some]) => some.length > 0)
    .flatMap(([name, some]) => {
      const named = counts(some)
      const [, , run, explored] = named
      return [
        `${name}:`,
        '',
        table(named.filter(([, { asked, servers }]) => asked + servers > 0)),
        '',
        ...missedLines('a disposable run', run),
        ...missedLines('`explore --for 60`', explored),
      ]
    })
    .join('\n')
    .trimEnd()
}

const missedLines = (way: string, named: Named | undefined): string[] =>
  named === undefined || named[1].asked === 0 ? [] : [`Missed by ${way}: ${namesOf(named)}.`, '']

function namesOf(named: Named | undefined): string {
  const ids = [...new Set(named?.[1].missed.map(({ id }) => id))]
  return ids.length === 0 ? 'none' : ids.map((id) => `\`${id}\``).join(', ')
}

/** Of the broken servers, the share that each way must find. */
const goals = { run: 0.95, explore: 0.98 }

/** The goals that these results miss, one sentence each. */
export function missedGoals(lines: readonly ProofLine[]): string[] {
  const [, , run, explored] = counts(lines).map(([, one]) => one)
  const shareOf = ({ asked, missed }: Count): number => (asked === 0 ? 1 : 1 - missed.length / asked)
  const alarms = (run?.alarms.length ?? 0) + (explored?.alarms.length ?? 0)
  return [
    ...(run !== undefined && shareOf(run) < goals.run ? [`A run finds less than ${100 * goals.run} %`] : []),
    ...(explored !== undefined && shareOf(explored) < goals.explore
      ? [`"explore" finds less than ${100 * goals.explore} %`]
      : []),
    ...(alarms > 0 ? [`${alarms} false ${alarms === 1 ? 'alarm' : 'alarms'}`] : []),
  ]
}
