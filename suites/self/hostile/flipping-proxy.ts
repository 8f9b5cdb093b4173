import { connect, createServer, type Socket } from 'node:net'
import { type Random, seededRandom } from '../../engine/random.ts'
import { listen } from './attack.ts'
import type { HostileServer } from './servers.ts'

/**
 * Starts a proxy of plain TCP that flips bits on the way to a server and back. What it flips follows from the seed and from the number of
 * the connection.
 *
 * @param oneOf one of so many bytes is flipped, on average
 */
export async function flippingProxy(targetPort: number, seed: number, oneOf: number): Promise<HostileServer> {
  const sockets = new Set<Socket>()
  let connections = 0
  const server = createServer((near) => {
    connections += 1
    const far = connect(targetPort, '127.0.0.1')
    const pipe = (from: Socket, to: Socket, random: Random): void => {
      from.on('data', (bytes) => to.write(flipped(bytes, random, oneOf)))
      from.on('end', () => to.end())
      from.on('error', () => to.destroy())
      from.on('close', () => sockets.delete(from))
      sockets.add(from)
    }
    pipe(near, far, seededRandom(seed + 2 * connections))
    pipe(far, near, seededRandom(seed + 2 * connections + 1))
  })
  const port = await listen(server)
  return {
    url: `http://127.0.0.1:${port}`,
    close: () => {
      for (const socket of sockets) socket.destroy()
      server.close()
    },
  }
}

function flipped(bytes: Buffer, random: Random, oneOf: number): Buffer {
  const changed = Buffer.from(bytes)
  for (let at = 0; at < changed.length; at += 1) {
    if (random.below(oneOf) === 0) changed[at] = (changed[at] ?? 0) ^ (1 << random.below(8))
  }
  return changed
}
