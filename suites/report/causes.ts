/** Groups cases by cause and open requirements by reason: one defect often breaks several cases, and one lack leaves several musts open. */
import { countBy, groupBy } from '../engine/group.ts'
import type { Hint, Mismatch, Problem, Verdict } from '../engine/judge/problem.ts'
import { joinReasons, keyOfReason, reasonText } from './problem-text.ts'
import {
  type CaseReport,
  type Finding,
  isShownAgain,
  type Report,
  type ReportedProblem,
  type RequirementReport,
} from './report.ts'
import { verdictOrder } from './verdict-words.ts'

/** The level and kind of each requirement, and what seems broken too where it is. */
type Levels = readonly Pick<RequirementReport, 'id' | 'level' | 'kind' | 'consequences'>[]

interface Cause {
  /** The case that is reported in full. */
  first: CaseReport
  others: CaseReport[]
}

/** What is told in one line, by keys of cases and ids of findings. */
interface ToldLine {
  verdict: Verdict
  /** The case or finding that is reported in full. */
  first: string
  /** What shows the same, or seems broken because of it. */
  others: string[]
  /** The cases that prove nothing because of it. */
  blocks: string[]
}

type Findings = readonly Pick<Finding, 'id' | 'requirement' | 'level' | 'known' | 'reproduced' | 'steps'>[]

/** Something that is wrong, and what else is told with it. */
interface Wrong extends ToldLine {
  broken: readonly string[]
  /** Of the first; null for a finding. */
  problem: Problem | null
  /** How many steps a finding needs; 0 for a case. */
  steps: number
  /** Whether a call was accepted that had to be refused, or the other way around; otherwise a value is wrong. */
  side: 'let in' | 'kept out' | 'value'
}

/** The verdicts of lines, in the order in which a reader wants to see them. */
const toldVerdicts: readonly Verdict[] = ['failed', 'blocked', 'not-run', 'warned', 'known']

/**
 * What is wrong in a run, one line for each cause: failed cases and findings, what no failure explains, then warnings. What rests on something
 * that is shown broken is told with that: cases with the same mistake, others of the same sentence, the consequences that requirements name, and
 * what it blocks. This affects only what is told, never a verdict; nothing is left out.
 */
export function toldLines(levels: Levels, cases: readonly CaseReport[], findings: Findings): ToldLine[] {
  const of = (...verdicts: Verdict[]) => verdicts.flatMap((one) => cases.filter(({ verdict }) => verdict === one))
  const ofCases = groupByCause(levels, of('failed', 'warned')).map(failureFirst)
  const wrong: Wrong[] = [...ofCases.map(wrongOf), ...findings.map(wrongFinding)].sort(byVerdict)
  const roots = foldConsequences(levels, wrong)
  for (const { key, blockedBy } of of('blocked'))
    roots.find(({ first, others }) => blockedBy !== null && [first, ...others].includes(blockedBy))?.blocks.push(key)
  const unexplained = of('blocked', 'not-run').filter(
    ({ blockedBy, problem }) => blockedBy === null && !isStopped(problem),
  )
  const lines = groupByCause(levels, unexplained)
    .sort((one, other) => other.others.length - one.others.length)
    .flatMap((cause) => {
      const host = hostOfBlocked(cause.first, roots, cases)
      if (host === undefined) return [wrongOf(cause)]
      host.blocks.push(...[cause.first, ...cause.others].map(keyOf))
      return []
    })
  return [...roots, ...lines].sort(byVerdict)
}

/** Of a run that was ended, the cases that it did not reach are only counted. A case that the suite could not run is told. */
const isStopped = (problem: Problem | null): boolean => problem?.kind === 'not-run' && problem.because.kind !== 'defect'

const keyOf = ({ key }: CaseReport): string => key

const byVerdict = (one: ToldLine, other: ToldLine): number =>
  toldVerdicts.indexOf(one.verdict) - toldVerdicts.indexOf(other.verdict)

function wrongOf({ first, others }: Cause): Wrong {
  const { verdict, key, problem } = first
  const broken = problem?.requirements ?? []
  return {
    verdict,
    first: key,
    others: others.map(keyOf),
    blocks: [],
    broken,
    problem,
    steps: 0,
    side: sideOf(problem),
  }
}

function wrongFinding(finding: Findings[number]): Wrong {
  const { id, requirement, steps } = finding
  const [, , fact = ''] = id.split(/^found\/([^/]+\/[^/]+)\//)
  const side = fact.startsWith('let-in') ? 'let in' : fact.startsWith('refused') ? 'kept out' : 'value'
  const verdict = verdictOfFinding(finding)
  return { verdict, first: id, others: [], blocks: [], broken: [requirement], problem: null, steps: steps.length, side }
}

function sideOf(problem: Problem | null): Wrong['side'] {
  switch (problem?.kind) {
    case 'wrong-outcome':
      return problem.expected === 'accepted' ? 'kept out' : 'let in'
    case 'effect-shown':
      return 'let in'
    case 'wrong-count': {
      const { side, wanted, counted } = problem
      const isTooMany = typeof wanted === 'number' ? counted > wanted : wanted.startsWith('at-most')
      return isTooMany === (side === 'accepted') ? 'let in' : 'kept out'
    }
    default:
      return 'value'
  }
}

/** A warning that a failure explains is told with it. */
function failureFirst({ first, others }: Cause): Cause {
  const all = [first, ...others]
  const failure = all.find(({ verdict }) => verdict === 'failed') ?? first
  return first.verdict === 'failed'
    ? { first, others }
    : { first: failure, others: all.filter((one) => one !== failure) }
}

/**
 * Puts what one sentence explains into one line: what breaks the same sentence, and what breaks only its consequences. A failure is never told
 * under a warning.
 */
function foldConsequences(levels: Levels, wrong: readonly Wrong[]): Wrong[] {
  // Only what rests on it directly: through a third sentence that holds, most sentences about authorization would explain each other.
  const consequencesOf = new Map(levels.map(({ id, consequences = [] }) => [id, consequences]))
  const reach = new Map(
    wrong.map((one) => [one, new Set(one.broken.flatMap((id) => [id, ...(consequencesOf.get(id) ?? [])]))]),
  )
  const alike = [
    // One call that got the same answer in at least three ways to authorize: the call must be the reason, and not the way.
    sameCalls(wrong, ({ side, problem }) =>
      side === 'kept out' && problem?.kind === 'wrong-outcome' ? problem.got : null,
    ),
    // One method that tokens of at least three scopes open: it looks at no scope.
    sameCalls(wrong, (one) => (letsInBeyondScope(one) ? one.side : null)),
    // Findings about at least three scopes, with any method: such tokens are not limited.
    severalFindings(wrong.filter(letsInBeyondScope)),
  ]
  const explains = (one: Wrong, other: Wrong): boolean => {
    const mayHold = one.verdict === other.verdict || (one.verdict === 'failed' && other.verdict === 'warned')
    if (!mayHold || other.broken.length === 0) return false
    if (other.broken.some((id) => one.broken.includes(id)) || isRefusedAlike(one.problem, other.problem)) return true
    if (alike.some((all) => all.has(one) && all.has(other))) return true
    const follows = (by: Wrong, what: Wrong): boolean => what.broken.every((id) => reach.get(by)?.has(id))
    // A call that is let in explains no refusal, and a refusal no call that is let in, unless each follows from the other; a wrong value spoils
    // whatever needs it.
    if (one.side !== other.side && one.side !== 'value' && !follows(other, one)) return false
    return !isLetInAnotherWay(one, other) && follows(one, other)
  }
  const hosts = new Map<Wrong, Wrong>()
  const rootOf = (one: Wrong): Wrong => {
    const host = hosts.get(one)
    return host === undefined ? one : rootOf(host)
  }
  for (const [index, one] of wrong.entries()) {
    // Of two that explain each other, the first one is reported in full.
    const host = wrong.find(
      (other, place) => other !== one && explains(other, one) && (place < index || !explains(one, other)),
    )
    if (host !== undefined && rootOf(host) !== one) hosts.set(one, host)
  }
  const leads = new Map<Wrong, Wrong>()
  for (const [root, mine] of groupBy(wrong, rootOf)) {
    const lead = leadOf(root, mine, explains)
    lead.others.push(...mine.flatMap((one) => (one === lead ? [] : [one.first, ...one.others])))
    leads.set(root, lead)
  }
  return wrong.filter((one) => leads.get(rootOf(one)) === one)
}

/**
 * A case is reported before a finding: it has an exchange, and a command that repeats it alone. Of several, the one that no other explains; of
 * findings that explain each other, the one of the fewest steps.
 */
function leadOf(root: Wrong, mine: readonly Wrong[], explains: (one: Wrong, other: Wrong) => boolean): Wrong {
  if (root.problem !== null) return root
  const cases = mine.filter(({ problem, verdict }) => problem !== null && verdict === root.verdict)
  const isExplained = (one: Wrong): boolean => cases.some((other) => explains(other, one) && !explains(one, other))
  const asGood = mine.filter((one) => one === root || (explains(one, root) && explains(root, one)))
  const [shortest = root] = asGood.sort((one, other) => one.steps - other.steps)
  return cases.find((one) => !isExplained(one)) ?? cases[0] ?? shortest
}

/**
 * Whether both let in what must be refused, by different ways to authorize: a wrong secret in Basic credentials says nothing of a wrong signature.
 * A server that asks for no authorization lets in every way.
 */
function isLetInAnotherWay(one: Wrong, other: Wrong): boolean {
  if (
    one.side !== 'let in' ||
    one.broken.includes('authorization/required') ||
    one.problem?.kind !== 'wrong-outcome' ||
    other.problem?.kind !== 'wrong-outcome'
  )
    return false
  return wayOfCall(one.problem) !== wayOfCall(other.problem)
}

const severalWays = 3

const letsInBeyondScope = ({ side, broken }: Wrong): boolean =>
  side === 'let in' && broken.every((id) => id.startsWith('scopes/'))

/** The findings among these, if they are about at least three sentences. */
function severalFindings(wrong: readonly Wrong[]): Set<Wrong> {
  const findings = wrong.filter(({ problem }) => problem === null)
  const isSeveral = new Set(findings.flatMap(({ broken }) => broken)).size >= severalWays
  return new Set(isSeveral ? findings : [])
}

/** Lines about the same method for which `trait` is the same. @param trait null where a line does not count */
function sameCalls(wrong: readonly Wrong[], trait: (one: Wrong) => unknown): Set<Wrong> {
  const counted = wrong.filter((one) => one.problem?.kind === 'wrong-outcome' && trait(one) !== null)
  const byCall = groupBy(counted, (one) => {
    const [method] = one.problem === null ? [] : shapeOfCall(one.problem).split(' ')
    return JSON.stringify([method, trait(one)])
  })
  return new Set([...byCall.values()].filter((mine) => mine.length >= severalWays).flat())
}

/** Reasons that do not come from what the server answers to a right call. */
const ownReasons: readonly Problem['kind'][] = [
  'not-run',
  'throttled',
  'unread',
  'calls-dropped',
  'clock-jumped',
  'too-late',
  'no-way-to-create',
  'root-has-public-key',
  'not-a-test-key',
]

/**
 * What explains that a case is blocked: its preparation was answered like a call that failed or warned and asked for no more than it; or
 * something is wrong, and nothing else is.
 */
function hostOfBlocked(
  { problem }: CaseReport,
  roots: readonly Wrong[],
  cases: readonly CaseReport[],
): Wrong | undefined {
  if (problem === null || ownReasons.includes(problem.kind)) return undefined
  const failed = roots.filter(({ verdict }) => verdict === 'failed')
  const isLike = (key: string): boolean =>
    isRefusedAlike(cases.find((testCase) => testCase.key === key)?.problem ?? null, problem)
  const alike = roots.find(({ first, others }) => [first, ...others].some(isLike))
  return alike ?? (failed.length === 1 ? failed[0] : undefined)
}

/** Whether a call that should have been accepted got the same answer as another one that asks for no more. */
function isRefusedAlike(one: Problem | null, other: Problem | null): boolean {
  if (one?.kind !== 'wrong-outcome' || other?.kind !== 'wrong-outcome' || one.expected !== 'accepted') return false
  if (other.expected !== 'accepted') return false
  const asked = shapeOfCall(other).split(' ')
  return (
    JSON.stringify(one.got) === JSON.stringify(other.got) &&
    shapeOfCall(one)
      .split(' ')
      .every((part) => asked.includes(part))
  )
}

/** The verdict that a case would have for the same defect. */
export function verdictOfFinding(finding: Pick<Finding, 'level' | 'known' | 'reproduced'>): Verdict {
  if (finding.known !== null) return 'known'
  return finding.level === 'must' && isShownAgain(finding) ? 'failed' : 'warned'
}

/**
 * Groups cases of one verdict by cause, in the order of their first cases. A case for which no mistake was looked for joins those whose call got
 * the same answer.
 */
export function groupByCause(levels: Levels, cases: readonly CaseReport[]): Cause[] {
  const weightOf = weightsOf(levels)
  const hinted = new Map(
    cases.map(causesOf).flatMap(([cause, plain]) => (cause === plain ? [] : [[plain, cause] as const])),
  )
  const keyed = (testCase: CaseReport): string => {
    const [cause] = causesOf(testCase)
    return hinted.get(cause) ?? cause
  }
  return [...groupBy(cases, keyed).values()].map((ofCause) => {
    // Of equal ones, the sentence that most cases break.
    const often = countBy(ofCause, brokenBy)
    const fullness = (one: CaseReport): number => weightOf(one) + (often.get(brokenBy(one)) ?? 0) / (ofCause.length + 1)
    const first = ofCause.reduce((best, testCase) => (fullness(testCase) > fullness(best) ? testCase : best))
    return { first, others: ofCause.filter((testCase) => testCase !== first) }
  })
}

const brokenBy = ({ problem }: CaseReport): string => String(problem?.requirements)

/**
 * Finds the failed case that explains why a case is blocked, by key: its preparation failed in the same way. Of failed cases of one cause it
 * is the one that is reported in full. Cases that something else blocks are left out.
 */
export function blockersOf(levels: Levels, cases: readonly CaseReport[]): Map<string, string> {
  const failures = cases.filter(({ verdict }) => verdict === 'failed' || verdict === 'known')
  const reportedFor = new Map<string, string>()
  for (const { first, others } of groupByCause(levels, failures.map(asFailure)))
    for (const testCase of [first, ...others]) for (const cause of causesOf(testCase)) reportedFor.set(cause, first.key)
  // Of failed cases, the one of each cause that is reported in full. Known failures have none, because what they block is known too.
  const failed = cases.filter(({ verdict }) => verdict === 'failed')
  const firstOf = new Map(
    groupByCause(levels, failed).flatMap(({ first, others }) => others.map(({ key }) => [key, first.key] as const)),
  )
  const blockers = new Map<string, string>()
  for (const testCase of cases) {
    if (testCase.verdict !== 'blocked' || testCase.problem === null) continue
    const blocker =
      causesOf(asFailure(testCase))
        .map((cause) => reportedFor.get(cause))
        .find((key) => key !== undefined) ?? blockerByKind(testCase.problem, failures)
    if (blocker !== undefined) blockers.set(testCase.key, firstOf.get(blocker) ?? blocker)
  }
  return blockers
}

/** The failure that causes an obstacle of this kind. */
function blockerByKind(problem: Problem, failures: readonly CaseReport[]): string | undefined {
  const breaking = (ids: readonly string[]): string | undefined =>
    failures.find((failure) => failure.problem?.requirements.some((id) => ids.includes(id)))?.key
  switch (problem.kind) {
    case 'test-key-missing':
      return failures.find(({ key }) => key === `test-keys/${problem.testKey}`)?.key
    case 'no-token-word':
      return problem.because.kind === 'not-accepted' ? breaking(['tokens/authorize']) : undefined
    case 'limit-spoilt':
      return failures.find(({ key }) => key === problem.by)?.key
    case 'no-room-for-sessions':
      return breaking(['sessions/next-works'])
    case 'expiry-not-a-timestamp':
      return breaking(expiryRequirements)
    case 'junk-accepted':
      return breaking(problem.method === 'manager/auth' ? grantRequirements : junkControlRequirements)
    case 'open-to-all':
      return breaking(junkControlRequirements)
    default:
      return undefined
  }
}

/** Whether a known failure blocks a case: such a case is accepted for now, like the failure. */
export function blockedByKnown(cases: readonly CaseReport[], { verdict, blockedBy }: CaseReport): boolean {
  return verdict === 'blocked' && cases.some((testCase) => testCase.key === blockedBy && testCase.verdict === 'known')
}

/** The requirements that a method open to everyone breaks. */
const junkControlRequirements: readonly string[] = ['authorization/required', 'keys/create-authorized']

/** The requirements that manager/auth breaks if it accepts junk. */
const grantRequirements: readonly string[] = ['refresh/token', 'grants/credentials', 'grants/key-id']

/** The requirements about the times that cases wait for. */
const expiryRequirements: readonly string[] = [
  'grants/result-access-token-expiry',
  'grants/result-refresh-token-expiry',
  'refresh/result',
]

/** Returns the case as if it had failed in a judged step, so that a known failure or a failed preparation has the same cause as an ordinary failure. */
function asFailure(testCase: CaseReport): CaseReport {
  const { problem } = testCase
  if (problem === null) return { ...testCase, verdict: 'failed' }
  const { inPreparation: _preparation, ...plain } = problem
  return { ...testCase, verdict: 'failed', problem: plain as CaseReport['problem'] }
}

/**
 * The keys by which the cause of a case is recognised in another case: with its hint and without, because hints are not always looked for.
 */
function causesOf(testCase: CaseReport): [cause: string, withoutHint: string] {
  if (testCase.problem === null) return [testCase.key, testCase.key]
  const { hint: _hint, ...plain } = testCase.problem
  return [causeOf(testCase), causeOf({ ...testCase, problem: plain as CaseReport['problem'] })]
}

/**
 * The key that cases of one cause share. For unjudged cases it is the reason; otherwise the found mistake; for a call that should have been
 * accepted, the call and its answer; else the requirement and how it was broken.
 */
function causeOf({ key, verdict, problem }: CaseReport): string {
  if (problem === null) return key
  if (verdict !== 'failed' && verdict !== 'warned') return JSON.stringify(['reason', reasonKey(problem)])
  if (problem.hint !== undefined) {
    const { message: _words, ...hint } = problem.hint
    // Which sessions ended depends on how many the case creates.
    if (hint.kind === 'sessions-ended') return JSON.stringify(['hint', hint.kind])
    return JSON.stringify(['hint', hint])
  }
  if (problem.kind === 'wrong-outcome' && problem.expected === 'accepted')
    return JSON.stringify(['call', problem.got, shapeOfCall(problem)])
  // One wrong value may break several sentences.
  if (problem.kind === 'wrong-value') return JSON.stringify(['value', failureKey(problem)])
  return JSON.stringify(['broken', failureKey(problem), problem.requirements])
}

/** Members of a problem that differ from case to case, although its reason is the same. */
const ofOneCase = 'message requirements step where hint token exchanges doubt refusedAt makers'.split(' ')

/** The reason of a problem. Missing test keys share one reason. */
function reasonKey(problem: ReportedProblem): unknown {
  const facts = Object.entries(problem).filter(([name]) => !ofOneCase.includes(name))
  return problem.kind === 'test-key-missing' ? facts.filter(([name]) => name !== 'testKey') : facts
}

/** How an expectation was broken. The received value is left out, because ids and times differ from case to case. */
function failureKey(problem: ReportedProblem): unknown {
  switch (problem.kind) {
    case 'wrong-value':
      return [problem.kind, ...mismatchKey(problem.path, problem.mismatch)]
    case 'wrong-count':
      return [problem.kind, problem.side, typeof problem.wanted]
    case 'envelope-of-answers':
      return [problem.kind, problem.departures.map(({ kind }) => kind)]
    case 'wrong-jsonrpc':
    case 'wrong-id':
    case 'wrong-result-type':
      return problem.kind
    case 'wrong-outcome':
    case 'effect-shown':
    case 'call-not-answered':
      return [problem.kind, problem.kind === 'wrong-outcome' ? problem.expected : '', problem.got]
    default:
      return reasonKey(problem)
  }
}

/** A schema may be broken at a place inside of the value. */
function mismatchKey(path: string, mismatch: Mismatch): string[] {
  if (mismatch.rule === 'schema') return [`${path}${mismatch.place.replaceAll('/', '.')}`, mismatch.wanted]
  return mismatch.rule === 'equals' ? [path, mismatch.rule, mismatch.wanted] : [path, mismatch.rule]
}

/** The method, the kind of authorization and the names of the params; of scopes only the word before the colon. */
function shapeOfCall({ step, exchanges }: Problem): string {
  // A trace includes the calls before it.
  const exchange = exchanges.at(-1)
  if (exchange === undefined) return step
  const who = wayOfCall({ exchanges })
  try {
    const { method, params } = JSON.parse(exchange.request.at(-1) ?? '')
    const scope: unknown[] = Array.isArray(params?.scope) ? params.scope : []
    const restrictions = scope.map((word) => /^[a-zA-Z]+:/.exec(String(word))?.[0] ?? '')
    const names = Object.keys(params ?? {})
    return [method, who, ...names, params?.grantType, ...new Set(restrictions)].join(' ')
  } catch {
    return `${exchange.request[0]} ${who}`
  }
}

/** The word before the credentials in the last call, or `nobody`. */
function wayOfCall({ exchanges }: Pick<Problem, 'exchanges'>): string {
  const header = exchanges.at(-1)?.request.find((line) => /^authorization:/i.test(line))
  return header?.split(' ')[1] ?? 'nobody'
}

const isAboutSignatures = (hint: Hint | undefined): boolean =>
  hint?.kind === 'server-mistake' || hint?.kind === 'other-signed-uri' || hint?.kind === 'signature-unexplained'

/** Weighs how much a case explains: the case whose own claim broke, a must before an implied, a guard before a field. */
function weightsOf(levels: Levels): (testCase: CaseReport) => number {
  const weights = new Map(
    levels.map(({ id, level, kind }) => [id, (level === 'must' ? 3 : 1) + (kind === 'guard' ? 1 : 0)]),
  )
  return ({ id, problem, proves }) => {
    const ids = problem === null || problem.requirements.length === 0 ? proves : problem.requirements
    const ownClaim = proves.every((id) => ids.includes(id)) ? 1 : 0
    const namesake = isAboutSignatures(problem?.hint) ? id.startsWith('signatures/') : ids.includes(id)
    return 4 * Math.max(0, ...ids.map((one) => weights.get(one) ?? 0)) + 2 * ownClaim + (namesake ? 1 : 0)
  }
}

type Counts = { [verdict in Verdict]: number }

/** How many there are of each verdict, 0 included. */
export function countVerdicts(all: readonly { verdict: Verdict }[]): Counts {
  const counts = Object.fromEntries(verdictOrder.map((verdict) => [verdict, 0])) as Counts
  for (const { verdict } of all) counts[verdict] += 1
  return counts
}

/**
 * `must`: open for this target; `excused`: for a written reason that holds at most targets; `never`: for one that holds everywhere; `implied`:
 * what is only implied, for any reason.
 */
type OpenKind = 'must' | 'excused' | 'never' | 'implied'

/**
 * Groups not-testable requirements by kind and reason, beginning with those that a run could change. Each reason is given once, so a
 * requirement with two reasons is in two groups; all reasons that need a probe are one.
 */
export function groupNotTestable({ requirements }: Pick<Report, 'requirements'>) {
  const open = requirements.flatMap(({ id, level, verdict, reasons, gap }) => {
    if (verdict !== 'not-testable') return []
    const isForever = reasons.some((one) => one.kind === 'untestable' && one.without === undefined)
    const kind: OpenKind = gap ? 'must' : level !== 'must' ? 'implied' : isForever ? 'never' : 'excused'
    const byKey =
      reasons.length === 0
        ? new Map([['none', []]])
        : groupBy(reasons, (reason) => (reason.kind === 'needs-probe' ? 'probes' : keyOfReason(reason)))
    return [...byKey].map(([key, mine]) => ({ kind, key: `${kind} ${key}`, reasons: mine, id }))
  })
  const order: readonly OpenKind[] = ['must', 'excused', 'never', 'implied']
  return [...groupBy(open, ({ key }) => key).values()]
    .map((mine) => {
      const reasons = mine.flatMap((one) => one.reasons)
      const [joined] = joinReasons(reasons)
      return {
        kind: mine[0]?.kind ?? ('must' as const),
        reason: joined === undefined ? 'No reason given' : reasonText(joined.reasons),
        /** Cases that `--only` left out are not listed: the user knows them. */
        notSelectedByOnly: isLeftOutByOnly({ reasons }),
        ids: mine.map(({ id }) => id),
      }
    })
    .sort((one, other) => order.indexOf(one.kind) - order.indexOf(other.kind) || other.ids.length - one.ids.length)
}

/** The user selected other cases and knows that this requirement is not judged. */
export function isLeftOutByOnly({ reasons }: Pick<RequirementReport, 'reasons'>): boolean {
  return reasons.some((one) => one.kind === 'not-selected' && one.by === 'only')
}
