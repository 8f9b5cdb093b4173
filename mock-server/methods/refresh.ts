import { callerAddress, keyProblem } from '../caller.ts'
import { type Outcome, refuse, succeed } from '../refusal.ts'
import { openSession } from '../sessions.ts'
import type { TokenPair } from '../state.ts'
import { endPair, issuePair, pairsOf, tokenProblem } from '../token-state.ts'
import { asList, asText, type Call, type Method, optional, paramsProblem, text, textList } from './method.ts'
import { tokenResult } from './token-result.ts'

/** Part 3 and 4.2: a new pair for a refresh token; the old pair is revoked. */
export function refresh(call: Call): Outcome<object> | Promise<Outcome<object>> {
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
  const wait = rules.beforeEffect('refresh')
  return wait ? wait.then(() => renew(call, old)) : renew(call, old)
}

function refreshParams({ context }: Call): Method['params'] {
  const wide = context.profile.scopeOnRefresh !== 'refused' || context.rules.refreshNeedsScope()
  return {
    grantType: { valid: () => true, optional: true },
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
