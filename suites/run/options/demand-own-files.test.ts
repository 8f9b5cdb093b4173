import { linkSync, mkdtempSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { demandOwnFiles } from './demand-own-files.ts'
import { readRunOptions } from './options.ts'

const folder = mkdtempSync(join(tmpdir(), 'svc-own-files-'))
const place = (name: string): string => join(folder, name)
writeFileSync(place('target.yaml'), 'url: http://a.example\nroot: { id: i, secret: s }\ntestKeys: kept.jsonl\n')
writeFileSync(place('known.yaml'), '[]\n')
symlinkSync(place('target.yaml'), place('link'))
linkSync(place('known.yaml'), place('hard-link'))
symlinkSync(folder, place('folder-link'))

function refusal(report: string): string {
  try {
    demandOwnFiles(
      readRunOptions({ target: place('target.yaml'), known: place('known.yaml'), report: [`json=${report}`] }, {}),
    )
  } catch (error) {
    return (error as Error).message
  }
  return 'taken'
}

test.each([
  ['target.yaml', 'the target file'],
  ['link', 'the target file'],
  ['known.yaml', 'the baseline'],
  ['hard-link', 'the baseline'],
  ['kept.jsonl', 'the kept test keys'],
  ['folder-link/kept.jsonl', 'the kept test keys'],
])('a report in place of %s is refused before the first request', (name, what) => {
  expect(refusal(place(name))).toBe(`Cannot write the report "${place(name)}": it is ${what}; name another file`)
})

test('a report with its own path is accepted', () => {
  expect(refusal(place('report.json'))).toBe('taken')
})
