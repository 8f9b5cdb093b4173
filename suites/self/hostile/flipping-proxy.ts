import { connect, type Socket } from 'node:net'
import { type Random, seededRandom } from '../../engine/signer/random.ts'
import { type HostileServer, tcpServer } from './servers.ts'

interface FlippingProxy extends HostileServer {
  /** The time from the first connection to the last byte from the caller, in ms. */
  calledForMs(): number
}

/**
 * Starts a proxy of plain TCP that flips bits on the way to a server and back. What it flips follows from the seed and from the number of
 * the connection.
 *
 * @param oneOf one byte in this many is flipped, on average
 */
export async function flippingProxy(targetPort: number, seed: number, oneOf: number): Promise<FlippingProxy> {
  let connections = 0
  let firstMs = 0
  let lastMs = 0
  const server = await tcpServer((near, keep) => {
    connections += 1
    if (connections === 1) firstMs = performance.now()
    near.on('data', () => {
      lastMs = performance.now()
    })
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
  return { ...server, calledForMs: () => lastMs - firstMs }
}

function flipped(bytes: Buffer, random: Random, oneOf: number): Buffer {
  const changed = Buffer.from(bytes)
  for (let at = 0; at < changed.length; at += 1) {
    if (random.below(oneOf) === 0) changed[at] = (changed[at] ?? 0) ^ (1 << random.below(8))
  }
  return changed
}
