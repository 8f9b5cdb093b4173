/** Builds the report of a run and its verdict from the outcomes of its cases, or from the reports of its shards. Pure. */
import { allItems, hasRace, provesOf, testKeysUsed } from '../engine/conversation/cases.ts'
import { keyLimit } from '../engine/document.ts'
import { usageError } from '../engine/errors.ts'
import { counted, fewOf, groupBy } from '../engine/group.ts'
import { defined } from '../engine/json.ts'
import { envelopeRequirements } from '../engine/judge/classify.ts'
import { judgeRequirement } from '../engine/judge/judge-case.ts'
import {
  type CaseOutcome,
  type EnvelopeProblem,
  type Problem,
  type ProblemFacts,
  type Verdict,
  worst,
} from '../engine/judge/problem.ts'
import type { Corpus, Requirement } from '../engine/language/fixture-types.ts'
import { printableJson } from '../engine/printable.ts'
import {
  blockedByKnown,
  blockersOf,
  countVerdicts,
  groupNotTestable,
  isLeftOutByOnly,
  toldLines,
  verdictOfFinding,
} from './causes.ts'
import { hintText, joinReasons, problemText, reasonText } from './problem-text.ts'
import type {
  CaseReport,
  Explored,
  Finding,
  KnownEntry,
  Meta,
  Plan,
  Report,
  ReportedProblem,
  RequirementReport,
  RunVerdict,
} from './report.ts'
import { wordsOfKey } from './tell.ts'
import { shellWord } from './text.ts'

type RequirementVerdict = ReturnType<typeof judgeRequirement>

interface BuildInput {
  meta: Meta
  /** The outcomes of every selected case, including cases that are not testable here and `test-keys/NAME` cases. */
  outcomes: readonly CaseOutcome[]
  corpus: Corpus
  /** What the model found; the baseline is applied here. */
  findings?: readonly Omit<Finding, 'known'>[]
  /** How many calls the model made. */
  explored?: Explored | null
  known: readonly KnownEntry[]
  /** The frozen set that decides the verdict; null or absent: every case of the corpus does. */
  set?: RequirementSet | null
  plan?: Plan | null
  left?: readonly string[]
  /** Makes the message of a problem; a test replaces it to show that no verdict depends on words. */
  render?: typeof problemText
  options: {
    strict: boolean
    /** Cases that `--only` or a shard leaves out never count against the run, not even a strict one. */
    partial: 'only' | 'shard' | null
    /** What `--skip` left out, if it has no outcome. */
    skipped?: readonly { id: string; reason: string }[]
    /** The beginning of the command that runs a case again; `again` of `meta` unless given. */
    again?: string
    /** The run showed whole exchanges, so the command that runs a case again need not ask for them. */
    trace?: boolean
    /** The exit code of a run that was interrupted or lost its target; the table does not cover it. */
    ownExitCode?: number | null
  }
}

/**
 * The report of a run: cases after the baseline, requirements with the worst of their cases, the verdict and exit code
 * of the documented table. Pure; the same input gives the same report.
 */
export function buildReport(input: BuildInput): Report {
  const set = input.set ?? null
  const { corpus, planned, judged, newer } = splitBySet(set, input.corpus, input.outcomes)
  const isPartial = input.options.partial === 'only'
  const ofAnswers = envelopeCases(judged, isPartial).filter(
    ({ problem, key }) =>
      !(isPartial && problem?.kind === 'no-call') &&
      (set === null || [...planned.values()].some((keys) => keys.includes(key))),
  )
  const outcomes = [...judged, ...ofAnswers]
  const reported = (outcome: CaseOutcome): CaseReport => reportCase(outcome, input)
  const findings = knownFindings(input.findings ?? [], input.known)
  return assembleReport({
    ...input,
    corpus,
    planned,
    cases: boundEvidence(outcomes.map(reported)),
    // The model tests more than the cases of a set.
    findings: set === null ? findings : [],
    newer: {
      cases: boundEvidence(newer.map(reported)).sort(byKey),
      findings: set === null ? [] : findings,
    },
    stale: staleEntries(outcomes, input.known),
    observed: observedIn(input.outcomes),
    throttledCalls: input.outcomes.reduce((sum, { throttled = 0 }) => sum + throttled, 0),
  })
}

interface AssembleInput extends Omit<BuildInput, 'outcomes' | 'known' | 'findings' | 'set'> {
  cases: readonly CaseReport[]
  findings: readonly Finding[]
  newer: Report['newer']
  /** Keys of the cases that prove each requirement. */
  planned: ReadonlyMap<string, readonly string[]>
  stale: readonly KnownEntry[]
  observed: readonly Observed[]
  /** Calls that the target throttled; a merge of shards does not know their number. */
  throttledCalls?: number
}

/** An answer to an open question, its cases, and what was tried. */
type Observed = Pick<Report['observations'][number], 'question'> & Report['observations'][number]['answers'][number]

/** What was tried, in the words of the case and the step; otherwise the end of its key. */
function observedIn(outcomes: readonly CaseOutcome[]): Observed[] {
  return outcomes.flatMap(({ key, case: name, observations }) =>
    observations.map(({ question, answer, step }) => {
      const words = [name, step].filter((part) => part !== null && part !== undefined).join(', ')
      return { question, answer, cases: [key], asked: [words === '' ? wordsOfKey(key) : words] }
    }),
  )
}

/** The part of buildReport that merging shards needs too: the cases are already judged. Pure. */
function assembleReport({ meta, corpus, options, findings, newer, stale, ...input }: AssembleInput): Report {
  const sorted = [...input.cases].sort(byKey)
  const blockers = blockersOf(corpus.requirements, sorted)
  const cases = sorted.map((testCase) => ({ ...testCase, blockedBy: blockers.get(testCase.key) ?? null }))
  const judged = {
    summary: summarize(cases, stale),
    requirements: reportRequirements(corpus, cases, findings, {
      partial: options.partial,
      skipReason: (key) => options.skipped?.find(({ id }) => key.startsWith(id))?.reason,
      planned: input.planned,
    }),
    cases,
    findings: [...findings],
    newer,
  }
  return {
    meta,
    ...judgeRun({ meta, ...judged }, { ...options, throttledCalls: input.throttledCalls ?? 0 }),
    ...judged,
    explored: input.explored ?? null,
    observations: mergeObservations(corpus, input.observed),
    stale: [...stale],
    left: [...(input.left ?? [])],
    plan: input.plan ?? null,
  }
}

const byKey = (one: CaseReport, other: CaseReport): number => (one.key < other.key ? -1 : one.key > other.key ? 1 : 0)

function reportCase(outcome: CaseOutcome, input: BuildInput): CaseReport {
  const {
    observations: _observed,
    envelope: _departures,
    envelopeAnswers: _answers,
    throttled: _calls,
    findings: _noticed,
    ...facts
  } = outcome
  const { verdict, requirements, entry } = applyKnown(outcome, input.known)
  let problem: ReportedProblem | null = null
  if (outcome.problem !== null) {
    const { hint, ...silent } = outcome.problem
    const message = `${(input.render ?? problemText)(outcome.problem)}${raceText(outcome, input.outcomes, input.corpus)}`
    problem = { ...silent, message, ...(hint === undefined ? {} : { hint: { ...hint, message: hintText(hint) } }) }
  }
  const ended = (one: Verdict): Verdict => (one === 'blocked' && outcome.problem?.kind === 'not-run' ? 'not-run' : one)
  return {
    ...facts,
    verdict: ended(verdict),
    requirements: Object.fromEntries(Object.entries(requirements).map(([id, one]) => [id, ended(one)])),
    problem,
    again: againOf(outcome, input),
    known: reasonOf(entry),
    blockedBy: null,
  }
}

/**
 * The command that runs a case again. A comment of the shell says that what fills a limit needs a fresh instance each time, and so does what calls
 * with created keys, where this run left its keys in the places for others.
 */
function againOf(
  { id, case: name, key, proves }: CaseOutcome,
  { meta, corpus, left = [], options }: BuildInput,
): string {
  // A case about every answer makes no calls; the cases that prove its requirement receive such answers too.
  const only = id === everyAnswer ? (proves[0] ?? key) : key
  const scenario = corpus.scenarios.find((one) => one.id === id)
  const { needs = [], cases = [] } = scenario ?? {}
  const leavesMuch =
    needs.includes('limits') && (needs.includes('keys') || (scenario !== undefined && hasRace(scenario)))
  // The initial key may count towards the limit.
  const isFull = left.filter((line) => line.startsWith('API key ')).length >= keyLimit - 1
  const created = corpus.testKeys.flatMap((one) => (one.key === 'given' ? [] : one.name))
  const testCase = cases.find((one) => one.name === name)
  const usesCreated =
    id.startsWith('test-keys/') || (scenario && testCase && testKeysUsed(scenario, testCase, created).size > 0)
  const needsFresh = leavesMuch || (isFull && (usesCreated || needs.includes('keys')))
  const where = needsFresh && meta.target !== 'bundled' ? ' # on a fresh instance' : ''
  return `${options.again ?? meta.again} --only ${shellWord(only)}${options.trace ? '' : ' --trace'}${where}`
}

function mergeObservations(corpus: Corpus, observed: readonly Observed[]): Report['observations'] {
  const ofQuestion = groupBy(observed, ({ question }) => question)
  const distinct = (all: readonly string[]): string[] => [...new Set(all)].sort()
  return corpus.questions.flatMap(({ id, question: text, reference }) => {
    const mine = ofQuestion.get(id) ?? []
    if (mine.length === 0) return []
    const answers = distinct(mine.map(({ answer }) => answer)).map((answer) => {
      const same = mine.filter((one) => one.answer === answer)
      const [cases, asked] = [same.flatMap((one) => one.cases), same.flatMap((one) => one.asked)].map(distinct)
      return { answer, cases: cases ?? [], asked: asked ?? [] }
    })
    return [{ question: id, answer: answers.map(({ answer }) => answer).join('; '), answers, text, reference }]
  })
}

function reportRequirements(
  corpus: Corpus,
  cases: readonly CaseReport[],
  findings: readonly Finding[],
  {
    planned,
    ...selection
  }: Parameters<typeof judgeRequirement>[1]['selection'] & { planned: ReadonlyMap<string, readonly string[]> },
): RequirementReport[] {
  const needs = new Map(corpus.scenarios.map((scenario) => [scenario.id, scenario.needs as string[]]))
  // Verdicts never depend on words.
  const silent = cases.map((testCase) => ({ ...testCase, problem: withoutWords(testCase.problem) }))
  const present = new Set(cases.map(({ key }) => key))
  return corpus.requirements.map((requirement) => {
    const mine = silent.filter(
      ({ proves, verdict, problem }) =>
        proves.includes(requirement.id) &&
        // The calls of the chosen cases had no answer for it.
        !(verdict === 'not-testable' && problem?.kind === 'no-successful-answer'),
    )
    const missing = (planned.get(requirement.id) ?? []).filter((key) => !present.has(key))
    const needsOf = (scenario: string): string[] => needs.get(scenario) ?? []
    const judged = withFindings(
      findings.filter((finding) => finding.requirement === requirement.id),
      judgeRequirement(requirement, { cases: mine, missing, needsOf, selection }),
    )
    const groups = joinReasons(judged.reasons)
    const { id, level, kind, part, text, consequences } = requirement
    return {
      id,
      level,
      kind,
      part,
      text,
      anchor: `spec/interface.md#${id.replace('/', '-')}`,
      verdict: judged.verdict,
      cases: mine.map((testCase) => testCase.key),
      reasons: groups.flatMap(({ reasons }) => reasons),
      reason: groups.length === 0 ? null : groups.map(({ reasons }) => reasonText(reasons)).join('; and '),
      gap: level === 'must' && judged.verdict === 'not-testable' && !judged.excused,
      ...defined({ consequences }),
    }
  })
}

/** A finding counts as a failed case, or as a warned one for an implied requirement, or as a known one. */
function withFindings(findings: readonly Finding[], judged: RequirementVerdict): RequirementVerdict {
  const verdict = worst([judged.verdict, ...findings.map(verdictOfFinding)])
  return verdict === judged.verdict ? judged : { verdict, reasons: [], excused: false }
}

function withoutWords(problem: ReportedProblem | null): Problem | null {
  if (problem === null) return null
  const { message: _words, hint: _hint, ...silent } = problem
  return silent
}

/** Keys of cases and of test keys by the requirement that they prove, as the fixtures say. */
function plannedCases(corpus: Corpus): Map<string, string[]> {
  const planned = new Map<string, string[]>()
  for (const item of allItems(corpus))
    for (const id of provesOf(item)) planned.set(id, [...(planned.get(id) ?? []), item.key])
  return planned
}

/** Adds to a failed race the cases that show that the requirement holds for one call at a time. */
function raceText(outcome: CaseOutcome, all: readonly CaseOutcome[], corpus: Corpus): string {
  const isRace = (id: string): boolean => corpus.scenarios.some((scenario) => scenario.id === id && hasRace(scenario))
  const broken = Object.entries(outcome.requirements).flatMap(([id, verdict]) => (verdict === 'failed' ? [id] : []))
  if (broken.length === 0 || !isRace(outcome.id)) return ''
  const others = all.filter((other) => broken.some((id) => id in other.requirements) && !isRace(other.id))
  const failed = others.some(({ requirements }) => broken.some((id) => requirements[id] === 'failed'))
  const passed = others.filter(({ requirements }) => broken.every((id) => requirements[id] === 'passed'))
  if (failed || passed.length === 0) return ''
  const shown = passed.slice(0, shownCases).map(({ key }) => key)
  return `; this is a race: the requirement holds for one call at a time (${shown.join(', ')})`
}

const shownCases = 2

/** For all exchanges of a report together, as JSON writes them. */
const mostCharacters = 3_000_000
/** The line lengths to try, from the usual one to the one for a report full of long answers. */
const lineLimits = [Number.POSITIVE_INFINITY, 2000, 500, 150, 40]

/** Cuts the lines of all exchanges just enough for the limit of the whole report. Pure. */
function boundEvidence(cases: readonly CaseReport[]): CaseReport[] {
  const lines = cases.flatMap(({ problem }) =>
    (problem?.exchanges ?? []).flatMap(({ request, answer }) => [...request, ...answer]),
  )
  const sizeAt = (limit: number): number =>
    lines.reduce((sum, line) => (sum > mostCharacters ? sum : sum + printableJson(cut(line, limit)).length), 0)
  const limit = lineLimits.find((one) => sizeAt(one) <= mostCharacters) ?? 0
  const short = (all: readonly string[]): string[] => all.map((line) => cut(line, limit))
  return cases.map((testCase) => {
    const { problem } = testCase
    const exchanges = problem?.exchanges.map(({ request, answer }) => ({
      request: short(request),
      answer: short(answer),
    }))
    return problem === null ? testCase : { ...testCase, problem: { ...problem, exchanges: exchanges ?? [] } }
  })
}

function cut(line: string, limit: number): string {
  return line.length <= limit ? line : `${line.slice(0, limit)}… (${line.length} characters)`
}

type Judged = Pick<CaseOutcome, 'id' | 'case' | 'key' | 'verdict' | 'requirements'>

/** Whether the entry names this case; a case may be written as its name or as the last part of its key. */
const entryNamesCase = (entry: KnownEntry, testCase: Pick<Judged, 'id' | 'case' | 'key'>): boolean =>
  entry.scenario === testCase.key ||
  (entry.scenario === testCase.id &&
    (entry.case === undefined || entry.case === testCase.case || testCase.key === `${testCase.id}/${entry.case}`))

const brokenBy = (testCase: Judged): string[] =>
  Object.keys(testCase.requirements).filter((id) => testCase.requirements[id] === 'failed')

const covers = (entry: KnownEntry, requirement: string): boolean =>
  entry.requirement === undefined || entry.requirement === requirement

/**
 * Makes a failed case a known one if all of its failures are listed; otherwise it stays failed. Returns the verdicts and the entry that
 * explains the case.
 */
export function applyKnown(
  testCase: Judged,
  entries: readonly KnownEntry[],
): Pick<CaseOutcome, 'verdict' | 'requirements'> & { entry: KnownEntry | null } {
  const { verdict, requirements } = testCase
  const broken = brokenBy(testCase)
  const mine = entries.filter(
    (entry) => entryNamesCase(entry, testCase) && (broken.length === 0 || broken.some((id) => covers(entry, id))),
  )
  const [entry] = mine
  if (verdict !== 'failed' || entry === undefined) return { verdict, requirements, entry: null }
  const listed = broken.filter((id) => mine.some((one) => covers(one, id)))
  return {
    verdict: listed.length === broken.length ? 'known' : 'failed',
    requirements: { ...requirements, ...Object.fromEntries(listed.map((id) => [id, 'known' as const])) },
    entry,
  }
}

/** Adds to each finding the baseline entry that makes it known. */
function knownFindings(findings: readonly Omit<Finding, 'known'>[], entries: readonly KnownEntry[]): Finding[] {
  return findings.map((finding) => {
    const isListed = (entry: KnownEntry): boolean =>
      (entry.scenario === finding.id || entry.scenario === finding.case) && covers(entry, finding.requirement)
    return { ...finding, known: reasonOf(entries.find(isListed) ?? null) }
  })
}

const reasonOf = (entry: KnownEntry | null): CaseReport['known'] =>
  entry && { reason: entry.reason, issue: entry.issue }

/** Verdicts that say nothing about the case's requirements. */
const unjudged: readonly Verdict[] = ['blocked', 'not-testable', 'not-applicable', 'not-run']

/**
 * Entries whose cases pass: at least one case that they name was judged, and no such case shows the failure. Entries of findings are never
 * stale, because a run that does not find them may not have made their calls.
 */
const staleEntries = (cases: readonly Judged[], entries: readonly KnownEntry[]): KnownEntry[] =>
  entries.filter((entry) => {
    const named = cases.filter((testCase) => entryNamesCase(entry, testCase))
    const judged = named.filter(({ verdict }) => !unjudged.includes(verdict))
    const shown = judged.map(({ verdict, requirements }) =>
      entry.requirement === undefined ? verdict : (requirements[entry.requirement] ?? 'passed'),
    )
    const isWhole = named.length === judged.length || entry.case !== undefined
    return entry.sometimes !== true && judged.length > 0 && isWhole && shown.every((verdict) => verdict === 'passed')
  })

/**
 * The baseline that makes this run's failures known. Valid entries keep their reasons and issues, entries of cases that were not judged are
 * kept, stale ones are removed, and new failures get a reason for a person to replace.
 */
export function updatedKnown(
  { cases, findings, stale }: Pick<Report, 'cases' | 'findings' | 'stale'>,
  entries: readonly KnownEntry[],
): KnownEntry[] {
  const kept = entries.filter((entry) => !stale.includes(entry))
  const failed = cases.flatMap((testCase) =>
    testCase.verdict === 'failed' ? brokenBy(testCase).map((requirement) => ({ ...testCase, requirement })) : [],
  )
  const added = failed.map(({ id, case: name, requirement }) => ({
    scenario: id,
    ...(name === null ? {} : { case: name }),
    requirement,
  }))
  const found = findings
    .filter((one) => verdictOfFinding(one) === 'failed')
    .map(({ id, requirement }) => ({ scenario: id, requirement }))
  return [...kept, ...[...added, ...found].map((entry) => ({ ...entry, reason: unexplained, issue: null }))]
}

/** The reason that `--update-known` writes for a new failure, for a person to replace. */
const unexplained = 'not explained yet'

/**
 * Merges the reports of all shards of a run into one.
 *
 * @throws SuiteError (`usage`) unless the reports are the shards 1/N to N/N of one version, each once
 */
export function mergeReports(
  reports: readonly Report[],
  whole: Corpus,
  options: { strict: boolean; set?: RequirementSet | null },
): Report {
  const [first, ...others] = reports
  if (first === undefined) throw usageError('Name the reports to merge')
  checkShards(reports)
  const { corpus, planned } = splitBySet(options.set ?? null, whole, [])
  const merged = (of: readonly Pick<Report, 'cases' | 'findings'>[]) => ({
    cases: mergeCases(of.flatMap(({ cases }) => cases)),
    // A finding of several shards is listed once.
    findings: [...new Map(of.flatMap(({ findings }) => findings).map((one) => [one.id, one])).values()],
  })
  const { cases, findings } = merged(reports)
  return assembleReport({
    meta: others.reduce<Meta>((meta, { meta: other }) => mergeMeta(meta, other), { ...first.meta, shard: null }),
    cases,
    findings,
    newer: merged(reports.map(({ newer }) => newer)),
    stale: mergeStale(reports, cases),
    observed: reports.flatMap(({ observations }) =>
      observations.flatMap(({ question, answers }) => answers.map((seen) => ({ question, ...seen }))),
    ),
    corpus,
    planned,
    left: reports.flatMap(({ left }) => left),
    options: { strict: options.strict, partial: null },
  })
}

function checkShards(reports: readonly Report[]): void {
  for (const [what, of] of [
    ['versions', 'version'],
    ['requirement sets', 'set'],
  ] as const) {
    const values = [...new Set(reports.map(({ meta }) => meta[of]))]
    if (values.length > 1) throw usageError(`Cannot merge reports of different ${what}: ${values.join(', ')}`)
  }
  const shards = reports.map(({ meta: { shard, target, started } }) => {
    if (shard !== null) return shard
    throw usageError(
      `Cannot merge the report of a whole run ("${target}", ${started}): expected reports of "run --shard I/N"`,
    )
  })
  const count = Number(shards[0]?.split('/')[1])
  const cannot = `Cannot merge the shards ${shards.join(', ')}:`
  for (let index = 1; index <= count; index++) {
    const found = shards.filter((shard) => shard === `${index}/${count}`).length
    if (found !== 1) throw usageError(`${cannot} ${index}/${count} ${found === 0 ? 'is missing' : 'is there twice'}`)
  }
  if (shards.length !== count) throw usageError(`${cannot} they are not of one run`)
}

/** Cases of every shard (its test keys, its envelope) count with their worst verdict. */
function mergeCases(all: readonly CaseReport[]): CaseReport[] {
  const cases = new Map<string, CaseReport>()
  for (const testCase of all) {
    const earlier = cases.get(testCase.key)
    const isWorst = earlier === undefined || worst([earlier.verdict, testCase.verdict]) !== earlier.verdict
    if (isWorst) cases.set(testCase.key, testCase)
  }
  return [...cases.values()]
}

/** An entry is stale if at least one shard says so and no shard found the failure. */
function mergeStale(reports: readonly Report[], cases: readonly CaseReport[]): KnownEntry[] {
  const stale = new Map(reports.flatMap((report) => report.stale).map((entry) => [JSON.stringify(entry), entry]))
  const known = cases.filter(({ verdict }) => verdict === 'known')
  return [...stale.values()].filter((entry) => !known.some((testCase) => entryNamesCase(entry, testCase)))
}

function mergeMeta(one: Meta, other: Meta): Meta {
  const both = (first: string, second: string): string =>
    first.split(', ').includes(second) ? first : `${first}, ${second}`
  return {
    ...one,
    target: both(one.target, other.target),
    started: [one.started, other.started].sort()[0] ?? one.started,
    durationMs: Math.max(one.durationMs, other.durationMs),
    seed: both(one.seed, other.seed),
    node: both(one.node, other.node),
    allow: one.allow.filter((word) => other.allow.includes(word)),
    clock: one.clock ?? other.clock,
    stopped: one.stopped ?? other.stopped,
  }
}

/** What the verdict of a run, its exit code, and the sentences that explain both are made of. */
type Evidence = Pick<Report, 'meta' | 'summary' | 'cases' | 'newer' | 'requirements' | 'findings'>

/** How it is judged. `throttledCalls`: the run took longer, and some times could not be judged. */
type Judging = BuildInput['options'] & { throttledCalls: number }

function summarize(cases: readonly CaseReport[], stale: readonly KnownEntry[]): Report['summary'] {
  const { passed, failed, warned, blocked, known, ...others } = countVerdicts(cases)
  const { 'not-testable': notTestable, 'not-applicable': notApplicable, 'not-run': notRun } = others
  return { passed, failed, warned, blocked, notTestable, notApplicable, notRun, known, stale: stale.length }
}

/** The numbers that decide the verdict. */
type Standing = ReturnType<typeof standingOf>

function judgeRun(
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
    // Of a run that was ended, nearly every must is open; a defect of the suite loses a few cases.
    ...(evidence.meta.stopped !== null && summary.notRun > 0 ? [] : openMusts(evidence)),
    ...saidIf(strictFault, '--strict: warnings and musts that are not testable count as failures'),
    ...saidIf(verdict === 'conforms', conformsBecause(evidence, warnings, strict)),
    ...whatIsNext(evidence, gaps, partial),
  ]
  return { verdict, exitCode: judging.ownExitCode ?? exitCode, conclusion }
}

/** Whether cases that `--only` or a shard leaves out would show the other side. */
const isLeftOut = ({ reasons }: RequirementReport): boolean => reasons.some(({ kind }) => kind === 'not-selected')

function standingOf({ summary, cases, findings, requirements }: Evidence) {
  const open = requirements.filter(({ verdict }) => verdict === 'blocked')
  const fresh = findings.filter(({ known }) => known === null)
  const keysOf = (wanted: Verdict) => new Set(cases.filter(({ verdict }) => verdict === wanted).map(({ key }) => key))
  const [passed, failed, stuck] = [keysOf('passed'), keysOf('failed'), keysOf('blocked')]
  const hasOneOf = (keys: ReadonlySet<string>) => (one: RequirementReport) => one.cases.some((key) => keys.has(key))
  const excused = cases.filter((testCase) => blockedByKnown(cases, testCase)).length
  return {
    failures: summary.failed + fresh.filter((one) => verdictOfFinding(one) === 'failed').length,
    warnings: summary.warned + fresh.filter((one) => verdictOfFinding(one) === 'warned').length,
    known: summary.known + (findings.length - fresh.length),
    /** Cases that are blocked by something other than a known failure. */
    blocked: summary.blocked - excused,
    /** Cases that are blocked by a known failure, which is accepted for now. */
    excused,
    /** Guards of which only one side was shown: all their cases passed. What a failed case leaves open counts there. */
    halfShown: open.filter((one) => one.cases.every((key) => passed.has(key))),
    /** What a case would have judged in a later step, had it not failed before. */
    leftOpen: open.filter(hasOneOf(failed)),
    /** Neither the one nor the other: a blocked case would have judged it. */
    blockedOnly: open.filter((one) => hasOneOf(stuck)(one) && !hasOneOf(failed)(one)),
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
  { excused, known, blocked, halfShown, leftOpen, blockedOnly }: Standing,
  { throttledCalls }: Judging,
): string[] {
  const { failed, notRun } = summary
  // Every failed case is in a line that failed, which begins with a case.
  const keys = new Set(cases.map(({ key }) => key))
  const causes = toldLines(requirements, cases, findings).filter(
    ({ verdict, first }) => verdict === 'failed' && keys.has(first),
  ).length
  const forCauses = causes < failed ? `, for what looks like ${counted(causes, 'cause')}` : ''
  const found = findings.filter((one) => verdictOfFinding(one) === 'failed').length
  const stale = counted(summary.stale, 'baseline entry passes', 'baseline entries pass')
  const throttled = counted(throttledCalls, 'call was', 'calls were')
  const prove = (count: number): string => `so ${count === 1 ? 'it proves' : 'they prove'} nothing`
  const sides = idsOf(halfShown).join(', ')
  const lost = saidIf(notRun > 0, `${counted(notRun, 'case was', 'cases were')} not run, ${prove(notRun)}`)
  const judged = cases.length - notRun - summary.notTestable - summary.notApplicable
  const ended = `Ended after ${judged} of ${counted(judged + notRun, 'case')}, because ${meta.stopped}`
  return [
    // A text begins with this line if it says that cases were not run.
    ...(meta.stopped === null ? lost : [[ended, ...lost].join('; ')]),
    ...saidIf(
      throttledCalls > 0,
      `${throttled} throttled (HTTP 429, or 503 with Retry-After), so the run waited and repeated them; --rate N makes calls more slowly`,
    ),
    ...saidIf(failed > 0, `${counted(failed, 'case')} failed${forCauses}`),
    ...saidIf(
      leftOpen.length > 0,
      `Not fully judged, because a case failed earlier: ${fewOf(idsOf(leftOpen), shownMusts)}`,
    ),
    ...saidIf(found > 0, `The model found ${counted(found, 'answer')} that the document does not allow`),
    ...saidIf(excused > 0, `${counted(excused, 'case')} blocked by known failures`),
    ...saidIf(summary.stale > 0, `${stale} now: remove with --update-known`),
    ...saidIf(known > 0, `${counted(known, 'failure is', 'failures are')} known (baseline)`),
    ...saidIf(
      blocked > 0,
      `${counted(blocked, 'case')} blocked: a preparation or a control did not work, ${prove(blocked)}`,
    ),
    ...saidIf(
      blocked > 0 && blockedOnly.length > 0,
      `  Not judged because of that: ${fewOf(idsOf(blockedOnly), shownMusts)}`,
    ),
    ...saidIf(blocked === 0 && notRun === 0 && sides !== '', `Only one side was shown of ${sides}`),
  ]
}

const idsOf = (requirements: readonly RequirementReport[]): string[] => requirements.map(({ id }) => id)

const shownReasons = 6
const shownMusts = 8

/** How many musts are not tested; then the reasons that a run could change, the most common one first, with the musts that it leaves open. */
function openMusts({ requirements }: Pick<Evidence, 'requirements'>): string[] {
  // The next step names the others.
  const musts = requirements.filter((one) => one.level === 'must' && !isLeftOutByOnly(one))
  const open = groupNotTestable({ requirements: musts })
  const reasons = open.flatMap(({ kind, reason, ids }) =>
    kind === 'must' ? `${reason}: ${fewOf(ids, shownMusts)}` : [],
  )
  const count = (kind: (typeof open)[number]['kind']): number =>
    new Set(open.flatMap((one) => (one.kind === kind ? one.ids : []))).size
  const [here, few, never] = [count('must'), count('excused'), count('never')]
  const parts = [
    ...saidIf(here > 0, `${counted(here, 'needs', 'need')} what is named below`),
    ...saidIf(few > 0, `${counted(few, 'needs', 'need')} what few servers offer`),
    ...saidIf(never > 0, `${never} can never be tested`),
  ]
  const all = here + few + never
  const more = reasons.length - shownReasons
  return [
    ...saidIf(
      all > 0,
      `${all} of ${counted(musts.length, 'must')} ${all === 1 ? 'is' : 'are'} not tested here: ${parts.join('; ')}`,
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

/** How many departures from the envelope are shown, which fail once for all cases. */
const shownExchanges = 3

const casesOfAnswers: { testCase: string; requirement: string; title: string }[] = [
  { testCase: 'jsonrpc', requirement: 'envelope/response-jsonrpc', title: 'Every answer carries jsonrpc "2.0"' },
  { testCase: 'id', requirement: 'envelope/id-echo', title: 'Every answer carries the id of its request' },
  {
    testCase: 'result',
    requirement: 'envelope/result-object',
    title: 'Every result of a documented method is an object',
  },
]

/** The id of the scenario that stands for all answers of a run. */
export const everyAnswer = 'envelope/every-answer'

/**
 * Three cases made from the notes of all cases: failed, not run if a case with more answers was not, passed, or nothing to look at, which is
 * no fault where cases were chosen.
 */
export function envelopeCases(outcomes: readonly CaseOutcome[], isPartial = false): CaseOutcome[] {
  const notes = outcomes.flatMap((outcome) => outcome.envelope)
  const answers = outcomes.reduce((sum, outcome) => sum + outcome.envelopeAnswers, 0)
  const calls = outcomes.reduce((sum, outcome) => sum + outcome.calls, 0)
  const [cutBy] = outcomes.flatMap(({ problem }) => (problem?.kind === 'not-run' ? [problem.because] : []))
  const withoutDeparture = (): Verdict => {
    if (cutBy !== undefined) return 'not-run'
    if (answers > 0) return 'passed'
    return calls > 0 && !isPartial ? 'blocked' : 'not-testable'
  }
  return casesOfAnswers.map(({ testCase, requirement, title }) => {
    const mine = notes.filter(({ problem }) => envelopeRequirements[problem.kind] === requirement)
    const verdict = mine.length > 0 ? 'failed' : withoutDeparture()
    return {
      id: everyAnswer,
      case: testCase,
      key: `${everyAnswer}/${testCase}`,
      title,
      verdict,
      proves: [requirement],
      requirements: { [requirement]: verdict },
      sides: {},
      problem: verdict === 'passed' ? null : problemOf(calls, requirement, mine, { answers, cutBy }),
      observations: [],
      envelope: [],
      envelopeAnswers: answers,
      calls: 0,
      durationMs: 0,
    }
  })
}

function problemOf(
  calls: number,
  requirement: string,
  notes: CaseOutcome['envelope'],
  { answers, cutBy }: { answers: number; cutBy: (ProblemFacts & { kind: 'not-run' })['because'] | undefined },
): Problem {
  const common = {
    requirements: notes.length > 0 ? [requirement] : [],
    step: 'every successful answer of the run',
    exchanges: notes.slice(0, shownExchanges).map((note) => note.exchange),
  }
  if (notes.length === 0 && cutBy !== undefined) return { kind: 'not-run', because: cutBy, ...common }
  if (notes.length === 0) return { kind: calls > 0 ? 'no-successful-answer' : 'no-call', ...common }
  const distinct = [...new Map(notes.map(({ problem }) => [JSON.stringify(problem), problem])).values()]
  const departures: EnvelopeProblem[] = distinct.slice(0, shownExchanges)
  const more = distinct.length - departures.length
  return { kind: 'envelope-of-answers', departures, more, count: notes.length, answers, ...common }
}

/** A frozen set: the requirements of a version, with their levels and the cases that judge them. */
export interface RequirementSet {
  version: string
  /** `cases`: keys of the cases that judge it. */
  requirements: { id: string; level: Requirement['level']; cases: string[] }[]
  /** Keys of cases that judge nothing and only observe. */
  observing: string[]
}

/**
 * Separates what a set judges; without a set, that is everything. Pure.
 *
 * @returns `planned`: keys of the cases that judge each requirement; `newer`: outcomes of cases that are not in the set, or that broke a
 * requirement for which the set does not use them
 */
function splitBySet(set: RequirementSet | null, corpus: Corpus, outcomes: readonly CaseOutcome[]) {
  if (set === null) return { corpus, planned: plannedCases(corpus), judged: outcomes, newer: [] }
  const levels = new Map(set.requirements.map(({ id, level }) => [id, level]))
  const idsOfCase = new Map<string, string[]>(set.observing.map((key) => [key, []]))
  for (const { id, cases } of set.requirements)
    for (const key of cases) idsOfCase.set(key, [...(idsOfCase.get(key) ?? []), id])
  const requirements = corpus.requirements.flatMap((requirement) => {
    const level = levels.get(requirement.id)
    return level === undefined ? [] : [{ ...requirement, level }]
  })
  const isNewer = (outcome: CaseOutcome): boolean => {
    const ids = idsOfCase.get(outcome.key)
    return ids === undefined || brokenOf(outcome).some((id) => !ids.includes(id))
  }
  return {
    corpus: { ...corpus, requirements },
    planned: new Map(set.requirements.map(({ id, cases }) => [id, cases])),
    judged: outcomes.flatMap((outcome) => {
      const ids = idsOfCase.get(outcome.key)
      return ids === undefined ? [] : [judgeBySet(outcome, ids, levels)]
    }),
    newer: outcomes.filter(isNewer),
  }
}

const brokenOf = ({ requirements }: CaseOutcome): string[] =>
  Object.keys(requirements).filter((id) => requirements[id] === 'failed' || requirements[id] === 'warned')

/** The outcome with only the requirements of the set, at their levels then. */
function judgeBySet(
  outcome: CaseOutcome,
  ids: readonly string[],
  levels: ReadonlyMap<string, Requirement['level']>,
): CaseOutcome {
  const known = Object.entries(outcome.requirements).filter(([id]) => ids.includes(id))
  const isBad = (verdict: Verdict): boolean => verdict === 'failed' || verdict === 'warned'
  const requirements = Object.fromEntries(
    known.map(([id, verdict]) => {
      const broken = (levels.get(id) ?? 'must') === 'must' ? ('failed' as const) : ('warned' as const)
      return [id, isBad(verdict) ? broken : verdict]
    }),
  )
  const verdict = isBad(outcome.verdict) ? worst(Object.values(requirements)) : outcome.verdict
  const problem = verdict === 'passed' ? null : outcome.problem
  return {
    ...outcome,
    proves: outcome.proves.filter((id) => ids.includes(id)),
    requirements,
    verdict,
    problem: problem && { ...problem, requirements: problem.requirements.filter((id) => ids.includes(id)) },
  }
}
