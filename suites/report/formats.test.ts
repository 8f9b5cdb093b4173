import { XMLParser, XMLValidator } from 'fast-xml-parser'
import { describe, expect, test } from 'vitest'
import { problemWith, readSchema } from '../engine/fixture/schemas.ts'
import { hostile, madeUpReport } from '../self/made-up-report.ts'
import { renderHtml } from './html.ts'
import { renderJson } from './json.ts'
import { renderJunit } from './junit.ts'
import { renderMarkdown } from './markdown.ts'
import type { CaseReport } from './model.ts'
import { renderPlan, renderText } from './text.ts'

const report = madeUpReport()

describe('text', () => {
  const text = renderText(report, { colour: false })

  test('a failure says sentence, step, what was seen, hint, bytes and how to repeat it', () => {
    expect(text).toContain(`✗ signatures/hmac-accepted/all-in-one-line
  A request signed with HMAC is accepted

  MUST  signatures/hmac: The signature is BASE64 of the first 20 bytes of HMAC-SHA256(secret, dataToSign)
        spec/interface.md#signatures-hmac

  At    solution/listSolutions (fixtures/scenarios/signatures/hmac-accepted.yaml:9:5)
  But   expected the call to be accepted, it was refused
  Hint  The server accepts this call when all 32 bytes of the MAC are sent. Send the first 20 bytes of the 32
        of the MAC, no more and no less

  > POST /api
  > authorization: svc-hmac-sha256 b047…;1;1795154904754;tCLqKvRgaK/NpT0f;tS4e…
  > {"jsonrpc":"2.0","id":2,"method":"solution/listSolutions","params":{}}
  < HTTP 200
  < {"jsonrpc":"2.0","id":2,"error":{"code":24879,"message":"Unauthorized"}}

  Again   npx svc-conformance run --url http://127.0.0.1:9111 --only signatures/hmac-accepted/all-in-one-line --trace
`)
  })

  test('failures of one cause are told once, with the keys of the others', () => {
    const testCase = report.cases.find((one) => one.problem?.hint !== undefined) as (typeof report.cases)[number]
    const twice = renderText(
      { ...report, cases: [testCase, { ...testCase, key: 'signatures/other' }] },
      { colour: false },
    )
    expect(twice).toContain('  Also    one more case fails like this:\n          signatures/other\n')
    expect(twice.match(/> POST/g)).toHaveLength(1)
  })

  test('cases that are blocked by one cause are told once', () => {
    expect(text.match(/The control was refused/g)).toHaveLength(1)
    expect(text).toContain(
      '  Also    2 more cases are blocked by the same:\n          tokens/three\n          tokens/two\n',
    )
  })

  test('a case that proves no sentence leaves no gap where the sentences stand', () => {
    const testCase = report.cases.find(({ verdict }) => verdict === 'blocked') as CaseReport
    const problem = {
      kind: 'clock-jumped' as const,
      message: 'the clock jumped',
      requirements: [],
      step: '',
      exchanges: [],
    }
    const cases = [{ ...testCase, key: 'sessions/age', title: 'Observed', proves: [], problem, blockedBy: null }]
    expect(renderText({ ...report, cases }, { colour: false })).toContain(
      '■ sessions/age\n  Observed\n\n  But   the clock jumped\n',
    )
  })

  test('cases that were not run are counted, not explained one by one', () => {
    const testCase = report.cases.find(({ verdict }) => verdict === 'blocked') as CaseReport
    const problem = {
      kind: 'not-run' as const,
      because: { kind: 'interrupted' as const, during: 'run' as const },
      message: 'not run: the run was interrupted',
      requirements: [],
      step: '',
      exchanges: [],
    }
    const cases = ['a/one', 'a/two'].map((key) => ({ ...testCase, key, problem, blockedBy: null }))
    expect(renderText({ ...report, cases }, { colour: false })).toContain(
      '■ 2 cases were not run: the run was interrupted\n          a/one\n          a/two\n\n',
    )
  })

  test('is as wide as the terminal, but never wider than a reader likes', () => {
    const longest = (columns: number) =>
      Math.max(
        ...renderText(report, { colour: false, columns })
          .split('\n')
          .filter((line) => /^ +(MUST|IMPLIED|But|Hint|-) /.test(line))
          .map((line) => line.length),
      )
    expect(longest(80)).toBeLessThanOrEqual(80)
    expect(longest(80)).toBeGreaterThan(60)
    expect(longest(300)).toBeLessThanOrEqual(110)
  })

  test('an observation says what was tried for each answer', () => {
    const answers = [
      { answer: 'accepted', cases: ['a/b/one', 'a/b/two'], asked: ['one', 'two'] },
      { answer: 'refused', cases: ['a/b/null'], asked: ['null'] },
      { answer: `accepted; result ${'x'.repeat(200)}`, cases: ['a/b/none'], asked: ['none'] },
    ]
    const observations = [{ question: 'a/b', answer: '', answers, text: '', reference: '' }]
    const said = renderText({ ...report, observations }, { colour: false })
    expect(said).toContain('  a/b  accepted: one; two\n       refused: null\n       accepted; result xxx')
    expect(said).toContain('xxx…: none\n')
    const alone = [{ answer: 'accepted', cases: ['a/some-key'], asked: ['some key'] }]
    const short = { question: 'a/b', answer: '', answers: alone, text: '', reference: '' }
    expect(renderText({ ...report, observations: [short] }, { colour: false })).toContain('  a/b  accepted\n')
    for (const text of [renderMarkdown({ ...report, observations }), renderHtml({ ...report, observations })])
      expect(text.replaceAll(/<[^>]+>/g, ' ')).toMatch(/accepted: +one; two +refused: +null/)
  })

  test('says what is known, stale, not testable, observed, left, and ends with the verdict and what would change it', () => {
    for (const part of [
      "Your server's clock is 5 min ahead",
      '! keys/warned',
      'IMPLIED  keys/public-key-material',
      '~ keys/known: Ids come from a counter (https://tracker.example/7)',
      '✗ signatures/accepted',
      'name one as secondAddress in the target file',
      'No method would change a key',
      'envelope/error-id  the id of the request',
      '2 API keys that the run could not remove',
      'Verdict: does not conform (exit code 1)',
    ])
      expect(text).toContain(part)
    expect(text.trimEnd().split('\n').at(-1)).toMatch(/1 × Needs a second address/)
  })

  test('what --only leaves out is one line, without ids', () => {
    const reason = 'Not selected by --only'
    const reasons = [{ kind: 'not-selected' as const, by: 'only' as const }]
    const requirements = report.requirements.map((one, index) => ({
      ...one,
      ...(index < 3 ? { verdict: 'not-testable' as const, reasons, reason, gap: index === 0 } : {}),
    }))
    const said = renderText({ ...report, requirements }, { colour: false })
    expect(said).toContain(`\n\n${reason}: 3 requirements\n\n`)
    expect(said.split(reason)).toHaveLength(2)
  })

  test('has no colour unless asked, and nothing a server sends may colour the terminal', () => {
    expect(text).not.toContain('\u001b')
    expect(renderText(report, { colour: true })).toContain('\u001b[31m✗ signatures')
    expect(renderText(report, { colour: true })).not.toContain('\u0000')
  })

  test('a plan says what will be created, and what cannot be asked by area', () => {
    const many = [...Array(9)].map((_, index) => `a/${index}`)
    const plan = {
      cases: 9,
      notSelected: 1,
      calls: 40,
      refusals: 12,
      creates: ['5 API keys', 'about 7 token pairs'],
      cannot: [
        { reason: 'it takes tokens; --allow sessions permits it', cases: 20, requirements: [...many, 'b/c'] },
        { reason: 'it creates keys; --allow keys permits it', cases: 2, requirements: ['a/b', 'a/c'] },
        { reason: 'it needs two solutions', cases: 1, requirements: [] },
      ],
    }
    expect(
      renderPlan(plan, { ids: false }),
    ).toBe(`Plan: 9 cases, about 40 calls, at least 12 of them meant to be refused
  The refusals may look like an attack in the log of the server
  1 case is not selected
Creates:
  - 5 API keys
  - about 7 token pairs
Cannot ask 23 cases:
  - it takes tokens; --allow sessions permits it
      20 cases: 10 requirements of a (9), b (1)
  - it creates keys; --allow keys permits it
      2 cases: a/b, a/c
  - it needs two solutions
      1 case: only observed
`)
    expect(renderPlan(plan, { ids: true })).toContain('20 cases: a/0, a/1')
    expect(renderPlan({ ...plan, cases: 1 }, { ids: true })).toMatch(/^Plan: 1 case, /)
  })
})

describe('json', () => {
  test('fits its schema, which knows every member of it', () => {
    const value = JSON.parse(renderJson(report))
    expect(problemWith(value, 'report')).toBeUndefined()
    expect(unknownMembers(value, readSchema('report') as Schema, '')).toEqual([])
  })

  test('the schema refuses what is not a report', () => {
    expect(problemWith({ ...report, verdict: 'fine' }, 'report')?.path).toEqual(['verdict'])
  })
})

describe('junit', () => {
  const parser = new XMLParser({
    ignoreAttributes: false,
    attributeNamePrefix: '',
    isArray: (name) => name === 'testsuite' || name === 'testcase',
  })
  const xml = renderJunit(report)
  const { testsuites } = parser.parse(xml)
  const cases = testsuites.testsuite.flatMap((suite: { testcase: object[] }) => suite.testcase)

  test('is well-formed, hostile answers included', () => {
    expect(XMLValidator.validate(xml)).toBe(true)
    // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what must not be there
    expect(xml).not.toMatch(/[\u0000-\u0008\u001b]/)
  })

  test('failed is a failure, blocked an error, known and not testable are skipped, warned passes with a note', () => {
    const kind = (name: string) => {
      const found = cases.find((one: { name: string }) => one.name.startsWith(name))
      return ['failure', 'error', 'skipped', 'system-out'].filter((part) => found[part] !== undefined)
    }
    expect(kind('A request signed with HMAC')).toEqual(['failure'])
    expect(kind('The claim of tokens/one')).toEqual(['error'])
    expect(kind('The claim of keys/known')).toEqual(['skipped', 'system-out'])
    expect(kind('The claim of addresses/bound')).toEqual(['skipped'])
    expect(kind('The claim of keys/warned')).toEqual(['system-out'])
    expect(kind('A request signed right')).toEqual([])
    expect(kind('signatures/accepted')).toEqual(['failure'])
  })

  test('its counts are those of its cases, and of the report', () => {
    const count = (part: string) => cases.filter((one: { [name: string]: unknown }) => one[part] !== undefined).length
    const { passed, failed, warned, blocked, known, notTestable, stale } = report.summary
    expect(Number(testsuites.failures)).toBe(count('failure'))
    expect(Number(testsuites.errors)).toBe(count('error'))
    expect(Number(testsuites.skipped)).toBe(count('skipped'))
    expect(Number(testsuites.tests)).toBe(cases.length)
    expect([failed + stale, blocked, known + notTestable]).toEqual([count('failure'), count('error'), count('skipped')])
    expect(cases).toHaveLength(passed + failed + warned + blocked + known + notTestable + stale)
  })

  test('reasons come with it', () => {
    expect(xml).toContain('Not testable here: Needs a second address')
    expect(xml).toContain('Known failure: Ids come from a counter')
  })
})

describe('markdown', () => {
  const text = renderMarkdown(report)

  test('tells failures, and lets no answer become mark-up', () => {
    expect(text).toContain('## ✗ http://127.0.0.1:9111: does not conform')
    expect(text).toContain('<code>signatures/hmac-accepted/all-in-one-line</code>')
    expect(text).toContain('> POST /api')
    expect(text).not.toContain('<script>')
  })

  test('fits a job summary however many fail', () => {
    const inLetters = (index: number): string => [...String(index)].map((digit) => 'abcdefghij'[Number(digit)]).join('')
    const asNumber = (testCase: CaseReport | undefined, index: number): CaseReport => {
      if (testCase?.problem == null) throw new Error('no failed case')
      const { requirements, step, exchanges } = testCase.problem
      const reason = `${inLetters(index)} failed`
      const facts = { kind: 'as-declared' as const, reason, message: reason }
      return { ...testCase, problem: { ...facts, requirements, step, exchanges } }
    }
    const [testCase] = report.cases.filter((one) => one.verdict === 'failed')
    const long = { ...report, cases: Array.from({ length: 2000 }, (_, index) => asNumber(testCase, index)) }
    const much = renderMarkdown(long)
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

  test('shows every case and every requirement', () => {
    expect(page.match(/<details class="case /g)).toHaveLength(report.cases.length)
    expect(page.match(/data-requirement="/g)).toHaveLength(report.requirements.length)
  })
})

interface Schema {
  $ref?: string
  $defs?: { [name: string]: Schema }
  properties?: { [name: string]: Schema }
  additionalProperties?: Schema
  items?: Schema
}

const root = readSchema('report') as Schema

/** Paths of members that the schema does not describe. */
function unknownMembers(value: unknown, schema: Schema, path: string): string[] {
  const resolved =
    schema.$ref === undefined ? schema : { ...root.$defs?.[schema.$ref.split('/').at(-1) ?? ''], ...schema }
  if (Array.isArray(value))
    return value.flatMap((item, index) => unknownMembers(item, resolved.items ?? {}, `${path}/${index}`))
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([name, member]) => {
    const inner = resolved.properties?.[name] ?? resolved.additionalProperties
    return inner === undefined ? [`${path}/${name}`] : unknownMembers(member, inner, `${path}/${name}`)
  })
}
