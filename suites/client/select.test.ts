import { expect, test } from 'vitest'
import { clientAuths } from './journal.ts'
import { checks, selectChecks } from './judge.ts'
import { scenarios } from './scenarios.ts'

const all = { auth: clientAuths, only: [], skip: [] }
const idsOf = (only: string[], auth: readonly (typeof clientAuths)[number][] = clientAuths): string[] =>
  selectChecks({ ...all, auth, only }).scenarios.map(({ id }) => id)

test('every check has its own scenario, or applies to every scenario', () => {
  const made = new Set(scenarios.flatMap(({ check, exercises }) => [check, ...exercises]))
  const everywhere = checks.map(({ id }) => id).filter((id) => !made.has(id))
  expect(everywhere.filter((id) => !/^(request|signature|keys|secrets\/not-in-url)/.test(id))).toEqual([])
  expect([...made].filter((id) => !checks.some((check) => check.id === id))).toEqual([])
  expect(new Set(scenarios.map(({ id }) => id)).size).toBe(scenarios.length)
})

test('answers, retries and redirects are tried with every way to authorize; a drop and a throttle with signatures too', () => {
  for (const name of ['error-in-200', 'foreign-id', 'malformed', 'throttled', 'create-key', 'redirect'])
    expect(idsOf([`${name}/`]).sort(), name).toEqual(clientAuths.map((auth) => `${name}/${auth}`).sort())
  expect(idsOf(['dropped'])).toEqual(['dropped/hmac', 'dropped/ecc'])
})

test('a check selects the scenarios that show it, and a scenario selects itself', () => {
  expect(selectChecks(all).scenarios).toEqual(scenarios)
  expect(idsOf(['refresh/single-flight'])).toEqual(['workers/token'])
  expect(idsOf(['signature/base64'], ['hmac', 'ecc'])).toEqual(['plain/hmac', 'plain/ecc'])
  expect(idsOf(['expiry/token'])).toEqual(['expiry/token'])
  const { isReported } = selectChecks({ ...all, only: ['retry'] })
  expect([isReported('retry/signed-anew'), isReported('nonce/unique')]).toEqual([true, false])
  const byScenario = selectChecks({ ...all, only: ['expiry/token'] })
  expect(byScenario.isReported('nonce/unique')).toBe(true)
})

test('a skipped check neither runs nor is reported', () => {
  const skip = [
    { id: 'workers', reason: 'no workers' },
    { id: 'nonce', reason: 'known' },
  ]
  const { scenarios: wanted, isReported } = selectChecks({ ...all, skip })
  expect(wanted.map(({ id }) => id)).not.toContain('workers/token')
  expect([isReported('nonce/unique'), isReported('retry/signed-anew')]).toEqual([false, true])
})

test('an unknown id, or an empty selection, is wrong usage', () => {
  expect(() => idsOf(['expiry/token'], ['hmac'])).toThrow('Nothing is selected')
  expect(() => idsOf(['refresh/single-fligth'])).toThrow('did you mean "refresh/single-flight"?')
  expect(() => selectChecks({ ...all, skip: [{ id: 'x', reason: 'y' }] })).toThrow('"--skip x"')
})
