/** The results of the proof of the model as text: lists for the author, a summary for the reader. */
import { isCaught, type ProofLine } from './explore-proof.ts'

interface Count {
  readonly asked: number
  readonly missed: readonly ProofLine[]
  /** Found, but only at requirements other than the one that is broken. */
  readonly elsewhere: readonly ProofLine[]
  readonly servers: number
  readonly alarms: readonly ProofLine[]
}

function count(lines: readonly ProofLine[], by: (line: ProofLine) => ProofLine): Count {
  const seen = lines.map(by)
  const mutants = seen.filter(({ breaks }) => breaks !== '')
  const variants = seen.filter(({ breaks }) => breaks === '')
  const atHome = ({ found, breaks }: ProofLine): boolean => found.some(({ requirement }) => requirement === breaks)
  return {
    asked: mutants.length,
    missed: mutants.filter((line) => !isCaught(line)),
    elsewhere: mutants.filter((line) => isCaught(line) && !atHome(line)),
    servers: variants.length,
    // The refusal of an eleventh key is only implied, so a warning there is not an accusation.
    alarms: variants.filter(({ found }) => found.some(({ by, level }) => by !== 'case' || level === 'must')),
  }
}

const byCases = (line: ProofLine): ProofLine => ({ ...line, found: line.found.filter(({ by }) => by === 'case') })

const byListening = (line: ProofLine): ProofLine => ({ ...line, found: line.found.filter(({ by }) => by !== 'model') })

type Named = readonly [name: string, count: Count]

function counts(lines: readonly ProofLine[]): Named[] {
  const run = lines.filter(({ way }) => way !== 'explore')
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

/** Why a server is missed, by its id. */
type Reasons = ReadonlyMap<string, string>

/** Every server that was missed, with the reason where it is known, found elsewhere only, or accused. */
export const proofLists = (lines: readonly ProofLine[], reasons: Reasons): string[] =>
  counts(lines).flatMap(([name, { missed, elsewhere, alarms }]) => [
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

/** For docs/model.md: a row of counts for each set, and what each way missed, with the reason. A way that was not tried is left out. */
export function proofSummary(lines: readonly ProofLine[], sets: Sets, reasons: Reasons = new Map()): string {
  const tried = counts(lines).map(([, { asked, servers }]) => asked + servers > 0)
  const ways = <T>(each: readonly T[]): T[] => each.filter((_, at) => tried[at])
  const ofSets = [...sets].map(([name, ids]) => [name, lines.filter(({ id }) => ids.has(id))] as const)
  const rows = [...ofSets.filter(([, some]) => some.length > 0), ['all', lines] as const].map(([name, some]) => {
    const named = counts(some).map(([, one]) => one)
    const broken = Math.max(...named.map(({ asked }) => asked))
    const accused = new Set(named.flatMap(({ alarms }) => alarms.map(({ id }) => id)))
    const servers = Math.max(...named.map((one) => one.servers))
    return [name, broken, ...ways(named).map(found), `${accused.size} of ${servers}`]
  })
  const names = ways([
    'cases alone',
    'and the model listens',
    'and it makes calls: a disposable run',
    '`explore --for 60`',
  ])
  const head = ['set', 'broken servers', ...names, 'conforming servers accused']
  const [, , run, explored] = counts(lines)
  return [
    ...[head, head.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`),
    ...missedTable('a disposable run', run, reasons),
    ...missedTable('`explore --for 60`', explored, reasons),
  ].join('\n')
}

/** How many were found, in parentheses how many of them at the requirement that they break, and the share. */
const found = ({ asked, missed, elsewhere }: Count): string =>
  asked === 0
    ? '–'
    : `${asked - missed.length} (${asked - missed.length - elsewhere.length}), ${((100 * (asked - missed.length)) / asked).toFixed(1)} %`

/** The servers that a way missed, by the reason. */
function missedTable(way: string, named: Named | undefined, reasons: Reasons): string[] {
  if (named === undefined || named[1].asked === 0) return []
  const byReason = new Map<string, string[]>()
  for (const { id } of named[1].missed) {
    const why = reasons.get(id) ?? 'no reason recorded'
    byReason.set(why, [...(byReason.get(why) ?? []), `\`${id}\``])
  }
  if (byReason.size === 0) return ['', `Missed by ${way}: none.`]
  return [
    '',
    `| missed by ${way} | why |`,
    '|---|---|',
    ...[...byReason].map(([why, ids]) => `| ${ids.join(', ')} | ${why} |`),
  ]
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
