/** Checks after hours and days, if the clock can be moved. */

import { list, refresh, token } from './calls.ts'
import { expectAccepted, expectRefused } from './expect-calls.ts'
import type { Explorer } from './explorer-types.ts'
import { oneKeyMore } from './key-limit.ts'
import { freshName, granted, pairOf } from './keyring.ts'
import { mostSessions } from './session-storms.ts'
import { checkStillValid, expectEveryKeyAccepted, retryRevoked } from './still-valid.ts'
import type { Caller } from './table.ts'

/** A server may let refresh tokens live until a fixed time centuries ahead; the clock is not moved as far. */
const longestLifeMs = 400 * 86_400_000

/** How long refresh tokens live, in ms; null if that is unknown or too long to wait for. */
function refreshLifeOf(x: Explorer): number | null {
  const life = x.state().refreshLifetimeMs
  return life !== null && life > 0 && life <= longestLifeMs ? life : null
}

/** Moves the clock by an hour, a day and more: revoked tokens stay revoked, and valid refresh tokens still work. */
export async function letTimePass(caller: Caller, pick: (count: number) => number): Promise<void> {
  const { x, keyring } = caller
  const who = keyring.secret[0]
  if (!x.options.wire.controlled || who === undefined || !keyring.grants) return
  await longLifetimes(caller, who)
  await slidingTokens(caller, who)
  await refreshedLater(caller, who)
  await sessionsOfDays(caller, who)
  for (const ms of [61 * 60_000, 5 * 3_600_000, 26 * 3_600_000]) {
    await hoursAfter(caller, ms, pick)
    // A server may count only the keys of the last hour, or day.
    if (keyring.keys && keyring.limits && x.state().created > 9) await oneKeyMore(caller)
  }
  for (const days of [8, 40, 100, 400]) {
    await hoursAfter(caller, days * 86_400_000, pick)
    await expectEveryKeyAccepted(caller.x, caller.keyring)
  }
  await sessionsAfterEndedOnes(caller, who)
}

async function hoursAfter(caller: Caller, ms: number, pick: (count: number) => number): Promise<void> {
  const { x, keyring } = caller
  x.script = 'time'
  const who = keyring.secret[pick(keyring.secret.length)] ?? 'root'
  const kept: string[] = []
  for (const scope of [['solution'], ['solution', 'expiresIn:2000'], ['solution', 'context']]) {
    const pair = await granted(x, { who, scope })
    if (pair !== undefined) kept.push(pair)
  }
  const longLife = Math.min(2 * ms, Math.floor(0.8 * (refreshLifeOf(x) ?? 0)))
  const old = await granted(x, { who, scope: ['solution', ...(longLife > ms ? [`expiresIn:${longLife}`] : [])] })
  const newest = freshName(x)
  if (old !== undefined) await x.call(refresh(old, { as: newest }))
  const twice = await pairOf(x, new Map(), { who, scope: ['solution'], generation: 2 })
  if (twice !== undefined) kept.push(twice)
  await x.wait(ms)
  if (old !== undefined) await expectRefused(x, list(token(old)))
  for (const pair of [...kept, ...(x.lines.has(newest) ? [newest] : [])]) {
    await expectRefused(x, list(token(pair)))
    const next = freshName(x)
    await x.call(refresh(pair, { as: next }))
    if (x.lines.has(next)) await expectAccepted(x, list(token(next)))
  }
  if (old !== undefined) await expectRefused(x, refresh(old))
  await retryRevoked(x, 12, pick)
  await checkStillValid(caller, pick)
}

/** Tokens with lifetimes of hours expire as reported. */
async function longLifetimes({ x }: Caller, who: string): Promise<void> {
  x.script = 'time'
  for (const hours of [2, 10]) {
    const pair = await granted(x, { who, scope: ['solution', `expiresIn:${hours * 3_600_000}`] })
    if (pair === undefined) continue
    for (const share of [0.45, 0.4]) {
      await x.wait(hours * 3_600_000 * share)
      await expectAccepted(x, list(token(pair)))
    }
    await x.wait(hours * 3_600_000 * 0.2)
    await expectRefused(x, list(token(pair)))
  }
}

/** The refresh token of a new pair lasts from its own beginning, not from that of the first pair. */
async function refreshedLater({ x }: Caller, who: string): Promise<void> {
  x.script = 'time'
  const life = refreshLifeOf(x)
  const first = life === null ? undefined : await granted(x, { who, scope: ['solution'] })
  if (life === null || first === undefined) return
  const next = freshName(x)
  await x.wait(Math.floor(life * 0.5))
  await x.call(refresh(first, { as: next }))
  await x.wait(Math.floor(life * 0.6))
  if (x.lines.has(next)) await expectAccepted(x, refresh(next, { as: freshName(x) }))
}

/** Sessions of more than a day: the oldest is the first one, not the one with the earliest time of day. */
async function sessionsOfDays({ x, keyring }: Caller, who: string): Promise<void> {
  x.script = 'time'
  const pauseMs = 90 * 60_000
  const life = refreshLifeOf(x)
  const lifetimeMs = 2 * mostSessions * pauseMs
  if (!keyring.limits || life === null || life < lifetimeMs) return
  const pairs: string[] = []
  for (let at = 0; at < mostSessions + 4; at++) {
    const pair = await granted(x, { who, scope: ['solution', 'session:', `expiresIn:${lifetimeMs}`] })
    if (pair !== undefined) pairs.push(pair)
    await x.wait(pauseMs)
  }
  for (const pair of pairs.slice(0, 4)) await expectRefused(x, list(token(pair)))
}

/** Sessions that ended long ago take no place of those that live. */
async function sessionsAfterEndedOnes({ x, keyring }: Caller, who: string): Promise<void> {
  x.script = 'time'
  if (!keyring.limits) return
  const pairs: string[] = []
  for (let at = 0; at < mostSessions; at++) {
    const pair = await granted(x, { who, scope: ['solution', 'session:'] })
    if (pair !== undefined) pairs.push(pair)
  }
  for (const pair of pairs) await expectAccepted(x, list(token(pair)))
}

/** How often a token is used, and for how long, nearly. */
const everyMs = 100_000
const usedMs = 5 * everyMs

/** Using a token prolongs neither token of its pair. */
async function slidingTokens({ x }: Caller, who: string): Promise<void> {
  x.script = 'time'
  const life = refreshLifeOf(x)
  if (life === null || life < usedMs) return
  const pairs = [
    await granted(x, { who, scope: ['solution'] }),
    await granted(x, { who, scope: ['solution', 'expiresIn:60000'] }),
  ]
  for (let turn = 0; turn < 6; turn++) {
    await x.wait(everyMs)
    for (const pair of pairs) if (pair !== undefined) await x.call(list(token(pair)))
  }
  await x.wait(life - usedMs)
  for (const pair of pairs) if (pair !== undefined) await x.call(refresh(pair, { as: freshName(x) }))
}
