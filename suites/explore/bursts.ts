/** Calls at once, judged as histories: on new connections and on warm ones, several rounds each. */

import { keptOut } from './ask-only.ts'
import { basic, grant, list, refresh, token } from './calls.ts'
import { freshName, granted } from './people.ts'
import type { CallStep } from './step.ts'
import type { Asker } from './table.ts'

/** Opens connections and uses them, so that the calls that follow arrive together. */
async function warm({ x }: Asker, count: number): Promise<void> {
  for (let lane = 1; lane <= count; lane++) await x.call(list(basic('root'), { connection: lane }))
}

/** refresh/revokes-refresh: of simultaneous refreshes of one token exactly one succeeds, and the old access token is revoked afterwards. */
export async function refreshRace(asker: Asker, who: string, on: 'new' | 'warm', count: number): Promise<void> {
  const { x } = asker
  x.script = `races/refresh/${on}`
  const pair = await granted(x, { who, scope: ['solution'] })
  if (pair === undefined) return
  if (on === 'warm') await warm(asker, count)
  const at = freshName(x, 'race')
  const calls = Array.from({ length: count }, (_, lane) => refresh(pair, { as: `${at}x${lane}` }))
  await x.burst({ do: 'burst', calls, on })
  await keptOut(x, list(token(pair)))
  for (const one of calls) if (one.as !== undefined && x.lines.has(one.as)) await x.call(list(token(one.as)))
}

/** An old access token during the refresh that revokes it: it must not work after the answer to the refresh. */
export async function refreshBesideUse(asker: Asker, who: string, on: 'new' | 'warm'): Promise<void> {
  const { x } = asker
  x.script = `races/refresh-beside-use/${on}`
  const pair = await granted(x, { who, scope: ['solution'] })
  if (pair === undefined) return
  if (on === 'warm') await warm(asker, 6)
  const next = freshName(x)
  const calls: CallStep[] = [
    list(token(pair)),
    refresh(pair, { as: next }),
    ...Array.from({ length: 4 }, () => list(token(pair))),
  ]
  await x.burst({ do: 'burst', calls, on })
  await keptOut(x, list(token(pair)))
  if (x.lines.has(next)) await x.call(list(token(next)))
}

/** sessions/at-most-sixteen: creates many sessions at once, then counts the live ones. */
export async function sessionRace(asker: Asker, who: string, on: 'new' | 'warm', count: number): Promise<void> {
  const { x } = asker
  x.script = `races/sessions/${on}`
  if (on === 'warm') await warm(asker, count)
  const at = freshName(x, 'crowd')
  const calls = Array.from({ length: count }, (_, lane) =>
    grant(who, ['solution', `session:${at}x${lane}-$unique`], { as: `${at}x${lane}` }),
  )
  await x.burst({ do: 'burst', calls, on })
  for (const { as } of calls) if (as !== undefined && x.lines.has(as)) await x.call(list(token(as)))
}
