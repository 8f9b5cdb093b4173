import { expect, test } from 'vitest'
import { offsetMs } from '../../engine/case/clock-offset.ts'
import { seededRandom } from '../../engine/random.ts'
import { type MadeUpCall, madeUpTarget } from '../../self/made-up-target.ts'
import { lookAtTarget } from '../run.ts'

const corpus = { requirements: [], questions: [], testKeys: [], schemas: {}, scenarios: [] }
const unlimited = Number.POSITIVE_INFINITY
const minuteMs = 60_000

interface MadeUp {
  /** How far the server's clock is ahead of ours. In ms. */
  serverMs?: number
  /** How far that of the proxy is. In ms. */
  proxyMs?: number
  /** By how much every reported expiry is wrong. In ms. */
  wrongMs?: number
  /** How far a timestamp may be in the past and in the future. In ms. */
  past?: number
  future?: number
}

/** What a run learns about the clock of a server behind a proxy that writes the Date header. */
async function clockOf({ serverMs = 0, proxyMs = 0, wrongMs = 0, past = 10 * minuteMs, future = past }: MadeUp) {
  const answer = ({ method, params, authorization = '', nowMs }: MadeUpCall) => {
    const headers = { date: new Date(nowMs + proxyMs).toUTCString() }
    const refused = { status: 401, headers }
    const accepted = (result: unknown) => ({ status: 200, headers, body: { jsonrpc: '2.0', id: 1, result } })
    const serverNowMs = nowMs + serverMs
    if (method === 'manager/auth') {
      const lifeMs = Number(/expiresIn:(\d+)/.exec(String(params.scope))?.[1] ?? 900_000)
      return params.apiKeyId === 'root'
        ? accepted({ accessToken: 'a-token', accessTokenExpiry: serverNowMs + lifeMs + wrongMs })
        : refused
    }
    if (authorization.startsWith('Basic cm9vd')) return accepted({})
    const [, timestamp] = /^svc-hmac-sha256 root;1;(\d+);/.exec(authorization) ?? []
    const aheadMs = Number(timestamp) - serverNowMs
    return aheadMs <= future && aheadMs >= -past ? accepted({}) : refused
  }
  const target = madeUpTarget({ answer })
  const setup = { target, corpus, items: [], allow: ['sessions'] as const, seed: 1, random: seededRandom(1) }
  const { offset, wrongDateMs } = await lookAtTarget({ ...setup, unique: 'test' })
  return { aheadS: Math.round(offsetMs(offset) / 1000), isDateIgnored: wrongDateMs !== undefined }
}

test.each<[string, MadeUp, { aheadS: number; isDateIgnored: boolean }]>([
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
