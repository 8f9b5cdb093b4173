import { expect, test } from 'vitest'
import type { CallSpec } from './call-spec.ts'
import { createGrantLanes, type Lane, laneOf, lanesConflict } from './grant-lanes.ts'
import { noFacts } from './target-facts.ts'

const grant = (params: { [name: string]: unknown }, more: Partial<CallSpec> = {}): CallSpec => ({
  method: 'manager/auth',
  auth: 'none',
  params: { grantType: 'api_key_credentials', apiKeyId: 'a', ...params },
  ...more,
})

test.each<[string, CallSpec[], Lane | undefined]>([
  ['a call that grants nothing', [{ method: 'solution/listSolutions', auth: 'none', params: {} }], undefined],
  ['a grant', [grant({ scope: ['solution'] })], { kind: 'grant', user: 'a', named: false, free: false }],
  [
    'a session',
    [grant({ scope: ['solution', 'session:one'] })],
    { kind: 'grant', user: 'a', named: true, free: false },
  ],
  ['a grant that must be refused', [grant({ scope: ['solution'] }, { mustBeRefused: true })], undefined],
  ['a refresh', [grant({ grantType: 'refresh_token' })], { kind: 'refresh', free: false }],
  ['a race', [grant({}), grant({})], { kind: 'race' }],
])('%s has its lane', (_name, specs, lane) => {
  expect(laneOf(specs, noFacts())).toEqual(lane)
})

test('a grant that takes no place among the sessions is free', () => {
  const facts = { ...noFacts(), unnamedTakePlaces: false }
  const unnamed = grant({ scope: ['solution'] })
  expect(laneOf([unnamed], facts)).toMatchObject({ free: true })
  expect(laneOf([unnamed], { ...facts, unnamedReplaced: true })).toMatchObject({ free: false })
  expect(laneOf([grant({ scope: ['session:one'] })], facts)).toMatchObject({ free: false })
})

const lanes = {
  ofRoot: { kind: 'grant', user: 'root', named: false, free: false },
  ofErin: { kind: 'grant', user: 'erin', named: false, free: false },
  freeOfErin: { kind: 'grant', user: 'erin', named: false, free: true },
  session: { kind: 'grant', user: 'erin', named: true, free: false },
  refresh: { kind: 'refresh', free: false },
  freeRefresh: { kind: 'refresh', free: true },
  race: { kind: 'race' },
} as const satisfies { [name: string]: Lane }

test.each<[Lane, Lane, boolean]>([
  [lanes.ofRoot, lanes.ofRoot, true],
  [lanes.ofRoot, lanes.ofErin, false],
  [lanes.ofErin, lanes.session, true],
  [lanes.freeOfErin, lanes.freeOfErin, false],
  [lanes.freeOfErin, lanes.session, true],
  [lanes.refresh, lanes.refresh, true],
  [lanes.refresh, lanes.ofRoot, false],
  [lanes.refresh, lanes.session, true],
  [lanes.freeRefresh, lanes.freeRefresh, false],
  [lanes.freeRefresh, lanes.session, false],
  [lanes.race, lanes.freeRefresh, true],
  [lanes.race, lanes.ofRoot, true],
])('%j and %j: kept apart %s', (one, other, isKeptApart) => {
  expect([lanesConflict(one, other), lanesConflict(other, one)]).toEqual([isKeptApart, isKeptApart])
})

test('grants of one user run one after another, in order, while those of another user run', async () => {
  const queue = createGrantLanes()
  const events: string[] = []
  const made: Promise<void>[] = []
  const ends = new Map<string, () => void>()
  const begin = (name: string, lane: Lane): void => {
    const running = new Promise<void>((end) => ends.set(name, end))
    made.push(
      queue.run(lane, () => {
        events.push(`${name} begins`)
        return running
      }),
    )
  }
  const settle = async (): Promise<void> => {
    for (let turn = 0; turn < 3; turn += 1) await new Promise((resolve) => setImmediate(resolve))
  }
  begin('one', lanes.ofRoot)
  begin('two', lanes.ofRoot)
  begin('hers', lanes.ofErin)
  await settle()
  expect(events).toEqual(['one begins', 'hers begins'])
  ends.get('one')?.()
  await settle()
  expect(events).toEqual(['one begins', 'hers begins', 'two begins'])
  begin('race', lanes.race)
  begin('late', lanes.ofErin)
  ends.get('hers')?.()
  ends.get('two')?.()
  await settle()
  // The late grant does not overtake the race, which would otherwise wait for ever.
  expect(events.slice(3)).toEqual(['race begins'])
  ends.get('race')?.()
  ends.get('late')?.()
  await Promise.all(made)
  expect(events.slice(4)).toEqual(['late begins'])
})

test('an urgent grant goes before the others that wait, and tells nobody if it need not wait', async () => {
  const queue = createGrantLanes()
  const begun: string[] = []
  let told = 0
  queue.onWait(() => {
    told += 1
  })
  let endFirst = (): void => {}
  const first = queue.run(lanes.ofRoot, () => new Promise<void>((end) => (endFirst = end)))
  expect(told).toBe(0)
  const later = ['second', 'third'].map((name) => queue.run(lanes.ofRoot, async () => void begun.push(name)))
  const urgent = queue.run(lanes.ofRoot, async () => void begun.push('urgent'), true)
  expect([told, queue.waiting]).toEqual([3, 3])
  await new Promise((resolve) => setImmediate(resolve))
  endFirst()
  await Promise.all([first, ...later, urgent])
  expect(begun).toEqual(['urgent', 'second', 'third'])
})
