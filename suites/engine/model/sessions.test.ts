import { describe, expect, test } from 'vitest'
import {
  accepted,
  afterGrants,
  at,
  body,
  grantCall,
  judged,
  listWith,
  lost,
  newState,
  pairAnswer,
  refreshCall,
  refused,
  tokenHeader,
  tokensOf,
} from '../../self/made-up-calls.ts'
import { turnUnlessProof } from '../../self/proof-form.ts'
import { sessionLimit } from '../document.ts'
import { type Random, seededRandom } from '../signer/random.ts'
import { learn } from './learn.ts'
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

/** Sessions created one after another, this many ms apart, on a target whose clock is known. */
function withSessions(names: readonly string[], apartMs: number): State {
  const start: State = { ...newState(), tokenClock: { from: -1000, to: 1000 } }
  return names.reduce((state, name, index) => {
    const made = at(index * apartMs)
    return learn(state, grantCall(['solution', `session:${name}`]), pairAnswer(name, ['solution'], made), made)
  }, start)
}

const numbered = (count: number): string[] => Array.from({ length: count }, (_, n) => `s${n}`)
const use = (name: string) => listWith(tokenHeader(name))

describe('sixteen sessions', () => {
  test('live, and the seventeenth removes the oldest', () => {
    const sixteen = withSessions(numbered(16), 100)
    expect(judged(sixteen, use('s0'), at(2000)).is).toBe('accepted')
    const one = learn(withSessions(['s0'], 0), use('s0'), accepted(), at(10))
    const names = numbered(17).slice(1)
    let state = one
    names.forEach((name, n) => {
      state = learn(
        state,
        grantCall(['solution', `session:${name}`]),
        pairAnswer(name, ['solution'], at(3000 + n)),
        at(3000 + n),
      )
    })
    expect(judged(state, use('s0'), at(5000))).toMatchObject({ is: 'refused', requirement: 'sessions/oldest-removed' })
    expect(judged(state, refreshCall(tokensOf('s0').refresh), at(5000))).toMatchObject({
      is: 'refused',
      requirement: 'sessions/removed-refresh',
    })
    expect(judged(state, use('s16'), at(5000)).is).toBe('accepted')
  })

  test('after a lost race left more, which ones are removed is not known', () => {
    const before = withSessions(numbered(17), 3000)
    const late = at(60_000)
    expect(judged(before, use('s0'), late)).toMatchObject({ is: 'refused', requirement: 'sessions/oldest-removed' })
    const surplus: State = { ...before, terms: { ...before.terms, hasSurplusSessions: true } }
    expect(judged(surplus, use('s0'), late).is).toBe('open')
    expect(judged(surplus, refreshCall(tokensOf('s0').refresh), late).is).toBe('open')
  })

  test('made within a second: one is gone, but it is unknown which is the oldest', () => {
    let state = withSessions(numbered(17), 10)
    expect(judged(state, use('s0'), at(300)).is).toBe('open')
    for (const name of numbered(15)) state = learn(state, use(name), accepted(), at(400))
    expect(judged(state, use('s16'), at(500)).is).toBe('accepted')
    expect(judged(state, use('s15'), at(500)).is).toBe('refused')
  })

  test('made at once: the one whose answer came last may have been created first', () => {
    const state = withSessions(numbered(17), 1)
    expect(judged(state, use('s16'), at(300)).is).toBe('open')
  })

  test('of twenty-four simultaneous ones eight are gone', () => {
    let state = withSessions(numbered(24), 1)
    for (const name of numbered(24).slice(8)) state = learn(state, use(name), accepted(), at(200))
    expect(judged(state, use('s0'), at(300)).is).toBe('refused')
  })
})

describe('the readings of the open questions', () => {
  test('each combination is a table of its own', () => {
    const tables = everySessionTable()
    expect(tables).toHaveLength(5 * 3 * 6)
    expect(new Set(tables.map(({ reading }) => JSON.stringify(reading))).size).toBe(tables.length)
  })

  test('an answer drops those that it contradicts', () => {
    let state = withSessions(['s0'], 0)
    for (let n = 0; n < 16; n++)
      state = learn(state, grantCall(['solution']), pairAnswer(`u${n}`, [], at(2000 + n)), at(2000 + n))
    expect(judged(state, use('s0'), at(4000)).is).toBe('open')
    const counted = learn(state, use('s0'), accepted(), at(4000))
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
    const tables = everySessionTable().map((table) => {
      const first = addSession(table, { key: 'k', line: 1, name: 'n', keyName: '', isRoot: false }, at(0))
      return addSession(first, { key: 'k', line: 2, name: 'n', keyName: '', isRoot: false }, at(10))
    })
    const old = (reading: string) =>
      tables
        .filter((table) => table.reading.reusedName === reading)
        .map((table) => liveness(table, { key: 'k', line: 1, name: 'n', keyName: '', isRoot: false }))
    expect(new Set(old('replaces'))).toEqual(new Set(['dead']))
    expect(new Set(old('joins'))).toEqual(new Set(['live']))
    expect(new Set(old('adds'))).toEqual(new Set(['live']))
  })

  test('if no reading is left, nothing more is judged for this user', () => {
    const state = withSessions(['s0'], 0)
    const contradicted = learn(state, use('s0'), refused, at(500))
    expect(judged(contradicted, use('s0'), at(600)).is).toBe('open')
  })

  test('a name of a grant whose answer was lost may have been used', () => {
    const start: State = { ...newState(), tokenClock: { from: -1000, to: 1000 } }
    const again = grantCall(['solution', 'session:s0'])
    const other = grantCall(['solution', 'session:s1'])
    const after = learn(start, again, lost, at(10))
    expect(judged(after, again, at(8000)).is).toBe('open')
    expect(judged(after, other, at(8000)).is).toBe(judged(start, again, at(8000)).is)
    expect(judged(start, again, at(8000)).is).toBe('accepted')
  })

  test('a session may end before its tokens: after ten seconds it is open', () => {
    expect(judged(withSessions(['s0'], 0), use('s0'), at(12_000)).is).toBe('open')
  })
})

interface Session {
  name: string | null
  besides: string | undefined
  lines: number[]
  created: number
  age: number
}

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
    sessions.push({
      name: member.name,
      besides: member.besides,
      lines: [member.line],
      created: second,
      age: noted(second),
    })
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
  const wrong = everySessionTable()
    .filter(({ reading }) => reading.unnamed === 'none')
    .flatMap(({ reading }, index) =>
      ages.flatMap((age) =>
        Array.from({ length: 12 }, (_, round) => wronglyAtOnce(reading, age, index * 100 + round)).flat(),
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

const terms = {
  probes: new Map([['context/list', 'context']]),
  contextsOfSolution: { method: 'context/list', path: ['where', 'solution'] },
}

/** The verdict on a call for the contexts of a solution, with a token of this scope. */
function verdictOn(scope: readonly string[], solution: string) {
  const state = afterGrants(newState(terms), ['p'], scope)
  const text = body('context/list', { where: { solution } })
  return judged(state, listWith(tokenHeader('p'), text), at(100))
}

test('a token for one solution reaches no other, whatever else it may do', () => {
  for (const more of [[], ['session:a'], ['solution']])
    expect(verdictOn(['context', ...more, 'solution:a'], 'b')).toMatchObject({
      is: 'refused',
      requirement: 'scopes/solution-id',
    })
})

test.each<[string, readonly string[], string]>([
  ['its own solution', ['context', 'solution:a'], 'a'],
  ['one of two', ['context', 'solution:a', 'solution:b'], 'b'],
  ['any, beside the word for all', ['context', 'solution:a', 'solution:*'], 'b'],
])('whether it reaches %s is open', (_what, scope, solution) => {
  expect(verdictOn(scope, solution).is).toBe('open')
})

test('keys are apart where no reading that is left makes them one user', () => {
  const [root, a, b] = [
    { key: 'root', keyName: '', isRoot: true, line: -1, name: 's' },
    { key: 'a', keyName: 'twin', isRoot: false, line: -1, name: 's' },
    { key: 'b', keyName: 'twin', isRoot: false, line: -1, name: 's' },
  ] as const
  const left = (...users: string[]) => everySessionTable().filter(({ reading }) => users.includes(reading.user))
  expect(areApart(left('one key', 'keys of one name'), [root, a])).toBe(true)
  expect(areApart(left('one key', 'keys of one name'), [a, b])).toBe(false)
  expect(areApart(everySessionTable(), [root, a])).toBe(false)
  expect(areApart([], [root, a])).toBe(false)
})
