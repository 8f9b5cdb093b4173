import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Ajv } from 'ajv'
import { expect, test } from 'vitest'
import { packageRoot } from '../engine/language/package-root.ts'
import { madeUpReport } from '../self/made-up-report.ts'
import { renderCtrf, testRun } from './formats.ts'

const published = JSON.parse(
  readFileSync(join(packageRoot, 'suites', 'self', 'published', 'ctrf-schema-0.0.json'), 'utf8'),
)
const ajv = new Ajv({
  allErrors: true,
  formats: { uuid: true, uri: true, 'date-time': /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/ },
})
const validate = ajv.compile(published)
const report = madeUpReport()
const document = JSON.parse(renderCtrf(testRun(report)))
const tests: { testId: string; status: string }[] = document.results.tests
const statusOf = (id: string) => tests.find(({ testId }) => testId === id)?.status

test('is valid by the published schema, hostile answers included', () => {
  validate(document)
  expect(validate.errors).toBeNull()
})

test('a document of another shape is not', () => {
  expect(validate({ ...document, results: { ...document.results, tests: [{ name: 'a' }] } })).toBe(false)
})

test('failed fails, blocked is other, known and not testable are skipped, a warning passes', () => {
  expect(statusOf('signatures/hmac-accepted/all-in-one-line')).toBe('failed')
  expect(statusOf('tokens/one')).toBe('other')
  expect(statusOf('keys/known')).toBe('skipped')
  expect(statusOf('addresses/bound')).toBe('skipped')
  expect(statusOf('keys/warned')).toBe('passed')
  expect(statusOf('found/tokens/authorize/pair-is-current')).toBe('failed')
  expect(statusOf('baseline: signatures/accepted')).toBe('failed')
})

test('its counts are those of its tests, and every case is there', () => {
  const { summary } = document.results
  expect(summary.tests).toBe(report.cases.length + report.findings.length + report.stale.length)
  expect(summary.passed + summary.failed + summary.skipped + summary.pending + summary.other).toBe(summary.tests)
})

test('a failure names its file, its line and its requirements', () => {
  expect(tests.find(({ testId }) => testId.startsWith('signatures/hmac-accepted'))).toMatchObject({
    filePath: 'fixtures/scenarios/signatures/hmac-accepted.yaml',
    line: 9,
    labels: { requirements: ['signatures/hmac'] },
    suite: ['signatures', 'hmac-accepted'],
  })
})
