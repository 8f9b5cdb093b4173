import { describe, expect, test } from 'vitest'
import { createProfile, type ServerOptions } from '../targets/bundled.ts'
import { confusableNames, sameNameTwice } from './session-names.ts'
import { reproduce } from './shrink.ts'
import type { Caller } from './table.ts'
import { brokenBy, foundIn } from './test-findings.ts'

const twice = (caller: Caller): Promise<void> => sameNameTwice(caller, caller.keyring.secret, 9)
const confusable = (caller: Caller): Promise<void> =>
  confusableNames(caller, 'by-basic', (ms) => caller.x.wait(ms).then(() => {}))

describe('a session name used twice', () => {
  test.each(['replaces', 'adds', 'joins'] as const)('%s a session, and nothing is found', async (reusedSessionName) => {
    const profile = createProfile({ reusedSessionName })
    expect(await brokenBy({ profile }, twice)).toEqual([])
    expect(await brokenBy({ profile: createProfile({ reusedSessionName, sessionUser: 'all-keys' }) }, twice)).toEqual(
      [],
    )
  })

  test('gives the second token no more than it asks for', async () => {
    let earlier: string[] = []
    const grantedScope = (requested: string[]): string[] => {
      const granted = [...requested, ...earlier]
      earlier = requested
      return granted
    }
    expect(await brokenBy({ rules: { grantedScope } }, twice)).toContain('scopes/context')
  })

  test('is shown to end the session of another key in the fewest steps', async () => {
    const endedBesideRefresh: NonNullable<ServerOptions['rules']>['endedBesideRefresh'] = (all, old) =>
      all().filter(({ session, key }) => session?.name === (old.session?.name ?? '') && key !== old.key)
    const { x, found } = await foundIn({ rules: { endedBesideRefresh } }, twice)
    const shown = []
    for (const candidate of found) shown.push(await reproduce(x, candidate))
    expect(shown.length).toBeGreaterThan(1)
    for (const { steps, failed } of shown) expect([steps.length, failed]).toEqual([4, 3])
  })
})

describe('confusable names of sessions', () => {
  test('name sixteen sessions, which newer ones remove', async () => {
    expect(await brokenBy({}, confusable)).toEqual([])
    expect(await brokenBy({ profile: createProfile({ reusedSessionName: 'joins' }) }, confusable)).toEqual([])
  })

  test('may be refused where they are odd', async () => {
    const isPlain = (word: string): boolean =>
      !word.startsWith('session:') || /^session:[a-z0-9]([a-z0-9-]*[a-z0-9])?$/.test(word)
    const paramTaken: NonNullable<ServerOptions['rules']>['paramTaken'] = (_method, name, value, valid) =>
      valid && (name !== 'scope' || (value as string[]).every(isPlain))
    expect(await brokenBy({ rules: { paramTaken } }, confusable)).toEqual([])
  })

  const sorted = (name: string | undefined): string | undefined => name && [...name].sort().join('')
  test.each<readonly [string, NonNullable<ServerOptions['rules']>]>([
    ['no session is named 0', { sessionCreated: (name) => name !== '0' }],
    ['no session is named like a member of objects', { sessionCreated: (name) => !(name in {}) }],
    ['names with the same letters are one', { sessionName: sorted }],
    [
      'numbers are one in every spelling',
      { sessionName: (name) => (name === undefined ? name : String(+name || name)) },
    ],
    ['words for nothing are one name', { sessionName: (name) => name?.replace(/^(null|undefined|false)$/, '') }],
  ])('show that %s', async (_what, rules) => {
    expect(await brokenBy({ rules }, confusable)).not.toEqual([])
  })
})

test('a name that every exploration uses may have been used before, so its refusal is open', async () => {
  const answers = { grants: 0 }
  const broken = await brokenBy(
    {
      around: (handle) => (request) => {
        if (!String(request.body).includes('"session:0"')) return handle(request)
        answers.grants += 1
        return { status: 200, headers: {}, body: '{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"used"}}' }
      },
    },
    (caller) => confusableNames(caller, 'by-basic', (ms) => caller.x.wait(ms)),
  )
  expect(answers.grants).toBe(1)
  expect(broken).toEqual([])
})
