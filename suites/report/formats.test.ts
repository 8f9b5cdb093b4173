import { XMLParser, XMLValidator } from 'fast-xml-parser'
import { describe, expect, test } from 'vitest'
import { problemWith, readSchema } from '../engine/language/schemas.ts'
import { junitProblems } from '../self/junit-rules.ts'
import { hostile, madeUpReport } from '../self/made-up-report.ts'
import { renderJson, renderJunit, testRun } from './formats.ts'
import { renderHtml } from './html.ts'
import { renderMarkdown } from './markdown.ts'
import type { CaseReport } from './report.ts'
import { renderText } from './text.ts'

const report = madeUpReport()

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
  const xml = renderJunit(testRun(report))
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
    expect(kind('The baseline entry is still needed: signatures/accepted')).toEqual(['failure'])
  })

  test('its counts are those of its cases, and of the report', () => {
    const count = (part: string) => cases.filter((one: { [name: string]: unknown }) => one[part] !== undefined).length
    const { passed, failed, warned, blocked, known, notTestable, stale } = report.summary
    expect(Number(testsuites.failures)).toBe(count('failure'))
    expect(Number(testsuites.errors)).toBe(count('error'))
    expect(testsuites.testsuite.reduce((sum: number, one: { skipped: string }) => sum + Number(one.skipped), 0)).toBe(
      count('skipped'),
    )
    expect(Number(testsuites.tests)).toBe(cases.length)
    const { length: found } = report.findings
    expect([failed + stale + found, blocked, known + notTestable]).toEqual([
      count('failure'),
      count('error'),
      count('skipped'),
    ])
    expect(cases).toHaveLength(passed + failed + warned + blocked + known + notTestable + stale + found)
  })

  test('is valid by the schema of build servers', () => {
    expect(junitProblems(xml)).toEqual([])
    expect(junitProblems(xml.replace(' errors=', ' mistakes='))).toContain('testsuites may not have mistakes')
    expect(junitProblems('<testsuites><testsuite name="a" tests="1"/></testsuites>')).toEqual([
      'testsuite needs failures',
      'testsuite needs errors',
    ])
  })

  test('reasons come with it', () => {
    expect(xml).toContain('Not testable here: Needs a second address')
    expect(xml).toContain('Known failure: Ids come from a counter')
  })
})

describe('markdown', () => {
  const text = renderMarkdown(report)

  test('describes failures, and lets no answer become markup', () => {
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

  test('folds cases that are not testable for one reason', () => {
    const open = report.cases.find(({ key }) => key === 'addresses/bound') as CaseReport
    const cases = [...report.cases, { ...open, key: 'addresses/other' }]
    const folded = renderHtml({ ...report, cases })
    expect(folded).toContain('<summary>2 cases not testable: Needs a second address')
    expect(folded.match(/<details class="case /g)).toHaveLength(cases.length)
  })

  test('a finding leads to the case that shows the same', () => {
    const requirement = 'signatures/hmac'
    const findings = report.findings.map((finding) => ({ ...finding, requirement }))
    const shown = '<a href="#case/signatures/hmac-accepted/all-in-one-line">'
    const found = renderHtml({ ...report, findings }).split('class="finding')[1] ?? ''
    expect(found.slice(0, found.indexOf('</dl>'))).toContain(shown)
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

test('text, Markdown and HTML say how many calls the model made, and for what it had too few calls or too little time', () => {
  const parts = [{ case: 'table/basic/basic-secret', asked: 3, all: 9 }]
  const explored = { calls: 14_040, repeated: 0, changes: { asked: 3, all: 9 }, pairs: { covered: 1, all: 8 }, parts }
  const rendered = (skipped: string[]): string[] => {
    const whole = { ...report, explored: { ...explored, skipped } }
    expect(problemWith(JSON.parse(renderJson(whole)), 'report')).toBeUndefined()
    return [renderText(whole, { colour: false, columns: 120 }), renderMarkdown(whole), renderHtml(whole)]
  }
  const sentence = 'Too few calls or too little time for: '
  for (const text of rendered(['races', 'ended keys'])) expect(text).toContain(`${sentence}races, ended keys`)
  for (const text of rendered(['a', 'b', 'c', 'd', 'e', 'f', 'g']))
    expect(text).toContain(`${sentence}a, b, c, d, e and 2 more`)
  for (const text of rendered([])) expect(text).not.toContain(sentence)
  for (const text of rendered([]))
    expect(text.replaceAll(/\s+/g, ' ')).toContain(
      'The model made 14,040 calls. It changed 1 of 1 parts of a call in 3 of 9 ways, and tried 1 of 8 combinations',
    )
})

test.each([
  ['text', renderText(report, { colour: false, columns: 100 })],
  ['JUnit', renderJunit(testRun(report))],
  ['Markdown', renderMarkdown(report)],
  ['HTML', renderHtml(report)],
])('%s says what came between a right answer and the wrong one', (_format, rendered) => {
  expect(rendered).toContain('The same call was refused before. What came between:')
  expect(rendered).toContain('2 other calls with root')
})
