import { expect, test } from 'vitest'
import {
  accepted,
  afterGrants,
  at,
  basicHeader,
  hmacHeader,
  judged,
  listWith,
  newState,
  tokenHeader,
} from '../../self/made-up-calls.ts'
import { learn } from './learn.ts'

const noBreakSpace = '\u00a0'

test.each([
  ['Basic credentials', basicHeader()],
  ['a signature', hmacHeader()],
])('whether a no-break space around %s is taken away is open', (_what, header) => {
  expect(judged(newState(), listWith(header), at(0)).is).toBe('accepted')
  for (const odd of [header + noBreakSpace, noBreakSpace + header])
    expect(judged(newState(), listWith(odd), at(0)).is).toBe('open')
})

test('a wrong secret stays wrong with a no-break space behind it', () => {
  const wrong = basicHeader(undefined, 'wrong')
  expect(judged(newState(), listWith(wrong + noBreakSpace), at(0)).is).toBe('refused')
})

test('a token with a no-break space behind it is another spelling', () => {
  const state = afterGrants(newState(), ['one'], ['solution'])
  expect(judged(state, listWith(tokenHeader('one') + noBreakSpace), at(100)).is).not.toBe('refused')
})

test('a body in chunks is open until one was accepted, and a wrong secret is refused either way', () => {
  const right = { ...listWith(basicHeader()), inChunks: true }
  const wrong = { ...listWith(basicHeader(undefined, 'wrong')), inChunks: true }
  expect([right, wrong].map((call) => judged(newState(), call, at(0)).is)).toEqual(['open', 'refused'])
  const shown = learn(newState(), right, accepted(), at(0))
  const signed = { ...listWith(hmacHeader()), inChunks: true }
  expect([right, wrong, signed].map((call) => judged(shown, call, at(10)).is)).toEqual([
    'accepted',
    'refused',
    'accepted',
  ])
})
