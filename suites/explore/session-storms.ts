/** Creates 16 sessions, the 17th and many more, and learns whose sessions are counted and what counts as one. */

import { changed, create, grant, list, refresh, token } from './calls.ts'
import { expectRefused } from './expect-calls.ts'
import type { Explorer } from './explorer-types.ts'
import { apikeyScope, freshName, oneSolution, ownAddress } from './keyring.ts'
import type { CallStep } from './step.ts'
import type { Caller } from './table.ts'

/** Names that do not sort by age, some of them words of the document. */
const names = [
  'zulu',
  'mike',
  'alpha',
  'solution',
  'root',
  'yankee',
  '10',
  '9',
  'apikey',
  'Bravo',
  'victor',
  'context',
  '1',
  'x',
  'token',
  'lima',
  'sierra',
  'echo',
  'default',
  'A',
  'quebec',
  'session',
  '2',
  'kilo',
]

/** The pause between sessions: over a second, because a server may keep times in whole seconds. */
export const pauseMs = 1250

function sessionName(at: number, storm: string): string {
  const word = names[at % names.length] ?? 's'
  const turn = at >= names.length ? at : ''
  // Names of digits alone are sorted and compared as numbers by a careless server.
  return /^\d+$/.test(word)
    ? `session:${word}${digitsOf(storm)}${turn}$digits`
    : `session:${word}-${storm}${turn}-$unique`
}

const digitsOf = (storm: string): string => storm.replace(/\D/g, '')

interface Storm {
  /** A part of the names of its sessions. */
  readonly name: string
  /** Shifts the restrictions that sessions have, from storm to storm. */
  readonly turn: number
}

/** Creates sessions one after another. */
async function makeSessions(
  x: Explorer,
  who: string,
  { name, turn }: Storm,
  range: readonly [number, number],
): Promise<string[]> {
  const made: string[] = []
  for (let at = range[0]; at < range[1]; at++) {
    const as = freshName(x)
    // A session may be granted beside other words.
    const words =
      at < 2 ? [...(apikeyScope(x) ?? []), ...firstWords(x, at)] : (wordsBeside(x, who)[(at + turn) % 5] ?? [])
    await x.call(
      grant(
        who,
        at % 3 === 0 ? [sessionName(at, name), 'solution', ...words] : ['solution', sessionName(at, name), ...words],
        { as },
      ),
    )
    if (x.lines.has(as)) made.push(as)
  }
  return made
}

/** Further scope words of the first two sessions, which are removed first. */
const firstWords = (x: Explorer, at: number): readonly string[] => (at === 0 ? ['expiresIn:15000'] : ownAddress(x))

/** Further scope words of every five sessions; two have none. */
const wordsBeside = (x: Explorer, who: string): readonly (readonly string[])[] => [
  [],
  oneSolution(x, who),
  [],
  [...ownAddress(x), 'expiresIn:15000'],
  ['expiresIn:15000'],
]

/** Uses every session, whether the model can judge the call or only learns from its answer. */
export async function useAll(x: Explorer, pairs: readonly string[]): Promise<void> {
  for (const pair of pairs) await x.call(list(token(pair)))
}

/** The pair after two refreshes, which stays bound to its session. */
async function refreshedTwice(x: Explorer, pair: string | undefined): Promise<string[]> {
  let newest = pair
  for (let turn = 0; turn < 2 && newest !== undefined; turn++) {
    const next = freshName(x)
    await x.call(refresh(newest, { as: next }))
    newest = x.lines.has(next) ? next : undefined
  }
  return newest === undefined ? [] : [newest]
}

/** Lets the given time pass, and makes only calls that create no session. */
export type Meanwhile = (ms: number) => Promise<void>

/**
 * Creates as many sessions as a user may have, so that every earlier session is gone in every reading of what a session is.
 *
 * @returns pairs whose access token ends soon
 */
export async function replaceAllSessions(x: Explorer, who: string, storm: string, count: number): Promise<string[]> {
  const brief: string[] = []
  for (let at = 0; at < count; at++) {
    const as = freshName(x)
    const lifetime = at < 2 ? ['expiresIn:1000'] : []
    await x.call(grant(who, ['solution', `session:before-${at}-${storm}-$unique`, ...lifetime], { as }))
    if (at < 2 && x.lines.has(as)) brief.push(as)
  }
  return brief
}

/** The limit of the document. */
export const mostSessions = 16

/**
 * sessions/…: 16, the 17th, the 18th, the 19th. The first two evictions are clear in every reading: what is created first is also used
 * and refreshed first. The third tells the readings apart.
 *
 * @param before how many sessions are created first, at least the limit; one storm has an even and the next an odd number, to catch a server that fails every second time
 */
export async function sessionStorm(caller: Caller, who: string, before: number, meanwhile: Meanwhile): Promise<void> {
  const { x } = caller
  x.script = `sessions/storm/${who}`
  // The session that comes at the limit has an address and a lifetime in one storm, and a lifetime alone in the next.
  const storm: Storm = { name: freshName(x, 's'), turn: 3 + before - mostSessions }
  const brief = await replaceAllSessions(x, who, storm.name, before)
  await meanwhile(pauseMs)
  const first = await makeSessions(x, who, storm, [0, 1])
  await useAll(x, first)
  await meanwhile(pauseMs)
  const second = await refreshedTwice(x, (await makeSessions(x, who, storm, [1, 2]))[0])
  await useAll(x, second)
  await meanwhile(pauseMs)
  const rest = [...(await makeSessions(x, who, storm, [2, 12])), ...(await likeNames(x, who, storm.name))]
  // A refused grant takes no place, whatever it is refused for.
  for (let at = 0; at < 3; at++) await expectRefused(x, wrongGrant(who, at))
  // Whether an unknown scope is refused is open, so an answer that grants it ends this.
  for (let at = 0; at < 3; at++) {
    const unknown = grant(who, ['solution', 'elsewhere', `session:unknown-${at}-${storm.name}-$unique`])
    if ((await x.call(unknown))?.answer.kind !== 'refused') break
  }
  await meanwhile(pauseMs)
  const more = await makeSessions(x, who, storm, [14, 15])
  await useAll(x, [...more, ...first])
  await useAll(x, second)
  await meanwhile(pauseMs)
  await useAll(x, rest)
  await useAll(x, more)
  await expectSessionsRemoved(caller, first)
  await meanwhile(pauseMs)
  more.push(...(await makeSessions(x, who, storm, [15, 16])))
  await useAll(x, [...more, ...second, ...rest])
  await expectSessionsRemoved(caller, second)
  const next = freshName(x)
  if (rest[0] !== undefined) await x.call(refresh(rest[0], { as: next }))
  await meanwhile(pauseMs)
  const last = await makeSessions(x, who, storm, [16, 17])
  await useAll(x, [...last, next, ...rest, ...more])
  await refreshBesideNext(x, who, [...rest.slice(1), ...more, ...last, next])
  // The name of a removed session is free again, but its old tokens stay revoked.
  const again = await makeSessions(x, who, storm, [0, 1])
  await useAll(x, again)
  for (const gone of [...first, ...second]) await expectRefused(x, list(token(gone)))
  // Both the session and the access token ended.
  for (const gone of brief) await expectRefused(x, refresh(gone))
}

/** A session is refreshed while a new one may remove it: it must not come back. */
async function refreshBesideNext(x: Explorer, who: string, pairs: readonly string[]): Promise<void> {
  const [oldest, ...others] = pairs
  if (oldest === undefined) return
  const refreshed = freshName(x)
  const created = freshName(x, 'beside')
  const calls = [
    refresh(oldest, { as: refreshed }),
    grant(who, ['solution', `session:${created}-$unique`], { as: created }),
  ]
  await x.burst({ do: 'burst', calls, on: 'warm' })
  await useAll(x, [oldest, ...[refreshed, created].filter((name) => x.lines.has(name)), ...others])
}

/** Names that differ only at their ends, or by a zero in front. */
async function likeNames(x: Explorer, who: string, storm: string): Promise<string[]> {
  const made: string[] = []
  const digits = `7${digitsOf(storm)}$digits`
  for (const name of [`long-${storm}-$unique-one`, `long-${storm}-$unique-two`, digits, `0${digits}`]) {
    const as = freshName(x)
    await x.call(grant(who, ['solution', `session:${name}`], { as }))
    if (x.lines.has(as)) made.push(as)
  }
  return made
}

const wrongGrant = (who: string, at: number): CallStep =>
  changed(grant(who, ['solution', `session:wrong-${at}-$unique`]), {
    field: 'param apiKeySecret',
    operation: 'inside-changed',
  })

/** Checks that neither token of a removed session works. */
async function expectSessionsRemoved({ x, keyring }: Caller, pairs: readonly string[]): Promise<void> {
  const creates = keyring.keys && x.state().created <= 9
  for (const gone of pairs) {
    await expectRefused(x, list(token(gone)))
    await expectRefused(x, list(token(gone), { connection: 'new' }))
    if (creates) await expectRefused(x, create(token(gone), { name: 'deviation-$unique', scope: ['solution'] }))
    await expectRefused(x, refresh(gone))
  }
}

/** Finds out whether grants of other keys, grants without a name, or a repeated name remove sessions. */
export async function sessionReadings(
  caller: Caller,
  [who, other, third]: readonly [string, string, string],
  meanwhile: Meanwhile,
): Promise<void> {
  const { x } = caller
  x.script = 'sessions/readings'
  const storm = freshName(x, 'r')
  let kept = await makeSessions(x, who, { name: storm, turn: 0 }, [0, 1])
  await meanwhile(pauseMs)
  // These belong to the user in every reading: if none of them counts, no such session counts.
  for (let at = 0; at < mostSessions; at++) await x.call(grant(who, ['solution']))
  await useAll(x, kept)
  if (x.state().sessions.some(({ reading }) => reading.unnamed === 'each')) {
    kept = await makeSessions(x, who, { name: storm, turn: 0 }, [1, 2])
    await meanwhile(pauseMs)
    for (let at = 0; at < mostSessions; at++) await x.call(grant(other, ['solution']))
    await useAll(x, kept)
  }
  // Two keys, because created keys may be one user without the initial one.
  if (other !== third) kept.push(...(await makeSessions(x, third, { name: `${storm}k`, turn: 0 }, [1, 2])))
  await meanwhile(pauseMs)
  await makeSessions(x, other, { name: `${storm}o`, turn: 0 }, [0, 17])
  await useAll(x, kept)
  await meanwhile(pauseMs)
  const named = await makeSessions(x, who, { name: `${storm}n`, turn: 0 }, [0, 1])
  const again = await makeSessions(x, who, { name: `${storm}n`, turn: 0 }, [0, 1])
  await useAll(x, [...named, ...again])
}

/** Creates as many sessions as a user may have, so that the sessions before them are gone. What was made in those must outlast them. */
export async function outlastSessions(x: Explorer, who: string): Promise<void> {
  x.script = 'sessions/outlasted'
  await replaceAllSessions(x, who, freshName(x, 'o'), mostSessions)
}

/** How many of the first sessions differ in age, so that it is clear which one the next removes. */
const ofOwnAge = 4

/**
 * Creates many sessions of one user in a row, and looks after each for the oldest one. The first ones differ in age, so the oldest must be
 * gone and the next one must live. Later ones may have one age, so that the model knows only that one of them is gone: if it is not the
 * oldest, all of them are used.
 */
export async function manySessions(caller: Caller, who: string, count: number, meanwhile: Meanwhile): Promise<void> {
  const { x } = caller
  const script = `sessions/many/${who}`
  const storm: Storm = { name: freshName(x, 'm'), turn: 0 }
  const made: string[] = []
  for (let at = 0; at < count; at++) {
    if (at <= ofOwnAge) await meanwhile(pauseMs)
    x.script = script
    made.push(...(await makeSessions(x, who, storm, [at, at + 1])))
    const [oldest, next] = made.slice(-1 - mostSessions)
    if (oldest === undefined || made.length <= mostSessions) continue
    const seen = await x.call(list(token(oldest)))
    if (next !== undefined && made.length <= mostSessions + ofOwnAge) await x.call(list(token(next)))
    else if (seen?.answer.kind === 'accepted') await useAll(x, made.slice(-1 - mostSessions))
  }
  await useAll(x, made)
  for (const pair of made.slice(0, 4)) await expectRefused(x, refresh(pair))
}
