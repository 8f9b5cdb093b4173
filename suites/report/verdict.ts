/** The verdict of a run, its exit code, and the sentences that explain both. */
import { counted, fewOf } from '../engine/group.ts'
import { blockedByKnown, countVerdicts, groupNotTestable, isLeftOutByOnly, toldLines } from './causes.ts'
import type { CaseReport, KnownEntry, Report, RequirementReport, RunVerdict } from './report.ts'
import { casesOf } from './verdict-words.ts'

/** What is judged. */
type Evidence = Pick<Report, 'meta' | 'summary' | 'cases' | 'newer' | 'requirements' | 'findings'>

/** How it is judged. */
interface Judging {
  strict: boolean
  /** Cases that `--only` or a shard leaves out never count against the run, not even a strict one. */
  partial: 'only' | 'shard' | null
  /** The exit code of a run that was interrupted or lost its target; null or absent: the table decides. */
  ownExitCode?: number | null
  /** Explains throttling: the run took longer, and some times could not be judged. */
  throttledCalls: number
}

export function summarize(cases: readonly CaseReport[], stale: readonly KnownEntry[]): Report['summary'] {
  const { passed, failed, warned, blocked, known, ...others } = countVerdicts(cases)
  const { 'not-testable': notTestable, 'not-applicable': notApplicable, 'not-run': notRun } = others
  return { passed, failed, warned, blocked, notTestable, notApplicable, notRun, known, stale: stale.length }
}

/** The numbers that decide the verdict. */
type Standing = ReturnType<typeof standingOf>

export function judgeRun(
  evidence: Evidence,
  judging: Judging,
): { verdict: RunVerdict; exitCode: number; conclusion: string[] } {
  const { summary } = evidence
  const { strict, partial } = judging
  const standing = standingOf(evidence)
  const { warnings, gaps } = standing
  const strictGaps = gaps.filter((one) => partial === null || (one.cases.length > 0 && !isLeftOut(one)))
  const [verdict, fromCases] = verdictOf(evidence, standing)
  const strictFault = strict && (warnings > 0 || strictGaps.length > 0)
  const exitCode = fromCases === 1 || summary.stale > 0 || strictFault ? 1 : 0
  const conclusion = [
    ...whatHappened(evidence, standing, judging),
    ...openMusts(gaps),
    ...saidIf(strictFault, '--strict: warnings and musts that are not testable count as failures'),
    ...saidIf(verdict === 'conforms', conformsBecause(evidence, warnings, strict)),
    ...whatIsNext(evidence, gaps, partial),
  ]
  return { verdict, exitCode: judging.ownExitCode ?? exitCode, conclusion }
}

/** Whether cases that `--only` or a shard leaves out would show the other side. */
const isLeftOut = ({ reasons }: RequirementReport): boolean => reasons.some(({ kind }) => kind === 'not-selected')

function standingOf({ summary, cases, findings, requirements }: Evidence) {
  const fresh = findings.filter(({ known }) => known === null)
  const passed = new Set(cases.filter(({ verdict }) => verdict === 'passed').map(({ key }) => key))
  const excused = cases.filter((testCase) => blockedByKnown(cases, testCase)).length
  return {
    failures: summary.failed + fresh.filter(({ level }) => level === 'must').length,
    warnings: summary.warned + fresh.filter(({ level }) => level === 'implied').length,
    known: summary.known + (findings.length - fresh.length),
    /** Cases that are blocked by something other than a known failure. */
    blocked: summary.blocked - excused,
    /** Cases that are blocked by a known failure, which is accepted for now. */
    excused,
    /** Guards of which only one side was shown: all their cases passed. What a failed case leaves open counts there. */
    halfShown: requirements.filter((one) => one.verdict === 'blocked' && one.cases.every((key) => passed.has(key))),
    /** Musts that are open here. */
    gaps: requirements.filter((one) => one.gap),
  }
}

/** The table of docs/verdicts.md. */
function verdictOf({ summary, meta }: Evidence, standing: Standing): [RunVerdict, 0 | 1] {
  if (standing.failures > 0) return ['does-not-conform', 1]
  if (standing.blocked > 0 || standing.halfShown.length > 0 || summary.notRun > 0) return ['inconclusive', 1]
  if (standing.known > 0) return ['does-not-conform', 0]
  return standing.gaps.length > 0 || meta.stopped !== null ? ['inconclusive', 0] : ['conforms', 0]
}

/** The sentence, if it is to be said. */
const saidIf = (condition: boolean, sentence: string): string[] => (condition ? [sentence] : [])

function whatHappened(
  { summary, cases, findings, requirements, meta }: Evidence,
  { excused, known, blocked, halfShown }: Standing,
  { throttledCalls }: Judging,
): string[] {
  const { failed, notRun } = summary
  const causes = toldLines(requirements, cases, []).filter(({ verdict }) => verdict === 'failed').length
  const forCauses = causes < failed ? `, for what looks like ${counted(causes, 'cause')}` : ''
  const found = findings.filter((one) => one.known === null && one.level === 'must').length
  const stale = counted(summary.stale, 'baseline entry passes', 'baseline entries pass')
  const throttled = counted(throttledCalls, 'call was', 'calls were')
  const prove = (count: number): string => `so ${count === 1 ? 'it proves' : 'they prove'} nothing`
  const sides = halfShown.map(({ id }) => id).join(', ')
  return [
    ...saidIf(
      throttledCalls > 0,
      `${throttled} throttled (HTTP 429, or 503 with Retry-After), so the run waited and repeated them; --rate N makes calls more slowly`,
    ),
    ...saidIf(meta.stopped !== null, `The run stopped early: ${meta.stopped}`),
    ...saidIf(failed > 0, `${casesOf(failed)} failed${forCauses}`),
    ...saidIf(found > 0, `The model found ${counted(found, 'answer')} that the document does not allow`),
    ...saidIf(excused > 0, `${casesOf(excused)} blocked by known failures`),
    ...saidIf(summary.stale > 0, `${stale} now: remove with --update-known`),
    ...saidIf(known > 0, `${counted(known, 'failure is', 'failures are')} known (baseline)`),
    ...saidIf(notRun > 0, `${counted(notRun, 'case was', 'cases were')} not run, ${prove(notRun)}`),
    ...saidIf(blocked > 0, `${casesOf(blocked)} blocked: a preparation or a control did not work, ${prove(blocked)}`),
    ...saidIf(blocked === 0 && notRun === 0 && sides !== '', `Only one side was shown of ${sides}`),
  ]
}

const shownReasons = 6
const shownMusts = 8

/** The most common reason first, with the musts that it leaves open. */
function openMusts(gaps: readonly RequirementReport[]): string[] {
  // The next step names the others.
  const open = gaps.filter((gap) => !isLeftOutByOnly(gap))
  const reasons = groupNotTestable({ requirements: open }).map(
    ({ reason, ids }) => `${reason}: ${fewOf(ids, shownMusts)}`,
  )
  const more = reasons.length - shownReasons
  return [
    ...saidIf(
      open.length > 0,
      `${counted(open.length, 'must is', 'musts are')} not testable here; what would change that:`,
    ),
    ...reasons.slice(0, shownReasons).map((reason) => `  ${reason}`),
    ...saidIf(more > 0, `  and ${counted(more, 'more reason')}, see the requirements`),
  ]
}

function conformsBecause({ meta: { absent } }: Evidence, warnings: number, strict: boolean): string {
  const without =
    absent.length === 0 ? '' : `, apart from the API areas that the target file declares absent: ${absent.join(', ')}`
  if (warnings === 0) return `Every must that can be tested holds${without}`
  const effect = strict ? '' : ' (--strict makes them fail)'
  return `Every must was shown to hold${without}; ${counted(warnings, 'warning is', 'warnings are')} about what the document implies${effect}`
}

/** Announces what the next set will judge, which changes nothing now, and says how to get a verdict on the whole. */
function whatIsNext(
  { newer, meta: { set } }: Evidence,
  gaps: readonly RequirementReport[],
  partial: Judging['partial'],
): string[] {
  const broken = newer.cases.filter(({ verdict }) => verdict === 'failed' || verdict === 'warned')
  const problems = broken.length + newer.findings.length
  const unselected = counted(gaps.filter(isLeftOutByOnly).length, 'must was', 'musts were')
  const whole = 'for a verdict on the whole'
  return [
    ...saidIf(problems > 0, `Newer checks found ${counted(problems, 'problem')} that set ${set} does not judge`),
    ...saidIf(
      partial === 'only' && gaps.length > 0,
      `${unselected} not selected: run without --only ${whole} document`,
    ),
    ...saidIf(
      partial === 'shard' && gaps.length > 0,
      `Merge the shard reports ${whole}: svc-conformance compare --merge FILE…`,
    ),
  ]
}
