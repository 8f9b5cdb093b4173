import { callerAddress } from '../../../mock-server/caller.ts'
import { rules as right } from '../../../mock-server/rules.ts'
import type { ApiKey } from '../../../mock-server/state.ts'
import {
  afterCalls,
  agreesAgain,
  also,
  type BrokenRows,
  type Change,
  counts,
  eighth,
  fifth,
  first,
  fourth,
  isAccepted,
  meet,
  meeting,
  namedKeyId,
  ninth,
  onGrant,
  own,
  second,
  tenth,
  third,
  tokenText,
  twelfth,
  unless,
} from '../operators.ts'
import { forgivesOnCreation } from './changes.ts'
import { changingParams, inSession, ofRefresh, onNewKey, shows, withApikeyScope, withLifetime } from './pairs.ts'

/** A token with addresses works where one of them fits. */
const where = (fits: (address: string, remote: string) => boolean): Change => ({
  addressTaken: (list, remote) => list.length === 0 || list.some((address) => fits(address, remote)),
})
/** A token with addresses works elsewhere too. */
const alsoFrom = (fits: (list: string[], remote: string) => boolean): Change => also('addressTaken', fits)
const network = (address: string): string => address.split('.').slice(0, 3).join('.')
const withoutDots = (address: string): string => address.replaceAll('.', '')
const reversed = (address: string): string => address.split('.').reverse().join('.')
const addressesIn = (scope: string[]) =>
  scope.filter((word) => word.startsWith('ipAddr:')).map((word) => word.slice('ipAddr:'.length))

/** Part 5.4: ipAddr:ADDR. */
export const addresses: BrokenRows = {
  'addresses/bound': {
    'keys-created-with-a-token-of-another-address': own(forgivesOnCreation('token/address')),
    'address-never-checked': own({ addressChecked: () => false }),
    'address-checked-at-the-grant-only': own({ addressChecked: (moment) => moment === 'grant' }),
    'first-octets-of-the-address-compared': own(where((address, remote) => network(address) === network(remote))),
    'beginning-of-the-address-compared': own(where((address, remote) => address.startsWith(remote))),
    'address-that-begins-alike-taken': own(where((address, remote) => remote.startsWith(address))),
    'last-octet-of-the-address-compared': own(
      where((address, remote) => address.split('.').at(-1) === remote.split('.').at(-1)),
    ),
    'bound-token-works-from-nowhere': own(where(() => false)),
    'address-of-created-keys-never-checked': own(unless('addressChecked', (_moment, key) => !key.initial)),
    // A token that was used once from its address works from everywhere.
    'address-checked-until-first-success': first(agreesAgain('addressTaken', ({ pair }) => pair?.id)),
    'wrong-address-let-in-on-third-try': first((seen, tries = counts()) => alsoFrom(() => tries(seen.pair) >= 3)),
    'address-not-checked-on-key-creation': first((seen) => unless('addressChecked', () => seen.creates)),
    'address-not-checked-in-session': first((seen) => alsoFrom(() => shows(seen, inSession))),
    'right-address-refused-with-expires-in': first((seen) =>
      unless('addressTaken', (list) => list.length > 0 && shows(seen, withLifetime)),
    ),
    // After one accepted token, tokens of other addresses work on the same connection.
    'address-checked-once-for-each-connection': second(agreesAgain('addressTaken', ({ connection }) => connection)),
    'latest-grant-of-key-sets-address-of-all-its-tokens': second(
      (seen, latest = new Map<ApiKey | undefined, string[]>()) => ({
        ...onGrant(({ key, addresses }) => latest.set(key, addresses)),
        addressTaken: (list, remote) => right.addressTaken(latest.get(seen.pair?.key) ?? list, remote),
      }),
    ),
    // ipAddr, expiresIn and session count only among the first four entries of the scope.
    'restrictions-behind-fourth-scope-entry-ignored': second({
      around: changingParams(({ scope, ...params }) => {
        if (!Array.isArray(scope) || scope.length < 5) return undefined
        const kept = scope.filter((entry, index) => index < 4 || !/^(ipAddr|expiresIn|session):/.test(String(entry)))
        return { ...params, scope: kept }
      }),
    }),
    // The address is kept in a variable of the server while a grant waits, so that the last grant sets it.
    'grants-in-flight-share-addresses': third((seen, shared: string[] = []) => ({
      beforeEffect: (effect) => {
        if (effect !== 'session') return undefined
        shared = addressesIn(seen.scope)
        return meet()
      },
      ...onGrant((pair) => {
        pair.addresses = shared
      }),
    })),
    // The numbers of the connection are read as signed bytes.
    'address-with-number-above-127-never-fits': third(
      unless('addressTaken', (list, remote) => list.length > 0 && remote.split('.').some((part) => Number(part) > 127)),
    ),
    // Restrictions are looked for from the second entry on.
    'address-as-first-scope-entry-ignored': third((seen) =>
      onGrant((pair) => {
        pair.addresses = addressesIn(seen.scope.slice(1))
      }),
    ),
    // The loop over the entries ends at the session; the result repeats the whole scope.
    'entries-behind-session-in-scope-dropped': fourth((seen) =>
      onGrant((pair) => {
        const end = seen.scope.findIndex((entry) => entry.startsWith('session:'))
        const dropped = end < 0 ? [] : seen.scope.slice(end + 1)
        pair.addresses = pair.addresses.filter((address) => !dropped.includes(`ipAddr:${address}`))
        pair.scope = pair.scope.filter((scope) => !dropped.includes(scope))
      }),
    ),
    // Three restrictions together: the last of them to be stored overwrites the first.
    'address-not-checked-with-session-and-expires-in': fourth((seen) =>
      alsoFrom(() => shows(seen, inSession) && shows(seen, withLifetime)),
    ),
    'address-forgotten-once-its-token-created-a-key': fourth((seen) =>
      onNewKey(() => {
        if (seen.pair !== undefined) seen.pair.addresses = []
      }),
    ),
    'address-not-checked-with-apikey-scope': fifth((seen) => alsoFrom(() => shows(seen, withApikeyScope))),
    // An address that is in the list already is taken out of it.
    'address-that-stands-twice-in-scope-not-checked': fifth(alsoFrom((list) => new Set(list).size < list.length)),
    'address-compared-without-its-dots': fifth(
      where((address, remote) => withoutDots(address) === withoutDots(remote)),
    ),
    'address-not-checked-for-local-callers': eighth(alsoFrom((_list, remote) => remote.startsWith('127.'))),
    'address-that-fitted-once-fits-every-token': eighth((_seen, fitted = new Set<string>()) => ({
      addressTaken: (list, remote) => {
        const fits = right.addressTaken(list, remote)
        if (fits && list.length > 0) fitted.add(remote)
        return fits || fitted.has(remote)
      },
    })),
    // With ipAddr:1.0.0.127 a token works from 127.0.0.1.
    'address-in-reverse-byte-order-taken-too': ninth(alsoFrom((list, remote) => list.includes(reversed(remote)))),
    'address-0-0-0-0-taken-for-any': ninth(alsoFrom((list) => list.includes('0.0.0.0'))),
    'address-of-signed-call-trusted-for-tokens-of-key': ninth((seen, trusted = new Set<string>()) => ({
      around: afterCalls((answer, request, context) => {
        const isSigned = request.headers.authorization?.includes(';') === true
        if (isSigned && isAccepted(answer)) trusted.add(`${namedKeyId(request)} ${callerAddress(context, request)}`)
      }),
      ...alsoFrom((_list, remote) => trusted.has(`${seen.pair?.key.id} ${remote}`)),
    })),
    // The address of the caller is kept in a variable of the server.
    'calls-in-flight-share-the-address-of-the-last-one': tenth((seen, latest = '') => ({
      around: meeting((request) => {
        latest = callerAddress(seen.context, request)
        return tokenText(request) !== ''
      }),
      addressTaken: (list) => right.addressTaken(list, latest),
    })),
    // The list is kept with the key, and each grant with an address adds one.
    'address-list-of-key-grows-with-its-grants': tenth((_seen, lists = new Map<ApiKey, string[]>()) =>
      onGrant((pair) => {
        if (pair.addresses.length === 0) return
        pair.addresses = [...new Set([...(lists.get(pair.key) ?? []), ...pair.addresses])]
        lists.set(pair.key, pair.addresses)
      }),
    ),
    'address-not-checked-when-refreshed-token-creates-key': twelfth((seen) =>
      unless('addressChecked', () => shows(seen, ofRefresh) && seen.creates),
    ),
  },
}
