import { expect, test } from 'vitest'
import { twelfthProbes } from '../../test-twelfth-probes.ts'
import { startVariantClient } from '../../test-variant-client.ts'
import { testVariantsOneByOne } from '../../test-variant-probes.ts'
import type { IndependentVariant } from '../independent-variant.ts'
import { twelfthVariants } from '../variants.ts'

const taken = [200, undefined]
const unauthorized = [200, 24879]
const full = [200, 24877]
const denied = [403, 48]
/** The refusal of a name by a rule, which has HTTP status 200. */
const refusedName = [200, 48]
const wait = [429, undefined]
const unavailable = [503, undefined]

/** What the probe sees where a variant does exactly what it says. */
const expected: { [id: string]: unknown } = {
  'sleeps-after-thirty-seconds-without-calls': [unavailable, taken, taken, unavailable, unavailable, unauthorized],
  'another-client-uses-most-of-the-rate-in-some-seconds': [60, 4, 30, 1, 60, [429, -32029]],
  'calls-get-slower-until-the-server-restarts': [5050, unavailable, unavailable, taken, 1],
  'results-begin-with-what-everyone-did-before': [
    ['callsSoFar', 'lastCall', 'id', 'secret'],
    3,
    ['callsSoFar', 'lastCall', 'notice', 'solutions'],
    true,
  ],
  'date-header-in-another-zone-or-missing-in-turn': [
    [true, false, true, true],
    ['0 GMT', undefined, '+0200', '0 GMT'],
    true,
    false,
  ],
  'listing-comes-from-a-cache-with-its-old-date': [[2, 2, 3], true, '7', 24879],

  'names-of-deleted-keys-are-never-free-again': [false, false, true],
  'public-keys-are-registered-once-for-ever': [false, false, true],
  'another-client-gives-its-place-back-after-twenty-seconds': [taken, full, taken, full],
  'nodes-hear-of-new-and-enabled-keys-half-a-second-later': [
    unavailable,
    taken,
    unauthorized,
    unavailable,
    taken,
    unauthorized,
  ],
  'each-creation-makes-the-next-one-wait-longer': [taken, wait, taken, wait, taken],
  'refusals-tell-what-became-of-the-named-key': [unauthorized, [423, 4230], [423, 4230], [410, 4100], [404, 4040]],

  'nonces-are-used-up-for-ever-for-every-key': [true, false, true, false, false],
  'common-nonces-were-used-by-others-before': [false, false, false, false, false, true],
  'three-nodes-remember-nonces-each-for-itself': [true, true, true, false, false],
  'restart-every-fifteen-seconds-forgets-nonces': [true, false, unavailable, true, true],
  'clock-goes-five-percent-too-fast-and-too-slow-in-turn': [-250, 0, 250, 0, -250],

  'form-of-tokens-changes-every-ten-seconds': [
    [43, 47, 86, 92],
    [true, true, true, true],
  ],
  'default-access-gets-shorter-the-more-tokens-are-alive': [1_800_000, 900_000, 600_000, 600_000, 60_000],

  'sixteen-sessions-of-another-client-are-there-already': [refusedName, refusedName, taken, true, false],
  'session-names-are-given-once-for-ever': [taken, denied, taken, denied],
  'session-names-belong-to-the-first-key-that-had-them': [taken, denied, taken, taken],
}

test.each(Object.entries(expected))('%s does what it says', async (id, answer) => {
  const variant = twelfthVariants.find((one) => one.id === id)
  const calls = await startVariantClient(variant as IndependentVariant)
  try {
    expect(await twelfthProbes[id]?.(calls)).toEqual(answer)
  } finally {
    await calls.server.close()
  }
})

testVariantsOneByOne(twelfthVariants, twelfthProbes, { all: 22, combined: 22 })
