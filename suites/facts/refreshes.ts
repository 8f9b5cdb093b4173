/** Part 3: what a refresh keeps, and what a used refresh token does. */
import type { Caller } from './caller.ts'
import { describeReply } from './compare-replies.ts'
import { type Probe, type ProbeResult, resultOf, tokenProbe, word } from './fact.ts'
import { grant, pairOf, requestRefresh, works } from './granted.ts'

async function family(caller: Caller): Promise<ProbeResult> {
  const first = await grant(caller, ['solution'])
  const second = first === null ? null : pairOf(await requestRefresh(caller, first.refresh))
  if (first === null || second === null) return { facts: [] }
  const reuse = await requestRefresh(caller, first.refresh)
  if (reuse.outcome === 'accepted') return { facts: [] }
  const isRevoked = !(await works(caller, second.access))
  return resultOf(
    { reuseRevokesFamily: isRevoked },
    word('refresh/family', 'a used refresh token revokes the newer pair', isRevoked, describeReply(reuse)),
  )
}

async function scopeOnRefresh(caller: Caller): Promise<ProbeResult> {
  const pair = await grant(caller, ['solution', 'context'])
  if (pair === null) return { facts: [] }
  const reply = await requestRefresh(caller, pair.refresh, { scope: ['solution'] })
  const next = pairOf(reply)
  const value = next === null ? 'refused' : next.scope.includes('context') ? 'ignored' : 'narrows'
  return resultOf(
    { scopeOnRefresh: value },
    word('grants/scope-with-refresh', 'scope sent with a refresh', value, describeReply(reply)),
  )
}

const shortLifeMs = 47_000

async function keptLifetimes(caller: Caller): Promise<ProbeResult> {
  const pair = await grant(caller, ['solution', `expiresIn:${shortLifeMs}`])
  if (pair === null) return { facts: [] }
  // Longer than a server rounds expiries.
  await caller.instance.clock.sleep(1300)
  const next = pairOf(await requestRefresh(caller, pair.refresh))
  if (next === null) return { facts: [] }
  const lifeMs = next.accessExpiryMs - caller.serverNowMs()
  const isKept = Math.abs(lifeMs - shortLifeMs) < 2000
  const lifetime = next.refreshExpiryMs - pair.refreshExpiryMs < 600 ? 'kept' : 'new'
  return resultOf(
    { expiresInKept: isKept, refreshLifetime: lifetime },
    word(
      'refresh/expires-in-kept',
      'expiresIn holds after a refresh',
      isKept,
      `${shortLifeMs} ms requested, then ${lifeMs} ms`,
    ),
    word(
      'refresh/lifetime-renewed',
      'refresh lifetime after a refresh',
      lifetime,
      `the new refresh token ends ${next.refreshExpiryMs - pair.refreshExpiryMs} ms later than the old one`,
    ),
  )
}

export const refreshProbes: readonly Probe[] = [
  tokenProbe('used refresh tokens', { calls: 4, refusals: 1, grants: 2 }, family),
  tokenProbe('scope on a refresh', { calls: 2, refusals: 1, grants: 1 }, scopeOnRefresh),
  tokenProbe('lifetimes after a refresh', { calls: 2, refusals: 0, grants: 2 }, keptLifetimes),
]
