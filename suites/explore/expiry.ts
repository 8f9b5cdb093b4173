/** Tokens of every kind that expire within seconds, used before and tried after. */

import { changed, create, list, refresh, token } from './calls.ts'
import { creation, expectAccepted, expectRefused } from './expect-calls.ts'
import type { Explorer } from './explorer-types.ts'
import { apikeyScope, freshName, granted, ownAddress } from './keyring.ts'
import type { Caller } from './table.ts'

/** Pairs that expire soon. */
export interface Expiring {
  /** When all of them have expired, on the target's clock. */
  readonly due: number
  readonly pairs: readonly string[]
  /** Pairs that were refreshed, and whose successors expire soon. */
  readonly replaced: readonly string[]
}

/** How long after a reported expiry the model is certain of it: its clock is known to a second, and servers may round. */
const certainlyOverMs = 3000

/** How often pairs are refreshed before they expire. */
const generations = [1, 2, 3]

/** Uses a pair of every kind, then waits until it has expired. */
export async function beginExpiry(caller: Caller, users: readonly string[]): Promise<Expiring> {
  const { x } = caller
  x.script = 'expiry'
  const lifetimeMs = 3000
  const words = apikeyScope(x) ?? []
  const made: string[] = []
  const replaced: string[] = []
  for (const who of users)
    for (const scope of [
      ['solution'],
      ['solution', 'session:'],
      ['solution', 'ipAddr:'],
      ['solution', 'solution:'],
      ['solution', ...words],
    ]) {
      const pair = await granted(x, { who, scope: [...scope, `expiresIn:${lifetimeMs}`] })
      if (pair !== undefined) made.push(pair)
      if (pair !== undefined) await expectAccepted(x, list(token(pair)))
    }
  for (const who of users.slice(0, 2))
    for (const generation of generations) {
      const first = await granted(x, { who, scope: ['solution', `expiresIn:${lifetimeMs}`] })
      if (first === undefined) continue
      const line = [first]
      for (let turn = 0; turn < generation; turn++) {
        const next = freshName(x)
        await x.call(refresh(line.at(-1) ?? first, { as: next }))
        if (x.lines.has(next)) line.push(next)
      }
      made.push(...line.splice(-1))
      replaced.push(...line)
    }
  return { due: x.options.wire.now() + lifetimeMs + certainlyOverMs, pairs: made, replaced }
}

/** Using a token does not prolong it. */
export async function useWhileWaiting(x: Explorer, pairs: readonly string[]): Promise<void> {
  for (const pair of pairs.filter((_, at) => at % 2 === 0)) await expectAccepted(x, list(token(pair)))
}

/** expires-in/enforced, tokens/expire, refresh/after-access-expiry. */
export async function endExpiry({ x, keyring }: Caller, { pairs, replaced }: Expiring): Promise<void> {
  x.script = 'expiry'
  for (const pair of replaced) {
    await expectRefused(x, list(token(pair)))
    await expectRefused(x, refresh(pair))
  }
  for (const pair of pairs) {
    await expectRefused(x, list(token(pair)))
    await expectRefused(x, list({ kind: 'token', token: `$${pair}.refreshToken` }))
    await expectRefused(x, changed(refresh(pair), { field: 'param refreshToken', place: `$${pair}.accessToken` }))
    await expectRefused(x, list(token(pair), { connection: 'new' }))
    if (keyring.keys && x.state().created <= 9)
      await expectRefused(x, create(token(pair), { name: 'deviation-$unique', scope: ['solution'] }))
  }
  for (const pair of pairs) {
    const next = freshName(x)
    await x.call(refresh(pair, { as: next }))
    if (!x.lines.has(next)) continue
    await x.call(list(token(next)))
    await expectRefused(x, list(token(pair)))
  }
}

/** The shortest lifetime that every server accepts, and when a token of that lifetime has certainly ended. */
const briefMs = 1000
const surelyEndedMs = briefMs + 1300

interface BriefPair {
  readonly who: string
  readonly pair: string
  /** Of the same key, and valid for longer. */
  readonly lasting: string | undefined
  /** Bound to our address. */
  readonly isBound: boolean
}

/** Pairs whose access token ends while little else happens: a server may bound how many pairs of a key live. */
async function briefPairs(x: Explorer, users: readonly string[]): Promise<BriefPair[]> {
  const pairs: BriefPair[] = []
  for (const who of new Set(users)) {
    const lasting = await granted(x, { who, scope: ['solution'] })
    const brief = `expiresIn:${briefMs}`
    for (const scope of [
      ['solution', brief],
      ['solution', brief, 'ipAddr:'],
      ['context', brief, 'session:', 'ipAddr:'],
      ['solution', brief, 'session:', 'solution:'],
      ['solution', brief, 'context', 'session:'],
    ]) {
      const pair = await granted(x, { who, scope })
      if (pair !== undefined)
        pairs.push({ who, pair, lasting, isBound: scope.includes('ipAddr:') && ownAddress(x).length > 0 })
    }
    const last = pairs.at(-1)
    const next = freshName(x)
    if (last?.who !== who) continue
    // Whether the lifetime lasts beyond a refresh is open; its refresh token does either way.
    await x.call(refresh(last.pair, { as: next }))
    if (x.lines.has(next)) pairs.splice(-1, 1, { ...last, pair: next })
  }
  return pairs
}

const usedLifeMs = 3000
/** So early that the token is certainly valid, and so late that a lifetime from then on lasts beyond the last check. */
const usedAfterMs = 1600
const usedEndMs = usedLifeMs + 1300

/** expires-in/enforced: using a token does not prolong it. */
export async function usedBeforeExpiry(
  { x, keyring }: Caller,
  users: readonly string[],
  meanwhile: (ms: number) => Promise<void>,
): Promise<void> {
  x.script = 'expiry/used'
  const { wire } = x.options
  const made: string[] = []
  const begunMs = wire.now()
  for (const who of new Set(users))
    for (const words of [[], ['session:'], ['ipAddr:']]) {
      const pair = await granted(x, { who, scope: ['solution', `expiresIn:${usedLifeMs}`, ...words] })
      if (pair !== undefined) made.push(pair)
    }
  // Creations may be checked in another place.
  const creators: string[] = []
  for (const words of keyring.keys ? [['session:'], ['ipAddr:']] : []) {
    const scope = ['solution', ...(apikeyScope(x) ?? []), `expiresIn:${usedLifeMs}`, ...words]
    const pair = await granted(x, { who: users[0] ?? 'root', scope })
    if (pair !== undefined) creators.push(pair)
  }
  const grantedMs = wire.now()
  await meanwhile(Math.max(0, begunMs + usedAfterMs - grantedMs))
  for (const pair of [...made, ...creators]) await expectAccepted(x, list(token(pair)))
  await meanwhile(Math.max(0, grantedMs + usedEndMs - wire.now()))
  for (const pair of made) await expectRefused(x, list(token(pair)))
  for (const pair of creators) if (x.state().created <= 9) await expectRefused(x, creation(token(pair)))
}

/** A pair that was refreshed after its access token had expired. */
export interface LatePair {
  readonly who: string
  readonly pair: string
}

/**
 * refresh/after-access-expiry: what else its key does meanwhile does not end a refresh token, and the new pair is bound as the old one was.
 *
 * @returns the new pairs
 */
export async function endBeside(
  { x, keyring }: Caller,
  users: readonly string[],
  meanwhile: (ms: number) => Promise<void>,
): Promise<LatePair[]> {
  x.script = 'expiry/beside'
  const late: LatePair[] = []
  const pairs = await briefPairs(x, users)
  for (const { lasting } of pairs) if (lasting !== undefined) await x.call(list(token(lasting)))
  await meanwhile(surelyEndedMs)
  // That a shorter token of the same key ended does not end this one.
  for (const { lasting } of pairs) if (lasting !== undefined) await x.call(list(token(lasting)))
  for (const { who, pair, lasting, isBound } of pairs) {
    await expectRefused(x, list(token(pair)))
    const other = await granted(x, { who, scope: ['solution'] })
    // Shows that a new grant without a session does not end earlier ones here.
    if (lasting !== undefined) await x.call(list(token(lasting)))
    if (other !== undefined) await x.call(refresh(other, { as: freshName(x) }))
    const next = freshName(x)
    await x.call(refresh(pair, { as: next }))
    if (!x.lines.has(next)) continue
    late.push({ who, pair: next })
    await x.call(list(token(next)))
    if (keyring.keys && x.state().created <= 9) await expectRefused(x, creation(token(next)))
    if (!isBound) continue
    for (const { name } of x.addresses.slice(1)) await expectRefused(x, list(token(next), { from: name }))
  }
  return late
}

/** refresh/session-kept: a pair that was refreshed late ends with its session, which newer sessions of its key removed. */
export async function endLatePairs({ x }: Caller, late: readonly LatePair[], who: string): Promise<void> {
  for (const { pair } of late.filter((one) => one.who === who)) {
    await expectRefused(x, list(token(pair)))
    await expectRefused(x, refresh(pair))
  }
}
