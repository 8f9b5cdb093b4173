import { expect, test } from 'vitest'
import type { Called } from '../judge/called.ts'
import { observedValue } from './observed-values.ts'

const nowMs = 1_800_000_000_000
const granted = {
  answer: {
    outcome: 'accepted',
    result: {
      accessToken: 'eyJhbGciOiJub25lIn0.e30.',
      accessTokenExpiry: nowMs + 900_300,
      refreshToken: '0123456789abcdef',
      refreshTokenExpiry: nowMs + 7 * 86_400_000,
    },
  },
  time: { answeredAtMs: nowMs },
} as unknown as Called

test.each([
  ['limits/token-lifetimes', 'access token: 15 min, refresh token: 7 d'],
  ['sessions/lifetime', 'its refresh token: 7 d'],
  ['tokens/format', 'access token: 24 characters, a JWT, refresh token: 16 characters, hex'],
  ['keys/name-rules', undefined],
])('%s is answered with %s', (question, answer) => {
  expect(observedValue(question, granted)).toBe(answer)
})
