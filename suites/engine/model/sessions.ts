/**
 * Sessions of a user (parts 2, 3 and 5.4): at most 16, the oldest removed. Who a user is, what counts and what a name used again does are
 * open, and tied to one another; so every combination is kept as a table of its own until an answer contradicts it.
 */
import { sessionLimit } from '../document.ts'
import { everyReading, type Reading, type Reuse } from './readings.ts'
import { type Age, begunAt, mayBeOldest, type Touch, touchedAt } from './session-age.ts'
import type { Span } from './span.ts'
import { slackMs } from './spelling.ts'

interface Session extends Age {
  readonly name: string | null
  /** The other words of the scope of its last grant. */
  readonly besides?: string | undefined
  /** The lines of pairs that live in this session. */
  readonly lines: readonly number[]
}

/** A line of pairs that was granted in an earlier session of this name, which may be the one that was joined. */
interface EarlierLine {
  readonly name: string | null
  readonly line: number
}

interface User {
  readonly live: readonly Session[]
  /** Sessions; `lost` of them were removed, it is unknown which. */
  readonly doubtful: readonly Session[]
  readonly lost: number
  /** They live if the session of their name is the one that they were granted in. No session counts them. */
  readonly earlierLines: readonly EarlierLine[]
  /**
   * Something happened that this table cannot follow. It says nothing about this user until enough new sessions have removed all others.
   */
  readonly unclear: Unclear | null
}

interface Unclear {
  /** When something last happened that this table cannot follow. */
  readonly since: number
  /** The sessions that were created after that, one after another, if nothing else happened. */
  readonly recent: readonly Session[]
  /** Names that sessions may have. */
  readonly names: ReadonlySet<string | null>
}

export interface SessionTable {
  readonly reading: Reading
  readonly users: ReadonlyMap<string, User>
}

const noSessions: User = { live: [], doubtful: [], lost: 0, earlierLines: [], unclear: null }

/** One table for each combination of readings. */
export const everySessionTable = (): SessionTable[] => everyReading().map((reading) => ({ reading, users: new Map() }))

export interface Member {
  readonly key: string
  readonly line: number
  /** null: the pair was granted without a session. */
  readonly name: string | null
  /** The other words of its scope. */
  readonly besides?: string
  /** The label of the key, its scope in alphabetical order, where that is known, and whether it is the initial one: a user may be each of these. */
  readonly keyName: string
  readonly keyScope?: string | undefined
  readonly isRoot: boolean
}

/** Whether a line's session lives, as one table says. */
export function liveness(table: SessionTable, member: Member): 'live' | 'dead' | 'unknown' {
  if (member.name === null && table.reading.unnamed === 'none') return 'live'
  const { live, doubtful, earlierLines, unclear } = userOf(table, member)
  if (unclear !== null || earlierLines.some(({ line }) => line === member.line)) return 'unknown'
  if (live.some(holds(member))) return 'live'
  return doubtful.some(holds(member)) ? 'unknown' : 'dead'
}

/** A new session, or a name used again: sessions/next-works, sessions/oldest-removed. */
export function addSession(table: SessionTable, member: Member, when: Span): SessionTable {
  const { unnamed } = table.reading
  if (member.name === null && unnamed === 'none') return table
  const user = userOf(table, member)
  if (user.unclear !== null) return withUser(table, member, addedWhileUnclear(user, user.unclear, member, when))
  const isNamed = member.name !== null || unnamed === 'one'
  // Names may be compared in any case.
  const same = (session: Session): boolean => isNamed && session.name?.toLowerCase() === member.name?.toLowerCase()
  const ofName = [...user.live, ...user.doubtful].filter(same)
  if (isAmbiguous(table.reading, ofName)) return withUser(table, member, unclearUser(user, member.name, when))
  const reusedName = reuseOf(table.reading, ofName[0], member)
  const uncertain = reusedName === 'adds' ? undefined : user.doubtful.find(same)
  if (uncertain !== undefined) return withUser(table, member, usedAgain(table, uncertain, member, when))
  const joined = reusedName === 'joins' ? user.live.find(same) : undefined
  if (joined !== undefined) {
    const { created } = joined
    const session: Session = {
      ...joined,
      ...begunAt(when),
      created,
      lines: [...joined.lines, member.line],
      besides: member.besides,
    }
    return withUser(table, member, { ...user, live: [...user.live.filter((one) => one !== joined), session] })
  }
  const kept = reusedName === 'replaces' ? { ...user, live: user.live.filter((session) => !same(session)) } : user
  const session: Session = { name: member.name, besides: member.besides, lines: [member.line], ...begunAt(when) }
  // Of sessions that were created at once, the server may have created this one first.
  const isAmongOthers = [...kept.live, ...kept.doubtful].some(({ used }) => used.to > when.from)
  if (isAmongOthers && isFull(kept))
    return withUser(table, member, loseOldest({ ...kept, live: [...kept.live, session] }))
  const rest = isFull(kept) ? loseOldest(kept) : kept
  return withUser(table, member, { ...rest, live: [...rest.live, session] })
}

/** Whether sessions of one name have different scopes, so that it is open with which of them a further grant is compared. */
const isAmbiguous = ({ reusedName, reusedForAnother }: Reading, ofName: readonly Session[]): boolean =>
  reusedName !== reusedForAnother && ofName.some(({ besides }) => besides !== ofName[0]?.besides)

/** What a name does that is used again, or may be. */
function reuseOf({ reusedName, reusedForAnother }: Reading, earlier: Session | undefined, { besides }: Member): Reuse {
  return earlier === undefined || earlier.besides === besides ? reusedName : reusedForAnother
}

const isFull = ({ live, doubtful, lost }: User): boolean => live.length + doubtful.length - lost >= sessionLimit

/**
 * A name used again whose session may be gone. If it lives, nothing is removed now; if not, the oldest may be. At the limit both leave
 * as many lost as before, among those that were in doubt and those that may be the oldest.
 */
function usedAgain(table: SessionTable, again: Session, member: Member, when: Span): User {
  const { reading } = table
  const user = userOf(table, member)
  const { live, doubtful, earlierLines } = user
  if (!isFull(user)) return unclearUser(user, member.name, when)
  const others = doubtful.filter((session) => session !== again)
  const candidates = mayBeOldest(live, others)
  const rest = settled({
    ...user,
    live: live.filter((session) => !candidates.includes(session)),
    doubtful: [...others, ...candidates],
  })
  const { name, line, besides } = member
  if (reuseOf(reading, again, member) !== 'joins')
    return { ...rest, live: [...rest.live, { name, besides, lines: [line], ...begunAt(when) }] }
  // A session that is joined keeps the time of its creation, and its earlier tokens live with it.
  const created = { from: again.created.from, to: when.to }
  const earlier = again.lines.map((one): EarlierLine => ({ name, line: one }))
  return {
    ...rest,
    live: [...rest.live, { name, besides, lines: [line], ...begunAt(when), created }],
    earlierLines: [...earlierLines, ...earlier],
  }
}

/** A user about whose sessions nothing is known from now on. */
function unclearUser({ live, doubtful, unclear }: User, name: string | null, when: Span): User {
  const names = new Set([
    ...(unclear?.names ?? []),
    ...[...live, ...doubtful].map((session) => lowered(session.name)),
    lowered(name),
  ])
  return { ...noSessions, unclear: { since: when.to, recent: [], names } }
}

const lowered = (name: string | null): string | null => name?.toLowerCase() ?? null

/** Sixteen new sessions in a row, with new names, remove all others. */
function addedWhileUnclear(
  user: User,
  { since, recent, names }: Unclear,
  { name, line, besides }: Member,
  when: Span,
): User {
  const isNew = name !== null && !names.has(lowered(name)) && when.from > since + slackMs
  if (!isNew) return unclearUser(user, name, when)
  const next = [...recent, { name, besides, lines: [line], ...begunAt(when) }]
  if (next.length === sessionLimit) return { ...noSessions, live: next }
  return { ...user, unclear: { since, recent: next, names: new Set([...names, lowered(name)]) } }
}

/** Of the sessions that may be the oldest, one is lost. */
function loseOldest(user: User): User {
  const { live, doubtful, lost } = user
  const candidates = mayBeOldest(live, doubtful)
  const rest = live.filter((session) => !candidates.includes(session))
  return settled({ ...user, live: rest, doubtful: [...doubtful, ...candidates], lost: lost + 1 })
}

/** If as many are lost as are doubtful, all of these are gone; if none is lost, all of them live. */
function settled(user: User): User {
  const { live, doubtful, lost } = user
  if (lost <= 0) return { ...user, live: [...live, ...doubtful], doubtful: [], lost: 0 }
  return lost >= doubtful.length ? { ...user, doubtful: [], lost: 0 } : user
}

/** A session was used or refreshed, so that it may be younger now. */
export function touchSession(table: SessionTable, member: Member, how: Touch, when: Span): SessionTable {
  if (member.name === null && table.reading.unnamed === 'none') return table
  const user = userOf(table, member)
  if (user.unclear !== null && !user.unclear.recent.some(holds(member)))
    return withUser(table, member, unclearUser(user, null, when))
  const touched = (sessions: readonly Session[]): readonly Session[] =>
    sessions.some(holds(member))
      ? sessions.map((session) => (holds(member)(session) ? { ...session, ...touchedAt(session, how, when) } : session))
      : sessions
  const [live, doubtful] = [touched(user.live), touched(user.doubtful)]
  const recent = user.unclear === null ? [] : touched(user.unclear.recent)
  if (live === user.live && doubtful === user.doubtful && user.unclear === null) return table
  return withUser(table, member, {
    ...user,
    live,
    doubtful,
    unclear: user.unclear === null ? null : { ...user.unclear, recent },
  })
}

/** Learns from an answer about a session; null if it contradicts this table. */
export function observeSession(table: SessionTable, member: Member, seen: 'live' | 'dead'): SessionTable | null {
  const said = liveness(table, member)
  if (said !== 'unknown') return said === seen ? table : null
  const user = userOf(table, member)
  if (user.unclear !== null) return table
  const earlierLine = user.earlierLines.find(({ line }) => line === member.line)
  if (earlierLine !== undefined) return withUser(table, member, earlierLineSeen(user, earlierLine, seen))
  const doubtful = user.doubtful.filter((session) => !holds(member)(session))
  const found = user.doubtful.filter(holds(member))
  const next =
    seen === 'live' ? { ...user, live: [...user.live, ...found], doubtful } : { ...user, doubtful, lost: user.lost - 1 }
  return withUser(table, member, settled(next))
}

/** The earlier tokens of a joined session live as long as it does, or they are gone. */
function earlierLineSeen(user: User, { name, line }: EarlierLine, seen: 'live' | 'dead'): User {
  const earlierLines = user.earlierLines.filter((one) => one.line !== line)
  if (seen === 'dead') return { ...user, earlierLines }
  const isJoined = (session: Session): boolean => session.name === name
  const joined = [...user.live, ...user.doubtful].filter(isJoined)
  return settled({
    ...user,
    earlierLines,
    live: [
      ...user.live.filter((session) => !isJoined(session)),
      ...joined.map((session) => ({ ...session, lines: [...session.lines, line] })),
    ],
    doubtful: user.doubtful.filter((session) => !isJoined(session)),
  })
}

/** Nothing is known from now on about the sessions of the member's user, for example because the answer to a grant was lost. */
export function forgetSessionsOf(table: SessionTable, member: Member, when: Span): SessionTable {
  if (member.name === null && table.reading.unnamed === 'none') return table
  return withUser(table, member, unclearUser(userOf(table, member), member.name, when))
}

const holds =
  ({ line }: Member) =>
  (session: Session): boolean =>
    session.lines.includes(line)

function nameOf({ reading }: SessionTable, { key, keyName, keyScope, isRoot }: Member): string {
  if (reading.user === 'one key') return key
  if (reading.user === 'keys of one name') return `name ${keyName}`
  if (reading.user === 'keys of one scope') return keyScope === undefined ? key : `scope ${keyScope}`
  return reading.user === 'created keys' && isRoot ? key : ''
}

function userOf(table: SessionTable, member: Member): User {
  return table.users.get(nameOf(table, member)) ?? noSessions
}

function withUser(table: SessionTable, member: Member, user: User): SessionTable {
  return { ...table, users: new Map(table.users).set(nameOf(table, member), user) }
}
