import { describe, expect, test } from 'vitest'
import { noFacts, offsetMs, type TargetFacts } from '../engine/conversation/target-facts.ts'
import type { SafetyClass } from '../engine/language/fixture-types.ts'
import { seededRandom } from '../engine/signer/random.ts'
import type { Instance, Target } from '../engine/target.ts'
import { basicHeader } from '../self/made-up-calls.ts'
import { type Answering, accepting, type MadeUpCall, madeUpTarget, noCorpus } from '../self/made-up-target.ts'
import { runPreflight, waitForKeys } from './run.ts'

const refused = { status: 401 }
const ofRoot = basicHeader('root', 'not-a-secret')

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
      if (scheme === 'Basic') return authorization === ofRoot ? accepting() : refused
      const isOurs = scheme === 'Bearer' && granted.has(rest)
      return isOurs && (granted.get(rest) ?? address) === address ? accepting() : refused
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

  const likely = { likelyAddresses: ['127.0.0.1', '192.0.2.5', '172.17.0.1'] }
  const declared = { ...likely, clientAddress: '192.0.2.9' }

  test.each<[string, seen: string, settings: object, allow: 'sessions'[], learned: string | undefined]>([
    ['the likely one that a token is good for', '127.0.0.1', likely, ['sessions'], '127.0.0.1'],
    ['whichever of them that is', '172.17.0.1', likely, ['sessions'], '172.17.0.1'],
    ['unknown if none of them works, and nothing is judged by it', '198.51.100.1', likely, ['sessions'], undefined],
    ['a declared one, without a doubt', '127.0.0.1', declared, ['sessions'], '192.0.2.9'],
    ['the likeliest, without tokens', '172.17.0.1', likely, [], '127.0.0.1'],
  ])('the address that the server sees is %s', async (_what, seen, settings, allow, learned) => {
    expect((await look(madeUpTarget({ answer: seenAs(seen), settings }), allow)).clientAddress).toBe(learned)
  })

  async function knownOfSecond(seen: string | undefined, secondAddress = '127.0.0.2') {
    const settings = { clientAddress: '127.0.0.1', secondAddress }
    const target = madeUpTarget({ answer: seenAs('127.0.0.1', seen), settings })
    return look(target, ['sessions'])
  }

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
    const closed = { kind: 'none', reason: 'it was refused', refusedConnection: true, stale: false } as const
    const deaf = changed(madeUpTarget({ answer: accepting }), () => ({ send: async () => closed }))
    await expect(look(deaf, [], patientMs)).rejects.toThrow(advice)
  })

  const unread = { kind: 'unread', status: 200, headers: {}, limitBytes: 100 } as const
  const always = (status: number): Target => madeUpTarget({ answer: () => ({ status }) })
  const api = 'http://host/api'
  const belowApi = changed(always(404), () => ({ baseUrl: api }))
  const meant = 'is the base URL right? Calls go to {url}/api; did you mean --url http://host?'
  const asks = `the answer from ${api}/api was HTTP 404: ${meant}`
  const tooLong = changed(always(200), () => ({ send: async () => unread }))
  test.each<[what: string, target: Target, advice: string]>([
    ['HTTP 404', always(404), 'is the base URL right?'],
    ['HTTP 501', always(501), 'is not JSON-RPC: is the base URL right, and is the service healthy?'],
    ['HTTP 401', always(401), 'check the key id, the secret'],
    ['HTTP 403', always(403), 'whether something in front of the service refuses these calls'],
    ['HTTP 404, and the base URL may be the address of the calls', belowApi, asks],
    ['an answer that is too long', tooLong, 'longer than 100 bytes; raise maxAnswerBytes in the target file'],
  ])('the error says what the answer to everything may mean: %s', async (_what, target, advice) => {
    await expect(look(target, [])).rejects.toThrow(advice)
  })

  test('a server that adds an error to every result is used, because the cases judge that', async () => {
    const answer = () => ({ status: 200, body: { jsonrpc: '2.0', id: 1, result: {}, error: { code: 0, message: '' } } })
    await expect(look(madeUpTarget({ answer }), [])).resolves.toBeDefined()
  })

  test('a target that throttles for a day ends the run at once, and the error names the time', async () => {
    const target = madeUpTarget({ answer: () => ({ status: 503, headers: { 'retry-after': '86400' } }) })
    await expect(look(target, [])).rejects.toThrow('HTTP 503 and asks to wait 86400 s, longer than this run waits')
    expect(target.heard).toHaveLength(1)
  })

  test('a server that leaves refusals unanswered is usable, and its run takes no longer', async () => {
    const answer: Answering = ({ authorization }) => (authorization === ofRoot ? accepting() : 'dropped')
    expect((await look(madeUpTarget({ answer }), [])).roundTripMs).toBeLessThan(100)
  })

  test.each([502, 503, 504])('behind a proxy that answers %i, the target is waited for too', async (status) => {
    const known = seenAs('127.0.0.1')
    const target = () => madeUpTarget({ answer: (call, number) => (number < 40 ? { status } : known(call)) })
    expect((await look(target(), [], 60_000)).unavailableInVain).toBe(0)
    await expect(look(target(), [], 0)).rejects.toThrow(
      `HTTP ${status}, as from a proxy that cannot reach the service: is the service running? --wait SECONDS waits`,
    )
  })

  test('a server that refuses with 502 is not waited for', async () => {
    const known = seenAs('127.0.0.1')
    const target = madeUpTarget({ answer: (call) => ('status' in known(call) ? { status: 502 } : known(call)) })
    await expect(look(target, [], 86_400_000)).resolves.toBeDefined()
    expect(target.heard.length).toBeLessThan(60)
  })
})

const unlimited = Number.POSITIVE_INFINITY

type MadeUp = { [name in 'serverMs' | 'fixedMs' | 'wrongMs' | 'past' | 'future']?: number } & {
  proxyMs?: number | null
}

/**
 * What a run learns about the clock of a server behind a proxy that writes the Date header. In ms: how far the clocks of the server and of
 * the proxy are ahead of ours (null: no answer has a Date header), the lifetime of every token, whatever is requested, by how much every
 * reported expiry is wrong, and how far a timestamp may be in the past and in the future.
 */
async function clockOf(made: MadeUp) {
  const { serverMs = 0, proxyMs = 0, wrongMs = 0, fixedMs, past = 600_000, future = past } = made
  const answer: Answering = ({ method, params, authorization = '', nowMs }) => {
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
    if (authorization === ofRoot) return accepted({})
    const [, timestamp] = /^svc-hmac-sha256 root;1;(\d+);/.exec(authorization) ?? []
    const aheadMs = Number(timestamp) - serverNowMs
    return aheadMs <= future && aheadMs >= -past ? accepted({}) : refused
  }
  const target = madeUpTarget({ answer, dated: proxyMs !== null })
  const setup = { target, corpus: noCorpus, allow: ['sessions'] as const, random: seededRandom(1) }
  const { offset, wrongDateMs } = await runPreflight({ ...setup, unique: 'test' })
  return [offset === undefined ? null : Math.round(offsetMs(offset) / 1000), wrongDateMs !== undefined]
}

const wrongProxy = { proxyMs: 90_000 }
const wrongServer = { serverMs: 90_000 }
const dayMs = 86_400_000
test.each<[string, MadeUp, aheadS: number | null, isDateIgnored: boolean]>([
  ['there is no Date header', { proxyMs: null }, 0, false],
  ['and the clock of the server is wrong', { proxyMs: null, ...wrongServer, past: 30_000 }, 90, false],
  ['and every expiry is a minute and a half wrong', { proxyMs: null, wrongMs: 90_000 }, null, false],
  ['and no lifetime is kept', { proxyMs: null, fixedMs: 8500 }, null, false],
  ['the header of the server itself is right', { ...wrongServer, ...wrongProxy }, 90, false],
  ['the clock of the proxy is wrong', wrongProxy, 0, true],
  ['it is, and any time can be signed', { ...wrongProxy, past: unlimited }, 0, true],
  ['the clock of the server is wrong', wrongServer, 90, true],
  ['it is, and it takes times of half a minute', { ...wrongServer, past: 30_000 }, 90, true],
  ['the clock of the server is 400 days behind', { serverMs: -400 * dayMs }, -400 * 86_400, true],
  ['both clocks are wrong', { ...wrongServer, proxyMs: -90_000, past: 1.1 * dayMs }, 90, true],
  ['every expiry is a minute and a half wrong', { wrongMs: 90_000 }, 0, false],
  ['every expiry is an hour wrong', { wrongMs: 3_600_000 }, 0, false],
  ['it is, and a time may be in the past alone', { wrongMs: -90_000, future: 5000 }, 0, false],
  ['it is, and any time can be signed', { wrongMs: 90_000, past: unlimited }, 0, false],
])(
  'check expiry where %s, %j shows a clock that is %s s ahead; the Date header is ignored: %s',
  async (_what, made, ...clock) => {
    expect(await clockOf(made)).toEqual(clock)
  },
)

const kept = { id: 'kept', secret: 'its-secret', name: 'erin', member: 'erin' }
const corpus = { ...noCorpus, testKeys: [{ name: 'erin', key: 'secret' as const, scope: ['solution'], proves: [] }] }

/** Returns how long the run waits if this key is locked for `lockMs`. */
async function waitedMs(locked: string, lockMs: number): Promise<number> {
  let endsMs = Number.POSITIVE_INFINITY
  const isOfLocked = (authorization = ''): boolean => authorization.includes(` ${locked};`)
  const target = madeUpTarget({
    answer: ({ authorization, nowMs }) => (isOfLocked(authorization) && nowMs < endsMs ? refused : accepting()),
  })
  const { clock } = await target.open()
  const beganMs = clock.now()
  endsMs = beganMs + lockMs
  const setup = { target, corpus, allow: [], random: seededRandom(1), unique: 'test' }
  await waitForKeys({ ...setup, facts: noFacts(), keptTestKeys: [kept] })
  return Math.round((clock.now() - beganMs) / 1000) * 1000
}

test.each([
  ['the run does not wait if all keys work', 'root', 0, 0],
  ['the run waits until the root key is no longer locked', 'root', 5000, 6000],
  ['the run waits until a test key is no longer locked', kept.id, 10_000, 14_000],
])('before the last cases of a run %s', async (_what, locked, lockMs, expectedMs) => {
  expect(await waitedMs(locked, lockMs)).toBe(expectedMs)
})
