import { expect, test } from 'vitest'
import { eleventhProbes } from '../../test-eleventh-probes.ts'
import { startVariantClient } from '../../test-variant-client.ts'
import { testVariantsOneByOne } from '../../test-variant-probes.ts'
import type { IndependentVariant } from '../independent-variant.ts'
import { eleventhVariants } from '../variants.ts'

const taken = [200, undefined]
const wait = [429, undefined]
const unauthorized = [200, 24879]
const full = [200, 24877]

/** What the probe sees where a variant does exactly what it says. */
const expected: { [id: string]: unknown } = {
  'refusals-have-another-form-each-time': [200, 401, 'closed', 500, 204, 302, 200],
  'header-is-judged-before-the-body-is-read': [401, 400, 400],
  'ids-secrets-and-tokens-look-like-variables-of-templates': ['$$', '$$%$&', '$.', '.$.', true],
  'addresses-in-the-scope-of-a-key-are-in-force': [unauthorized, unauthorized, taken, taken, false],
  'disabling-a-key-ends-its-tokens-and-sessions-for-good': [true, false, false],
  'places-of-deleted-keys-are-free-three-seconds-later': [full, full, taken],
  'full-list-of-keys-is-told-before-anything-else': [unauthorized, full, full],
  'timestamps-from-before-their-key-are-refused': [true, false, true],
  'last-twenty-nonces-of-each-address-are-remembered': [true, false, true, true],
  'tokens-begin-with-their-line-and-its-number': [
    [true, '0', '1'],
    [true, '0', '1'],
  ],
  'ended-tokens-are-not-found-after-two-seconds': [
    [403, 1002],
    [404, 1001],
  ],
  'young-tokens-must-come-again-a-moment-later': [[503, undefined], taken, taken],
  'gateway-remembers-refused-tokens-for-two-seconds': [unauthorized, unauthorized, taken],
  'word-for-one-solution-opens-the-listing-too': [true, false],
  'scope-of-result-adds-words-for-reading-and-writing': ['solution', 'solution.read', 'solution.write', 'solution:*'],
  'uses-of-sessions-are-noted-in-steps-of-ten-seconds': [true, true, false, true],
  'name-of-a-removed-session-rests-for-two-seconds': [wait, taken, taken],
  'session-names-are-decoded-like-urls': [['solution', 'session:a%2Db'], true],
  'clock-set-back-a-quarter-second-every-five-seconds': [false, false, 20 - 249],
  'five-refusals-of-one-kind-in-two-seconds': [[401, 24879], wait, [404, -32601], taken, [401, 24879]],
  'refused-call-sent-again-unchanged-must-wait': [unauthorized, wait, unauthorized, unauthorized],
  'bytes-of-bodies-are-limited-and-not-calls': [200, 200, 429, 200, 429],
  'an-address-works-for-three-keys-in-two-seconds': [
    unauthorized,
    unauthorized,
    unauthorized,
    wait,
    unauthorized,
    taken,
  ],
  'writes-of-one-key-in-flight-together-conflict': [taken, [409, 40901], [409, 40901], taken],
}

test.each(Object.entries(expected))('%s does what it says', async (id, answer) => {
  const variant = eleventhVariants.find((one) => one.id === id)
  const calls = await startVariantClient(variant as IndependentVariant)
  try {
    expect(await eleventhProbes[id]?.(calls)).toEqual(answer)
  } finally {
    await calls.server.close()
  }
})

testVariantsOneByOne(eleventhVariants, eleventhProbes, { all: 24, combined: 24 })
