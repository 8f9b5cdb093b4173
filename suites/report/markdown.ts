/** Markdown for job summaries and pull requests. Text from others is escaped, so that it cannot become markup. */
import { fewOf } from '../engine/group.ts'
import { type Printable, vouchedFor } from '../engine/printable.ts'
import type { Cause } from './causes.ts'
import { escapeMarkup, markdownTable } from './lines.ts'
import type { Report } from './report.ts'
import { problemLines, type Told, type ToldCase, type ToldReport, type ToldRun, tellRun } from './tell.ts'
import { casesOf, glyphs, words } from './verdict-words.ts'

const shownAlike = 20

/** The report for a job summary or a pull request, failures unfolded in details. At most 400,000 bytes. */
export function renderMarkdown(raw: Report): Printable {
  const run = tellRun(raw)
  const { areas, byCause, newer } = run
  const before = [
    heading(run),
    bulletsOf(problemLines(run).map(inline)),
    areas === null
      ? ''
      : markdownTable(
          ['requirements', 'of', ...areas.columns],
          ['---', '--:', ...areas.columns.map(() => '--:')],
          areas.areas.map((cells) => cells.map((cell) => cell || '')),
        ).join('\n'),
  ]
  const findings = run.findings.map(({ told }) => details(told))
  const newerDetails = [
    ...newer.cases.map((first) => failure({ first, others: [] })),
    ...newer.findings.map(({ told }) => details(told)),
  ]
  const after = [
    ...findings,
    section(`Found by newer checks, which are not in set ${inline(run.meta.set)}`, newerDetails),
    bulletList(
      'Known failures',
      run.known.map(({ key, why }) => `${code(key)}: ${inline(why)}`),
    ),
    bulletList(
      'Stale baseline entries: listed, but they pass',
      run.stale.map(({ entry }) => code(entry)),
    ),
    notTestable(run),
    observations(run),
    bulletList('Left on the target', run.left.map(inline)),
    run.explored === null
      ? ''
      : [run.explored.sentence, ...[...run.explored.skipped, ...run.explored.found].map((line) => `- ${line}`)].join(
          '\n',
        ),
  ]
  const failures = [...byCause.failed, ...byCause.blocked, ...byCause.warned].map(failure)
  return vouchedFor(fitted(before, failures, after))
}

function heading(run: ToldRun): string {
  const { meta } = run
  return [
    `## ${signOf(run)} ${inline(run.target)}: ${words(run.verdict)}`,
    '',
    `${run.sentence} (svc-conformance ${meta.version}${run.shard}, judged by ${run.judge}, seed ${code(meta.seed)})`,
    '',
    ...(meta.clock === null ? [] : [`- ${inline(meta.clock.sentence)}`]),
    ...run.conclusion.map((line) => `${line.startsWith('  ') ? '  ' : ''}- ${inline(line.trimStart())}`),
  ].join('\n')
}

/** A report about a client. At most 400,000 bytes too. */
export function renderToldMarkdown(report: ToldReport): Printable {
  const { title, verdict, heading: made, summary, conclusion, told, stale, table } = report
  const before = [
    `## ${signOf(report)} ${inline(title)}: ${words(verdict)}`,
    `${inline(made)}. ${inline(summary)}`,
    bulletsOf(conclusion.map(inline)),
  ]
  const after = [
    bulletsOf(stale.map((entry) => `Stale baseline entry: ${inline(entry)}`)),
    folded(
      table.title,
      markdownTable(
        table.head,
        table.head.map(() => '---'),
        table.rows.map((cells) => cells.map((cell) => inline(String(cell)))),
      ),
    ),
  ]
  return vouchedFor(
    fitted(
      before,
      told.map((one) => details(one)),
      after,
    ),
  )
}

/** The sign of a run. */
function signOf({ verdict, exitCode }: Pick<Report, 'verdict' | 'exitCode'>): string {
  return glyphs[exitCode !== 0 ? 'failed' : verdict === 'conforms' ? 'passed' : 'warned']
}

/** The first case of a cause, with the others and what it blocks. */
function failure({ first, others }: Cause<ToldCase>): string {
  const { told, verdict, key, title, blocks } = first
  if (told === null) return `<details>${summaryOf({ verdict, id: key, title })}</details>`
  const keys = others.map((testCase) => code(testCase.key))
  return details(told, [
    ...(keys.length === 0 ? [] : [`<br>**Also** ${alike[verdict] ?? 'warn like this'}: ${fewOf(keys, shownAlike)}`]),
    ...(blocks.length === 0 ? [] : [`<br>**Blocks** ${casesOf(blocks.length)}`]),
  ])
}

const alike: { readonly [verdict: string]: string } = { failed: 'fail like this', blocked: 'blocked by the same cause' }

const summaryOf = ({ verdict, id, title }: Pick<Told, 'verdict' | 'id' | 'title'>): string =>
  `<summary>${glyphs[verdict]} <code>${escapeMarkup(id)}</code> ${escapeMarkup(title)}</summary>`

/** What is told of a case, a finding or a check, for a reader to unfold. @param more lines after the facts */
function details(told: Told, more: readonly string[] = []): string {
  const { sentences, steps, facts, since, known, history, exchanges, fixture, again } = told
  const [from, ...between] = since
  const labelled = [
    ...facts.map(
      ({ label, text, where }) => `**${label}** ${inline(text)}${where === undefined ? '' : ` (${code(where)})`}`,
    ),
    ...(known === null ? [] : [`**Known** ${inline(known)}`]),
  ]
  return [
    '<details>',
    summaryOf(told),
    '',
    ...sentences.map(({ level, id, text, anchor }) =>
      id === ''
        ? `**${level}** ${inline(text)} (${inline(anchor)})<br>`
        : `**${level}** ${code(id)}: ${inline(text)}<br>`,
    ),
    labelled.join('<br>\n'),
    ...more,
    ...paragraph(steps.map((step, index) => `${index + 1}. ${inline(step)}`)),
    ...(from === undefined
      ? []
      : ['', inline(from), ...paragraph(between.map((line) => `- ${inline(line.slice(2))}`))]),
    ...(history === null ? [] : ['', ...fenced(history.lines)]),
    ...exchanges.flatMap((lines) => ['', ...fenced(lines)]),
    ...(fixture === null ? [] : ['', 'This scenario shows it:', '', ...fenced(fixture)]),
    ...(again === null ? [] : ['', ...fenced([again])]),
    '',
    '</details>',
  ].join('\n')
}

const paragraph = (lines: readonly string[]): string[] => (lines.length === 0 ? [] : ['', ...lines])

function notTestable({ open: groups }: ToldRun): string {
  if (groups.length === 0) return ''
  const lines = groups.map(({ reason, ids }) => `- ${inline(reason)}: ${ids.map(code).join(', ')}`)
  return folded(`Not testable here (${groups.reduce((sum, { ids }) => sum + ids.length, 0)} requirements)`, lines)
}

function observations(run: ToldRun): string {
  if (run.observations.length === 0) return ''
  const rows = run.observations.map(({ question, text, answers }) => {
    const lines = answers.map(({ answer, asked }) => inline(asked === '' ? answer : `${answer}: ${asked}`))
    return [code(question), inline(text), lines.join('<br>')]
  })
  const table = markdownTable(['open question', '', 'this server'], ['---', '---', '---'], rows)
  return folded(`Open questions observed, never judged (${rows.length})`, table)
}

/** Parts under a heading; empty without any. */
function section(title: string, parts: readonly string[]): string {
  return parts.length === 0 ? '' : [`### ${title}`, '', ...parts].join('\n')
}

const bulletList = (title: string, items: readonly string[]): string =>
  section(
    title,
    items.map((item) => `- ${item}`),
  )

const bulletsOf = (items: readonly string[]): string => items.map((item) => `- ${item}`).join('\n')

/** A job summary takes 1 MiB in all, and other steps want some of it. */
const largestBytes = 400_000

/**
 * Puts a report together from its parts, with an empty line between two of them, in at most 400,000 bytes.
 *
 * @param between the parts; the last ones are left out if there is no room
 */
function fitted(before: readonly string[], between: readonly string[], after: readonly string[]): string {
  let room = largestBytes - Buffer.byteLength([...before, ...after].join('\n\n'))
  const tooLong = between.findIndex((text) => {
    room -= Buffer.byteLength(text) + 2
    return room < 0
  })
  const shown =
    tooLong < 0
      ? between
      : [...between.slice(0, tooLong), `_and ${between.length - tooLong} more, left out for length_`]
  return `${[...before, ...shown, ...after].filter((part) => part !== '').join('\n\n')}\n`
}

/** Lines that a reader unfolds. */
function folded(title: string, lines: readonly string[]): string {
  return [`<details><summary>${escapeMarkup(title)}</summary>`, '', ...lines, '', '</details>'].join('\n')
}

/** A block of code. The fence is longer than any run of backticks within. */
function fenced(lines: readonly string[]): string[] {
  const fence = '`'.repeat(Math.max(2, longestTicks(lines.join('\n'))) + 1)
  return [fence, ...lines, fence]
}

/** Code within a line. */
function code(text: string): string {
  const fence = '`'.repeat(longestTicks(text) + 1)
  const room = fence.length > 1 ? ' ' : ''
  return `${fence}${room}${text.replaceAll('|', '\\|')}${room}${fence}`
}

const longestTicks = (text: string): number => Math.max(0, ...(text.match(/`+/g) ?? []).map(({ length }) => length))

/** Text within a line, or within a cell of a table. */
function inline(text: string): string {
  return escapeMarkup(text)
    .replace(/[\\`*_{}[\]()#+!|~]/g, (sign) => `\\${sign}`)
    .replaceAll('\n', ' ')
}
