import { describe, expect, test } from 'vitest'
import { hintText } from '../report/problem-text.ts'
import { serverNamed } from '../self/server-named.ts'
import type { ServerOptions } from '../targets/bundled.ts'
import { collectFindings } from './findings.ts'
import { expectAccepted, expectRefused, granted } from './keyring.ts'
import { learnAddresses, learnAges, learnLiveTokens, learnWithdrawals } from './preflight.ts'
import { list, token } from './step.ts'
import { foundIn } from './test-findings.ts'

type Server = Omit<ServerOptions, 'clock'>
type Rules = NonNullable<ServerOptions['rules']>

const learntFrom = (server: Server) =>
  foundIn(server, async ({ x }) => {
    await learnAddresses(x, 'root', true)
    await learnLiveTokens(x, 'root', 5)
    await learnWithdrawals(x, 'root', true)
  })

describe('what a misused token costs', () => {
  test('is nothing at the reference server', async () => {
    const { x, found } = await learntFrom({})
    expect([x.state().terms.withdraws?.size, x.state().terms.liveTokens, found]).toEqual([0, 5, []])
  })

  test.each([
    ['access-token-from-a-foreign-address-is-withdrawn', ['address']],
    ['access-token-used-outside-its-scope-is-withdrawn', ['scope']],
    ['refresh-token-shown-as-access-token-is-withdrawn', ['kind']],
    ['altered-refresh-token-ends-the-line-that-it-names', ['altered']],
    ['used-refresh-token-ends-every-line-of-its-key', ['reuse']],
  ])('is learnt from %s, and nothing is found', async (id, withdraws) => {
    const { x, found } = await learntFrom(await serverNamed(id))
    expect([[...(x.state().terms.withdraws ?? [])], found]).toEqual([withdraws, []])
  })

  test('leaves open whether the token works, until it is accepted again', async () => {
    const server = await serverNamed('access-token-from-a-foreign-address-is-withdrawn')
    const { x, found } = await foundIn(server, async ({ x }) => {
      await learnAddresses(x, 'root', true)
      await learnWithdrawals(x, 'root', true)
      const pair = await granted(x, { who: 'root', scope: ['solution', 'ipAddr:'] })
      const call = list(token(pair ?? ''))
      expect(x.foresee(call)?.is).toBe('accepted')
      await expectRefused(x, { ...call, from: 'second-address' })
      expect(x.foresee(call)?.is).toBe('open')
      expect((await expectAccepted(x, call))?.answer.kind).toBe('refused')
    })
    expect([x.calls() > 20, found]).toEqual([true, []])
  })
})

const anyOldest: Rules['sessionsRemoved'] = (live, surplus) => live.slice(1, 1 + surplus)
test.each<[name: string, isFine: boolean, server: Server, finds?: boolean]>([
  ['as the reference server does', true, {}],
  ['by their last use', true, { profile: { oldestSession: 'longest-unused' } }],
  ['in whole seconds, in any order', false, { rules: { sessionsRemoved: anyOldest } }],
  ['and removes no session', false, { rules: { sessionsRemoved: () => [] } }],
  // This is a finding, and no pause shows anything.
  ['and refuses a seventeenth', true, { rules: { beyondSessionLimit: () => 'refused' } }, true],
])('a server that keeps the ages of sessions %s needs short pauses: %s', async (_, isFine, server, finds = false) => {
  const { x, found } = await foundIn(server, async ({ x }) => {
    await learnAddresses(x, 'root', true)
    await learnAges(x, 'root')
  })
  expect([x.apartMs < 100, found.length > 0]).toEqual([isFine, finds])
})

test('a server where a grant takes the place of one for the same scope keeps no earlier token for sure', async () => {
  const { x, found } = await learntFrom(await serverNamed('same-grant-again-ends-the-pair-before'))
  expect([x.state().terms.liveTokens, found]).toEqual([0, []])
})

/** Sees our addresses in another form, and compares that one. It takes other words than IPv4 addresses, if at all, where `others` says so. */
const comparesAs = (form: (address: string) => string, others: 'ignored' | 'kept' = 'kept'): Server => ({
  around: (handle) => (request) => {
    const words = (scope: string[]): string[] =>
      scope.flatMap((word) => {
        if (!word.startsWith('ipAddr:')) return [word]
        const address = word.slice('ipAddr:'.length)
        if (others === 'ignored' && address.includes('::')) return []
        // The server below knows IPv4 addresses alone.
        const plain = address.replace('::ffff:', '')
        return [`ipAddr:${address === form(plain) ? plain : '203.0.113.99'}`]
      })
    const body = request.body
      .toString()
      .replace(/"scope":(\[[^\]]*\])/, (_, scope) => `"scope":${JSON.stringify(words(JSON.parse(scope)))}`)
    return handle({ ...request, body: Buffer.from(body) })
  },
})

describe('our address', () => {
  const mapped = (address: string): string => `::ffff:${address}`
  const learnt = async (server: Server): Promise<string[]> => {
    const { x } = await foundIn(server, async ({ x }) => {
      await learnAddresses(x, 'root', true)
    })
    return x.addresses.slice(0, 2).map(({ seen }) => seen)
  }

  test('is known where the target compares its mapped form', async () => {
    const plain = await learnt({})
    expect(plain).toHaveLength(2)
    expect(await learnt(comparesAs(mapped))).toEqual(plain)
  })

  test('where the target compares its mapped form, the finding is about addresses and names the cause', async () => {
    const { x, found } = await foundIn(comparesAs(mapped), async ({ x }) => {
      await learnAddresses(x, 'root', true)
      const pair = await granted(x, { who: 'root', scope: ['solution', 'ipAddr:'] })
      await x.call(list(token(pair ?? '')))
    })
    expect(found.map(({ requirement, level }) => [requirement, level])).toEqual([['addresses/bound', 'must']])
    const findings = collectFindings(x, [])
    for (const candidate of found) await findings.take(candidate)
    expect(findings.found.map(({ hint }) => hint)).toEqual([hintText({ kind: 'mapped-address', address: '127.0.0.1' })])
  })

  test('a token that is refused for its address says nothing of its session', async () => {
    const { found } = await foundIn(comparesAs(mapped), async ({ x }) => {
      await learnAddresses(x, 'root', true)
      const inSession = (who: string, name: string, ...more: readonly string[]): Promise<string | undefined> =>
        granted(x, { who, scope: ['solution', `session:${name}`, ...more] })
      const bound = await inSession('root', 'bound', 'ipAddr:')
      await x.wait(3000)
      const first = await inSession('by-basic', 'first')
      await x.wait(3000)
      for (let at = 2; at <= 16; at++) await inSession('by-basic', `number${at}`)
      await x.call(list(token(bound ?? '')))
      // If all keys were one user, the oldest session would go now.
      await inSession('root', 'another')
      await x.call(list(token(first ?? '')))
    })
    expect(found).toEqual([])
  })

  test('is not known behind a proxy, and where every word that is no IPv4 address is taken', async () => {
    expect(await learnt(comparesAs(() => '198.51.100.1'))).toEqual([''])
    expect(await learnt(comparesAs(() => '198.51.100.1', 'ignored'))).toEqual([''])
  })
})
