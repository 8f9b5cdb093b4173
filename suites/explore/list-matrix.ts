/** Which pairs of the matrix a full exploration of the reference server covers, and why it does not cover the others. */
import { openExploration } from './explore.ts'
import { type MatrixCoverage, noCoverage, readMatrix } from './matrix.ts'
import { openTarget } from './open.ts'

/** More than the rows need. */
const maxCalls = 30_000
const seconds = 120

/** Asks every row of the matrix of the reference server, in memory. @param seed that of a run */
export async function coverageOfReference(seed: number): Promise<MatrixCoverage> {
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

/** All pairs of the matrix, covered or not. */
export const pairsOfMatrix = (): readonly string[] => noCoverage(readMatrix()).all

/** The pairs that no row covered by reason, the commonest reason first. */
function reasonsOf({ all, reasons }: MatrixCoverage): [reason: string, pairs: string[]][] {
  const byReason = new Map<string, string[]>()
  for (const pair of all) {
    const reason = reasons.get(pair)
    if (reason !== undefined) byReason.set(reason, [...(byReason.get(reason) ?? []), pair])
  }
  return [...byReason].sort(([, one], [, other]) => other.length - one.length)
}

/** For a terminal: the pairs that are covered, two dimensions a line, then the others by reason. */
export function coverageText(coverage: MatrixCoverage): string {
  const { all, covered } = coverage
  const byDimensions = new Map<string, string[]>()
  for (const pair of all.filter((one) => covered.has(one))) {
    const name = pair.replaceAll(/=[^&]*/g, ' ').trim()
    byDimensions.set(name, [...(byDimensions.get(name) ?? []), pair])
  }
  return `${[
    `${covered.size} of ${all.length} pairs of the matrix are covered: a row that holds one ended in a judged answer, with its control`,
    ...[...byDimensions].flatMap(([name, pairs]) => ['', name, ...pairs.map((pair) => `  ${pair}`)]),
    ...reasonsOf(coverage).flatMap(([why, pairs]) => ['', `Not covered: ${why}`, ...pairs.map((pair) => `  ${pair}`)]),
    '',
    `${covered.size} of ${all.length} pairs are covered`,
  ].join('\n')}\n`
}

interface CoverageJson {
  readonly covered: readonly string[]
  readonly notCovered: readonly { readonly pair: string; readonly why: string }[]
}

export const coverageJson = ({ all, covered, reasons }: MatrixCoverage): CoverageJson => ({
  covered: all.filter((pair) => covered.has(pair)),
  notCovered: all.flatMap((pair) => (covered.has(pair) ? [] : [{ pair, why: reasons.get(pair) ?? 'not asked' }])),
})
