import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { runRenderers } from '../report/formats.ts'
import { madeUpReport } from '../self/made-up-report.ts'
import { lookOfStdout, writeFormats } from './write-reports.ts'

const folder = mkdtempSync(join(tmpdir(), 'svc-reports-'))
const report = madeUpReport()
const writeReports = (requests: Parameters<typeof writeFormats>[2]) => writeFormats(report, runRenderers(), requests)

const printed = { out: '', err: '' }
beforeEach(() => {
  printed.out = ''
  printed.err = ''
  const keep = (stream: 'out' | 'err') => (text: unknown) => {
    printed[stream] += String(text)
    return true
  }
  vi.spyOn(process.stdout, 'write').mockImplementation(keep('out'))
  vi.spyOn(process.stderr, 'write').mockImplementation(keep('err'))
})
afterEach(() => {
  vi.restoreAllMocks()
  vi.unstubAllEnvs()
})

test('every report is made from the same data, and missing folders are created', () => {
  const file = (name: string): string => join(folder, 'a', 'b', name)
  const formats = ['json', 'junit', 'html', 'markdown', 'text'] as const
  writeReports([{ format: 'text', file: null }, ...formats.map((format) => ({ format, file: file(format) }))])
  expect(JSON.parse(readFileSync(file('json'), 'utf8'))).toEqual(JSON.parse(JSON.stringify(report)))
  expect(readFileSync(file('text'), 'utf8')).toBe(printed.out)
  for (const format of formats) expect(readFileSync(file(format), 'utf8'), format).toContain('keys/warned')
  expect(printed.err).toBe('')
})

test('colours are for stdout, not for files', () => {
  const file = join(folder, 'plain.txt')
  vi.stubEnv('NO_COLOR', '')
  vi.stubEnv('TERM', 'xterm')
  onTerminal(true, () =>
    writeReports([
      { format: 'text', file: null },
      { format: 'text', file },
    ]),
  )
  expect(printed.out).toContain('\u001b[')
  expect(readFileSync(file, 'utf8')).not.toContain('\u001b[')
})

test('if nothing goes to stdout, the verdict goes to stderr', () => {
  writeReports([{ format: 'json', file: join(folder, 'r.json') }])
  expect([printed.out, printed.err.split('\n')[0]]).toEqual(['', 'Verdict: does not conform (exit code 1)'])
})

test('a file that cannot be written is reported, and the others are written', () => {
  const taken = join(folder, 'taken')
  writeFileSync(taken, '')
  const good = join(folder, 'good.json')
  const requests = [
    { format: 'json' as const, file: join(taken, 'r.json') },
    { format: 'json' as const, file: good },
  ]
  expect(() => writeReports(requests)).toThrow(`Cannot write the report "${join(taken, 'r.json')}"`)
  expect(readFileSync(good, 'utf8')).toContain('"verdict"')
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
