import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync } from 'node:fs'
import { createServer as createSecureServer } from 'node:https'
import { createServer } from 'node:net'
import { networkInterfaces, tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TLSSocket } from 'node:tls'
import { describe, expect, test } from 'vitest'
import { bareSettings, type WireAnswer } from '../engine/target.ts'
import { listening } from '../self/local-server.ts'
import type { Tls } from './transport.ts'
import { urlTarget } from './url.ts'

const root = { id: 'root', kind: 'secret', secret: 'not-a-secret' } as const
const given = { root, settings: bareSettings, requestTimeoutMs: 600_000, disposable: false }
const targetAt = (url: string, tls?: Tls) => urlTarget({ url, ...given, tls })

const ping = { method: 'POST', path: '/api', headers: [], body: new Uint8Array() }

/** What a server on this address sees of a call to localhost, and the second address to try there. */
async function openedOn(host: string) {
  let seen = ''
  const server = createServer((socket) => {
    socket.once('data', (bytes) => {
      seen = `${socket.remoteAddress} ${/host: (\S+)/i.exec(bytes.toString())?.[1]}`
      socket.destroy()
    })
  })
  const { port, close: closeServer } = await listening(server, host)
  const { send, baseUrl, settings, close } = await targetAt(`http://localhost:${port}/base`).open()
  await send(ping)
  await close()
  closeServer()
  return [seen, baseUrl, settings.secondAddress].map((text) => text?.replace(String(port), 'PORT'))
}

test('localhost is 127.0.0.1, and is called by its name', async () => {
  expect(await openedOn('127.0.0.1')).toEqual(['127.0.0.1 localhost:PORT', 'http://localhost:PORT/base', '127.0.0.12'])
})

const speaksIPv6 = Object.values(networkInterfaces()).some((all) => all?.some(({ address }) => address === '::1'))
const withoutIPv6 = speaksIPv6 ? '' : ' (NOT RUN: needs the address ::1)'

test.skipIf(!speaksIPv6)(`or ::1, where a server listens on no other${withoutIPv6}`, async () => {
  expect(await openedOn('::1')).toEqual(['::1 localhost:PORT', 'http://localhost:PORT/base', undefined])
})

const withoutOpenssl = spawnSync('openssl', ['version']).status === 0 ? '' : ' (NOT RUN: needs openssl in the path)'

describe.skipIf(withoutOpenssl !== '')(`https://localhost${withoutOpenssl}`, () => {
  const folder = mkdtempSync(join(tmpdir(), 'svc-tls-'))

  /** A certificate for itself, for these names. */
  function certificateFor(names: string): { cert: string; key: string } {
    const [cert, key] = [join(folder, `${names}.pem`), join(folder, `${names}.key`)]
    const request = 'req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2'.split(' ')
    const files = ['-subj', '/CN=made up', '-addext', `subjectAltName=${names}`, '-keyout', key, '-out', cert]
    expect(spawnSync('openssl', [...request, ...files]).status).toBe(0)
    return { cert: readFileSync(cert, 'utf8'), key: readFileSync(key, 'utf8') }
  }

  /** The answer to a call, and what the server saw of it. */
  async function called(names: string, tls: (cert: string) => Tls, host = 'localhost') {
    const pair = certificateFor(names)
    let seen: string | undefined
    const server = createSecureServer(pair, ({ socket, headers }, response) => {
      const { servername, remoteAddress } = socket as TLSSocket & { servername?: string }
      seen = `${remoteAddress} ${servername} ${headers.host?.replace(/\d+$/, 'PORT')}`
      response.end('{}')
    })
    const { port, close: closeServer } = await listening(server)
    const { send, sendTogether, close } = await targetAt(`https://${host}:${port}`, tls(pair.cert)).open()
    const answers: WireAnswer[] = [await send(ping), await send({ ...ping, connection: 'fresh' })]
    answers.push(...(await sendTogether([ping])))
    await close()
    closeServer()
    return { seen, told: [...new Set(answers.map((one) => (one.kind === 'none' ? one.reason : one.kind)))] }
  }

  test('with a certificate for that name, which is spoken in SNI and in Host', async () => {
    const { seen, told } = await called('DNS:localhost', (ca) => ({ ca }))
    expect(told).toEqual(['answer'])
    expect(seen).toBe('127.0.0.1 localhost localhost:PORT')
  })

  test('a certificate that is not trusted: what to name', async () => {
    const { told } = await called('DNS:localhost', () => ({}))
    expect(told).toEqual([
      'its certificate is self-signed (tls.ca in the target file or NODE_EXTRA_CA_CERTS names one to trust; "tls: { insecure: true }" in the target file takes any)',
    ])
  })

  test('a certificate for another name is not taken, unless every one is', async () => {
    const { told } = await called('DNS:other.example', (ca) => ({ ca }))
    expect(told).toEqual([
      'its certificate is for another host name ("tls: { insecure: true }" in the target file takes any)',
    ])
    expect((await called('DNS:localhost', (ca) => ({ ca }), '127.0.0.1')).told).toEqual(told)
    expect((await called('DNS:other.example', () => ({ insecure: true }))).told).toEqual(['answer'])
  })
})
