import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import { describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import { bodyForms } from '../engine/conversation/call.ts'
import { allItems, provesOf } from '../engine/conversation/cases.ts'
import { SuiteError } from '../engine/errors.ts'
import type { CaseOutcome } from '../engine/judge/problem.ts'
import { lintErrors, readScenario } from '../engine/language/corpus.ts'
import { basicWords, problemsOfAlter, readDeviations } from '../engine/language/deviations.ts'
import type { CallStep, Corpus } from '../engine/language/fixture-types.ts'
import { lintContext, lintScenario } from '../engine/language/lint.ts'
import { packageRoot } from '../engine/language/package-root.ts'
import { problemWith, readSchema } from '../engine/language/schemas.ts'
import { wraps } from '../engine/signer/changed-call.ts'
import { alterWords } from '../engine/signer/operations.ts'
import type { Instance, Target, WireAnswer, WireRequest } from '../engine/target.ts'
import { problemText } from '../report/problem-text.ts'
import { openCorpus } from '../run/corpus-cache.ts'
import { runAll } from '../run/run.ts'
import { bundledTarget } from '../targets/bundled.ts'
import { shipped } from './sources.ts'
import { mistakeGroups, mistakesByWord, otherBodyForms, wordExamples, wordsOf, wordsPage } from './word-examples.ts'

const folder = join(packageRoot, 'suites', 'self', 'fixtures')
const registers = await openCorpus()
const context = lintContext(registers)

function errorsOf(text: string, file: string): SuiteError[] {
  try {
    return lintErrors(readScenario(text, file), context)
  } catch (error) {
    if (error instanceof SuiteError) return [error]
    throw error
  }
}

/** The comments at the head of a fixture: one message each, `line:column: what is wrong`. */
function messagesWanted(text: string): string[] {
  const lines = text.split('\n')
  const end = lines.findIndex((line) => !line.startsWith('# '))
  return lines.slice(0, end).map((line) => line.slice(2))
}

/** A server may lock a key after several wrong calls in a row, so each case begins with a right one and makes few wrong ones. */
test('no list of lengths makes more than three wrong calls in a row', async () => {
  const lists = (await openCorpus()).scenarios.flatMap(({ id, cases }) =>
    cases.flatMap(({ values }) => (Array.isArray(values.lengths) ? [{ id, count: values.lengths.length }] : [])),
  )
  expect(lists.length).toBeGreaterThan(10)
  expect(lists.filter(({ count }) => count > 3)).toEqual([])
})

test('every fixture begins with the line that names its schema for editors', () => {
  const files = readdirSync(join(packageRoot, 'fixtures'), { recursive: true, encoding: 'utf8' })
    .map((file) => file.replaceAll('\\', '/'))
    .filter((file) => /^(scenarios|vectors)\/.*\.yaml$|^(test-keys|language)\.yaml$/.test(file))
    .filter((file) => !['vectors/flags.yaml', 'vectors/format.yaml'].includes(file))
  expect(files.length).toBeGreaterThan(300)
  const schemas = files.map((file) => {
    const [first = ''] = shipped(`fixtures/${file}`).split('\n')
    const path = /^# yaml-language-server: \$schema=(\S+)$/.exec(first)?.[1] ?? 'no such line'
    return [file, relative(join(packageRoot, 'spec', 'schemas'), resolve(packageRoot, 'fixtures', dirname(file), path))]
  })
  const schemaOf = (file: string): string => {
    const [kind = ''] = file.split('/')
    const name = { scenarios: 'fixture', vectors: 'vector' }[kind] ?? kind.replace('.yaml', '')
    return `${name}.schema.json`
  }
  expect(schemas).toEqual(files.map((file) => [file, schemaOf(file)]))
})

test('no must needs the clean-up method, which many target files do not name, unless its entry says so', async () => {
  const corpus = await openCorpus()
  const { scenarios, requirements } = corpus
  const excused = new Set(
    requirements.filter(({ untestable }) => untestable?.without !== undefined).map(({ id }) => id),
  )
  const musts = new Set(requirements.filter(({ level }) => level === 'must').map(({ id }) => id))
  const tied = allItems({ ...corpus, scenarios: scenarios.filter(({ needs }) => needs.includes('cleanup')) })
    .filter(({ kind }) => kind !== 'test-key')
    .flatMap((item) => provesOf(item).map((id) => ({ id, by: item.key })))
  expect(tied.length).toBeGreaterThan(5)
  expect(tied.filter(({ id }) => musts.has(id) && !excused.has(id))).toEqual([])
})

test('names of keys have at most twelve characters, because which names are accepted is open', () => {
  const names = readdirSync(join(packageRoot, 'fixtures', 'scenarios'), { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.yaml') && !file.endsWith('name-rules.yaml'))
    .flatMap((file) => shipped(`fixtures/scenarios/${file}`).match(/\bname: +"?[^",}]*\$unique/g) ?? [])
    .map((text) =>
      text
        .replace(/^name: +"?/, '')
        .replace('$unique', 'abcde')
        .replace('$n', '12'),
    )
  expect(names.length).toBeGreaterThan(60)
  const isAscii = (name: string): boolean => /^[ -~]*$/.test(name)
  expect(names.filter((name) => isAscii(name) && name.length > 12)).toEqual([])
})

describe('fixtures that must not load are rejected with these messages', () => {
  for (const name of readdirSync(join(folder, 'invalid'))) {
    test(name, () => {
      const file = `suites/self/fixtures/invalid/${name}`
      const text = readFileSync(join(folder, 'invalid', name), 'utf8')
      const errors = errorsOf(text, file)
      const heads = errors.map(({ message }) => message.split('\n')[0]?.replace(`Cannot load ${file}:`, ''))
      expect(heads).toEqual(messagesWanted(text))
      expect(errors.every(({ code, exitCode }) => code === 'fixture' && exitCode === 2)).toBe(true)
    })
  }
})

test('an error shows the line and points at the place', () => {
  const text = shipped('suites/self/fixtures/invalid/unknown-key.yaml')
  expect(errorsOf(text, 'fixtures/scenarios/tokens/refresh.yaml')[0]?.message).toBe(
    [
      'Cannot load fixtures/scenarios/tokens/refresh.yaml:5:49: unknown key "expext", did you mean "expect"?',
      '',
      '  5 |   - { call: solution/listSolutions, auth: none, expext: refused }',
      '    |                                                 ^',
    ].join('\n'),
  )
})

test.each(readdirSync(join(folder, 'valid-pass')))('a fixture that must load and pass does so: %s', async (name) => {
  const outcomes = await run('valid-pass', name)
  expect(outcomes.map(({ key, verdict, problem }) => ({ key, verdict, problem }))).toEqual(
    outcomes.map(({ key }) => ({ key, verdict: 'passed', problem: null })),
  )
})

describe('fixtures that must load and not pass end as their first line says', () => {
  test.each(readdirSync(join(folder, 'valid-fail')))('%s', async (name) => {
    const [outcome] = await run('valid-fail', name)
    const [, verdict, message = ''] =
      /^# ([a-z-]+): (.*)$/m.exec(shipped(`suites/self/fixtures/valid-fail/${name}`)) ?? []
    expect(outcome?.verdict).toBe(verdict)
    // A requirement is not shown if its case did not show it.
    expect(Object.values(outcome?.requirements ?? {})).toContain(verdict)
    expect(problemText(outcome?.problem).startsWith(message), problemText(outcome?.problem)).toBe(true)
  })

  const failing = { 'signatures/hmac': 'passed', 'basic/credentials': 'failed', 'authorization/required': 'blocked' }
  const warning = { 'signatures/hmac-encoding': 'warned', 'signatures/ecc-encoding': 'passed' }
  test.each([
    ['a failing step fails only what it proves', 'only-the-step-that-fails', failing],
    // It ran and was not judged.
    ['a case is blocked, and so is its requirement', 'value-that-was-not-kept', { 'tokens/authorize': 'blocked' }],
    ['the rest is judged after a warning', 'warning-before-the-end', warning],
  ])('%s', async (_what, name, requirements) => {
    const [outcome] = await run('valid-fail', `${name}.yaml`)
    expect(outcome?.requirements).toEqual(requirements)
  })

  test('a case that came too late was tried three times', async () => {
    const [outcome] = await run('valid-fail', 'answer-too-late.yaml')
    expect(outcome?.calls).toBe(6)
  })
})

/** Loads a fixture, which must be possible, and runs it against a server that also does what the headers of a call say. */
function run(kind: 'valid-pass' | 'valid-fail', name: string): Promise<CaseOutcome[]> {
  const file = `suites/self/fixtures/${kind}/${name}`
  const text = shipped(file)
  expect(errorsOf(text, file)).toEqual([])
  const corpus: Corpus = { ...registers, scenarios: [readScenario(text, file).scenario] }
  const items = allItems(corpus).filter(({ kind: what }) => what === 'case')
  return runAll({ target: obedientTarget(), corpus, items })
}

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
  ['parts of a call', Object.keys(readDeviations().parts).filter((name) => !name.includes(' '))],
  ['JSON forms of a value', [...wraps]],
  ['kinds of nonces', [...wordsOf('nonceKind')]],
])('fixtures/README.md names all %s', (_what, words) => {
  expect(words.length).toBeGreaterThan(0)
  expect(words.filter((word) => !inCode.has(word))).toEqual([])
})

const ofGroup = (group: (typeof mistakeGroups)[number]): [string, string, string[]] => {
  return [`mistakes of ${group}`, `${group}Word`, [...mistakesByWord(group).keys()]]
}
test.each([
  ['alterations', 'alteration', Object.keys(alterWords)],
  ['words of Basic', 'basicAlteration', [...Object.keys(alterWords), ...Object.keys(basicWords)]],
  ['body forms', 'bodyFormWord', [...bodyForms, ...otherBodyForms]],
  ...mistakeGroups.map(ofGroup),
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
  const needs = definitions.plainNeed?.enum ?? []
  const words = [...definitionsOfWords.flatMap(wordsOf), ...bodyForms, ...keysOf('matcher'), ...needs]
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
  const scenario = readScenario(example, 'fixtures/scenarios/signatures/hmac-refused.yaml').scenario
  expect(lintScenario(scenario, context)).toEqual([])
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

const encoder = new TextEncoder()

function answer(status: number, body: unknown, headers: { [name: string]: string } = {}): WireAnswer {
  const text = typeof body === 'string' ? body : JSON.stringify(body)
  return { kind: 'answer', status, headers, body: encoder.encode(text) }
}

const error = { code: 1, message: 'No' }
const idOf = ({ body }: WireRequest): unknown => (JSON.parse(new TextDecoder().decode(body)) as { id: unknown }).id

const none = { kind: 'none', refusedConnection: false, stale: false } as const
const answers: { readonly [name: string]: (request: WireRequest) => WireAnswer } = {
  throttled: () => answer(429, '', { 'retry-after': '1' }),
  unavailable: () => answer(503, '', { 'retry-after': '1' }),
  'error-500': () => answer(500, 'oh no'),
  'error-500-with-error': (request) => answer(500, { jsonrpc: '2.0', id: idOf(request), error }),
  'status-400': () => answer(400, 'Bad request'),
  'status-401': () => answer(401, ''),
  'status-403': () => answer(403, '<h1>Forbidden</h1>'),
  redirected: () => answer(302, '', { location: '/elsewhere' }),
  empty: () => answer(200, ''),
  page: () => answer(200, '<h1>It works</h1>'),
  array: () => answer(200, [{ result: {} }]),
  'jsonrpc-1': (request) => answer(200, { jsonrpc: '1.0', id: idOf(request), result: {} }),
  'error-null': (request) => answer(200, { jsonrpc: '2.0', id: idOf(request), result: {}, error: null }),
  'error-beside-a-result': (request) => answer(200, { jsonrpc: '2.0', id: idOf(request), result: {}, error }),
  nested: () => answer(200, '['.repeat(100_000)),
  unread: () => ({ kind: 'unread', status: 200, headers: {}, limitBytes: 4_194_304 }),
  silent: () => ({ ...none, reason: 'no answer within the time limit of a request', timedOut: true }),
  dropped: () => ({ ...none, reason: 'the connection was dropped without an answer' }),
}

/**
 * The bundled server behind something that does what the headers of a call say: `x-answer` names an answer that comes instead,
 * `x-delay` the milliseconds that pass before the right one.
 */
function obedientTarget(): Target {
  const target = bundledTarget()
  return { ...target, open: async () => obedient(await target.open()) }
}

function obedient(instance: Instance): Instance {
  let throttled = 0
  let isBroken = false
  const send = async (request: WireRequest): Promise<WireAnswer> => {
    const header = (wanted: string) => request.headers.find(([name]) => name === wanted)?.[1]
    const wanted = header('x-answer')
    if (wanted === 'throttled-twice' && throttled < 2) {
      throttled += 1
      return answer(429, '', { 'retry-after': '1' })
    }
    isBroken ||= wanted === 'error-500-from-now-on'
    if (isBroken) return answer(500, 'oh no')
    if (wanted === 'right-with-500') {
      const right = await instance.send(request)
      return right.kind === 'answer' ? { ...right, status: 500 } : right
    }
    await instance.clock.sleep(Number(header('x-delay') ?? 0))
    return answers[wanted ?? '']?.(request) ?? instance.send(request)
  }
  return { ...instance, send, sendTogether: (requests) => Promise.all(requests.map(send)) }
}
