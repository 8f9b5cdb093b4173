import { describe, expect, test } from 'vitest'
import { problemWith } from '../engine/language/schemas.ts'
import { junitProblems } from '../self/junit-rules.ts'
import { call, grant, journal, key, refused, signed, start } from '../self/made-up-journal.ts'
import { madeUpMeta } from '../self/made-up-report.ts'
import { shipped } from '../self/sources.ts'
import type { Journal } from './journal.ts'
import { checks, judgeJournals } from './judge.ts'
import { buildReport, clientRenderers, parseClientKnown } from './report.ts'

type ClientReport = ReturnType<typeof buildReport>
type Input = Parameters<typeof buildReport>[0]
type Given = Partial<
  Pick<Input, 'known' | 'strict'> & Pick<Input['meta'], 'stopped'> & Pick<Input['selected'], 'isReported'>
>

const { version, started, durationMs, node } = madeUpMeta
const again = 'npx svc-conformance client --command ./adapter'
const meta = { version, started, durationMs, node, command: './adapter', auth: ['token'], again, skipped: [] }

function reportOf(journals: Journal[], { stopped = null, isReported = () => true, ...given }: Given = {}) {
  const selected = { scenarios: [], isReported, madeFor: () => [] }
  const results = judgeJournals(journals, [])
  return buildReport({ meta: { ...meta, stopped }, journals, results, selected, known: [], strict: false, ...given })
}

const right = journal([grant(0, 'a'), call(9, 'a')])
const warned = journal([grant(0, 'a', { scope: ['solution', 'store'] })])
const failed = journal([{ at: 0, target: '/apis' }])
const { text, html, junit, markdown } = clientRenderers
const formats = [(report: ClientReport) => text(report, { colour: false }), html, junit, markdown]

describe('the verdict', () => {
  test.each([
    ['conforms', 0, right, {}],
    ['conforms', 0, warned, {}],
    ['conforms', 1, warned, { strict: true }],
    ['does-not-conform', 1, failed, {}],
    ['inconclusive', 1, journal([]), {}],
    // One call without authorization, and "error" for all others.
    ['inconclusive', 1, journal([{ at: 0, ...refused }], {}, { starts: [start({ error: 8 })] }), {}],
    ['does-not-conform', 1, journal([{ at: 0, ...refused, target: '/apis' }]), {}],
    ['inconclusive', 130, right, { stopped: 'it was interrupted' }],
    ['conforms', 0, right, { isReported: (id: string) => id === 'scopes/least' }],
  ] as const)('%s with exit code %i', (verdict, exitCode, made, given) => {
    const report = reportOf([made], given)
    expect([report.verdict, report.exitCode]).toEqual([verdict, exitCode])
    expect(problemWith(report, 'client-report')).toBeUndefined()
  })

  test('is inconclusive if no selected check was exercised', () => {
    const report = reportOf([right], { isReported: (id) => id.startsWith('signature/') })
    const said = 'No check was exercised, so nothing is known about this client'
    expect([report.verdict, report.exitCode, report.conclusion[0]]).toEqual(['inconclusive', 1, said])
  })

  test('is inconclusive if no check of the document passed', () => {
    const report = reportOf([journal([{ at: 0, httpMethod: 'OPTIONS', body: '' }])])
    expect([report.verdict, report.summary.notExercised]).toEqual(['inconclusive', checks.length])
  })
})

describe('a baseline', () => {
  const entry = { check: 'request/post-json', reason: 'a proxy adds it', issue: null, sometimes: false }

  test('makes a failure known, and is stale when it passes', () => {
    const known = reportOf([failed], { known: [entry] })
    expect([known.verdict, known.exitCode, known.summary.known]).toEqual(['does-not-conform', 0, 1])
    const stale = reportOf([right], { known: [entry] })
    expect([stale.verdict, stale.exitCode, stale.summary.stale]).toEqual(['conforms', 1, 1])
    expect(reportOf([right], { known: [{ ...entry, sometimes: true }] }).exitCode).toBe(0)
  })

  test('may name one scenario', () => {
    expect(reportOf([failed], { known: [{ ...entry, scenario: 'made-up/token' }] }).exitCode).toBe(0)
    expect(reportOf([failed], { known: [{ ...entry, scenario: 'plain/token' }] }).exitCode).toBe(1)
  })

  test('is read with its reasons, and the error for a misspelt check names its place', () => {
    expect(parseClientKnown('- check: request/envelope\n  reason: r\n', 'k.yaml')).toEqual([
      { check: 'request/envelope', reason: 'r', issue: null, sometimes: false },
    ])
    expect(parseClientKnown('# nothing\n', 'k.yaml')).toEqual([])
    expect(() => parseClientKnown('- check: request/envelop\n  reason: r\n', 'k.yaml')).toThrow(
      'did you mean "request/envelope"?',
    )
    expect(() => parseClientKnown('- check: request/envelope\n', 'k.yaml')).toThrow('k.yaml')
  })
})

describe('every format', () => {
  const hostile = '\u001b[2J</script>]]><b>*`|\u0000\u202e'
  const starts = [start({ ended: { kind: 'exit', code: 1 }, stderr: `${hostile} ${key.secret}` })]
  const made = journal(
    [
      grant(0, 'a', { target: `/api?${key.secret}` }),
      call(9, 'a', { contentType: hostile, ...refused }),
      { at: 20, body: `{"${hostile}": 1}` },
      signed(30, hostile, { header: (header) => header.slice(0, -9) }),
    ],
    {},
    { starts },
  )

  test('names what failed, and escapes text of others', () => {
    const report = reportOf([made])
    for (const text of formats.map((render) => render(report))) {
      expect(text).toMatch(/request.post-json/)
      // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what must not get through
      expect(text).not.toMatch(/[\u0000-\u0008\u001b\u202e]/)
    }
    expect(html(report)).not.toContain('</script>')
    // The classes that the style of the page knows.
    expect(html(report)).toMatch(/<details class="case failed" id="check\/[^"]+" open>/)
    expect(html(report)).not.toContain('<b>*')
    expect(junit(report)).not.toContain(']]><b>')
    expect(junitProblems(junit(report))).toEqual([])
    expect(markdown(report).replaceAll(/```[\s\S]*?```/g, '')).not.toContain('<b>')
  })

  test('shows no secret', () => {
    const report = reportOf([made])
    for (const text of [JSON.stringify(report), ...formats.map((render) => render(report))])
      for (const secret of [key.secret, 'access-token-a', 'refresh-token-a']) expect(text).not.toContain(secret)
  })

  test('shows the output of a client that ended badly', () => {
    const said = 'the client ended with exit code 1; its stderr ends with:'
    expect(text(reportOf([made]), { colour: false })).toContain(said)
  })
})

test('the page names every check', () => {
  const page = shipped('docs/clients.md')
  expect(checks.filter(({ id }) => !page.includes(`\`${id}\``))).toEqual([])
})
