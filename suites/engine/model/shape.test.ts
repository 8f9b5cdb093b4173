import { expect, test } from 'vitest'
import { accepted, at, grantCall, newState, pairAnswer } from '../../self/made-up-calls.ts'
import { shape } from './shape.ts'
import type { Answer } from './state.ts'

const resultOf = (answer: Answer): object => (answer.kind === 'accepted' ? (answer.result as object) : {})

test.each([
  ['accessTokenExpiry', 900_000, 'accessTokenExpiry is 900000, expected an integer of 13 digits'],
  ['refreshTokenExpiry', 'in a week', 'refreshTokenExpiry is a string, expected an integer of 13 digits'],
  ['accessToken', undefined, 'accessToken is missing, expected a string'],
  ['tokenType', 'bearer', 'tokenType is a string, expected "Bearer"'],
  ['scope', 'solution', 'scope is a string, expected an array of strings'],
])('a wrong %s is named with what is expected, and a text is not shown', (name, value, message) => {
  const result = { ...resultOf(pairAnswer('a', ['solution'], at(0))), [name]: value }
  expect(shape(newState(), grantCall(['solution']), accepted(result), at(0))).toMatchObject([{ message }])
})
