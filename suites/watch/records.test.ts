/** Files of traffic as tools write them: what they lack stays open and is said once, and broken ones are errors with a place. */
import { describe, expect, test } from 'vitest'
import { body } from '../self/made-up-calls.ts'
import { judgedTraffic } from '../self/made-up-traffic.ts'
import { startMockServer } from '../targets/bundled.ts'
import { readTraffic } from './records.ts'

const address = 'https://service.example/base/api'
const list = body('solution/listSolutions')
const answer = JSON.stringify({ jsonrpc: '2.0', id: 1, result: { list: [] } })

const usual = {
  ...{ url: address, started: '2026-01-01T00:00:00.000Z', headers: [] as [string, string][], status: 200 },
  postData: { mimeType: 'application/json', text: list } as object | null,
  ...{ bodySize: list.length, content: { size: answer.length, text: answer } as object },
}

const entry = (made: Partial<typeof usual> = {}) => {
  const { url, started, headers, status, postData, bodySize, content } = { ...usual, ...made }
  const all = [['Content-Type', 'application/json'], ['User-Agent', 'x'], ...headers]
  const request = { method: 'POST', url, headers: all.map(([name, value]) => ({ name, value })), bodySize }
  const asked = { ...request, ...(postData === null ? {} : { postData }) }
  return { startedDateTime: started, time: 5, request: asked, response: { status, headers: [], content } }
}

const har = (...entries: unknown[]): string => JSON.stringify({ log: { version: '1.2', entries } })
const token: [string, string] = ['Authorization', 'Bearer some-token-0123456789']

describe('a HAR', () => {
  const judged = (...entries: unknown[]) => {
    const { observed, lacks, others } = readTraffic(har(...entries), 'x.har')
    return { ...judgedTraffic(observed), lacks, others }
  }

  test.each([
    ['https://service.example/api', '443', 0],
    ['https://service.example/api', '51234', 51234],
    ['http://service.example:8080/api', '8080', 0],
    ['http://service.example:8080/api', '80', 80],
    ['http://service.example/api', '80', 0],
    ['https://service.example/api', 'no number', 0],
  ])('of %s tells connection %s apart only if it is no port of the server', (url, connection, expected) => {
    const { observed } = readTraffic(har({ ...entry({ headers: [token], url }), connection }), 'x.har')
    expect(observed.map((one) => one.connection)).toEqual([expected])
  })

  test('is judged in the order of its times, and entries of other sites are left out', () => {
    const late = entry({ started: '2026-01-01T00:00:09.000Z', headers: [token] })
    const elsewhere = ['https://stats.example/api', 'https://service.example/other'].map((url) => entry({ url }))
    const file = har(late, entry({ headers: [token] }), ...elsewhere)
    const { observed, others, lacks } = readTraffic(file, 'x.har')
    expect(observed.map(({ startedMs }) => new Date(startedMs).getUTCSeconds())).toEqual([0, 9])
    expect([others, lacks]).toEqual([2, []])
  })

  test('without sensitive data accuses nobody of missing authorization, and says so once', () => {
    const { found, lacks } = judged(entry(), entry())
    expect(found).toEqual([])
    expect(lacks).toEqual([expect.stringMatching(/^In 2 entries of x\.har no Authorization header is recorded/)])
    // Another entry shows that the tool keeps such headers.
    expect(judged(entry(), entry({ headers: [token], started: '2026-01-01T00:00:01.000Z' })).ids).toEqual([
      'found/authorization/required/let-in',
    ])
  })

  const encoding = 'base64'
  const inBase64 = {
    postData: { text: btoa(list), encoding },
    content: { size: answer.length, text: btoa(answer), encoding },
  }
  const cutShort = { content: { size: answer.length, text: answer.slice(0, 20) } }
  test.each([
    ['bodies in BASE64', inBase64, []],
    ['a missing body of a request', { postData: null }, [/body of the request is missing/]],
    ['a body of another length', { bodySize: list.length + 3 }, [/body of the request is missing or cut short/]],
    ['a body whose length is not known', { bodySize: -1 }, [/length of the body/]],
    ['an answer that is cut short', cutShort, [/body of the answer is missing/]],
    ['a missing answer', { content: { size: 300 } }, [/body of the answer is missing/]],
    ['a compressed answer', { content: { size: answer.length, compression: 10, text: answer } }, []],
    ['a call that was aborted', { status: 0 }, []],
  ] as [string, Partial<typeof usual>, RegExp[]][])('with %s', (_name, made, says) => {
    const { found, lacks, calls } = judged(entry({ ...made, headers: [token] }))
    expect(calls).toBe(1)
    expect(found).toEqual([])
    expect(lacks).toEqual(says.map((one) => expect.stringMatching(one)))
  })
})

test.each([
  ['not JSON\n{}', /Cannot judge x:1: expected a JSON object/],
  ['{"target":"/api","headers":[],"startedMs":1}\n{"what":1}\n', /x:2: expected an exchange/],
  ['{"target":"/api","headers":[]}\n', /x:1: "startedMs" is missing/],
  ['{"log":{"entries":3}}', /"log.entries"/],
  [har(entry(), { request: {} }), /entry 2: expected "request"/],
  [har(entry({ started: 'yesterday' })), /entry 1: "startedDateTime" is not a time/],
])('a broken file is an error with a place: %j', (text, message) => {
  expect(() => readTraffic(text, 'x')).toThrow(message)
})

test('a last line that was cut off is said and left out', () => {
  const { observed, lacks } = readTraffic('{"target":"/api","headers":[],"startedMs":1}\n{"target":"/ap', 'x')
  expect(observed).toHaveLength(1)
  expect(lacks).toEqual([expect.stringMatching(/^The last line of x was cut off/)])
})

test('the journal of the reference server shows who uses what was revoked, and no more', async () => {
  const server = await startMockServer()
  const ask = async (method: string, params: object, authorization?: string) => {
    const headers = { 'content-type': 'application/json', ...(authorization === undefined ? {} : { authorization }) }
    const response = await fetch(`${server.url}/api`, { method: 'POST', headers, body: body(method, params) })
    return ((await response.json()) as { result: { accessToken: string; refreshToken: string } }).result
  }
  const { id, secret } = server.rootKey
  const key = { apiKeyId: id, apiKeySecret: secret }
  const first = await ask('manager/auth', { grantType: 'api_key_credentials', ...key, scope: ['solution'] })
  await ask('manager/auth', { grantType: 'refresh_token', refreshToken: first.refreshToken })
  await ask('solution/listSolutions', {}, `Bearer ${first.accessToken}`)
  const lines = [{ url: server.url, apiKeyId: id, apiKeySecret: secret }, ...server.journal.entries()]
  await server.close()
  const { observed, keys, lacks } = readTraffic(lines.map((line) => JSON.stringify(line)).join('\n'), 'journal.jsonl')
  expect(keys).toEqual([{ id, secret }])
  expect(lacks).toEqual([expect.stringMatching(/^3 entries of a journal/)])
  const judged = judgedTraffic(observed, { keys })
  expect(judged.found).toEqual([])
  // The journal does not say whose token was refused, but why.
  expect(judged.lines.at(-1)?.why).toEqual([expect.stringContaining('token/revoked')])
  // Of an accepted one it names the pair.
  const [, , last] = server.journal.entries()
  const { issued } = server.journal.entries()[0] ?? {}
  const accepted = { ...last, verdict: 'accepted', pair: issued, means: 'token' }
  const wrong = [...lines.slice(0, 3), accepted].map((line) => JSON.stringify(line)).join('\n')
  const { ids } = judgedTraffic(readTraffic(wrong, 'journal.jsonl').observed)
  expect(ids).toEqual(['found/refresh/revokes-access/let-in'])
})
