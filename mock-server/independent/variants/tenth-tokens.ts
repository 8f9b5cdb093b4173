import { callerAddress } from '../../caller.ts'
import type { ServerContext } from '../../context.ts'
import type { MockRequest } from '../../http-server.ts'
import type { Token, TokenPair } from '../../state.ts'
import { endPair, pairsOf } from '../../token-state.ts'
import { answerThrough, isAccepted, paramsOf, readMembers, scopeOf, tokenText, withMembers } from '../calls.ts'
import type { Around, IndependentVariant } from '../independent-variant.ts'
import { isMethod } from '../requests.ts'
import { watch } from '../watch.ts'

type Parts = ReturnType<NonNullable<IndependentVariant['create']>>

/** The refresh token that a call presents; undefined for other calls. */
function presentedRefresh(request: MockRequest): string | undefined {
  const { grantType, refreshToken } = paramsOf(request)
  return grantType === 'refresh_token' ? String(refreshToken) : undefined
}

/** Runs `react` after each refused call, before the refusal is sent. */
function afterRefusal(react: (request: MockRequest, context: ServerContext, code: unknown) => void): Around {
  return answerThrough((answer, request, context) => {
    if (isAccepted(answer)) return answer
    react(request, context, (readMembers(answer.body)?.error as { code?: unknown } | undefined)?.code)
    return answer
  })
}

/** The token of this server that a call shows in its header; a grant needs no header, and what it has there does not count. */
function shownToken(request: MockRequest, { state }: ServerContext): Token | undefined {
  return isMethod(request, 'manager/auth') ? undefined : state.tokens.get(tokenText(request))
}

function shownPair(request: MockRequest, context: ServerContext): TokenPair | undefined {
  const token = shownToken(request, context)
  return token?.kind === 'access' ? token.pair : undefined
}

/** An access token that comes from another address than its own is withdrawn; its refresh token stays. */
export const withdrawAtForeignAddress: Around = afterRefusal((request, context) => {
  const pair = shownPair(request, context)
  if (!pair?.addresses.length || pair.addresses.includes(callerAddress(context, request))) return
  pair.accessRevoked = true
})

/** A refresh token in the Authorization header may have been seen by others, so its pair is withdrawn. */
export const withdrawShownRefreshToken: Around = afterRefusal((request, context) => {
  const token = shownToken(request, context)
  if (token?.kind === 'refresh') endPair(token.pair)
})

/** An access token that is used for an API outside of its scope is withdrawn; its refresh token stays. */
export const withdrawOutsideScope: Around = afterRefusal((request, context, code) => {
  const pair = shownPair(request, context)
  if (pair && code === 24878) pair.accessRevoked = true
})

/** Refresh tokens have a selector, which finds them, and a verifier; a wrong verifier ends the line of the token. */
function endLineOfAlteredToken(): Parts {
  return {
    around: afterRefusal((request, { state }) => {
      const text = presentedRefresh(request)
      if (text === undefined || state.tokens.has(text)) return
      const selector = `${text.split('.')[0]}.`
      for (const token of state.tokens.values()) {
        if (token.kind === 'refresh' && token.text.startsWith(selector)) token.pair.family.revoked = true
      }
    }),
    rules: {
      tokenText: (kind, fresh) => (kind === 'refresh' ? `${fresh.slice(0, 16)}.${fresh.slice(16)}` : fresh),
    },
  }
}

/** A refresh token that comes again ends all pairs of its key outside of sessions, and its own line. */
const endKeyAfterReuse: Around = afterRefusal((request, context) => {
  const used = context.state.tokens.get(presentedRefresh(request) ?? '')
  if (used?.kind !== 'refresh' || used.pair.revokedMs === undefined) return
  used.pair.family.revoked = true
  for (const pair of pairsOf(context)) if (pair.key === used.pair.key && !pair.session) endPair(pair)
})

/** What a pair is good for, as a text. */
const purposeOf = ({ key, scope, addresses, expiresInMs }: TokenPair): string =>
  JSON.stringify([key.id, [...scope].sort(), addresses, expiresInMs])

/** A grant ends the earlier pairs of its key that are good for the same; sessions are left alone. */
function onePairForEachPurpose(): Parts {
  const seen = watch()
  return {
    around: seen.around,
    rules: {
      grantResult: (result, pair) => {
        const earlier = pairsOf(seen.context).filter((other) => other !== pair && !other.session)
        for (const other of earlier) if (!pair.session && purposeOf(other) === purposeOf(pair)) endPair(other)
        return result
      },
    },
  }
}

/** Keeps `most` pairs of everyone outside of sessions; the one that was unused longest is dropped. */
export function dropLongestUnused(most: number): Parts {
  const seen = watch(() => new WeakMap<TokenPair, number>())
  const lastUsedMs = (pair: TokenPair) => seen.memory.get(pair) ?? pair.issuedMs
  const drop = () => {
    const live = pairsOf(seen.context)
      .filter((pair) => !pair.session && !pair.refreshRevoked && pair.refreshExpiryMs > seen.nowMs)
      .sort((one, other) => lastUsedMs(one) - lastUsedMs(other))
    for (const pair of live.slice(0, -most)) endPair(pair)
  }
  return {
    around: seen.around,
    rules: {
      accessExpired: (pair, nowMs) => {
        if (nowMs < pair.accessExpiryMs) seen.memory.set(pair, nowMs)
        return nowMs >= pair.accessExpiryMs
      },
      grantResult: (result) => {
        drop()
        return result
      },
    },
  }
}

/** Leaves only the last session and the last lifetime that a grant asks for. */
const takeLastRestriction: Around = (handle) => (request) => {
  const scope = scopeOf(request)
  const isLast = (word: string, at: number): boolean => {
    const kind = ['session:', 'expiresIn:'].find((name) => word.startsWith(name))
    return kind === undefined || scope.findLastIndex((other) => other.startsWith(kind)) === at
  }
  const params = paramsOf(request)
  if (params.grantType !== 'api_key_credentials' || scope.every(isLast)) return handle(request)
  const members = readMembers(request.body.toString('utf8'))
  return handle(withMembers(request, { ...members, params: { ...params, scope: scope.filter(isLast) } }))
}

/** Parts 3, 5.3, 5.4 and 7: what ends a token besides its expiry and its refresh, and restrictions that come twice. */
export const tenthTokenVariants: IndependentVariant[] = [
  // Part 7 does not show the outcome of a rejected token. The altered token is refused; what it does to the right one is open.
  {
    id: 'altered-refresh-token-ends-the-line-that-it-names',
    questions: ['refresh/family', 'errors/outcomes', 'tokens/format'],
    about: 'A refresh token with the right first half and a wrong second half counts as a theft.',
    create: endLineOfAlteredToken,
  },
  // Part 7 does not show the outcome of a rejected address restriction. The pair can still be refreshed.
  {
    id: 'access-token-from-a-foreign-address-is-withdrawn',
    questions: ['errors/outcomes', 'refresh/foreign-address'],
    about:
      'A token that was used from the wrong address is refused from the right one too, until it is refreshed there.',
    profile: { refreshChecksAddress: true },
    create: () => ({ around: withdrawAtForeignAddress }),
  },
  // Part 7 does not show the outcome of a rejected token, such as a refresh token where an access token belongs.
  {
    id: 'refresh-token-shown-as-access-token-is-withdrawn',
    questions: ['errors/outcomes', 'refresh/family', 'errors/http-status'],
    about: 'Headers are logged, so a refresh token in one is not secret any more, and its pair ends.',
    profile: { refusalStatus: 'http', reuseRevokesFamily: true },
    create: () => ({ around: withdrawShownRefreshToken }),
  },
  // Part 7 does not show the outcome of a rejected scope. The refresh token goes on.
  {
    id: 'access-token-used-outside-its-scope-is-withdrawn',
    questions: ['errors/outcomes', 'errors/codes'],
    about: 'A call to an API that the token does not open ends the access token, and a refresh gives a new one.',
    create: () => ({ around: withdrawOutsideScope }),
  },
  // Parts 3 and 7 do not show what a used refresh token does besides being refused.
  {
    id: 'used-refresh-token-ends-every-line-of-its-key',
    questions: ['refresh/family', 'limits/live-tokens', 'refresh/lifetime-renewed'],
    about: 'After a reuse, all tokens of the key outside of sessions are over, also those of other grants.',
    profile: { refreshLifetime: 'kept' },
    create: () => ({ around: endKeyAfterReuse }),
  },
  // No part says how many pairs of tokens a key may have at once. The 16 sessions are not touched.
  {
    id: 'same-grant-again-ends-the-pair-before',
    questions: ['limits/live-tokens', 'grants/scope-echo'],
    about: 'A key has one pair for each list of scopes, addresses and lifetime; sessions have their own.',
    profile: { scopeEcho: 'sorted' },
    create: onePairForEachPurpose,
  },
  // No part says how many pairs of tokens there may be at once. The 16 sessions are not touched.
  {
    id: 'cache-of-32-pairs-drops-the-longest-unused',
    questions: ['limits/live-tokens', 'errors/outcomes'],
    about: 'Tokens outside of sessions are in one cache for all keys, with room for 32 pairs.',
    create: () => dropLongestUnused(32),
  },
  // Part 5.4 does not show a grant with two sessions or two lifetimes. The reported expiry is the one in force.
  {
    id: 'last-of-several-sessions-and-lifetimes-counts',
    questions: ['expires-in/forms', 'sessions/name-rules', 'grants/extra-params'],
    about: 'The scope of a grant is read into a map, so a later session or lifetime replaces an earlier one.',
    profile: { extraParams: 'ignored' },
    create: () => ({ around: takeLastRestriction }),
  },
]
