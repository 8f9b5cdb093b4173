import { type Printable, printed, vouchedFor } from '../../engine/printable.ts'
import type { CheckReport, ClientReport } from './model.ts'
import { exchangeLines, headingOf, summaryOf, wrongChecks } from './text.ts'

/** A job summary takes 1 MiB in all, and other steps want some of it. */
const largestBytes = 400_000

/** The report for a job summary or a pull request, with details of what is wrong. */
export function renderMarkdown(raw: ClientReport): Printable {
  const report = printed(raw)
  const sign = report.exitCode !== 0 ? '❌' : report.summary.warned > 0 ? '⚠️' : '✅'
  const before = [
    `## ${sign} ${inline(report.meta.command ?? 'Clients')}: ${report.verdict.replaceAll('-', ' ')}`,
    `${inline(headingOf(report))}. ${inline(summaryOf(report.summary))}`,
    report.conclusion.map((line) => `- ${inline(line)}`).join('\n'),
  ]
  const after = [
    report.stale.map(({ check }) => `- Stale baseline entry: ${code(check)} passes now`).join('\n'),
    folded('Every check', [
      '| check | level | verdict |',
      '|---|---|---|',
      ...report.checks.map(
        ({ id, level, verdict, known }) => `| ${code(id)} | ${level} | ${known === null ? verdict : 'known'} |`,
      ),
    ]),
  ]
  let room = largestBytes - Buffer.byteLength([...before, ...after].join('\n\n'))
  const told: string[] = []
  for (const check of wrongChecks(report)) {
    const text = wrongCheck(check)
    room -= Buffer.byteLength(text) + 2
    if (room < 0) break
    told.push(text)
  }
  return vouchedFor(`${[...before, ...told, ...after].filter((part) => part !== '').join('\n\n')}\n`)
}

function wrongCheck({
  id,
  title,
  verdict,
  known,
  level,
  sentence,
  source,
  message,
  scenarios,
  evidence,
  again,
}: CheckReport): string {
  const sign = known !== null ? '🟡' : verdict === 'failed' ? '❌' : '⚠️'
  return [
    `<details><summary>${sign} <code>${html(id)}</code> ${html(title)}</summary>`,
    '',
    `**${level}** ${inline(sentence)} (${inline(source)})<br>`,
    `**But** ${inline(message)}<br>`,
    ...(known === null ? [] : [`**Known** ${inline(known.reason)}<br>`]),
    `**In** ${scenarios.map(code).join(', ')}`,
    ...evidence
      .slice(0, 1)
      .flatMap(({ diagnosis, exchanges }) => ['', ...fenced([...diagnosis, ...exchanges.flatMap(exchangeLines)])]),
    '',
    ...fenced([again]),
    '',
    '</details>',
  ].join('\n')
}

function folded(title: string, lines: readonly string[]): string {
  return [`<details><summary>${html(title)}</summary>`, '', ...lines, '', '</details>'].join('\n')
}

/** The fence is longer than any run of backticks within. */
function fenced(lines: readonly string[]): string[] {
  const fence = '`'.repeat(Math.max(2, longestTicks(lines.join('\n'))) + 1)
  return [fence, ...lines, fence]
}

function code(text: string): string {
  const fence = '`'.repeat(longestTicks(text) + 1)
  const room = fence.length > 1 ? ' ' : ''
  return `${fence}${room}${text.replaceAll('|', '\\|')}${room}${fence}`
}

const longestTicks = (text: string): number => Math.max(0, ...(text.match(/`+/g) ?? []).map(({ length }) => length))

/** Escapes text from a client, so that it cannot become markup. */
function inline(text: string): string {
  return html(text)
    .replace(/[\\`*_{}[\]()#+!|~]/g, (sign) => `\\${sign}`)
    .replaceAll('\n', ' ')
}

function html(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
}
