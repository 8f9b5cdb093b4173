import { expect, test } from 'vitest'
import { sessionLimit } from '../document.ts'
import { type Random, seededRandom } from '../signer/random.ts'
import type { Reading } from './sessions.ts'
import {
  addSession,
  everySessionTable,
  forgetSessionsOf,
  liveness,
  type Member,
  observeSession,
  type SessionTable,
  touchSession,
} from './sessions.ts'

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
  let table: SessionTable = { reading, users: new Map() }
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
  let table: SessionTable = { reading, users: new Map() }
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
  const wrong = everySessionTable().flatMap(({ reading }, index) =>
    ages.flatMap((age, way) =>
      [1, 2, 3, 4].flatMap((round) =>
        wrongly(reading, age, index * 40 + way * 10 + round).map(
          (what) => `${age} ${JSON.stringify(reading)}: ${what}`,
        ),
      ),
    ),
  )
  expect(wrong).toEqual([])
})
