import { mkdtempSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { ValidateFunction } from 'ajv'
import { expect, test } from 'vitest'
import { compiledSchemas } from './build-steps.ts'
import { packageRoot } from './engine/language/package-root.ts'
import { openCorpus } from './run/corpus-cache.ts'

const corpus = await openCorpus()

/** The checks that the build would write, by the text of their schemas. */
function checksOf(source: string): ReadonlyMap<string, ValidateFunction> {
  const folder = mkdtempSync(join(tmpdir(), 'compiled-'))
  const file = join(folder, 'schemas.cjs')
  // What it loads is looked for from its own place.
  writeFileSync(file, source.replaceAll('require("ajv/', `require("${join(packageRoot, 'node_modules', 'ajv')}/`))
  return createRequire(import.meta.url)(file)
}

const checks = checksOf(compiledSchemas(corpus))

test('each schema of a result has its check', () => {
  for (const schema of Object.values(corpus.schemas)) expect(checks.has(JSON.stringify(schema))).toBe(true)
})

test('no scenario needs a schema that only a run knows: ajv would be loaded for it', () => {
  const texts = JSON.stringify(corpus.scenarios).match(/"is":\{/g) ?? []
  expect(texts.length).toBeGreaterThan(0)
  expect(JSON.stringify(corpus.scenarios)).not.toMatch(/"is":\{[^}]*\$/)
})

test('a check tells a right result from a wrong one, and says where it is wrong', () => {
  const check = checks.get(JSON.stringify(corpus.schemas['create-api-key-result']))
  expect(check?.({ id: 'k', secret: 's' })).toBe(true)
  expect(check?.({ id: 5, secret: 's' })).toBe(false)
  expect(check?.errors?.[0]).toMatchObject({ instancePath: '/id', message: 'must be string' })
})

test('a schema of a matcher is found wherever it stands', () => {
  const text = '{"type":"string","minLength":2}'
  const scenarios = [{ steps: [{ expect: { accepted: null, where: { result: { is: JSON.parse(text) } } } }] }]
  const found = checksOf(compiledSchemas({ schemas: {}, scenarios: scenarios as never })).get(text)
  expect(found?.('ab')).toBe(true)
  expect(found?.('a')).toBe(false)
})
