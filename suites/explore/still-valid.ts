/** Checks that valid keys and pairs still work, and that revoked ones do not. */

import { basic, ecc, hmac, list, refresh, token } from './calls.ts'
import { expectAccepted, expectRefused } from './expect-calls.ts'
import type { Explorer } from './explorer-types.ts'
import type { Keyring } from './keyring.ts'
import type { Caller } from './table.ts'

/** Tries revoked, removed and expired tokens again. */
export async function retryRevoked(x: Explorer, most: number, pick: (count: number) => number): Promise<void> {
  x.script = 'dead-again'
  const all = x.pairNames
  const chosen = all.length <= most ? all : Array.from({ length: most }, () => all[pick(all.length)] ?? '')
  for (const name of chosen) {
    if (!x.names.has(name)) continue
    await expectRefused(x, list(token(name)))
  }
  for (const name of chosen.slice(0, Math.ceil(most / 3))) if (x.names.has(name)) await expectRefused(x, refresh(name))
}

/** Checks that every key is still accepted, with the authorization that works for it. */
export async function expectEveryKeyAccepted(x: Explorer, keyring: Keyring): Promise<void> {
  x.script = 'still-living'
  for (const who of [...keyring.secret, ...keyring.narrow.filter((one) => one === 'solution-key')]) {
    await expectAccepted(x, list(basic(who)))
    await expectAccepted(x, list(hmac(who)))
  }
  for (const who of [...keyring.ecc, ...keyring.narrowEcc]) await expectAccepted(x, list(ecc(who)))
}

/** Checks that keys of every kind and valid pairs still work. */
export async function checkStillValid({ x, keyring }: Caller, pick: (count: number) => number): Promise<void> {
  x.script = 'still-living'
  const who = keyring.secret[pick(keyring.secret.length)] ?? 'root'
  await expectAccepted(x, list(pick(2) === 0 ? basic(who) : hmac(who)))
  const eccKey = keyring.ecc[pick(Math.max(1, keyring.ecc.length))]
  if (eccKey !== undefined && pick(3) === 0) await expectAccepted(x, list(ecc(eccKey)))
  const recent = x.pairNames.slice(-30)
  for (let at = 0; at < 2; at++) {
    const name = recent[pick(Math.max(1, recent.length))]
    if (name !== undefined) await expectAccepted(x, list(token(name)))
  }
}
