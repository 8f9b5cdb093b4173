import { describe, expect, test } from 'vitest'
import { problemText } from '../../report/problem-text.ts'
import { openCorpus } from '../../run/corpus-cache.ts'
import { basicHeader } from '../../self/made-up-calls.ts'
import {
  type Answering,
  accepting,
  answering,
  ask,
  type MadeUpAnswer,
  type MadeUpCall,
  madeUpTarget,
  noCorpus,
  runOf,
} from '../../self/made-up-target.ts'
import type { CaseOutcome } from '../judge/problem.ts'
import type { TestKey } from '../language/fixture-types.ts'
import type { TargetSettings } from '../target.ts'
import { allItems } from './cases.ts'
import { type CreatedKeysEntry, openConversation, type Run } from './conversation.ts'
import { createTestKey, ensureTestKeys } from './create-test-keys.ts'
import { noFacts } from './target-facts.ts'

const right = '  - { call: solution/listSolutions, auth: { basic: root }, expect: accepted }\n'
const signed = '  - { call: solution/listSolutions, auth: { hmac: root }, expect: accepted }\n'
const granted = '  - { call: manager/auth, auth: none, params: {}, expect: accepted }\n'

const refused = { status: 401 }
/** Refuses every grant, and nothing else. */
const withoutGrants: Answering = ({ method }) => (method === 'manager/auth' ? refused : accepting())

describe('run case', async () => {
  const failsFrom =
    (from: number, status: number): Answering =>
    (_call, number) =>
      number >= from ? { status } : accepting()
  const soRefused =
    (isRefused: (call: MadeUpCall, number: number) => boolean): Answering =>
    (call, number) =>
      call.method === 'manager/auth' || isRefused(call, number) ? refused : accepting()
  const nowAndThen = soRefused((_call, number) => number % 2 === 0)
  const twoInThree = soRefused(({ authorization }, number) => authorization !== undefined && number % 3 !== 1)
  const onUsedConnections = soRefused(({ connection }, number) => number > 1 && connection !== 'fresh')
  const badGrants: Answering = ({ method }) => (method === 'manager/auth' ? { status: 502 } : accepting())
  test.each<[what: string, answer: Answering, steps: string[], verdicts: string[], stop?: 'locked-out' | 'gone']>([
    ['a locked key', failsFrom(2, 401), [right, granted], ['passed', 'blocked'], 'locked-out'],
    ['no answer at all', () => 'dropped', [right], ['blocked'], 'gone'],
    // As a proxy answers whose server is away.
    ['502 from some call on', failsFrom(2, 502), [right, granted], ['passed', 'blocked'], 'gone'],
    ['503 from some call on', failsFrom(2, 503), [right, granted], ['passed', 'blocked'], 'gone'],
    ['504 from some call on', failsFrom(2, 504), [right, granted], ['passed', 'blocked'], 'gone'],
    ['502 to one kind of call', badGrants, [granted], ['failed']],
    ['a refusal while the root key is accepted', withoutGrants, [right, granted], ['passed', 'failed']],
    ['a key that is refused now and then', nowAndThen, [right, granted], ['passed', 'failed']],
    ['one refused with two signatures in three', twoInThree, [signed, granted], ['passed', 'failed']],
    ['one refused on used connections alone', onUsedConnections, [right, granted], ['passed', 'failed']],
  ])('%s', async (_what, answer, steps, verdicts, stop) => {
    const run = answering(answer)
    const seen = []
    for (const step of steps) seen.push((await ask(run, step)).verdict)
    expect([seen, run.stopping.reason?.kind]).toEqual([verdicts, stop])
    if (stop === 'locked-out') expect(run.stopping.reason).toMatchObject({ answered: 'refused (HTTP 401)' })
  })

  /** Drops the answers to these grants, by their numbers. */
  function losing(isLost: (number: number) => boolean) {
    let made = 0
    const run = answering(({ method }) => {
      if (method === 'manager/auth') made += 1
      return method === 'manager/auth' && isLost(made) ? 'dropped' : accepting()
    })
    return { run, made: () => made }
  }

  test('an answer that is lost once fails no case', async () => {
    const { run } = losing((number) => number % 4 === 1)
    for (let time = 0; time < 6; time += 1) expect((await ask(run, granted)).verdict).toBe('passed')
  })

  test('answers that are lost every time fail, and are not asked for twice for ever', async () => {
    const { run, made } = losing(() => true)
    for (let time = 0; time < 6; time += 1) expect((await ask(run, granted)).verdict).toBe('failed')
    expect(made()).toBe(6 + 3)
  })

  test.each([
    ['gate:7:kilo', 'a colon'],
    ['gro\u00df', 'letters beyond ASCII'],
    ['gate-7', undefined],
  ] as const)('refused Basic credentials with the secret %s name what may be misread', async (secret, has) => {
    const refusing: Answering = ({ authorization = '' }) => (authorization.startsWith('Basic') ? refused : accepting())
    const run = answering(refusing, { root: { kind: 'secret', id: 'root', secret } })
    const { verdict, problem } = await ask(run, right)
    expect(verdict).toBe('failed')
    expect(problem?.hint).toEqual(has === undefined ? undefined : { kind: 'basic-secret', has })
    if (has !== undefined) expect(problemText(problem)).not.toContain('lock')
  })

  /** Eight wrong tries, one after another, lock a key for a time; its tokens are not concerned. */
  function locking(lockMs: number) {
    let wrong = 0
    let untilMs = 0
    const answer: Answering = ({ authorization = '', nowMs }) => {
      if (authorization.startsWith('Bearer')) return accepting()
      wrong = authorization === basicHeader('root', 'not-a-secret') && nowMs >= untilMs ? 0 : wrong + 1
      if (wrong === 8) untilMs = nowMs + lockMs
      return wrong === 0 ? accepting() : refused
    }
    return answering(answer, { callMs: 10 })
  }
  const eightWrong =
    '  - { repeat: 8, call: solution/listSolutions, auth: { basic: root, but: first-half }, expect: refused }\n'

  test.each([
    ['that ends is waited out, and no other call starts it again', 10_000, ['passed', 'passed', undefined, 1]],
    ['that does not end blocks what it keeps from being judged', 3_600_000, ['passed', 'blocked', 'locked-out', 8]],
  ])('a lock %s', async (_what, lockMs, wanted) => {
    const run = locking(lockMs)
    const { limit } = await openConversation(run)
    const [first, second] = [await ask(run, right + eightWrong), await ask(run, right)]
    expect([first.verdict, second.verdict, run.stopping.reason?.kind, limit.atOnce]).toEqual(wanted)
  })

  test('a run that ends while it waits for the end of a lock leaves open whether the case fails', async () => {
    const run = locking(10_000)
    const { instance, limit } = await openConversation(run)
    await ask(run, right + eightWrong)
    const because = { kind: 'interrupted', during: 'run' } as const
    Object.assign(instance.clock, { sleep: async () => run.stopping.stop(because) })
    expect(await ask(run, right)).toMatchObject({ verdict: 'blocked', problem: { kind: 'not-run', because } })
    expect(limit.atOnce).toBeGreaterThan(1)
  })

  test.each([
    ['is judged, if it stays lost', Number.POSITIVE_INFINITY, ['failed', 'blocked', undefined]],
    ['is waited for, if it was only locked', 10_000, ['passed', 'passed', undefined]],
  ])('a root key that is lost to a creation %s', async (_what, lostMs, wanted) => {
    let [created, lostAtMs] = [0, Number.POSITIVE_INFINITY]
    const run = answering(({ method, nowMs, authorization }) => {
      const isRoot = authorization?.endsWith(basicHeader('root', 'not-a-secret')) === true
      if (isRoot && nowMs >= lostAtMs && nowMs < lostAtMs + lostMs) return refused
      if (method !== 'manager/createApiKey') return accepting()
      created += 1
      if (created === 3) lostAtMs = nowMs
      return created > 3 ? refused : { result: { id: `id${created}`, secret: 'a-secret' } }
    })
    const filling =
      '  - { repeat: 4, call: manager/createApiKey, auth: { basic: root }, params: { name: x, scope: [solution] } }\n'
    const first = await ask(run, right + filling + right, 'proves: [made/up]\nneeds: [keys, limits]\n')
    const second = await ask(run, right, `proves: [made/up]\nneeds: [keys, limits]\ngiven:\n${right}`)
    expect([first.verdict, second.verdict, run.stopping.reason?.kind]).toEqual(wanted)
  })

  const ownHeader = (name: string): string => basicHeader(name, `${name}-secret`)
  const fiveTimes = (auth: string, expect: string): string =>
    `  - { repeat: 5, call: solution/listSolutions, auth: { basic: ${auth} }, expect: ${expect} }\n`

  test('created keys that are lost to a creation are judged, also where wrong calls came shortly before', async () => {
    let areLost = false
    const names = ['one', 'two', 'three']
    const own = names.map(ownHeader)
    const run = answering(({ method, authorization = '' }) => {
      if (own.includes(authorization)) return areLost ? refused : accepting()
      if (authorization !== basicHeader('root', 'not-a-secret')) return refused
      if (method === 'manager/createApiKey') areLost = true
      return method === 'manager/createApiKey' ? { result: { id: 'new', secret: 'a-secret' } } : accepting()
    })
    const { testKeys } = await openConversation(run)
    for (const name of names) testKeys.set(name, { id: name, secret: `${name}-secret` })
    const used = (expect: string, change = '') => names.map((name) => fiveTimes(name + change, expect)).join('')
    await ask(run, used('accepted'))
    await ask(run, used('refused', ', but: first-half'))
    const create = '  - { call: manager/createApiKey, auth: { basic: root }, params: { name: x, scope: [solution] } }\n'
    const more = `proves: [made/up]\nneeds: [keys, limits]\ngiven:\n${used('accepted')}`
    expect((await ask(run, create + used('accepted'), more)).verdict).toBe('failed')
  })

  /** Six keys beside root; all of them die at once. */
  async function mortalKeys() {
    const names = ['one', 'two', 'three', 'four', 'five', 'six']
    const living = new Set(names.map(ownHeader))
    const root = basicHeader('root', 'not-a-secret')
    const run = answering(({ authorization = '' }) =>
      authorization === root || living.has(authorization) ? accepting() : refused,
    )
    const { testKeys, instance } = await openConversation(run)
    const callAs = (auth: string, expect: string) => ask(run, fiveTimes(auth, expect))
    const use = (name: string) => callAs(name, 'accepted')
    await ask(run, right)
    for (const name of names) {
      testKeys.set(name, { id: name, secret: `${name}-secret` })
      await use(name)
    }
    const useWrongly = (name: string) => callAs(`${name}, but: first-half`, 'refused')
    return { run, names, clock: instance.clock, use, useWrongly, die: () => living.clear() }
  }

  test('keys that stay refused are waited for only a few times in a run', async () => {
    const { run, names, clock, use, useWrongly, die } = await mortalKeys()
    for (const name of names) await useWrongly(name)
    die()
    const beganMs = clock.now()
    for (const name of names) expect((await use(name)).problem?.kind).toBe('key-locked')
    expect(clock.now() - beganMs).toBeLessThan(65_000)
    expect(run.stopping.reason).toBeNull()
  })

  test('a key that a right call could not use before any wrong one is not locked', async () => {
    const { use, useWrongly, die } = await mortalKeys()
    die()
    for (let time = 0; time < 3; time += 1) {
      expect((await use('one')).verdict).toBe('failed')
      await useWrongly('one')
    }
  })

  test.each([
    [1000, 'blocked'],
    [20_000, 'failed'],
  ])('a key that is accepted once more after wrong tries, and refused %i ms later, is %s', async (ms, verdict) => {
    const { clock, use, useWrongly, die } = await mortalKeys()
    await useWrongly('one')
    await use('one')
    await clock.sleep(ms)
    die()
    expect((await use('one')).verdict).toBe(verdict)
  })

  test('a key that is granted only its own scope is not locked', async () => {
    const pair = { accessToken: 'access', refreshToken: 'refresh', accessTokenExpiry: 1, refreshTokenExpiry: 2 }
    const isRight = ({ params }: MadeUpCall): boolean =>
      String(params.scope) === 'context' && params.apiKeySecret === 'narrow-secret'
    const answer: Answering = (call) =>
      call.params.apiKeyId === 'narrow' && !isRight(call) ? refused : { result: pair }
    const dave: TestKey = { name: 'dave', key: 'secret', scope: ['context'], proves: [] }
    const run = runOf(madeUpTarget({ answer }), { corpus: { ...noCorpus, testKeys: [dave] } })
    const { testKeys } = await openConversation(run)
    // As of a key that an earlier part of the run created.
    testKeys.set('dave', { id: 'narrow', secret: 'narrow-secret' })
    const grants = (scope: string, secret: string, expect: string) => {
      const params = `{ grantType: api_key_credentials, apiKeyId: narrow, apiKeySecret: ${secret}, scope: [${scope}] }`
      return ask(run, `  - { repeat: 5, call: manager/auth, auth: none, params: ${params}, expect: ${expect} }\n`)
    }
    await grants('context', 'narrow-secret', 'accepted')
    await grants('context', 'another', 'refused')
    const { verdict, problem } = await grants('solution', 'narrow-secret', 'accepted')
    expect([verdict, problem?.kind]).toEqual(['failed', 'wrong-outcome'])
  })

  test.each([
    'call: manager/auth, auth: { hmac: root }, params: { grantType: api_key_credentials, apiKeyId: $root.id, apiKeySecret: $root.secret, scope: [solution] }, expect: accepted',
    'call: solution/listSolutions, auth: { hmac: root, but: { signature: untruncated } }, expect: refused',
  ])('a signature that was never accepted is not locked: after %s', async (step) => {
    const run = answering(({ authorization = '', method }) => {
      const mac = Buffer.from(authorization.split(';')[4] ?? '', 'base64')
      return method === 'manager/auth' || mac.length !== 20 ? accepting() : refused
    })
    await ask(run, `  - { ${step} }\n`)
    await ask(run, signed)
    expect(run.stopping.reason).toBeNull()
  })

  test('a preparation that does not work keeps an observation from being made, and blocks nothing', async () => {
    const steps = `  - { call: solution/listSolutions, auth: { basic: root }, observe: authorization/header-spelling }\n`
    expect((await ask(answering(withoutGrants), steps, `given:\n${granted}`)).verdict).toBe('not-testable')
  })

  const soon = `  - call: manager/auth
    auth: none
    params: {}
    expect: { accepted: null, where: { result.accessTokenExpiry: { in: 5000 } } }
`
  const expiring = ({ nowMs }: { nowMs: number }) => ({ result: { accessTokenExpiry: nowMs + 5000 } })

  test('nothing is judged by the clock of a server whose answers carry no date', async () => {
    const skewMs = () => 10_000
    expect((await ask(answering(expiring, { skewMs }), soon)).verdict).toBe('passed')
    const outcome = await ask(answering(expiring, { skewMs, dated: false }), soon)
    expect(outcome.verdict).toBe('not-testable')
    expect(problemText(outcome.problem)).toContain('no Date header')
    const waiting = `  - { call: manager/auth, auth: none, params: {}, expect: accepted, keep: { pair: result } }
  - wait: { past: $pair.accessTokenExpiry }
${right}`
    expect((await ask(answering(expiring, { dated: false }), waiting)).verdict).toBe('not-testable')
  })

  test('a problem with a token tells the scope of its grant, and how often its pair was refreshed', async () => {
    let given = 0
    const own = [basicHeader('root', 'not-a-secret'), /^Bearer access-\d$/]
    const run = answering(({ method, params, authorization = '' }) => {
      if (method !== 'manager/auth') return own.some((one) => authorization.match(one)) ? accepting() : refused
      if (params.grantType !== 'refresh_token' && params.apiKeySecret !== 'not-a-secret') return refused
      given += 1
      return { result: { accessToken: `access-${given}`, refreshToken: `refresh-${given}` } }
    })
    const auth = (params: string) =>
      `  - { call: manager/auth, auth: none, params: ${params}, keep: { pair: result } }\n`
    const key = 'apiKeyId: root, apiKeySecret: not-a-secret'
    const granted = auth(`{ grantType: api_key_credentials, ${key}, scope: [context, "session:one"] }`)
    const refreshed = auth('{ grantType: refresh_token, refreshToken: $pair.refreshToken }')
    const used = '  - { call: solution/listSolutions, auth: { token: $pair.accessToken }, expect: refused }\n'
    const tokenOf = async (steps: string) => (await ask(run, steps)).problem?.token
    const scope = 'context session:one'
    expect(await tokenOf(granted + used)).toEqual({ scope, refreshes: 0 })
    expect(await tokenOf(granted + refreshed + refreshed + used)).toEqual({ scope, refreshes: 2 })
    expect(await tokenOf(`${granted}  - { call: a/b, auth: none, expect: refused }\n`)).toBeUndefined()
  })

  /** Accepts signatures of its own time only, and sends the time in every answer. */
  function strictInTime(jumps: (calls: number) => number) {
    let calls = 0
    const answer: Answering = ({ authorization = '', nowMs }) => {
      calls += 1
      return Math.abs(Number(authorization.split(';')[2]) - nowMs) < 60_000 ? accepting() : refused
    }
    return answering(answer, { skewMs: () => jumps(calls) })
  }

  test('a case is repeated after the clock of the server jumped, and nothing is judged if it jumps repeatedly', async () => {
    const once = strictInTime((calls) => (calls < 3 ? 0 : 600_000))
    for (let testCase = 0; testCase < 5; testCase += 1) expect((await ask(once, signed)).verdict).toBe('passed')
    const often = strictInTime((calls) => calls * 600_000)
    await ask(often, signed)
    expect((await ask(often, signed)).verdict).toBe('blocked')
  })

  test('a server that drops some calls of a race is not gone', async () => {
    const run = answering((_call, number) => (number > 4 && number <= 10 ? 'dropped' : accepting()))
    const racing =
      '  - { call: solution/listSolutions, auth: { basic: root }, parallel: 10, tally: { accepted: 10 } }\n'
    expect(await ask(run, racing)).toMatchObject({ verdict: 'blocked', problem: { kind: 'calls-dropped' } })
    expect(run.stopping.reason).toBeNull()
    expect((await ask(run, right)).verdict).toBe('passed')
  })

  test('an exchange shows that it came from the second address, and which address that is', async () => {
    const run = answering(accepting, { settings: { secondAddress: '127.0.0.2' } })
    const from = (address: string) =>
      `  - { call: solution/listSolutions, auth: none, from: ${address}, expect: refused }\n`
    expect((await ask(run, from('second-address'))).problem?.exchanges[0]?.request[1]).toBe('from 127.0.0.2')
    expect((await ask(run, from('first-address'))).problem?.exchanges[0]?.request[1]).toMatch(/^content-type/)
  })

  test('a trace shows every exchange of the case, a report the one that departed', async () => {
    const target = madeUpTarget({ answer: withoutGrants })
    const calls = ({ problem }: CaseOutcome) =>
      problem?.exchanges.map(({ request }) => JSON.parse(request.at(-1) ?? '').method)
    expect(calls(await ask(runOf(target), right + granted))).toEqual(['manager/auth'])
    const traced = await ask(runOf(target, { trace: true }), right + granted)
    expect(calls(traced)).toEqual(['solution/listSolutions', 'manager/auth'])
  })

  test.each([
    ['too few were accepted', '{ accepted: 4 }', 'HTTP 401'],
    ['too many were refused', '{ refused: at-most 2 }', 'HTTP 401'],
    ['too few were refused', '{ refused: at-least 4 }', 'HTTP 200'],
    ['too many were accepted', '{ accepted: 0 }', 'HTTP 200'],
  ])('of several calls one is shown that departed: %s', async (_what, tally, status) => {
    const run = answering((_call, number) => (number === 1 ? accepting() : refused))
    const step = `  - { call: manager/auth, auth: none, params: {}, repeat: 4, tally: ${tally} }\n`
    const { verdict, problem } = await ask(run, step)
    expect(verdict).toBe('failed')
    expect(problem?.exchanges.map(({ answer }) => answer[0])).toEqual([status])
  })

  test('if a token that is bound to our address is refused, the hint asks about the declared address', async () => {
    const bound = `  - { call: manager/auth, auth: none, params: { scope: ["ipAddr:$client.address"] }, expect: accepted }\n`
    const hintWith = async (settings: Partial<TargetSettings>) => {
      const run = answering(withoutGrants, { settings })
      run.facts.clientAddress = '192.0.2.1'
      return (await ask(run, bound)).problem?.hint
    }
    const address = '192.0.2.1'
    expect(await hintWith({ clientAddress: address })).toEqual({ kind: 'client-address', address })
    expect(await hintWith({})).toBeUndefined()
  })

  test('calls that were throttled and waited out are counted, each once', async () => {
    const waits = { status: 429, headers: { 'retry-after': '1' } }
    const run = answering((_call, number) => ([1, 2, 4].includes(number) ? waits : accepting()))
    const outcome = await ask(run, right + right + right)
    expect([outcome.verdict, outcome.throttled]).toEqual(['passed', 2])
  })

  test.each([
    ['waited for', '  - wait: { past: $expiry }\n  - { call: solution/listSolutions, auth: none, expect: refused }\n'],
    ['judged by', '  - { call: solution/listSolutions, auth: none, expect: accepted, before: $expiry }\n'],
  ])('an expiry in seconds cannot be %s', async (_what, then) => {
    const result = { accessTokenExpiry: 1_800_000_900 }
    const grant =
      '  - { call: manager/auth, auth: none, params: {}, expect: accepted, keep: { expiry: result.accessTokenExpiry } }\n'
    const run = answering(() => ({ result }))
    const { verdict, problem } = await ask(run, grant + then)
    expect(verdict).toBe('blocked')
    expect(problemText(problem)).toMatch(/^the reported expiry has 10 digits; a timestamp in milliseconds has 13/)
  })

  test('the refusal of a token is a failure before its end, and not at its end', async () => {
    const steps = `  - { call: manager/auth, auth: none, params: {}, expect: accepted, keep: { pair: result } }
${right}${right}  - { call: solution/listSolutions, auth: { token: $pair.accessToken }, expect: accepted }
`
    const living = (lifeMs: number) => {
      const answer: Answering = ({ method, authorization = '', nowMs }) => {
        if (method === 'manager/auth') return { result: { accessToken: 'given', accessTokenExpiry: nowMs + lifeMs } }
        return authorization.startsWith('Basic') ? accepting() : refused
      }
      return ask(answering(answer, { callMs: 2000 }), steps)
    }
    const ended = await living(5000)
    expect(ended).toMatchObject({ verdict: 'not-testable', problem: { kind: 'token-ended' } })
    expect(ended.calls).toBeGreaterThanOrEqual(3 * 4)
    expect((await living(60_000)).verdict).toBe('failed')
    expect((await living(-60_000)).verdict).toBe('failed')
  })

  /** A proxy's Date, and a server whose clock is not the proxy's; `granted` is the lifetime that it gives for one that was asked for. */
  function behindProxy(granted: (requestedMs: number) => number): Run {
    const answer: Answering = ({ nowMs, params }) => {
      const [, requested] = /expiresIn:(\d+)/.exec(String(params.scope)) ?? []
      const result = { accessToken: 'a-token', accessTokenExpiry: nowMs - 2400 + granted(Number(requested)) }
      return { result, headers: { date: new Date(nowMs).toUTCString() } }
    }
    return answering(answer, { skewMs: () => 2400 })
  }

  const lifetimes = `  - { call: manager/auth, auth: none, params: { scope: ["expiresIn:15000"] }, expect: accepted }
  - call: manager/auth
    auth: none
    params: { scope: ["expiresIn:5000"] }
    expect: { accepted: null, where: { result.accessTokenExpiry: { in: 5000 } } }
`

  test.each<[string, string, (requested: number) => number]>([
    ['fails no right lifetime', 'passed', (requested) => requested],
    ['hides no lifetime that is always the same', 'failed', () => 5000],
    ['hides no lifetime that is doubled', 'failed', (requested) => requested * 2],
  ])('a Date header from another clock %s', async (_what, verdict, given) => {
    expect((await ask(behindProxy(given), lifetimes)).verdict).toBe(verdict)
  })

  const lostPair = { kind: 'pair-refreshed', requirement: 'refresh/revokes-access' } as const
  /** Asks for a grant. @param times how many refusals are known to be required */
  const excused = (answer: Answering, step: string, times = Number.POSITIVE_INFINITY) => {
    let left = times
    const judgeRefusal = () => (left-- > 0 ? ({ is: 'required', because: lostPair } as const) : undefined)
    return ask({ ...answering(answer), judgeRefusal }, step)
  }

  test('a step of several calls is not testable only if each of its refused calls had to be refused', async () => {
    const three = granted.replace('params', 'repeat: 3, params')
    expect((await excused(() => refused, three, 2)).verdict).toBe('failed')
    const problem = { kind: 'preparation-lost', because: lostPair }
    expect(await excused(() => refused, three, 9)).toMatchObject({ verdict: 'not-testable', problem })
  })

  test('a call that must be refused is not excused by a lost preparation', async () => {
    expect((await excused(accepting, granted.replace('accepted', 'refused'))).verdict).toBe('failed')
  })

  test.each([
    ['an acceptance', granted],
    ['a tally', granted.replace('expect: accepted', 'repeat: 2, tally: { accepted: 2 }')],
    ['a value', granted.replace('accepted', '{ accepted: null, where: { result.a: 1 } }')],
  ])('what may explain a refusal is named where %s is missing, and changes no verdict', async (_what, step) => {
    const doubt = { kind: 'newer-tokens', newer: 5, question: 'limits/live-tokens' } as const
    const judgeRefusal = () => ({ is: 'open', because: doubt }) as const
    const outcome = await ask({ ...answering(() => refused), judgeRefusal }, step)
    expect(outcome).toMatchObject({ verdict: 'failed', problem: { doubt } })
  })
})

test.each([
  ['what may explain a refusal', { kind: 'key-perhaps-removed' }, undefined],
  ['nothing that may explain it', undefined, 'signature-unexplained'],
] as const)('that no known mistake explains it is not said beside %s', async (_, doubt, hint) => {
  const unexplained = { kind: 'signature-unexplained', scheme: 'svc-hmac-sha256', schemeIsKnown: true } as const
  const run = runOf(madeUpTarget({ answer: () => refused }), {
    diagnose: { signature: async () => unexplained, token: async () => undefined },
  })
  const asked = { ...run, judgeRefusal: () => doubt && ({ is: 'open', because: doubt } as const) }
  const { problem } = await ask(asked, signed)
  expect(problem?.hint?.kind).toBe(hint)
})

describe('create test key', async () => {
  const corpus = await openCorpus()

  function create(run: Parameters<typeof createTestKey>[0], name: string) {
    const item = allItems(run.corpus).find(({ key }) => key === `test-keys/${name}`)
    if (item?.kind !== 'test-key') throw new Error(`no ${name}`)
    return createTestKey(run, item)
  }

  const creationsAt = ({ heard }: ReturnType<typeof madeUpTarget>): number =>
    heard.filter(({ method }) => method === 'manager/createApiKey').length

  /** The creation of bob by a signature, on a lasting target. */
  function createBob(fresh: boolean, takes: (authorization: string) => boolean) {
    const answer: Answering = ({ method, authorization = '' }) => {
      if (method !== 'manager/createApiKey') return accepting()
      return takes(authorization) ? { result: { id: 'new', secret: 'new-secret' } } : { status: 403 }
    }
    return create(runOf(madeUpTarget({ fresh, answer }), { corpus }), 'bob')
  }

  test('where no way creates a key, a target that is not fresh may have its ten already', async () => {
    const { verdict, problem } = await createBob(false, () => false)
    expect(verdict).toBe('not-testable')
    expect(problemText(problem)).toContain('all ten places for API keys are taken')
  })

  test('one that should be fresh may have been filled by a run before, so nothing is proved there', async () => {
    const { verdict, problem } = await createBob(true, () => false)
    expect(verdict).toBe('blocked')
    expect(problem?.hint).toEqual({ kind: 'perhaps-not-fresh' })
  })

  test.each([
    ['in use by others', false, 0],
    ['that is fresh', true, 1],
  ])('with eight keys there, a target %s gets no more: (fresh: %s) %i creations', async (_what, fresh, most) => {
    const target = madeUpTarget({ fresh, answer: accepting })
    const earlierKeys = Array.from({ length: 8 }, (_, index) => ({ created: { id: `k${index}`, name: 'n' } }))
    const { verdict, problem } = await create(runOf(target, { corpus, earlierKeys }), 'bob')
    expect(creationsAt(target) > 0 ? 1 : 0).toBe(most)
    if (!fresh) expect([verdict, problem?.kind]).toEqual(['not-testable', 'few-places-for-keys'])
  })

  test.each([true, false])('where another way creates it, this one is broken (fresh: %s)', async (fresh) => {
    const { verdict, problem } = await createBob(fresh, (authorization) => authorization.startsWith('Basic'))
    expect(verdict).toBe('failed')
    expect(problem?.hint).toBeUndefined()
  })

  test('a key with a public key whose secret is missing fails once, and is used all the same', async () => {
    const target = madeUpTarget({ answer: () => ({ result: { id: 'new' } }) })
    const run = runOf(target, { corpus })
    const { requirements } = await create(run, 'bob')
    expect(requirements).toEqual({ 'keys/create-authorized': 'passed', 'keys/create-result': 'failed' })
    expect(await ensureTestKeys(await openConversation(run), ['bob'])).toBeUndefined()
    expect(creationsAt(target)).toBe(1)
  })

  test('a run that ends during the creation says nothing about the target', async () => {
    const because = { kind: 'interrupted', during: 'run' } as const
    const ending = () => {
      const answer = (): MadeUpAnswer => {
        run.stopping.stop(because)
        return 'dropped'
      }
      const run = runOf(madeUpTarget({ fresh: false, answer }), { corpus })
      return run
    }
    const notRun = { kind: 'not-run', because }
    expect((await create(ending(), 'bob')).problem).toMatchObject(notRun)
    expect((await ensureTestKeys(await openConversation(ending()), ['bob']))?.problem).toEqual(notRun)
  })

  test('where no key can be created, other scopes are tried once for each way, not in every case', async () => {
    const creations = async (times: number): Promise<number> => {
      const answer: Answering = ({ method }) => (method === 'solution/listSolutions' ? accepting() : refused)
      const target = madeUpTarget({ answer, fresh: false })
      const talk = await openConversation(runOf(target, { corpus }))
      for (let time = 0; time < times; time++) await ensureTestKeys(talk, ['bob'])
      return creationsAt(target)
    }
    const once = await creations(1)
    expect(once).toBeGreaterThan(2)
    expect(await creations(10)).toBe(once + 9 * 2)
  })

  test.each([[['sol-1']], [[]]])(
    'a key within the scope of the token that creates it, where no token is for one solution (solutions: %s)',
    async (solutions) => {
      const granted = new Map<string, string[]>()
      const byToken = { 'created-with': { token: 'root' } }
      const testKeys = corpus.testKeys.map((one): TestKey => (one.name === 'carol' ? { ...one, ...byToken } : one))
      const lower = (scope: unknown): string[] => (scope as string[]).map((word) => word.toLowerCase())
      const target = madeUpTarget({
        settings: { solutions },
        answer: ({ method, params, authorization = '' }) => {
          if (method === 'manager/auth') {
            const scope = lower(params.scope)
            if (scope.some((word) => /^solution:(?!\*)/.test(word))) return { status: 403 }
            const accessToken = `token-${granted.size}`
            granted.set(accessToken, scope)
            return { result: { accessToken } }
          }
          if (method !== 'manager/createApiKey') return accepting()
          const ofToken = granted.get(authorization.replace(/^\w+ /, '')) ?? []
          const isWithin = lower(params.scope).every((word) => ofToken.includes(word))
          return isWithin ? { result: { id: 'new', secret: 'new-secret' } } : { status: 403 }
        },
      })
      const facts = { ...noFacts(), tokenPrefix: 'Bearer' }
      const run = runOf(target, { corpus: { ...corpus, testKeys }, facts })
      expect(await create(run, 'carol')).toMatchObject({ verdict: 'passed' })
    },
  )
})

describe('full target', () => {
  const create = 'manager/createApiKey'
  const newKey = { result: { id: 'new', secret: 's' } }
  const nobody = (): boolean => false

  /** Creates a key on a target that creates keys of these names only. @param known whether the run knows a key of before */
  function creationOn(fresh: boolean, takes: (name: string) => boolean, known = true) {
    const answer = ({ params }: MadeUpCall) => (takes(String(params.name)) ? newKey : { status: 403 })
    const keptTestKeys = known ? [{ id: 'earlier', name: 'earlier', secret: 'earlier-secret' }] : []
    const step = `  - { call: ${create}, auth: { basic: root }, params: { name: judged, scope: [solution] }, expect: accepted }\n`
    const run = runOf(madeUpTarget({ fresh, answer }), { keptTestKeys })
    return ask(run, step, 'proves: [keys/create-result]\nneeds: [keys]\n')
  }

  test.each([
    ['another creation is refused too, so it is full', false, nobody, 'not-testable', 'because it already has ten'],
    ['another creation is accepted', false, (name: string) => name.startsWith('full-'), 'failed', ''],
    ['a fresh one that created some keys may count', true, nobody, 'not-testable', 'may count refused creations'],
  ])('where a creation is refused: %s', async (_what, fresh, takes, verdict, text) => {
    const outcome = await creationOn(fresh, takes)
    expect(outcome.verdict).toBe(verdict)
    expect(problemText(outcome.problem)).toContain(text)
  })

  test('a target that never created a key is broken if it is fresh, and may be full otherwise', async () => {
    const { verdict, problem } = await creationOn(true, nobody, false)
    expect(verdict).toBe('blocked')
    expect(problemText(problem)).toContain('creates no API key at all')
    expect((await creationOn(false, nobody, false)).verdict).toBe('not-testable')
  })

  test.each([
    ['a body that is read as ISO 8859-1', (name: string) => /^[\0-\x7f]*$/.test(name), 'body-beyond-ascii'],
    ['all places taken', nobody, undefined],
  ])('the first creation of a fresh target has letters beyond ASCII and is refused: %s', async (_, takes, hint) => {
    const answer = ({ method, params }: MadeUpCall) => {
      if (method !== create) return { result: [] }
      return takes(String(params.name)) ? newKey : { status: 403 }
    }
    const diagnose = { signature: async () => undefined, token: async () => undefined }
    const step = `  - { call: ${create}, auth: { hmac: root }, params: { name: Schlüssel, scope: [solution] }, expect: accepted }\n`
    const { problem } = await ask(runOf(madeUpTarget({ answer }), { diagnose }), step)
    expect(problem?.hint?.kind).toBe(hint)
  })

  const refusedBefore: CreatedKeysEntry[] = [{ notCreated: 'refused' }]
  const atLeastEight = 'tally: { accepted: at-least 8 }'
  test.each<[string, CreatedKeysEntry[], string, Partial<{ lasting: boolean; listed: MadeUpAnswer; judged: string }>]>([
    ['none', [], 'failed', {}],
    ['one that was not answered', [{ intend: 'lost' }], 'not-testable', {}],
    ['one that was refused', refusedBefore, 'not-testable', {}],
    ['one, and keys get no JSON-RPC error', refusedBefore, 'not-testable', { listed: { status: 500 } }],
    ['one, and something else fails', refusedBefore, 'failed', { judged: 'expect: refused' }],
    ['one, on another instance', refusedBefore, 'failed', { lasting: false }],
  ])('whether earlier creations explain that too few keys work: %s', async (_what, earlierKeys, verdict, more) => {
    const { lasting = true, listed = { result: [] }, judged = atLeastEight } = more
    const target = madeUpTarget({ answer: ({ method }) => (method === create ? newKey : listed) })
    const before = `proves: [limits/ten-can-be-made]
needs: [keys, limits, fresh-instance]
given:
  - { call: ${create}, auth: { basic: root }, params: { name: one, scope: [solution] } }
`
    const step = `  - { for: $created, call: solution/listSolutions, auth: { key: $it }, ${judged} }\n`
    expect((await ask(runOf({ ...target, lasting }, { earlierKeys }), step, before)).verdict).toBe(verdict)
  })
})

test.each([
  ['{ accepted: at-least 3 }', 'passed'],
  ['{ accepted: at-least 4 }', 'failed'],
])('a call without a usable answer matters only where an acceptance is missing: %s', async (tally, verdict) => {
  const run = answering((_call, number) => (number === 4 ? { status: 200, body: 'no' } : accepting()))
  const step = `  - { call: manager/auth, auth: none, params: {}, repeat: 4, tally: ${tally} }\n`
  expect((await ask(run, step)).verdict).toBe(verdict)
})
