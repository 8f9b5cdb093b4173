import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import { describe, expect, test } from 'vitest'
import { allItems, provesOf } from '../engine/conversation/cases.ts'
import { SuiteError } from '../engine/errors.ts'
import type { CaseOutcome } from '../engine/judge/problem.ts'
import { lintErrors, resultSchemas } from '../engine/language/corpus.ts'
import type { Corpus } from '../engine/language/fixture-types.ts'
import { packageRoot } from '../engine/language/package-root.ts'
import { parseScenario, readScenario } from '../engine/language/parse.ts'
import { problemText } from '../report/problem-text.ts'
import { openCorpus } from '../run/corpus-cache.ts'
import { runAll } from '../run/run.ts'
import { obedientTarget } from './obedient-target.ts'
import { shipped, shippedContext } from './shipped.ts'

const folder = join(packageRoot, 'suites', 'self', 'fixtures')
const context = shippedContext()

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
    .filter((file) => file !== 'vectors/flags.yaml')
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

describe('fixtures that must load and pass do so', () => {
  test.each(readdirSync(join(folder, 'valid-pass')))('%s', async (name) => {
    const outcomes = await run('valid-pass', name)
    expect(outcomes.map(({ key, verdict, problem }) => ({ key, verdict, problem }))).toEqual(
      outcomes.map(({ key }) => ({ key, verdict: 'passed', problem: null })),
    )
  })
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

  test('a failing step fails only what it proves', async () => {
    const [outcome] = await run('valid-fail', 'only-the-step-that-fails.yaml')
    expect(outcome?.requirements).toEqual({
      'signatures/hmac': 'passed',
      'basic/credentials': 'failed',
      'authorization/required': 'blocked',
    })
  })

  test('a case that ran and was not judged is blocked, and so is its requirement', async () => {
    const [outcome] = await run('valid-fail', 'value-that-was-not-kept.yaml')
    expect(outcome?.requirements).toEqual({ 'tokens/authorize': 'blocked' })
  })

  test('the rest is judged after a warning', async () => {
    const [outcome] = await run('valid-fail', 'warning-before-the-end.yaml')
    expect(outcome?.requirements).toEqual({ 'signatures/hmac-encoding': 'warned', 'signatures/ecc-encoding': 'passed' })
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
  const corpus: Corpus = {
    requirements: [...context.requirements.values()],
    questions: [...context.questions.values()],
    testKeys: [...context.testKeys.values()],
    scenarios: [parseScenario(text, file)],
    schemas: resultSchemas(packageRoot),
  }
  const items = allItems(corpus).filter(({ kind: what }) => what === 'case')
  return runAll({ target: obedientTarget(), corpus, items })
}
