/** Chains of pairs: each is refreshed repeatedly, and revoked tokens are tried again. */

import { changed, list, refresh, token } from './calls.ts'
import { creation, expectAccepted, expectRefused } from './expect-calls.ts'
import type { Explorer } from './explorer-types.ts'
import { freshName, granted, type PairKind } from './keyring.ts'
import type { Auth } from './step.ts'
import { type Caller, deviate } from './table.ts'

/** Refreshes a chain repeatedly: revoked tokens stay revoked, while the newest pair works. */
export async function refreshChain(caller: Caller, kind: PairKind, length: number): Promise<void> {
  const { x, keyring } = caller
  x.script = `chain/refresh/${kind.who}`
  const where = kind.from === undefined ? {} : { from: kind.from }
  const names: string[] = []
  const others = await bystanders(caller, kind)
  const first = await granted(x, kind)
  if (first === undefined) return
  names.push(first)
  for (let turn = 1; turn <= length; turn++) {
    const old = names.at(-1) ?? first
    await x.call(list(token(old), where))
    const next = freshName(x)
    const seen = await x.call(refresh(old, { as: next, ...where, ...(turn % 2 === 0 ? { connection: 'new' } : {}) }))
    if (seen?.answer.kind !== 'accepted') break
    names.push(next)
    await expectRefused(x, list(token(old), where))
    await x.call(list(token(next), where))
    for (const one of [old, next])
      await expectRefused(
        x,
        changed(refresh(next, where), { field: 'param refreshToken', place: `$${one}.accessToken` }),
      )
    for (const one of [old, next]) await wrongToken(x, keyring.keys, `$${one}.refreshToken`, where)
    for (const revoked of names.slice(0, -1))
      await expectRefused(x, list(token(revoked), { ...where, connection: turn % 2 === 0 ? 0 : 'new' }))
    if (keyring.keys && x.state().created <= 9) await expectRefused(x, creation(token(old)))
    await deviate(caller, list(token(next), where), { field: 'token', operation: 'inside-changed' })
    for (const other of others) await expectAccepted(x, list(token(other), where))
  }
  // Presenting a used refresh token may revoke the whole chain, so this comes last.
  for (const revoked of names.slice(0, -1)) {
    await expectRefused(x, refresh(revoked, where))
    await expectRefused(x, refresh(revoked, { ...where, connection: 'new' }))
    await expectRefused(x, list(token(revoked), where))
  }
}

/** Grants pairs that a refresh of another pair must not touch: pairs of the same key and of others. */
async function bystanders({ x, keyring }: Caller, kind: PairKind): Promise<string[]> {
  const made: string[] = []
  const others = keyring.secret.filter((who) => who !== kind.who && who !== 'root')
  const kinds: PairKind[] = [kind.who, ...others.slice(0, 3)].map((who) => ({ ...kind, who }))
  if (keyring.narrow.includes('solution-key')) kinds.push({ who: 'solution-key', scope: ['solution'] })
  for (const one of kinds) {
    const pair = await granted(x, one)
    if (pair !== undefined) made.push(pair)
  }
  return made
}

/** Refreshes many new pairs, because a defect may show in one of ten. */
export async function manyRefreshes({ x }: Caller, who: string, times: number): Promise<void> {
  x.script = `chain/many-refreshes/${who}`
  const revoked: string[] = []
  for (let turn = 0; turn < times; turn++) {
    const old = await granted(x, { who, scope: ['solution'] })
    if (old === undefined) return
    revoked.push(old)
    const next = freshName(x)
    await x.call(refresh(old, { as: next }))
    await expectRefused(x, list(token(old)))
    if (x.lines.has(next)) await expectAccepted(x, list(token(next)))
    await expectRefused(x, refresh(old))
  }
  // A server may forget the first tokens that it revoked.
  for (const old of revoked.slice(0, 3)) await expectRefused(x, refresh(old))
}

/** Uses a refresh token as an access token, for every method. */
export async function wrongToken(
  x: Explorer,
  mayCreate: boolean,
  text: string,
  where: { from?: string } = {},
): Promise<void> {
  const auth: Auth = { kind: 'token', token: text }
  await expectRefused(x, list(auth, where))
  if (mayCreate && x.state().created <= 9) await expectRefused(x, creation(auth))
}

/** One used refresh token at a time, right after its use, a second later and from a new connection. */
export async function usedTwice(caller: Caller, kind: PairKind): Promise<void> {
  const { x } = caller
  x.script = `chain/used-twice/${kind.who}`
  const old = await granted(x, kind)
  if (old === undefined) return
  const next = freshName(x)
  await x.call(refresh(old, { as: next }))
  await expectRefused(x, refresh(old))
  await expectRefused(x, refresh(old))
  await expectRefused(x, list(token(old)))
}
