import { describe, expect, test } from 'vitest'
import { offsetMs, type TargetFacts } from '../engine/conversation/target-facts.ts'
import type { SafetyClass } from '../engine/language/fixture-types.ts'
import { seededRandom } from '../engine/signer/random.ts'
import type { Instance, Target } from '../engine/target.ts'
import { type MadeUpCall, madeUpTarget, noCorpus } from '../self/made-up-target.ts'
import { runPreflight } from './run.ts'

describe('preflight', () => {
  /**
   * A server that sees us under this address, and calls from our second one under another or not at all, and knows the root key.
   *
   * @param replaces whether a grant ends the token of the one before
   */
  function seenAs(first: string, second?: string, replaces = false) {
    let grants = 0
    const granted = new Map<string, string | undefined>()
    return ({ method, params, authorization = '', from }: MadeUpCall) => {
      const refused = { status: 401 }
      const address = from === 'second-address' ? second : first
      if (address === undefined) return { status: 403 }
      if (method === 'manager/auth') {
        if (params.apiKeyId !== 'root') return refused
        const accessToken = `token-${grants++}`
        if (replaces) granted.clear()
        const bound = (params.scope as string[]).find((scope) => scope.startsWith('ipAddr:'))
        granted.set(accessToken, bound?.slice('ipAddr:'.length))
        return { result: { accessToken } }
      }
      const [scheme, rest = ''] = authorization.split(' ')
      if (scheme === 'Basic') return atob(rest) === 'root:not-a-secret' ? { result: {} } : refused
      const isOurs = scheme === 'Bearer' && granted.has(rest)
      return isOurs && (granted.get(rest) ?? address) === address ? { result: {} } : refused
    }
  }

  /** The target with another instance. */
  const changed = (target: Target, change: (instance: Instance) => Partial<Instance>): Target => ({
    ...target,
    open: async () => {
      const instance = await target.open()
      return { ...instance, ...change(instance) }
    },
  })

  function look(target: Target, allow: readonly SafetyClass[], patientMs?: number): Promise<TargetFacts> {
    const setup = { target, corpus: noCorpus, allow, random: seededRandom(1), unique: 'test' }
    return runPreflight(setup, patientMs)
  }

  async function learnedAddress(seen: string, settings: object, allow: 'sessions'[] = ['sessions']) {
    const target = madeUpTarget({ answer: seenAs(seen), settings })
    return (await look(target, allow)).clientAddress
  }

  const likely = { likelyAddresses: ['127.0.0.1', '192.0.2.5', '172.17.0.1'] }

  test('the address that the server sees is the likely one that a token is good for', async () => {
    expect(await learnedAddress('127.0.0.1', likely)).toBe('127.0.0.1')
    expect(await learnedAddress('172.17.0.1', likely)).toBe('172.17.0.1')
  })

  test('if no likely address works our address is unknown, and nothing is judged by it', async () => {
    expect(await learnedAddress('198.51.100.1', likely)).toBeUndefined()
  })

  test('a declared address is not doubted, and without tokens the likeliest is taken', async () => {
    expect(await learnedAddress('127.0.0.1', { ...likely, clientAddress: '192.0.2.9' })).toBe('192.0.2.9')
    expect(await learnedAddress('172.17.0.1', likely, [])).toBe('127.0.0.1')
  })

  async function knownOfSecond(seen: string | undefined, secondAddress = '127.0.0.2') {
    const settings = { clientAddress: '127.0.0.1', secondAddress }
    const target = madeUpTarget({ answer: seenAs('127.0.0.1', seen), settings })
    return look(target, ['sessions'])
  }

  test('a second address counts where a token that is bound to it works from there', async () => {
    const { secondAddress, secondAddressProblem } = await knownOfSecond('127.0.0.2')
    expect({ secondAddress, secondAddressProblem }).toEqual({ secondAddress: '127.0.0.2' })
  })

  test.each([
    ['behind a proxy that has one address for all', '127.0.0.1', '127.0.0.2', 'seen-as-another'],
    ['where the server forbids it', undefined, '127.0.0.2', 'no-token-accepted'],
    ['that is our first one', '127.0.0.1', '127.0.0.1', 'same-address'],
  ])('a second address %s does not count, and the reason is named', async (_name, seen, declared, kind) => {
    const { secondAddress, secondAddressProblem } = await knownOfSecond(seen, declared)
    expect(secondAddress).toBeUndefined()
    expect(secondAddressProblem?.kind).toBe(kind)
  })

  /** Grants overtake the calls that were sent before them. */
  const slowExceptGrants = (target: Target): Target =>
    changed(target, (instance) => ({
      send: async (request) => {
        const isGrant = new TextDecoder().decode(request.body).includes('manager/auth')
        for (let turn = 0; turn < (isGrant ? 0 : 5); turn++) await new Promise((resolve) => setImmediate(resolve))
        return instance.send(request)
      },
    }))

  test('addresses are learned too where each grant ends the token of the one before', async () => {
    const settings = { ...likely, secondAddress: '127.0.0.2' }
    const target = madeUpTarget({ answer: seenAs('172.17.0.1', '127.0.0.2', true), settings })
    const { clientAddress, secondAddress } = await look(slowExceptGrants(target), ['sessions'])
    expect({ clientAddress, secondAddress }).toEqual({ clientAddress: '172.17.0.1', secondAddress: '127.0.0.2' })
  })

  test('a server that compares the mapped form of our address is told from a proxy', async () => {
    const settings = { ...likely, secondAddress: '127.0.0.2' }
    const lookAt = (answer: ReturnType<typeof seenAs>) => look(madeUpTarget({ answer, settings }), ['sessions'])
    expect(await lookAt(seenAs('::ffff:172.17.0.1', '::ffff:127.0.0.2'))).toMatchObject({
      clientAddress: '172.17.0.1',
      mapsAddresses: true,
      secondAddress: '127.0.0.2',
    })
    // Plain forms, a proxy, and a server that takes every word that is no IPv4 address.
    expect((await lookAt(seenAs('172.17.0.1', '127.0.0.2'))).mapsAddresses).toBeUndefined()
    expect((await lookAt(seenAs('198.51.100.1', '198.51.100.1'))).clientAddress).toBeUndefined()
    const lenient = seenAs('198.51.100.1')
    const ofIPv4 = ({ params, ...call }: MadeUpCall): MadeUpCall => {
      const scope = (params.scope as string[] | undefined)?.filter((word) => !word.includes('::'))
      return { ...call, params: scope === undefined ? params : { ...params, scope } }
    }
    const facts = await lookAt((call) => lenient(ofIPv4(call)))
    expect([facts.clientAddress, facts.mapsAddresses]).toEqual([undefined, undefined])
  })

  test('the round trip is measured by accepted calls, even if refusals come sooner', async () => {
    const fast = madeUpTarget({ answer: seenAs('127.0.0.1'), settings: { clientAddress: '127.0.0.1' } })
    const slow = changed(fast, ({ send, clock }) => ({
      send: async (request) => {
        const answer = await send(request)
        if (answer.kind === 'answer' && answer.status === 200) await clock.sleep(500)
        return answer
      },
    }))
    expect((await look(slow, ['sessions'])).roundTripMs).toBeGreaterThanOrEqual(500)
  })

  test.each([
    [0, '--wait SECONDS waits for it to come up'],
    [2000, 'It did not come up within 2 s'],
  ])('a target that is not there is waited for as long as requested: %i ms', async (patientMs, advice) => {
    const refused = { kind: 'none', reason: 'it was refused', refusedConnection: true, stale: false } as const
    const deaf = changed(madeUpTarget({ answer: () => ({ result: {} }) }), () => ({ send: async () => refused }))
    await expect(look(deaf, [], patientMs)).rejects.toThrow(advice)
  })

  test.each([
    [404, 'is the base URL right?'],
    [501, 'is not JSON-RPC: is the base URL right, and is the service healthy?'],
    [401, 'check the key id, the secret'],
    [403, 'whether something in front of the service refuses these calls'],
  ])('the error says what an answer of %i to everything may mean', async (status, advice) => {
    const target = madeUpTarget({ answer: () => ({ status }) })
    await expect(look(target, [])).rejects.toThrow(advice)
  })

  test('a base URL that ends with /api may be the address of the calls', async () => {
    const target = madeUpTarget({ answer: () => ({ status: 404 }) })
    await expect(
      look(
        changed(target, () => ({ baseUrl: 'http://host/api' })),
        [],
      ),
    ).rejects.toThrow(
      'the answer from http://host/api/api was HTTP 404: is the base URL right? Calls go to {url}/api; did you mean --url http://host?',
    )
  })

  test('a server that adds an error to every result is used, because the cases judge that', async () => {
    const answer = () => ({ status: 200, body: { jsonrpc: '2.0', id: 1, result: {}, error: { code: 0, message: '' } } })
    await expect(look(madeUpTarget({ answer }), [])).resolves.toBeDefined()
  })

  test('a first answer that is too long to be read ends the run, and the error names the setting that allows more', async () => {
    const target = madeUpTarget({ answer: () => ({ result: {} }) })
    const unread = { kind: 'unread', status: 200, headers: {}, limitBytes: 100 } as const
    await expect(
      look(
        changed(target, () => ({ send: async () => unread })),
        [],
      ),
    ).rejects.toThrow('longer than 100 bytes; raise maxAnswerBytes in the target file')
  })

  test('a target that throttles for a day ends the run at once, and the error names the time', async () => {
    let calls = 0
    const target = madeUpTarget({
      answer: () => {
        calls += 1
        return { status: 503, headers: { 'retry-after': '86400' } }
      },
    })
    await expect(look(target, [])).rejects.toThrow('HTTP 503 and asks to wait 86400 s, longer than this run waits')
    expect(calls).toBe(1)
  })

  test('a server that leaves refusals unanswered is usable, and its run takes no longer', async () => {
    const answer = ({ authorization }: MadeUpCall) =>
      authorization?.startsWith('Basic cm9vd') === true ? { result: {} } : ('dropped' as const)
    expect((await look(madeUpTarget({ answer }), [])).roundTripMs).toBeLessThan(100)
  })

  test.each([502, 503, 504])('behind a proxy that answers %i, the target is waited for too', async (status) => {
    let calls = 0
    const known = seenAs('127.0.0.1')
    const answer = (call: MadeUpCall) => {
      calls += 1
      return calls < 40 ? { status } : known(call)
    }
    expect((await look(madeUpTarget({ answer }), [], 60_000)).unavailableInVain).toBe(0)
    calls = 0
    await expect(look(madeUpTarget({ answer }), [], 0)).rejects.toThrow(
      `HTTP ${status}, as from a proxy that cannot reach the service: is the service running? --wait SECONDS waits`,
    )
  })

  test('a server that refuses with 502 is not waited for', async () => {
    let calls = 0
    const known = seenAs('127.0.0.1')
    const answer = (call: MadeUpCall) => {
      calls += 1
      const given = known(call)
      return 'status' in given ? { status: 502 } : given
    }
    await expect(look(madeUpTarget({ answer }), [], 86_400_000)).resolves.toBeDefined()
    expect(calls).toBeLessThan(60)
  })
})

describe('check expiry', () => {
  const unlimited = Number.POSITIVE_INFINITY
  const minuteMs = 60_000

  interface MadeUp {
    /** How far the server's clock is ahead of ours. In ms. */
    serverMs?: number
    /** How far that of the proxy is; null: no answer has a Date header. In ms. */
    proxyMs?: number | null
    /** The lifetime of every token, whatever is requested. In ms. */
    fixedMs?: number
    /** By how much every reported expiry is wrong. In ms. */
    wrongMs?: number
    /** How far a timestamp may be in the past and in the future. In ms. */
    past?: number
    future?: number
  }

  /** What a run learns about the clock of a server behind a proxy that writes the Date header. */
  async function clockOf(made: MadeUp) {
    const { serverMs = 0, proxyMs = 0, wrongMs = 0, fixedMs, past = 10 * minuteMs, future = past } = made
    const answer = ({ method, params, authorization = '', nowMs }: MadeUpCall) => {
      const headers = proxyMs === null ? {} : { date: new Date(nowMs + proxyMs).toUTCString() }
      const refused = { status: 401, headers }
      const accepted = (result: unknown) => ({ status: 200, headers, body: { jsonrpc: '2.0', id: 1, result } })
      const serverNowMs = nowMs + serverMs
      if (method === 'manager/auth') {
        const lifeMs = fixedMs ?? Number(/expiresIn:(\d+)/.exec(String(params.scope))?.[1] ?? 900_000)
        return params.apiKeyId === 'root'
          ? accepted({ accessToken: 'a-token', accessTokenExpiry: serverNowMs + lifeMs + wrongMs })
          : refused
      }
      if (authorization.startsWith('Basic cm9vd')) return accepted({})
      const [, timestamp] = /^svc-hmac-sha256 root;1;(\d+);/.exec(authorization) ?? []
      const aheadMs = Number(timestamp) - serverNowMs
      return aheadMs <= future && aheadMs >= -past ? accepted({}) : refused
    }
    const target = madeUpTarget({ answer, dated: proxyMs !== null })
    const setup = { target, corpus: noCorpus, allow: ['sessions'] as const, random: seededRandom(1) }
    const { offset, wrongDateMs } = await runPreflight({ ...setup, unique: 'test' })
    const aheadS = offset === undefined ? null : Math.round(offsetMs(offset) / 1000)
    return { aheadS, isDateIgnored: wrongDateMs !== undefined }
  }

  test.each<[string, MadeUp, { aheadS: number | null; isDateIgnored: boolean }]>([
    ['there is no Date header', { proxyMs: null }, { aheadS: 0, isDateIgnored: false }],
    [
      'there is no Date header and the clock of the server is wrong',
      { proxyMs: null, serverMs: 90_000, past: 30_000 },
      { aheadS: 90, isDateIgnored: false },
    ],
    [
      'there is no Date header and every expiry is a minute and a half wrong',
      { proxyMs: null, wrongMs: 90_000 },
      { aheadS: null, isDateIgnored: false },
    ],
    [
      'there is no Date header and no lifetime is kept',
      { proxyMs: null, fixedMs: 8500 },
      { aheadS: null, isDateIgnored: false },
    ],
    [
      'the header of the server itself is right',
      { serverMs: 90_000, proxyMs: 90_000 },
      { aheadS: 90, isDateIgnored: false },
    ],
    ['the clock of the proxy is wrong', { proxyMs: 90_000 }, { aheadS: 0, isDateIgnored: true }],
    [
      'the clock of the proxy is wrong, and any time can be signed',
      { proxyMs: 90_000, past: unlimited },
      { aheadS: 0, isDateIgnored: true },
    ],
    ['the clock of the server is wrong', { serverMs: 90_000 }, { aheadS: 90, isDateIgnored: true }],
    [
      'the clock of the server is wrong, and it takes times of half a minute',
      { serverMs: 90_000, past: 30_000 },
      { aheadS: 90, isDateIgnored: true },
    ],
    [
      'the clock of the server is 400 days behind',
      { serverMs: -400 * 86_400_000 },
      { aheadS: -400 * 86_400, isDateIgnored: true },
    ],
    ['both clocks are wrong', { serverMs: 90_000, proxyMs: -90_000 }, { aheadS: 90, isDateIgnored: true }],
    ['every expiry is a minute and a half wrong', { wrongMs: 90_000 }, { aheadS: 0, isDateIgnored: false }],
    ['every expiry is an hour wrong', { wrongMs: 3_600_000 }, { aheadS: 0, isDateIgnored: false }],
    [
      'every expiry is wrong, and a time may be in the past alone',
      { wrongMs: -90_000, future: 5000 },
      { aheadS: 0, isDateIgnored: false },
    ],
    [
      'every expiry is wrong, and any time can be signed',
      { wrongMs: 90_000, past: unlimited },
      { aheadS: 0, isDateIgnored: false },
    ],
  ])('where %s, %j shows %j', async (_what, made, clock) => {
    expect(await clockOf(made)).toEqual(clock)
  })
})
