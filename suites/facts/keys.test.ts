import { expect, test } from 'vitest'
import { openCreatedKeys } from '../engine/conversation/conversation.ts'
import { seededRandom } from '../engine/signer/random.ts'
import type { TargetSettings } from '../engine/target.ts'
import { bundledTarget, type Profile, type ServerOptions } from '../targets/bundled.ts'
import { type FactSheet, measureFacts } from './measure.ts'

const noCleanup = { cleanup: undefined } as unknown as Partial<TargetSettings>

interface Measured {
  sheet: FactSheet
  created: ReturnType<typeof openCreatedKeys>
}

/** @param taken how many keys exist already */
async function measured(
  server: ServerOptions,
  settings: Partial<TargetSettings> = {},
  { allow = ['keys', 'limits'] as ('sessions' | 'keys' | 'limits')[], taken = 0 } = {},
): Promise<Measured> {
  const target = bundledTarget(server, settings)
  const instance = await target.open()
  const created = openCreatedKeys()
  const { id, secret } = instance.root as { id: string; secret: string }
  const basic = `Basic ${Buffer.from(`${id}:${secret}`).toString('base64')}`
  for (let number = 0; number < taken; number += 1) {
    const call = { jsonrpc: '2.0', id: 1, method: 'manager/createApiKey', params: { name: 'k', scope: [] } }
    await instance.send({
      method: 'POST',
      path: '/api',
      headers: [
        ['content-type', 'application/json'],
        ['authorization', basic],
      ],
      body: new TextEncoder().encode(JSON.stringify(call)),
      connection: 'fresh',
    })
  }
  try {
    const options = { allow, random: seededRandom(1), maxWaitMs: 0, patientMs: 0, created, fresh: taken === 0 }
    return { sheet: await measureFacts(instance, options), created }
  } finally {
    await instance.close()
    await target.close?.()
  }
}

const factsOf = ({ facts }: FactSheet): [string, unknown][] =>
  facts.flatMap(({ question, name, value }) => (question.startsWith('keys/') ? [[name, value]] : []))

test.each<Partial<Profile>>([
  {},
  { eleventhKey: 'oldest-removed' },
  { initialKeyCounts: true },
  { unknownKeyScopes: 'refused' },
  { unknownKeyScopes: 'all-but-shown-refused' },
  { repeatedPublicKeys: 'refused', weakPublicKeys: 'accepted' },
  { keyScopeAboveCreator: 'refused' },
])('facts about keys give back the switches %j', async (profile) => {
  const { sheet, created } = await measured({ profile })
  expect(sheet.profile).toMatchObject(profile)
  expect(created.keys).toEqual([])
})

test('a second key shows whose sessions are counted together', async () => {
  const allow: ('sessions' | 'keys' | 'limits')[] = ['sessions', 'keys', 'limits']
  const { sheet } = await measured({ profile: { sessionUser: 'all-keys' } }, {}, { allow })
  expect(sheet.profile.sessionUser).toBe('all-keys')
})

test('the reference server in the words of the sheet', async () => {
  const { sheet } = await measured({})
  expect(factsOf(sheet)).toEqual([
    ['further members of a created key', 'none'],
    ['a key name used again', 'gives another key'],
    ['a key with more scope than its creator', 'accepted'],
    ['an unknown word in the scope of a key', 'accepted'],
    ['a key with an empty scope', 'accepted'],
    ['secret of a key with a public key', 'a text of 32 characters'],
    ['a public key used again', 'accepted'],
    ['a PEM with CRLF', 'accepted'],
    ['a public key of small order', 'refused'],
    ['expiresIn: in the scope of a key', 'refused'],
    ['ipAddr: in the scope of a key', 'accepted'],
    ['session: in the scope of a key', 'accepted'],
    ['a key name of 129 characters', 'refused'],
    ['an empty key name', 'refused'],
    ['a key beyond the limit', 'refused'],
    ['keys that fit', 10],
    ['removing a key frees its place', true],
    ['the initial key is one of the ten', false],
    ['refused and removed keys take places', false],
  ])
})

test('refused creations that take places are reported', async () => {
  let refusals = 0
  const server: ServerOptions = {
    rules: { keyLimit: () => 10 - refusals },
    around: (handle) => async (request) => {
      const answer = await handle(request)
      if (textOf(request.body).includes('createApiKey') && textOf(answer.body).includes('-32602')) refusals += 1
      return answer
    },
  }
  const { sheet } = await measured(server, noCleanup)
  expect(refusals).toBeGreaterThan(1)
  expect(factsOf(sheet)).toContainEqual(['refused and removed keys take places', true])
  expect(factsOf(sheet)).toContainEqual(['the initial key is one of the ten', false])
})

const textOf = (body: Uint8Array | string | undefined): string => Buffer.from(body ?? '').toString()

test('without a way to remove keys at most ten are created, and the omitted probes are named', async () => {
  const { sheet, created } = await measured({}, noCleanup)
  expect(created.keys).toHaveLength(10)
  expect(sheet.left.filter(({ reason }) => reason.includes('cleanup')).map(({ name }) => name)).toEqual([
    'restrictions in the scope of a key',
    'lengths of key names',
  ])
  expect(sheet.profile).toMatchObject({ eleventhKey: 'refused', initialKeyCounts: false })
})

test('a server without a free place shows nothing about keys', async () => {
  const { sheet, created } = await measured({}, {}, { taken: 10 })
  expect(factsOf(sheet)).toEqual([])
  expect(sheet.left.map(({ reason }) => reason)).toContain('no key can be created: HTTP 200, error 24877')
  expect(created.keys).toEqual([])
})

test.each([1, 2, 3, 4, 5, 6, 7, 8, 9])(
  'with %i keys there no refusal for want of a place becomes a fact',
  async (taken) => {
    const known = new Map(factsOf((await measured({}, noCleanup, { allow: ['keys'] })).sheet))
    const { sheet } = await measured({}, noCleanup, { allow: ['keys'], taken })
    for (const [name, value] of factsOf(sheet)) expect([name, value]).toEqual([name, known.get(name)])
  },
)

test('without permission no key is created', async () => {
  const { sheet, created } = await measured({}, {}, { allow: [] })
  expect([factsOf(sheet), created.keys, created.perhapsCounted]).toEqual([[], [], 0])
})
