import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { SuiteError } from '../engine/errors.ts'
import { lintErrors } from '../engine/fixture/corpus.ts'
import { packageRoot } from '../engine/fixture/package-root.ts'
import { readScenario } from '../engine/fixture/parse.ts'
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

for (const kind of ['valid-pass', 'valid-fail']) {
  describe(`fixtures in ${kind} load`, () => {
    for (const name of readdirSync(join(folder, kind))) {
      test(name, () => {
        const text = readFileSync(join(folder, kind, name), 'utf8')
        expect(errorsOf(text, `suites/self/fixtures/${kind}/${name}`)).toEqual([])
      })
    }
  })
}
