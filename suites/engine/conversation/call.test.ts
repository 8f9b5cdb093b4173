import { describe, expect, test } from 'vitest'
import { ask, type MadeUpCall, madeUpTarget, runOf } from '../../self/made-up-target.ts'
import { alterWords } from '../signer/operations.ts'
import type { Target } from '../target.ts'
import { suitableLifeMs } from './attempt-case.ts'
import { type Conversation, openConversation } from './conversation.ts'
import { noFacts, type TargetFacts } from './target-facts.ts'

describe('alter', () => {
  const samples = [
    '9fff45b75c225d6559de671259b44366',
    'aZ4-_xY',
    'eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2ln',
    '1111',
    'UPPER',
    'lower',
  ]

  describe('words that spoil a secret', () => {
    test.each(Object.keys(alterWords))('%s changes every secret', (word) => {
      for (const sample of samples) expect(alterWords[word]?.(sample)).not.toBe(sample)
    })

    test('a changed character keeps the length and the ends, so that no encoding can hide it', () => {
      for (const word of ['lower-case-letter-changed', 'upper-case-letter-changed', 'digit-changed']) {
        const token = 'eyJhbGciOiJIUzI1NiJ9abcDEF0123456789'
        const altered = alterWords[word]?.(token) ?? ''
        expect(altered).toHaveLength(token.length)
        expect([...altered].filter((character, index) => character !== token[index])).toHaveLength(1)
        expect(altered.slice(-2)).toBe(token.slice(-2))
      }
    })
  })

  test('a JWT without its signature keeps its claims and says that it has none', () => {
    const [head = '', ...rest] = (
      alterWords['without-signature']?.('eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2ln') ?? ''
    ).split('.')
    expect(JSON.parse(atob(head))).toEqual({ alg: 'none', typ: 'JWT' })
    expect(rest).toEqual(['eyJzdWIiOiIxIn0', ''])
  })
})

describe('prepare changed', () => {
  /** The calls that steps make, and the problem of their case. */
  async function madeBy(...steps: string[]): Promise<{ calls: MadeUpCall[]; problem: unknown; verdict: string }> {
    const calls: MadeUpCall[] = []
    const target = madeUpTarget({
      answer: (call) => {
        calls.push(call)
        return call.authorization?.startsWith('Basic ') === true ? { result: {} } : { status: 401 }
      },
    })
    const { problem, verdict } = await ask(runOf(target), steps.map((step) => `  - ${step}\n`).join(''), '')
    return { calls, problem, verdict }
  }

  test('several parts of a call are changed', async () => {
    const { calls } = await madeBy(
      '{ call: solution/listSolutions, auth: { basic: root }, alter: { basic-word: lower-case, basic-secret: { value: other }, param name: { value: [1] } }, expect: refused }',
    )
    expect(calls).toMatchObject([{ authorization: `basic ${btoa('root:other')}`, params: { name: [1] } }])
  })

  test('a change with no effect makes the case not testable, and is named', async () => {
    const { calls, problem, verdict } = await madeBy(
      '{ call: solution/listSolutions, auth: { basic: root }, alter: { basic-word: { value: Basic } }, expect: refused }',
    )
    expect(calls).toEqual([])
    expect({ verdict, problem }).toMatchObject({
      verdict: 'not-testable',
      problem: { reason: 'Cannot change this call: what is sent stays as it is' },
    })
  })

  test('a nonce of a kind, and the signature that was sent', async () => {
    const { calls } = await madeBy(
      '{ call: solution/listSolutions, auth: { hmac: root }, nonce: marks, keep: { header: sent.header, signature: sent.signature } }',
      '{ call: solution/listSolutions, auth: { hmac: root }, alter: { signature: { value: $signature } } }',
      '{ call: solution/listSolutions, auth: { header: $header } }',
    )
    const [first = '', second = '', third] = calls.map(({ authorization }) => authorization)
    expect(first.split(';')[3]).toMatch(/\/{4}\+{4}$/)
    expect(second.split(';')[4]).toBe(first.split(';')[4])
    expect(third).toBe(first)
  })
})

describe('perform step', () => {
  /** A server with places for a number of keys, and how many calls were under way whenever one was sent. */
  function serverOf(places: number): { target: Target; underWay: number[] } {
    const underWay: number[] = []
    let now = 0
    let created = 0
    const inner = madeUpTarget({
      answer: ({ method }) => {
        if (method !== 'manager/createApiKey') return { result: {} }
        if (created === places) return { status: 409 }
        created += 1
        return { result: { id: `id${created}`, secret: 'a-secret' } }
      },
    })
    const open: Target['open'] = async (...args) => {
      const instance = await inner.open(...args)
      return {
        ...instance,
        async send(request) {
          now += 1
          underWay.push(now)
          await new Promise((resolve) => setImmediate(resolve))
          const answer = await instance.send(request)
          now -= 1
          return answer
        },
      }
    }
    return { target: { ...inner, open }, underWay }
  }

  const fill = `  - { call: manager/createApiKey, auth: { basic: root }, repeat: 9, observe: keys/limit-exceeded }
`

  async function fillPlaces(places: number): Promise<number[]> {
    const { target, underWay } = serverOf(places)
    await ask(runOf(target), fill, 'needs: [keys, limits]\n')
    return underWay
  }

  test('creations run one after another until two were refused, and the others at once', async () => {
    expect(await fillPlaces(3)).toEqual([1, 1, 1, 1, 1, 1, 2, 3, 4])
  })

  test('while creations are accepted, they run one after another', async () => {
    expect(await fillPlaces(9)).toEqual([1, 1, 1, 1, 1, 1, 1, 1, 1])
  })
})

test('alter changes what but left', async () => {
  const sent: unknown[] = []
  const target = madeUpTarget({
    answer: ({ authorization, params }) => {
      sent.push([authorization, params])
      return { status: 401 }
    },
  })
  const auth = 'auth: { basic: root, but: empty }, alter: { basic-word: upper-case, param name: doubled }'
  await ask(
    runOf(target),
    `  - { call: manager/createApiKey, ${auth}, params: { name: one }, but: { name: last-character-dropped }, expect: refused }\n`,
  )
  expect(sent).toEqual([[`BASIC ${Buffer.from('root:').toString('base64')}`, { name: 'onon' }]])
})

/** The beginning of a step that requests a token. */
const grantOf = (scope: string): string =>
  `  - { call: manager/auth, auth: none, params: { grantType: api_key_credentials, apiKeyId: a, apiKeySecret: b, scope: [${scope}] }`

describe('wait', () => {
  function callerKnowing(known: Partial<TargetFacts>): Promise<Conversation> {
    const target = madeUpTarget({ answer: () => ({ result: {} }) })
    const facts = { ...noFacts(), ...known }
    return openConversation(runOf(target, { facts }))
  }

  test('a suitable lifetime grows with the round trip and with every try, up to half of that of a refresh token', async () => {
    const near = suitableLifeMs(await callerKnowing({}), 1)
    expect(suitableLifeMs(await callerKnowing({}), 2)).toBeGreaterThan(near)
    expect(suitableLifeMs(await callerKnowing({ roundTripMs: 700 }), 1)).toBeGreaterThan(near + 3 * 700)
    expect(suitableLifeMs(await callerKnowing({ refreshLifeMs: 4000, roundTripMs: 700 }), 1)).toBe(2000)
    expect(suitableLifeMs(await callerKnowing({ refreshLifeMs: 0 }), 1)).toBe(near)
  })

  test.each([
    [12_345, 20_000, 'failed'],
    [19_000, 20_000, 'not-testable'],
    [30_000, 20_000, 'not-testable'],
    [30_000, 0, 'failed'],
  ])(
    'a refused lifetime of %d ms, where that of a refresh token is %d ms: %s',
    async (lifeMs, refreshLifeMs, verdict) => {
      const target = madeUpTarget({ answer: () => ({ status: 401 }) })
      const run = runOf(target, { facts: { ...noFacts(), refreshLifeMs } })
      const outcome = await ask(run, `${grantOf(`"expiresIn:${lifeMs}"`)}, expect: accepted }\n`)
      expect(outcome.verdict).toBe(verdict)
    },
  )

  test('a clock that can be moved is not moved to times of 14 digits', async () => {
    const moved: number[] = []
    const inner = madeUpTarget({ answer: () => ({ result: { accessTokenExpiry: 9_999_999_000_000 } }) })
    const open = async () => {
      const instance = await inner.open()
      const sleep = async (ms: number): Promise<void> => void moved.push(ms)
      return { ...instance, clock: { ...instance.clock, sleep, controlled: true } }
    }
    const dayMs = 86_400_000
    const granted = `${grantOf('solution')}, keep: { token: result } }\n`
    const waits = ['40d', '{ past: $token.accessTokenExpiry }'].map((wait) => `  - { wait: ${wait} }\n`).join('')
    expect(await ask(runOf({ ...inner, open }), granted + waits)).toMatchObject({
      verdict: 'not-testable',
      problem: { kind: 'wait-too-long' },
    })
    expect(moved).toEqual([40 * dayMs])
  })
})

describe('observed values', () => {
  const grant = (nowMs: number) => ({
    accessToken: 'eyJhbGciOiJub25lIn0.e30.',
    accessTokenExpiry: nowMs + 900_300,
    refreshToken: '0123456789abcdef',
    refreshTokenExpiry: nowMs + 7 * 86_400_000,
  })

  test.each([
    ['limits/token-lifetimes', 'access token: 15 min, refresh token: 7 d'],
    ['sessions/lifetime', 'its refresh token: 7 d'],
    ['tokens/format', 'access token: 24 characters, a JWT, refresh token: 16 characters, hex'],
    ['keys/name-rules', 'accepted'],
  ])('%s is answered with %s', async (question, answer) => {
    const target = madeUpTarget({ answer: ({ nowMs }) => ({ result: grant(nowMs) }) })
    const outcome = await ask(runOf(target), `${grantOf('solution')}, observe: ${question} }\n`)
    expect(outcome.observations.map((observed) => observed.answer)).toEqual([answer])
  })
})
