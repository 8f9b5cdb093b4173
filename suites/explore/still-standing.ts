/** Checks that valid keys and pairs still work, and that revoked ones do not. */
import { keptOut, letIn } from './ask-only.ts'
import { basic, ecc, hmac, list, refresh, token } from './calls.ts'
import type { Explorer } from './explorer-types.ts'
import type { People } from './people.ts'
import type { Asker } from './table.ts'

/** Tries revoked, removed and expired tokens again. */
export async function retryDead(x: Explorer, most: number, pick: (count: number) => number): Promise<void> {
  x.script = 'dead-again'
  const all = [...x.lines.keys()]
  const chosen = all.length <= most ? all : Array.from({ length: most }, () => all[pick(all.length)] ?? '')
  for (const name of chosen) {
    if (!x.names.has(name)) continue
    await keptOut(x, list(token(name)))
  }
  for (const name of chosen.slice(0, Math.ceil(most / 3))) if (x.names.has(name)) await keptOut(x, refresh(name))
}

/** Checks that every key is still accepted, with the authorization that works for it. */
export async function letInEveryKey(x: Explorer, people: People): Promise<void> {
  x.script = 'still-living'
  for (const who of [...people.secret, ...people.narrow.filter((one) => one === 'solution-key')]) {
    await letIn(x, list(basic(who)))
    await letIn(x, list(hmac(who)))
  }
  for (const who of people.ecc) await letIn(x, list(ecc(who)))
}

/** Checks that keys of every kind and valid pairs still work. */
export async function checkLiving({ x, people }: Asker, pick: (count: number) => number): Promise<void> {
  x.script = 'still-living'
  const who = people.secret[pick(people.secret.length)] ?? 'root'
  await letIn(x, list(pick(2) === 0 ? basic(who) : hmac(who)))
  const eccKey = people.ecc[pick(Math.max(1, people.ecc.length))]
  if (eccKey !== undefined && pick(3) === 0) await letIn(x, list(ecc(eccKey)))
  const recent = [...x.lines.keys()].slice(-30)
  for (let at = 0; at < 2; at++) {
    const name = recent[pick(Math.max(1, recent.length))]
    if (name !== undefined) await letIn(x, list(token(name)))
  }
}
