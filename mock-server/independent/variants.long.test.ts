import { generateKeyPairSync } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { afterEach, describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import { type Answer, startVariantClient, type VariantClient } from '../test-variant-client.ts'
import { independentVariants } from './variants.ts'

const questionIds = new Set(
  (parse(readFileSync(new URL('../../spec/open-questions.yaml', import.meta.url), 'utf8')) as { id: string }[]).map(
    ({ id }) => id,
  ),
)

let client: VariantClient | undefined
afterEach(async () => {
  await client?.server.close()
  client = undefined
})

async function start(id: string): Promise<VariantClient> {
  const variant = independentVariants.find((one) => one.id === id)
  if (!variant) throw new Error(`No variant ${id}`)
  client = await startVariantClient(variant)
  return client
}

function expectTokens({ result, text }: Answer) {
  expect(result, text).toMatchObject({
    accessToken: expect.stringMatching(/./),
    accessTokenExpiry: expect.any(Number),
    refreshToken: expect.stringMatching(/./),
    refreshTokenExpiry: expect.any(Number),
    tokenType: 'Bearer',
  })
  const tokens = result as { accessTokenExpiry: number; refreshTokenExpiry: number; scope: unknown }
  expect(String(tokens.accessTokenExpiry)).toMatch(/^[1-9][0-9]{12}$/)
  expect(String(tokens.refreshTokenExpiry)).toMatch(/^[1-9][0-9]{12}$/)
  expect(tokens.refreshTokenExpiry).toBeGreaterThanOrEqual(tokens.accessTokenExpiry)
  expect(Array.isArray(tokens.scope)).toBe(true)
  return result as { accessToken: string; refreshToken: string; accessTokenExpiry: number; refreshTokenExpiry: number }
}

test('there are at least 65, with ids of their own and known questions', () => {
  expect(independentVariants.length).toBeGreaterThanOrEqual(65)
  const ids = independentVariants.map(({ id }) => id)
  expect(new Set(ids).size).toBe(ids.length)
  for (const { id, questions } of independentVariants) {
    expect(id).toMatch(/^[a-z0-9]+(-[a-z0-9]+)*$/)
    expect(
      questions.filter((question) => !questionIds.has(question)),
      id,
    ).toEqual([])
    expect(new Set(questions).size, id).toBe(questions.length)
  }
})

/** `npm test` tries every third of them, `npm run proof` all. */
const tried = independentVariants.filter((_, at) => process.env.SVC_PROOF !== undefined || at % 3 === 0)

describe.each(tried.map(({ id }) => id))('%s', (id) => {
  test('accepts every kind of authorization', async () => {
    const { server } = await start(id)
    const calls = client as VariantClient
    const basic = await calls.list(calls.basic(server.rootKey))
    expect(basic.json, basic.text).toMatchObject({ jsonrpc: '2.0', id: expect.any(Number), result: expect.any(Object) })
    expect((await calls.list(calls.signed(server.rootKey))).result).toBeTypeOf('object')

    const first = expectTokens(await calls.grant(server.rootKey, ['solution']))
    expect((await calls.listWith(first.accessToken)).result).toBeTypeOf('object')
    const second = expectTokens(await calls.refresh(first.refreshToken))
    expect(second.accessToken).not.toBe(first.accessToken)
    expect(second.refreshToken).not.toBe(first.refreshToken)
    expect((await calls.listWith(second.accessToken)).result).toBeTypeOf('object')
    const third = expectTokens(await calls.refresh(second.refreshToken))
    expect((await calls.listWith(third.accessToken)).result).toBeTypeOf('object')
  })

  test('accepts created keys', async () => {
    await start(id)
    const calls = client as VariantClient
    const key = await calls.createKey({ name: 'plain', scope: ['apikey', 'solution', 'context'] })
    expect((await calls.list(calls.basic(key))).result).toBeTypeOf('object')
    expect((await calls.list(calls.signed(key))).result).toBeTypeOf('object')
    const { accessToken } = expectTokens(await calls.grant(key, ['solution']))
    expect((await calls.listWith(accessToken)).result).toBeTypeOf('object')

    const { publicKey, privateKey } = generateKeyPairSync('ed25519')
    const pem = publicKey.export({ type: 'spki', format: 'pem' }).toString().trimEnd()
    const ecc = await calls.createKey({ name: 'curve', scope: ['solution'], publicKey: pem })
    expect((await calls.list(calls.signed({ id: ecc.id, privateKey }))).result).toBeTypeOf('object')
  })

  test('refuses what the document refuses', async () => {
    const { server } = await start(id)
    const calls = client as VariantClient
    const wrong = { id: server.rootKey.id, secret: `${server.rootKey.secret}0` }
    const kept = async (answer: Promise<Answer>) => {
      const { result } = await answer.catch(() => ({ result: undefined }))
      expect(result).toBeUndefined()
    }
    await kept(calls.list())
    await kept(calls.list(calls.basic(wrong)))
    await kept(calls.list(calls.signed(wrong)))
    await kept(calls.grant(wrong, ['solution']))
    await kept(calls.listWith('0'.repeat(43)))
    server.clock.advance(10_000)
    const old = expectTokens(await calls.grant(server.rootKey, ['solution']))
    const fresh = expectTokens(await calls.refresh(old.refreshToken))
    await kept(calls.listWith(old.accessToken))
    await kept(calls.listWith(fresh.refreshToken))
    const context = expectTokens(await calls.grant(server.rootKey, ['context']))
    await kept(calls.listWith(context.accessToken))
    const other = expectTokens(await calls.grant(server.rootKey, ['solution', 'ipAddr:198.51.100.9']).then(orSolution))
    if (other.accessToken !== '-') await kept(calls.listWith(other.accessToken))
    const brief = expectTokens(await calls.grant(server.rootKey, ['solution', 'expiresIn:5000']))
    expect(Math.abs(brief.accessTokenExpiry - calls.now() - 5000)).toBeLessThan(1000)
    server.clock.advance(6000)
    await kept(calls.listWith(brief.accessToken))
    expectTokens(await calls.refresh(brief.refreshToken))
  })

  test('keeps sixteen sessions', async () => {
    await start(id)
    const calls = client as VariantClient
    const key = await calls.createKey({ name: 'sessions', scope: ['solution'] })
    const tokens: string[] = []
    const open = async (name: string) => {
      calls.server.clock.advance(50)
      const { accessToken } = expectTokens(await calls.grant(key, ['solution', `session:${name}`]))
      tokens.push(accessToken)
    }
    for (let count = 1; count <= 16; count++) await open(`name${count}`)
    for (const token of tokens) {
      calls.server.clock.advance(50)
      expect((await calls.listWith(token)).result).toBeTypeOf('object')
    }
    await open('name17')
    const live: boolean[] = []
    for (const token of tokens) {
      const answer = await calls.listWith(token).catch(() => undefined)
      live.push(answer?.result !== undefined)
    }
    expect(live).toEqual([false, ...Array(16).fill(true)])
  })
})

/** Some variants do not grant an address that is not the caller's; the test then goes on without the token. */
function orSolution(answer: Answer): Answer {
  if (answer.result !== undefined) return answer
  const expiry = Date.UTC(2026, 0, 2)
  const result = {
    accessToken: '-',
    refreshToken: '-',
    accessTokenExpiry: expiry,
    refreshTokenExpiry: expiry,
    tokenType: 'Bearer',
    scope: [],
  }
  return { ...answer, result }
}

describe('a variant really differs', () => {
  const rootGrant = (calls: VariantClient, ...scope: string[]) =>
    calls.grant(calls.server.rootKey, ['solution', ...scope])
  const status = async (answer: Promise<Answer>) => (await answer).status

  test('a locked key is throttled, and is free again after a reset', async () => {
    const calls = await start('lockout-of-key-after-five-throttled')
    const root = calls.server.rootKey
    const attempt = (secret: string) => {
      const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'solution/listSolutions', params: {} })
      return calls.post(body, calls.basic({ id: root.id, secret }))
    }
    for (let tries = 0; tries < 5; tries++) expect(await status(attempt('wrong'))).toBe(401)
    const locked = await attempt(root.secret)
    expect([locked.status, locked.headers.get('retry-after')]).toEqual([429, '5'])
    calls.server.reset()
    expect(await status(attempt(root.secret))).toBe(200)
  })

  test('a long expiresIn is shortened', async () => {
    const calls = await start('access-at-most-one-minute-rounded-down')
    const { accessTokenExpiry } = expectTokens(await rootGrant(calls, 'expiresIn:3600000'))
    expect(accessTokenExpiry - calls.now()).toBeLessThanOrEqual(60_000)
  })

  test('the second unnamed grant ends the first', async () => {
    const calls = await start('sessions-one-default-session-replaced')
    const first = expectTokens(await rootGrant(calls))
    await rootGrant(calls)
    expect((await calls.listWith(first.accessToken)).result).toBeUndefined()
  })

  test('a session name in use is refused', async () => {
    const calls = await start('sessions-name-in-use-refused')
    expectTokens(await rootGrant(calls, 'session:one'))
    expect((await rootGrant(calls, 'session:one')).result).toBeUndefined()
    expectTokens(await rootGrant(calls, 'session:two'))
  })

  test('a session ends before its tokens', async () => {
    const calls = await start('sessions-end-after-eight-hours')
    const { refreshToken } = expectTokens(await rootGrant(calls, 'session:one'))
    calls.server.clock.advance(8 * 3_600_000)
    expect((await calls.refresh(refreshToken)).result).toBeUndefined()
  })

  test('the oldest of 41 access tokens ends, and its refresh token does not', async () => {
    const calls = await start('tokens-40-live-for-each-key')
    const first = expectTokens(await rootGrant(calls))
    for (let count = 2; count <= 40; count++) await rootGrant(calls)
    expect((await calls.listWith(first.accessToken)).result).toBeDefined()
    await rootGrant(calls)
    expect((await calls.listWith(first.accessToken)).result).toBeUndefined()
    expectTokens(await calls.refresh(first.refreshToken))
  })

  test('another spelling of the bytes of a token is accepted', async () => {
    const calls = await start('tokens-compared-as-bytes')
    const { accessToken } = expectTokens(await rootGrant(calls))
    expect(accessToken).toMatch(/=$/)
    expect((await calls.listWith(accessToken.replace(/=+$/, ''))).result).toBeDefined()
    expect((await calls.listWith(`${accessToken.replace(/=+$/, '')}AA`)).result).toBeUndefined()
  })

  test('a nonce is remembered for five seconds', async () => {
    const calls = await start('nonce-remembered-for-five-seconds')
    const list = () => calls.list(calls.signed(calls.server.rootKey, { nonce: 'repeated-nonce' }))
    expect((await list()).result).toBeDefined()
    expect((await list()).result).toBeUndefined()
    calls.server.clock.advance(5000)
    expect((await list()).result).toBeDefined()
  })

  test('a refused signature gets no answer, refused Basic credentials do', async () => {
    const calls = await start('refusals-hang-up-on-signatures-and-tokens')
    const wrong = { id: calls.server.rootKey.id, secret: 'wrong' }
    await expect(calls.list(calls.signed(wrong))).rejects.toThrow()
    expect(await status(calls.list(calls.basic(wrong)))).toBe(401)
  })

  test('ipAddr holds for the address seen behind a translation', async () => {
    const calls = await start('address-translated-and-of-caller-only')
    const { accessToken } = expectTokens(await rootGrant(calls, 'ipAddr:203.0.113.1'))
    expect((await calls.listWith(accessToken)).result).toBeDefined()
    expect((await rootGrant(calls, 'ipAddr:127.0.0.1')).result).toBeUndefined()
  })

  test('a refused creation takes a place', async () => {
    const calls = await start('keys-refused-creations-counted')
    const root = calls.basic(calls.server.rootKey)
    const params = { name: 'wrong', scope: ['solution'], publicKey: 'no key' }
    expect((await calls.call('manager/createApiKey', params, root)).result).toBeUndefined()
    for (let count = 1; count <= 9; count++) await calls.createKey({ name: `key ${count}`, scope: ['solution'] })
    await expect(calls.createKey({ name: 'tenth', scope: ['solution'] })).rejects.toThrow('24877')
  })

  test('Retry-After is a date of the server', async () => {
    const calls = await start('rate-40-retry-after-date')
    const answers = await Promise.all(Array.from({ length: 41 }, () => calls.post('{}')))
    const throttled = answers.find((answer) => answer.status === 429)
    expect(Date.parse(throttled?.headers.get('retry-after') ?? '') - calls.now()).toBeLessThanOrEqual(1000)
  })

  test('JSON members are in reverse', async () => {
    const calls = await start('json-spread-over-lines-in-reverse')
    expect((await calls.list(calls.basic(calls.server.rootKey))).text).toMatch(
      /^\s+\{\s+"result".*"jsonrpc": "2.0"\s+\}\n\n$/s,
    )
  })
})
