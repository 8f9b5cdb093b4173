/** A target in memory, with a clock that is moved: for tests and proofs, ten times as fast as HTTP. */
import type { Handle } from '../targets/in-process.ts'
import type { Request, Response, Wire } from './wire.ts'

export function openMemoryWire(
  handle: Handle,
  clock: { now(): number; advance(ms: number): void },
  target = '/api',
): Wire {
  // At a full second, a server that ignores the milliseconds of a time could not be told from one that reads them.
  clock.advance(417)
  const connections = new Map<string, number>()
  let last = 0
  const connectionOf = ({ connection, from }: Request): number => {
    if (connection === 'new') return ++last
    const name = `${connection} ${from ?? ''}`
    const known = connections.get(name) ?? ++last
    connections.set(name, known)
    return known
  }
  return {
    url: `http://memory${target}`,
    send: async (request): Promise<Response> => {
      const body = Buffer.from(request.body, 'utf8')
      const answer = await handle({
        method: 'POST',
        target,
        headers: {
          host: 'memory',
          'content-type': 'application/json',
          ...(request.inChunks === true
            ? { 'transfer-encoding': 'chunked' }
            : { 'content-length': String(body.length) }),
          ...(request.authorization === undefined ? {} : { authorization: request.authorization.trim() }),
        },
        body,
        remoteAddress: request.from ?? '127.0.0.1',
        connection: connectionOf(request),
      })
      if (answer.hangUp === true) return { kind: 'none', reason: 'the connection was closed', stale: false }
      const header = (wanted: string): string | undefined =>
        Object.entries(answer.headers).find(([name]) => name.toLowerCase() === wanted)?.[1]
      return {
        kind: 'answer',
        status: answer.status,
        retryAfter: header('retry-after'),
        date: header('date'),
        body: answer.body,
      }
    },
    now: () => clock.now(),
    sleep: async (ms) => clock.advance(ms),
    controlled: true,
    close: () => {},
  }
}
