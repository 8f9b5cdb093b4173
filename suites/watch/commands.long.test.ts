/** The commands as their users run them: a client through the proxy, the report at the end, and the saved file judged again. */
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { describe, expect, test } from 'vitest'
import { problemWith } from '../engine/language/schemas.ts'
import { utf8 } from '../engine/signer/bytes.ts'
import { ed25519KeyPair } from '../engine/signer/pem.ts'
import { call, captureCli, captured } from '../self/captured-cli.ts'
import { body, hmacHeader, rootKey, rootSecret, startMs } from '../self/made-up-calls.ts'
import { printedBy, startBuilt } from '../self/printed-by.ts'
import { openFolder } from '../self/temporary.ts'
import { startMockServer } from '../targets/bundled.ts'
import type { buildWatchReport } from './report.ts'

type WatchReport = ReturnType<typeof buildWatchReport>

captureCli()
const { folder, write, read } = openFolder()

function start(...args: string[]) {
  const child = startBuilt(args, { cwd: folder })
  const printed = printedBy(child)
  return { child, ended: once(child, 'close').then(([code]) => ({ code: code as number, printed: printed() })) }
}

const reportIn = (name: string): WatchReport => JSON.parse(read(name)) as WatchReport

test('four clients at once, refreshing and calling: nobody is accused, no call is lost, and the saved file says the same', async () => {
  const server = await startMockServer()
  const { id, secret } = server.rootKey
  const asked = ['--save', 'saved.jsonl', '--report', 'json=watch.json', '--quiet']
  const { child, ended } = start('watch', '--url', server.url, ...asked)
  const [line] = (await once(createInterface(child.stdout), 'line')) as [string]
  const { url } = JSON.parse(line) as { url: string }
  const ask = async (method: string, params: object, token?: string) => {
    const authorization = token === undefined ? {} : { authorization: `Bearer ${token}` }
    const headers = { 'content-type': 'application/json', ...authorization }
    const answer = await fetch(`${url}/api`, { method: 'POST', headers, body: body(method, params) })
    return ((await answer.json()) as { result?: { accessToken: string; refreshToken: string } }).result
  }
  const work = async (): Promise<number> => {
    const key = { apiKeyId: id, apiKeySecret: secret }
    let pair = await ask('manager/auth', { grantType: 'api_key_credentials', ...key, scope: ['solution'] })
    let accepted = 0
    for (let round = 0; round < 10; round++) {
      const calls = [1, 2, 3].map(() => ask('solution/listSolutions', {}, pair?.accessToken))
      accepted += (await Promise.all(calls)).filter((result) => result !== undefined).length
      pair = await ask('manager/auth', { grantType: 'refresh_token', refreshToken: pair?.refreshToken })
    }
    return accepted
  }
  expect(await Promise.all([work(), work(), work(), work()])).toEqual([30, 30, 30, 30])
  child.kill('SIGTERM')
  const { code, printed } = await ended
  await server.close()
  const live = reportIn('watch.json')
  expect(problemWith(live, 'report')).toBeUndefined()
  expect(code).toBe(0)
  expect(live).toMatchObject({ verdict: 'conforms', findings: [], clients: [{ verdict: 'conforms' }] })
  expect(live.watched).toMatchObject({ calls: 4 + 40 + 120, refused: 0, ours: 0, lacks: [] })
  const saved = read('saved.jsonl').trim().split('\n')
  for (const text of saved.slice(1)) expect(problemWith(JSON.parse(text), 'exchange')).toBeUndefined()
  for (const text of [printed, ...saved, JSON.stringify(live)]) expect(text).not.toContain(secret)
  const again = await start('judge', 'saved.jsonl', '--report', 'json=judged.json').ended
  expect(again.code).toBe(0)
  const judged = reportIn('judged.json')
  expect({ ...judged.watched, clients: judged.clients }).toEqual({ ...live.watched, clients: live.clients })
})

test('a file without a call ends with 3, a broken one with 2', async () => {
  expect(await call('judge', write('none.har', JSON.stringify({ log: { entries: [] } })))).toBe(3)
  expect(captured.out).toContain('No call of the interface was seen')
  expect(await call('judge', write('broken.jsonl', '{"what":1}\n{}\n'))).toBe(2)
  expect(captured.complaints).toContain('broken.jsonl:1')
})

describe('--keys of judge', () => {
  const accepted = { status: 200, headers: {}, body: JSON.stringify({ jsonrpc: '2.0', id: 1, result: { list: [] } }) }
  const signed = (afterMs: number, change: Parameters<typeof hmacHeader>[1] = {}) => ({
    ...{ httpMethod: 'POST', target: '/api', body: body('solution/listSolutions'), answer: accepted },
    ...{ startedMs: startMs + afterMs, answeredMs: startMs + afterMs + 5 },
    headers: [
      ['content-type', 'application/json'],
      ['authorization', hmacHeader(undefined, { timestamp: String(startMs + afterMs), ...change })],
    ],
  })
  // A secret is believed once a signature with it was accepted.
  const calls = [signed(0), signed(100, { secret: 'the-secret-of-nobody' })].map((one) => JSON.stringify(one))
  const traffic = () => write('signed.jsonl', calls.join('\n'))
  const judge = (keys: string) => call('judge', traffic(), '--keys', write('keys.yaml', keys))
  const id = rootKey.id

  test.each([
    ['no key, so nothing', '[]', 0],
    ['its secret', `- { id: ${id}, secret: ${rootSecret} }`, 1],
    ['its public key', `- { id: ${id}, publicKeyFile: public.pem }`, 1],
  ])('a wrong signature that was accepted is judged by %s', async (_by, keys, code) => {
    write('public.pem', ed25519KeyPair(utf8('an Ed25519 seed of 32 bytes ....')).publicKeyPem)
    expect(await judge(keys)).toBe(code)
  })

  test.each([
    [`id: ${rootSecret}`, ': expected a list of { id, secret } or { id, publicKeyFile }'],
    [`- { id: a, secret: ${rootSecret}, name: b }`, ', entry 1: unknown key "name", expected "id" with'],
    [`- { id: a, secret: s }\n- { secret: ${rootSecret} }`, ', entry 2: "id" is missing or not a text'],
    [`- { id: a, secret: ${rootSecret}, publicKeyFile: b }`, 'entry 1: expected one of "secret" and "publicKeyFile"'],
    ['- { id: a }', 'entry 1: expected one of "secret" and "publicKeyFile"'],
    ['- { id: a, publicKeyFile: nowhere.pem }', 'nowhere.pem'],
  ])('%s cannot be loaded, and no text of it is shown', async (keys, problem) => {
    expect(await judge(keys)).toBe(2)
    expect(captured.complaints).toContain('Cannot load ')
    expect(captured.complaints).toContain(problem)
    expect(captured.complaints).not.toContain(rootSecret)
  })
})
