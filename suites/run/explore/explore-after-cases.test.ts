import { expect, test } from 'vitest'
import type { CreatedKeysEntry } from '../../engine/conversation/conversation.ts'
import { bareSettings } from '../../engine/target.ts'
import { openExploration } from '../../explore/explore.ts'
import { createHandler } from '../../targets/bundled.ts'
import { memoryInstance } from '../../targets/in-memory.ts'
import { openCorpus } from '../corpus-cache.ts'
import { afterCases } from './explore-after-cases.ts'

const made = (name: string, more: object): CreatedKeysEntry => ({ created: { id: `id-of-${name}`, name, ...more } })

const after = (entries: readonly CreatedKeysEntry[]) =>
  afterCases({ allow: ['keys'], calls: 200, entries, testKeys: [], hasPlaces: true, only: null })

test('the model gets one key of the cases that may only list solutions', () => {
  const entries = [
    made('wide', { secret: 's', scope: ['solution', 'context'] }),
    made('ecc', { privateKey: 'pem', scope: ['solution'] }),
    made('gone', { secret: 's', scope: ['solution'] }),
    { removed: 'id-of-gone' },
    made('narrow', { secret: 's', scope: ['solution'] }),
    made('another', { secret: 's', scope: ['solution'] }),
  ]
  expect(after(entries).knownKeys.map(({ name }) => name)).toEqual(['narrow'])
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
  [8, 1],
  [9, 0],
  [10, 0],
])('after %i keys the model may create %i, and one place stays free', (created, wanted) => {
  const entries = Array.from({ length: created }, (_, at) => made(`key-${at}`, { secret: 's' }))
  expect(after(entries).newKeys).toBe(wanted)
})
