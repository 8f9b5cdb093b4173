import { countBy, counted, firstFew, groupBy } from '../engine/group.ts'
import { type Printable, printed, vouchedFor } from '../engine/printable.ts'
import type { Cause } from './causes.ts'
import { joinSections, type Paint, paintOf, table } from './lines.ts'
import type { Plan, Report } from './report.ts'
import {
  areaOf,
  problemLines,
  type Told,
  type ToldCase,
  type ToldFinding,
  type ToldRun,
  tellRun,
  verdictLine,
} from './tell.ts'
import { casesOf, glyphs } from './verdict-words.ts'

/** How many failures are reported in full; a server with more failures usually has one or two causes. */
const fullFailures = 30
/** The whole list is in the other reports. */
const shownAlike = 8
const shownObservation = 80
const shownIds = 8

/** How a text report is laid out. */
interface TextLayout {
  /** For a terminal only. */
  colour: boolean
  /** How wide the terminal is. */
  columns?: number | undefined
  /** Print every answer to the open questions, instead of their number. */
  observations?: boolean | undefined
}

/** The report for people: failures first, each with its sentence and bytes, then what is open, then the verdict. */
export function renderText(raw: Report, layout: TextLayout): Printable {
  const run = tellRun(raw)
  const { cases, findingGroups, newer, meta, byCause } = run
  const paint = paintOf(layout.colour, layout.columns)
  /** Lines under a heading; nothing without lines. */
  const section = (heading: string, lines: readonly string[]) => (lines.length === 0 ? [] : [heading, ...lines])
  const notRun = groupBy(
    cases.filter(({ verdict }) => verdict === 'not-run'),
    (testCase) => testCase.notRun ?? '',
  )
  const newerTitle = `Found by newer checks, which are not in set ${meta.set}; they change neither the verdict nor the exit code`
  const newerBlocks = [
    ...newer.cases.map((first) => causeBlock({ first, others: [] }, paint)),
    ...newer.findingGroups.map((group) => findingBlock(group, paint)),
  ]
  const observed = run.observations.length
  const sections = [
    [
      paint.bold(`svc-conformance ${meta.version} against ${run.target}`),
      ...(meta.clock === null ? [] : [meta.clock.sentence]),
      paint.dim(`seed ${meta.seed}, Node ${meta.node.replace(/^v/, '')}${run.shard}`),
      ...(meta.set === 'current' ? [] : [`judged by ${run.judge}`]),
    ],
    ...byCause.failed.map((cause, index) => [
      ...causeBlock(cause, paint, index < fullFailures),
      ...blockedBy(cause.first, paint),
    ]),
    ...findingGroups.filter(({ first }) => first.verdict === 'failed').map((group) => findingBlock(group, paint)),
    ...byCause.blocked.map((cause) => causeBlock(cause, paint)),
    // Cases that the run did not reach, without useless details.
    ...[...notRun].map(([reason, mine]) => {
      const count = `${counted(mine.length, 'case was', 'cases were')} not run: ${reason}`
      return [
        ...paint.hanging(`${glyphs['not-run']} `, count).map(paint.yellow),
        ...listed(
          mine.map(({ key }) => key),
          paint,
        ),
      ]
    }),
    ...byCause.warned.map((cause) => causeBlock(cause, paint)),
    ...findingGroups.filter(({ first }) => first.verdict !== 'failed').map((group) => findingBlock(group, paint)),
    // Cases that a frozen set does not judge.
    ...(newerBlocks.length === 0 ? [] : [paint.hanging('', newerTitle).map(paint.bold), ...newerBlocks]),
    section(
      paint.bold('Known failures'),
      run.known.flatMap(({ key, why }) => paint.hanging(`  ${glyphs.known} `, `${key}: ${why}`)),
    ),
    // Known failures are listed above; the cases that they block are listed here.
    ...cases
      .filter(({ verdict, blocks }) => verdict === 'known' && blocks.length > 0)
      .map((testCase) => [paint.yellow(`${glyphs.known} ${testCase.key}`), ...blockedBy(testCase, paint)]),
    section(
      paint.red('Stale baseline entries: listed, but they pass'),
      run.stale.map(({ entry }) => `  ${glyphs.failed} ${entry}`),
    ),
    areaLines(run, paint),
    ...notTestable(run, paint),
    layout.observations === true
      ? section(paint.bold('Open questions observed (never judged)'), observationLines(run, paint))
      : observed === 0
        ? []
        : [`Open questions: ${observed} observed, never judged; --observations prints the answers`],
    section(
      paint.yellow('Left on the target'),
      run.left.map((line) => `  ${line}`),
    ),
    run.explored === null
      ? []
      : [
          ...paint.hanging('', run.explored.sentence),
          ...[...run.explored.skipped, ...run.explored.found].flatMap((line) => paint.hanging('  ', line)),
        ],
    conclusion(run, paint),
  ]
  return vouchedFor(joinSections(sections))
}

/** The block of a case, a finding or a check of a client. */
export function blockOf(told: Told, paint: Paint): string[] {
  const { title, sentences, steps, facts, since, known, history, exchanges, fixture, again } = told
  const labelled = [
    ...steps.map((text, index) => ({ label: `${index + 1}.`, text })),
    ...facts.map(({ label, text, where }) => ({ label, text: where === undefined ? text : `${text} (${where})` })),
    ...since.map((text) => ({ label: '', text })),
    ...(known === null ? [] : [{ label: 'Known', text: known }]),
  ]
  const width = Math.max(6, ...labelled.map(({ label }) => label.length + 1))
  return [
    titleLine(told, paint),
    ...paint.hanging('  ', title),
    // A case that only observes proves no sentence.
    ...(sentences.length === 0 ? [] : ['']),
    ...sentences.flatMap(({ level, id, text, anchor }) => {
      const head = `  ${level}  `
      const sentence = paint.hanging(head, id === '' ? text : `${id}: ${text}`)
      return [...sentence, paint.dim(`${' '.repeat(head.length)}${anchor}`)]
    }),
    '',
    ...labelled.flatMap(({ label, text }) => paint.hanging(`  ${label.padEnd(width)}`, text)),
    ...(history === null ? [] : ['', ...history.lines.map((line) => `  ${line}`)]),
    ...exchanges.flatMap((lines) => ['', ...lines.map((line) => paint.dim(`  ${line}`))]),
    ...(fixture === null
      ? []
      : [
          '',
          '  This scenario shows it. Save it as DIR/scenarios/found/NAME.yaml beside DIR/language.yaml (language: 1), and use',
          '  run --fixtures DIR:',
          ...fixture.map((line) => paint.dim(`    ${line}`)),
        ]),
    ...(again === null ? [] : ['', `  ${'Again'.padEnd(Math.max(8, width))}${again}`]),
  ]
}

function titleLine({ verdict, id }: Pick<Told, 'verdict' | 'id'>, paint: Paint): string {
  const title = `${glyphs[verdict]} ${id}`
  return verdict === 'failed' ? paint.red(title) : paint.yellow(title)
}

/** The first case of a cause, in full or in short, then those that break in the same way. */
function causeBlock({ first, others }: Cause<ToldCase>, paint: Paint, full = true): string[] {
  const { told, verdict, key, title, problem } = first
  const block =
    told !== null && full
      ? blockOf(told, paint)
      : [titleLine({ verdict, id: key }, paint), ...paint.hanging('  ', problem?.message ?? title)]
  return [...block, ...alike(first, others, paint)]
}

const alikeWords: { readonly [verdict: string]: readonly [one: string, many: string] } = {
  failed: ['fails like this', 'fail like this'],
  warned: ['warns like this', 'warn like this'],
  blocked: ['is blocked by the same cause', 'are blocked by the same cause'],
}

/** The other cases of one cause, with the sentence that each breaks if it is a different one. */
function alike({ verdict, problem }: ToldCase, others: readonly ToldCase[], paint: Paint): string[] {
  if (others.length === 0) return []
  const broken = problem?.requirements ?? []
  const lines = others.map((testCase) => {
    const more = (testCase.problem?.requirements ?? []).filter((id) => !broken.includes(id))
    const differing = [...more, ...(testCase.verdict === verdict ? [] : [testCase.verdict])]
    return `${testCase.key}${differing.length === 0 ? '' : ` (${differing.join(', ')})`}`
  })
  const [one, many] = alikeWords[verdict] ?? ['', '']
  const count = others.length === 1 ? `one more case ${one}` : `${others.length} more cases ${many}`
  return [`  Also    ${count}:`, ...listed(lines, paint)]
}

function blockedBy({ blocks }: ToldCase, paint: Paint): string[] {
  return blocks.length === 0 ? [] : [`  Blocks  ${casesOf(blocks.length)}:`, ...listed(blocks, paint)]
}

function listed(lines: readonly string[], paint: Paint): string[] {
  return firstFew(lines, shownAlike).flatMap((line) => paint.hanging('          ', line))
}

/** The first finding of a requirement; in short, where a case shows the same. */
function findingBlock({ first, others }: Cause<ToldFinding>, paint: Paint): string[] {
  const { told, message, requirement, shownBy } = first
  const short = `${message}. It breaks ${requirement}; the case ${shownBy} shows it too`
  const answers = counted(others.length, 'more answer breaks it', 'more answers break it')
  const ids = others.map(({ id }) => id)
  return [
    ...(shownBy === null ? blockOf(told, paint) : [titleLine(told, paint), ...paint.hanging('  ', short)]),
    ...(ids.length === 0 ? [] : [`  Also    ${answers}:`, ...listed(ids, paint)]),
  ]
}

function areaLines({ areas }: ToldRun, paint: Paint): string[] {
  if (areas === null) return []
  const [head = '', ...body] = table([['Requirements', 'of', ...areas.columns], ...areas.areas, areas.all], '')
  return [paint.bold(head), ...body]
}

const openHeadings = {
  must: 'Musts that are not testable here',
  implied: 'Implied, and not testable here',
  excused: 'Not testable for a written reason',
} as const

/** Lists open musts next to the verdict. Musts that --only leaves out are only counted, because their ids would hide the cases. */
function notTestable({ open: all, cases, requirements }: ToldRun, paint: Paint): string[][] {
  const groups = all.filter((group) => group.kind !== 'must' && !group.notSelectedByOnly)
  const ran = new Set(cases.map(({ key }) => key))
  const isBegun = (id: string): boolean =>
    requirements.some((one) => one.id === id && one.cases.some((key) => ran.has(key)))
  const unselected = all.filter((group) => group.notSelectedByOnly).flatMap(({ ids }) => ids)
  const begun = unselected.filter(isBegun)
  const left = unselected.length - begun.length
  const sections = [...groupBy(groups, ({ kind }) => kind)].map(([kind, mine]) => [
    paint.bold(openHeadings[kind]),
    ...mine.flatMap(({ reason, ids }) => [
      ...paint.hanging('  - ', reason),
      ...paint.hanging('      ', ids.join(', ')).map(paint.dim),
    ]),
  ])
  return [
    ...sections,
    ...(begun.length === 0 ? [] : [paint.hanging('', `Not proved by the selected cases alone: ${begun.join(', ')}`)]),
    ...(left === 0 ? [] : [[paint.dim(`Not selected by --only: ${counted(left, 'requirement')}`)]]),
  ]
}

function observationLines({ observations }: ToldRun, paint: Paint): string[] {
  const width = Math.max(...observations.map(({ question }) => question.length)) + 4
  return observations.flatMap(({ question, answers }) =>
    answers.flatMap(({ answer, asked }, index) => {
      const name = index === 0 ? `  ${question}` : ''
      const short = answer.length <= shownObservation ? answer : `${answer.slice(0, shownObservation)}…`
      return paint.hanging(name.padEnd(width), asked === '' ? short : `${short}: ${asked}`)
    }),
  )
}

function conclusion(run: ToldRun, paint: Paint): string[] {
  const paintVerdict = run.exitCode !== 0 ? paint.red : run.verdict === 'conforms' ? paint.green : paint.yellow
  const seconds = (run.meta.durationMs / 1000).toFixed(1)
  return [
    `${casesOf(run.cases.length)} in ${seconds} s: ${run.sentence}`,
    paint.bold(paintVerdict(verdictLine(run))),
    ...problemLines(run).flatMap((line) => paint.hanging('  ', line)),
    ...run.conclusion.flatMap((line) => paint.hanging(line.startsWith('  ') ? '    ' : '  ', line.trimStart())),
  ]
}

/**
 * Describes what a run will do.
 *
 * @param options `ids`: list every requirement by its id, instead of their number for each area; `columns`: the width of the terminal
 */
export function renderPlan(planned: Plan, options: { ids: boolean; columns?: number | undefined }): Printable {
  const { cases, total, calls, seconds, refusals, notSelected, creates, cannot, model } = printed(planned)
  const paint = paintOf(false, options.columns)
  const leftOut = cannot.reduce((sum, one) => sum + one.cases, 0)
  const createsNothing = creates.length === 0 && (model === undefined || model.keys === 0)
  const lines = [
    // Observed calls may be refused too, which is not known in advance.
    `Plan: ${cases} of ${casesOf(total)}, about ${calls} calls${duration(seconds)}, at least ${refusals} of them expected to be refused`,
    ...(refusals > 0 ? ['  The refusals may look like an attack in the log of the server'] : []),
    ...(notSelected > 0 ? [`  ${casesOf(notSelected)} ${notSelected === 1 ? 'is' : 'are'} not selected`] : []),
    ...(createsNothing ? ['Creates nothing that lasts'] : []),
    ...(creates.length === 0 ? [] : ['Creates:', ...creates.flatMap((what) => paint.hanging('  - ', what))]),
    ...(model === undefined ? [] : [modelLine(model)]),
    ...(leftOut > 0 ? [`Cannot run ${casesOf(leftOut)}:`] : []),
    ...cannot.flatMap((one) => [
      ...paint.hanging('  - ', one.reason),
      ...paint.hanging('      ', `${casesOf(one.cases)}: ${openBy(one.requirements, options.ids)}`),
    ]),
  ]
  return vouchedFor(`${lines.join('\n')}\n`)
}

/** What the model does besides the cases. */
function modelLine({ calls, seconds, keys }: NonNullable<Plan['model']>): string {
  const created = keys === 0 ? '' : `; it creates at most ${counted(keys, 'API key')}`
  const pace = seconds === 0 ? '' : ` at ${Math.round((seconds * 1000) / calls)} ms each`
  return `Then the model makes at most ${counted(calls, 'call')}${duration(seconds)}${pace}, most of them with a mistake${created}`
}

function duration(seconds: number): string {
  if (seconds === 0) return ''
  return seconds >= 120 ? ` in ${Math.round(seconds / 60)} min` : ` in ${seconds} s`
}

function openBy(requirements: readonly string[], ids: boolean): string {
  if (requirements.length === 0) return 'only observed'
  if (ids || requirements.length <= shownIds) return requirements.join(', ')
  const areas = countBy(requirements, areaOf)
  return `${requirements.length} requirements of ${[...areas].map(([area, count]) => `${area} (${count})`).join(', ')}`
}
