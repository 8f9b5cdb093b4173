import { expect, test } from 'vitest'
import type { Answer } from '../engine/model/state.ts'
import { openCorpus } from '../run/corpus-cache.ts'
import { serverNamed } from '../self/server-named.ts'
import type { Explorer, Seen } from './explorer.ts'
import { cameBetween, collectFindings } from './findings.ts'
import { expectRefused } from './keyring.ts'
import {
  anyCall,
  atOnce,
  basic,
  type CallStep,
  type Candidate,
  changed,
  create,
  grant,
  hmac,
  list,
  refresh,
  token,
} from './step.ts'
import { foundIn, refusing, toldOf } from './test-findings.ts'

const { requirements } = await openCorpus()

/** Takes ten refusals that are never seen again. @returns which of them were tried again */
async function takeOnceRefused(change: (x: Explorer) => void): Promise<boolean[]> {
  let refusals = 0
  const { x, found } = await foundIn(
    refusing(() => refusals-- > 0),
    async ({ x }) => {
      for (let round = 0; round < 10; round++) {
        await x.call(list(basic('by-basic')))
        refusals = 1
        await x.call(list(basic('by-basic')))
      }
    },
  )
  expect(found.map(({ kind }) => kind)).toEqual(Array(10).fill('refused'))
  change(x)
  const findings = collectFindings(x, requirements)
  const isRepeated: boolean[] = []
  for (const one of found) {
    const before = x.repeated()
    await findings.take(one)
    isRepeated.push(x.repeated() > before)
  }
  expect(findings.found).toEqual([])
  return isRepeated
}

test('refusals that are never seen again are tried at most eight times', async () => {
  expect(await takeOnceRefused(() => {})).toEqual([...Array(8).fill(true), false, false])
})

test('refusals that are never seen again are not tried for longer than half of the remaining time', async () => {
  const isRepeated = await takeOnceRefused((x) => {
    let ms = x.clock.now()
    const now = () => (ms += 1000)
    const options = { ...x.options, timeLeftMs: () => 60_000 }
    Object.assign(x, { clock: { ...x.clock, controlled: false, now }, options })
  })
  const tried = isRepeated.filter(Boolean).length
  expect(tried).toBeGreaterThan(0)
  expect(tried).toBeLessThan(8)
})

test('what was shown is only counted, and a lock is waited for only twice', async () => {
  const server = refusing(({ headers }) => headers.authorization?.includes(';') === true)
  const keys = ['root', 'by-basic']
  const { x, found } = await foundIn(server, async ({ x }) => {
    const wrong = { field: 'basic-secret', operation: 'inside-changed' }
    for (const who of keys) {
      for (let time = 0; time < 6; time++) await x.call(changed(list(basic(who)), wrong))
      await x.call(list(basic(who)))
    }
    for (const who of [...keys, ...keys, ...keys]) await x.call(list(hmac(who)))
  })
  // As at a URL, where waiting takes time: too little is left for the longer wait.
  const { clock } = x
  Object.assign(clock, { controlled: false })
  const findings = collectFindings(x, requirements)
  const beganMs = clock.now()
  const calls: number[] = []
  for (const one of found) {
    const before = x.calls()
    await findings.take(one)
    calls.push(x.calls() - before)
  }
  // Shortened, that of the other key says the same.
  expect(findings.found.map(({ id }) => id)).toEqual(['found/signatures/hmac/refused-the-initial-key'])
  expect(calls.filter((count) => count > 0)).toHaveLength(2)
  // Each of the two is also repeated after a pause of five seconds.
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

type Line = readonly ['accepted' | 'refused', CallStep]

/** What came before the last of these calls, each a second after the one before. */
function before(lines: readonly Line[], apartMs = 1000, steps: readonly CallStep[] = []) {
  const seenIn = (kind: string, step: CallStep) => [{ step, answer: { kind } as Answer } as Seen]
  const log = lines.map(([kind, step], at) => ({ step, seen: seenIn(kind, step), script: '', at: at * apartMs }))
  const kind = lines.at(-1)?.[0] ?? 'accepted'
  return cameBetween({ log } as unknown as Explorer, { kind, entry: log.length - 1 } as Candidate, steps)
}

const creation = (key: string): Line => ['accepted', create(basic('root'), { name: 'twin', scope: [] }, { as: key })]
const granted = (key: string, pair: string, scope = ['solution']): Line => ['accepted', grant(key, scope, { as: pair })]

test('the changes since the same call was answered rightly', () => {
  const found = before([
    creation('first'),
    ['accepted', list(basic('first'))],
    creation('second'),
    granted('second', 'pair1'),
    granted('first', 'pair2', ['context']),
    ['refused', list(token('pair2'))],
    ['refused', list(basic('first'))],
  ])
  expect(found).toEqual({
    from: 'The same call was accepted before',
    calls: [
      'A call of manager/createApiKey with Basic credentials of root, which made second with the name "twin": accepted',
      'A grant to first for the scope "context" as pair2: accepted',
      '1 other call with first',
    ],
  })
})

test('a call with another pair of the same grant is the same call, one with another scope is not', () => {
  const wrong: Line[] = [granted('root', 'pair3'), ['refused', list(token('pair3'))]]
  const same = before([granted('root', 'pair1'), ['accepted', list(token('pair1'))], ...wrong])
  expect(same).toMatchObject({ calls: ['A grant to root for the scope "solution" as pair3: accepted'] })
  const renewed: Line = ['accepted', refresh('pair1', { as: 'pair2' })]
  expect(before([granted('root', 'pair1'), renewed, ['accepted', list(token('pair2'))], ...wrong])).toBeUndefined()
  // That another pair was refused says nothing of one that must be.
  const revoked: Line[] = [renewed, ['refused', list(token('pair1'))]]
  const others: Line[] = [granted('root', 'pair3'), ['accepted', refresh('pair3', { as: 'pair4' })]]
  const last: Line = ['accepted', list(token('pair3'))]
  expect(before([granted('root', 'pair1'), ...revoked, ...others, last])).toBeUndefined()
  const narrow: Line[] = [granted('root', 'pair1', ['context']), ['accepted', list(token('pair1'))]]
  expect(before([...narrow, ...wrong])).toBeUndefined()
})

test('since its creation, if the call is right and never was accepted', () => {
  const grants = Array.from({ length: 8 }, (_, at) => granted('first', `pair${at}`))
  const { from, calls = [] } = before([creation('first'), ...grants, ['refused', list(basic('first'))]]) ?? {}
  expect(from).toBe('first was created before with the name "twin"')
  expect(calls).toHaveLength(7)
  expect(calls.at(-1)).toBe('2 other calls with first')
  const padded = list(basic('first'), { body: 'with-numbers' })
  expect(before([creation('first'), ...grants, ['refused', padded]])).toBeUndefined()
})

test('nothing that the steps of the finding tell, and no few calls alone', () => {
  const steps = [grant('root', ['solution'], { as: 'pair2' }), list(token('pair2'))]
  const right: Line[] = [granted('root', 'pair1'), ['accepted', list(token('pair1'))]]
  const wrong: Line[] = [granted('root', 'pair2'), ['refused', list(token('pair2'))]]
  const other: Line = ['accepted', list(basic('root'))]
  expect(before([...right, other, ...wrong], 1000, steps)).toBeUndefined()
  const many = before([...right, other, other, other, other, other, ...wrong], 1000, steps)
  expect(many?.calls).toEqual(['5 other calls with root'])
})

test('nothing, if a wrong call is accepted at its first time, or no other call was made', () => {
  const wrong = changed(list(basic('first')), { field: 'basic-secret', operation: 'upper-case' })
  expect(before([creation('first'), granted('first', 'pair1'), ['accepted', wrong]])).toBeUndefined()
  expect(before([creation('first'), ['refused', list(basic('first'))]])).toBeUndefined()
  expect(before([creation('first'), ['refused', wrong], granted('first', 'pair1'), ['accepted', wrong]])).toEqual({
    from: 'The same call was refused before',
    calls: ['A grant to first for the scope "solution" as pair1: accepted'],
  })
})

test('the time that passed, and the end of a key', () => {
  const end: Line = ['accepted', anyCall('manager/deleteApiKey', { id: '$other.id' }, basic('root'))]
  const right: Line = ['accepted', list(basic('root'))]
  const wrong: Line = ['refused', list(basic('root'))]
  const lines = [right, end, wrong]
  const deletion = 'A call of manager/deleteApiKey with Basic credentials of root: accepted'
  expect(before(lines, 2 * 3_600_000)?.calls).toEqual([deletion, '4 hours passed'])
  expect(before(lines)?.calls).toHaveLength(1)
  expect(before([right, wrong], 180_000)?.calls).toEqual(['3 minutes passed'])
})
