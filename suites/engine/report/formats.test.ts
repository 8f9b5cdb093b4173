import { XMLParser, XMLValidator } from 'fast-xml-parser'
import { describe, expect, test } from 'vitest'
import { hostile, madeUpReport } from '../../self/made-up-report.ts'
import { problemWith, readSchema } from '../fixture/schemas.ts'
import { renderHtml } from './html.ts'
import { renderJson } from './json.ts'
import { renderJunit } from './junit.ts'
import { renderMarkdown } from './markdown.ts'
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
  Hint  The server accepts this call when all 32 bytes of the MAC are sent. Compare only the first 20.

  > POST /api
  > authorization: svc-hmac-sha256 b047…;1;1795154904754;tCLqKvRgaK/NpT0f;tS4e…
  > {"jsonrpc":"2.0","id":2,"method":"solution/listSolutions","params":{}}
  < HTTP 200
  < {"jsonrpc":"2.0","id":2,"error":{"code":24879,"message":"Unauthorized"}}

  Again   npx svc-conformance run --url http://127.0.0.1:9111 --only signatures/hmac-accepted/all-in-one-line --trace
`)
  })

  test('a hint that was given already is pointed at, without the same bytes', () => {
    const row = report.scenarios.find((one) => one.problem?.hint !== undefined) as (typeof report.scenarios)[number]
    const twice = renderText({ ...report, scenarios: [row, { ...row, key: 'signatures/other' }] }, { colour: false })
    expect(twice).toContain(`Hint  As for ${row.key}`)
    expect(twice.match(/> POST/g)).toHaveLength(1)
    expect(twice).toContain('--only signatures/hmac-accepted/all-in-one-line --trace')
  })

  test('rows that are blocked by one cause are told once', () => {
    expect(text.match(/The control was refused/g)).toHaveLength(1)
    expect(text).toContain('Also  blocked by the same: tokens/three, tokens/two')
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

  test('has no colour unless asked, and nothing a server sends may colour the terminal', () => {
    expect(text).not.toContain('\u001b')
    expect(renderText(report, { colour: true })).toContain('\u001b[31m✗ signatures')
    expect(renderText(report, { colour: true })).not.toContain('\u0000')
  })

  test('a plan says what will be created', () => {
    expect(
      renderPlan({
        rows: 9,
        notSelected: 1,
        calls: 40,
        refusals: 12,
        creates: ['5 API keys'],
        cannot: [{ reason: 'Needs keys: --allow keys', requirements: ['a/b', 'a/c'] }],
      }),
    ).toBe(`Plan: 9 rows, about 40 calls, 12 of them meant to be refused
  The refusals may look like an attack in the log of the server
  1 rows are not selected
Creates: 5 API keys
Cannot show:
  Needs keys: --allow keys: a/b, a/c
`)
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
    expect(text).toContain('## ❌ http://127.0.0.1:9111: does not conform')
    expect(text).toContain('<code>signatures/hmac-accepted/all-in-one-line</code>')
    expect(text).toContain('> POST /api')
    expect(text).not.toContain('<script>')
  })

  test('fits a job summary however many fail', () => {
    const [row] = report.scenarios.filter((one) => one.verdict === 'failed')
    const long = { ...report, scenarios: Array.from({ length: 2000 }, () => row as NonNullable<typeof row>) }
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

  test('shows every row and every requirement', () => {
    expect(page.match(/<details class="row /g)).toHaveLength(report.scenarios.length)
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
