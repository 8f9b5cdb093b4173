/** The commands as their users run them: a client through the proxy, the report at the end, and the saved file judged again. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { expect, test } from 'vitest'
import { packageRoot } from '../engine/language/package-root.ts'
import { problemWith } from '../engine/language/schemas.ts'
import { call, captureCli, captured } from '../self/captured-cli.ts'
import { body } from '../self/made-up-calls.ts'
import { startMockServer } from '../targets/bundled.ts'
import type { buildWatchReport } from './report.ts'

type WatchReport = ReturnType<typeof buildWatchReport>

captureCli()
const bin = join(packageRoot, 'dist', 'suites', 'bin.js')
const folder = mkdtempSync(join(tmpdir(), 'svc-watch-'))

function start(...args: string[]) {
  const child = spawn(process.execPath, [bin, ...args], { cwd: folder, stdio: ['ignore', 'pipe', 'pipe'] })
  let printed = ''
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text) => {
      printed += text
    })
  return { child, ended: once(child, 'close').then(([code]) => ({ code: code as number, printed })) }
}

const reportIn = (name: string): WatchReport => JSON.parse(readFileSync(join(folder, name), 'utf8')) as WatchReport

test('four clients at once, refreshing and calling: nobody is accused, no call is lost, and the saved file says the same', async () => {
  const server = await startMockServer()
  const { id, secret } = server.rootKey
  const { child, ended } = start(
    'watch',
    '--url',
    server.url,
    '--save',
    'saved.jsonl',
    '--report',
    'json=watch.json',
    '--quiet',
  )
  const [line] = (await once(createInterface(child.stdout), 'line')) as [string]
  const { url } = JSON.parse(line) as { url: string }
  const ask = async (method: string, params: object, token?: string) => {
    const headers = {
      'content-type': 'application/json',
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
    }
    const answer = await fetch(`${url}/api`, { method: 'POST', headers, body: body(method, params) })
    return ((await answer.json()) as { result?: { accessToken: string; refreshToken: string } }).result
  }
  const work = async (): Promise<number> => {
    let pair = await ask('manager/auth', {
      grantType: 'api_key_credentials',
      apiKeyId: id,
      apiKeySecret: secret,
      scope: ['solution'],
    })
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
  expect([code, live.verdict, live.findings, live.clients.map(({ verdict }) => verdict)]).toEqual([
    0,
    'conforms',
    [],
    ['conforms'],
  ])
  expect(live.watched).toMatchObject({ calls: 4 + 40 + 120, refused: 0, ours: 0, lacks: [] })
  const saved = readFileSync(join(folder, 'saved.jsonl'), 'utf8').trim().split('\n')
  for (const text of saved.slice(1)) expect(problemWith(JSON.parse(text), 'exchange')).toBeUndefined()
  for (const text of [printed, ...saved, JSON.stringify(live)]) expect(text).not.toContain(secret)
  const again = await start('judge', 'saved.jsonl', '--report', 'json=judged.json').ended
  expect(again.code).toBe(0)
  const judged = reportIn('judged.json')
  expect({ ...judged.watched, clients: judged.clients }).toEqual({ ...live.watched, clients: live.clients })
})

test('a file without a call ends with 3, a broken one with 2', async () => {
  writeFileSync(join(folder, 'none.har'), JSON.stringify({ log: { entries: [] } }))
  writeFileSync(join(folder, 'broken.jsonl'), '{"what":1}\n{}\n')
  expect(await call('judge', join(folder, 'none.har'))).toBe(3)
  expect(captured.out).toContain('No call of the interface was seen')
  expect(await call('judge', join(folder, 'broken.jsonl'))).toBe(2)
  expect(captured.complaints).toContain('broken.jsonl:1')
})
