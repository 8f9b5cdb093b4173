import { sessionLimit } from '../document.ts'

/** Milliseconds of the local clock between which something happened or will happen. */
export interface Span {
  readonly from: number
  readonly to: number
}

/** A server may store times in whole seconds, so nothing is judged closer to one than this, unless it showed that it stores finer ones. In ms. */
export const slackMs = 1200

/**
 * What the document leaves open about sessions (parts 2, 3 and 5.4), beside what makes one the oldest. The questions are tied to one another.
 */

export interface Reading {
  readonly user: 'one key' | 'all keys' | 'keys of one name' | 'keys of one scope' | 'created keys'
  /** Whether a grant without `session:` counts as a session: none does, each does, or all share one. */
  readonly unnamed: 'none' | 'each' | 'one'
  /** What a name used again does, with the same scope and with another. */
  readonly reusedName: Reuse
  readonly reusedForAnother: Reuse
}

type Reuse = 'replaces' | 'joins' | 'adds'

/** A server may take a grant of another scope for another session of that name, but not one of the same scope. */
const reuses: readonly (readonly [same: Reuse, another: Reuse])[] = [
  ['replaces', 'replaces'],
  ['joins', 'joins'],
  ['adds', 'adds'],
  ['joins', 'replaces'],
  ['joins', 'adds'],
  ['replaces', 'adds'],
]

/** Every combination. */
function everyReading(): Reading[] {
  const readings: Reading[] = []
  for (const user of ['one key', 'all keys', 'keys of one name', 'keys of one scope', 'created keys'] as const)
    for (const unnamed of ['none', 'each', 'one'] as const)
      for (const [reusedName, reusedForAnother] of reuses)
        readings.push({ user, unnamed, reusedName, reusedForAnother })
  return readings
}

/**
 * The age of sessions (part 2). What makes one the oldest is open: its creation, its last refresh or its last use, perhaps noted in coarse steps
 * of time, with one of these where others are equal. So one is surely older than another only in all three ways.
 */

interface Age {
  readonly created: Span
  /** A creation counts as the first refresh and the first use, and a refresh as a use. */
  readonly refreshed: Span
  readonly used: Span
}

/** perhaps used: a call with its token was refused for another reason, and whether it counts as a use is open. */
type Touch = 'used' | 'perhaps used' | 'refreshed'

const begunAt = (when: Span): Age => ({ created: when, refreshed: when, used: when })

/** What may have been no use leaves open when the session was used last. */
function touchedAt({ used }: Age, how: Touch, when: Span): Partial<Age> {
  if (how === 'refreshed') return { refreshed: when, used: when }
  return { used: how === 'used' ? when : { from: used.from, to: when.to } }
}

/** Whether one was created, refreshed and used before another. */
const isSurelyOlder = (one: Age, other: Age, slack: number): boolean =>
  one.created.to + slack < other.created.from &&
  one.refreshed.to + slack < other.refreshed.from &&
  one.used.to + slack < other.used.from

/**
 * Sessions of a user (parts 2, 3 and 5.4): at most 16, the oldest removed. Who a user is, what counts and what a name used again does are
 * open, and tied to one another; so every combination is kept as a table of its own until an answer contradicts it.
 */

interface Session extends Age {
  readonly name: string | null
  /** The other words of the scope of its last grant. */
  readonly besides?: string | undefined
  /** The lines of pairs that live in this session. */
  readonly lines: readonly number[]
  /** It may have been removed. */
  readonly isDoubtful: boolean
}

/** A line of pairs that was granted in an earlier session of this name, which may be the one that was joined. */
interface EarlierLine {
  readonly name: string | null
  readonly line: number
}

interface User {
  readonly sessions: readonly Session[]
  /** How many of the doubtful sessions were removed; which of them is unknown. */
  readonly lost: number
  /** They live if the session of their name is the one that they were granted in. No session counts them. */
  readonly earlierLines: readonly EarlierLine[]
  /**
   * Something happened that this table cannot follow. It says nothing about this user until enough new sessions have removed all others;
   * `sessions` are then those that were created after it, one after another, if nothing else happened.
   */
  readonly unclear: Unclear | null
}

interface Unclear {
  /** When something last happened that this table cannot follow. */
  readonly since: number
  /** Names that sessions may have. */
  readonly names: ReadonlySet<string | null>
}

export interface SessionTable {
  readonly reading: Reading
  /** Ages that differ by less may be the same to the target. In ms. */
  readonly slackMs: number
  readonly users: ReadonlyMap<string, User>
}

const noSessions: User = { sessions: [], lost: 0, earlierLines: [], unclear: null }

/** One table for each combination of readings. */
export const everySessionTable = (): SessionTable[] =>
  everyReading().map((reading) => ({ reading, slackMs, users: new Map() }))

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

/** Whether no session belongs to a member, in this reading. */
const hasNone = ({ reading }: SessionTable, { name }: Member): boolean => name === null && reading.unnamed === 'none'

/** Whether a line's session lives, as one table says. */
export function liveness(table: SessionTable, member: Member): 'live' | 'dead' | 'unknown' {
  return hasNone(table, member) ? 'live' : livenessIn(userOf(table, member), member)
}

function livenessIn({ sessions, earlierLines, unclear }: User, member: Member): 'live' | 'dead' | 'unknown' {
  if (unclear !== null || earlierLines.some(({ line }) => line === member.line)) return 'unknown'
  const session = sessions.find(holds(member))
  if (session === undefined) return 'dead'
  return session.isDoubtful ? 'unknown' : 'live'
}

const begun = ({ name, besides, line }: Member, when: Span): Session => ({
  name,
  besides,
  lines: [line],
  isDoubtful: false,
  ...begunAt(when),
})

/** A new session, or a name used again: sessions/next-works, sessions/oldest-removed. */
export function addSession(table: SessionTable, member: Member, when: Span): SessionTable {
  if (hasNone(table, member)) return table
  const { reusedName, reusedForAnother } = table.reading
  const user = userOf(table, member)
  const isUsedAgain = user.unclear === null && sessionsOfName(table, user, member).length > 0
  // The readings differ only in what a name does that is used again.
  const how = isUsedAgain ? `added, ${reusedName}, ${reusedForAnother}` : 'added'
  return withUser(
    table,
    member,
    shared(user, { member, when, how }, () => added(table, user, member, when)),
  )
}

interface Happened {
  readonly member: Member
  readonly when: Span | null
  readonly how: string
}

/** What happened to a user last, and what came of it. */
const latest = new WeakMap<User, Omit<Happened, 'how'> & { readonly next: Map<string, User> }>()

/** Many tables agree about a user, so what happens to it is computed once for all of them, and they agree about it afterwards. */
function shared(user: User, { member, when, how }: Happened, change: () => User): User {
  let known = latest.get(user)
  if (known?.member !== member || known.when !== when) known = { member, when, next: new Map() }
  latest.set(user, known)
  const next = known.next.get(how) ?? change()
  known.next.set(how, next)
  return next
}

function added(table: SessionTable, user: User, member: Member, when: Span): User {
  const { reading, slackMs: slack } = table
  if (user.unclear !== null)
    return when.from > user.unclear.since + slack
      ? addedWhileUnclear(user, user.unclear, member, when)
      : unclearUser(user, member.name, when)
  const ofName = sessionsOfName(table, user, member)
  if (isAmbiguous(reading, ofName)) return unclearUser(user, member.name, when)
  const reuse = reuseOf(reading, ofName[0], member)
  const uncertain = reuse === 'adds' ? undefined : ofName.find(({ isDoubtful }) => isDoubtful)
  if (uncertain !== undefined) return usedAgain(user, uncertain, reuse, member, when, slack)
  const session = begun(member, when)
  const joined = reuse === 'joins' ? ofName[0] : undefined
  if (joined !== undefined) {
    const { created, lines } = joined
    const next = { ...session, created, lines: [...lines, member.line] }
    return { ...user, sessions: user.sessions.map((one) => (one === joined ? next : one)) }
  }
  const kept = reuse === 'replaces' ? { ...user, sessions: user.sessions.filter((one) => !ofName.includes(one)) } : user
  const next = { ...kept, sessions: [...kept.sessions, session] }
  if (!isFull(kept)) return next
  // Of sessions that were created at once, the server may have created this one first.
  if (kept.sessions.some(({ used }) => used.to > when.from)) return loseOldest(next, slack)
  const rest = loseOldest(kept, slack)
  return { ...rest, sessions: [...rest.sessions, session] }
}

/** Whether sessions of one name have different scopes, so that it is open with which of them a further grant is compared. */
const isAmbiguous = ({ reusedName, reusedForAnother }: Reading, ofName: readonly Session[]): boolean =>
  reusedName !== reusedForAnother && ofName.some(({ besides }) => besides !== ofName[0]?.besides)

/** What a name does that is used again, or may be. */
function reuseOf({ reusedName, reusedForAnother }: Reading, earlier: Session | undefined, { besides }: Member): Reuse {
  return earlier === undefined || earlier.besides === besides ? reusedName : reusedForAnother
}

const isFull = ({ sessions, lost }: User): boolean => sessions.length - lost >= sessionLimit

/**
 * A name used again whose session may be gone. If it lives, nothing is removed now; if not, the oldest may be. At the limit both leave
 * as many lost as before, among those that were in doubt and those that may be the oldest.
 */
// biome-ignore lint/complexity/useMaxParams: it is the last step of `added`, which has computed them
function usedAgain(user: User, again: Session, reuse: Reuse, member: Member, when: Span, slack: number): User {
  if (!isFull(user)) return unclearUser(user, member.name, when)
  const others = user.sessions.filter((session) => session !== again)
  const rest = settled({ ...user, sessions: withDoubt(others, slack) })
  const session = begun(member, when)
  if (reuse !== 'joins') return { ...rest, sessions: [...rest.sessions, session] }
  // A session that is joined keeps the time of its creation, and its earlier tokens live with it.
  const created = { from: again.created.from, to: when.to }
  const earlier = again.lines.map((line): EarlierLine => ({ name: member.name, line }))
  return {
    ...rest,
    sessions: [...rest.sessions, { ...session, created }],
    earlierLines: [...user.earlierLines, ...earlier],
  }
}

/** A user about whose sessions nothing is known from now on. */
function unclearUser({ sessions, unclear }: User, name: string | null, when: Span): User {
  const names = new Set([...(unclear?.names ?? []), ...sessions.map((session) => lowered(session.name)), lowered(name)])
  return { ...noSessions, unclear: { since: when.to, names } }
}

const lowered = (name: string | null): string | null => name?.toLowerCase() ?? null

/** The sessions that a new one of this name may be the same as. Names may be compared in any case. */
function sessionsOfName({ reading }: SessionTable, { sessions }: User, member: Member): readonly Session[] {
  if (member.name === null && reading.unnamed !== 'one') return []
  const wanted = lowered(member.name)
  return sessions.filter(({ name }) => lowered(name) === wanted)
}

/** Sixteen new sessions in a row, with new names, remove all others. */
function addedWhileUnclear(user: User, { since, names }: Unclear, member: Member, when: Span): User {
  const name = lowered(member.name)
  const isNew = name !== null && !names.has(name)
  if (!isNew) return unclearUser(user, member.name, when)
  const sessions = [...user.sessions, begun(member, when)]
  if (sessions.length === sessionLimit) return { ...noSessions, sessions }
  return { ...user, sessions, unclear: { since, names: new Set([...names, name]) } }
}

/** Of the sessions that may be the oldest, one is lost. */
function loseOldest(user: User, slack: number): User {
  return settled({ ...user, sessions: withDoubt(user.sessions, slack), lost: user.lost + 1 })
}

/** The sessions, with doubt about those that may be the oldest of those that are left. */
function withDoubt(sessions: readonly Session[], slack: number): Session[] {
  const live = sessions.filter(({ isDoubtful }) => !isDoubtful)
  const doubtful = sessions.filter(({ isDoubtful }) => isDoubtful)
  const mayBeOldest = (session: Session): boolean =>
    !live.some((other) => isSurelyOlder(other, session, slack)) &&
    // Any doubtful one may be the one that is left.
    (doubtful.length === 0 || !doubtful.every((other) => isSurelyOlder(other, session, slack)))
  return sessions.map((session) =>
    !session.isDoubtful && mayBeOldest(session) ? { ...session, isDoubtful: true } : session,
  )
}

/** If as many are lost as are doubtful, all of these are gone; if none is lost, all of them live. */
function settled(user: User): User {
  const { sessions, lost } = user
  const doubtful = sessions.filter(({ isDoubtful }) => isDoubtful).length
  if (doubtful === 0) return lost === 0 ? user : { ...user, lost: 0 }
  if (lost <= 0) return { ...user, sessions: sessions.map((one) => ({ ...one, isDoubtful: false })), lost: 0 }
  return lost >= doubtful ? { ...user, sessions: sessions.filter(({ isDoubtful }) => !isDoubtful), lost: 0 } : user
}

/** A session was used or refreshed, so that it may be younger now. */
export function touchSession(table: SessionTable, member: Member, how: Touch, when: Span): SessionTable {
  if (hasNone(table, member)) return table
  const user = userOf(table, member)
  const isOfUser = user.sessions.some(holds(member))
  if (!isOfUser) return user.unclear === null ? table : withUser(table, member, unclearUser(user, null, when))
  const touched = (session: Session): Session =>
    holds(member)(session) ? { ...session, ...touchedAt(session, how, when) } : session
  const next = shared(user, { member, when, how }, () => ({ ...user, sessions: user.sessions.map(touched) }))
  return withUser(table, member, next)
}

/** Learns from an answer about a session; null if it contradicts this table. */
export function observeSession(table: SessionTable, member: Member, seen: 'live' | 'dead'): SessionTable | null {
  const said = liveness(table, member)
  if (said !== 'unknown') return said === seen ? table : null
  const user = userOf(table, member)
  if (user.unclear !== null) return table
  const earlierLine = user.earlierLines.find(({ line }) => line === member.line)
  if (earlierLine !== undefined) return withUser(table, member, earlierLineSeen(user, earlierLine, seen))
  const isSeen = holds(member)
  const next = shared(user, { member, when: null, how: seen }, () =>
    settled(
      seen === 'live'
        ? { ...user, sessions: user.sessions.map((one) => (isSeen(one) ? { ...one, isDoubtful: false } : one)) }
        : { ...user, sessions: user.sessions.filter((one) => !isSeen(one)), lost: user.lost - 1 },
    ),
  )
  return withUser(table, member, next)
}

/** The earlier tokens of a joined session live as long as it does, or they are gone. */
function earlierLineSeen(user: User, { name, line }: EarlierLine, seen: 'live' | 'dead'): User {
  const earlierLines = user.earlierLines.filter((one) => one.line !== line)
  if (seen === 'dead') return { ...user, earlierLines }
  const sessions = user.sessions.map((session) =>
    session.name === name ? { ...session, isDoubtful: false, lines: [...session.lines, line] } : session,
  )
  return settled({ ...user, earlierLines, sessions })
}

/** Nothing is known from now on about the sessions of the member's user, for example because the answer to a grant was lost. */
export function forgetSessionsOf(table: SessionTable, member: Member, when: Span): SessionTable {
  return hasNone(table, member) ? table : withUser(table, member, unclearUser(userOf(table, member), member.name, when))
}

const holds =
  ({ line }: Member) =>
  (session: Session): boolean =>
    session.lines.includes(line)

function userOf({ reading, users }: SessionTable, member: Member): User {
  return users.get(nameOf(reading, member)) ?? noSessions
}

function withUser(table: SessionTable, member: Member, user: User): SessionTable {
  return { ...table, users: new Map(table.users).set(nameOf(table.reading, member), user) }
}

function nameOf({ user }: Reading, { key, keyName, keyScope, isRoot }: Member): string {
  if (user === 'one key') return key
  if (user === 'keys of one name') return `name ${keyName}`
  if (user === 'keys of one scope') return keyScope === undefined ? key : `scope ${keyScope}`
  return user === 'created keys' && isRoot ? key : ''
}

/** Whether every reading that is left takes each member for another user, so that what one does leaves the sessions of the others as they are. */
export const areApart = (tables: Tables, members: readonly Member[]): boolean =>
  tables.length > 0 &&
  tables.every(({ reading }) => new Set(members.map((member) => nameOf(reading, member))).size === members.length)

/** All readings of the open questions about sessions together. What did not change keeps its identity, so that it is computed once. */

type Tables = readonly SessionTable[]
type Said = ReadonlySet<'live' | 'dead' | 'unknown'>

interface Remembered {
  readonly said: Map<number, Said>
  /** When a line was used or refreshed last. */
  readonly touched: Map<string, number>
}

const memory = new WeakMap<Tables, Remembered>()

function remembered(tables: Tables): Remembered {
  const known = memory.get(tables) ?? { said: new Map(), touched: new Map() }
  memory.set(tables, known)
  return known
}

/** What the tables say about the session of a line: one word if all readings agree. */
export function saidOf(tables: Tables, member: Member): Said {
  const { said } = remembered(tables)
  const known = said.get(member.line)
  if (known !== undefined) return known
  const ofUsers = new Set(tables.map((table) => (hasNone(table, member) ? null : userOf(table, member))))
  const words: Said = new Set([...ofUsers].map((user) => (user === null ? 'live' : livenessIn(user, member))))
  said.set(member.line, words)
  return words
}

/** The tables that an answer does not contradict; empty if it contradicts every reading. */
export function observeAll(tables: Tables, member: Member, seen: 'live' | 'dead'): Tables {
  const said = saidOf(tables, member)
  if (said.size === 1 && said.has(seen)) return tables
  return kept(
    tables,
    tables.flatMap((table) => observeSession(table, member, seen) ?? []),
  )
}

/** Ages are compared with a slack of more than a second, so that this much does not count. */
const unnoticedMs = 50

/** A session was used or refreshed; in readings that count age this way it is younger now. */
export function touchAll(tables: Tables, member: Member, how: Touch, when: Span): Tables {
  const { said, touched } = remembered(tables)
  const name = `${how} ${member.line}`
  const last = touched.get(name)
  if (last !== undefined && when.to - last < unnoticedMs) return tables
  const next = kept(
    tables,
    tables.map((table) => touchSession(table, member, how, when)),
  )
  // Ages do not decide which sessions live, so earlier answers still hold.
  const recent = [...touched].filter(([, at]) => when.to - at < unnoticedMs)
  memory.set(next, { said, touched: new Map(recent).set(name, when.to) })
  return next
}

const kept = (before: Tables, after: Tables): Tables =>
  after.length === before.length && after.every((table, at) => table === before[at]) ? before : after
