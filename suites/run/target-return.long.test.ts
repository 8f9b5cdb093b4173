import http from 'node:http'
import { setTimeout } from 'node:timers/promises'
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
  return { seen, target: { url, root, settings: bareSettings, requestTimeoutMs: 1000, disposable: false } }
}

const longerThanALook = 700

test.each([502, 0])('a server is away while a proxy in front of it answers %i (0: hangs up)', async (away) => {
  const { seen, target } = await front()
  const ending = new AbortController()
  const returned = targetReturned(target, ending.signal)
  await setTimeout(longerThanALook)
  seen.status = away
  await setTimeout(longerThanALook)
  seen.status = 404
  expect(await Promise.race([returned, setTimeout(300_000, 'still waiting', { ref: false })])).toBe(true)
  ending.abort()
})

test('a server that only hangs up is there', async () => {
  const { seen, target } = await front()
  seen.status = 0
  const ending = new AbortController()
  const returned = targetReturned(target, ending.signal)
  await setTimeout(longerThanALook)
  ending.abort()
  expect(await returned).toBe(false)
})
