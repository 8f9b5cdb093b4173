import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { CreatedKeysEntry } from '../engine/conversation/conversation.ts'
import { bareSettings } from '../engine/target.ts'
import { openExploration } from '../explore/explore.ts'
import { createHandler, startMockServer } from '../targets/bundled.ts'
import { memoryInstance } from '../targets/in-memory.ts'
import { openCorpus } from './corpus-cache.ts'
import { afterCases, exploreTarget, isBroken, tryScenario } from './explore.ts'
import { readTargetFile, readTargetOptions } from './options.ts'

test('with a wrong secret nothing is reported as a finding, and the error says what to check', async () => {
  const server = await startMockServer()
  const env = { XDG_STATE_HOME: mkdtempSync(join(tmpdir(), 'svc-explore-')), SVC_KEY_SECRET: 'another' }
  const target = readTargetOptions({ url: server.url, keyId: server.rootKey.id }, env, readTargetFile({}, env))
  if (target === null) throw new RangeError('No target')
  const said: string[] = []
  const effort = { seed: 1, maxCalls: 50, seconds: 3600, walks: 0, fresh: false, requirements: [] }
  const allow = { sessions: false, keys: false, limits: false }
  try {
    await expect(exploreTarget(target, { ...effort, allow, say: (text) => said.push(text) })).rejects.toThrow(
      /refuses the API key ".*" in every way .*; check the key id, the secret/,
    )
    expect(said).toEqual([])
  } finally {
    await server.close()
  }
})

const corpus = await openCorpus()

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

const ofToken = { secret: 'narrow-secret', scope: ['solution'], step: { caseKey: 'keys/apikey-scope', title: '' } }

test('with the key that an access token created no wrong call is made', () => {
  const entries = [made('narrow', { secret: 's', scope: ['solution'] }), made('of-token', ofToken)]
  expect(after(entries)).toMatchObject({ knownKeys: [{ name: 'narrow' }], untried: { name: 'of-token' } })
  // Where later keys may have taken its place, it is like any other key.
  const { knownKeys, untried } = after(entries, { hasPlaces: false })
  expect([knownKeys.map(({ name }) => name), untried]).toEqual([['narrow', 'of-token'], undefined])
  const scenario = corpus.scenarios.find(({ id }) => id === ofToken.step.caseKey)
  const makers = scenario?.steps.filter((step) => 'call' in step && step.call === 'manager/createApiKey')
  expect(JSON.stringify(makers)).toContain('{"token":"$maker.accessToken"}')
})

test.each<[string, object, string[]]>([
  ['may have been removed', { secret: 'narrow-secret', scope: ['solution'] }, []],
  ['must still work', ofToken, ['basic/credentials', 'signatures/hmac']],
])('the model calls with a key that the target does not know, and that %s', async (_which, key, found) => {
  const { handle, context } = createHandler({ clock: 'virtual', rootKey: { id: 'root', secret: 'root-secret' } })
  const root = { kind: 'secret', id: 'root', secret: 'root-secret' } as const
  const headers = new Set<string | undefined>()
  const watched: typeof handle = (request) => {
    headers.add(request.headers.authorization)
    return handle(request)
  }
  const exploration = openExploration({
    ...after([made('narrow', key)]),
    instance: memoryInstance({ handle: watched, clock: context.clock, root, settings: bareSettings }),
    loopback: true,
    seconds: 3600,
    requirements: corpus.requirements,
    say: () => {},
  })
  await exploration.ask()
  const { findings } = await exploration.finish()
  expect(findings.map(({ requirement }) => requirement)).toEqual(found)
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
