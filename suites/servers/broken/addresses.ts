import { rules as right } from '../../../mock-server/rules.ts'
import { addressesIn } from '../call.ts'
import { onAccepted, onGrant, onNewKey } from '../events.ts'
import { meet, meeting, tornApart } from '../in-flight.ts'
import { agreesAgain, also, unless } from '../replaced-rules.ts'
import { type BrokenRows, by, type Change, counts, marks, table } from '../rows.ts'
import { forgivesOnCreation } from './credentials.ts'
import { inSession, ofRefresh, shows, withApikey, withLifetime } from './pairs.ts'

/** A token with addresses works where one of them fits. */
const where = (fits: (address: string, remote: string) => boolean): Change => ({
  addressTaken: (list, remote) => list.length === 0 || list.some((address) => fits(address, remote)),
})
/** A token with addresses works elsewhere too. */
const alsoFrom = (fits: (list: string[], remote: string) => boolean): Change => also('addressTaken', fits)
const network = (address: string): string => address.split('.').slice(0, 3).join('.')
const withoutDots = (address: string): string => address.replaceAll('.', '')
const reversed = (address: string): string => address.split('.').reverse().join('.')

/** Part 5.4: ipAddr:ADDR. */
export const addresses: BrokenRows = {
  'addresses/bound': {
    'keys-created-with-a-token-of-another-address': forgivesOnCreation('token/address'),
    'address-never-checked': { addressChecked: () => false },
    'address-checked-at-the-grant-only': { addressChecked: (moment) => moment === 'grant' },
    'first-octets-of-the-address-compared': where((address, remote) => network(address) === network(remote)),
    'beginning-of-the-address-compared': where((address, remote) => address.startsWith(remote)),
    'address-that-begins-alike-taken': where((address, remote) => remote.startsWith(address)),
    'last-octet-of-the-address-compared': where(
      (address, remote) => address.split('.').at(-1) === remote.split('.').at(-1),
    ),
    'bound-token-works-from-nowhere': where(() => false),
    'address-of-created-keys-never-checked': unless('addressChecked', (_moment, key) => !key.initial),
    // A token that was used once from its address works from everywhere.
    'address-checked-until-first-success': by.first(agreesAgain('addressTaken', ({ pair }) => pair?.id)),
    'wrong-address-let-in-on-third-try': by.first((seen, tries = counts()) => alsoFrom(() => tries(seen.pair) >= 3)),
    'address-not-checked-in-session': by.first((seen) => alsoFrom(() => shows(seen, inSession))),
    'right-address-refused-with-expires-in': by.first((seen) =>
      unless('addressTaken', (list) => list.length > 0 && shows(seen, withLifetime)),
    ),
    // After one accepted token, tokens of other addresses work on the same connection.
    'address-checked-once-for-each-connection': by.second(agreesAgain('addressTaken', ({ connection }) => connection)),
    'latest-grant-of-key-sets-address-of-all-its-tokens': by.second((seen, latest = table<string[]>()) => ({
      ...onGrant(({ key, addresses }) => latest.set(key, addresses)),
      addressTaken: (list, remote) => right.addressTaken(latest.get(seen.pair?.key) ?? list, remote),
    })),
    // The address is kept in a variable of the server while a grant waits, so that the last grant sets it.
    'grants-in-flight-share-addresses': by.third((seen, shared: string[] = []) => ({
      ...tornApart('session', () => {
        shared = addressesIn(seen.scope)
        return meet()
      }),
      ...onGrant((pair) => {
        pair.addresses = shared
      }),
    })),
    // The numbers of the connection are read as signed bytes.
    'address-with-number-above-127-never-fits': by.third(
      unless('addressTaken', (list, remote) => list.length > 0 && remote.split('.').some((part) => Number(part) > 127)),
    ),
    // Restrictions are looked for from the second entry on.
    'address-as-first-scope-entry-ignored': by.third((seen) =>
      onGrant((pair) => {
        pair.addresses = addressesIn(seen.scope.slice(1))
      }),
    ),
    // The loop over the entries ends at the session; the result repeats the whole scope.
    'entries-behind-session-in-scope-dropped': by.fourth((seen) =>
      onGrant((pair) => {
        const end = seen.scope.findIndex((entry) => entry.startsWith('session:'))
        const dropped = end < 0 ? [] : seen.scope.slice(end + 1)
        pair.addresses = pair.addresses.filter((address) => !dropped.includes(`ipAddr:${address}`))
        pair.scope = pair.scope.filter((scope) => !dropped.includes(scope))
      }),
    ),
    // Three restrictions together: the last of them to be stored overwrites the first.
    'address-not-checked-with-session-and-expires-in': by.fourth((seen) =>
      alsoFrom(() => shows(seen, inSession) && shows(seen, withLifetime)),
    ),
    'address-forgotten-once-its-token-created-a-key': by.fourth((seen) =>
      onNewKey(() => {
        if (seen.pair !== undefined) seen.pair.addresses = []
      }),
    ),
    'address-not-checked-with-apikey-scope': by.fifth((seen) => alsoFrom(() => shows(seen, withApikey))),
    // An address that is in the list already is taken out of it.
    'address-that-stands-twice-in-scope-not-checked': by.fifth(alsoFrom((list) => new Set(list).size < list.length)),
    'address-compared-without-its-dots': by.fifth(
      where((address, remote) => withoutDots(address) === withoutDots(remote)),
    ),
    'address-not-checked-for-local-callers': by.eighth(alsoFrom((_list, remote) => remote.startsWith('127.'))),
    'address-that-fitted-once-fits-every-token': by.eighth(
      agreesAgain('addressTaken', (_seen, list, remote) => (list.length > 0 ? remote : undefined)),
    ),
    // With ipAddr:1.0.0.127 a token works from 127.0.0.1.
    'address-in-reverse-byte-order-taken-too': by.ninth(alsoFrom((list, remote) => list.includes(reversed(remote)))),
    'address-0-0-0-0-taken-for-any': by.ninth(alsoFrom((list) => list.includes('0.0.0.0'))),
    'address-of-signed-call-trusted-for-tokens-of-key': by.ninth((seen, trusted = marks()) => ({
      ...onAccepted(({ isSigned, keyId, address }) => isSigned && trusted.add(`${keyId} ${address}`)),
      ...alsoFrom((_list, remote) => trusted.has(`${seen.pair?.key.id} ${remote}`)),
    })),
    // The address of the caller is kept in a variable of the server.
    'calls-in-flight-share-the-address-of-the-last-one': by.tenth((_seen, latest = '') => ({
      around: meeting((call) => {
        latest = call.address
        return call.token !== ''
      }),
      addressTaken: (list) => right.addressTaken(list, latest),
    })),
    'address-not-checked-when-refreshed-token-creates-key': by.twelfth((seen) =>
      unless('addressChecked', () => shows(seen, ofRefresh) && seen.creates),
    ),
  },
}
