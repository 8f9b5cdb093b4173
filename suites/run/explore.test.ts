import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { CreatedKeysEntry } from '../engine/conversation/conversation.ts'
import { bareSettings, type Instance, type WireAnswer } from '../engine/target.ts'
import { openExploration } from '../explore/explore.ts'
import { isShownAgain } from '../report/report.ts'
import { createHandler, type ServerOptions, startMockServer } from '../targets/bundled.ts'
import { memoryInstance } from '../targets/in-memory.ts'
import { openCorpus } from './corpus-cache.ts'
import { afterCases, exploreUrl, isBroken, timeOfModel, tryScenario } from './explore.ts'
import { readTargetFile, readTargetOptions } from './options.ts'

test('with a wrong secret nothing is reported as a finding, and the error says what to check', async () => {
  const server = await startMockServer()
  const env = { XDG_STATE_HOME: mkdtempSync(join(tmpdir(), 'svc-explore-')), SVC_KEY_SECRET: 'another' }
  const target = readTargetOptions({ url: server.url, keyId: server.rootKey.id }, env, readTargetFile({}, env))
  if (target === null) throw new RangeError('No target')
  const said: string[] = []
  const effort = { seed: 1, maxCalls: 50, seconds: 5, walks: 0, fresh: false, requirements: [] }
  const allow = { sessions: false, keys: false, limits: false }
  try {
    await expect(exploreUrl(target, { ...effort, allow, say: (text) => said.push(text) })).rejects.toThrow(
      /refuses the API key ".*" in every way .*; check the key id, the secret/,
    )
    expect(said).toEqual([])
  } finally {
    await server.close()
  }
})

const made = (name: string, more: object): CreatedKeysEntry => ({ created: { id: `id-of-${name}`, name, ...more } })

const after = (entries: readonly CreatedKeysEntry[], more: Partial<Parameters<typeof afterCases>[0]> = {}) =>
  afterCases({ allow: ['keys'], calls: 200, entries, testKeys: [], hasPlaces: true, only: null, ...more })

test('the model gets the keys of the cases that may only list solutions', () => {
  const entries = [
    made('wide', { secret: 's', scope: ['solution', 'context'] }),
    made('ecc', { privateKey: 'pem', scope: ['solution'] }),
    made('gone', { secret: 's', scope: ['solution'] }),
    { removed: 'id-of-gone' },
    made('narrow', { secret: 's', scope: ['solution'] }),
    made('another', { secret: 's', scope: ['solution'] }),
  ]
  expect(after(entries).knownKeys.map(({ name }) => name)).toEqual(['narrow', 'another', 'ecc'])
})

test('the model tries no wrong creation where one was accepted: the race for keys needs the places', () => {
  const right = made('right', { secret: 's', scope: ['solution'] })
  expect(after([right]).triesCreations).toBe(true)
  expect(after([right, made('erin', { secret: 's', member: 'erin' })]).triesCreations).toBe(true)
  expect(after([right, made('wrong', { secret: 's' })]).triesCreations).toBe(false)
})

test('the model calls with it', async () => {
  const { handle, context } = createHandler({ clock: 'virtual', rootKey: { id: 'root', secret: 'root-secret' } })
  const root = { kind: 'secret', id: 'root', secret: 'root-secret' } as const
  const headers = new Set<string | undefined>()
  const { requirements } = await openCorpus()
  const watched: typeof handle = (request) => {
    headers.add(request.headers.authorization)
    return handle(request)
  }
  const entries = [made('narrow', { secret: 'narrow-secret', scope: ['solution'] })]
  const exploration = openExploration({
    ...after(entries),
    instance: memoryInstance({ handle: watched, clock: context.clock, root, settings: bareSettings }),
    loopback: true,
    seconds: 60,
    requirements,
    say: () => {},
  })
  await exploration.ask()
  await exploration.finish()
  expect(headers).toContain(`Basic ${btoa('id-of-narrow:narrow-secret')}`)
})

test.each([
  [4, 4],
  [7, 1],
  [8, 0],
  [10, 0],
])('after %i keys the model may create %i, and two places stay free', (created, wanted) => {
  const entries = Array.from({ length: created }, (_, at) => made(`key-${at}`, { secret: 's' }))
  expect(after(entries).newKeys).toBe(wanted)
})

const corpus = await openCorpus()
const right = '{ call: solution/listSolutions, auth: { basic: root }, expect: accepted }'
const scenario = (expected: string): string => `scenario: A sentence
proves: [basic/credentials]
given:
  - ${right}
steps:
  - { call: solution/listSolutions, auth: { basic: root }, alter: { basic-secret: first-half }, expect: ${expected} }
`
const verdictOn = (expected: string, server?: Parameters<typeof tryScenario>[3]) =>
  tryScenario(scenario(expected), 'basic/credentials', corpus, server)

test('the bundled server passes a right scenario, and fails one that rests on what another server did', async () => {
  expect(await verdictOn('refused')).toBe('passed')
  expect(isBroken(await verdictOn('accepted'))).toBe(true)
})

test('a broken server fails the right one', async () => {
  const rules = { secretMatches: () => true }
  expect(await verdictOn('refused', { settings: {}, create: () => ({ rules }) })).toBe('failed')
})

test('a scenario with a mistake is not run', async () => {
  await expect(verdictOn('refsued')).rejects.toThrow('one.yaml:6')
})

type Rules = NonNullable<ServerOptions['rules']>

const callMs = 2
const wholeBudget = 16_000

/** Explores a server that takes so many calls a second, on a clock that nobody waits for. @returns how long the model took, in ms on that clock */
async function modelMs(callsPerSecond: number, rules: Rules): Promise<{ ms: number; found: number }> {
  const rootKey = { id: 'root', secret: 'root-secret' }
  const { handle, context } = createHandler({ clock: 'virtual', rootKey, rules })
  const { clock } = context
  const settings = { ...bareSettings, clientAddress: '127.0.0.1' }
  const moved = memoryInstance({ handle, clock, root: { kind: 'secret', ...rootKey }, settings })
  const throttled: WireAnswer = { kind: 'answer', status: 429, headers: { 'retry-after': '1' }, body: new Uint8Array() }
  let taken: number[] = []
  const send: Instance['send'] = async (request) => {
    taken = taken.filter((ms) => ms > clock.now() - 1000)
    if (taken.length >= callsPerSecond) return throttled
    taken.push(clock.now())
    const answer = await moved.send(request)
    clock.advance(callMs)
    return answer
  }
  const { requirements } = await openCorpus()
  const startedMs = clock.now()
  const exploration = openExploration({
    ...after([], { allow: ['sessions', 'keys', 'limits'], calls: wholeBudget }),
    ...timeOfModel(wholeBudget, 'http://127.0.0.1'),
    monotonicMs: () => clock.now(),
    instance: { ...moved, clock: { ...moved.clock, controlled: false }, send },
    loopback: true,
    requirements,
    say: () => {},
  })
  await exploration.ask()
  exploration.giveWay()
  const { findings } = await exploration.finish()
  return { ms: clock.now() - startedMs, found: findings.filter(isShownAgain).length }
}

/** Tokens live as long as the server likes, and a surplus of sessions stays. */
const deployed: Rules = {
  accessLifeMs: (_asked, { accessLifeMs }) => accessLifeMs,
  sessionsRemoved: (live, surplus) => live.slice(0, Math.min(surplus, 1)),
}

test.each<[string, number, Rules, number]>([
  ['a server that takes 30 calls a second', 30, {}, 0],
  ['a broken one that takes 30 calls a second', 30, deployed, 2],
  ['a broken one that takes 5 calls a second', 5, deployed, 1],
])('against %s the model ends within twice the announced time', async (_what, callsPerSecond, rules, least) => {
  const { ms, found } = await modelMs(callsPerSecond, rules)
  const [announcedMs, oneCallMs] = [wholeBudget * callMs, 1000]
  expect(ms).toBeLessThanOrEqual(2 * announcedMs + oneCallMs)
  expect(found).toBeGreaterThanOrEqual(least)
})
