import { createServer } from 'node:net'
import { networkInterfaces } from 'node:os'
import { expect, test } from 'vitest'
import { bareSettings } from '../engine/target.ts'
import { urlTarget } from './url.ts'

/** The base URL and the second address for a server that listens on this address, called by the name localhost. */
async function openedOn(host: string) {
  const server = createServer((socket) => void socket.destroy())
  await new Promise<void>((resolve, reject) => server.once('error', reject).listen(0, host, resolve))
  const { port } = server.address() as { port: number }
  const target = urlTarget({
    url: `http://localhost:${port}/base`,
    root: { id: 'root', kind: 'secret', secret: 'not-a-secret' },
    settings: bareSettings,
    requestTimeoutMs: 1000,
    disposable: false,
  })
  const { baseUrl, settings, close } = await target.open()
  await close()
  server.close()
  return { baseUrl: baseUrl.replace(String(port), 'PORT'), secondAddress: settings.secondAddress }
}

test('localhost is 127.0.0.1', async () => {
  expect(await openedOn('127.0.0.1')).toEqual({ baseUrl: 'http://127.0.0.1:PORT/base', secondAddress: '127.0.0.12' })
})

const speaksIPv6 = Object.values(networkInterfaces()).some((all) => all?.some(({ address }) => address === '::1'))
const withoutIPv6 = speaksIPv6 ? '' : ' (NOT RUN: needs the address ::1)'

test.skipIf(!speaksIPv6)(`or ::1, where a server listens on no other${withoutIPv6}`, async () => {
  expect(await openedOn('::1')).toEqual({ baseUrl: 'http://[::1]:PORT/base', secondAddress: undefined })
})
