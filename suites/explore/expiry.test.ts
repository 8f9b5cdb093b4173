import { expect, test } from 'vitest'
import type { ServerOptions } from '../targets/bundled.ts'
import { beginExpiry, endExpiry, usedBeforeExpiry } from './expiry.ts'
import type { Caller } from './table.ts'
import { foundIn } from './test-findings.ts'

/** @returns the names of the pairs that expired */
const expire = async (caller: Caller): Promise<readonly string[]> => {
  const { wire } = caller.x.options
  const expiring = await beginExpiry(caller, ['root', 'by-basic'])
  await wire.sleep(expiring.due - wire.now())
  await endExpiry(caller, expiring)
  return [...expiring.pairs, ...expiring.replaced]
}

test('after the wait it is certain that every pair has expired, the refreshed ones too', async () => {
  let expired: readonly string[] = []
  const { x, found } = await foundIn({}, async (caller) => {
    expired = await expire(caller)
  })
  const judged = x.log
    .flatMap(({ seen }) => seen)
    .filter(({ verdict, answer }) => verdict.is === 'refused' && answer.kind === 'refused')
    .map(({ step: { auth } }) => (auth.kind === 'token' ? auth.token : ''))
  expect(expired.length).toBeGreaterThan(20)
  expect(expired.filter((name) => !judged.includes(`$${name}.accessToken`))).toEqual([])
  expect(found).toEqual([])
})

test.each([1, 2, 3])('a token of refresh %i that never expires shows', async (refreshes) => {
  const generations = new Map<string, number>()
  const rules: NonNullable<ServerOptions['rules']> = {
    tokenText: (kind, text, old) => {
      if (kind === 'access') generations.set(text, old === undefined ? 0 : (generations.get(old.accessToken) ?? 0) + 1)
      return text
    },
    accessExpired: ({ accessToken, accessExpiryMs }, nowMs) =>
      generations.get(accessToken) !== refreshes && nowMs >= accessExpiryMs,
  }
  const { found } = await foundIn({ rules }, async (caller) => void (await expire(caller)))
  expect(found.map(({ requirement }) => requirement)).toContain('tokens/expire')
})

test('a token of a session that still creates keys after its expiry shows', async () => {
  let method: unknown
  const rules: ServerOptions['rules'] = {
    accessExpired: (pair, nowMs) =>
      nowMs >= pair.accessExpiryMs && !(pair.session !== undefined && method === 'manager/createApiKey'),
  }
  const around: ServerOptions['around'] = (inner) => (request) => {
    method = (JSON.parse(request.body.toString()) as { method: unknown }).method
    return inner(request)
  }
  const used = async (caller: Caller): Promise<void> => usedBeforeExpiry(caller, ['root'], (ms) => caller.x.wait(ms))
  expect((await foundIn({}, used)).found).toEqual([])
  const { found } = await foundIn({ rules, around }, used)
  expect(found.map(({ requirement, kind }) => [requirement, kind])).toEqual([['expires-in/enforced', 'accepted']])
})
