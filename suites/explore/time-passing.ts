/** Checks after hours and days, if the clock can be moved. */
import { keptOut, letIn } from './ask-only.ts'
import { list, refresh, token } from './calls.ts'
import { freshName, granted } from './people.ts'
import { checkLiving, letInEveryKey, retryDead } from './still-standing.ts'
import type { Asker } from './table.ts'

/** Moves the clock by an hour, a day and more: revoked tokens stay revoked, and valid refresh tokens still work. */
export async function letTimePass(asker: Asker, pick: (count: number) => number): Promise<void> {
  const { x, people } = asker
  const who = people.secret[0]
  if (!x.options.wire.controlled || who === undefined || !people.grants) return
  await longLifetimes(asker, who)
  await slidingTokens(asker, who)
  for (const ms of [61 * 60_000, 5 * 3_600_000, 26 * 3_600_000]) await hoursAfter(asker, ms, pick)
  for (const days of [8, 40, 100, 400]) {
    await hoursAfter(asker, days * 86_400_000, pick)
    await letInEveryKey(asker.x, asker.people)
  }
}

async function hoursAfter(asker: Asker, ms: number, pick: (count: number) => number): Promise<void> {
  const { x, people } = asker
  x.script = 'time'
  const who = people.secret[pick(people.secret.length)] ?? 'root'
  const kept: string[] = []
  for (const scope of [['solution'], ['solution', 'expiresIn:2000'], ['solution', 'context']]) {
    const pair = await granted(x, { who, scope })
    if (pair !== undefined) kept.push(pair)
  }
  const longLife = Math.min(2 * ms, Math.floor(0.8 * (x.state().refreshLifetimeMs ?? 0)))
  const old = await granted(x, { who, scope: ['solution', ...(longLife > ms ? [`expiresIn:${longLife}`] : [])] })
  const newest = freshName(x)
  if (old !== undefined) await x.call(refresh(old, { as: newest }))
  await x.wait(ms)
  if (old !== undefined) await keptOut(x, list(token(old)))
  for (const pair of [...kept, ...(x.lines.has(newest) ? [newest] : [])]) {
    await keptOut(x, list(token(pair)))
    const next = freshName(x)
    await x.call(refresh(pair, { as: next }))
    if (x.lines.has(next)) await letIn(x, list(token(next)))
  }
  if (old !== undefined) await keptOut(x, refresh(old))
  await retryDead(x, 12, pick)
  await checkLiving(asker, pick)
}

/** Tokens with lifetimes of hours expire as reported. */
async function longLifetimes({ x }: Asker, who: string): Promise<void> {
  x.script = 'time'
  for (const hours of [2, 10]) {
    const pair = await granted(x, { who, scope: ['solution', `expiresIn:${hours * 3_600_000}`] })
    if (pair === undefined) continue
    for (const share of [0.45, 0.4]) {
      await x.wait(hours * 3_600_000 * share)
      await letIn(x, list(token(pair)))
    }
    await x.wait(hours * 3_600_000 * 0.2)
    await keptOut(x, list(token(pair)))
  }
}

/** How often a token is used, and for how long, nearly. */
const everyMs = 100_000
const usedMs = 5 * everyMs

/** Using a token prolongs neither token of its pair. */
async function slidingTokens({ x }: Asker, who: string): Promise<void> {
  x.script = 'time'
  const life = x.state().refreshLifetimeMs
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
