import { expect, test } from 'vitest'
import { openCorpus } from '../run/corpus-cache.ts'
import { serverNamed } from '../self/server-named.ts'
import type { ServerOptions } from '../targets/bundled.ts'
import { collectFindings } from './findings.ts'
import { expectRefused } from './keyring.ts'
import { atOnce, basic, changed, grant, hmac, list, token } from './step.ts'
import { foundIn, toldOf } from './test-findings.ts'

const { requirements } = await openCorpus()

test('refusals that are never seen again are tried again only so often', async () => {
  let refuses = false
  const around: NonNullable<ServerOptions['around']> = (handle) => (request) => {
    if (!refuses) return handle(request)
    refuses = false
    return { status: 401, headers: {}, body: '' }
  }
  const { x, found } = await foundIn({ around }, async ({ x }) => {
    for (let round = 0; round < 10; round++) {
      await x.call(list(basic('by-basic')))
      refuses = true
      await x.call(list(basic('by-basic')))
    }
  })
  expect(found.map(({ kind }) => kind)).toEqual(Array.from({ length: 10 }, () => 'refused'))
  const findings = collectFindings(x, requirements)
  const isRepeated: boolean[] = []
  for (const one of found) {
    const before = x.repeated()
    await findings.take(one)
    isRepeated.push(x.repeated() > before)
  }
  expect(findings.found).toEqual([])
  expect(isRepeated).toEqual([...Array(8).fill(true), false, false])
})

test('what was shown is only counted, and a lock is waited for only twice', async () => {
  const around: NonNullable<ServerOptions['around']> = (handle) => (request) =>
    request.headers.authorization?.includes(';') ? { status: 401, headers: {}, body: '' } : handle(request)
  const keys = ['root', 'by-basic']
  const { x, found } = await foundIn({ around }, async ({ x }) => {
    const wrong = { field: 'basic-secret', operation: 'inside-changed' }
    for (const who of keys) {
      for (let time = 0; time < 6; time++) await x.call(changed(list(basic(who)), wrong))
      await x.call(list(basic(who)))
    }
    for (const who of [...keys, ...keys, ...keys]) await x.call(list(hmac(who)))
  })
  // As at a URL, where waiting takes time: too little is left for the longer wait.
  const { clock } = x.options
  Object.assign(clock, { controlled: false })
  const findings = collectFindings(x, requirements)
  const beganMs = clock.now()
  const calls: number[] = []
  for (const one of found) {
    const before = x.calls()
    await findings.take(one)
    calls.push(x.calls() - before)
  }
  expect(findings.found.map(({ id }) => id)).toHaveLength(2)
  expect(calls.filter((count) => count > 0)).toHaveLength(2)
  // Each of the two findings is also repeated after a pause of five seconds.
  expect(clock.now() - beganMs).toBe(4 * 5000)
})

test('of a scope of several areas a finding keeps the one that is let in, and belongs to its sentence', async () => {
  const told = async (id: string, scopes: string[][]) => {
    const server = await serverNamed(id)
    const { told } = await toldOf(requirements, server, async ({ x }) => {
      for (const [at, scope] of scopes.entries()) {
        await x.call(grant('root', scope, { as: `pair${at}` }))
        await expectRefused(x, list(token(`pair${at}`)))
      }
    })
    return told.map(({ id, message, least }) => [id, /"(.*)"/.exec(message)?.[1], least])
  }
  const scopes = [['thread', 'stream'], ['store', 'stream'], ['context', 'inbox'], ['stream']]
  const stream = ['found/scopes/stream/let-in', 'stream', undefined]
  // With one word of scope and one grant nothing can be left out.
  expect(await told('stream-scope-opens-the-area-beside-it', scopes)).toEqual([stream])
  expect(await told('stream-scope-opens-every-area', scopes)).toEqual([stream])
})

test('a finding shows the last call of its shortest form, without secrets; calls at once are drawn instead', async () => {
  const { told } = await toldOf(
    requirements,
    await serverNamed('stream-scope-opens-the-area-beside-it'),
    async ({ x }) => {
      await x.call(grant('root', ['thread', 'stream'], { as: 'pair' }))
      await expectRefused(x, list(token('pair')))
      await x.burst(atOnce([list(token('pair')), list(token('pair'))], 'warm'))
    },
  )
  const authorization = expect.stringMatching(/^authorization: Bearer .{0,4}…$/)
  const body = expect.stringContaining('"method":"solution/listSolutions"')
  const request = ['POST /api', 'content-type: application/json', authorization, body]
  const answer = ['HTTP 200', expect.stringContaining('"result"')]
  expect(told.map(({ exchanges }) => exchanges)).toEqual([[{ request, answer }]])
})
