import { type Printable, printed, vouchedFor } from '../../engine/printable.ts'
import { code, fenced, fitted, folded, html, inline } from '../../report/markup.ts'
import { words } from '../../report/verdict-words.ts'
import type { CheckReport, ClientReport } from './client-report.ts'
import { exchangeLines, headingOf, summaryOf, wrongChecks } from './text.ts'

/** The report for a job summary or a pull request, with details of what is wrong. */
export function renderMarkdown(raw: ClientReport): Printable {
  const report = printed(raw)
  const sign = report.exitCode !== 0 ? '❌' : report.summary.warned > 0 ? '⚠️' : '✅'
  const before = [
    `## ${sign} ${inline(report.meta.command ?? 'Clients')}: ${words(report.verdict)}`,
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
  return vouchedFor(fitted(before, wrongChecks(report).map(wrongCheck), after))
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
