import { connect, type Socket } from 'node:net'
import { type Random, seededRandom } from '../../engine/random.ts'
import { type HostileServer, tcpServer } from './servers.ts'

/**
 * Starts a proxy of plain TCP that flips bits on the way to a server and back. What it flips follows from the seed and from the number of
 * the connection.
 *
 * @param oneOf one byte in this many is flipped, on average
 */
export function flippingProxy(targetPort: number, seed: number, oneOf: number): Promise<HostileServer> {
  let connections = 0
  return tcpServer((near, keep) => {
    connections += 1
    const far = connect(targetPort, '127.0.0.1')
    keep(far)
    const pipe = (from: Socket, to: Socket, random: Random): void => {
      from.on('data', (bytes) => to.write(flipped(bytes, random, oneOf)))
      from.on('end', () => to.end())
      from.on('error', () => to.destroy())
    }
    pipe(near, far, seededRandom(seed + 2 * connections))
    pipe(far, near, seededRandom(seed + 2 * connections + 1))
  })
}

function flipped(bytes: Buffer, random: Random, oneOf: number): Buffer {
  const changed = Buffer.from(bytes)
  for (let at = 0; at < changed.length; at += 1) {
    if (random.below(oneOf) === 0) changed[at] = (changed[at] ?? 0) ^ (1 << random.below(8))
  }
  return changed
}
