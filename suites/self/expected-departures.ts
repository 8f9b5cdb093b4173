/** Cases that do not pass against a conforming variant, each with its reason. No such case fails. */

interface Departure {
  /** `verdict key` */
  case: string
  reason: string
}

const oldestGone =
  'The document implies that a creation beyond the tenth is refused; what happens to it is not shown, so this is a warning'
const oneAddress = 'The server sees every call come from the proxy, so we have no second address there'

const sameAddressOnly = 'The document does not show from which address a bound token may be refreshed'

const keyOfOneSolution = ['the-area', 'another-solution', 'all-solutions'].map(
  (testCase) => `within-key-of-one-solution/${testCase}`,
)

const noKeyOfOneSolution: readonly Departure[] = [
  'solution-id',
  'solution-id-after-refresh',
  'solution-id-in-company/beside-the-scope-solution',
  'solution-id-in-company/without-the-scope-context',
  ...keyOfOneSolution,
].map((name) => ({
  case: `not-testable scopes/${name}`,
  reason: 'No key can be created here that holds a scope of one solution, and the root key grants none',
}))

export const expectedDepartures: { readonly [variant: string]: readonly Departure[] } = {
  'refresh-from-the-bound-address-only': ['a-lifetime', 'a-session', 'nothing-else'].map((name) => ({
    case: `not-testable refresh/address-kept-in-company/${name}`,
    reason: sameAddressOnly,
  })),
  'plain-key-names-only': [
    {
      case: 'not-testable signatures/body-in-utf-8',
      reason:
        'The name of a key is the one text that a documented and signed call may carry freely, and here it may not',
    },
  ],
  'few-words-in-keys': keyOfOneSolution.map((testCase) => ({
    case: `not-testable scopes/${testCase}`,
    reason: 'The scope of a key has only words of the examples here, none for one solution',
  })),
  'no-more-scope-than-the-creator': keyOfOneSolution.map((testCase) => ({
    case: `not-testable scopes/${testCase}`,
    reason: 'A key gets only words that its creator has here, and the root key has no word for one solution',
  })),
  'further-header-fields-ignored': ['header-fields/one-too-many', 'ecc-header/one-field-too-many'].map((testCase) => ({
    case: `warned signatures/${testCase}`,
    reason: 'The document shows five fields and does not say what becomes of a sixth; that it is refused is implied',
  })),
  'public-keys-once-only': ['can-be-deleted', 'can-be-disabled', 'scope-held'].map((scenario) => ({
    case: `not-testable keys/${scenario}-with-public-key`,
    reason: 'A second key of bob would have to have the public key of his first, and no other private key is at hand',
  })),
  'no-token-word': ['every-letter', 'one-letter'].map((name) => ({
    case: `not-testable tokens/other-word/${name}-in-the-other-case`,
    reason: 'No word stands before a token here, so there is none to spell in another way',
  })),
  'behind-a-local-proxy': [
    { case: 'not-testable addresses/second-address', reason: oneAddress },
    { case: 'not-testable refresh/address-kept', reason: oneAddress },
  ],
  'eleventh-key-removes-the-oldest': ['limits/api-keys', 'limits/eleventh'].map((testCase) => ({
    case: `warned ${testCase}`,
    reason: oldestGone,
  })),
}

/** Departures that occur only in a server with two of these variants. */
const departuresOfPairs: readonly { pair: readonly [string, string]; departures: readonly Departure[] }[] = [
  { pair: ['no-solution-id-from-any', 'no-more-scope-than-the-creator'], departures: noKeyOfOneSolution },
]

/** The expected departures of a server with these variants. */
export function departuresOf(ids: readonly string[]): string[] {
  const ofPairs = departuresOfPairs.filter(({ pair }) => pair.every((id) => ids.includes(id)))
  const all = [...ids.flatMap((id) => expectedDepartures[id] ?? []), ...ofPairs.flatMap(({ departures }) => departures)]
  return [...new Set(all.map((departure) => departure.case))].sort()
}
