import { type AddressInfo, connect, createServer, type Socket } from 'node:net'

interface DelayingProxy {
  url: string
  close(): Promise<void>
}

/**
 * A server that is far away: every byte of a connection arrives half of `roundTripMs` later, in both directions, and opening a connection
 * takes a round trip, as the handshake of TCP does. Used by the benchmark only.
 */
export async function startDelayingProxy(port: number, roundTripMs: number): Promise<DelayingProxy> {
  const sockets = new Set<Socket>()
  const server = createServer((near) => {
    const far = connect(port, '127.0.0.1')
    const openedAtMs = performance.now() + roundTripMs
    delay(near, far, () => Math.max(openedAtMs, performance.now()) + roundTripMs / 2)
    delay(far, near, () => performance.now() + roundTripMs / 2)
    for (const socket of [near, far]) {
      socket.setNoDelay(true)
      sockets.add(socket)
      socket.on('error', () => {
        near.destroy()
        far.destroy()
      })
      socket.on('close', () => sockets.delete(socket))
    }
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        for (const socket of sockets) socket.destroy()
      }),
  }
}

/** Bytes leave in the order in which they came: a timer for each chunk would let one overtake another. */
function delay(from: Socket, to: Socket, dueMs: () => number): void {
  const waiting: { dueMs: number; send(): void }[] = []
  const sendDue = (): void => {
    for (let [first] = waiting; first !== undefined; [first] = waiting) {
      const leftMs = first.dueMs - performance.now()
      if (leftMs > 0) return void setTimeout(sendDue, leftMs)
      waiting.shift()
      first.send()
    }
  }
  const later = (send: () => void): void => {
    waiting.push({ dueMs: dueMs(), send })
    if (waiting.length === 1) sendDue()
  }
  from.on('data', (chunk) => later(() => to.writable && to.write(chunk)))
  from.on('end', () => later(() => to.end()))
}
