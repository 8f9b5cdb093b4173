import { expect, test } from 'vitest'
import { lifetime } from './tokens.ts'

test.each([
  [7 * 86_400_000, 7, 'days'],
  [24 * 3_600_000, 24, 'hours'],
  [15 * 60_000, 15, 'minutes'],
  [90_000, 90, 'seconds'],
  [61 * 60_000, 61, 'minutes'],
])('%i ms are %s %s', (ms, value, unit) => {
  expect(lifetime(ms)).toEqual({ value, unit })
})
