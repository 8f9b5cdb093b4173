import { expect, test } from 'vitest'
import { lintScenario } from '../engine/fixture/lint.ts'
import { parseScenario } from '../engine/fixture/parse.ts'
import { readSchema } from '../engine/fixture/schemas.ts'
import { wordsOf } from '../engine/signer/mistakes.ts'
import { alterWords, basicWords } from '../engine/steps/alter.ts'
import { bodyForms } from '../engine/steps/body.ts'
import { shipped, shippedContext } from './shipped.ts'

const readme = shipped('fixtures/README.md')
const inCode = new Set(Array.from(readme.matchAll(/`([^`\n]+)`/g), ([, code]) => code ?? '').flatMap(partsOf))

/** `{ past: $moment }` and `repeat: n` show a key; `sent.id` a path. */
function partsOf(code: string): string[] {
  return [code, ...code.split(/[\s{},:]+/)]
}

type Definitions = { [name: string]: { properties?: object; enum?: string[]; then?: { properties?: object } } }
const definitions = (readSchema('fixture') as { $defs: Definitions }).$defs
const keysOf = (name: string): string[] =>
  Object.keys(definitions[name]?.properties ?? definitions[name]?.then?.properties ?? {})

test.each([
  ['keys of a scenario', keysOf('scenario')],
  ['keys of a row', keysOf('row')],
  ['keys of a call', keysOf('callStep')],
  ['keys of a raw request', keysOf('sendStep')],
  ['keys of a wait', keysOf('waitStep')],
  ['matchers', keysOf('matcher')],
  ['needs', definitions.plainNeed?.enum ?? []],
  ['alterations', Object.keys(alterWords)],
  ['words of Basic', Object.keys(basicWords)],
  ['body forms', [...bodyForms]],
  ['words of data', wordsOf('data')],
  ['words of signature', wordsOf('signature')],
  ['words of fields', wordsOf('fields')],
])('fixtures/README.md names all %s', (_what, words) => {
  expect(words.length).toBeGreaterThan(0)
  expect(words.filter((word) => !inCode.has(word))).toEqual([])
})

test('every word that fixtures/README.md lists is one', () => {
  const words = readme.slice(readme.indexOf('## Words'))
  const known = [
    ...Object.keys(alterWords),
    ...Object.keys(basicWords),
    ...bodyForms,
    ...(['data', 'signature', 'fields'] as const).flatMap((group) => [group, ...wordsOf(group)]),
  ]
  const listed = Array.from(words.matchAll(/`([^`]+)`/g), ([, word]) => word ?? '')
  expect(listed.filter((word) => !known.includes(word))).toEqual([])
})

test('the example in fixtures/README.md is a right scenario', () => {
  const example = /```yaml\n([\s\S]*?)```/.exec(readme)?.[1] ?? ''
  const scenario = parseScenario(example, 'fixtures/scenarios/signatures/hmac-refused.yaml')
  expect(lintScenario(scenario, shippedContext())).toEqual([])
})
