import type { MockRequest } from '../../http-server.ts'
import type { TokenResult } from '../../rules.ts'
import type { Around, IndependentVariant } from '../independent-variant.ts'

/** Reports the granted scope in another way, after a refresh too. */
function echoScope(change: (scope: string[]) => string[]) {
  const echoed = (result: TokenResult) => ({ ...result, scope: change(result.scope) })
  return { grantResult: echoed, refreshResult: echoed }
}

/** Changes the scope name and leaves the id behind a colon as it is. */
const changeWord = (entry: string, change: (word: string) => string) => entry.replace(/^[^:]+/, change)

/** Gives the server other addresses than those of the connections: 127.0.0.x becomes 203.0.113.x. */
const translateAddress: Around = (handle) => (request) =>
  handle({ ...request, remoteAddress: translated(request) } satisfies MockRequest)

const translated = ({ remoteAddress }: MockRequest) =>
  remoteAddress.replace(/^(::ffff:)?127\.0\.0\.(\d+)$/, '203.0.113.$2')

/** Part 5.4: scopes and addresses. */
export const scopeVariants: IndependentVariant[] = [
  {
    id: 'scope-echo-lower-case-reversed',
    questions: ['grants/scope-echo', 'scopes/case'],
    about: 'The granted scope is reported in lower case, last first; scope names are taken in any case.',
    profile: { scopeCase: 'any' },
    create: () => ({
      rules: echoScope((scope) => scope.map((entry) => changeWord(entry, (word) => word.toLowerCase())).reverse()),
    }),
  },
  {
    id: 'scope-echo-upper-case',
    questions: ['grants/scope-echo', 'scopes/case', 'scopes/apikey-spelling'],
    about: 'Scope names are taken in any case and reported in upper case.',
    profile: { scopeCase: 'any', apikeySpelling: 'apikey' },
    create: () => ({
      rules: echoScope((scope) => scope.map((entry) => changeWord(entry, (word) => word.toUpperCase()))),
    }),
  },
  {
    id: 'scope-echo-as-requested-unknown-kept',
    questions: ['grants/scope-echo', 'grants/unknown-scope', 'grants/empty-scope'],
    about: 'The scope is reported as requested, with restrictions and unknown words, which open nothing.',
    profile: { scopeEcho: 'as-requested', unknownScopes: 'left-out', emptyScope: 'refused' },
  },
  {
    id: 'scope-echo-sorted-narrowed-on-refresh',
    questions: ['grants/scope-echo', 'grants/scope-with-refresh', 'grants/extra-params'],
    about: 'The scope is reported in order of the alphabet, and a refresh may narrow it.',
    profile: { scopeEcho: 'sorted', scopeOnRefresh: 'narrows', extraParams: 'ignored' },
  },
  {
    id: 'scope-beyond-key-left-out',
    questions: ['grants/unknown-scope', 'grants/empty-scope', 'keys/scope-above-creator'],
    about: 'What a key does not have is left out of the grant; an empty list asks for the whole key.',
    profile: { unknownScopes: 'left-out', emptyScope: 'whole-key', keyScopeAboveCreator: 'refused' },
    create: () => ({ rules: { scopeBeyondKey: () => 'left-out' } }),
  },
  {
    id: 'scope-of-restrictions-only-is-whole-key',
    questions: ['grants/empty-scope', 'grants/scope-echo', 'sessions/counting'],
    about: 'A grant that asks for restrictions only gets the scope of its key; every grant is a session.',
    profile: { emptyScope: 'whole-key', unnamedCountAsSessions: true },
    create: () => ({
      rules: { grantedScope: (asked, keyScope) => (asked.length === 0 ? keyScope : asked) },
    }),
  },
  {
    id: 'scope-on-refresh-ignored-expires-in-dropped',
    questions: ['grants/scope-with-refresh', 'refresh/expires-in-kept', 'refresh/lifetime-renewed'],
    profile: { scopeOnRefresh: 'ignored', expiresInKept: false, refreshLifetime: 'kept' },
  },
  {
    id: 'scope-one-solution-needs-the-same-in-key',
    questions: ['scopes/solution-id-from-any', 'scopes/case', 'keys/scope-above-creator'],
    about: 'A key with solution:* does not grant solution:ID, and a key makes keys within its own scope only.',
    profile: { solutionIdFromAny: false, scopeCase: 'any', keyScopeAboveCreator: 'refused' },
  },
  {
    id: 'scope-entries-few-and-once',
    questions: ['grants/unknown-scope', 'addresses/forms', 'expires-in/forms'],
    about: 'A grant names at most twelve scopes, each once, and at most one ipAddr.',
    create: () => ({
      rules: {
        paramTaken(method, name, value, valid) {
          if (!valid || method !== 'manager/auth' || name !== 'scope' || !Array.isArray(value)) return valid
          const addresses = value.filter((entry) => String(entry).startsWith('ipAddr:'))
          return value.length <= 12 && new Set(value).size === value.length && addresses.length <= 1
        },
      },
    }),
  },
  {
    id: 'address-of-caller-only',
    questions: ['addresses/forms', 'refresh/foreign-address'],
    about: 'ipAddr is granted for the address of the caller only, and a refresh must come from there.',
    profile: { refreshChecksAddress: true },
    create: () => ({ rules: { addressChecked: () => true } }),
  },
  {
    id: 'address-translated-in-front',
    questions: ['addresses/forwarded', 'addresses/forms'],
    about: 'The server sees its callers at other addresses, as behind an address translation.',
    settings: { clientAddress: '203.0.113.1' },
    create: () => ({ around: translateAddress }),
  },
  {
    id: 'address-translated-and-of-caller-only',
    questions: ['addresses/forwarded', 'addresses/forms', 'refresh/foreign-address'],
    about: 'As behind an address translation, and ipAddr is granted for the address seen there only.',
    profile: { refreshChecksAddress: true },
    settings: { clientAddress: '203.0.113.1' },
    create: () => ({ around: translateAddress, rules: { addressChecked: () => true } }),
  },
  {
    id: 'address-forwarded-counts',
    questions: ['addresses/forwarded', 'refresh/foreign-address', 'addresses/forms'],
    about: 'X-Forwarded-For counts as the address, of grants, calls and refreshes alike.',
    profile: { trustProxy: true, refreshChecksAddress: true },
    create: () => ({ rules: { addressChecked: () => true } }),
  },
]
