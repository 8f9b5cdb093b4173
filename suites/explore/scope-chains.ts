/** Checks which methods the scopes of tokens and keys open, refresh after refresh. */

import { basic, changed, ecc, grant, hmac, list, refresh, token } from './calls.ts'
import { creation, expectAccepted, expectRefused } from './expect-calls.ts'
import type { Explorer } from './explorer-types.ts'
import { apikeyScope, freshName, granted } from './keyring.ts'
import type { Caller } from './table.ts'

const otherAreas = ['context', 'thread', 'store', 'inbox', 'stream']

/** Scopes without `solution`: each other area, every two of them, each one twice, and some with restrictions. */
const limits: readonly (readonly string[])[] = [
  ...otherAreas.map((area) => [area]),
  ...otherAreas.flatMap((one, at) => otherAreas.slice(at + 1).map((other) => [one, other])),
  ...otherAreas.flatMap((area) => [
    [area, 'session:'],
    [area, 'expiresIn:15000'],
  ]),
  // A server may look for the area in all words at once.
  ['thread', 'session:solution-$unique'],
  ['session:my-solution-$unique', 'store'],
  ['store', 'inbox', 'thread'],
  ['context', 'solution:*'],
  ['context', 'solution:'],
  ...['apikey', ...otherAreas].map((area) => [area, area]),
  otherAreas,
]

/** Scopes with `solution`, beside other words and in every position. */
const opening: readonly (readonly string[])[] = [
  [...otherAreas, 'solution'],
  ['solution', ...otherAreas],
  ['solution', 'solution:*'],
  ['solution', 'session:apikey-$unique'],
  ['session:my-apiKey-$unique', 'solution'],
  ['solution', 'solution:', 'solution:*'],
  ['solution:', 'solution'],
  ['solution:', 'solution', 'thread', 'session:'],
  ['context', 'solution', 'expiresIn:15000', 'session:'],
]

const wrongSecret = { field: 'param apiKeySecret', operation: 'inside-changed' }

/** Checks that tokens are limited to their areas, even if wider tokens of the same key exist. */
export async function scopeLimits(caller: Caller, who: string, isFirst: boolean): Promise<void> {
  const { x, keyring } = caller
  x.script = `scopes/${who}`
  const wide = await granted(x, { who, scope: ['solution', ...(apikeyScope(x) ?? [])] })
  const creates = (): boolean => keyring.keys && x.state().created <= 9
  const everything = ['solution', ...otherAreas, ...(apikeyScope(x) ?? [])]
  const asked = isFirst ? limits : limits.slice(0, 5)
  for (const scope of asked) {
    // The scope of a refused grant must not be added to that of the next one.
    if (scope.length === 1) await expectRefused(x, changed(grant(who, everything), wrongSecret))
    const narrow = await granted(x, { who, scope })
    if (narrow === undefined) continue
    if (wide !== undefined) await expectAccepted(x, list(token(wide)))
    await expectRefused(x, list(token(narrow)))
    await expectRefused(x, list(token(narrow), { connection: 'new' }))
    if (creates()) await expectRefused(x, creation(token(narrow)))
    const next = freshName(x)
    await x.call(refresh(narrow, { as: next }))
    if (x.lines.has(next)) await expectRefused(x, list(token(next)))
    if (creates() && x.lines.has(next)) await expectRefused(x, creation(token(next), '$spare.publicKey'))
    if (scope.length > 1) continue
    if (x.lines.has(next)) await probeAreas(x, next)
    await laterPairs(x, next)
    // Last, because presenting a used refresh token may revoke the newer pair.
    await expectRefused(x, refresh(narrow))
  }
  for (const scope of opening) {
    const open = await granted(x, { who, scope })
    if (open === undefined) continue
    await x.call(list(token(open)))
    if (creates()) await expectRefused(x, creation(token(open)))
    const next = freshName(x)
    await x.call(refresh(open, { as: next }))
    if (!x.lines.has(next)) continue
    await x.call(list(token(next)))
    await expectRefused(x, list(token(open)))
  }
  const only = await granted(x, { who, scope: ['solution'] })
  if (only === undefined) return
  await x.call(list(token(only)))
  if (creates()) await expectRefused(x, creation(token(only)))
  const next = freshName(x)
  await x.call(refresh(only, { as: next }))
  await x.call(list(token(next)))
  if (creates()) await expectRefused(x, creation(token(next), '$spare.publicKey'))
}

/** Methods of each area that the user names; those of the token's own area show whether it works. */
async function probeAreas(x: Explorer, pair: string): Promise<void> {
  for (const { method, params } of x.options.probes) await x.call({ do: 'call', method, params, auth: token(pair) })
}

/** The area may be forgotten by a later refresh. */
async function laterPairs(x: Explorer, first: string): Promise<void> {
  let pair = first
  for (let turn = 0; turn < 2 && x.lines.has(pair); turn++) {
    const next = freshName(x)
    await x.call(refresh(pair, { as: next }))
    if (x.lines.has(next)) await expectRefused(x, list(token(next)))
    pair = next
  }
}

/** Checks that keys with a narrow scope open nothing else, with any kind of authorization. */
export async function narrowKeys({ x, keyring }: Caller): Promise<void> {
  x.script = 'scopes/narrow-keys'
  const creates = (): boolean => keyring.keys && x.state().created <= 9
  const ways = [...keyring.narrow.flatMap((who) => [basic(who), hmac(who)]), ...keyring.narrowEcc.map(ecc)]
  for (const auth of ways) {
    await x.call(list(auth))
    await expectRefused(x, list(auth, { connection: 'new' }))
    if (creates()) await expectRefused(x, creation(auth))
    if (creates()) await expectRefused(x, creation(auth, '$spare.publicKey'))
  }
  for (const who of keyring.narrow)
    for (const scope of [
      ['solution'],
      ['context'],
      ['solution', 'context'],
      ['thread'],
      ['solution', 'session:'],
      ['context', 'session:'],
      ['solution', 'expiresIn:15000'],
      ['solution', 'ipAddr:'],
      apikeyScope(x) ?? ['apikey'],
      [],
    ]) {
      const pair = await granted(x, { who, scope })
      if (pair === undefined) continue
      await x.call(list(token(pair)))
      if (creates()) await expectRefused(x, creation(token(pair)))
      const next = freshName(x)
      await x.call(refresh(pair, { as: next }))
      if (!x.lines.has(next)) continue
      await x.call(list(token(next)))
      if (creates()) await expectRefused(x, creation(token(next)))
    }
}
