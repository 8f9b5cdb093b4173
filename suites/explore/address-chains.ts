/** Tokens bound to an address, ours and others. */

import { list, refresh, token } from './calls.ts'
import { creation, expectAccepted, expectRefused } from './expect-calls.ts'
import type { Address } from './explorer-types.ts'
import { apikeyScope, freshName, granted, ownAddress } from './keyring.ts'
import type { Caller } from './table.ts'

/** Addresses next to ours, and some far away. */
const neighbours = (own: string): string[] => {
  const parts = own.split('.')
  const [a = '', b = '', c = '', d = ''] = parts
  const next = String((Number(d) + 1) % 256)
  return [
    `${a}.${b}.${c}.${next}`,
    `${a}.${b}.${c}.${d}0`,
    `${a}.${b}.${c}.2${d}`,
    `${a}.${b}.${Number(c) + 1}.${d}`,
    `${a}.${Number(b) + 1}.${c}.${d}`,
    `${Number(a) === 10 ? 11 : 10}.${b}.${c}.${d}`,
    `${d}.${c}.${b}.${a}`,
    ...sameDigits(own),
    '0.0.0.0',
    '255.255.255.255',
    '203.0.113.7',
  ].filter((address) => address !== own && isAddress(address))
}

/** Addresses of the same digits with their dots in other places; two are enough. */
function sameDigits(own: string): string[] {
  const digits = own.replaceAll('.', '')
  const lengths = [1, 2, 3]
  const all = lengths.flatMap((a) =>
    lengths.flatMap((b) =>
      lengths.map((c) =>
        [digits.slice(0, a), digits.slice(a, a + b), digits.slice(a + b, a + b + c), digits.slice(a + b + c)].join('.'),
      ),
    ),
  )
  return all.filter((address) => address !== own && isAddress(address)).slice(0, 2)
}

const isAddress = (text: string): boolean =>
  /^(0|[1-9]\d{0,2})(\.(0|[1-9]\d{0,2})){3}$/.test(text) && text.split('.').every((part) => Number(part) < 256)

/** addresses/bound: a token bound to another address does not work from ours, nor one bound to ours from another. */
export async function addresses(caller: Caller, who: string): Promise<void> {
  const { x } = caller
  x.script = `addresses/${who}`
  const [own, ...others] = x.addresses
  if (own === undefined) return
  await boundToForeign(caller, who, own)
  // Without our own address, such a pair would not be bound.
  if (ownAddress(x).length > 0) await boundToOurs(caller, who, others)
  for (const there of others) {
    const elsewhere = await granted(x, { who, scope: ['solution', `ipAddr:${there.seen}`], from: there.name })
    if (elsewhere === undefined) continue
    await x.call(list(token(elsewhere), { from: there.name }))
    await expectRefused(x, list(token(elsewhere)))
  }
}

const mayCreate = ({ x, keyring }: Caller): boolean => keyring.keys && x.state().created <= 9

async function boundToForeign(caller: Caller, who: string, own: Address): Promise<void> {
  const { x } = caller
  for (const address of neighbours(own.seen)) {
    const foreign = await granted(x, { who, scope: ['solution', ...(apikeyScope(x) ?? []), `ipAddr:${address}`] })
    if (foreign === undefined) continue
    await expectRefused(x, list(token(foreign)))
    if (mayCreate(caller)) await expectRefused(x, creation(token(foreign)))
    const next = freshName(x)
    await x.call(refresh(foreign, { as: next }))
    if (x.lines.has(next)) await expectRefused(x, list(token(next)))
  }
}

async function boundToOurs(caller: Caller, who: string, others: readonly Address[]): Promise<void> {
  const { x } = caller
  const [second] = others
  // Whether an address may stand twice is open.
  for (const extra of [
    [],
    ['session:'],
    ['expiresIn:15000'],
    ['context', 'session:', 'expiresIn:15000'],
    ['solution:'],
    ['ipAddr:'],
  ]) {
    const bound = await granted(x, { who, scope: ['solution', ...(apikeyScope(x) ?? []), 'ipAddr:', ...extra] })
    if (bound === undefined) continue
    await x.call(list(token(bound)))
    for (const { name: from } of others) {
      await expectRefused(x, list(token(bound), { from }))
      await expectRefused(x, list(token(bound), { from, connection: 'new' }))
      if (mayCreate(caller)) await expectRefused(x, { ...creation(token(bound)), from })
      await expectAccepted(x, list(token(bound)))
    }
    let pair = bound
    for (let turn = 0; turn < 3; turn++) {
      const next = freshName(x)
      await x.call(refresh(pair, { as: next }))
      if (!x.lines.has(next)) break
      pair = next
      await x.call(list(token(pair)))
      if (second === undefined) continue
      await expectRefused(x, list(token(pair), { from: second.name }))
      if (mayCreate(caller)) await expectRefused(x, { ...creation(token(pair)), from: second.name })
    }
  }
}
