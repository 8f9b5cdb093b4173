import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { MockClock } from './clock.ts'
import type { ServerContext } from './context.ts'
import type { Faults } from './faults.ts'
import { createFront } from './front.ts'
import { createHandler } from './handler.ts'
import type { Journal } from './journal.ts'
import type { ServerOptions } from './options.ts'

export interface StartOptions extends ServerOptions {
  /** 0 (default): any free port. */
  port?: number
  /** Default 127.0.0.1. */
  host?: string
}

export interface MockServer {
  /** The base URL; calls go to `${url}/api`. */
  url: string
  /** The initial key; its secret is worth nothing when it was given a public key. */
  rootKey: { id: string; secret: string }
  /** Ids of the two solutions that are there from the start. */
  solutions: string[]
  clock: MockClock
  /** Back to the state at the start, with the same root key; the clock and the connections stay. */
  reset(): void
  /** What was called, and what became of it. */
  journal: Journal
  /** Things that go wrong on purpose. */
  faults: Faults
  /** Ends all connections at once. */
  close(): Promise<void>
}

/**
 * Starts a reference server on the loopback. Servers share nothing.
 * Rejects with the error of node:net (`EADDRINUSE`, …) when it cannot listen.
 */
export async function startMockServer(options: StartOptions = {}): Promise<MockServer> {
  const { handle, context, journal, faults, reset } = createHandler(options)
  const { bounds, profile } = context
  const front = createFront(handle, { bounds, maxBodyBytes: profile.maxBodyBytes })
  const host = options.host ?? '127.0.0.1'
  await listen(front, options.port ?? 0, host)
  const { port } = front.address() as AddressInfo
  return {
    url: `http://${host.includes(':') ? `[${host}]` : host}:${port}${profile.basePath}`,
    rootKey: { id: context.root.id, secret: context.root.secret },
    clock: context.clock,
    get solutions() {
      return solutionIds(context)
    },
    reset,
    journal,
    faults,
    close() {
      // Calls that wait at a barrier would keep their connections busy.
      faults.clear()
      return close(front)
    },
  }
}

function solutionIds({ state }: ServerContext): string[] {
  return [...state.solutions.keys()].slice(0, 2)
}

function listen(server: Server, port: number, host: string): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, host, () => {
      server.off('error', reject)
      resolve()
    })
  })
}

function close(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve())
    server.closeAllConnections()
  })
}
