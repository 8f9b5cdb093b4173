import { describe } from 'vitest'
import { accessWorks, type Client, grantPair, lineOfPairs, refreshWorks, testWitnesses } from '../test-witness.ts'

const minuteMs = 60_000
const hourMs = 60 * minuteMs
const dayMs = 24 * hourMs

const withLifetime = (client: Client, ms: number) => grantPair(client, ['solution', `expiresIn:${ms}`])

/** Whether the reported expiry of a grant is not the wanted lifetime away. */
async function reportsOther(client: Client, ms: number, more: string[] = []): Promise<boolean> {
  const nowMs = client.clock.now()
  const pair = await grantPair(client, ['solution', `expiresIn:${ms}`, ...more])
  return pair.accessTokenExpiry !== nowMs + ms
}

/** Whether an access token works after some time. */
async function worksAfter(client: Client, lifetimeMs: number, passedMs: number): Promise<boolean> {
  const pair = await withLifetime(client, lifetimeMs)
  client.clock.advance(passedMs)
  return accessWorks(client, pair)
}

describe('expiry', () => {
  testWitnesses({
    'expiry-compared-in-seconds': (c) => worksAfter(c, 1500, 1600),
    'expires-in-below-a-second-ignored': (c) => reportsOther(c, 500),
    'whole-days-of-expires-in-lost': (c) => reportsOther(c, 25 * hourMs),
    'expires-in-above-an-hour-enforced-after-an-hour': async (c) => !(await worksAfter(c, 2 * hourMs, hourMs + 1)),
    'expires-in-above-two-to-the-31-ends-at-once': async (c) => {
      const pair = await withLifetime(c, 2 ** 31)
      return pair.accessToken !== undefined && !(await accessWorks(c, pair))
    },
    'expires-in-above-an-hour-never-ends': (c) => worksAfter(c, 2 * hourMs, 3 * hourMs),
    'expires-in-compared-as-text': async (c) => {
      const { accessTokenExpiry, refreshTokenExpiry } = await withLifetime(c, 1e12)
      return accessTokenExpiry > refreshTokenExpiry
    },
    'expires-in-limit-a-minute-too-high': async (c) => {
      const { accessTokenExpiry, refreshTokenExpiry } = await withLifetime(c, 7 * dayMs + 1000)
      return accessTokenExpiry > refreshTokenExpiry
    },
    'expires-in-ignored-with-address': (c) => reportsOther(c, 5000, ['ipAddr:127.0.0.1']),
    'each-use-extends-access-token': async (c) => {
      const pair = await withLifetime(c, minuteMs)
      c.clock.advance(minuteMs / 2)
      await accessWorks(c, pair)
      c.clock.advance(minuteMs / 2 + 1)
      return accessWorks(c, pair)
    },
    'use-of-access-token-extends-refresh-token': async (c) => {
      const pair = await withLifetime(c, 7 * dayMs)
      c.clock.advance(dayMs)
      await accessWorks(c, pair)
      c.clock.set(pair.refreshTokenExpiry + 1)
      return refreshWorks(c, pair)
    },
    'access-token-works-when-checked-before-expiry': async (c) => {
      const pair = await withLifetime(c, 1000)
      await accessWorks(c, pair)
      c.clock.advance(1001)
      return accessWorks(c, pair)
    },
    'third-access-token-never-expires': async (c) => {
      const [, , third] = await lineOfPairs(c, 2)
      c.clock.set((third?.accessTokenExpiry ?? 0) + 1)
      return accessWorks(c, third)
    },
    'expiry-of-first-pair-reported-after-refresh': async (c) => {
      const [, second] = await lineOfPairs(c, 1, undefined, minuteMs)
      c.clock.set((second?.accessTokenExpiry ?? 0) + 1)
      return accessWorks(c, second)
    },
    'refreshed-refresh-token-never-expires': async (c) => {
      const [, second] = await lineOfPairs(c, 1)
      c.clock.set((second?.refreshTokenExpiry ?? 0) + 1)
      return refreshWorks(c, second)
    },
    'refresh-expiry-reported-at-most-a-day-ahead': async (c) => {
      const { accessTokenExpiry, refreshTokenExpiry } = await withLifetime(c, 2 * dayMs)
      return refreshTokenExpiry < accessTokenExpiry
    },
  })
})
