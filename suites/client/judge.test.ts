import { expect, test } from 'vitest'
import { call, grant, journal, judged, refused, signed, start } from '../self/made-up-journal.ts'
import { clientAuths, type Journal, type Start } from './journal.ts'
import { checks, judgeJournals, selectChecks } from './judge.ts'
import { scenarios } from './scenarios.ts'

const all = { auth: clientAuths, only: [], skip: [] }
const idsOf = (only: string[], auth: readonly (typeof clientAuths)[number][] = clientAuths): string[] =>
  selectChecks({ ...all, auth, only }).scenarios.map(({ id }) => id)

test('every check has its own scenario, or looks at every call', () => {
  const made = new Set(scenarios.flatMap(({ check, exercises }) => [check, ...exercises]))
  const ofPublicKey = [{ kind: 'public', id: 'key-1', publicKey: new Uint8Array(32) }] as const
  const authorization = `Basic ${Buffer.from('key-1:').toString('base64')}`
  const ofEcc = journal([{ at: 0, authorization }], { auth: 'ecc' }, { keys: ofPublicKey })
  const plain = [ofEcc, journal([signed(0, 'n1')], { auth: 'hmac' })]
  const everywhere = checks.map(({ id }) => id).filter((id) => !made.has(id))
  expect(everywhere.filter((id) => plain.every((one) => judged(id, one) === 'not exercised'))).toEqual([])
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
  expect(selectChecks({ ...all, only: ['expiry/token'] }).isReported('nonce/unique')).toBe(true)
})

test('a skipped check neither runs nor is reported', () => {
  const skip = ['workers', 'nonce'].map((id) => ({ id, reason: 'known' }))
  const { scenarios: wanted, isReported } = selectChecks({ ...all, skip })
  expect(wanted.map(({ id }) => id)).not.toContain('workers/token')
  expect([isReported('nonce/unique'), isReported('retry/signed-anew')]).toEqual([false, true])
})

test('an unknown id, or an empty selection, is wrong usage', () => {
  expect(() => idsOf(['expiry/token'], ['hmac'])).toThrow('Nothing is selected')
  expect(() => idsOf(['refresh/single-fligth'])).toThrow('did you mean "refresh/single-flight"?')
  expect(() => selectChecks({ ...all, skip: [{ id: 'x', reason: 'y' }] })).toThrow('"--skip x"')
})

const check = 'retry/create-key-not-repeated'
const working = journal([grant(0, 'a'), call(9, 'a')], {}, { scenario: 'plain/token' })
const scenario = 'create-key/token'
const silent = (more: Partial<Start>): Journal => journal([], {}, { starts: [start(more)], scenario })
const made = [{ id: scenario, check }]
const verdictOn = (...journals: Journal[]): string | undefined =>
  judgeJournals(journals, made).find((one) => one.id === check)?.verdict

test.each<[string, string, Partial<Start>]>([
  ['warned', 'says ok without a call', { ok: 1 }],
  ['warned', 'does not end', { ended: { kind: 'timeout', seconds: 1 } }],
  ['not-exercised', 'makes no call', {}],
  ['not-exercised', 'says error without a call', { error: 1 }],
])(
  'the check of a scenario is %s where a client %s in it; nothing is known about one that never calls',
  (verdict, _what, more) => {
    expect([verdictOn(working, silent(more)), verdictOn(silent(more))]).toEqual([verdict, 'not-exercised'])
    const told = JSON.stringify(judgeJournals([working, silent(more)], made))
    expect(told.includes('still running after 1 s')).toBe(more.ended !== undefined)
  },
)

test.each([
  ['warned', [grant(0, 'a'), call(9, 'a'), call(20, 'a')]],
  // It may be right: a call was refused, or never made.
  ['not-exercised', [grant(0, 'a'), call(9, 'a'), call(20, 'a', refused)]],
  ['not-exercised', [grant(0, 'a'), call(9, 'a')]],
])('"error" although every call got a result is %s', (verdict, entries) => {
  const starts = [start({ ok: 1, error: 1 })]
  expect(verdictOn(journal(entries, {}, { starts, scenario }))).toBe(verdict)
})
