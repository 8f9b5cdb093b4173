/** Calls at once, judged as histories: on new connections and on warm ones, several rounds each. */

import { basic, changed, ecc, grant, hmac, list, none, refresh, token } from './calls.ts'
import { creation, expectAccepted, expectRefused } from './expect-calls.ts'
import { apikeyScope, byRoot, freshName, granted } from './keyring.ts'
import type { CallStep } from './step.ts'
import type { Caller } from './table.ts'

/** Opens connections and uses them, so that the calls that follow arrive together. */
async function warm({ x }: Caller, count: number): Promise<void> {
  for (let lane = 1; lane <= count; lane++) await x.call(list(byRoot(x), { connection: lane }))
}

interface Race {
  readonly who: string
  readonly on: 'new' | 'warm'
  readonly count: number
  /** How often the pair was refreshed before. */
  readonly generation: number
}

/** refresh/revokes-refresh: of simultaneous refreshes of one token exactly one succeeds, and the old access token is revoked afterwards. */
export async function refreshRace(caller: Caller, { who, on, count, generation }: Race): Promise<void> {
  const { x } = caller
  x.script = `races/refresh/${on}`
  let pair = await granted(x, { who, scope: ['solution'] })
  for (let turn = 0; turn < generation && pair !== undefined; turn++) {
    const next = freshName(x)
    await x.call(refresh(pair, { as: next }))
    pair = x.lines.has(next) ? next : undefined
  }
  if (pair === undefined) return
  const old = pair
  if (on === 'warm') await warm(caller, count)
  const at = freshName(x, 'race')
  const calls = Array.from({ length: count }, (_, lane) => refresh(old, { as: `${at}x${lane}` }))
  await x.burst({ do: 'burst', calls, on })
  await expectRefused(x, list(token(pair)))
  for (const one of calls) if (one.as !== undefined && x.lines.has(one.as)) await x.call(list(token(one.as)))
}

/** An old access token during the refresh that revokes it: it must not work after the answer to the refresh. */
export async function refreshBesideUse(caller: Caller, who: string, on: 'new' | 'warm'): Promise<void> {
  const { x } = caller
  x.script = `races/refresh-beside-use/${on}`
  const pair = await granted(x, { who, scope: ['solution'] })
  if (pair === undefined) return
  if (on === 'warm') await warm(caller, 6)
  const next = freshName(x)
  const calls: CallStep[] = [
    list(token(pair)),
    refresh(pair, { as: next }),
    ...Array.from({ length: 4 }, () => list(token(pair))),
  ]
  await x.burst({ do: 'burst', calls, on })
  await expectRefused(x, list(token(pair)))
  if (x.lines.has(next)) await x.call(list(token(next)))
}

/** sessions/at-most-sixteen: creates many sessions at once, then counts the live ones. */
export async function sessionRace(caller: Caller, who: string, on: 'new' | 'warm', count: number): Promise<void> {
  const { x } = caller
  x.script = `races/sessions/${on}`
  if (on === 'warm') await warm(caller, count)
  const at = freshName(x, 'crowd')
  const calls = Array.from({ length: count }, (_, lane) =>
    grant(who, ['solution', `session:${at}x${lane}-$unique`], { as: `${at}x${lane}` }),
  )
  await x.burst({ do: 'burst', calls, on })
  for (const { as } of calls) if (as !== undefined && x.lines.has(as)) await x.call(list(token(as)))
}

/** Refreshes of several pairs of a key at once, and grants of two sessions: each is what it is without the others. */
export async function pairsAtOnce(caller: Caller, who: string, on: 'new' | 'warm'): Promise<void> {
  const { x } = caller
  x.script = `races/pairs-at-once/${on}`
  const old: string[] = []
  for (let at = 0; at < 2; at++) old.push((await granted(x, { who, scope: ['solution', 'session:'] })) ?? '')
  if (old.includes('')) return
  if (on === 'warm') await warm(caller, 4)
  const at = freshName(x, 'race')
  const refreshes = old.map((pair, lane) => refresh(pair, { as: `${at}r${lane}` }))
  const grants = old.map((_, lane) =>
    grant(who, ['solution', `session:${at}s${lane}-$unique`], { as: `${at}s${lane}` }),
  )
  for (const calls of [refreshes, grants]) {
    await x.burst({ do: 'burst', calls, on })
    for (const pair of old) await expectRefused(x, list(token(pair)))
    for (const { as } of calls) if (as !== undefined && x.lines.has(as)) await expectAccepted(x, list(token(as)))
  }
  // Last, because presenting a used refresh token may revoke the newer pair.
  for (const pair of old) await expectRefused(x, refresh(pair))
}

/** Grants of a wide and a narrow key at once: the token of the narrow one opens no more than its key. */
async function grantsOfTwoKeys({ x, keyring }: Caller, who: string, on: 'new' | 'warm'): Promise<void> {
  for (const narrow of keyring.narrow)
    for (const isFirst of [true, false]) {
      const [mine, other] = [freshName(x), freshName(x, 'race')]
      const calls = [
        grant(narrow, ['solution', 'context'], { as: mine }),
        grant(who, ['solution', 'context', ...(apikeyScope(x) ?? [])], { as: other }),
      ]
      await x.burst({ do: 'burst', calls: isFirst ? calls : calls.toReversed(), on })
      if (!x.lines.has(mine)) continue
      await expectRefused(x, list(token(mine)))
      if (keyring.keys && x.state().created <= 9) await expectRefused(x, creation(token(mine)))
    }
}

/** Grants of one key at once, each restricted in another way: no token takes over what belongs to another. */
async function grantsOfOneKey({ x }: Caller, who: string, on: 'new' | 'warm'): Promise<void> {
  const scopes = [['solution'], ['context'], ['solution', 'ipAddr:203.0.113.9'], ['solution', 'expiresIn:15000']]
  for (const order of [scopes, scopes.toReversed()]) {
    const at = freshName(x, 'race')
    const calls = order.map((scope, lane) => grant(who, scope, { as: `${at}o${lane}` }))
    await x.burst({ do: 'burst', calls, on })
    for (const { as } of calls) if (as !== undefined && x.lines.has(as)) await x.call(list(token(as)))
  }
}

/** A call with wrong credentials and one with none, each directly behind a right one, and behind each other. */
const besideRight = (right: CallStep, wrong: CallStep): CallStep[][] => [
  [right, list(none), right, wrong],
  [right, wrong, list(none), right],
]

/** Wrong calls while right ones of the same key or method are under way: none may borrow what belongs to another. */
export async function wrongBesideRight(caller: Caller, who: string, on: 'new' | 'warm'): Promise<void> {
  const { x } = caller
  x.script = `races/wrong-beside-right/${on}`
  const wide = await granted(x, { who, scope: ['solution'] })
  const narrow = await granted(x, { who, scope: ['context'] })
  const inside = { operation: 'inside-changed' }
  let grants = 0
  const right = (): CallStep => grant(who, ['solution'], { as: `${freshName(x, 'race')}n${grants++}` })
  const wrong = changed(grant(who, ['solution']), { field: 'param apiKeySecret', ...inside })
  const bursts: CallStep[][] = [
    [right(), wrong, wrong, right(), wrong, wrong],
    [wrong, wrong, right()],
    ...besideRight(list(basic(who)), changed(list(basic(who)), { field: 'basic-secret', ...inside })),
    ...[hmac(who), ...caller.keyring.ecc.slice(0, 1).map(ecc)].flatMap((auth) =>
      besideRight(list(auth), changed(list(auth), { field: 'signature', ...inside })),
    ),
  ]
  if (wide !== undefined && narrow !== undefined) {
    const [opens, closed] = [list(token(wide)), list(token(narrow))]
    // Whichever comes last may lend its scope to the others.
    bursts.push([opens, closed], [closed, opens], [closed, opens, closed, closed, opens])
  }
  const bound = x.addresses.length > 1 ? await granted(x, { who, scope: ['solution', 'ipAddr:'] }) : undefined
  const elsewhere = x.addresses[1]?.name
  if (bound !== undefined && elsewhere !== undefined) {
    const [own, other] = [list(token(bound)), list(token(bound), { from: elsewhere })]
    bursts.push([own, other], [other, own], [other, own, other, own])
  }
  if (on === 'warm') await warm(caller, 6)
  await grantsOfTwoKeys(caller, who, on)
  await grantsOfOneKey(caller, who, on)
  for (const calls of bursts) await x.burst({ do: 'burst', calls, on })
}
