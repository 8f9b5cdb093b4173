import { admit, callerAddress, findKey, identify, keyProblem, secretProblem } from '../caller.ts'
import { optional } from '../checks.ts'
import type { ServerContext } from '../context.ts'
import { type Outcome, refuse, succeed } from '../refusal.ts'
import type { TokenResult } from '../rules.ts'
import { effectiveKeyScope, readScopeRequest, type ScopeRequest } from '../scopes.ts'
import type { ApiKey, TokenPair } from '../state.ts'
import { endPair, enterSession, issuePair, openSession, pairsOf, planSession, tokenProblem } from '../token-state.ts'
import { anything, asList, asText, type Call, carryOut, type Method, paramsProblem, text, textList } from './method.ts'

const credentialsParams: Method['params'] = {
  grantType: anything,
  scope: textList,
  apiKeyId: text(1, 128),
  apiKeySecret: text(1, 1024),
}

/** Part 4.2: tokens for the credentials of a key, or for a refresh token. */
export const auth: Method = {
  name: 'manager/auth',
  area: undefined,
  // They depend on the grant type, so they are checked below.
  params: {},
  run(call) {
    const { context, params, request } = call
    const { rules, profile } = context
    if (request.headers.authorization !== undefined) {
      if (profile.authHeaderOnGrant === 'refused') return refuse('unauthorized', 'authorization/not-wanted')
      const judged =
        profile.authHeaderOnGrant === 'judged' ? admit(context, identify(context, request), auth.name) : undefined
      if (judged && !judged.ok) return judged
    }
    switch (rules.grantType(params)) {
      case 'api_key_credentials':
        return grant(call)
      case 'refresh_token':
        return refresh(call)
      default:
        return refuse('params', 'params/grantType')
    }
  },
}

function grant(call: Call): Outcome<object> | Promise<Outcome<object>> {
  const { context, params } = call
  const { rules, profile } = context
  const problem = paramsProblem(context, 'manager/auth', credentialsParams, params)
  if (problem) return problem
  const found = findKey(context, asText(params.apiKeyId), 'grant')
  if (!found.ok) return refuse('unknownKey', found.refusal.stage)
  const key = found.value
  const stage = secretProblem(context, key, asText(params.apiKeySecret), 'grant')
  if (stage !== undefined) {
    if (rules.refusedGrantOpensSession()) openSession(context, key, undefined)
    for (const pair of rules.endedByRefusal(() => pairsOf(context), key)) endPair(pair)
    return refuse('credentials', stage)
  }

  const requested = asList(params.scope)
  const read = readScopeRequest(requested, profile, rules)
  if ('refused' in read) return refuse('scope', 'scope/form', read.refused)
  const granted = grantScopes(context, key, requested, read.request)
  if (!granted.ok) return granted
  const { addresses } = read.request
  if (rules.addressChecked('grant', key) && !rules.addressTaken(addresses, callerAddress(context, call.request))) {
    return refuse('unauthorized', 'token/address')
  }
  const { sessionName } = read.request
  const counts = sessionName === undefined ? profile.unnamedCountAsSessions : rules.sessionCreated(sessionName)
  const planned = counts ? planSession(context, key, sessionName) : undefined
  if (planned?.ok === false) return planned
  return carryOut(context, 'session', () => {
    const pair = issuePair(context, {
      key,
      scope: granted.value,
      scopeEcho: echo(profile.scopeEcho, granted.value, requested),
      addresses,
      session: planned && enterSession(context, planned.value),
      expiresInMs: read.request.expiresInMs,
    })
    return succeed(rules.grantResult(tokenResult(context, pair), pair))
  })
}

/** The scopes in force, or why not: unknown words, words beyond the key's, an expiresIn beyond the refresh lifetime. */
function grantScopes(
  context: ServerContext,
  key: ApiKey,
  requested: string[],
  wanted: ScopeRequest,
): Outcome<string[]> {
  const { rules, profile } = context
  const [unknown] = wanted.unknown
  if (unknown !== undefined && profile.unknownScopes === 'refused') return refuse('scope', 'scope/unknown', unknown)
  // The initial key has every scope in the server's own spelling, whichever spelling callers use.
  const keyScope = key.scope === context.root.scope ? key.scope : effectiveKeyScope(key.scope, profile)
  const beyond = wanted.scopes.filter((scope) => !rules.scopeWithinKey(scope, keyScope, profile))
  if (beyond[0] !== undefined && rules.scopeBeyondKey() === 'refused')
    return refuse('scope', 'scope/beyond-key', beyond[0])
  if (requested.length === 0 && profile.emptyScope === 'refused') return refuse('params', 'params/scope')
  if (
    wanted.expiresInMs !== undefined &&
    wanted.expiresInMs > rules.refreshLifeMs(profile) &&
    rules.expiresInTooLong(profile) === 'refused'
  ) {
    return refuse('scope', 'scope/expires-in', `expiresIn:${wanted.expiresInMs}`)
  }
  if (requested.length === 0 && profile.emptyScope === 'whole-key')
    return succeed(rules.grantedScope(keyScope, keyScope))
  return succeed(
    rules.grantedScope(
      wanted.scopes.filter((scope) => !beyond.includes(scope)),
      keyScope,
    ),
  )
}

function echo(form: ServerContext['profile']['scopeEcho'], scope: string[], requested: string[]): string[] {
  if (form === 'as-requested') return requested
  return form === 'sorted' ? [...scope].sort() : scope
}

/** Part 3 and 4.2: a new pair for a refresh token; the old pair is revoked. */
function refresh(call: Call): Outcome<object> | Promise<Outcome<object>> {
  const { context, params } = call
  const { rules, profile } = context
  const problem = paramsProblem(context, 'manager/auth', refreshParams(call), params)
  if (problem) return problem
  if (rules.refreshNeedsScope() && params.scope === undefined) return refuse('params', 'params/scope')

  const text = asText(params.refreshToken)
  const found = tokenProblem(context, text, 'refresh')
  if (!found.ok) {
    const reused = context.state.tokens.get(text)
    if (profile.reuseRevokesFamily && reused?.kind === 'refresh' && found.refusal.stage === 'token/revoked') {
      reused.pair.family.revoked = true
    }
    for (const pair of rules.endedByRefusal(() => pairsOf(context), undefined)) endPair(pair)
    return found
  }
  const old = found.value.pair
  const stage = keyProblem(context, old.key, 'token')
  if (stage !== undefined) return refuse('unknownKey', stage)
  if (profile.refreshChecksAddress && !rules.addressTaken(old.addresses, callerAddress(context, call.request))) {
    return refuse('token', 'token/address')
  }
  if (old.generation >= rules.refreshesAllowed()) return refuse('token', 'token/spent')
  return carryOut(context, 'refresh', () => renew(call, old))
}

function refreshParams({ context }: Call): Method['params'] {
  const wide = context.profile.scopeOnRefresh !== 'refused' || context.rules.refreshNeedsScope()
  return {
    grantType: anything,
    refreshToken: text(1, 8192),
    ...(wide ? { scope: optional(textList) } : {}),
  }
}

function renew({ context, params }: Call, old: TokenPair): Outcome<object> {
  const { rules, profile } = context
  const revoked = rules.revokedByRefresh()
  if (revoked.length > 0) old.revokedMs = context.now()
  if (revoked.includes('access')) old.accessRevoked = true
  if (revoked.includes('refresh')) old.refreshRevoked = true
  for (const other of rules.endedBesideRefresh(() => pairsOf(context), old)) endPair(other)
  if (rules.refreshOpensSession()) openSession(context, old.key, undefined)
  const requested =
    profile.scopeOnRefresh === 'narrows' && params.scope !== undefined ? asList(params.scope) : undefined
  const narrow = (scopes: string[]) => (requested ? scopes.filter((scope) => requested.includes(scope)) : scopes)
  const pair = issuePair(context, {
    key: old.key,
    scope: narrow(rules.refreshedScope(old)),
    scopeEcho: narrow(rules.refreshedScopeEcho(old)),
    addresses: rules.refreshedAddresses(old),
    session: rules.refreshedSession(old),
    expiresInMs: rules.refreshedExpiresInMs(old, profile),
    old,
  })
  return succeed(rules.refreshResult(tokenResult(context, pair), old))
}

/** The six members of the result. */
export function tokenResult({ rules }: ServerContext, pair: TokenPair): TokenResult {
  return {
    accessToken: pair.accessToken,
    accessTokenExpiry: rules.reportedAccessExpiry(pair),
    refreshToken: pair.refreshToken,
    refreshTokenExpiry: rules.reportedRefreshExpiry(pair),
    tokenType: 'Bearer',
    scope: pair.scopeEcho,
  }
}
