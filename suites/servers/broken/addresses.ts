import { callerAddress } from '../../../mock-server/caller.ts'
import { type Rules, rules as right } from '../../../mock-server/rules.ts'
import {
  type Around,
  answerThrough,
  type BrokenRows,
  type Change,
  eighth,
  fifth,
  first,
  fourth,
  isAccepted,
  meet,
  namedKeyId,
  ninth,
  own,
  paramsOf,
  readCall,
  scopeOf,
  second,
  tenth,
  third,
  tokenText,
  twelfth,
  withMembers,
} from '../operators.ts'
import { forgivesOnCreation } from './changes.ts'

const addressTaken = (taken: Rules['addressTaken']): Change => ({ addressTaken: taken })

const octets = (address: string, count: number) => address.split('.').slice(0, count).join('.')

/** A rule for addresses that holds beside the right one. */
const alsoFits = (fits: Rules['addressTaken']): Change => ({
  addressTaken: (addresses, remote) => right.addressTaken(addresses, remote) || fits(addresses, remote),
})

const withoutDots = (address: string): string => address.replaceAll('.', '')

const reversed = (address: string): string => address.split('.').reverse().join('.')

const addressesIn = (scope: string[]) =>
  scope.filter((word) => word.startsWith('ipAddr:')).map((word) => word.slice('ipAddr:'.length))

export const addresses: BrokenRows = {
  'addresses/bound': {
    'keys-created-with-a-token-of-another-address': own(forgivesOnCreation('token/address')),
    'address-never-checked': own({ addressChecked: () => false }),
    'address-checked-at-the-grant-only': own({ addressChecked: (moment) => moment === 'grant' }),
    'first-octets-of-the-address-compared': own(
      addressTaken(
        (list, remote) => list.length === 0 || list.some((address) => octets(address, 3) === octets(remote, 3)),
      ),
    ),
    'beginning-of-the-address-compared': own(
      addressTaken((list, remote) => list.length === 0 || list.some((address) => address.startsWith(remote))),
    ),
    'address-that-begins-alike-taken': own(
      addressTaken((list, remote) => list.length === 0 || list.some((address) => remote.startsWith(address))),
    ),
    'address-of-created-keys-never-checked': own({ addressChecked: (moment, key) => moment === 'call' && key.initial }),
    'last-octet-of-the-address-compared': own(
      addressTaken(
        (list, remote) =>
          list.length === 0 || list.some((address) => address.split('.').at(-1) === remote.split('.').at(-1)),
      ),
    ),
    'bound-token-works-from-nowhere': own(addressTaken((list) => list.length === 0)),
    // ipAddr:127.0.0.1 lets in 127.0.0.10 too.
    'address-compared-by-prefix': first({
      addressTaken: (addresses, remote) =>
        addresses.length === 0 || addresses.some((address) => remote.startsWith(address)),
    }),
    'last-number-of-address-ignored': first(() => {
      const network = (address: string) => address.split('.').slice(0, 3).join('.')
      return {
        addressTaken: (addresses, remote) =>
          addresses.length === 0 || addresses.some((address) => network(address) === network(remote)),
      }
    }),
    // A token that was used once from its address works from everywhere.
    'address-checked-until-first-success': first((seen, good = new Set<string>()) => ({
      addressTaken: (addresses, remote) => {
        const id = seen.pair?.id ?? ''
        if (good.has(id)) return true
        const taken = right.addressTaken(addresses, remote)
        if (taken) good.add(id)
        return taken
      },
    })),
    'wrong-address-let-in-on-third-try': first((seen, refusals = new Map<string, number>()) => ({
      addressTaken: (addresses, remote) => {
        if (right.addressTaken(addresses, remote)) return true
        const id = seen.pair?.id ?? ''
        const count = (refusals.get(id) ?? 0) + 1
        refusals.set(id, count)
        return count >= 3
      },
    })),
    'address-not-checked-on-key-creation': first((seen) => ({
      addressChecked: (moment) => moment === 'call' && !seen.bodyHas('manager/createApiKey'),
    })),
    // A token that is bound to a session is not bound to its address.
    'address-not-checked-in-session': first((seen) => ({
      addressTaken: (addresses, remote) => seen.pair?.session !== undefined || right.addressTaken(addresses, remote),
    })),
    'address-of-created-key-not-checked': first({
      addressChecked: (moment, key) => moment === 'call' && key.initial,
    }),
    'right-address-refused-with-expires-in': first((seen) => ({
      addressTaken: (addresses, remote) =>
        right.addressTaken(addresses, remote) && (addresses.length === 0 || seen.pair?.expiresInMs === undefined),
    })),
    // After one accepted token, tokens of other addresses work on the same connection.
    'address-checked-once-for-each-connection': second((seen, checked = new Set<number>()) => ({
      addressTaken: (addresses, remoteAddress) => {
        const { connection = 0 } = seen.request
        const isTaken = right.addressTaken(addresses, remoteAddress)
        if (isTaken && connection > 0) checked.add(connection)
        return isTaken || checked.has(connection)
      },
    })),
    'latest-grant-of-key-sets-address-of-all-its-tokens': second((seen, addresses = new Map<string, string[]>()) => ({
      grantResult: (result, pair) => {
        addresses.set(pair.key.id, pair.addresses)
        return result
      },
      addressTaken: (own, remoteAddress) =>
        right.addressTaken(addresses.get(seen.pair?.key.id ?? '') ?? own, remoteAddress),
    })),
    // ipAddr, expiresIn and session count only among the first four entries of the scope.
    'restrictions-behind-fourth-scope-entry-ignored': second({
      around: (handle) => (request) => {
        const scope = scopeOf(request)
        if (paramsOf(request).grantType !== 'api_key_credentials' || scope.length < 5) return handle(request)
        const kept = scope.filter((entry, index) => index < 4 || !/^(ipAddr|expiresIn|session):/.test(entry))
        const members = readCall(request)
        return handle(withMembers(request, { ...members, params: { ...paramsOf(request), scope: kept } }))
      },
    }),
    'address-not-checked-when-a-key-is-created': second((seen) => ({
      addressTaken: (addresses, remoteAddress) =>
        right.addressTaken(addresses, remoteAddress) || seen.bodyHas('manager/createApiKey'),
    })),
    // The address is kept in a variable of the server while a grant waits, so that the last grant sets it.
    'grants-in-flight-share-addresses': third((seen, shared: string[] = []) => ({
      beforeEffect: (effect) => {
        if (effect !== 'session') return undefined
        shared = addressesIn(seen.scope)
        return meet()
      },
      grantResult: (result, pair) => {
        pair.addresses = shared
        return result
      },
    })),
    // The numbers of the connection are read as signed bytes.
    'address-with-number-above-127-never-fits': third({
      addressTaken: (addresses, remoteAddress) =>
        right.addressTaken(addresses, remoteAddress) &&
        (addresses.length === 0 || remoteAddress.split('.').every((number) => Number(number) <= 127)),
    }),
    // Restrictions are looked for from the second entry on.
    'address-as-first-scope-entry-ignored': third((seen) => ({
      grantResult: (result, pair) => {
        pair.addresses = addressesIn(seen.scope.slice(1))
        return result
      },
    })),
    // The loop over the entries ends at the session; the result repeats the whole scope.
    'entries-behind-session-in-scope-dropped': fourth((seen) => ({
      grantResult: (result, pair) => {
        const entries = seen.scope
        const end = entries.findIndex((entry) => entry.startsWith('session:'))
        const dropped = end < 0 ? [] : entries.slice(end + 1)
        pair.addresses = pair.addresses.filter((address) => !dropped.includes(`ipAddr:${address}`))
        pair.scope = pair.scope.filter((scope) => !dropped.includes(scope))
        return result
      },
    })),
    // Three restrictions together: the last of them to be stored overwrites the first.
    'address-not-checked-with-session-and-expires-in': fourth((seen) => ({
      addressTaken: (addresses, remoteAddress) =>
        right.addressTaken(addresses, remoteAddress) ||
        (seen.pair?.session !== undefined && seen.pair.expiresInMs !== undefined),
    })),
    'address-forgotten-once-its-token-created-a-key': fourth((seen) => ({
      storedKey: (key) => {
        if (seen.pair !== undefined) seen.pair.addresses = []
        return key
      },
    })),
    'address-not-checked-with-apikey-scope': fifth((seen) =>
      alsoFits(() => seen.pair?.scope.includes('apiKey') === true),
    ),
    // An address that is in the list already is taken out of it.
    'address-that-stands-twice-in-scope-not-checked': fifth(
      alsoFits((addresses) => new Set(addresses).size < addresses.length),
    ),
    'address-compared-without-its-dots': fifth(
      alsoFits((addresses, remote) => addresses.some((one) => withoutDots(one) === withoutDots(remote))),
    ),
    'address-not-checked-for-local-callers': eighth({
      addressTaken: (addresses, remoteAddress) =>
        right.addressTaken(addresses, remoteAddress) || remoteAddress.startsWith('127.'),
    }),
    // "Token usable only from connections from the IPv4 address ADDR": that of this token
    'address-that-fitted-once-fits-every-token': eighth((_seen, fitted = new Set<string>()) => ({
      addressTaken: (addresses, remoteAddress) => {
        const fits = right.addressTaken(addresses, remoteAddress)
        if (fits && addresses.length > 0) fitted.add(remoteAddress)
        return fits || fitted.has(remoteAddress)
      },
    })),
    // With ipAddr:1.0.0.127 a token works from 127.0.0.1.
    'address-in-reverse-byte-order-taken-too': ninth({
      addressTaken: (addresses, remote) =>
        right.addressTaken(addresses, remote) || addresses.includes(reversed(remote)),
    }),
    'address-0-0-0-0-taken-for-any': ninth({
      addressTaken: (addresses, remote) => right.addressTaken(addresses, remote) || addresses.includes('0.0.0.0'),
    }),
    'address-of-signed-call-trusted-for-tokens-of-key': ninth((seen, trusted = new Set<string>()) => {
      const note = answerThrough((answer, request, context) => {
        const isSigned = request.headers.authorization?.includes(';') === true
        const place = `${namedKeyId(request)} ${callerAddress(context, request)}`
        if (isSigned && isAccepted(answer)) trusted.add(place)
        return answer
      })
      return {
        around: note,
        addressTaken: (addresses, remote) =>
          right.addressTaken(addresses, remote) || trusted.has(`${seen.pair?.key.id} ${remote}`),
      }
    }),
    // The address of the caller is kept in a variable of the server.
    'calls-in-flight-share-the-address-of-the-last-one': tenth((_seen, address = '') => {
      const wait: Around = (handle, context) => (request) => {
        address = callerAddress(context, request)
        return tokenText(request) === '' ? handle(request) : meet().then(() => handle(request))
      }
      return {
        around: wait,
        addressTaken: (addresses) => right.addressTaken(addresses, address),
      }
    }),
    // The list is kept with the key, and each grant with an address adds one.
    'address-list-of-key-grows-with-its-grants': tenth((_seen, addressesOf = new Map<string, string[]>()) => ({
      grantResult: (result, pair) => {
        if (pair.addresses.length === 0) return result
        pair.addresses = [...new Set([...(addressesOf.get(pair.key.id) ?? []), ...pair.addresses])]
        addressesOf.set(pair.key.id, pair.addresses)
        return result
      },
    })),
    'address-not-checked-when-refreshed-token-creates-key': twelfth((seen) => ({
      addressChecked: (during) =>
        during === 'call' && !((seen.pair?.generation ?? 0) > 0 && seen.method === 'manager/createApiKey'),
    })),
  },
}
