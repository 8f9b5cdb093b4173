/**
 * Sessions of a user (parts 2, 3 and 5.4): at most 16, the oldest removed. Who a user is, what counts, what is oldest and what a name
 * used again does are open, and tied to one another; so every combination is kept as a table of its own until an answer contradicts it.
 */
import { sessionLimit } from '../document.ts'
import type { Span } from './span.ts'
import { slackMs } from './spelling.ts'

export interface Reading {
  readonly user: 'one key' | 'all keys' | 'keys of one name' | 'created keys'
  /** Whether a grant without `session:` counts as a session: none does, each does, or all share one. */
  readonly unnamed: 'none' | 'each' | 'one'
  readonly age: 'created' | 'used' | 'refreshed'
  readonly reusedName: 'replaces' | 'joins' | 'adds'
}

interface Seat {
  readonly name: string | null
  /** The lines of pairs that live in this session. */
  readonly lines: readonly number[]
  /** When it was created, used or refreshed, as the reading counts age. */
  readonly age: Span
}

interface Ghost {
  readonly name: string | null
  readonly line: number
}

interface User {
  readonly live: readonly Seat[]
  /** Sessions; `lost` of them were removed, it is unknown which. */
  readonly doubt: readonly Seat[]
  readonly lost: number
  /** Lines that live in the session of their name if that is the one they were granted in; they are in no session that is counted. */
  readonly ghosts: readonly Ghost[]
  /**
   * Something happened that this table cannot follow. It says nothing about this user until enough new sessions have removed all others.
   */
  readonly vague: Vague | null
}

interface Vague {
  /** When something last happened that this table cannot follow. */
  readonly since: number
  /** The sessions that were created after that, one after another, if nothing else happened. */
  readonly recent: readonly Seat[]
  /** Names that sessions may have. */
  readonly names: ReadonlySet<string | null>
}

export interface SessionTable {
  readonly reading: Reading
  readonly users: ReadonlyMap<string, User>
}

const noSessions: User = { live: [], doubt: [], lost: 0, ghosts: [], vague: null }

/** Every combination of readings. */
export function everySessionTable(): SessionTable[] {
  const tables: SessionTable[] = []
  for (const user of ['one key', 'all keys', 'keys of one name', 'created keys'] as const)
    for (const unnamed of ['none', 'each', 'one'] as const)
      for (const age of ['created', 'used', 'refreshed'] as const)
        for (const reusedName of ['replaces', 'joins', 'adds'] as const)
          tables.push({ reading: { user, unnamed, age, reusedName }, users: new Map() })
  return tables
}

export interface Member {
  readonly key: string
  readonly line: number
  /** null: the pair was granted without a session. */
  readonly name: string | null
  /** The label of the key, and whether it is the initial one: a user may be either. */
  readonly keyName: string
  readonly isRoot: boolean
}

/** Whether a line's session lives, as one table says. */
export function liveness(table: SessionTable, member: Member): 'live' | 'dead' | 'unknown' {
  if (member.name === null && table.reading.unnamed === 'none') return 'live'
  const { live, doubt, ghosts, vague } = userOf(table, member)
  if (vague !== null || ghosts.some(({ line }) => line === member.line)) return 'unknown'
  if (live.some(holds(member))) return 'live'
  return doubt.some(holds(member)) ? 'unknown' : 'dead'
}

/** A new session, or a name used again: sessions/next-works, sessions/oldest-removed. */
export function addSession(table: SessionTable, member: Member, when: Span): SessionTable {
  const { unnamed, reusedName } = table.reading
  if (member.name === null && unnamed === 'none') return table
  const user = userOf(table, member)
  if (user.vague !== null) return withUser(table, member, addedInVague(user, user.vague, member, when))
  const isNamed = member.name !== null || unnamed === 'one'
  // Names may be compared in any case.
  const same = (seat: Seat): boolean => isNamed && seat.name?.toLowerCase() === member.name?.toLowerCase()
  const doubtful = reusedName === 'adds' ? undefined : user.doubt.find(same)
  if (doubtful !== undefined) return withUser(table, member, usedAgain(table, doubtful, member, when))
  const joined = reusedName === 'joins' ? user.live.find(same) : undefined
  if (joined !== undefined) {
    const age = table.reading.age === 'created' ? joined.age : when
    const seat = { ...joined, age, lines: [...joined.lines, member.line] }
    return withUser(table, member, { ...user, live: [...user.live.filter((one) => one !== joined), seat] })
  }
  const kept = reusedName === 'replaces' ? { ...user, live: user.live.filter((seat) => !same(seat)) } : user
  const seat: Seat = { name: member.name, lines: [member.line], age: when }
  const evicted = withinLimit(kept)
  return withUser(table, member, { ...evicted, live: [...evicted.live, seat] })
}

/**
 * A name used again whose session may be gone. If it lives, nothing is removed now; if not, the oldest may be. At the limit both leave
 * as many lost as before, among those that were in doubt and those that may be the oldest.
 */
function usedAgain(table: SessionTable, again: Seat, member: Member, when: Span): User {
  const { reading } = table
  const user = userOf(table, member)
  const { live, doubt, lost, ghosts } = user
  if (live.length + doubt.length - lost < sessionLimit) return lostSight(user, member.name, when)
  const others = doubt.filter((seat) => seat !== again)
  const candidates = mayBeOldest(live, others)
  const rest = settled({
    ...user,
    live: live.filter((seat) => !candidates.includes(seat)),
    doubt: [...others, ...candidates],
  })
  const { name, line } = member
  if (reading.reusedName !== 'joins') return { ...rest, live: [...rest.live, { name, lines: [line], age: when }] }
  // A session that is joined keeps the time of its creation, and its earlier tokens live with it.
  const since = reading.age === 'created' ? { from: again.age.from, to: when.to } : when
  const earlier = again.lines.map((one): Ghost => ({ name, line: one }))
  return { ...rest, live: [...rest.live, { name, lines: [line], age: since }], ghosts: [...ghosts, ...earlier] }
}

/** Of the sessions that live those that may be older than every one that is in doubt, or the oldest of all. */
function mayBeOldest(live: readonly Seat[], doubt: readonly Seat[]): Seat[] {
  // Any of those in doubt may be the oldest that is left.
  const oldest = doubt.length > 0 ? doubt.map(({ age }) => age.to) : [Math.min(...live.map(({ age }) => age.to))]
  const until = Math.max(...oldest) + slackMs
  return live.filter(({ age }) => age.from <= until)
}

/** The table of a user of whom nothing is known from now on. */
function lostSight({ live, doubt, vague }: User, name: string | null, when: Span): User {
  const names = new Set([
    ...(vague?.names ?? []),
    ...[...live, ...doubt].map((seat) => lowered(seat.name)),
    lowered(name),
  ])
  return { ...noSessions, vague: { since: when.to, recent: [], names } }
}

const lowered = (name: string | null): string | null => name?.toLowerCase() ?? null

/** Sixteen new sessions in a row, with new names, remove all others. */
function addedInVague(user: User, { since, recent, names }: Vague, { name, line }: Member, when: Span): User {
  const isNew = name !== null && !names.has(lowered(name)) && when.from > since + slackMs
  if (!isNew) return lostSight(user, name, when)
  const next = [...recent, { name, lines: [line], age: when }]
  if (next.length === sessionLimit) return { ...noSessions, live: next }
  return { ...user, vague: { since, recent: next, names: new Set([...names, lowered(name)]) } }
}

/** Makes place for one more: of the sessions that may be the oldest, one is lost. */
function withinLimit(user: User): User {
  const { live, doubt, lost } = user
  if (live.length + doubt.length - lost < sessionLimit) return user
  const candidates = mayBeOldest(live, doubt)
  const rest = live.filter((seat) => !candidates.includes(seat))
  return settled({ ...user, live: rest, doubt: [...doubt, ...candidates], lost: lost + 1 })
}

/** If as many are lost as are in doubt, all of them are gone; if none is lost any more, all of them live. */
function settled(user: User): User {
  const { live, doubt, lost } = user
  if (lost <= 0) return { ...user, live: [...live, ...doubt], doubt: [], lost: 0 }
  return lost >= doubt.length ? { ...user, doubt: [], lost: 0 } : user
}

/** perhaps used: a call with its token was refused for another reason, and whether it counts as a use is open. */
export type Touch = 'used' | 'perhaps used' | 'refreshed'

/** A session was used or refreshed: its age is another, where the reading counts so. */
export function touchSession(table: SessionTable, member: Member, how: Touch, when: Span): SessionTable {
  const { age } = table.reading
  if (age === 'created' || (age === 'refreshed' && how !== 'refreshed')) return table
  const user = userOf(table, member)
  if (user.vague !== null && !user.vague.recent.some(holds(member)))
    return withUser(table, member, lostSight(user, null, when))
  if (how === 'perhaps used') return withUser(table, member, perhapsUsed(user, member, when))
  if (!user.live.some(holds(member))) return table
  const live = user.live.map((seat) => (holds(member)(seat) ? { ...seat, age: when } : seat))
  return withUser(table, member, { ...user, live })
}

/** The age of the session is the old or the new one. */
function perhapsUsed(user: User, member: Member, { to }: Span): User {
  const either = (seats: readonly Seat[]): Seat[] =>
    seats.map((seat) => (holds(member)(seat) ? { ...seat, age: { from: seat.age.from, to } } : seat))
  return { ...user, live: either(user.live), doubt: either(user.doubt) }
}

/** Learns from an answer about a session; null if it contradicts this table. */
export function observeSession(table: SessionTable, member: Member, seen: 'live' | 'dead'): SessionTable | null {
  const said = liveness(table, member)
  if (said !== 'unknown') return said === seen ? table : null
  const user = userOf(table, member)
  if (user.vague !== null) return table
  const ghost = user.ghosts.find(({ line }) => line === member.line)
  if (ghost !== undefined) return withUser(table, member, ghostSeen(user, ghost, seen))
  const doubt = user.doubt.filter((seat) => !holds(member)(seat))
  const found = user.doubt.filter(holds(member))
  const next =
    seen === 'live' ? { ...user, live: [...user.live, ...found], doubt } : { ...user, doubt, lost: user.lost - 1 }
  return withUser(table, member, settled(next))
}

/** The earlier tokens of a joined session live as long as it does, or they are gone. */
function ghostSeen(user: User, { name, line }: Ghost, seen: 'live' | 'dead'): User {
  const ghosts = user.ghosts.filter((one) => one.line !== line)
  if (seen === 'dead') return { ...user, ghosts }
  const isJoined = (seat: Seat): boolean => seat.name === name
  const joined = [...user.live, ...user.doubt].filter(isJoined)
  return settled({
    ...user,
    ghosts,
    live: [
      ...user.live.filter((seat) => !isJoined(seat)),
      ...joined.map((seat) => ({ ...seat, lines: [...seat.lines, line] })),
    ],
    doubt: user.doubt.filter((seat) => !isJoined(seat)),
  })
}

/** A grant whose answer was lost may have made a session or not. */
export function blurSessions(table: SessionTable, member: Member, when: Span): SessionTable {
  if (member.name === null && table.reading.unnamed === 'none') return table
  return withUser(table, member, lostSight(userOf(table, member), member.name, when))
}

const holds =
  ({ line }: Member) =>
  (seat: Seat): boolean =>
    seat.lines.includes(line)

function nameOf({ reading }: SessionTable, { key, keyName, isRoot }: Member): string {
  if (reading.user === 'one key') return key
  if (reading.user === 'keys of one name') return `name ${keyName}`
  return reading.user === 'created keys' && isRoot ? key : ''
}

function userOf(table: SessionTable, member: Member): User {
  return table.users.get(nameOf(table, member)) ?? noSessions
}

function withUser(table: SessionTable, member: Member, user: User): SessionTable {
  return { ...table, users: new Map(table.users).set(nameOf(table, member), user) }
}
