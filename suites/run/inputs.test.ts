import { execFileSync } from 'node:child_process'
import { truncateSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { everyAnswer } from '../report/build.ts'
import type { KnownEntry } from '../report/report.ts'
import { madeUpCase, madeUpCorpus } from '../self/made-up-report.ts'
import { openFolder } from '../self/temporary.ts'
import { failedIds, readBaseline, writeBaseline } from './inputs.ts'

const corpus = madeUpCorpus({
  requirements: [{ id: 'tokens/expire', level: 'must', kind: 'shape', part: '2', text: 'They expire' }],
  scenarios: [
    ['tokens/expiry', ['tokens/expire']],
    ['tokens/refresh', []],
  ],
})
const { folder, at: place, write, read } = openFolder()
const file = place('known.yaml')

function parse(text: string, isUpdated = false, of = corpus): KnownEntry[] {
  return readBaseline(write('known.yaml', text), of, isUpdated)
}

describe('the file', () => {
  test('is read back as it was written, with any content', () => {
    const whole = { scenario: 'tokens/expiry', case: 'a: "b" #c', requirement: 'tokens/expire' }
    const entries: KnownEntry[] = [
      { ...whole, reason: "line\nbreak 'quoted' ü", issue: 'https://tracker.example/1#x' },
      { scenario: 'tokens/refresh', reason: '- no', sometimes: true, issue: null },
      { scenario: 'found/tokens/expire/used-after-its-end', reason: 'r', issue: null },
      { scenario: 'table/basic/basic-secret', reason: 'a part of the table', issue: null },
      { scenario: 'matrix/12', reason: 'a row of the matrix', issue: null },
    ]
    for (const written of [entries, []]) {
      writeBaseline(file, written)
      expect(readBaseline(file, corpus, false)).toEqual(written)
    }
    expect(parse('# nothing yet\n')).toEqual([])
  })

  const ofExpiry = '- scenario: tokens/expiry'
  const list = 'a list of known failures (such as "- scenario: tokens/accepted" with a "reason")'
  test.each([
    ['- scenario: tokens/expiri\n  reason: r', '1:13: unknown scenario "tokens/expiri", did you mean "tokens/expiry"?'],
    [`${ofExpiry}\n  reason: r\n  requirement: tokens/expires`, '3:16: unknown requirement "tokens/expires", did you'],
    ['- scenario: tokens/expiry\n  reson: r', 'known.yaml:2:3: unknown key "reson", did you mean "reason"?'],
    ['- scenario: tokens/expiry', 'missing key "reason" in a known failure'],
    ['scenario: tokens/expiry', `known.yaml:1:1: expected ${list}, got a mapping`],
    ['nothing', 'got a text'],
  ])('%s', (text, message) => {
    expect(() => parse(`${text}\n`)).toThrow(message)
  })
})

describe('a baseline of an earlier version', () => {
  const old = '- scenario: tokens/expiry\n  row: slow\n  reason: r\n- scenario: cast/bob\n  reason: r\n'
  const withBob = { ...corpus, testKeys: [{ name: 'bob', key: 'secret' as const, scope: [], proves: [] }] }

  test('is an error that names the new word', () => {
    expect(() => parse(old, false, withBob)).toThrow(
      'known.yaml:2:3: rename "row" to "case", or let "--update-known" rewrite this file',
    )
    expect(() => parse(old.replace('  row: slow\n', ''), false, withBob)).toThrow(
      'write "test-keys/bob", or let "--update-known"',
    )
  })

  test('is rewritten by an update', () => {
    writeBaseline(file, parse(old, true, withBob))
    expect(read('known.yaml')).toContain('case: "slow"')
    const scenarios = readBaseline(file, withBob, false).map(({ scenario }) => scenario)
    expect(scenarios).toEqual(['tokens/expiry', 'test-keys/bob'])
  })
})

write('circle', '&a\n- *a\n')
execFileSync('mkfifo', [place('pipe')])
truncateSync(write('long', ''), 100_000_000)
test.each([
  ['a folder', folder, 'it is a folder, name a file in it'],
  ['no file', place('none'), 'there is no such file; "--update-known" writes one'],
  ['a list that contains itself', place('circle'), 'this contains itself, through an alias'],
  ['a pipe that nobody writes to', place('pipe'), 'it is not a file'],
  ['a file of 100 MB', place('long'), 'it is longer than 4 MiB'],
])('a file that is not a baseline gives a one-line error: %s', (_what, path, message) => {
  expect(() => readBaseline(path, corpus, false)).toThrow(message)
})

test('what failed or was blocked runs again, and nothing else', () => {
  const cases = [
    madeUpCase({ key: 'basic/secret-of-another', verdict: 'failed' }),
    madeUpCase({ key: 'basic/other', verdict: 'warned' }),
    madeUpCase({ key: 'tokens/x', verdict: 'blocked' }),
    madeUpCase({ key: `${everyAnswer}/id`, id: everyAnswer, verdict: 'failed', proves: ['envelope/id-echo'] }),
  ]
  expect(failedIds({ cases: cases as never })).toEqual(['basic/secret-of-another', 'tokens/x', 'envelope/id-echo'])
})
