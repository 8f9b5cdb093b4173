import { join } from 'node:path'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { runRenderers } from '../report/formats.ts'
import { captureCli, captured } from '../self/captured-cli.ts'
import { madeUpReport } from '../self/made-up-report.ts'
import { openFolder } from '../self/temporary.ts'
import { lookOfStdout, writeFormats } from './write-reports.ts'

const { at, read, write } = openFolder()
const report = madeUpReport()
const writeReports = (requests: Parameters<typeof writeFormats>[2]) => writeFormats(report, runRenderers(), requests)

captureCli()
let complaints = ''
beforeEach(() => {
  complaints = ''
  vi.spyOn(process.stderr, 'write').mockImplementation((text) => {
    complaints += String(text)
    return true
  })
})
afterEach(() => void vi.unstubAllEnvs())

test('every report is made from the same data, and missing folders are created', () => {
  const file = (name: string): string => at('a', 'b', name)
  const formats = ['json', 'junit', 'html', 'markdown', 'text'] as const
  writeReports([{ format: 'text', file: null }, ...formats.map((format) => ({ format, file: file(format) }))])
  expect(JSON.parse(read('a/b/json'))).toEqual(JSON.parse(JSON.stringify(report)))
  expect(read('a/b/text')).toBe(captured.out)
  for (const format of formats) expect(read(`a/b/${format}`), format).toContain('keys/warned')
  expect(complaints).toBe('')
})

test('colours are for stdout, not for files', () => {
  vi.stubEnv('NO_COLOR', '')
  vi.stubEnv('TERM', 'xterm')
  const both = [null, at('plain.txt')].map((file) => ({ format: 'text' as const, file }))
  onTerminal(true, () => writeReports(both))
  expect(captured.out).toContain('\u001b[')
  expect(read('plain.txt')).not.toContain('\u001b[')
})

test('if nothing goes to stdout, the verdict goes to stderr', () => {
  writeReports([{ format: 'json', file: at('r.json') }])
  expect([captured.out, complaints.split('\n')[0]]).toEqual(['', 'Verdict: does not conform (exit code 1)'])
})

test('a file that cannot be written is reported, and the others are written', () => {
  const taken = write('taken', '')
  const requests = [join(taken, 'r.json'), at('good.json')].map((file) => ({ format: 'json' as const, file }))
  expect(() => writeReports(requests)).toThrow(`Cannot write the report "${join(taken, 'r.json')}"`)
  expect(read('good.json')).toContain('"verdict"')
})

function onTerminal(isTTY: boolean, act: () => void): void {
  const before = process.stdout.isTTY
  process.stdout.isTTY = isTTY
  try {
    act()
  } finally {
    process.stdout.isTTY = before
  }
}

test.each([
  [true, {}, true],
  [false, {}, false],
  [true, { NO_COLOR: '1' }, false],
  [true, { NO_COLOR: '' }, true],
  [true, { TERM: 'dumb' }, false],
])('on a terminal: %j, with %j in the environment: coloured: %j', (isTTY, env, colour) => {
  onTerminal(isTTY, () => expect(lookOfStdout(env).colour).toBe(colour))
})
