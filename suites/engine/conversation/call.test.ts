import { describe, expect, test } from 'vitest'
import { type Answering, accepting, answering, ask, madeUpTarget, runOf } from '../../self/made-up-target.ts'
import type { Case, Scenario } from '../language/fixture-types.ts'
import { alterWords } from '../signer/operations.ts'
import { bareSettings, type Target } from '../target.ts'
import { openConversation } from './conversation.ts'
import { suitableLifeMs } from './step-calls.ts'
import { noFacts, type TargetFacts } from './target-facts.ts'

const samples = ['9fff45b75c225d6559de671259b44366', 'aZ4-_xY', 'eyJhbGciOiJI.eyJzdWIi.c2ln', '1111', 'UPPER', 'lower']

test.each(Object.keys(alterWords))('the alteration %s changes every secret', (word) => {
  for (const sample of samples) expect(alterWords[word]?.(sample)).not.toBe(sample)
})

describe('prepare changed', () => {
  /** The calls that steps make, and the problem of their case. */
  async function madeBy(...steps: string[]) {
    const run = answering(({ authorization }) => (authorization?.startsWith('Basic ') ? accepting() : { status: 401 }))
    return { ...(await ask(run, steps.map((step) => `  - ${step}\n`).join(''), '')), calls: run.heard }
  }

  test('a change with no effect makes the case not testable, and is named', async () => {
    const reason = 'Cannot change this call: what is sent stays as it is'
    const unchanged = 'auth: { basic: root }, alter: { basic-word: { value: Basic } }'
    const made = await madeBy(`{ call: solution/listSolutions, ${unchanged}, expect: refused }`)
    expect(made).toMatchObject({ calls: [], verdict: 'not-testable', problem: { reason } })
  })

  test('a bit of an ED25519 signature changes it, whatever bit it is', async () => {
    const step =
      '{ call: solution/listSolutions, auth: { ecc: root }, alter: { signature-bytes: middle-bit-flipped }, repeat: 50, expect: refused }'
    expect(await madeBy(step)).toMatchObject({ verdict: 'passed' })
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

/** Fills a server with places for a number of keys. @returns how many calls were under way whenever one was sent */
async function fillPlaces(places: number): Promise<number[]> {
  const underWay: number[] = []
  let now = 0
  const answer: Answering = ({ method }, number) => {
    if (method !== 'manager/createApiKey') return accepting()
    return number > places ? { status: 409 } : { result: { id: `id${number}`, secret: 'a-secret' } }
  }
  const inner = madeUpTarget({ answer })
  const open: Target['open'] = async (...args) => {
    const instance = await inner.open(...args)
    return {
      ...instance,
      async send(request) {
        underWay.push(++now)
        await new Promise((resolve) => setImmediate(resolve))
        return instance.send(request).finally(() => now--)
      },
    }
  }
  const fill = '  - { call: manager/createApiKey, auth: { basic: root }, repeat: 9, observe: keys/limit-exceeded }\n'
  await ask(runOf({ ...inner, open }), fill, 'needs: [keys, limits]\n')
  return underWay
}

test.each([
  ['until two were refused, and the others at once', 3, [1, 1, 1, 1, 1, 1, 2, 3, 4]],
  ['while they are accepted', 9, [1, 1, 1, 1, 1, 1, 1, 1, 1]],
])('creations run one after another %s', async (_when, places, underWay) => {
  expect(await fillPlaces(places)).toEqual(underWay)
})

test('alter changes what but left', async () => {
  const run = answering(() => ({ status: 401 }))
  const auth = 'auth: { basic: root, but: empty }, alter: { basic-word: upper-case, param name: doubled }'
  const params = 'params: { name: one }, but: { name: last-character-dropped }'
  await ask(run, `  - { call: manager/createApiKey, ${auth}, ${params}, expect: refused }\n`)
  expect(run.heard).toMatchObject([{ authorization: `BASIC ${btoa('root:')}`, params: { name: 'onon' } }])
})

/** The beginning of a step that requests a token. */
const grantOf = (scope: string): string =>
  `  - { call: manager/auth, auth: none, params: { grantType: api_key_credentials, apiKeyId: a, apiKeySecret: b, scope: [${scope}] }`

describe('wait', () => {
  const untilEnd = { until: '$end' }
  const suitable = async (known: Partial<TargetFacts>, number = 1, wait: unknown = untilEnd): Promise<number> => {
    const run = runOf(madeUpTarget({ answer: accepting }), { facts: { ...noFacts(), ...known } })
    const scenario = { given: [{ wait }], steps: [], needs: [] } as unknown as Scenario
    return suitableLifeMs(await openConversation(run), { scenario, testCase: { values: {} } as Case, number })
  }

  test('a suitable lifetime grows with the round trip, up to half of that of a refresh token', async () => {
    const near = await suitable({})
    expect(await suitable({ roundTripMs: 700 })).toBeGreaterThan(near + 3 * 700)
    expect(await suitable({ refreshLifeMs: 4000, roundTripMs: 700 })).toBe(2000)
    expect(await suitable({ refreshLifeMs: 0 })).toBe(near)
  })

  test('at a slow pace a suitable lifetime grows faster, but not beyond what a run waits for', async () => {
    expect((await suitable({ callsPerSecond: 1.5 }, 3)) - (await suitable({ callsPerSecond: 1.5 }))).toBeGreaterThan(
      3900,
    )
    expect(await suitable({ callsPerSecond: 1 }, 3)).toBeLessThanOrEqual(bareSettings.maxWaitMs - 1000)
    expect(await suitable({ callsPerSecond: 1 }, 3, '1s')).toBeGreaterThan(bareSettings.maxWaitMs)
    // Here the wait is at the limit from the first try on.
    expect((await suitable({ callsPerSecond: 0.4 }, 3)) - (await suitable({ callsPerSecond: 0.4 }))).toBe(3000)
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
    const granted = `${grantOf('solution')}, keep: { token: result } }\n`
    const waits = ['40d', '{ past: $token.accessTokenExpiry }'].map((wait) => `  - { wait: ${wait} }\n`).join('')
    const outcome = await ask(runOf({ ...inner, open }), granted + waits)
    expect(outcome).toMatchObject({ verdict: 'not-testable', problem: { kind: 'wait-too-long' } })
    expect(moved).toEqual([40 * 86_400_000])
  })
})

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
  const run = answering(({ nowMs }) => ({ result: grant(nowMs) }))
  const outcome = await ask(run, `${grantOf('solution')}, observe: ${question} }\n`)
  expect(outcome.observations.map((observed) => observed.answer)).toEqual([answer])
})
