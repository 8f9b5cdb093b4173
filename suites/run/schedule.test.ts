import { describe, expect, test } from 'vitest'
import { allItems, type claimsOf, noClaims } from '../engine/conversation/cases.ts'
import { parseScenario } from '../engine/language/corpus.ts'
import type { TestKey } from '../engine/language/fixture-types.ts'
import { capabilities, madeUpTarget, noCorpus, runOf } from '../self/made-up-target.ts'
import { createRunner, nextToStart } from './schedule.ts'

type Board = Parameters<typeof nextToStart>[0]
type Entry = Board['entries'][number]

/** What the rules read of an entry. */
type Claims = ReturnType<typeof claimsOf>

const entry = (key: string, claims: Partial<Claims> = {}, more: Partial<Entry> = {}): Entry =>
  ({
    key,
    isTestKey: false,
    claims: { ...noClaims, ...claims },
    state: 'pending',
    isAgain: false,
    startedAs: 0,
    ...more,
  }) as Entry

const running = (key: string, claims: Partial<Claims> = {}, more: Partial<Entry> = {}): Entry =>
  entry(key, claims, { state: 'running', ...more })

const emptyBoard: Board = {
  entries: [],
  unnamedAreFree: false,
  sessionsPerKey: false,
  movesClock: false,
  isDoubted: false,
  grantsQueue: false,
}

function next(entries: Entry[], board: Partial<Board> = {}): string | undefined {
  return nextToStart({ ...emptyBoard, entries, ...board })?.key
}

describe('what may start', () => {
  const grants = { grants: 1 }
  const fills = { grants: 17, fills: 'sessions' } as const
  const fillsKeys = { makesKeys: true, fills: 'keys' } as const
  const testKey = { isTestKey: true }
  test.each<[string, Entry[], string | undefined]>([
    [
      'nothing together with the first test key',
      [running('a', {}, testKey), entry('b', {}, testKey), entry('c')],
      undefined,
    ],
    ['the next test key', [entry('a', {}, { ...testKey, state: 'done' }), entry('b', {}, testKey), entry('c')], 'b'],
    [
      'ordinary cases together with anything',
      [running('a', grants), running('b', { makesKeys: true }), entry('c')],
      'c',
    ],
    [
      'a race of grants only after every case that rests on how many sessions there are',
      [entry('race', { races: true, racesGrants: true, grants: 1, named: 1 }), running('b', { ...fills, named: 17 })],
      undefined,
    ],
    [
      'a race of grants before what fills the places for keys',
      [entry('race', { races: true, racesGrants: true, grants: 1, named: 1 }), entry('keys', fillsKeys)],
      'race',
    ],
    ['what waits before what does not', [entry('a', grants), entry('b', { waits: true })], 'b'],
    ['what takes sessions before what does not', [entry('a'), entry('b', grants)], 'b'],
    [
      'one that creates keys after another',
      [running('a', { makesKeys: true }), entry('b', { makesKeys: true })],
      undefined,
    ],
    ['nothing together with a race', [running('a', { races: true }), entry('b')], undefined],
    ['a race only alone', [running('a'), entry('b', { races: true })], undefined],
    ['a repeated case only alone', [running('a'), entry('b', {}, { isAgain: true })], undefined],
    ['a full house of sessions after the other sessions', [running('a', grants), entry('b', fills)], undefined],
    [
      'a case that fills the sessions together with one that has none',
      [running('a', { makesKeys: true }), entry('b', fills)],
      'b',
    ],
    [
      'no session while a case fills the sessions',
      [running('a', fills), entry('b', grants, { state: 'pending' })],
      undefined,
    ],
    [
      'a full house of sessions before a race of sessions, which runs alone',
      [running('a'), entry('race', { grants: 6, named: 4, races: true }), entry('b', fills)],
      'b',
    ],
    ['one full house after another', [running('a', fills), entry('b', fills)], undefined],
    ['a full house of keys after all else', [running('a'), entry('b', fillsKeys)], undefined],
    ['a full house of keys at the end', [entry('a', {}, { state: 'done' }), entry('b', fillsKeys)], 'b'],
  ])('%s', (_name, entries, key) => {
    expect(next(entries)).toBe(key)
  })
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
  for (;;) {
    const started = nextToStart({ ...emptyBoard, entries })
    if (started === undefined) break
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

const corpus = {
  ...noCorpus,
  scenarios: ['one', 'two', 'three'].map((word) =>
    parseScenario(
      `scenario: ${word}
steps:
  - { call: solution/${word}, auth: none, observe: errors/shape }
${word === 'two' ? '' : `  - wait: 2s\n  - { call: solution/${word}, auth: none, observe: errors/shape }\n`}`,
      `fixtures/scenarios/made-up/${word}.yaml`,
    ),
  ),
}

const testKeys: TestKey[] = ['root', 'dave'].map((name) => ({ name, key: 'given', scope: [], proves: [] }))
const offered = { ...capabilities, testKeys }

const unwatched = { started: () => {}, ended: () => {} }

test('cases that wait start first, and others run while they wait', async () => {
  const methods: string[] = []
  const target = madeUpTarget({
    answer: ({ method }) => {
      methods.push(method)
      return { result: {} }
    },
  })
  const run = runOf(target, { corpus })
  const items = allItems(corpus)
  const runner = createRunner(run, items, offered, unwatched)
  for (const item of items) await runner.runItem(item)
  expect(methods.slice(0, 3)).toEqual(['solution/one', 'solution/three', 'solution/two'])
  expect(methods.slice(3).sort()).toEqual(['solution/one', 'solution/three'])
})

const filling = (name: string, step: string) =>
  parseScenario(
    `scenario: ${name}\nproves: [a/b]\nneeds: [keys, limits]\nsteps:\n  - ${step}\n`,
    `fixtures/scenarios/a/${name}.yaml`,
  )

test('members have their keys before the places for keys are filled', async () => {
  const scenarios = [
    filling('all', '{ call: manager/createApiKey, auth: { basic: root }, repeat: 9, observe: keys/limit-exceeded }'),
    filling('dave', '{ call: solution/listSolutions, auth: { basic: dave }, expect: accepted }'),
  ]
  const testKeys: TestKey[] = [
    { name: 'root', key: 'given', scope: [], proves: [] },
    { name: 'dave', key: 'secret', scope: [], proves: [], 'created-with': { basic: 'root' } },
  ]
  let created = 0
  const target = madeUpTarget({
    answer: ({ method }) => {
      if (method !== 'manager/createApiKey') return { result: {} }
      created += 1
      return created > 3 ? { status: 409 } : { result: { id: `id${created}`, secret: 'a-secret' } }
    },
  })
  const full = { ...corpus, testKeys, scenarios }
  const run = runOf(target, { corpus: full })
  const cases = allItems(full).filter(({ kind }) => kind === 'case')
  const runner = createRunner(run, cases, offered, unwatched)
  const verdicts: string[] = []
  for (const item of cases) verdicts.push((await runner.runItem(item)).verdict)
  // The first one only observes.
  expect(verdicts).toEqual(['not-testable', 'passed'])
})

test.each([
  ['says so where wrong creations took places that would suffice', 'refused', true],
  ['does not where right ones did', 'accepted', undefined],
] as const)('a case that finds too few places for keys %s', async (_what, expected, wrongly) => {
  const creating = (name: string, expect: string, repeat = 1) =>
    parseScenario(
      `scenario: ${name}
proves: [a/b]
needs: [keys]
steps:
  - { call: manager/createApiKey, auth: { basic: root }, repeat: ${repeat}, params: { name: x, scope: [solution] }, expect: ${expect} }
`,
      `fixtures/scenarios/a/${name}.yaml`,
    )
  let created = 0
  const target = madeUpTarget({
    answer: ({ method }) => {
      if (method === 'manager/createApiKey') created += 1
      return { result: { id: `id${created}`, secret: 'a-secret-of-a-key' } }
    },
  })
  const testKeys: TestKey[] = [{ name: 'root', key: 'given', scope: [], proves: [] }]
  const scenarios = [creating('right', 'accepted', 7), creating('wrong', expected), creating('late', 'accepted')]
  const full = { ...corpus, testKeys, scenarios }
  const items = allItems(full).filter(({ kind }) => kind === 'case')
  const runner = createRunner(runOf(target, { corpus: full }), items, offered, unwatched)
  const ordered = scenarios.flatMap(({ id }) => items.filter((item) => item.key === id))
  const outcomes = []
  for (const item of ordered) outcomes.push(await runner.runItem(item))
  expect(outcomes.map(({ problem }) => problem?.kind)).toEqual([
    undefined,
    expected === 'refused' ? 'wrong-outcome' : undefined,
    'few-places-for-keys',
  ])
  expect(outcomes.at(-1)?.problem).toMatchObject({ places: 3, ...(wrongly ? { wrongly } : {}) })
  expect('wrongly' in (outcomes.at(-1)?.problem ?? {})).toBe(wrongly === true)
})

test('as soon as a case with tokens does not pass, every such case that ran at the same time as another runs again alone', async () => {
  const withToken = (name: string) =>
    parseScenario(
      `scenario: ${name}
proves: [a/b]
steps:
  - { grant: root, scope: [solution], expect: accepted, keep: { pair: result } }
  - { call: solution/${name}, auth: { token: $pair.accessToken }, expect: accepted }
`,
      `fixtures/scenarios/a/${name}.yaml`,
    )
  // One call that must be accepted is refused; for the same reason the other cases may have passed.
  const called: string[] = []
  let refusals = 1
  const target = madeUpTarget({
    settings: { concurrency: 4 },
    answer: ({ method, nowMs }) => {
      called.push(method)
      if (method === 'manager/auth') {
        const expiry = nowMs + 600_000
        const tokens = { accessToken: `a${called.length}`, refreshToken: `r${called.length}`, tokenType: 'Bearer' }
        return { result: { ...tokens, accessTokenExpiry: expiry, refreshTokenExpiry: expiry, scope: ['solution'] } }
      }
      if (method === 'solution/two' && refusals > 0) {
        refusals -= 1
        return { status: 401 }
      }
      return { result: {} }
    },
  })
  const testKeys: TestKey[] = [{ name: 'root', key: 'given', scope: [], proves: [] }]
  const full = { ...corpus, testKeys, scenarios: ['one', 'two', 'three'].map(withToken) }
  const run = runOf(target, { corpus: full })
  const items = allItems(full).filter(({ kind }) => kind === 'case')
  const ended: string[] = []
  const watch = { started: () => {}, ended: ({ key }: { key: string }) => void ended.push(key) }
  const runner = createRunner(run, items, offered, watch)
  const outcomes = await Promise.all(items.map((item) => runner.runItem(item)))
  expect(outcomes.map(({ verdict, problem }) => problem ?? verdict)).toEqual(['passed', 'passed', 'passed'])
  const calls = called.filter((method) => method.startsWith('solution/'))
  expect(calls.filter((method) => method === 'solution/one').length).toBe(2)
  expect(calls.filter((method) => method === 'solution/three').length).toBe(2)
})
