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
import { afterCases, exploreUrl, isBroken, tryScenario } from './explore.ts'
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
  const namesOf = (all: readonly CreatedKeysEntry[]) => after(all).knownKeys.map(({ name }) => name)
  expect(namesOf(entries)).toEqual(['narrow', 'another', 'ecc'])
  // Of four the first is the one with which no wrong call is made.
  const more = ['third', 'fourth'].map((name) => made(name, { secret: 's', scope: ['solution'] }))
  expect(namesOf([...entries, ...more])).toEqual(['another', 'third', 'fourth', 'narrow', 'ecc'])
})

test('the model tries no wrong creation where one was accepted: the race for keys needs the places', () => {
  const right = made('right', { secret: 's', scope: ['solution'] })
  expect(after([right]).triesCreations).toBe(true)
  expect(after([right, made('erin', { secret: 's', member: 'erin' })]).triesCreations).toBe(true)
  expect(after([right, made('wrong', { secret: 's' })]).triesCreations).toBe(false)
})

test.each([[true], [false]])(
  'the model calls with it, and finds that it does not work, where no later key can have taken its place: %s',
  async (hasPlaces) => {
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
      ...after(entries, { hasPlaces }),
      instance: memoryInstance({ handle: watched, clock: context.clock, root, settings: bareSettings }),
      loopback: true,
      seconds: 60,
      requirements,
      say: () => {},
    })
    await exploration.ask()
    const { findings } = await exploration.finish()
    // The server does not know the key.
    expect(findings.length > 0).toBe(hasPlaces)
    expect(headers).toContain(`Basic ${btoa('id-of-narrow:narrow-secret')}`)
  },
)

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
