import { describe, expect, test } from 'vitest'
import { bundledSettings, type ServerOptions } from '../targets/bundled.ts'
import { basic, create } from './calls.ts'
import { endKeys, waysToEndKeys } from './ended-keys.ts'
import { fixtureText } from './fixture-text.ts'
import { keyringOf } from './keyring.ts'
import { keyPairMaker } from './open.ts'
import { reproduce } from './shrink.ts'
import { foundIn } from './test-findings.ts'

const ways = waysToEndKeys(bundledSettings([]))
const scope = ['apikey', 'apiKey', 'solution', 'context']

/** What is found where a key of each kind is disabled, and one of each deleted. */
const endedIn = (server: Pick<ServerOptions, 'rules' | 'around'>) =>
  foundIn(server, async (caller) => {
    const { x } = caller
    x.setSignatureClock(0, true)
    for (const name of ['by-ecc', 'by-token']) await x.call(create(basic('root'), { name, scope }, { as: name }))
    for (const name of ['ecc-a', 'ecc-b', 'ecc-solution']) {
      const { seed, publicKeyPem: publicKey } = keyPairMaker(x.options.values)()
      x.names.set(`${name}-own`, { seed, publicKey })
      await x.call(create(basic('root'), { name, scope, publicKey: `$${name}-own.publicKey` }, { as: name }))
    }
    await endKeys({ ...caller, keyring: keyringOf(x, { grants: true, keys: true, limits: true }) }, ways)
  })

describe('a key that was disabled or deleted', () => {
  test('is tried in every way, and nothing is found at the reference server', async () => {
    const { x, found } = await endedIn({})
    const ended = [...x.state().keys.values()].map((key) => key.ended ?? '')
    expect(found).toEqual([])
    expect(ended.toSorted()).toEqual([
      '',
      '',
      '',
      'keys/can-be-deleted',
      'keys/can-be-deleted',
      'keys/can-be-disabled',
      'keys/can-be-disabled',
    ])
  })

  test.each<[string, number]>([
    ['the next', 1],
    ['the previous', -1],
  ])('takes no other key with it: %s', async (_which, distance) => {
    const around: NonNullable<ServerOptions['around']> = (handle, { state }) => {
      const isDeleted = (): boolean[] => [...state.keys.values()].map((key) => key.deleted)
      return async (request) => {
        const before = isDeleted()
        const answer = await handle(request)
        const at = isDeleted().findIndex((deleted, index) => deleted && !before[index])
        const neighbour = at < 0 ? undefined : [...state.keys.values()][at + distance]
        if (neighbour !== undefined && !neighbour.initial) neighbour.deleted = true
        return answer
      }
    }
    const { found } = await endedIn({ around })
    expect(found.map(({ kind, requirement }) => `${kind} ${requirement}`)).toContain('refused keys/created-key-works')
  })

  test.each<[string, string, NonNullable<ServerOptions['rules']>]>([
    ['a deleted key that still signs', 'keys/can-be-deleted', { deletedKeyWorks: (_key, means) => means === 'ecc' }],
    [
      'a disabled key that gets tokens',
      'keys/can-be-disabled',
      { disabledKeyWorks: (_key, means) => means === 'grant' },
    ],
    [
      'a disabled key that works again once it is deleted',
      'keys/can-be-disabled',
      { disabledKeyWorks: (key) => key.deleted, deletedKeyWorks: (key) => !key.enabled },
    ],
  ])('shows %s', async (_what, requirement, rules) => {
    const { x, found } = await endedIn({ rules })
    const [first] = found
    expect(first?.requirement).toBe(requirement)
    if (first === undefined) return
    const { steps, tries } = await reproduce(x, first)
    // The call that ended the key is shown, and neither is made again.
    expect(tries).toBe(0)
    expect(steps.slice(0, -1).some((step) => step.do === 'call' && /(update|delete)ApiKey$/.test(step.method))).toBe(
      true,
    )
    const input = { requirement, part: '2', sentence: '', message: '', steps, outcomes: [], expect: 'refused' } as const
    expect(fixtureText(input)).toEqual({ why: 'no scenario may disable or delete a test key' })
  })
})
