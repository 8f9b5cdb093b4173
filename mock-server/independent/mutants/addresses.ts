import { rules as right } from '../../rules.ts'
import type { IndependentMutant } from '../independent-mutant.ts'
import { watch } from '../watch.ts'

/** Part 5.4: ipAddr:ADDR. */
export const addressMutants: IndependentMutant[] = [
  {
    id: 'address-compared-by-prefix',
    breaks: 'addresses/bound',
    about: 'ipAddr:127.0.0.1 lets in 127.0.0.10 too.',
    create: () => ({
      rules: {
        addressTaken: (addresses, remote) =>
          addresses.length === 0 || addresses.some((address) => remote.startsWith(address)),
      },
    }),
  },
  {
    id: 'last-number-of-address-ignored',
    breaks: 'addresses/bound',
    create: () => {
      const network = (address: string) => address.split('.').slice(0, 3).join('.')
      return {
        rules: {
          addressTaken: (addresses, remote) =>
            addresses.length === 0 || addresses.some((address) => network(address) === network(remote)),
        },
      }
    },
  },
  {
    id: 'address-checked-until-first-success',
    breaks: 'addresses/bound',
    needsState: true,
    about: 'A token that was used once from its address works from everywhere.',
    create: () => {
      const seen = watch(() => ({ good: new Set<string>() }))
      return {
        around: seen.around,
        rules: {
          ...seen.notePair,
          addressTaken: (addresses, remote) => {
            const id = seen.pair?.id ?? ''
            if (seen.memory.good.has(id)) return true
            const taken = right.addressTaken(addresses, remote)
            if (taken) seen.memory.good.add(id)
            return taken
          },
        },
      }
    },
  },
  {
    id: 'wrong-address-let-in-on-third-try',
    breaks: 'addresses/bound',
    needsState: true,
    create: () => {
      const seen = watch(() => ({ refusals: new Map<string, number>() }))
      return {
        around: seen.around,
        rules: {
          ...seen.notePair,
          addressTaken: (addresses, remote) => {
            if (right.addressTaken(addresses, remote)) return true
            const id = seen.pair?.id ?? ''
            const count = (seen.memory.refusals.get(id) ?? 0) + 1
            seen.memory.refusals.set(id, count)
            return count >= 3
          },
        },
      }
    },
  },
  {
    id: 'address-not-checked-on-key-creation',
    breaks: 'addresses/bound',
    create: () => {
      const seen = watch()
      return {
        around: seen.around,
        rules: { addressChecked: (moment) => moment === 'call' && !seen.bodyHas('manager/createApiKey') },
      }
    },
  },
  {
    id: 'address-not-checked-in-session',
    breaks: 'addresses/bound',
    about: 'A token that is bound to a session is not bound to its address.',
    create: () => {
      const seen = watch()
      return {
        around: seen.around,
        rules: {
          ...seen.notePair,
          addressTaken: (addresses, remote) =>
            seen.pair?.session !== undefined || right.addressTaken(addresses, remote),
        },
      }
    },
  },
  {
    id: 'address-of-created-key-not-checked',
    breaks: 'addresses/bound',
    create: () => ({ rules: { addressChecked: (moment, key) => moment === 'call' && key.initial } }),
  },
  {
    id: 'right-address-refused-with-expires-in',
    breaks: 'addresses/bound',
    create: () => {
      const seen = watch()
      return {
        around: seen.around,
        rules: {
          ...seen.notePair,
          addressTaken: (addresses, remote) =>
            right.addressTaken(addresses, remote) && (addresses.length === 0 || seen.pair?.expiresInMs === undefined),
        },
      }
    },
  },
]
