/** The results of the proof of the model as text: lists for the author, a summary for the reader. */
import { isCatch, type ProofLine } from './explore-proof.ts'

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
    alarms: variants.filter(({ found }) => found.some(({ by, level }) => by === 'model' || level === 'must')),
  }
}

const byCases = (line: ProofLine): ProofLine => ({ ...line, found: line.found.filter(({ by }) => by === 'case') })

function counts(lines: readonly ProofLine[]): [name: string, count: Count][] {
  const run = lines.filter(({ way }) => way === 'run')
  const explored = lines.filter(({ way }) => way === 'explore')
  return [
    ['scripted cases alone', count(run, byCases)],
    ['scripted cases, then the model: a disposable run', count(run, (line) => line)],
    ['the model alone: `explore --for 60`', count(explored, (line) => line)],
  ]
}

/** Every server that was missed, found elsewhere only, or accused, then the counts. */
export function proofTables(lines: readonly ProofLine[]): string {
  const named = counts(lines)
  const lists = named.flatMap(([name, { missed, elsewhere, alarms }]) => [
    ...missed.map(({ id, breaks }) => `${name}: missed ${id} (${breaks})`),
    ...elsewhere.map(
      ({ id, breaks, found }) =>
        `${name}: ${id} breaks ${breaks}, found at ${[...new Set(found.map(({ requirement }) => requirement))].slice(0, 4).join(', ')}`,
    ),
    ...alarms.map(
      ({ id, seed, found }) =>
        `${name}: FALSE ALARM at ${id} (seed ${seed}): ${found.map(({ requirement, id: what, message }) => `${requirement} ${what}: ${message}`).join('; ')}`,
    ),
  ])
  return [...lists, '', table(named)].join('\n')
}

const share = (part: number, all: number): string =>
  all === 0 ? '–' : `${part} of ${all} (${((100 * part) / all).toFixed(1)} %)`

function table(named: readonly [string, Count][]): string {
  return [
    '| calls made by | broken servers found | of them at the broken requirement | false alarms |',
    '|---|---|---|---|',
    ...named.map(
      ([name, { asked, missed, elsewhere, servers, alarms }]) =>
        `| ${name} | ${share(asked - missed.length, asked)} | ${asked - missed.length - elsewhere.length} | ${alarms.length} of ${servers} |`,
    ),
  ].join('\n')
}

/** For docs/model.md: the counts, and the servers that neither way found. */
export function proofSummary(lines: readonly ProofLine[]): string {
  const named = counts(lines)
  const missed = named.slice(1).map(([, one]) => new Set(one.missed.map(({ id }) => id)))
  const names = (set: ReadonlySet<string> | undefined): string =>
    set === undefined || set.size === 0 ? 'none' : [...set].map((id) => `\`${id}\``).join(', ')
  return [
    table(named),
    '',
    `Missed by a disposable run: ${names(missed[0])}.`,
    '',
    `Missed by \`explore --for 60\`: ${names(missed[1])}.`,
  ].join('\n')
}
