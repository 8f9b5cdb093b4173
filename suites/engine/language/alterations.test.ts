import { expect, test } from 'vitest'
import type { Change } from '../signer/changed-call.ts'
import { alterOf, changesOf, partNamed, problemsOfAlter, readDeviations } from './deviations.ts'
import type { Auth, CallStep } from './fixture-types.ts'

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
