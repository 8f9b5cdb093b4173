import { isIPv4 } from 'node:net'
import type { Rules } from '../../../mock-server/rules.ts'
import { rules as reference } from '../../../mock-server/rules.ts'
import { calls } from '../around.ts'
import { isOneSolution, isRestriction } from '../call.ts'
import type { Change } from '../rows.ts'
import { auth, by, type ConformingRows, noGrantWith, withScope } from './rows.ts'

type Granted = Parameters<Rules['grantResult']>[0]

/** Adds members to what grants and refreshes report, or replaces some. */
function results(more: (result: Granted) => object): Change {
  const changed = (result: Granted) => ({ ...result, ...more(result) })
  return { grantResult: changed, refreshResult: changed }
}

/** Changes what grants and refreshes report as the scope. */
const echo = (change: (scope: string[]) => string[]): Change => results(({ scope }) => ({ scope: change(scope) }))

/** Changes the scope of grants before the server sees it. */
const regrant = (change: (scope: string[]) => string[]): Change =>
  calls((call) => {
    const scope = call.scope
    const changed = call.isGrant ? change(scope) : scope
    return changed.join('\n') === scope.join('\n') ? undefined : withScope(call, changed)
  })

/** An IPv4 address in the forms of inet_aton, such as 127.1, 0x7f000001 and 0177.0.0.1, in the usual form. */
function usualAddress(text: string): string {
  const isOldForm = /^(0x[0-9a-f]+|[0-9]+)(\.(0x[0-9a-f]+|[0-9]+)){0,3}$/i.test(text)
  return isOldForm && URL.canParse(`http://${text}/`) ? new URL(`http://${text}/`).hostname : ''
}
const withUsualAddress = (word: string): string =>
  word.startsWith('ipAddr:') && !isIPv4(word.slice(7)) ? `ipAddr:${usualAddress(word.slice(7))}` : word

/** Of several restrictions of one kind the last one counts. */
const isLastOfKind = (word: string, at: number, scope: string[]): boolean => {
  const kind = ['session:', 'expiresIn:'].find((name) => word.startsWith(name))
  return kind === undefined || scope.findLastIndex((other) => other.startsWith(kind)) === at
}

/** Words that limit a token to an API area, or to the management of keys. */
const limits = /^(solution|context|thread|store|inbox|stream|apikey)$/i

/** Parts 4.2 and 5.4: grants, scopes and addresses. */
export const grantsRows: ConformingRows = {
  'forwarding-header-trusted': by.own('addresses/forwarded trustProxy=true'),
  'further-params-ignored': by.own('grants/extra-params extraParams=ignored'),
  'scope-names-in-any-case': by.own('scopes/case scopeCase=any'),
  'apikey-in-lower-case': by.own('scopes/apikey-spelling apikeySpelling=apikey'),
  'apikey-in-camel-case': by.own('scopes/apikey-spelling apikeySpelling=apiKey'),
  'unknown-scopes-left-out': by.own('grants/unknown-scope unknownScopes=left-out'),
  'empty-scope-is-the-whole-key': by.own('grants/empty-scope emptyScope=whole-key'),
  'empty-scope-refused': by.own('grants/empty-scope emptyScope=refused'),
  'scopes-echoed-as-requested': by.own('grants/scope-echo scopeEcho=as-requested'),
  'scopes-echoed-sorted': by.own('grants/scope-echo scopeEcho=sorted'),
  'no-solution-id-from-any': by.own('scopes/solution-id-from-any solutionIdFromAny=false'),
  'token-for-solutions-alone-opens-all-of-its-key': by.reported('scopes/solution-id-alone', (seen) => ({
    scopeNeeded: (_method, area) => {
      const { scope, key } = seen.pair ?? {}
      const isLimited = scope === undefined || scope.some((word) => limits.test(word))
      return isLimited || key?.scope.some((word) => reference.scopeOpens(word, area)) !== true
    },
  })),
  'header-on-a-grant-judged': by.own('grants/authorization-header authHeaderOnGrant=judged'),
  'header-on-a-grant-refused': by.own('grants/authorization-header authHeaderOnGrant=refused'),
  'scope-on-a-refresh-ignored': by.own('grants/scope-with-refresh scopeOnRefresh=ignored'),
  'scope-on-a-refresh-narrows': by.own('grants/scope-with-refresh scopeOnRefresh=narrows'),
  // A proxy on the same machine: whichever of our addresses we call from, the server sees the proxy's.
  'behind-a-local-proxy': by.own('', { addressTaken: (addresses) => reference.addressTaken(addresses, '127.0.0.1') }),
  // The granted scope is reported in lower case, last first; scope names are taken in any case.
  'scope-echo-lower-case-reversed': by.first('grants/scope-echo scopes/case scopeCase=any', [
    echo((scope) => scope.map((entry) => entry.replace(/^[^:]+/, (word) => word.toLowerCase())).reverse()),
  ]),
  // What a key does not have is left out of the grant; an empty list asks for the whole key.
  'scope-beyond-key-left-out': by.first(
    'grants/unknown-scope grants/empty-scope keys/scope-above-creator',
    'unknownScopes=left-out emptyScope=whole-key keyScopeAboveCreator=refused',
    [{ scopeBeyondKey: () => 'left-out' }],
  ),
  // A grant that asks for restrictions only gets the scope of its key; every grant is a session.
  'scope-of-restrictions-only-is-whole-key': by.first(
    'grants/empty-scope grants/scope-echo sessions/counting emptyScope=whole-key unnamedCountAsSessions=true',
    [{ grantedScope: (wanted, keyScope) => (wanted.length === 0 ? keyScope : wanted) }],
  ),
  // A grant names at most twelve scopes, each once, and at most one ipAddr.
  'scope-entries-few-and-once': by.first('grants/unknown-scope addresses/forms expires-in/forms', [
    noGrantWith((scope) => {
      const addresses = scope.filter((word) => word.startsWith('ipAddr:'))
      return scope.length > 12 || new Set(scope).size < scope.length || addresses.length > 1
    }),
  ]),
  // ipAddr is granted for the address of the caller only, and a refresh must come from there.
  'address-of-caller-only': by.first('addresses/forms refresh/foreign-address refreshChecksAddress=true', {
    // Addresses of grants are checked too.
    addressChecked: () => true,
  }),
  // The server sees its callers at other addresses, as behind an address translation.
  'address-translated-in-front': by.first('addresses/forwarded addresses/forms clientAddress=203.0.113.1', [
    // 127.0.0.x becomes 203.0.113.x.
    calls((call) => ({
      ...call.request,
      remoteAddress: call.request.remoteAddress.replace(/^(::ffff:)?127\.0\.0\.(\d+)$/, '203.0.113.$2'),
    })),
  ]),
  // The scope of a result has an expiresIn even if none was asked for; access lasts for ten minutes.
  'scope-of-result-tells-the-lifetime': by.third('grants/scope-echo limits/token-lifetimes accessLifeMs=600000', [
    (seen) =>
      results(({ scope, accessTokenExpiry }) => ({ scope: [...scope, `expiresIn:${accessTokenExpiry - seen.nowMs}`] })),
  ]),
  // A refresh ignores a scope and anything else, but is refused with the secret of a key beside it.
  'refresh-takes-further-params-but-no-secret': by.third(
    'grants/extra-params grants/scope-with-refresh errors/outcomes extraParams=ignored scopeOnRefresh=ignored',
    [
      (seen) => ({
        paramTaken: (method, name, _value, valid) =>
          valid && !(method === auth && name === 'refreshToken' && seen.params.apiKeySecret !== undefined),
      }),
    ],
  ),
  'scope-of-result-lists-restrictions-first': by.fourth('grants/scope-echo', (seen) => ({
    grantResult: (result) => ({ ...result, scope: [...seen.scope.filter(isRestriction), ...result.scope] }),
  })),
  // A token for two addresses can be granted, and is usable from neither.
  'several-addresses-must-all-fit': by.fifth('addresses/forms', {
    addressTaken: (addresses, remote) => addresses.every((one) => one === remote),
  }),
  'mapped-addresses-and-ranges-of-one-host-taken': by.fifth('addresses/forms', [
    regrant((scope) => scope.map((word) => word.replace(/^ipAddr:(?:::ffff:)?([^/]*)(?:\/32)?$/, 'ipAddr:$1'))),
  ]),
  // A token for no API is useless, so a list of restrictions alone is refused like an empty one.
  'grants-need-an-api-area-and-ignore-other-params': by.sixth(
    'grants/empty-scope grants/extra-params grants/scope-with-refresh',
    'emptyScope=refused extraParams=ignored scopeOnRefresh=ignored',
    [regrant((scope) => (scope.every(isRestriction) ? [] : scope))],
  ),
  // A grant repeats its list, a refresh reads the scopes from the record; a scope beside it is ignored.
  'restrictions-in-scope-of-grant-and-not-of-refresh': by.sixth(
    'grants/scope-echo grants/scope-with-refresh scopeEcho=as-requested scopeOnRefresh=ignored',
    [{ refreshedScopeEcho: ({ scope }) => scope }],
  ),
  // Part 5.4 says "the IPv4 address ADDR" and not in which notation; the token is bound to the address that is meant.
  // 127.1, 2130706433 and 0x7f.0.0.1 are all 127.0.0.1, and a refresh must come from there too.
  'addresses-in-any-form-of-inet-aton-taken': by.seventh(
    'addresses/forms refresh/foreign-address refreshChecksAddress=true',
    [regrant((scope) => scope.map(withUsualAddress))],
  ),
  // Part 5.4 speaks of "the given solution"; what a grant for a solution that is not there does is not shown.
  // A grant of solution:ID is refused when there is no such solution, and unknown words are left out.
  'solution-scope-needs-a-solution-that-exists': by.seventh(
    'grants/unknown-scope scopes/solution-id-from-any unknownScopes=left-out',
    (seen) =>
      noGrantWith((scope) =>
        scope.some((word) => isOneSolution(word) && !seen.state.solutions.has(word.slice('solution:'.length))),
      ),
  ),
  // Part 5.4 does not show a grant with two sessions or two lifetimes. The reported expiry is the one in force.
  // The scope of a grant is read into a map, so a later session or lifetime replaces an earlier one.
  'last-of-several-sessions-and-lifetimes-counts': by.tenth(
    'expires-in/forms sessions/name-rules grants/extra-params extraParams=ignored',
    [regrant((scope) => scope.filter(isLastOfKind))],
  ),
  // Part 5.4 limits what solution:SOLUTION_ID does to Contexts, and does not say whether it opens the Solution API too.
  // A caller with solution:ID or solution:* may list solutions; only a key with solution:ID passes it on.
  'word-for-one-solution-opens-the-listing-too': by.eleventh(
    'scopes/solution-id-from-any solutions/list-result solutionIdFromAny=false listShape=counted',
    [
      {
        scopeOpens: (scope, area) =>
          reference.scopeOpens(scope, area) || (area === 'solution' && scope.startsWith('solution:')),
      },
    ],
  ),
  // Part 4.2 shows the granted scope by an example. The further words open nothing that the API of the first does not have.
  // Beside solution there are solution.read and solution.write; whoever asks for them gets nothing by it.
  'scope-of-result-adds-words-for-reading-and-writing': by.eleventh(
    'grants/scope-echo grants/unknown-scope unknownScopes=left-out',
    [echo((scope) => scope.flatMap((word) => (word.includes(':') ? [word] : [word, `${word}.read`, `${word}.write`])))],
  ),
}
