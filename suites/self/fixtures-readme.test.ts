import { expect, test } from 'vitest'
import { parse } from 'yaml'
import { alterWords, basicWords, bodyForms, otherBodyForms } from '../engine/conversation/call.ts'
import type { CallStep } from '../engine/language/fixture-types.ts'
import { lintScenario, problemsOfAlter } from '../engine/language/lint.ts'
import { parseScenario } from '../engine/language/parse.ts'
import { mistakeGroups, mistakesByWord, problemWith, readSchema, wordsOf } from '../engine/language/schemas.ts'
import { partNames, wraps } from '../engine/signer/changed-call.ts'
import { openCorpus } from '../run/corpus-cache.ts'
import { shipped, shippedContext } from './shipped.ts'
import { wordExamples, wordsPage } from './word-examples.ts'

const readme = shipped('fixtures/README.md')
const inCode = new Set(Array.from(readme.matchAll(/`([^`\n]+)`/g), ([, code]) => code ?? '').flatMap(partsOf))

/** `{ past: $time }` and `repeat: n` show a key; `sent.id` a path. */
function partsOf(code: string): string[] {
  return [code, ...code.split(/[\s{},:]+/)]
}

type Definitions = { [name: string]: { properties?: object; enum?: string[]; then?: { properties?: object } } }
const definitions = (readSchema('fixture') as { $defs: Definitions }).$defs
const keysOf = (name: string): string[] =>
  Object.keys(definitions[name]?.properties ?? definitions[name]?.then?.properties ?? {})

test.each([
  ['keys of a scenario', keysOf('scenario')],
  ['keys of a case', keysOf('case')],
  ['keys of a call', keysOf('callStep')],
  ['keys of a grant', keysOf('grantStep')],
  ['keys of a refresh', keysOf('refreshStep')],
  ['keys of a raw request', keysOf('sendStep')],
  ['keys of a wait', keysOf('waitStep')],
  ['matchers', keysOf('matcher')],
  ['needs', definitions.plainNeed?.enum ?? []],
  ['alterations', Object.keys(alterWords)],
  ['words of Basic', Object.keys(basicWords)],
  ['body forms', [...bodyForms]],
  ['parts of a call', partNames.filter((name) => !name.includes(' '))],
  ['JSON forms of a value', [...wraps]],
  ['kinds of nonces', [...wordsOf('nonceKind')]],
])('fixtures/README.md names all %s', (_what, words) => {
  expect(words.length).toBeGreaterThan(0)
  expect(words.filter((word) => !inCode.has(word))).toEqual([])
})

test.each([
  ['alterations', 'alteration', Object.keys(alterWords)],
  ['words of Basic', 'basicAlteration', [...Object.keys(alterWords), ...Object.keys(basicWords)]],
  ['body forms', 'bodyFormWord', [...bodyForms, ...otherBodyForms]],
  ...mistakeGroups.map((group): [string, string, string[]] => [
    `mistakes of ${group}`,
    `${group}Word`,
    [...mistakesByWord(group).keys()],
  ]),
])('the schema allows the %s that the engine can make', (_what, definition, made) => {
  expect([...wordsOf(definition)].sort()).toEqual(made.sort())
})

test('every word of the language is used by a fixture', async () => {
  const { scenarios } = await openCorpus()
  const used = new Set<string>()
  const visit = (value: unknown): void => {
    if (typeof value === 'string') used.add(value)
    else if (typeof value === 'object' && value !== null) {
      for (const [key, inner] of Object.entries(value)) {
        used.add(key)
        visit(inner)
      }
    }
  }
  visit(scenarios)
  const definitionsOfWords = ['basicAlteration', ...mistakeGroups.map((group) => `${group}Word`)]
  const words = [
    ...definitionsOfWords.flatMap(wordsOf),
    ...bodyForms,
    ...keysOf('matcher'),
    ...(definitions.plainNeed?.enum ?? []),
  ]
  expect(words.filter((word) => !used.has(word))).toEqual([])
})

test('every word that fixtures/README.md lists is one', () => {
  const words = readme.slice(readme.indexOf('## Words'))
  const known = [...Object.keys(alterWords), ...Object.keys(basicWords), ...bodyForms, ...mistakeGroups]
  const listed = Array.from(words.matchAll(/`([^`]+)`/g), ([, word]) => word ?? '')
  expect(listed.filter((word) => !known.includes(word))).toEqual([])
})

test('the example in fixtures/README.md is a right scenario', () => {
  const example = /```yaml\n([\s\S]*?)```/.exec(readme)?.[1] ?? ''
  const scenario = parseScenario(example, 'fixtures/scenarios/signatures/hmac-refused.yaml')
  expect(lintScenario(scenario, shippedContext())).toEqual([])
})

test('the steps that fixtures/README.md shows are right', () => {
  const shown = Array.from(readme.matchAll(/^- (\{ call: .*\})$/gm), ([, step]) => parse(step ?? '') as CallStep)
  expect(shown.length).toBeGreaterThan(1)
  for (const step of shown) {
    expect(problemWith(step, 'fixture#/$defs/step')).toBeUndefined()
    expect(problemsOfAlter(step)).toEqual([])
  }
})

test('fixtures/words.md and words.json show what each word makes (vitest -u writes them)', async () => {
  await expect(wordsPage()).toMatchFileSnapshot('../../fixtures/words.md')
  await expect(wordExamples()).toMatchFileSnapshot('../../fixtures/words.json')
})
