import { connect } from 'node:net'

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

function answerLength(chunk: Buffer): number {
  const headEnd = chunk.indexOf('\r\n\r\n')
  const length = /content-length: *([0-9]+)/i.exec(chunk.toString('latin1', 0, headEnd))
  return headEnd + 4 + Number(length?.[1] ?? 0)
}
