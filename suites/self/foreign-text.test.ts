/** Who may print, and who may vouch for a text: read from the sources, since a type can be cast away. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { packageRoot } from '../engine/language/package-root.ts'

const files = readdirSync(join(packageRoot, 'suites'), { recursive: true, encoding: 'utf8' })
  .map((name) => `suites/${name.replaceAll('\\', '/')}`)
  .filter((file) => file.endsWith('.ts') && !file.endsWith('.test.ts') && !file.startsWith('suites/self/'))

/** Files that contain the pattern and are not listed. */
function strangers(pattern: RegExp, listed: readonly string[]): string[] {
  return files.filter(
    (file) =>
      !listed.some((one) => file === one || (one.endsWith('/') && file.startsWith(one))) &&
      pattern.test(readFileSync(join(packageRoot, file), 'utf8')),
  )
}

test('one file writes to stdout and stderr; the exceptions have a reason', () => {
  const listed = [
    'suites/commands/console.ts',
    // One sentence about the version of Node, before anything else can be loaded.
    'suites/bin.ts',
    // Errors, line by line made printable.
    'suites/cli.ts',
    'suites/commands/console.ts',
    // A step of the build.
    'suites/build-assets.ts',
  ]
  expect(strangers(/process\.std(out|err)\.write\(|console\.(log|error|warn|info)\(/, listed)).toEqual([])
})

test('only reports, which are made of a printable copy, are vouched for', () => {
  const listed = [
    'suites/engine/printable.ts',
    'suites/report/',
    'suites/client/render.ts',
    'suites/commands/write-reports.ts',
  ]
  expect(strangers(/\bvouchedFor\b/, listed)).toEqual([])
})

test('nothing else makes text printable', () => {
  expect(strangers(/as Printable\b/, ['suites/engine/printable.ts'])).toEqual([])
})
