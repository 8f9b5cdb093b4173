/** Parts 3 and 5.4, where the sessions of a user are not followed: whether a session was removed whatever else there is on the target. */
import { sessionLimit } from '../document.ts'
import { memberOf } from './fact.ts'
import { slackMs } from './spelling.ts'
import type { Pair, State } from './types.ts'

/**
 * How many sessions were created after a session was last used. Once there are sixteen, it is gone in every reading of the open questions:
 * all of them are of its key, and a user has at least one key; each has a name of its own, so it takes a place; and each was created, so
 * also used and refreshed, later. What others do on the target can only remove it sooner.
 *
 * @param lastUsedMs when its tokens were sent last, on our clock
 * @returns undefined if it may be alive
 */
export function newerSessions(state: State, pair: Pair, lastUsedMs: number): number | undefined {
  const own = memberOf(state, pair)
  const grants = pairsOf(state).filter(({ generation }) => generation === 0)
  const named = grants.map((grant) => ({ grant, name: memberOf(state, grant).name?.toLowerCase() }))
  const times = new Map<string | undefined, number>()
  for (const { name } of named) times.set(name, (times.get(name) ?? 0) + 1)
  // What a name used again does is open.
  const isNew = (name: string | undefined): boolean => name !== undefined && times.get(name) === 1
  if (own.name === null || !isNew(own.name.toLowerCase())) return undefined
  const renewedMs = pairsOf(state).flatMap(({ line, made }) => (line === pair.line ? [made.to] : []))
  const since = Math.max(lastUsedMs, ...renewedMs) + slackMs
  const newer = named.filter(({ grant, name }) => isNew(name) && grant.key === pair.key && grant.made.from > since)
  return newer.length >= sessionLimit ? newer.length : undefined
}

const pairsOf = ({ pairs }: State): Pair[] => pairs.keys().flatMap((index) => pairs.get(index) ?? [])
