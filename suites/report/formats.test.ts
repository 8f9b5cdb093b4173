/** What holds of every format: its shape, its escaping and its size. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Ajv } from 'ajv'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { XMLParser, XMLValidator } from 'fast-xml-parser'
import { describe, expect, test } from 'vitest'
import { parseRequirements } from '../engine/language/corpus.ts'
import { packageRoot } from '../engine/language/package-root.ts'
import { problemWith, readSchema } from '../engine/language/schemas.ts'
import { junitProblems } from '../self/junit-rules.ts'
import { hostile, madeUpCase, madeUpFinding, madeUpReport, madeUpRun, problemOf } from '../self/made-up-report.ts'
import { runRenderers } from './formats.ts'
import { pageOfRun, renderHtml } from './html.ts'
import type { CaseReport, Report } from './report.ts'
import { renderPlan } from './tell.ts'

const report = madeUpReport()
const { text, json, junit, ctrf, markdown, badge } = runRenderers()
const renderers: { [format: string]: (report: Report) => string } = {
  text: (one) => text(one, { colour: false, columns: 100 }),
  ...{ json, junit, ctrf, markdown },
  html: renderHtml,
}
const forPeople = ['text', 'markdown', 'html', 'junit'] as const

describe('json', () => {
  test('fits its schema, which knows every member of it', () => {
    const value = JSON.parse(json(report))
    expect(problemWith(value, 'report')).toBeUndefined()
    const closed = JSON.stringify(readSchema('report'), (_name, part) =>
      part?.properties === undefined ? part : { additionalProperties: false, ...part },
    )
    const validate = new Ajv2020({ strict: false, allErrors: true }).compile(JSON.parse(closed))
    validate(value)
    expect(validate.errors).toBeNull()
    expect(validate({ ...value, cases: [{ ...value.cases[0], more: 1 }] })).toBe(false)
  })

  test('the schema refuses what is not a report', () => {
    expect(problemWith({ ...report, verdict: 'fine' }, 'report')?.path).toEqual(['verdict'])
  })
})

describe('JUnit and CTRF', () => {
  const xml = junit(report)
  const isArray = (name: string): boolean => name === 'testsuite' || name === 'testcase'
  const parser = new XMLParser({ ignoreAttributes: false, attributeNamePrefix: '', isArray })
  const { testsuites } = parser.parse(xml)
  const cases: { [part: string]: string }[] = testsuites.testsuite.flatMap(
    (suite: { testcase: object[] }) => suite.testcase,
  )
  const document = JSON.parse(ctrf(report))
  const tests: { testId: string; name: string; status: string }[] = document.results.tests

  test.each([
    ['signatures/hmac-accepted/all-in-one-line', ['failure'], 'failed'],
    ['tokens/one', ['error'], 'other'],
    ['keys/known', ['skipped', 'system-out'], 'skipped'],
    ['addresses/bound', ['skipped'], 'skipped'],
    ['keys/warned', ['system-out'], 'passed'],
    ['signatures/accepted', [], 'passed'],
    ['found/tokens/authorize/pair-is-current', ['failure'], 'failed'],
    ['baseline: signatures/accepted', ['failure'], 'failed'],
  ])('%s has the parts %j, and is %s', (id, parts, status) => {
    const found = tests.find(({ testId }) => testId === id)
    expect(found?.status).toBe(status)
    const testCase = cases.find(({ name }) => name === found?.name)
    expect(['failure', 'error', 'skipped', 'system-out'].filter((part) => testCase?.[part] !== undefined)).toEqual(
      parts,
    )
  })

  test('JUnit is well-formed, valid by the schema of build servers, and gives reasons', () => {
    expect(XMLValidator.validate(xml)).toBe(true)
    expect(junitProblems(xml)).toEqual([])
    expect(junitProblems(xml.replace(' errors=', ' mistakes='))).toContain('testsuites may not have mistakes')
    expect(xml).toContain('Not testable here: Needs a second address')
    expect(xml).toContain('Known failure: Ids come from a counter')
  })

  test('the counts of JUnit are those of its cases', () => {
    const count = (part: string) => cases.filter((one) => one[part] !== undefined).length
    const skipped = testsuites.testsuite.map((one: { skipped: string }) => Number(one.skipped))
    expect([testsuites.tests, testsuites.failures, testsuites.errors].map(Number)).toEqual([
      report.cases.length + report.findings.length + report.stale.length,
      count('failure'),
      count('error'),
    ])
    expect(skipped.reduce((sum: number, one: number) => sum + one, 0)).toBe(count('skipped'))
  })

  test('the whole of JUnit took the time of the run, in which cases run at once, and a suite that of its cases', () => {
    const durationOf = (part: { [attribute: string]: string }): number => Number(part.time)
    expect(durationOf(testsuites)).toBe(report.meta.durationMs / 1000)
    const sum = cases.reduce((all, one) => all + durationOf(one), 0)
    expect(testsuites.testsuite.reduce((all: number, one: never) => all + durationOf(one), 0)).toBeCloseTo(sum)
  })

  test('CTRF is valid by the published schema, and counts its tests', () => {
    const published = readFileSync(join(packageRoot, 'suites', 'self', 'published', 'ctrf-schema-0.0.json'), 'utf8')
    const dateTime = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/
    const ajv = new Ajv({ allErrors: true, formats: { uuid: true, uri: true, 'date-time': dateTime } })
    const validate = ajv.compile(JSON.parse(published))
    validate(document)
    expect(validate.errors).toBeNull()
    expect(validate({ ...document, results: { ...document.results, tests: [{ name: 'a' }] } })).toBe(false)
    const { tests: all, passed, failed, skipped, pending, other } = document.results.summary
    expect([all, passed + failed + skipped + pending + other]).toEqual([cases.length, cases.length])
  })

  test('a failure of CTRF names its file, its line and its requirements', () => {
    expect(tests.find(({ testId }) => testId.startsWith('signatures/hmac-accepted'))).toMatchObject({
      filePath: 'fixtures/scenarios/signatures/hmac-accepted.yaml',
      line: 9,
      labels: { requirements: ['signatures/hmac'] },
      suite: ['signatures', 'hmac-accepted'],
    })
  })
})

const fresh = [{ ...madeUpFinding, known: null }]
const listed = [{ ...madeUpFinding, known: { reason: 'see issue 7', issue: null } }]
test.each([
  ['conforms', 0, 0, 0, [], 'conforms', 'brightgreen'],
  ['conforms', 1, 0, 0, [], 'conforms, but not strictly', 'yellow'],
  ['inconclusive', 0, 0, 0, [], 'inconclusive', 'yellow'],
  ['inconclusive', 1, 0, 0, [], 'inconclusive', 'orange'],
  ['does-not-conform', 1, 3, 1, [], 'does not conform: 3 failed', 'red'],
  ['does-not-conform', 0, 0, 2, [], 'does not conform: 2 known', 'orange'],
  ['does-not-conform', 1, 0, 0, fresh, 'does not conform: 1 failed', 'red'],
  ['does-not-conform', 0, 0, 0, listed, 'does not conform: 1 known', 'orange'],
] as const)(
  'the badge for %s, exit code %i, %i failed, %i known',
  (verdict, exitCode, failed, known, findings, message, color) => {
    const counted = { ...report, verdict, exitCode, summary: { ...report.summary, failed, known } }
    const made = JSON.parse(badge({ ...counted, findings: [...findings] }))
    expect(made).toEqual({ schemaVersion: 1, label: 'svc-conformance', message, color })
  },
)

describe('markdown', () => {
  const page = markdown(report)

  test('describes failures, and lets no answer become markup', () => {
    expect(page).toContain('## ✗ http://127.0.0.1:9111: does not conform')
    expect(page).toContain('<code>signatures/hmac-accepted/all-in-one-line</code>')
    expect(page).toContain('> POST /api')
    expect(page).not.toContain('<script>')
  })

  test('fits a job summary however many fail', () => {
    const outcomes = Array.from({ length: 1100 }, (_, index) => {
      const [key, reason] = [`a/${index}`, `${'abcdefghij'.repeat(40)} ${index}`]
      const problem = problemOf({ kind: 'as-declared', reason }, { requirements: [key] })
      return madeUpCase({ key, verdict: 'failed', proves: [key], problem })
    })
    const much = markdown(madeUpRun(outcomes))
    expect(Buffer.byteLength(much)).toBeLessThan(450_000)
    expect(much).toMatch(/_and \d+ more, left out for length_/)
  })
})

describe('html', () => {
  const page = renderHtml(report)

  test('lets no answer become mark-up, and names no other place', () => {
    expect(page.match(/<script/g)).toHaveLength(1)
    expect(page).not.toContain(hostile.slice(0, 20))
    expect(page).not.toMatch(/(?:src|href)="(?!#)/)
    expect(page).not.toContain('style="')
  })

  test('shows every case and every requirement, and folds cases that are not testable for one reason', () => {
    const open = report.cases.find(({ key }) => key === 'addresses/bound') as CaseReport
    const cases = [...report.cases, { ...open, key: 'addresses/other' }]
    const folded = renderHtml({ ...report, cases })
    expect(folded.match(/<details class="case /g)).toHaveLength(cases.length)
    expect(folded.match(/data-requirement="/g)).toHaveLength(report.requirements.length)
    expect(folded).toContain('<summary>2 cases not testable: Needs a second address')
  })

  test('a finding leads to the case that shows the same', () => {
    const findings = report.findings.map((finding) => ({ ...finding, requirement: 'signatures/hmac' }))
    const found = renderHtml({ ...report, findings }).split('class="finding')[1] ?? ''
    const link = '<a href="#case/signatures/hmac-accepted/all-in-one-line">'
    expect(found.slice(0, found.indexOf('</dl>'))).toContain(link)
  })

  test('every requirement has a sentence in the document, without marks, that ends where the next one begins', () => {
    const read = (file: string) => readFileSync(join(packageRoot, file), 'utf8')
    const [first] = report.requirements
    if (first === undefined) throw new Error('no requirement')
    const all = parseRequirements(read('spec/requirements.yaml'), 'requirements').map(({ id }) => ({ ...first, id }))
    const quoting = (requirements: Report['requirements']): string =>
      renderHtml({ ...report, requirements }, new Map([['spec/interface.md', read('spec/interface.md')]]))
    expect(quoting(all).match(/<q>/g)).toHaveLength(all.length)
    expect(quoting(all)).toContain('<q>Must: the id of the request</q>')
    expect(quoting(all)).toContain('<q>Must. Keys have no time-to-live.</q>')
    expect(quoting([{ ...first, id: 'no/such' }])).not.toContain('<q>')
  })

  test('it embeds files of the package only', () => {
    const [first] = report.cases
    const where = (id: string, file: string): CaseReport => {
      const problem = { ...problemOf({ kind: 'clock-jumped' }), message: '', where: `${file}:1:1` }
      return { ...(first as CaseReport), id, problem: problem as CaseReport['problem'] }
    }
    const right = (id: string): CaseReport => ({ ...where(id, ''), problem: null })
    const cases = [
      where('a/b', join(packageRoot, 'package.json')),
      where('tokens/a', 'fixtures/scenarios/basic/accepted.yaml'),
      ...['basic/secret-of-another', 'test-keys/bob', '../../../package', 'no/such'].map(right),
    ]
    const embedded = [...pageOfRun({ ...report, cases }).matchAll(/<details class="source" id="file\/([^"]+)"/g)]
    expect(embedded.map(([, file]) => file)).toEqual([
      'fixtures/scenarios/basic/accepted.yaml',
      'fixtures/scenarios/basic/secret-of-another.yaml',
      'fixtures/test-keys.yaml',
    ])
  })
})

test.each(['markdown', 'html'] as const)('%s has no empty box for a finding without exchanges', (format) => {
  const empty = report.findings.map((finding) => ({ ...finding, exchanges: [], history: [], fixture: null }))
  expect(renderers[format]?.({ ...report, findings: empty })).not.toMatch(/<pre[^>]*><\/pre>|```\n```/)
})

test('HTML lists what is not testable, with the reasons', () => {
  const page = renderHtml(report)
  expect(page).toMatch(/<h2>Musts that are not testable here<\/h2>\n<ul><li>Needs a second address: [^<]*<br>/)
  expect(page).toMatch(/<h2>Musts that can never be tested<\/h2>\n<ul><li>No method would change a key<br>/)
})

test('text, Markdown and HTML say how many calls the model made, and for what it had too few calls or too little time', () => {
  const parts = [{ case: 'table/basic/basic-secret', asked: 3, all: 9 }]
  const explored = { calls: 14_040, repeated: 0, changes: { asked: 3, all: 9 }, pairs: { covered: 1, all: 8 }, parts }
  const rendered = (skipped: string[], unproved: string[] = []): string[] => {
    const whole = { ...report, explored: { ...explored, skipped, unproved } }
    expect(problemWith(JSON.parse(json(whole)), 'report')).toBeUndefined()
    const texts = ['text', 'markdown', 'html'].map((format) => renderers[format]?.(whole) ?? '')
    return texts.map((text) => text.replaceAll(/\s+/g, ' '))
  }
  const sentence = 'Too few calls or too little time for: '
  for (const text of rendered(['a', 'b', 'c', 'd', 'e', 'f', 'g']))
    expect(text).toContain(`${sentence}a, b, c, d, e and 2 more`)
  for (const text of rendered([], ['anything at all']))
    expect(text).toContain('Not shown by the model: anything at all')
  for (const text of rendered([])) {
    expect(text).not.toContain(sentence)
    // What was found is told with its requirement, not with the row that found it.
    expect(text).not.toContain('table/token/token: 1 finding')
    expect(text).toContain(
      'The model made 14,040 calls. It changed 1 of 1 parts of a call in 3 of 9 ways, and tried 1 of 8 combinations',
    )
  }
})

test.each(forPeople)('%s says what came between a right answer and the wrong one', (format) => {
  const rendered = renderers[format]?.(report)
  expect(rendered).toContain('The same call was refused before. What came between:')
  expect(rendered).toContain('2 other calls with root')
})

test('however long the answers are, every format of a report stays below 5 MB, and cut evidence shows its original length', () => {
  const line = '\u001b'.repeat(4096)
  const facts = { kind: 'wrong-outcome', expected: 'accepted', got: { outcome: 'refused', status: 200 } } as const
  const exchanges = [{ request: ['POST /api', line], answer: ['HTTP 200', line, line] }]
  const problem = problemOf(facts, { requirements: ['a/one'], exchanges })
  const outcomes = Array.from({ length: 800 }, (_, index) =>
    madeUpCase({ key: `a/${index}`, verdict: 'failed', proves: ['a/one'], problem }),
  )
  const long = madeUpRun(outcomes)
  for (const [format, render] of Object.entries(renderers)) expect(render(long).length, format).toBeLessThan(5_000_000)
  expect(long.cases[0]?.problem?.exchanges[0]?.answer[1]).toContain('… (4096 characters)')
})

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

/** The members of a report whose text a server, or a file of its user, can choose. */
const foreign = new Set([
  ...['target', 'stopped', 'conclusion', 'reason', 'title', 'issue', 'step', 'message', 'request', 'answer', 'left'],
  ...['steps', 'from', 'calls', 'fixture', 'call', 'connection', 'cases', 'asked'],
])

/** The report with the attack in every one of them. */
const attacked = (): Report =>
  JSON.parse(JSON.stringify(report), (name, value) => {
    if (!foreign.has(name)) return value
    if (value === null || typeof value === 'string') return attack
    return Array.isArray(value) && value.every((one) => typeof one === 'string') ? attacks : value
  })

describe.each(Object.keys(renderers))('what a server sends reaches %s as plain text only', (format) => {
  const text = renderers[format]?.(attacked()) ?? ''
  const outputLines = text.split('\n')

  test('it has no control or format character but its own line ends', () => {
    expect(text.match(/[^\n\P{C}]|[\p{Zl}\p{Zp}]/u)).toBeNull()
  })

  test('it has no line that a build log obeys, and one verdict at most', () => {
    expect(outputLines.filter((line) => /##(vso\[|teamcity\[|\[)/i.test(line))).toEqual([])
    expect(outputLines.filter((line) => /^\s*::[a-z]/i.test(line))).toEqual([])
    if (format !== 'json') expect(text.match(/Verdict:/g)?.length ?? 0).toBeLessThanOrEqual(1)
  })
})

test('a plan makes foreign text printable, as a report does', () => {
  const counts = { cases: 1, total: 10, notSelected: 0, calls: 1, refusals: 0, perhapsRefused: 0 }
  const plan = { ...counts, seconds: 3, creates: [attack] }
  const cannot = [{ reason: attack, cases: 1, requirements: [attack] }]
  const text = renderPlan({ ...plan, cannot }, { ids: true, columns: 40 })
  expect(text.match(/[^\n\P{C}]|##vso\[|^\s*::[a-z]/mu)).toBeNull()
})

test('JSON holds the exact text', () => {
  expect(JSON.parse(json(attacked())).left).toEqual(attacks)
})
