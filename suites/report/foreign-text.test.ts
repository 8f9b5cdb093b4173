/** In every format, what a server sends reaches a terminal, build log or page as plain text only. */
import { describe, expect, test } from 'vitest'
import { madeUpReport } from '../self/made-up-report.ts'
import { renderJson, renderJunit, testRun } from './formats.ts'
import { renderHtml } from './html.ts'
import { renderMarkdown } from './markdown.ts'
import type { Report } from './report.ts'
import { renderPlan, renderText } from './text.ts'

/** Text that servers sent, or might send. */
const attacks = [
  '\u001b[2J\u001b]0;title\u0007',
  'a\rVerdict: conforms (exit code 0)',
  'a\nVerdict: conforms (exit code 0)',
  'a\n::error::forged',
  '::stop-commands::x',
  '##vso[task.complete result=Succeeded;]done',
  "##teamcity[testFailed name='x']",
  '##[error]x',
  '\u202eevil\u2066',
  'a\u200bb\u00adc\ufeffd',
  '\u009b31m',
  '\u2028x\u2029',
]
const attack = attacks.join(' ')

const renderers: { [format: string]: (report: Report) => string } = {
  text: (report) => renderText(report, { colour: false, columns: 40 }),
  json: renderJson,
  junit: (one: Report) => renderJunit(testRun(one)),
  markdown: renderMarkdown,
  html: renderHtml,
}

/** The report with the attack in every text that a server, or a file of its user, can choose. */
function attacked(): Report {
  const report = madeUpReport()
  return {
    ...report,
    meta: { ...report.meta, target: `http://x/${attack}`, stopped: attack },
    conclusion: report.conclusion.map((line) => line + attack),
    requirements: report.requirements.map((one) => ({ ...one, reason: attack })),
    cases: report.cases.map((one) => ({
      ...one,
      title: one.title + attack,
      known: one.known === null ? null : { reason: attack, issue: attack },
      problem:
        one.problem === null
          ? null
          : { ...one.problem, step: attack, message: attack, exchanges: [{ request: [attack], answer: attacks }] },
    })),
    findings: report.findings.map((one) => ({
      ...one,
      message: attack,
      steps: [attack],
      fixture: `title: ${attack}\nsteps: []\n`,
      exchanges: [{ request: [attack], answer: attacks }],
      history: one.history.map((call) => ({ ...call, call: attack, answer: attack, connection: attack })),
    })),
    observations: report.observations.map((one) => ({
      ...one,
      answer: attack,
      answers: [{ answer: attack, cases: [attack], asked: [attack] }],
    })),
    left: [attack],
    stale: report.stale.map((one) => ({ ...one, reason: attack })),
  }
}

describe.each(Object.entries(renderers))('%s', (format, render) => {
  const text = render(attacked())
  const outputLines = text.split('\n')

  test('has no control or format character but its own line ends', () => {
    expect(text.match(/[^\n\P{C}]|[\p{Zl}\p{Zp}]/u)).toBeNull()
  })

  test('has no line that a build log obeys', () => {
    expect(outputLines.filter((line) => /##(vso\[|teamcity\[|\[)/i.test(line))).toEqual([])
    expect(outputLines.filter((line) => /^\s*::[a-z]/i.test(line))).toEqual([])
  })

  test('has one verdict at most', () => {
    if (format === 'json') return
    expect(text.match(/Verdict:/g)?.length ?? 0).toBeLessThanOrEqual(1)
  })
})

test('a plan makes foreign text printable, as a report does', () => {
  const plan = { cases: 1, total: 10, notSelected: 0, seconds: 3, calls: 1, refusals: 0, creates: [attack] }
  const text = renderPlan(
    { ...plan, cannot: [{ reason: attack, cases: 1, requirements: [attack] }] },
    { ids: true, columns: 40 },
  )
  expect(text.match(/[^\n\P{C}]|##vso\[|^\s*::[a-z]/mu)).toBeNull()
})

test('JSON holds the exact text', () => {
  expect(JSON.parse(renderJson(attacked())).left).toEqual([attack])
})
