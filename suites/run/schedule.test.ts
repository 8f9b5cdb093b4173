import { describe, expect, test } from 'vitest'
import { allItems, type claimsOf, noClaims } from '../engine/conversation/cases.ts'
import type { RunEvent } from '../engine/conversation/conversation.ts'
import { readScenario } from '../engine/language/corpus.ts'
import type { TestKey } from '../engine/language/fixture-types.ts'
import { type Answering, accepting, capabilities, madeUpTarget, noCorpus, runOf } from '../self/made-up-target.ts'
import { createRunner } from './run.ts'
import { nextToStart } from './schedule.ts'

type Board = Parameters<typeof nextToStart>[0]
type Entry = Board['entries'][number]

/** What the rules read of an entry. */
type Claims = ReturnType<typeof claimsOf>

const pending = { isTestKey: false, state: 'pending', isAgain: false, startedAs: 0 } as const
const entry = (key: string, claims: Partial<Claims> = {}, more: Partial<Entry> = {}): Entry =>
  ({ key, ...pending, claims: { ...noClaims, ...claims }, ...more }) as Entry

const running = (key: string, claims: Partial<Claims> = {}, more: Partial<Entry> = {}): Entry =>
  entry(key, claims, { state: 'running', ...more })

const ofSessions = { unnamedAreFree: false, sessionsPerKey: false }
const emptyBoard: Board = { entries: [], ...ofSessions, movesClock: false, isDoubted: false, grantsQueue: false }

function next(entries: Entry[], board: Partial<Board> = {}): string | undefined {
  return nextToStart({ ...emptyBoard, entries, ...board })?.key
}

const grants = { grants: 1 }
const fills = { grants: 17, fills: 'sessions' } as const
const fillsKeys = { makesKeys: true, fills: 'keys' } as const
const testKey = { isTestKey: true }
const done = { ...testKey, state: 'done' } as const
const makesKeys = { makesKeys: true }
const someRace = { grants: 6, named: 4, races: true }
const race = { races: true, racesGrants: true, grants: 1, named: 1 }
test.each<[string, Entry[], string | undefined]>([
  ['nothing beside the first test key', [running('a', {}, testKey), entry('b', {}, testKey), entry('c')], undefined],
  ['the next test key', [entry('a', {}, done), entry('b', {}, testKey), entry('c')], 'b'],
  ['ordinary cases beside anything', [running('a', grants), running('b', makesKeys), entry('c')], 'c'],
  // A race of grants starts only after every case that rests on how many sessions there are.
  ['no race of grants beside many sessions', [entry('race', race), running('b', { ...fills, named: 17 })], undefined],
  ['a race of grants before what fills the places', [entry('race', race), entry('keys', fillsKeys)], 'race'],
  ['what waits before what does not', [entry('a', grants), entry('b', { waits: true })], 'b'],
  ['what takes sessions before what does not', [entry('a'), entry('b', grants)], 'b'],
  ['one that creates keys after another', [running('a', makesKeys), entry('b', makesKeys)], undefined],
  ['nothing beside a race', [running('a', { races: true }), entry('b')], undefined],
  ['a race only alone', [running('a'), entry('b', { races: true })], undefined],
  ['a repeated case only alone', [running('a'), entry('b', {}, { isAgain: true })], undefined],
  ['a full house of sessions after the other sessions', [running('a', grants), entry('b', fills)], undefined],
  ['a full house of sessions beside what has none', [running('a', makesKeys), entry('b', fills)], 'b'],
  ['no session beside a full house of them', [running('a', fills), entry('b', grants)], undefined],
  // The race runs alone.
  ['a full house of sessions before a race of them', [running('a'), entry('race', someRace), entry('b', fills)], 'b'],
  ['one full house after another', [running('a', fills), entry('b', fills)], undefined],
  ['a full house of keys after all else', [running('a'), entry('b', fillsKeys)], undefined],
  ['a full house of keys at the end', [entry('a', {}, { state: 'done' }), entry('b', fillsKeys)], 'b'],
])('what may start: %s', (_name, entries, key) => {
  expect(next(entries)).toBe(key)
})

describe('no case takes the place of a session that another case still needs', () => {
  const waiting = running('a', { grants: 2, waits: true, users: ['root'] }, { startedAs: 2 })
  const other = entry('b', { grants: 3, users: ['root'] })
  const ended = (startedAs: number, claims: Partial<Claims>): Entry =>
    entry('c', { users: ['root'], ...claims }, { state: 'done', startedAs })

  test('where every grant may take one', () => {
    expect(next([waiting, other, ended(3, { grants: 11 })])).toBe('b')
    expect(next([waiting, other, ended(3, { grants: 12 })])).toBeUndefined()
    expect(next([waiting, other, ended(1, { grants: 12 })])).toBe('b')
    expect(next([{ ...waiting, state: 'done' }, other, ended(3, { grants: 12 })])).toBe('b')
  })

  test('where only sessions with a name take one', () => {
    const board = { unnamedAreFree: true }
    const filling = running('a', { grants: 17, named: 17, fills: 'sessions' })
    expect(next([waiting, other, ended(3, { grants: 100, named: 4 })], board)).toBe('b')
    expect(next([filling, other], board)).toBe('b')
    expect(next([filling, entry('b', { grants: 3, named: 1 })], board)).toBeUndefined()
  })

  test('where each key has its own', () => {
    const board = { sessionsPerKey: true }
    const fills = { grants: 17, named: 17, fills: 'sessions' } as const
    const ofRoot = running('a', { ...fills, users: ['root'] })
    expect(next([ofRoot, entry('b', { ...fills, users: ['erin'] })], board)).toBe('b')
    expect(next([ofRoot, entry('b', { ...fills, users: ['erin', 'root'] })], board)).toBeUndefined()
    expect(next([ofRoot, entry('b', { grants: 1, users: ['*'] })], board)).toBeUndefined()
    expect(next([waiting, other, ended(3, { grants: 12 })], board)).toBeUndefined()
    expect(next([waiting, other, ended(3, { grants: 12, users: ['erin'] })], board)).toBe('b')
  })

  test('until it is known which of this holds', () => {
    const observing = entry('b', { grants: 17, fills: 'sessions', observesCounting: true })
    expect(next([other, observing])).toBe('b')
    expect(next([other, { ...observing, state: 'running' }])).toBeUndefined()
    expect(next([entry('c'), { ...observing, state: 'running' }])).toBe('c')
  })
})

test('where the clock is moved, what waits runs alone and in its order', () => {
  const board = { movesClock: true }
  expect(next([entry('a'), entry('b', { waits: true })], board)).toBe('a')
  expect(next([running('a'), entry('b', { waits: true })], board)).toBeUndefined()
  expect(next([running('a', { waits: true }), entry('b')], board)).toBeUndefined()
})

test('every case of a run comes to its turn', () => {
  const entries = [
    entry('keys', { makesKeys: true, fills: 'keys', grants: 2 }),
    entry('race', { races: true, grants: 20, fills: 'sessions' }),
    entry('session', { grants: 2 }),
    entry('created', { makesKeys: true, grants: 1 }),
    entry('wait', { waits: true, grants: 30 }),
    entry('test key', { makesKeys: true }, { isTestKey: true }),
  ].sort(
    (one, other) =>
      Number(other.isTestKey) - Number(one.isTestKey) ||
      Number(one.claims.fills === 'keys') - Number(other.claims.fills === 'keys'),
  )
  const order: string[] = []
  const board = { ...emptyBoard, entries }
  for (let started = nextToStart(board); started !== undefined; started = nextToStart(board)) {
    started.state = 'done'
    order.push(started.key)
  }
  expect(order).toEqual(['test key', 'created', 'wait', 'session', 'race', 'keys'])
})

test('after a doubt no two cases with tokens run at the same time', () => {
  const entries = [running('a', { grants: 1 }), entry('b', { grants: 1 }), entry('c')]
  expect(next(entries)).toBe('b')
  expect(next(entries, { isDoubted: true })).toBe('c')
})

test('while grants queue only cases without tokens start', () => {
  const entries = [entry('a', { waits: true, grants: 1 }), entry('b', { grants: 1 }), entry('c')]
  expect(next(entries)).toBe('a')
  expect(next(entries, { grantsQueue: true })).toBe('c')
})

/** A scenario of the id a/NAME. */
const scenario = (name: string, more: string, ...steps: string[]) =>
  readScenario(
    `scenario: ${name}\n${more}steps:\n${steps.map((step) => `  - ${step}\n`).join('')}`,
    `fixtures/scenarios/a/${name}.yaml`,
  ).scenario
const root: TestKey = { name: 'root', key: 'given', scope: [], proves: [] }

/** A runner of these scenarios against a server that answers so. */
function runnerOf(scenarios: ReturnType<typeof scenario>[], answer: Answering, testKeys = [root], atOnce?: number) {
  const corpus = { ...noCorpus, testKeys, scenarios }
  const target = madeUpTarget({ answer, settings: atOnce === undefined ? {} : { concurrency: atOnce } })
  const cases = allItems(corpus).filter(({ kind }) => kind === 'case')
  const items = scenarios.flatMap(({ id }) => cases.filter(({ key }) => key === id))
  const offered = { ...capabilities, testKeys: ['root', 'dave'].map((name) => ({ ...root, name })) }
  const requeued: string[] = []
  const emit = (event: RunEvent) => void (event.kind === 'case-requeued' && requeued.push(event.key))
  const runner = createRunner(runOf(target, { corpus, emit }), items, offered)
  const inTurn = async () => {
    const outcomes = []
    for (const item of items) outcomes.push(await runner.runItem(item))
    return outcomes
  }
  const called = () => target.heard.map(({ method }) => method).filter((method) => method.startsWith('solution/'))
  return { inTurn, atOnce: () => Promise.all(items.map((item) => runner.runItem(item))), requeued, called }
}

test('cases that wait start first, and others run while they wait', async () => {
  const scenarios = ['one', 'two', 'three'].map((word) => {
    const call = `{ call: solution/${word}, auth: none, observe: errors/shape }`
    return scenario(word, '', ...(word === 'two' ? [call] : [call, 'wait: 2s', call]))
  })
  const { inTurn, called } = runnerOf(scenarios, accepting)
  await inTurn()
  expect(called().slice(0, 3)).toEqual(['solution/one', 'solution/three', 'solution/two'])
  expect(called().slice(3).sort()).toEqual(['solution/one', 'solution/three'])
})

/** Creates this many keys, and answers the creations after them as a server that is full. */
function creating(most = Number.POSITIVE_INFINITY): Answering {
  let created = 0
  return ({ method }) => {
    if (method !== 'manager/createApiKey') return accepting()
    created += 1
    return created > most ? { status: 409 } : { result: { id: `id${created}`, secret: 'a-secret-of-a-key' } }
  }
}

test('members have their keys before the places for keys are filled', async () => {
  const creation = 'call: manager/createApiKey, auth: { basic: root }'
  const scenarios = [
    ['all', `{ ${creation}, repeat: 9, observe: keys/limit-exceeded }`] as const,
    ['dave', '{ call: solution/listSolutions, auth: { basic: dave }, expect: accepted }'] as const,
  ].map(([name, step]) => scenario(name, 'proves: [a/b]\nneeds: [keys, limits]\n', step))
  const dave: TestKey = { name: 'dave', key: 'secret', scope: [], proves: [], 'created-with': { basic: 'root' } }
  const outcomes = await runnerOf(scenarios, creating(3), [root, dave]).inTurn()
  // The first one only observes.
  expect(outcomes.map(({ verdict }) => verdict)).toEqual(['not-testable', 'passed'])
})

test.each([
  ['says so where wrong creations took places that would suffice', 'refused', true],
  ['does not where right ones did', 'accepted', undefined],
] as const)('a case that finds too few places for keys %s', async (_what, expected, wrongly) => {
  const creation = (name: string, expect: string, repeat = 1) => {
    const params = 'params: { name: x, scope: [solution] }'
    const step = `{ call: manager/createApiKey, auth: { basic: root }, repeat: ${repeat}, ${params}, expect: ${expect} }`
    return scenario(name, 'proves: [a/b]\nneeds: [keys]\n', step)
  }
  const scenarios = [creation('right', 'accepted', 7), creation('wrong', expected), creation('late', 'accepted')]
  const problems = (await runnerOf(scenarios, creating()).inTurn()).map(({ problem }) => problem)
  const ofWrong = expected === 'refused' ? 'wrong-outcome' : undefined
  expect(problems.map((problem) => problem?.kind)).toEqual([undefined, ofWrong, 'few-places-for-keys'])
  expect(problems[2]).toMatchObject({ places: 3, ...(wrongly ? { wrongly } : {}) })
  expect('wrongly' in (problems[2] ?? {})).toBe(wrongly === true)
})

test('as soon as a case with tokens does not pass, every such case that ran at the same time as another runs again alone', async () => {
  const withToken = (name: string) =>
    scenario(
      name,
      'proves: [a/b]\n',
      '{ grant: root, scope: [solution], expect: accepted, keep: { pair: result } }',
      `{ call: solution/${name}, auth: { token: $pair.accessToken }, expect: accepted }`,
    )
  // One call that must be accepted is refused; for the same reason the other cases may have passed.
  let refusals = 1
  const answer: Answering = ({ method, nowMs }, number) => {
    if (method === 'manager/auth') {
      const expiry = nowMs + 600_000
      const tokens = { accessToken: `a${number}`, refreshToken: `r${number}`, tokenType: 'Bearer' }
      return { result: { ...tokens, accessTokenExpiry: expiry, refreshTokenExpiry: expiry, scope: ['solution'] } }
    }
    if (method === 'solution/two' && refusals-- > 0) return { status: 401 }
    return accepting()
  }
  const { atOnce, requeued, called } = runnerOf(['one', 'two', 'three'].map(withToken), answer, [root], 4)
  const outcomes = await atOnce()
  expect(outcomes.map(({ verdict, problem }) => problem ?? verdict)).toEqual(['passed', 'passed', 'passed'])
  for (const name of ['one', 'three'])
    expect(called().filter((method) => method === `solution/${name}`)).toHaveLength(2)
  expect(requeued.sort()).toEqual(['a/one', 'a/three', 'a/two'])
})
