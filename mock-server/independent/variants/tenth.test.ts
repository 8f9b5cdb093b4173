import { expect, test } from 'vitest'
import { tenthProbes } from '../../test-tenth-probes.ts'
import { startVariantClient } from '../../test-variant-client.ts'
import { testVariantsOneByOne } from '../../test-variant-probes.ts'
import type { IndependentVariant } from '../independent-variant.ts'
import { tenthVariants } from '../variants.ts'

const taken = [200, undefined]
const withdrawn = [false, true]
const lost = [false, false]

/** What the probe sees where a variant does exactly what it says. */
const expected: { [id: string]: unknown } = {
  'answers-say-jsonrpc-and-id-twice': '{"jsonrpc":"2.0","id":5,"jsonrpc":"2.0",',
  'batches-answered-from-their-end-with-status-207': [
    [207, expect.arrayContaining(['"id":6', '"id":5'])],
    [200, ['"id":0']],
  ],
  'refused-tokens-get-498-410-440-or-451': [[498, undefined], [410, undefined], 451, [440, undefined]],
  'ended-tokens-get-503-and-a-time-to-wait': [[200, 24879], [503, undefined], 200, [503, undefined]],
  'every-refused-token-is-called-expired': [
    [200, 40101],
    [[200, 40101], [200, 40101], 200, [200, 40101]],
  ],
  'firewall-blocks-markup-and-quotes-in-names': [false, true, [403, undefined]],
  'eleventh-creation-finds-no-such-method': [404, -32601],
  'creation-with-the-same-id-and-body-is-a-retry': [true, false, false],
  'nonces-are-unique-in-their-first-16-characters': [true, false],
  'nonces-are-unique-without-their-letter-case': [true, false],
  'nonces-of-refused-calls-may-come-again': [false, true, false],
  'creations-need-a-timestamp-of-three-seconds': [false, true],
  'macs-are-decoded-before-they-are-compared': [true, true, false],
  'altered-refresh-token-ends-the-line-that-it-names': lost,
  'access-token-from-a-foreign-address-is-withdrawn': withdrawn,
  'refresh-token-shown-as-access-token-is-withdrawn': lost,
  'access-token-used-outside-its-scope-is-withdrawn': withdrawn,
  'used-refresh-token-ends-every-line-of-its-key': [false, true],
  'same-grant-again-ends-the-pair-before': [false, true],
  'cache-of-32-pairs-drops-the-longest-unused': [true, false, true],
  'last-of-several-sessions-and-lifetimes-counts': 5000,
  'throttled-grants-look-like-a-wrong-secret': [taken, [429, 24876]],
  'throttled-creations-look-like-the-key-limit': [taken, [429, 24877]],
  'refused-calls-cost-five-times-as-much': [[200, 24879], [429, undefined], taken, [429, undefined]],
  'session-name-granted-four-times-in-five-seconds': [taken, [429, undefined], taken],
  'lock-doubles-with-every-five-wrong-tries': [[429, undefined], taken, [[429, undefined], taken]],
  'locked-key-is-said-not-to-exist': [[401, 24875], taken],
  'wrong-grants-lock-only-the-grants-of-a-key': [[401, 24876], taken, taken],
  'guessed-key-ids-ban-their-address': [[403, undefined], taken],
  'refresh-in-work-makes-the-others-come-again': [taken, [503, undefined], [503, undefined], [200, 21]],
  'php-pages-behind-an-api-gateway': [
    true,
    4,
    [
      [200, 24876],
      [503, undefined],
    ],
  ],
  'rewrite-with-another-session-store': [
    [200, 40101],
    [[200, 40101], [200, 40101], 200, [200, 40101]],
  ],
  'bank-that-withdraws-every-misused-token': [withdrawn, withdrawn, lost],
  'island-with-a-clock-of-coarse-steps': [true, false, expect.any(Boolean), 0, [false, true, false]],
}

test.each(Object.entries(expected))('%s does what it says', async (id, answer) => {
  const variant = tenthVariants.find((one) => one.id === id)
  const calls = await startVariantClient(variant as IndependentVariant)
  try {
    expect(await tenthProbes[id]?.(calls)).toEqual(answer)
  } finally {
    await calls.server.close()
  }
})

testVariantsOneByOne(tenthVariants, tenthProbes, { all: 36, combined: 36 })
