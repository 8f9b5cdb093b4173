/** Which pairs of the matrix a full exploration of the reference server covers, and why it does not cover the others. */
import { usageError } from '../engine/errors.ts'
import { groupBy } from '../engine/group.ts'
import { jsonLine, type Printable, printableLines } from '../engine/printable.ts'
import { openExploration } from './explore.ts'
import { noCoverage } from './matrix.ts'
import { openTarget } from './open.ts'

type MatrixCoverage = ReturnType<typeof noCoverage>

/**
 * The pairs of the matrix that a run covers on the reference server.
 *
 * @param text part of a pair, such as `way=basic`
 * @param seed that of a run
 */
export async function listMatrix(text: string, isJson: boolean, seed: number): Promise<Printable> {
  const all = noCoverage().all.filter((pair) => pair.includes(text))
  if (all.length === 0) throw usageError(`No pair of the matrix contains "${text}"; "list --matrix" prints all pairs`)
  const coverage = await coverageOfReference(seed)
  const covered = new Set(all.filter((pair) => coverage.covered.has(pair)))
  const wanted = { ...coverage, all, covered }
  return isJson ? jsonLine(coverageJson(wanted), 2) : printableLines(coverageText(wanted))
}

/** More than the rows need. */
const maxCalls = 30_000
const seconds = 120

/** Asks every row of the matrix of the reference server, in memory. */
async function coverageOfReference(seed: number): Promise<MatrixCoverage> {
  const exploration = openExploration({
    ...(await openTarget(null)),
    allow: { sessions: true, keys: true, limits: true },
    fresh: true,
    seed,
    maxCalls,
    seconds,
    walks: 0,
    requirements: [],
    only: ['matrix'],
    say: () => {},
  })
  await exploration.ask()
  const { matrix } = await exploration.finish()
  return matrix
}

/** The pairs that no row covered by reason, the commonest reason first. */
function reasonsOf({ all, reasons }: MatrixCoverage): [reason: string, pairs: string[]][] {
  const byReason = groupBy(all, (pair) => reasons.get(pair) ?? '')
  byReason.delete('')
  return [...byReason].sort(([, one], [, other]) => other.length - one.length)
}

/** For a terminal: the pairs that are covered, two dimensions a line, then the others by reason. */
export function coverageText(coverage: MatrixCoverage): string {
  const { all, covered } = coverage
  const dimensionsOf = (pair: string): string => pair.replaceAll(/=[^&]*/g, ' ').trim()
  const byDimensions = groupBy(
    all.filter((pair) => covered.has(pair)),
    dimensionsOf,
  )
  return `${[
    `${covered.size} of ${all.length} pairs of the matrix are covered: a row that holds one ended in a judged answer, with its control`,
    ...[...byDimensions].flatMap(([name, pairs]) => ['', name, ...pairs.map((pair) => `  ${pair}`)]),
    ...reasonsOf(coverage).flatMap(([why, pairs]) => ['', `Not covered: ${why}`, ...pairs.map((pair) => `  ${pair}`)]),
    '',
    `${covered.size} of ${all.length} pairs are covered`,
  ].join('\n')}\n`
}

const coverageJson = ({ all, covered, reasons }: MatrixCoverage) => ({
  covered: all.filter((pair) => covered.has(pair)),
  notCovered: all.flatMap((pair) => (covered.has(pair) ? [] : [{ pair, why: reasons.get(pair) ?? 'not asked' }])),
})
