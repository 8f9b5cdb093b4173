import { once } from 'node:events'
import http from 'node:http'
import { expect, onTestFinished, test } from 'vitest'
import { bareSettings } from '../engine/target.ts'
import { listening } from '../self/local-server.ts'
import { targetReturned } from './target-return.ts'

/** Listens, and answers with the status of the moment; 0: hangs up. */
async function front() {
  const seen = { status: 404 }
  const server = http.createServer((request, response) => {
    if (seen.status === 0) return void request.socket.destroy()
    response.writeHead(seen.status, { 'content-type': 'text/html' }).end('<h1>…</h1>')
  })
  const { url, close } = await listening(server)
  onTestFinished(close)
  const root = { id: 'root', kind: 'secret', secret: 'not-a-secret' } as const
  /** Waits until a look that began after this moment has ended, because another one followed it. */
  const looked = async () => [await once(server, 'request'), await once(server, 'request')]
  return { seen, looked, target: { url, root, settings: bareSettings, requestTimeoutMs: 600_000, disposable: false } }
}

test.each([502, 0])('a server is away while a proxy in front of it answers %i (0: hangs up)', async (away) => {
  const { seen, looked, target } = await front()
  const returned = targetReturned(target, new AbortController().signal)
  await looked()
  seen.status = away
  await looked()
  seen.status = 404
  expect(await returned).toBe(true)
})

test('a server that only hangs up is there', async () => {
  const { seen, looked, target } = await front()
  seen.status = 0
  const ending = new AbortController()
  const returned = targetReturned(target, ending.signal)
  await looked()
  ending.abort()
  expect(await returned).toBe(false)
})
