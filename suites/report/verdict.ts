/** The verdict of a run, its exit code, and the sentences that explain both. */
import { blockedByKnown, groupByCause, notRunBecause } from './causes.ts'
import type { CaseReport, KnownEntry, RequirementReport, RunVerdict, Summary } from './model.ts'

interface Evidence {
  summary: Summary
  cases: readonly CaseReport[]
  requirements: readonly RequirementReport[]
  strict: boolean
  /** What `--only` or a shard leaves out is no fault of the run, not even a strict one. */
  partial: 'only' | 'shard' | null
  /** The run ended early, so what it did not reach is open. */
  stopped: string | null
  /** The exit code of a run that ended in a way of its own (interrupted, target gone); null where the table decides. */
  ownExitCode: number | null
  /** Why a run took longer than it would, and moments could not be judged. */
  throttledCalls: number
}

export function summarize(cases: readonly CaseReport[], stale: readonly KnownEntry[]): Summary {
  const count = (verdict: CaseReport['verdict']): number =>
    cases.filter((testCase) => testCase.verdict === verdict).length
  return {
    passed: count('passed'),
    failed: count('failed'),
    warned: count('warned'),
    blocked: count('blocked'),
    notTestable: count('not-testable'),
    known: count('known'),
    stale: stale.length,
  }
}

export function judgeRun(evidence: Evidence): { verdict: RunVerdict; exitCode: 0 | 1; conclusion: string[] } {
  const { summary, requirements, strict } = evidence
  const halfShown = guardsHalfShown(evidence)
  const excused = evidence.cases.filter((testCase) => blockedByKnown(evidence.cases, testCase)).length
  const blocked = summary.blocked > excused || halfShown.length > 0
  const gaps = requirements.filter((one) => one.gap)
  const strictGaps = evidence.partial === null ? gaps : gaps.filter((one) => one.scenarios.length > 0)

  const [verdict, fromRows] = verdictOf(summary, blocked, gaps.length > 0 || evidence.stopped !== null)
  const strictFault = strict && (summary.warned > 0 || strictGaps.length > 0)
  const exitCode = fromRows === 1 || summary.stale > 0 || strictFault ? 1 : 0
  const conclusion = [
    `Verdict: ${verdict.replaceAll('-', ' ')} (exit code ${evidence.ownExitCode ?? exitCode})`,
    ...throttlingOf(evidence),
    ...becauseOf(evidence, verdict, excused, halfShown, gaps, strictFault),
  ]
  return { verdict, exitCode, conclusion }
}

function throttlingOf({ throttledCalls }: Evidence): string[] {
  if (throttledCalls === 0) return []
  const calls = count(throttledCalls, 'call was', 'calls were')
  return [`${calls} throttled (HTTP 429, or 503 with Retry-After), waited for and made anew; --rate N asks more gently`]
}

/** Blocked although every case of theirs passed; what a failed case left undone is counted at that case. */
function guardsHalfShown({ requirements, cases }: Evidence): RequirementReport[] {
  const passed = new Set(cases.filter((testCase) => testCase.verdict === 'passed').map((testCase) => testCase.key))
  return requirements.filter((one) => one.verdict === 'blocked' && one.scenarios.every((key) => passed.has(key)))
}

function verdictOf(summary: Summary, blocked: boolean, open: boolean): [RunVerdict, 0 | 1] {
  if (summary.failed > 0) return ['does-not-conform', 1]
  if (blocked) return ['inconclusive', 1]
  if (summary.known > 0) return ['does-not-conform', 0]
  return open ? ['inconclusive', 0] : ['conforms', 0]
}

function becauseOf(
  { summary, stopped, strict, partial, cases, requirements }: Evidence,
  verdict: RunVerdict,
  excused: number,
  halfShown: readonly RequirementReport[],
  gaps: readonly RequirementReport[],
  strictFault: boolean,
): string[] {
  const lines: string[] = []
  const failed = cases.filter((testCase) => testCase.verdict === 'failed')
  const causes = groupByCause(requirements, failed).length
  const forCauses = causes < failed.length ? `, for what looks like ${count(causes, 'cause', 'causes')}` : ''
  if (stopped !== null) lines.push(`The run stopped early: ${stopped}`)
  if (summary.failed > 0)
    lines.push(
      `${casesOf(summary.failed)} failed${forCauses}; each says what was expected, what came, and how to repeat it`,
    )
  if (excused > 0) lines.push(`${casesOf(excused)} blocked by known failures`)
  const notRun = cases.filter((testCase) => notRunBecause(testCase) !== null).length
  const blocked = summary.blocked - excused - notRun
  if (notRun > 0)
    lines.push(
      `${count(notRun, 'case was', 'cases were')} not run, so nothing is known about what ${notRun === 1 ? 'it asks' : 'they ask'}`,
    )
  if (blocked > 0)
    lines.push(
      `${casesOf(blocked)} blocked: a preparation or a control did not work, so nothing is known about what they ask`,
    )
  else if (notRun === 0 && halfShown.length > 0)
    lines.push(`Only one side was shown of ${halfShown.map((one) => one.id).join(', ')}`)
  if (summary.stale > 0)
    lines.push(
      `${count(summary.stale, 'baseline entry passes', 'baseline entries pass')} now: remove with --update-known`,
    )
  if (summary.known > 0) lines.push(`${count(summary.known, 'failure is', 'failures are')} known (baseline)`)
  if (gaps.length > 0) lines.push(...openMusts(gaps))
  if (strictFault) lines.push('--strict: warnings and musts that are not testable count as failures')
  if (verdict === 'conforms')
    lines.push(
      summary.warned > 0
        ? `Every must was shown to hold; ${count(summary.warned, 'warning is', 'warnings are')} about what the document implies${strict ? '' : ' (--strict makes them fail)'}`
        : 'Every must that can be shown was shown to hold',
    )
  if (partial === 'only' && gaps.length > 0) lines.push('Run without --only for a verdict on the whole document')
  if (partial === 'shard' && gaps.length > 0)
    lines.push('Merge the shard reports for a verdict on the whole: svc-conformance compare --merge FILE…')
  return lines
}

/** The most common reason first, with how many musts it keeps open. */
function openMusts(gaps: readonly RequirementReport[]): string[] {
  const byReason = new Map<string, number>()
  for (const gap of gaps)
    byReason.set(gap.reason ?? 'No reason given', (byReason.get(gap.reason ?? 'No reason given') ?? 0) + 1)
  const sorted = [...byReason].sort((one, other) => other[1] - one[1])
  const shown = sorted.slice(0, 6).map(([reason, number]) => `  ${number} × ${reason}`)
  const more = sorted.length > 6 ? [`  and ${sorted.length - 6} more reasons, see the requirements`] : []
  return [`${count(gaps.length, 'must is', 'musts are')} not testable here; what would change that:`, ...shown, ...more]
}

const casesOf = (number: number): string => count(number, 'case', 'cases')
const count = (number: number, one: string, many: string): string => `${number} ${number === 1 ? one : many}`
