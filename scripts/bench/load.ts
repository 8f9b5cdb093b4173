import { createHmac, type KeyObject, randomBytes, sign } from 'node:crypto'
import { connect } from 'node:net'
import type { Started } from './processes.ts'

export interface LoadResult {
  callsPerSecond: number
  p50Ms: number
  p99Ms: number
}

/**
 * Sends every request once over kept connections, `connections` at a time, and waits for the answer before the next one on the same
 * connection. All answers must have a result and the same length; otherwise it rejects, because fast refusals prove nothing.
 */
export async function sendAll(port: number, requests: readonly Buffer[], connections: number): Promise<LoadResult> {
  const latencies = new Float64Array(requests.length)
  let next = 0
  const begun = performance.now()
  await Promise.all(
    Array.from(
      { length: connections },
      () =>
        new Promise<void>((resolve, reject) => {
          let current = -1
          let sentAt = 0
          let got = 0
          let length = 0
          const socket = connect(port, '127.0.0.1')
          socket.setNoDelay(true)
          const send = () => {
            current = next
            next += 1
            const request = requests[current]
            if (!request) {
              socket.destroy()
              resolve()
              return
            }
            sentAt = performance.now()
            socket.write(request)
          }
          socket.on('connect', send)
          socket.on('error', reject)
          socket.on('data', (chunk: Buffer) => {
            got += chunk.length
            if (length === 0) length = answerLength(chunk)
            if (got < length) return
            if (got > length || !chunk.includes('"result"')) {
              socket.destroy()
              reject(new Error(`An answer is not as expected:\n${chunk.toString('latin1')}`))
              return
            }
            got = 0
            latencies[current] = performance.now() - sentAt
            send()
          })
        }),
    ),
  )
  const seconds = (performance.now() - begun) / 1000
  latencies.sort()
  const at = (part: number) => latencies[Math.floor(latencies.length * part)] ?? 0
  return { callsPerSecond: requests.length / seconds, p50Ms: at(0.5), p99Ms: at(0.99) }
}

/** Not measured: code runs slowly until it has run often. */
const warmUpTurns = 2

export interface Turn extends LoadResult {
  cpuMs: number
}

/** Calls two servers in turn, each of them first every second time. */
export async function inTurns(
  sides: { one: Started; other: Started },
  { turns, connections, requests }: { turns: number; connections: number; requests: () => Buffer[] },
): Promise<{ one: Turn[]; other: Turn[] }> {
  const results: { one: Turn[]; other: Turn[] } = { one: [], other: [] }
  for (let turn = -warmUpTurns; turn < turns; turn += 1) {
    for (const side of turn % 2 === 0 ? (['one', 'other'] as const) : (['other', 'one'] as const)) {
      const { port, cpuMs } = sides[side]
      const beforeMs = cpuMs()
      const result = await sendAll(port, requests(), connections)
      if (turn >= 0) results[side].push({ ...result, cpuMs: cpuMs() - beforeMs })
    }
  }
  return results
}

function answerLength(chunk: Buffer): number {
  const headEnd = chunk.indexOf('\r\n\r\n')
  const length = /content-length: *([0-9]+)/i.exec(chunk.toString('latin1', 0, headEnd))
  return headEnd + 4 + Number(length?.[1] ?? 0)
}

const body = '{"jsonrpc":"2.0","id":1,"method":"solution/listSolutions","params":{}}'

export type Signer = { id: string; secret: string } | { id: string; privateKey: KeyObject }

/** `count` signed calls of solution/listSolutions as they go over the wire, each with its own nonce. */
export function signedRequests(signer: Signer, count: number, timestampMs = Date.now()): Buffer[] {
  return Array.from({ length: count }, () => {
    const nonce = randomBytes(12).toString('base64')
    const data = `${timestampMs};${nonce};POST\n/api\n${body}\n`
    const signature =
      'secret' in signer
        ? createHmac('sha256', signer.secret).update(data).digest().subarray(0, 20)
        : sign(null, Buffer.from(data), signer.privateKey)
    const credentials = [signer.id, '1', timestampMs, nonce, signature.toString('base64')].join(';')
    return overTheWire(body, `authorization: svc-hmac-sha256 ${credentials}\r\n`)
  })
}

/** `count` grants of tokens for a key, each with another session name. */
export function grantRequests(key: { id: string; secret: string }, count: number): Buffer[] {
  return Array.from({ length: count }, () => {
    const scope = ['solution', `session:${randomBytes(6).toString('hex')}`]
    const params = { grantType: 'api_key_credentials', apiKeyId: key.id, apiKeySecret: key.secret, scope }
    return overTheWire(JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'manager/auth', params }), '')
  })
}

/** A call with the credentials of a key, which may be sent again and again. */
export function basicRequest(key: { id: string; secret: string }): Buffer {
  const credentials = Buffer.from(`${key.id}:${key.secret}`).toString('base64')
  return overTheWire(body, `authorization: Basic ${credentials}\r\n`)
}

function overTheWire(text: string, headers: string): Buffer {
  const length = Buffer.byteLength(text)
  return Buffer.from(
    `POST /api HTTP/1.1\r\nhost: 127.0.0.1\r\n${headers}content-type: application/json\r\ncontent-length: ${length}\r\n\r\n${text}`,
  )
}
