import { describe, expect, test } from 'vitest'
import { type Answering, accepting, answering, type MadeUpAnswer } from '../../self/made-up-target.ts'
import type { WireAnswer } from '../target.ts'
import type { CallSpec } from './call.ts'
import { type Conversation, createCallLimit, createGrantLanes, type Lane, openConversation } from './conversation.ts'
import { laneOf, makeCall, makeCalls } from './send.ts'
import { noFacts, type TargetFacts } from './target-facts.ts'

describe('pace', () => {
  const call = { method: 'solution/listSolutions', params: {}, auth: 'none' } as const

  /** A server that accepts this many calls in each second, and does not say when to come back. */
  function limited(callsPerSecond: number, headers: { [name: string]: string }) {
    let second = 0
    let calls = 0
    const answer: Answering = ({ nowMs }) => {
      const now = Math.floor(nowMs / 1000)
      calls = now === second ? calls + 1 : 1
      second = now
      return calls > callsPerSecond ? { status: 429, headers } : accepting()
    }
    return answering(answer, { callMs: 2 })
  }

  /** Makes calls one after another, and measures the time. */
  async function calling(talk: Conversation, count: number) {
    const began = talk.instance.clock.now()
    const calls = []
    for (let made = 0; made < count; made += 1) calls.push(await makeCall(talk, call))
    return {
      tookMs: talk.instance.clock.now() - began,
      outcomes: new Set(calls.map(({ answer }) => answer.outcome)),
      throttled: calls.map(({ throttled }) => throttled),
    }
  }

  test.each([
    ['without Retry-After', {}],
    ['with Retry-After: 0', { 'retry-after': '0' }],
  ])('a target that throttles is called at a pace that it accepts, %s', async (_how, headers) => {
    const run = limited(40, headers)
    const { outcomes, throttled } = await calling(await openConversation(run), 400)
    expect(outcomes).toEqual(new Set(['accepted']))
    expect(throttled.slice(200).filter((times) => times > 0)).toEqual([])
    expect(run.facts.callsPerSecond).toBeGreaterThan(10)
    expect(run.facts.callsPerSecond).toBeLessThanOrEqual(40)
  })

  test('a creation that may be beyond the limit is waited out once, and then counts as refused', async () => {
    let creations = 0
    const run = answering((_call, number) => {
      creations = number
      return number > 9 ? { status: 429 } : { result: { id: `key-${number}`, secret: 'a-secret' } }
    })
    const talk = await openConversation(run)
    const create = () => makeCall(talk, { ...call, method: 'manager/createApiKey', params: { name: 'n', scope: [] } })
    for (let made = 0; made < 9; made += 1) expect((await create()).answer.outcome).toBe('accepted')
    expect((await create()).answer).toMatchObject({ outcome: 'refused', status: 429 })
    expect(creations).toBe(11)
  })

  test('a live target is called slowly at first, and faster while it does not throttle', async () => {
    const talk = await openConversation(answering(accepting, { callMs: 0, fresh: false }))
    expect((await calling(talk, 20)).tookMs).toBeGreaterThanOrEqual(900)
    expect((await calling(talk, 2000)).tookMs).toBeLessThan(12_000)
  })

  test('a target with a limit throttles ever more rarely', async () => {
    const { throttled } = await calling(await openConversation(limited(40, {})), 8000)
    expect(throttled.filter((times) => times > 0).length).toBeLessThan(30)
  })

  const fiftieth = (call: number): boolean => call % 50 === 0
  test.each<[string, (call: number) => boolean, MadeUpAnswer, number]>([
    // At the slowest pace it would take 400 s.
    ['one call with 429', (call) => call === 3, { status: 429 }, 30_000],
    ['every fiftieth with 503 and Retry-After: 0', fiftieth, { status: 503, headers: { 'retry-after': '0' } }, 10_000],
    ['every fiftieth with 429 without Retry-After', fiftieth, { status: 429 }, 25_000],
    // Each of the forty waits its second, and the calls between them are as fast as ever.
    ['every fiftieth with 429 and Retry-After: 1', fiftieth, { status: 429, headers: { 'retry-after': '1' } }, 100_000],
  ])('a target that answers %s is soon called as fast as before', async (_how, isBusy, busy, mostMs) => {
    const run = answering((_call, number) => (isBusy(number) ? busy : accepting()), { callMs: 2 })
    const { outcomes, tookMs } = await calling(await openConversation(run), 2000)
    expect(outcomes).toEqual(new Set(['accepted']))
    expect(tookMs).toBeLessThan(mostMs)
  })

  test('a target with a known limit is called just below it, also where calls are made at once', async () => {
    const talk = await openConversation(limited(30, { 'retry-after': '1' }))
    const { clock } = talk.instance
    await calling(talk, 300)
    const began = clock.now()
    const throttled: number[] = []
    const atOnce = Array.from({ length: 20 }, () => call)
    for (let round = 0; round < 30; round += 1) {
      throttled.push(...(await calling(talk, 40)).throttled)
      throttled.push(...(await makeCalls(talk, atOnce)).map((one) => one.throttled))
    }
    expect(throttled.reduce((sum, times) => sum + times)).toBeLessThan(30)
    // 1,800 calls take a minute at the limit itself; before twenty at once, the second must have room for them.
    expect(clock.now() - began).toBeLessThan(110_000)
  })

  test('a declared rate is never exceeded, whatever the target bears', async () => {
    const times: number[] = []
    const answer: Answering = ({ nowMs }, number) => {
      times.push(nowMs)
      return number === 3 ? { status: 429 } : accepting()
    }
    await calling(await openConversation(answering(answer, { callMs: 0, settings: { rate: 10 } })), 600)
    for (const [index, at] of times.entries())
      expect((times[index + 10] ?? Number.POSITIVE_INFINITY) - at).toBeGreaterThanOrEqual(990)
  })
})

/** Lets everything run that waits for nothing. */
async function settle(): Promise<void> {
  for (let turn = 0; turn < 3; turn += 1) await new Promise((resolve) => setImmediate(resolve))
}

describe('call limit', () => {
  const answered: WireAnswer = { kind: 'answer', status: 200, headers: {}, body: new Uint8Array() }
  const lost: WireAnswer = { kind: 'none', reason: 'reset', refusedConnection: false, stale: false }

  /** Hears so many answers, each after so many ms. */
  function hear(limit: ReturnType<typeof createCallLimit>, ...heard: (readonly [times: number, tookMs: number])[]) {
    for (const [times, tookMs] of heard) for (let time = 0; time < times; time += 1) limit.hear(tookMs, answered)
    return limit.atOnce
  }

  test('at most as many calls are under way as the limit allows, and they start in the order of their requests', async () => {
    const limit = createCallLimit(2)
    const events: string[] = []
    const ends: (() => void)[] = []
    const made = ['one', 'two', 'three', 'four'].map((name) =>
      limit.run(() => {
        events.push(name)
        return new Promise<void>((end) => ends.push(end))
      }),
    )
    await settle()
    expect(events).toEqual(['one', 'two'])
    ends[1]?.()
    await settle()
    expect(events).toEqual(['one', 'two', 'three'])
    for (const end of ends) end()
    await settle()
    for (const end of ends) end()
    await Promise.all(made)
    expect(events).toEqual(['one', 'two', 'three', 'four'])
  })

  const slowNowAndThen = Array.from(
    { length: 6 },
    () =>
      [
        [1, 100],
        [1, 600],
      ] as const,
  ).flat()
  test.each<[string, [heard: (readonly [number, number])[], atOnce: number][]]>([
    [
      'grows up to sixteen while answers stay quick',
      [
        [[], 4],
        [[[8, 100]], 6],
        [[[1000, 110]], 16],
      ],
    ],
    [
      'shrinks when answers become slower, but not below the first one',
      [
        [[[8 + 12 + 18, 100]], 13],
        [[[26, 200]], 9],
        [[[200, 200]], 4],
      ],
    ],
    [
      'stays where a few answers are slow',
      [
        [[[8, 100]], 6],
        [slowNowAndThen, 9],
      ],
    ],
  ])('the limit %s', (_how, steps) => {
    const limit = createCallLimit(null)
    for (const [heard, atOnce] of steps) expect(hear(limit, ...heard)).toBe(atOnce)
  })

  test('the limit shrinks when an answer is lost or throttled, until answers come again', () => {
    const limit = createCallLimit(null)
    limit.hear(5, lost)
    expect(limit.atOnce).toBe(2)
    limit.hear(5, { ...answered, status: 429 })
    limit.hear(5, { ...answered, status: 429 })
    expect(limit.atOnce).toBe(1)
    expect(hear(limit, [8, 200])).toBe(3)
  })

  test('a given number stays, and a rate bounds it', () => {
    const fixed = createCallLimit(3)
    hear(fixed, [100, 1])
    fixed.hear(1, lost)
    expect(fixed.atOnce).toBe(3)
    expect(createCallLimit(null, 2).atOnce).toBe(2)
  })

  test('an urgent call goes before the others that wait', async () => {
    const limit = createCallLimit(1)
    const events: string[] = []
    const call = (name: string, isUrgent?: boolean): Promise<void> =>
      limit.run(async () => void events.push(name), isUrgent)
    await Promise.all([call('first'), call('second'), call('third'), call('urgent', true)])
    expect(events).toEqual(['first', 'urgent', 'second', 'third'])
  })
})

describe('grant lanes', () => {
  const grant = (params: { [name: string]: unknown }, more: Partial<CallSpec> = {}): CallSpec => ({
    method: 'manager/auth',
    auth: 'none',
    params: { grantType: 'api_key_credentials', apiKeyId: 'a', ...params },
    ...more,
  })

  /** Whether a grant of the second lane waits while one of the first is under way. */
  function isKeptApart(one: Lane, other: Lane): boolean {
    const queue = createGrantLanes()
    for (const lane of [one, other]) void queue.run(lane, () => new Promise(() => {}))
    return queue.waiting === 1
  }

  test.each<[string, CallSpec[], Lane | undefined]>([
    ['a call that grants nothing', [{ method: 'solution/listSolutions', auth: 'none', params: {} }], undefined],
    ['a grant', [grant({ scope: ['solution'] })], { kind: 'grant', user: undefined, named: false, free: false }],
    [
      'a session',
      [grant({ scope: ['solution', 'session:one'] })],
      { kind: 'grant', user: undefined, named: true, free: false },
    ],
    ['a grant that must be refused', [grant({ scope: ['solution'] }, { mustBeRefused: true })], undefined],
    ['a refresh', [grant({ grantType: 'refresh_token' })], { kind: 'refresh', free: false }],
    ['a race', [grant({}), grant({})], { kind: 'race' }],
  ])('%s has its lane', (_name, specs, lane) => {
    expect(laneOf(specs, noFacts())).toEqual(lane)
  })

  test('grants of different keys are kept apart until each key is known to have sessions of its own', () => {
    const [one, other] = ['a', 'b'].map((apiKeyId) => [grant({ apiKeyId, scope: ['session:one'] })])
    const areKeptApart = (facts: TargetFacts): boolean =>
      isKeptApart(laneOf(one ?? [], facts) as Lane, laneOf(other ?? [], facts) as Lane)
    expect(areKeptApart(noFacts())).toBe(true)
    expect(areKeptApart({ ...noFacts(), sessionsPerKey: false })).toBe(true)
    expect(areKeptApart({ ...noFacts(), sessionsPerKey: true })).toBe(false)
    const refresh = laneOf([grant({ grantType: 'refresh_token' })], noFacts()) as Lane
    expect(isKeptApart(refresh, laneOf([grant({ scope: ['solution'] })], noFacts()) as Lane)).toBe(true)
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
  ])('%j and %j: kept apart %s', (one, other, areKeptApart) => {
    expect([isKeptApart(one, other), isKeptApart(other, one)]).toEqual([areKeptApart, areKeptApart])
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
    await settle()
    endFirst()
    await Promise.all([first, ...later, urgent])
    expect(begun).toEqual(['urgent', 'second', 'third'])
  })
})
