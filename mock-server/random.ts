import { createHmac, randomBytes } from 'node:crypto'

/** Gives `size` fresh bytes. */
export type RandomBytes = (size: number) => Buffer

/** Unpredictable bytes, or with a seed the same sequence each time. Never use a seed outside tests. */
export function createRandom(seed: string | undefined): RandomBytes {
  if (seed === undefined) return fromPool
  let counter = 0
  return (size) => {
    const blocks: Buffer[] = []
    for (let made = 0; made < size; made += 32) {
      counter += 1
      blocks.push(createHmac('sha256', `mock-server seed ${seed}`).update(String(counter)).digest())
    }
    return Buffer.concat(blocks).subarray(0, size)
  }
}

let pool = Buffer.alloc(0)

/** One request to the system serves many servers and tokens, because a large request costs no more than a small one. */
function fromPool(size: number): Buffer {
  if (size > pool.length) pool = randomBytes(Math.max(size, 4096))
  const bytes = pool.subarray(0, size)
  pool = pool.subarray(size)
  return bytes
}
