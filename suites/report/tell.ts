/** What the reports for people and for test tools tell of a run: one value, made once, that each markup lays out. */
import { countBy, counted, fewOf, firstFew, groupBy } from '../engine/group.ts'
import type { Problem, Verdict } from '../engine/judge/problem.ts'
import { type Printable, printable, printed } from '../engine/printable.ts'
import type { Exchange } from '../engine/target.ts'
import {
  blockedByKnown,
  countVerdicts,
  groupNotTestable,
  isLeftOutByOnly,
  toldLines,
  verdictOfFinding,
} from './causes.ts'
import { type Block, code, conclusionItems, type Document, fact, type Item, soft, type Told } from './document.ts'
import type { CaseReport, Explored, Finding, KnownEntry, Plan, Report } from './report.ts'
import { printBlocks, shellWord } from './text.ts'
import { knownWords, shardWords, targetWords, verdictOrder, words } from './verdict-words.ts'

/** The whole list is in the JSON report and on the page. */
const shownAlike = 8
const shownObservation = 80
const shownIds = 8
/** How many problems are listed next to the verdict; the rest of the report has all. */
const shownProblems = 20

/** A case or a finding, with what a reader needs of it. */
export interface Shown {
  kind: 'case' | 'finding'
  key: string
  verdict: Verdict
  proves: readonly string[]
  /** The requirements that it shows broken. */
  broken: readonly string[]
  known: CaseReport['known']
  told: Told
  /** Keys of the cases that its failure blocks. */
  blocks: readonly string[]
}

/** What is told in one line. */
interface Cause {
  first: Shown
  others: Shown[]
}

type ToldRun = ReturnType<typeof tellRun>
export type ToldCase = ToldRun['cases'][number]

/**
 * All texts are printable; findings are in the order of their verdicts, and newer cases are only those that show something.
 *
 * @param options `observations`: the answers to the open questions are told in full, instead of their number; `files`: those that the
 * report embeds, to link to
 */
export function tellRun(
  raw: Report,
  { observations = false, files = new Set<string>() }: { observations?: boolean | undefined; files?: Set<string> } = {},
) {
  const report = printedReport(raw)
  const { meta } = report
  const blocked = groupBy(
    report.cases.filter(({ verdict }) => verdict === 'blocked'),
    ({ blockedBy }) => blockedBy,
  )
  const tellCases = (all: PrintedReport['cases']) =>
    all.map((testCase) => ({
      ...testCase,
      kind: 'case' as const,
      broken: testCase.problem?.requirements ?? [],
      told: tellCase(report, testCase, files),
      blocks: (blocked.get(testCase.key) ?? []).map(({ key }) => key),
      /** A known failure blocks it, so it does not fail the run and must not look like a failure. */
      isExcused: blockedByKnown(report.cases, testCase),
      isObserved: isObserved(testCase),
    }))
  const tellFindings = (all: readonly PrintedFinding[]): Shown[] =>
    all.map((finding) => {
      const broken = [finding.requirement]
      const told = tellFinding(report, finding)
      return { ...finding, kind: 'finding', key: finding.id, proves: broken, broken, told, blocks: [] }
    })
  const cases = tellCases(report.cases)
  const findings = tellFindings(report.findings)
  const newer: Shown[] = [...tellCases(report.newer.cases), ...tellFindings(report.newer.findings)]
  const causes = causesOf(report, cases, findings)
  const stale = report.stale.map((entry) => ({ words: entryWords(entry), reason: entry.reason }))
  const isCut = meta.stopped !== null && report.summary.notRun > 0
  const again: Block = { kind: 'command', label: 'Again', command: meta.again }
  const blocks = {
    // The command selects no cases, so after a selection it would make other calls.
    again: isCut && (report.plan?.notSelected ?? 0) === 0 ? [again] : [],
    stale: staleBlock(stale.map(({ words }) => words)),
    observed: observationBlock(report, observations),
    open: openBlocks(report),
    left: leftBlock(report),
  }
  const aboutNewer = `Found by newer checks, which are not in set ${meta.set}; they change neither the verdict nor the exit code`
  const judge = meta.set === 'current' ? 'every case of this version' : `requirement set ${meta.set}`
  const document: Document = {
    title: targetWords(meta),
    verdict: report.verdict,
    exitCode: report.exitCode,
    head: [
      `svc-conformance ${meta.version} against ${targetWords(meta)}`,
      ...(meta.clock === null ? [] : [meta.clock.sentence]),
      `seed ${meta.seed}, Node ${meta.node.replace(/^v/, '')}, ${dateWords(meta.started)}, judged by ${judge}${shardWords(meta)}`,
    ],
    ended: isCut ? report.conclusion[0] : undefined,
    summary: `${counted(cases.length, 'case')} in ${(meta.durationMs / 1000).toFixed(1)} s: ${summarySentence(report)}`,
    problems: problemsOf(report, causes),
    conclusion: conclusionItems(report.conclusion),
    told: causes.map(causeTold),
    overview: isCut ? [] : [areaTable(report)],
    rest: [
      { kind: 'lines', tone: 'bold', lines: newer.length === 0 ? [] : [aboutNewer] },
      ...newer.map(({ told }) => told),
      knownBlock(cases),
      blocks.stale,
      ...(isCut ? [] : blocks.open),
      ...(isCut && !observations ? [] : [blocks.observed]),
      blocks.left,
      ...blocks.again,
      { kind: 'lines', lines: report.explored === null ? [] : exploredLines(report.explored) },
    ],
  }
  return { ...report, cases, findings, newer, causes, stale, document, blocks }
}

/** The maximum length of a text: enough for the command that repeats a case. */
const longestText = 4000

type PrintedReport = ReturnType<typeof printedReport>
type PrintedFinding = PrintedReport['findings'][number]

/** The report that every format except JSON prints: findings in the order of their verdicts, and of newer cases only those that show something. */
function printedReport(report: Report) {
  const { findings, newer } = report
  const brokenCases = newer.cases.filter(({ verdict }) => verdict === 'failed' || verdict === 'warned')
  return printed(
    { ...report, findings: toTell(findings), newer: { cases: brokenCases, findings: toTell(newer.findings) } },
    longestText,
  )
}

/** Findings with the verdict that a case would have for the same defect; the lines of their fixtures stay lines. */
export function toTell(
  findings: readonly Finding[],
): (Omit<Finding, 'fixture'> & { fixture: string[]; verdict: Verdict })[] {
  const order: readonly Verdict[] = ['failed', 'warned', 'known']
  return findings
    .map((finding) => ({
      ...finding,
      fixture: finding.fixture?.trimEnd().split('\n') ?? [],
      verdict: verdictOfFinding(finding),
    }))
    .sort((one, other) => order.indexOf(one.verdict) - order.indexOf(other.verdict))
}

function tellCase(report: PrintedReport, testCase: CaseReport, files: ReadonlySet<string>): Told {
  const { problem, verdict, key, proves, known, again, calls, durationMs } = testCase
  const title = testCase.case === null ? testCase.title : `${testCase.title}: ${testCase.case}`
  const told = { kind: 'told' as const, verdict, id: key, title, message: problem?.message ?? title }
  const command = { kind: 'command' as const, label: 'Again', command: again }
  const { file, line } = placeOfCase(testCase)
  const to = files.has(file) ? `file/${file}${line === null ? '' : `/${line}`}` : undefined
  const fixture = fact('In', to === undefined ? null : [code(file, to)])
  if (problem === null) {
    const proved = proves.flatMap((id, index) => {
      const isKnown = report.requirements.some((one) => one.id === id)
      return [...(index === 0 ? [] : [', ']), code(id, isKnown ? `requirement/${id}` : undefined)]
    })
    const items = [
      ...fact('Proves', proves.length > 0 && proved),
      ...fact('Calls', `${calls}, ${Math.round(durationMs)} ms`),
      ...fixture,
    ]
    return { ...told, blocks: [{ kind: 'facts', items }, command] }
  }
  const { step, where, message, hint, token, exchanges } = problem
  const ids = problem.requirements.length > 0 ? problem.requirements : proves
  const facts = [
    ...fact('At', step === '' ? null : where === undefined ? step : [`${step} (`, code(where, to), ')']),
    ...(where === undefined ? fixture : []),
    ...fact(verdict === 'not-testable' ? 'Why' : 'But', message),
    ...fact('Token', token && tokenWords(token)),
    ...fact('Hint', hint?.message),
    ...fact('Known', known && knownWords(known)),
  ]
  return {
    ...told,
    blocks: [
      sentencesBlock(report, (id) => ids.includes(id)),
      { kind: 'facts', items: facts },
      ...exchangeBlocks(exchanges),
      command,
    ],
  }
}

function tokenWords({ scope, refreshes }: NonNullable<Problem['token']>): string {
  const often = refreshes === 1 ? 'once' : counted(refreshes, 'time')
  return `granted for the scope "${scope}"${refreshes === 0 ? '' : `; its pair was refreshed ${often}`}`
}

/** @param isOfRun the model made the calls, and a page shows every requirement; otherwise others made them */
export function tellFinding(
  report: Pick<PrintedReport, 'meta' | 'requirements'>,
  finding: PrintedFinding,
  isOfRun = true,
): Told {
  const { verdict, id, requirement, message, steps, known, history, exchanges, fixture } = finding
  const facts = [
    ...steps.flatMap((step, index) => fact(`${index + 1}.`, step)),
    ...fact('Hint', finding.hint),
    ...fact('Found', isOfRun && `by the model. ${reproducedSentence(finding)}`),
    ...sinceLines(finding).flatMap((line) => fact('', line)),
    ...fact('Known', known && knownWords(known)),
  ]
  return {
    kind: 'told',
    verdict,
    id,
    title: message,
    message,
    blocks: [
      sentencesBlock(report, (one) => one === requirement, isOfRun),
      { kind: 'facts', items: facts },
      historyBlock(history),
      ...exchangeBlocks(exchanges),
      ...scenarioBlocks(fixture, finding, isOfRun ? runCommand(report.meta) : 'npx svc-conformance run --url URL'),
    ],
  }
}

/** The command that runs cases against the same target, also where the report is one of `explore`. */
function runCommand({ again, target, allow }: PrintedReport['meta']): string {
  if (/^npx svc-conformance run\b/.test(again)) return again
  const url = target === 'bundled' ? '' : ` --url ${shellWord(target)}`
  return `npx svc-conformance run${url}${allow.length === 0 ? '' : ` --allow ${allow.join(',')}`}`
}

/**
 * The scenario that shows a finding, and the command that runs only it.
 *
 * @param run the command that runs every case
 */
function scenarioBlocks(
  lines: readonly Printable[],
  { id, level }: Pick<Finding, 'id' | 'level'>,
  run: string,
): Block[] {
  if (lines.length === 0) return []
  const name = id.replace(/^found\//, '').replaceAll('/', '-')
  const heading = `This scenario asks for it again. Save it as DIR/scenarios/found/${name}.yaml, with "language: 1" in DIR/language.yaml:`
  // A server may hold ten keys only.
  const where = lines.some((line) => /^needs: .*\bkeys\b/.test(line)) ? ' # on a fresh instance' : ''
  const command = `${run} --fixtures DIR --only found/${name}${level === 'implied' ? ' --strict' : ''} --trace${where}`
  return [
    { kind: 'code', label: 'Scenario', heading, lines: lines.map((line) => `  ${line}`) },
    { kind: 'command', label: 'Again', command },
  ]
}

/** The sentences that failed, or for a blocked case those that stay open. */
function sentencesBlock(
  { requirements }: Pick<PrintedReport, 'requirements'>,
  isMeant: (id: string) => boolean,
  isLinked = true,
): Block {
  const items = requirements
    .filter(({ id }) => isMeant(id))
    .map(({ id, level, text, anchor }) => ({
      label: level.toUpperCase(),
      text: isLinked ? [code(id, `requirement/${id}`), `: ${text}`] : `${id}: ${text}`,
      below: [[soft(anchor)]],
    }))
  return { kind: 'facts', items }
}

/** The lines of exchanges, which are shorter than other texts. */
export function exchangeBlocks(exchanges: readonly (Exchange & { head?: string })[]): Block[] {
  return exchanges.map(({ head, request, answer }) => ({
    kind: 'code',
    label: 'Exchange',
    lines: [
      ...(head === undefined ? [] : [head]),
      ...request.map((line) => `> ${printable(line)}`),
      ...answer.map((line) => `< ${printable(line)}`),
    ],
  }))
}

/** The file that a case was read from, and the line of the step that the report is about. */
export function placeOfCase({ id, problem }: Pick<CaseReport, 'id' | 'problem'>): {
  file: string
  line: number | null
} {
  const [, file, line] = /^(.*):(\d+):\d+$/.exec(problem?.where ?? '') ?? []
  if (file !== undefined) return { file, line: Number(line) }
  return { file: id.startsWith('test-keys/') ? 'fixtures/test-keys.yaml' : `fixtures/scenarios/${id}.yaml`, line: null }
}

/** Describes how often the finding happened again. */
export function reproducedSentence({
  reproduced: { failed, tries },
  least,
  message,
}: Pick<Finding, 'reproduced' | 'least' | 'message'>): string {
  if (tries === 0)
    return `It was seen once, and not tried again${message.includes('manager/createApiKey') ? ', because each try may take a place for a key' : ''}`
  const often = `Repeated ${counted(tries, 'time')}, seen ${counted(failed, 'time')}`
  if (failed === 0) return `${often}: it rests on what happened before, or on chance, and is a warning at most`
  if (failed < tries) return `${often}: it depends on timing or chance`
  return least === true ? `${often}; not seen without any single one of these steps and words of scope` : often
}

/** What came between a right answer and the wrong one: a sentence, then a line for each call. */
export const sinceLines = ({ since }: Pick<Finding, 'since'>): string[] =>
  since === undefined ? [] : [`${since.from}. What came between:`, ...since.calls.map((text) => `- ${text}`)]

/** What is wrong, by cause, with what each line blocks. */
function causesOf(report: PrintedReport, cases: readonly ToldCase[], findings: readonly Shown[]): Cause[] {
  const byKey = new Map([...cases, ...findings].map((one) => [one.key, one]))
  return toldLines(report.requirements, report.cases, report.findings).flatMap(({ first, others, blocks }) => {
    const shown = byKey.get(first)
    if (shown === undefined) return []
    return [{ first: { ...shown, blocks }, others: others.flatMap((key) => byKey.get(key) ?? []) }]
  })
}

/** The first of a cause, the others with the sentence that each breaks if it is a different one, and what it blocks. */
function causeTold({ first, others }: Cause): Told {
  const alike = others.map(({ key, verdict, broken }) => {
    const more = broken.filter((id) => !first.broken.includes(id))
    const differing = [...more, ...(verdict === first.verdict ? [] : [verdict])]
    return `${key}${differing.length === 0 ? '' : ` (${differing.join(', ')})`}`
  })
  return {
    ...first.told,
    also: [
      ...fact(
        'Also',
        others.length > 0 && `${moreWords(first, others)}, most likely for the same cause:`,
        ...few(alike),
      ),
      ...fact('Blocks', first.blocks.length > 0 && `${counted(first.blocks.length, 'case')}:`, ...few(first.blocks)),
    ],
  }
}

/** `2 more cases and 1 finding` */
function moreWords(first: Shown, others: readonly Shown[]): string {
  const kinds = [...countBy(others, ({ kind }) => kind)].sort(([one], [other]) => one.localeCompare(other))
  return kinds.map(([kind, count]) => counted(count, kind === first.kind ? `more ${kind}` : kind)).join(' and ')
}

const few = (lines: readonly string[]): string[] => firstFew(lines, shownAlike)

/**
 * The list that a reader looks at first: each cause by the case or finding that represents it. Further broken sentences are named, because two
 * defects may look like one cause; those first that the sentence of the first one does not explain.
 */
function problemsOf({ requirements }: PrintedReport, causes: readonly Cause[]): Item[] {
  const all = causes
    .filter(({ first }) => first.verdict !== 'known')
    .map(({ first, others }): Item => {
      const { kind, verdict, key, broken, blocks } = first
      const sentences = kind === 'finding' || broken.length === 0 ? '' : ` (${broken.join(', ')})`
      const explained: readonly string[] = requirements.flatMap(({ id, consequences = [] }) =>
        broken.includes(id) ? consequences : [],
      )
      const further = others.filter((other) => isWrong(other.verdict)).flatMap((other) => other.broken)
      const named = [...new Set(further)]
        .filter((id) => !broken.includes(id))
        .sort((one, other) => Number(explained.includes(one)) - Number(explained.includes(other)))
      const also = named.length === 0 ? '' : ` (${fewOf(named, shownIds)})`
      const more = others.length === 0 ? '' : `, and ${moreWords(first, others)} like it${also}`
      const effect = blocks.length === 0 ? '' : `; it blocks ${counted(blocks.length, 'case')}`
      return { verdict, text: [code(key, `${kind}/${key}`), `${sentences}${more}${effect}`] }
    })
  const left = all.length - shownProblems
  return left > 0 ? [...all.slice(0, shownProblems), { label: '', text: `and ${left} more` }] : all
}

const isWrong = (verdict: Verdict): boolean => verdict === 'failed' || verdict === 'warned'

/** Known failures, and how many cases they block. */
function knownBlock(cases: readonly ToldCase[]): Block {
  const items = cases.flatMap(({ verdict, key, known, blocks }): Item[] => {
    if (known === null) return []
    const below = blocks.length === 0 ? [] : [`blocks ${counted(blocks.length, 'case')}: ${fewOf(blocks, shownAlike)}`]
    return [{ verdict, text: [code(key), `: ${knownWords(known)}`], below }]
  })
  return { kind: 'list', heading: 'Known failures', items }
}

/** Baseline entries to remove, as every report lists them. */
export function staleBlock(entries: readonly string[]): Block {
  const items = entries.map((entry): Item => ({ verdict: 'failed', text: [code(entry)] }))
  return { kind: 'list', heading: 'Stale baseline entries: listed, but they pass', tone: 'red', items }
}

/** What the run could not remove. Of an instance that may be filled the number of keys is enough. */
function leftBlock({ left, meta }: PrintedReport): Block {
  const keys = left.filter((line) => line.startsWith('API key ')).length
  if (keys > 0 && / --disposable( |$)/.test(meta.again)) {
    const sentence = `Left on the target: ${counted(keys, 'API key')}, as --disposable permits; a JSON report names each (--report json=FILE)`
    return { kind: 'lines', lines: [sentence] }
  }
  return { kind: 'list', heading: 'Left on the target', tone: 'yellow', items: left.map((text) => ({ text })) }
}

/** The scenario, case and requirement that an entry of a baseline names. */
function entryWords({ scenario, case: name, requirement }: Omit<KnownEntry, 'reason' | 'issue'>): string {
  return [scenario, name, requirement].filter((part) => part !== undefined).join(', ')
}

/** The first part of an id. */
export const areaOf = (id: string): string => id.split('/')[0] ?? id

/** The areas with selected requirements: one column for each verdict that occurs, best first. */
function areaTable({ requirements }: PrintedReport): Block {
  const selected = requirements.filter((one) => !isLeftOutByOnly(one))
  const totals = countVerdicts(selected)
  const columns = verdictOrder.toReversed().filter((verdict) => verdict === 'passed' || totals[verdict] > 0)
  const row = (name: string, mine: typeof selected): [string, ...number[]] => {
    const counts = countVerdicts(mine)
    return [name, mine.length, ...columns.map((verdict) => counts[verdict])]
  }
  const areas = [...groupBy(selected, ({ id }) => areaOf(id))].map(([area, mine]) => row(area, mine))
  const rows = areas.length === 0 ? [] : [...areas, row('all', selected)]
  return { kind: 'table', head: ['Requirements', 'of', ...columns.map(words)], rows }
}

const openHeadings = {
  must: 'Musts that are not testable here',
  excused: 'Musts that only few servers let anyone test',
  never: 'Musts that can never be tested',
  implied: 'Implied, and not testable here',
} as const

/** What is not testable; the conclusion tells of the musts. Requirements that --only leaves out are only counted, because their ids would hide the cases. */
function openBlocks(report: PrintedReport): Block[] {
  const groups = groupNotTestable(report)
  const ran = new Set(report.cases.map(({ key }) => key))
  const unselected = groups.filter((group) => group.notSelectedByOnly).flatMap(({ ids }) => ids)
  const begun = report.requirements.filter(
    ({ id, cases }) => unselected.includes(id) && cases.some((key) => ran.has(key)),
  )
  const left = unselected.length - begun.length
  const open = groupBy(
    groups.filter((group) => !group.notSelectedByOnly),
    ({ kind }) => kind,
  )
  return [
    ...[...open].map(
      ([kind, mine]): Block => ({
        kind: 'list',
        heading: openHeadings[kind],
        items: mine.map(({ reason, ids }) => ({ text: reason, below: [[soft(ids.join(', '))]] })),
        ...(kind === 'must' ? { folded: '' } : {}),
      }),
    ),
    linesIf(begun.length > 0, `Not proved by the selected cases alone: ${begun.map(({ id }) => id).join(', ')}`),
    linesIf(left > 0, `Not selected by --only: ${counted(left, 'requirement')}`),
  ]
}

const linesIf = (condition: boolean, line: string): Block => ({ kind: 'lines', lines: condition ? [line] : [] })

/** The answers to the open questions, each with what was tried; the latter is empty if a single case without a name gave them. */
function observationBlock({ observations }: Pick<PrintedReport, 'observations'>, inFull: boolean): Block {
  const items = observations.map(({ question, text, answers }) => {
    const keys = new Set(answers.flatMap(({ cases }) => cases))
    const known = keys.size === 1 ? [...keys].map(wordsOfKey) : []
    const below = answers.map(({ answer, asked }) => {
      const short = answer.length <= shownObservation ? answer : `${answer.slice(0, shownObservation)}…`
      const tried = asked.filter((one) => !known.includes(one))
      return tried.length === 0 ? short : `${short}: ${tried.join('; ')}`
    })
    return { text: [code(question), ` ${text}`], below }
  })
  const folded = `Open questions: ${items.length} observed, never judged; --observations prints the answers`
  return {
    kind: 'list',
    heading: 'Open questions, observed and never judged',
    items,
    ...(inFull ? {} : { folded: items.length === 0 ? '' : folded }),
  }
}

/** The end of a case's key in words: `content type missing`. */
export const wordsOfKey = (key: string): string => key.replace(/^.*\//, '').replaceAll('-', ' ')

const inOrder = ['failed', 'blocked', 'known', 'warned', 'notTestable', 'notApplicable', 'notRun'] as const

/** Whether a case judged nothing: it asked what a server does where the document is silent. */
const isObserved = ({ verdict, proves }: Pick<CaseReport, 'verdict' | 'proves'>): boolean =>
  verdict === 'passed' && proves.length === 0

/** `120 passed, 50 observed, 3 failed, 1 finding`, leaving out what is zero. */
export function summarySentence({
  summary: { stale, ...summary },
  cases,
  findings,
}: Pick<Report, 'summary'> & {
  cases: readonly Pick<CaseReport, 'verdict' | 'proves'>[]
  findings: readonly { known: unknown }[]
}): string {
  const fresh = findings.filter(({ known }) => known === null).length
  const observed = cases.filter(isObserved).length
  const ofCases = inOrder.map((name) => [summary[name], name.replace(/[A-Z]/, ' $&').toLowerCase()])
  const parts = [
    [summary.passed - observed, 'passed'],
    [observed, 'observed'],
    ...ofCases,
    [fresh, fresh === 1 ? 'finding' : 'findings'],
    [findings.length - fresh, findings.length - fresh === 1 ? 'known finding' : 'known findings'],
    [stale, stale === 1 ? 'stale baseline entry' : 'stale baseline entries'],
  ]
  const counts = parts.filter(([count]) => count !== 0).map(([count, word]) => `${count} ${word}`)
  return counts.length === 0 ? 'no cases' : counts.join(', ')
}

const months = 'January February March April May June July August September October November December'.split(' ')

/** `2 January 2026, 03:04 UTC`. To load the words of a language takes as long as all else in a report. */
function dateWords(iso: string): string {
  const date = new Date(iso)
  if (Number.isNaN(date.getTime())) return iso
  const time = date.toISOString().slice(11, 16)
  return `${date.getUTCDate()} ${months[date.getUTCMonth()]} ${date.getUTCFullYear()}, ${time} UTC`
}

/**
 * Describes how much was covered: parts of calls, changes of them, and pairs of the matrix. After it, what no answer could show, and the
 * first sequences that the model left out, if it did not make all.
 *
 * @param seconds how long it took, where that is said
 */
export function exploredLines(explored: Explored, seconds?: number): [covered: string, ...gaps: string[]] {
  const { calls, repeated, changes, pairs, parts, skipped = [], unproved = [] } = explored
  const begun = parts.filter(({ asked }) => asked > 0).length
  const time = seconds === undefined ? '' : ` in ${seconds.toFixed(1)} s`
  const again = repeated === 0 ? '' : `, and ${inWords(repeated)} to repeat findings`
  const changed = `${shareOf(begun, parts.length)} parts of a call in ${shareOf(changes.asked, changes.all)} ways`
  const tried = `tried ${shareOf(pairs.covered, pairs.all)} combinations`
  return [
    `The model made ${inWords(calls)} calls${time}${again}. It changed ${changed}, and ${tried}`,
    ...unproved.map((what) => `Not shown by the model: ${what}`),
    ...(skipped.length === 0 ? [] : [`Too few calls or too little time for: ${fewOf(skipped, shownSkipped)}`]),
  ]
}

const shareOf = (some: number, all: number): string => `${inWords(some)} of ${inWords(all)}`

/** `14,444` */
const inWords = (count: number): string => count.toLocaleString('en-US')

const shownSkipped = 5

const laneWidth = 56

/** Calls at the same time: a lane for each connection, in the order of their first call, time to the right; then the calls, numbered by their start. */
function historyBlock(history: Finding['history']): Block {
  // Never 0, because positions are divided by it.
  const lastMs = Math.max(0.001, ...history.map(({ endMs }) => endMs))
  const columnOf = (ms: number): number => Math.round((ms / lastMs) * (laneWidth - 1))
  const calls = [...history]
    .sort((one, other) => one.startMs - other.startMs)
    .map((call, index) => ({ ...call, label: String(index + 1) }))
  const lanes = [...groupBy(calls, ({ connection }) => `connection ${connection}`)]
  const width = Math.max(0, ...lanes.map(([name]) => name.length))
  const drawn = lanes.map(([name, mine]) => {
    const lane = mine.reduce((drawing, { label, startMs, endMs }) => {
      const from = Math.max(columnOf(startMs), drawing.length)
      return `${drawing.padEnd(from)}${barOf(label, Math.max(columnOf(endMs) - from + 1, label.length))}`
    }, '')
    return `${name.padEnd(width)}  ${lane}`.trimEnd()
  })
  const sentences = calls.map(
    ({ label, call, answer, startMs, endMs }) =>
      `${label}  ${call}: ${answer} (${startMs.toFixed(1)} to ${endMs.toFixed(1)} ms)`,
  )
  return { kind: 'code', label: 'Calls at the same time, time to the right', lines: [...drawn, ...sentences] }
}

/** `├─1──┤`, or only the number where there is no more room. */
function barOf(label: string, room: number): string {
  if (room < label.length + 2) return label.padEnd(room, '─')
  const before = Math.floor((room - label.length - 2) / 2)
  return `├${'─'.repeat(before)}${label}${'─'.repeat(room - label.length - 2 - before)}┤`
}

/**
 * Describes what a run will do.
 *
 * @param options `ids`: list every requirement by its id, instead of their number for each area; `columns`: the width of the terminal
 */
export function renderPlan(
  { cases, total, calls, seconds, refusals, perhapsRefused, notSelected, creates, cannot, model }: Plan,
  { ids, columns }: { ids: boolean; columns?: number | undefined },
): Printable {
  const leftOut = cannot.reduce((sum, one) => sum + one.cases, 0)
  const createsNothing = creates.length === 0 && (model === undefined || model.keys === 0)
  const plan = `Plan: ${cases} of ${counted(total, 'case')}, about ${calls} calls${duration(seconds)}, at least ${refusals} of them refused${perhapsRefused > 0 ? `, and ${perhapsRefused} more may be refused` : ''}`
  const lines = [
    ...(refusals > 0 ? ['The refusals may look like an attack in the log of the server'] : []),
    ...(notSelected > 0 ? [`${counted(notSelected, 'case')} ${notSelected === 1 ? 'is' : 'are'} not selected`] : []),
    ...(createsNothing ? ['Creates nothing that lasts'] : []),
    ...(model === undefined ? [] : [modelLine(model)]),
  ]
  const openBy = (requirements: readonly string[]): string => {
    if (requirements.length === 0) return 'only observed'
    if (ids || requirements.length <= shownIds) return requirements.join(', ')
    const areas = [...countBy(requirements, areaOf)].map(([area, count]) => `${area} (${count})`)
    return `${requirements.length} requirements of ${areas.join(', ')}`
  }
  const items = cannot.map((one) => ({
    text: one.reason,
    below: [`${counted(one.cases, 'case')}: ${openBy(one.requirements)}`],
  }))
  return printBlocks(
    [
      { kind: 'lines', lines: [plan, ...lines] },
      { kind: 'list', heading: 'Creates:', items: creates.map((text) => ({ text })) },
      { kind: 'list', heading: `Cannot run ${counted(leftOut, 'case')}:`, items },
    ],
    { columns },
  )
}

/** What the model does besides the cases. */
function modelLine({ calls, seconds, keys }: NonNullable<Plan['model']>): string {
  const created = keys === 0 ? '' : `; it creates at most ${counted(keys, 'API key')}`
  const pace = seconds === 0 ? '' : ` at ${Math.round((seconds * 1000) / calls)} ms each`
  return `Then the model makes at most ${counted(calls, 'call')}${duration(seconds)}${pace}, most of them with a mistake, and more to repeat what it finds${created}`
}

/** One digit: the machine and the server decide the rest. */
function duration(seconds: number): string {
  if (seconds === 0) return ''
  return seconds >= 120 ? ` in about ${Math.ceil(seconds / 60)} min` : ` in about ${Number(seconds.toPrecision(1))} s`
}
