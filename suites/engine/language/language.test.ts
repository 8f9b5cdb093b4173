import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { Change } from '../signer/changed-call.ts'
import { parseRequirements, readScenario } from './corpus.ts'
import { alterOf, changesOf, partNamed, problemsOfAlter, readDeviations } from './deviations.ts'
import type { Auth, CallStep, Expect, Step, Tally } from './fixture-types.ts'
import { packageRoot } from './package-root.ts'
import { judgementOf, referencesIn, resolve, UnresolvedReference, valueAt, withCase } from './resolve.ts'
import { readFitting } from './schemas.ts'
import { didYouMean, readPackageYaml, readYaml, suggestion } from './yaml-source.ts'

const text = `scenario: A wrongly signed call is refused
why: One thing is wrong.
proves: [signatures/hmac]
each:
  - { case: "  Another secret — quite another! ", but: { secret: x } }
  - { case: version 2, but: { version: "2" }, proves: [signatures/version] }
given:
  - { call: solution/listSolutions, auth: { hmac: root }, expect: accepted }
steps:
  - call: solution/listSolutions
    auth: { hmac: root, but: $case.but }
    expect: refused
`

const scenario = (yaml: string) => readScenario(yaml, 'fixtures/scenarios/a/b.yaml').scenario

test('a scenario becomes data, with the place of each step', () => {
  const file = 'fixtures/scenarios/signatures/hmac-refused.yaml'
  const name = '  Another secret — quite another! '
  const call = { call: 'solution/listSolutions' }
  expect(readScenario(text, file).scenario).toEqual({
    id: 'signatures/hmac-refused',
    file,
    title: 'A wrongly signed call is refused',
    why: 'One thing is wrong.',
    proves: ['signatures/hmac'],
    needs: [],
    cases: [
      { name, slug: 'another-secret-quite-another', values: { but: { secret: 'x' } } },
      { name: 'version 2', slug: 'version-2', values: { but: { version: '2' } }, proves: ['signatures/version'] },
    ],
    given: [{ ...call, auth: { hmac: 'root' }, expect: 'accepted', at: { line: 8, column: 5 } }],
    steps: [{ ...call, auth: { hmac: 'root', but: '$case.but' }, expect: 'refused', at: { line: 10, column: 5 } }],
  })
})

test('a scenario without cases has one case without a name', () => {
  const plain = 'scenario: x\nsteps: [{ call: a/b, auth: none, observe: errors/shape }]'
  const { cases, proves } = scenario(plain)
  expect(cases).toEqual([{ name: null, slug: null, values: {} }])
  expect(proves).toEqual([])
})

test('a grant and a refresh in their short forms are calls of manager/auth', () => {
  const short = `scenario: x
steps:
  - { grant: root, scope: [solution, "session:a"], expect: accepted, keep: { pair: result } }
  - { repeat: 2, grant: $key, scope: $case.scope, but: { apiKeySecret: first-half }, expect: refused }
  - { refresh: $pairs.0, expect: accepted }
`
  const call = { call: 'manager/auth', auth: 'none' }
  const grantTo = (who: string, scope: unknown) => ({
    ...call,
    params: { grantType: 'api_key_credentials', apiKeyId: `${who}.id`, apiKeySecret: `${who}.secret`, scope },
  })
  const refresh = { grantType: 'refresh_token', refreshToken: '$pairs.0.refreshToken' }
  expect(scenario(short).steps.map(({ at: _place, ...step }) => step)).toEqual([
    { ...grantTo('$root', ['solution', 'session:a']), expect: 'accepted', keep: { pair: 'result' } },
    { ...grantTo('$key', '$case.scope'), repeat: 2, but: { apiKeySecret: 'first-half' }, expect: 'refused' },
    { ...call, params: refresh, expect: 'accepted' },
  ])
})

test('a file name that is no id is an error', () => {
  const read = () => readScenario(text, 'fixtures/scenarios/Signatures/HMAC.yaml')
  expect(read).toThrow(/"Signatures\/HMAC" is no id/)
})

test('registers are strict', () => {
  const entry = '- { id: a/b, level: must, kind: guard, part: "1", text: t }\n'
  expect(parseRequirements(entry, 'r.yaml')).toHaveLength(1)
  expect(() => parseRequirements(entry.replace('must', 'may'), 'r.yaml')).toThrow(
    'r.yaml:1:21: unknown value "may"; expected a level: must or implied',
  )
  const question = '- { id: a/b, part: "1", question: What, readings: [x], reference: y }'
  expect(() => readFitting(question, 'q.yaml', 'open-questions')).toThrow('q.yaml:1:35: "What" is not a question')
})

test('references are found with their place', () => {
  const step = { params: { scope: ['solution', 'session:$n-$it.name'], id: '$root.id' }, expect: 'accepted' }
  expect(referencesIn(step)).toEqual([
    { reference: 'n', path: ['params', 'scope', '1'] },
    { reference: 'it.name', path: ['params', 'scope', '1'] },
    { reference: 'root.id', path: ['params', 'id'] },
  ])
})

const named = ['$a', 'x $a.b-c.0 y $d', 'a$b$c', '$case.but', '$n-$unique', '$a-b- $c-', '$é $A_b-c']
test.each([...named, '$1 $', '^a$', 'cost: 5$'])('the linter sees in %j the names that a run resolves', (text) => {
  const named = new Set<string>()
  const anything: object = new Proxy(
    {},
    { get: () => anything, has: () => true, getOwnPropertyDescriptor: () => ({ configurable: true, value: anything }) },
  )
  const get = (_names: object, name: string | symbol): unknown => {
    named.add(String(name))
    return anything
  }
  resolve(text, new Proxy({}, { get }))
  expect(new Set(referencesIn(text).map(({ reference }) => reference.split('.')[0]))).toEqual(named)
})

test('a string that is only a reference to the case becomes the value of the case', () => {
  const others = ['not $case.but', '$case.missing']
  const stepWith = (but: unknown, one: unknown) => ({ auth: { hmac: 'root', but }, params: { a: [one, ...others] } })
  const but = { data: 'with-commas' }
  expect(withCase(stepWith('$case.but', '$case.list.1'), { but, list: [1, 2] })).toEqual(stepWith(but, 2))
})

test('a case may have the values null, false and none', () => {
  expect(withCase(['$case.a', '$case.b', '$case.c'], { a: null, b: false, c: '' })).toEqual([null, false, ''])
})

const names = { root: { id: 'r', secret: 's' }, n: 3, list: ['a', { b: true }], case: { who: '$root.id', n: 1 } }

test.each<[string, unknown, unknown]>([
  ['a value that is only a reference keeps its type', '$n', 3],
  ['a path leads into lists', '$list.1', { b: true }],
  ['references inside a value are resolved', { a: ['$n', 'x'] }, { a: [3, 'x'] }],
  ['inside a longer text it becomes text', 'session:number-$n of $root.id', 'session:number-3 of r'],
  ['a value of the case may be a reference itself', '$case.who', 'r'],
])('%s', (_what, value, resolved) => {
  expect(resolve(value, names)).toEqual(resolved)
})

test('names of an outer scope are known in an inner one', () => {
  const inner = Object.assign(Object.create(names) as typeof names & { it?: string }, { it: 'item' })
  expect(resolve('$it and $root.id', inner)).toBe('item and r')
})

test('the error names a reference without a value', () => {
  expect(() => resolve('$old.accessToken', names)).toThrow(UnresolvedReference)
  expect(() => resolve('$old.accessToken', names)).toThrow('$old.accessToken')
})

test('a path leads into objects and lists, and never into what they inherit', () => {
  expect(valueAt({ a: [{ b: 3 }] }, 'a.0.b')).toBe(3)
  expect(valueAt({ a: 1 }, 'a.b')).toBeUndefined()
  expect(valueAt({}, 'constructor')).toBeUndefined()
})

const place = { at: { line: 1, column: 1 } }
const stepThat = (judged: { expect?: Expect; tally?: Tally; observe?: string }): Step => ({
  call: 'a/b',
  auth: 'none',
  ...place,
  ...judged,
})

test.each<[string, { expect?: Expect; tally?: Tally }, boolean, boolean]>([
  ['accepted', { expect: 'accepted' }, true, false],
  ['accepted with a schema', { expect: { accepted: 'auth-result' } }, true, false],
  ['accepted with values', { expect: { accepted: null, where: { status: 200 } } }, true, false],
  ['refused', { expect: 'refused' }, false, true],
  ['refused or something', { expect: { 'refused-or': { accepted: 'auth-result' } } }, false, true],
  ['one accepted', { tally: { accepted: 1 } }, true, false],
  ['at least one accepted', { tally: { accepted: 'at-least 1' } }, true, false],
  ['at least none accepted', { tally: { accepted: 'at-least 0' } }, false, false],
  ['none accepted', { tally: { accepted: 0, refused: 3 } }, false, true],
  ['at most some accepted', { tally: { accepted: 'at-most 10' } }, false, true],
  ['one wins', { tally: { accepted: 1, refused: 19 } }, true, true],
])('%s', (_name, judged, accepts, refuses) => {
  expect(judgementOf(stepThat(judged))).toEqual({ accepts, refuses })
})

test('an observation and a wait judge nothing', () => {
  expect(judgementOf(stepThat({ observe: 'errors/shape' }))).toBeUndefined()
  expect(judgementOf({ wait: '1s', ...place })).toBeUndefined()
})

test.each([
  ['expext', 'expect'],
  ['exepct', 'expect'],
  ['Expect', 'expect'],
  ['taly', 'tally'],
  // The beginning of a word is completed.
  ['refresh', 'refreshToken'],
  ['banana', undefined],
  ['a', undefined],
])('"%s" means "%s"', (word, meant) => {
  expect(didYouMean(word, ['keep', 'expect', 'tally', 'observe', 'grantType', 'refreshToken'])).toBe(meant)
})

test('a few candidates are listed when none is similar', () => {
  expect(suggestion('9.9', ['1.0'])).toBe(', expected "1.0"')
  expect(suggestion('banana', ['keep', 'tally'])).toBe(', expected one of "keep", "tally"')
  expect(suggestion('exepct', ['keep', 'expect'])).toBe(', did you mean "expect"?')
})

const brokenYaml = `a: 1
list:
  - { x: one }
  - &two { x: two }
  - *two
`

test('values, keys and items have a place', () => {
  const { value, positionOf } = readYaml(brokenYaml, 'f.yaml')
  expect(value).toEqual({ a: 1, list: [{ x: 'one' }, { x: 'two' }, { x: 'two' }] })
  expect(positionOf(['a'])).toEqual({ line: 1, column: 4 })
  expect(positionOf(['a'], true)).toEqual({ line: 1, column: 1 })
  expect(positionOf(['list', 0, 'x'])).toEqual({ line: 3, column: 10 })
  expect(positionOf(['list', '1', 'x'], true)).toEqual({ line: 4, column: 12 })
  // The value of an alias has the place where it was written; a path that leads nowhere ends at the last thing on it.
  expect(positionOf(['list', 2, 'x'])).toEqual({ line: 4, column: 15 })
  expect(positionOf(['list', 0, 'y'])).toEqual({ line: 3, column: 5 })
})

test('the caret stays in sight on a long line, and under the right character after tabs and CR LF', () => {
  const long = `a: { ${'b: 1, '.repeat(1)}${Array.from({ length: 40 }, (_, index) => `key${index}: 1`).join(', ')} }\r\nc: 2\r\n`
  const source = readYaml(long, 'f.yaml')
  const { message } = source.error({ path: ['a', 'key30'], onKey: true, message: 'here' })
  const [head, , line = '', caret = ''] = message.split('\n')
  expect(head).toBe('Cannot load f.yaml:1:302: here')
  expect(line.slice(caret.indexOf('^')).startsWith('key30: 1')).toBe(true)
  expect(message).not.toContain('\r')
})

test.each([
  ['a: 1\na: 2', 'f.yaml:2:1: this is not valid YAML: map keys must be unique'],
  ['a: "open', 'f.yaml:1:9: this is not valid YAML: missing closing "quote'],
  ['a: one\n  b: 1', 'f.yaml:2:3: this is not valid YAML: this line is indented too far'],
  ['a: one: two', 'f.yaml:1:4: this is not valid YAML: put a value that contains a colon and a space in quotes'],
  ['a: !made-up 1', 'f.yaml:1:4: unresolved tag: !made-up'],
  ['a: *nobody', 'f.yaml:1:4: unresolved alias *nobody'],
  ['[1]: 2', 'f.yaml:1:1: this is not valid YAML: a key must be text'],
])('%j is an error', (wrong, message) => {
  expect(() => readYaml(wrong, 'f.yaml')).toThrow(message)
})

test('what the build read of a file of the package is what the file says, at the same places', () => {
  const path = 'fixtures/matrix.yaml'
  const [read, built] = [readYaml(readFileSync(join(packageRoot, path), 'utf8'), path), readPackageYaml(path)]
  expect(built.value).toEqual(read.value)
  expect(built.positionOf(['dimensions', 'key', 1])).toEqual(read.positionOf(['dimensions', 'key', 1]))
  const problem = { path: ['dimensions'], message: 'wrong' }
  expect(built.error(problem).message).toBe(read.error(problem).message)
})

const operations = readDeviations()
const everyChange = operations.fields.flatMap((field) => operations.changesOf(field))

test('a fixture can make every change of deviations.yaml', () => {
  expect(everyChange.length).toBeGreaterThan(3000)
  for (const change of everyChange) expect(changesOf(alterOf(change))).toEqual([change])
})

test('the linter knows every part and operation of deviations.yaml', () => {
  const isKnown = ({ field, operation }: Change): boolean => {
    const part = partNamed(field)
    return part !== undefined && (operation === undefined || operations.wordsOf(part.operations).includes(operation))
  }
  expect(everyChange.filter((change) => !isKnown(change))).toEqual([])
})

const problems = (alter: NonNullable<CallStep['alter']>): string[] =>
  problemsOfAlter({ auth: { basic: 'root' }, alter }).map(({ message }) => message)

test.each([
  [{ 'basic-wrod': 'upper-case' }, 'unknown part "basic-wrod", did you mean "basic-word"?'],
  [{ 'basic-word': 'upper-csae' }, 'unknown operation "upper-csae", did you mean "upper-case"?'],
  [{ 'basic-word': { value: 1 } }, 'this part is a text, write its other "value" in quotes'],
  [{ mac: 'reversed' }, 'a call with "auth: basic" has no part "mac", only one with hmac'],
  [{ 'signed-body': 'compact' }, 'a call with "auth: basic" has no part "signed-body", only one with hmac or ecc'],
])('%j is a mistake', (alter, message) => {
  expect(problems(alter)).toEqual([message])
})

test('only a signature has a nonce', () => {
  const problemsOf = (auth: Auth): unknown[] => problemsOfAlter({ auth, nonce: 'digits' })
  expect(problemsOf({ basic: 'root' })).toEqual([expect.objectContaining({ path: ['nonce'] })])
  expect(problemsOf({ ecc: 'bob' })).toEqual([])
})
