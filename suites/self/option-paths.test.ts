import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { packageRoot } from '../engine/language/package-root.ts'

/** How many files an option of `run` may pass through, from its flag to where it has its effect. */
const mostFiles = 15

/** Folders and commands that `run` does not go through. */
const elsewhere = /^(self|client|explore|facts|diff|lab|engine\/model|commands\/(?!run)[^/]+\.ts)/

const sources = readdirSync(join(packageRoot, 'suites'), { recursive: true, encoding: 'utf8' })
  .map((file) => file.replaceAll('\\', '/'))
  .filter((file) => file.endsWith('.ts') && !file.endsWith('.test.ts') && !elsewhere.test(file))
  .map((file) => [file, codeOf(file)] as const)

function codeOf(file: string): string {
  return readFileSync(join(packageRoot, 'suites', file), 'utf8').replaceAll(/\/\*[\s\S]*?\*\/|^\s*\/\/.*$/gm, '')
}

test.each([
  ['--token-prefix', /\btokenPrefix\b|--token-prefix/],
  ['--bail', /\bbail\b/],
  ['--timeout', /\b(timeoutSeconds|endsAtMs)\b|--timeout/],
  ['--concurrency', /\bconcurrency\b/],
  ['--wait', /\b(waitSeconds|longestWaitMs|maxWaitMs)\b|'--wait|flags\.wait\b/],
])('%s passes through few files', (_option, name) => {
  const named = sources.filter(([, code]) => name.test(code)).map(([file]) => file)
  expect(named.length).toBeGreaterThan(3)
  expect(named.length, named.join('\n')).toBeLessThanOrEqual(mostFiles)
})
