import { describe, expect, test } from 'vitest'
import {
  accepted,
  after,
  afterGrants,
  at,
  body,
  type Event,
  grantCall,
  granted,
  listWith,
  lost,
  newState,
  refreshCall,
  refused,
  ruling,
  tokenHeader,
  tokensOf,
  use,
  verdict,
} from '../../self/made-up-calls.ts'
import { turnUnlessProof } from '../../self/proof-form.ts'
import { sessionLimit } from '../document.ts'
import { type Random, seededRandom } from '../signer/random.ts'
import {
  addSession,
  areApart,
  everySessionTable,
  forgetSessionsOf,
  liveness,
  type Member,
  observeSession,
  type Reading,
  type SessionTable,
  slackMs,
  touchSession,
} from './sessions.ts'
import type { State } from './state.ts'

const numbered = (count: number): string[] => Array.from({ length: count }, (_, n) => `s${n}`)

/** Grants of sessions, one after another. */
const grants = (names: readonly string[], apartMs: number, fromMs = 0): Event[] =>
  names.map((name, n) => granted(name, ['solution', `session:${name}`], { ms: fromMs + n * apartMs }))

/** Sessions created one after another, this many ms apart, on a target whose clock is known. */
const start: State = { ...newState(), tokenClock: { from: -1000, to: 1000 } }
const withSessions = (names: readonly string[], apartMs: number): State => after(start, ...grants(names, apartMs))

const refreshOf = (name: string) => refreshCall(tokensOf(name).refresh)
const uses = (names: readonly string[], ms: number): Event[] => names.map((name) => [use(name), accepted(), ms])

describe('sixteen sessions', () => {
  test('live, and the seventeenth removes the oldest', () => {
    expect(verdict(withSessions(numbered(16), 100), use('s0'), 2000)).toBe('accepted')
    const state = after(withSessions(['s0'], 0), ...uses(['s0'], 10), ...grants(numbered(17).slice(1), 1, 3000))
    expect(ruling(state, use('s0'), 5000)).toContain('refused: sessions/oldest-removed')
    expect(ruling(state, refreshOf('s0'), 5000)).toContain('refused: sessions/removed-refresh')
    expect(verdict(state, use('s16'), 5000)).toBe('accepted')
  })

  test('after a lost race left more, which ones are removed is not known', () => {
    const before = withSessions(numbered(17), 3000)
    expect(ruling(before, use('s0'), 60_000)).toContain('refused: sessions/oldest-removed')
    const surplus: State = { ...before, terms: { ...before.terms, hasSurplusSessions: true } }
    for (const call of [use('s0'), refreshOf('s0')]) expect(verdict(surplus, call, 60_000)).toBe('open')
  })

  test('made within a second: one is gone, but it is unknown which is the oldest', () => {
    const state = withSessions(numbered(17), 10)
    expect(verdict(state, use('s0'), 300)).toBe('open')
    const used = after(state, ...uses(numbered(15), 400))
    expect([verdict(used, use('s16'), 500), verdict(used, use('s15'), 500)]).toEqual(['accepted', 'refused'])
  })

  test('made at once: the one whose answer came last may have been created first', () => {
    expect(verdict(withSessions(numbered(17), 1), use('s16'), 300)).toBe('open')
  })

  test('of twenty-four simultaneous ones eight are gone', () => {
    const state = after(withSessions(numbered(24), 1), ...uses(numbered(24).slice(8), 200))
    expect(verdict(state, use('s0'), 300)).toBe('refused')
  })
})

describe('the readings of the open questions', () => {
  test('an answer drops those that it contradicts', () => {
    const unnamed = Array.from({ length: 16 }, (_, n) => granted(`u${n}`, ['solution'], { ms: 2000 + n, said: [] }))
    const state = after(withSessions(['s0'], 0), ...unnamed)
    expect(verdict(state, use('s0'), 4000)).toBe('open')
    const counted = after(state, ...uses(['s0'], 4000))
    expect(counted.sessions.length).toBeLessThan(state.sessions.length)
    expect(counted.sessions.every(({ reading }) => reading.unnamed !== 'each')).toBe(true)
  })

  test('one session is older than another if it was created, refreshed and used before it', () => {
    const who = (line: number) => ({ key: 'k', line, name: `n${line}`, keyName: '', isRoot: false })
    const sixteen = everySessionTable().map((table) =>
      Array.from({ length: 16 }, (_, line) => line).reduce(
        (one, line) => addSession(one, who(line), at(line * 2000)),
        table,
      ),
    )
    const seen = (lines: readonly number[], how: Parameters<typeof touchSession>[2]) =>
      new Set(
        sixteen
          .map((table) =>
            lines.reduce((one, line, turn) => touchSession(one, who(line), how, at(40_000 + turn * 2000)), table),
          )
          .map((table) => addSession(table, who(16), at(44_000)))
          .map((table) => `${liveness(table, who(0))} ${liveness(table, who(1))}`),
      )
    expect(seen([], 'used')).toEqual(new Set(['dead live']))
    // Whether a use that was refused for its scope counts as one is open, too.
    for (const how of ['used', 'perhaps used', 'refreshed'] as const)
      expect(seen([0], how)).toEqual(new Set(['unknown unknown']))
    expect(seen([0, 1], 'used')).toEqual(new Set(['unknown live']))
    expect(seen([1], 'refreshed')).toEqual(new Set(['dead live']))
  })

  test('a name used again replaces, joins or adds', () => {
    const line = (line: number) => ({ key: 'k', line, name: 'n', keyName: '', isRoot: false })
    const old = everySessionTable().map((table) => {
      const both = addSession(addSession(table, line(1), at(0)), line(2), at(10))
      return `${table.reading.reusedName}: ${liveness(both, line(1))}`
    })
    expect(new Set(old)).toEqual(new Set(['replaces: dead', 'joins: live', 'adds: live']))
  })

  test('if no reading is left, nothing more is judged for this user', () => {
    const contradicted = after(withSessions(['s0'], 0), [use('s0'), refused, 500])
    expect(verdict(contradicted, use('s0'), 600)).toBe('open')
  })

  test('a name of a grant whose answer was lost may have been used', () => {
    const [again, other] = [grantCall(['solution', 'session:s0']), grantCall(['solution', 'session:s1'])]
    const tried = after(start, [again, lost, 10])
    expect(verdict(tried, again, 8000)).toBe('open')
    for (const [state, call] of [
      [tried, other],
      [start, again],
    ] as const)
      expect(verdict(state, call, 8000)).toBe('accepted')
  })

  test('a session may end before its tokens: after ten seconds it is open', () => {
    expect(verdict(withSessions(['s0'], 0), use('s0'), 12_000)).toBe('open')
  })
})

type Session = Pick<Member, 'name'> & { besides?: string | undefined; lines: number[]; created: number; age: number }

/** What makes a session the oldest. The last one notes uses in steps of ten seconds, and takes the first created of those that are equal. */
const ages = ['created', 'used', 'refreshed', 'used in steps'] as const
type Age = (typeof ages)[number]

/** A server with one reading of the open questions. It keeps time in whole seconds, and removes any of several equally old sessions. */
function simulatedServer({ user, unnamed, reusedName, reusedForAnother }: Reading, age: Age, random: Random) {
  const isUsed = age === 'used' || age === 'used in steps'
  const noted = (second: number): number => (age === 'used in steps' ? Math.floor(second / 10) : second)
  const least = (sessions: readonly Session[], of: (session: Session) => number): Session[] => {
    const lowest = Math.min(...sessions.map(of))
    return sessions.filter((one) => of(one) === lowest)
  }
  const users = new Map<string, Session[]>()
  const userOf = ({ key, keyName, keyScope = key, isRoot }: Member): string => {
    if (user === 'keys of one name') return keyName
    if (user === 'keys of one scope') return keyScope
    return user === 'one key' || (user === 'created keys' && isRoot) ? key : ''
  }
  const sessionsOf = (member: Member): Session[] => {
    const sessions = users.get(userOf(member)) ?? []
    users.set(userOf(member), sessions)
    return sessions
  }
  const find = (member: Member) => sessionsOf(member).find(({ lines }) => lines.includes(member.line))
  const counts = (member: Member): boolean => member.name !== null || unnamed !== 'none'
  const add = (member: Member, second: number): void => {
    if (!counts(member)) return
    const sessions = sessionsOf(member)
    const isNamed = member.name !== null || unnamed === 'one'
    const same = sessions.findLast(({ name }) => isNamed && name === member.name)
    const reuse = same?.besides === member.besides ? reusedName : reusedForAnother
    if (same !== undefined && reuse === 'joins') {
      same.lines.push(member.line)
      same.besides = member.besides
      if (age !== 'created') same.age = noted(second)
      return
    }
    if (same !== undefined && reuse === 'replaces') sessions.splice(sessions.indexOf(same), 1)
    if (sessions.length >= sessionLimit) {
      const equal = least(sessions, (one) => one.age)
      const oldest = age === 'used in steps' ? least(equal, (one) => one.created) : equal
      sessions.splice(sessions.indexOf(oldest[random.below(oldest.length)] as Session), 1)
    }
    sessions.push({ ...member, lines: [member.line], created: second, age: noted(second) })
  }
  return {
    add,
    lives: (member: Member): boolean => !counts(member) || find(member) !== undefined,
    touch: (member: Member, how: 'used' | 'refreshed', second: number): void => {
      const session = find(member)
      if (session !== undefined && (isUsed || (age === 'refreshed' && how === 'refreshed'))) session.age = noted(second)
    },
  }
}

const keys = [
  { key: 'root', keyName: '', isRoot: true },
  { key: 'a', keyName: 'twin', keyScope: 'context solution', isRoot: false },
  { key: 'b', keyName: 'twin', keyScope: 'solution', isRoot: false },
  { key: 'c', keyName: 'own', keyScope: 'context solution', isRoot: false },
]

/** @returns what the table of this reading said wrongly of a server that reads the document so */
function wrongly(reading: Reading, age: Age, seed: number): string[] {
  const random = seededRandom(seed)
  const server = simulatedServer(reading, age, random)
  const members: Member[] = []
  const wrong: string[] = []
  let table: SessionTable = { slackMs, reading, users: new Map() }
  let nowMs = 0
  const look = (member: Member, isObserved: boolean): void => {
    const [said, lives] = [liveness(table, member), server.lives(member)]
    if (said !== 'unknown' && (said === 'live') !== lives) wrong.push(`${said} after ${members.length} grants`)
    if (!isObserved || wrong.length > 0) return
    table = observeSession(table, member, lives ? 'live' : 'dead') ?? table
    const how = random.below(2) === 0 ? 'used' : 'refreshed'
    if (!lives) return
    server.touch(member, how, Math.floor(nowMs / 1000))
    table = touchSession(table, member, how, { from: nowMs, to: nowMs })
  }
  for (let line = 0; line < 70 && wrong.length === 0; line++) {
    nowMs += random.below(4) === 0 ? 1500 : random.below(40)
    const isOdd = seed % 2 === 1
    const name =
      random.below(isOdd && line > 20 ? 40 : 5) === 0
        ? null
        : `s${isOdd && line > 20 ? line + 100 : random.below(seed % 4 === 0 ? 40 : 18)}`
    const who = keys[random.below(seed % 3 === 0 ? keys.length : 1)] ?? keys[0]
    const besides = name === null || seed % 5 > 1 ? '' : `scope${random.below(2)}`
    const member = { ...who, line, name, besides } as Member
    server.add(member, Math.floor(nowMs / 1000))
    table = addSession(table, member, { from: nowMs, to: nowMs })
    members.push(member)
    if (line === 20 && seed % 2 === 1) table = forgetSessionsOf(table, member, { from: nowMs, to: nowMs })
    for (const one of members) look(one, random.below(4) === 0)
  }
  return wrong
}

/** As many sessions as a user may have, then more at once, which the server takes in another order than the table. */
function wronglyAtOnce(reading: Reading, age: Age, seed: number): string[] {
  const random = seededRandom(seed)
  const server = simulatedServer(reading, age, random)
  const memberOf = (line: number): Member => ({ key: 'a', keyName: 'twin', isRoot: false, line, name: `s${line}` })
  let table: SessionTable = { slackMs, reading, users: new Map() }
  const before = random.below(20)
  const atOnce = 2 + random.below(22)
  for (let line = 0; line < before; line++) {
    server.add(memberOf(line), 0)
    table = addSession(table, memberOf(line), { from: line, to: line })
  }
  const lines = Array.from({ length: atOnce }, (_, at) => before + at)
  const order = [...lines]
  for (let at = order.length - 1; at > 0; at--) {
    const other = random.below(at + 1)
    ;[order[at], order[other]] = [order[other] as number, order[at] as number]
  }
  for (const line of order) server.add(memberOf(line), 10)
  for (const line of lines) table = addSession(table, memberOf(line), { from: 10_000, to: 10_050 })
  const wrong: string[] = []
  for (let line = 0; line < before + atOnce && wrong.length === 0; line++) {
    const [said, lives] = [liveness(table, memberOf(line)), server.lives(memberOf(line))]
    if (said !== 'unknown' && (said === 'live') !== lives) wrong.push(`${said}: ${line} of ${before} and ${atOnce}`)
    table = observeSession(table, memberOf(line), lives ? 'live' : 'dead') ?? table
  }
  return wrong
}

test('nor does it where the order of sessions at once is not known', () => {
  const numbers = Array.from({ length: 12 }, (_, round) => round)
  const wrong = everySessionTable()
    .filter(({ reading }) => reading.unnamed === 'none')
    .flatMap(({ reading }, index) =>
      ages.flatMap((age) =>
        turnUnlessProof(numbers, 4, index).flatMap((round) => wronglyAtOnce(reading, age, index * 100 + round)),
      ),
    )
  expect(wrong).toEqual([])
})

test('the table of a reading never contradicts a server with this reading, whatever makes a session the oldest', () => {
  const wrong = turnUnlessProof(everySessionTable(), 4, 0).flatMap(({ reading }, index) =>
    ages.flatMap((age, way) =>
      turnUnlessProof([1, 2, 3, 4], 4, index + way).flatMap((round) =>
        wrongly(reading, age, index * 40 + way * 10 + round).map(
          (what) => `${age} ${JSON.stringify(reading)}: ${what}`,
        ),
      ),
    ),
  )
  expect(wrong).toEqual([])
})

const [method, path] = ['context/list', ['where', 'solution']]
const terms = { probes: new Map([[method, 'context']]), contextsOfSolution: { method, path } }

test.each<[string, readonly string[], string, says: string]>([
  ['no other', ['context', 'solution:a'], 'b', 'refused: scopes/solution-id'],
  ['no other with a session', ['context', 'session:a', 'solution:a'], 'b', 'refused: scopes/solution-id'],
  ['no other beside its area', ['context', 'solution', 'solution:a'], 'b', 'refused: scopes/solution-id'],
  // Whether it reaches these is open.
  ['its own solution', ['context', 'solution:a'], 'a', 'open'],
  ['one of two', ['context', 'solution:a', 'solution:b'], 'b', 'open'],
  ['any, beside the word for all', ['context', 'solution:a', 'solution:*'], 'b', 'open'],
])('a token for one solution reaches %s: %j', (_what, scope, solution, says) => {
  const call = listWith(tokenHeader('p'), body('context/list', { where: { solution } }))
  expect(ruling(afterGrants(newState(terms), ['p'], scope), call, 100)).toContain(says)
})

test('keys are apart where no reading that is left makes them one user', () => {
  const [root, a, b] = keys.map((key) => ({ ...key, line: -1, name: 's' })) as [Member, Member, Member]
  const left = (...users: string[]) => everySessionTable().filter(({ reading }) => users.includes(reading.user))
  expect(areApart(left('one key', 'keys of one name'), [root, a])).toBe(true)
  expect(areApart(left('one key', 'keys of one name'), [a, b])).toBe(false)
  expect(areApart(everySessionTable(), [root, a])).toBe(false)
  expect(areApart([], [root, a])).toBe(false)
})
