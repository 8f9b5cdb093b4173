import { expect, test } from 'vitest'
import type { Call } from '../engine/model/state.ts'
import {
  accepted,
  afterGrants,
  at,
  grantCall,
  listWith,
  newState,
  refreshCall,
  tokenHeader,
  tokensOf,
} from '../self/made-up-calls.ts'
import { type CaseCall, isIndependent } from './case-call.ts'

const answered = { answer: accepted(), span: at(1), order: { from: 1, to: 2 }, isPlain: true }
const caseCall = (call: Call): CaseCall => ({ call, ...answered })

test('the order of a refresh and a use of its pair matters; a refresh token beside the credentials of a grant refreshes nothing', () => {
  const state = { ...afterGrants(newState(), ['p'], ['solution']), sessions: [] }
  const use = caseCall(listWith(tokenHeader('p')))
  const { refresh } = tokensOf('p')
  expect(isIndependent(state, [caseCall(refreshCall(refresh)), use])).toBe(false)
  expect(isIndependent(state, [caseCall(grantCall(['solution'], { refreshToken: refresh })), use])).toBe(true)
})
