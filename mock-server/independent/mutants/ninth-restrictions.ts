import { callerAddress } from '../../caller.ts'
import { rules as right } from '../../rules.ts'
import { pairsOf } from '../../token-state.ts'
import { chain } from '../answers.ts'
import { answerThrough, isAccepted, scopeOf } from '../calls.ts'
import type { IndependentMutant } from '../independent-mutant.ts'
import { namedKeyId } from '../requests.ts'
import { watch } from '../watch.ts'

const reversed = (address: string): string => address.split('.').reverse().join('.')

/** Part 5.4: scopes and addresses. */
export const ninthRestrictionMutants: IndependentMutant[] = [
  {
    // "Token usable only from connections from the IPv4 address ADDR."
    id: 'address-in-reverse-byte-order-taken-too',
    breaks: 'addresses/bound',
    about: 'With ipAddr:1.0.0.127 a token works from 127.0.0.1.',
    create: () => ({
      rules: {
        addressTaken: (addresses, remote) =>
          right.addressTaken(addresses, remote) || addresses.includes(reversed(remote)),
      },
    }),
  },
  {
    // "Token usable only from connections from the IPv4 address ADDR."
    id: 'address-0-0-0-0-taken-for-any',
    breaks: 'addresses/bound',
    create: () => ({
      rules: {
        addressTaken: (addresses, remote) => right.addressTaken(addresses, remote) || addresses.includes('0.0.0.0'),
      },
    }),
  },
  {
    // "`context` | Token limited to the Context API."
    id: 'context-scope-opens-thread-area',
    breaks: 'scopes/context',
    about: 'Threads lie in Contexts, so the code takes them for a part of that API.',
    create: () => ({
      rules: {
        scopeOpens: (scope, area) => right.scopeOpens(scope, area) || (area === 'thread' && scope === 'context'),
      },
    }),
  },
  {
    // "Requires authorization (any method of part 5)"
    id: 'token-with-address-creates-no-keys',
    breaks: 'keys/create-authorized',
    create: () => {
      const seen = watch()
      return {
        around: seen.around,
        rules: {
          ...seen.notePair,
          meansTaken: (_means, method) =>
            method !== 'manager/createApiKey' || seen.pair === undefined || seen.pair.addresses.length === 0,
        },
      }
    },
  },
  {
    // "A key has a scope (a list of scope strings) fixed at creation."
    id: 'stream-granted-to-key-with-store',
    breaks: 'scopes/within-key',
    about: 'It compares the first two letters of areas, and the other way round too.',
    create: () => ({
      rules: {
        scopeWithinKey: (scope, keyScope, profile) =>
          right.scopeWithinKey(scope, keyScope, profile) ||
          (!scope.includes(':') && keyScope.some((held) => held.slice(0, 2) === scope.slice(0, 2))),
      },
    }),
  },
  {
    // "`solution:SOLUTION_ID` | Token may manage Contexts only under the given solution."
    id: 'solution-id-not-held-in-session',
    breaks: 'scopes/solution-id',
    create: () => {
      const seen = watch()
      return {
        around: seen.around,
        rules: {
          ...seen.notePair,
          solutionReached: (scopes, solution) =>
            seen.pair?.session !== undefined || right.solutionReached(scopes, solution),
        },
      }
    },
  },
  {
    // "Token usable only from connections from the IPv4 address ADDR."
    id: 'address-of-signed-call-trusted-for-tokens-of-key',
    breaks: 'addresses/bound',
    needsState: true,
    create: () => {
      const seen = watch(() => ({ trusted: new Set<string>() }))
      const note = answerThrough((answer, request, context) => {
        const isSigned = request.headers.authorization?.includes(';') === true
        const place = `${namedKeyId(request)} ${callerAddress(context, request)}`
        if (isSigned && isAccepted(answer)) seen.memory.trusted.add(place)
        return answer
      })
      return {
        around: chain(seen.around, note),
        rules: {
          ...seen.notePair,
          addressTaken: (addresses, remote) =>
            right.addressTaken(addresses, remote) || seen.memory.trusted.has(`${seen.pair?.key.id} ${remote}`),
        },
      }
    },
  },
  {
    // "`context` | Token limited to the Context API."
    id: 'scopes-of-earlier-session-of-same-name-added',
    breaks: 'scopes/context',
    needsState: true,
    about: 'Scopes are kept with the name of the session.',
    create: () => {
      const seen = watch()
      return {
        around: seen.around,
        rules: {
          grantedScope: (requested) => {
            const entry = scopeOf(seen.request).find((word) => word.startsWith('session:'))
            const earlier = pairsOf(seen.context).filter(
              ({ key, session }) => key.id === namedKeyId(seen.request) && `session:${session?.name}` === entry,
            )
            return [...new Set([...requested, ...earlier.flatMap(({ scope }) => scope)])]
          },
        },
      }
    },
  },
]
