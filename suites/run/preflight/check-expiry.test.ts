import { expect, test } from 'vitest'
import { offsetMs } from '../../engine/conversation/clock-offset.ts'
import { seededRandom } from '../../engine/random.ts'
import { type MadeUpCall, madeUpTarget } from '../../self/made-up-target.ts'
import { runPreflight } from '../run.ts'

const corpus = { requirements: [], questions: [], testKeys: [], schemas: {}, scenarios: [] }
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
  const setup = { target, corpus, items: [], allow: ['sessions'] as const, seed: 1, random: seededRandom(1) }
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
