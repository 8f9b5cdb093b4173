import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { madeUpReport } from '../self/made-up-report.ts'
import { type Outlet, processOutlet, writeReports } from './write-reports.ts'

const folder = mkdtempSync(join(tmpdir(), 'svc-reports-'))
const report = madeUpReport()

function outlet(colour = false): Outlet & { out: string; err: string } {
  const seen = {
    out: '',
    err: '',
    colour,
    stdout: (text: string) => {
      seen.out += text
    },
    stderr: (text: string) => {
      seen.err += text
    },
  }
  return seen
}

test('every report is made from the same data, and missing folders are created', () => {
  const to = outlet()
  const file = (name: string): string => join(folder, 'a', 'b', name)
  const formats = ['json', 'junit', 'html', 'markdown', 'text'] as const
  writeReports(
    report,
    [{ format: 'text', file: null }, ...formats.map((format) => ({ format, file: file(format) }))],
    to,
  )
  expect(JSON.parse(readFileSync(file('json'), 'utf8'))).toEqual(JSON.parse(JSON.stringify(report)))
  expect(readFileSync(file('text'), 'utf8')).toBe(to.out)
  for (const format of formats) expect(readFileSync(file(format), 'utf8'), format).toContain('keys/warned')
  expect(to.err).toBe('')
})

test('colours are for stdout, not for files', () => {
  const to = outlet(true)
  const file = join(folder, 'plain.txt')
  writeReports(
    report,
    [
      { format: 'text', file: null },
      { format: 'text', file },
    ],
    to,
  )
  expect(to.out).toContain('\u001b[')
  expect(readFileSync(file, 'utf8')).not.toContain('\u001b[')
})

test('if nothing goes to stdout, the verdict goes to stderr', () => {
  const to = outlet()
  writeReports(report, [{ format: 'json', file: join(folder, 'r.json') }], to)
  expect([to.out, to.err.split('\n')[0]]).toEqual(['', 'Verdict: does not conform (exit code 1)'])
})

test('a file that cannot be written is reported, and the others are written', () => {
  const to = outlet()
  const taken = join(folder, 'taken')
  writeFileSync(taken, '')
  const good = join(folder, 'good.json')
  const requests = [
    { format: 'json' as const, file: join(taken, 'r.json') },
    { format: 'json' as const, file: good },
  ]
  expect(() => writeReports(report, requests, to)).toThrow(`Cannot write the report "${join(taken, 'r.json')}"`)
  expect(readFileSync(good, 'utf8')).toContain('"verdict"')
})

test('colours: on a terminal only, and never with NO_COLOR', () => {
  const tty = process.stdout.isTTY
  try {
    for (const [isTTY, env, colour] of [
      [true, {}, true],
      [false, {}, false],
      [true, { NO_COLOR: '1' }, false],
      [true, { NO_COLOR: '' }, true],
      [true, { TERM: 'dumb' }, false],
    ] as const) {
      process.stdout.isTTY = isTTY
      expect(processOutlet(env).colour, JSON.stringify([isTTY, env])).toBe(colour)
    }
  } finally {
    process.stdout.isTTY = tty
  }
})
