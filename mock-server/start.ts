import { randomBytes } from 'node:crypto'
import { createRandom, type MockClock, type ServerOptions } from './context.ts'
import { createControl, createOperator, type Operator } from './control.ts'
import { createHandler, type Faults, type MockHandler } from './handler.ts'
import { type Handle, openServer, type Recording } from './http-server.ts'
import type { Journal } from './journal.ts'
import { defaultBounds, type Profile, profileFromWords } from './profile.ts'

export interface StartOptions extends ServerOptions {
  /** 0 (default): any free port. */
  port?: number
  /** Default 127.0.0.1. */
  host?: string
  /** Opens the control port on 127.0.0.1: off by default. Its token is made up unless given. */
  control?: boolean | { port?: number; token?: string }
}

export interface MockServer extends Operator {
  /** The base URL; calls go to `${url}/api`. */
  url: string
  /** The initial key; its secret proves nothing if it was given a public key. */
  rootKey: { id: string; secret: string }
  /** Ids of the two solutions that exist from the start. */
  readonly solutions: string[]
  clock: MockClock
  /** Every choice where the document is silent. */
  profile: Profile
  /** The calls and their results. */
  journal: Journal
  /** Every exchange byte by byte, if recording is on. */
  recording: Recording | undefined
  /** Deliberate faults. */
  faults: Faults
  /** The URL of the control port. */
  control: { url: string; token: string } | undefined
  /** Answers a request without a socket, in the same way as one from a socket. */
  handle: Handle
  /** Back to the state at the start, with the same root key; no faults, an empty journal. The clock and the connections stay. */
  reset(): void
  /** Ends all connections at once. */
  close(): Promise<void>
  /** The same as `close`, for `await using`. */
  [Symbol.asyncDispose](): Promise<void>
  /** Takes no new connections, lets the calls under way end for at most `graceMs`, then closes. */
  stop(graceMs?: number): Promise<void>
}

/**
 * Starts a reference server on the loopback. Servers share nothing.
 * Rejects with the error of node:net (`EADDRINUSE`, …) when it cannot listen.
 */
export async function startMockServer(options: StartOptions = {}): Promise<MockServer> {
  const handler = createHandler(options)
  const { handle, context, journal, faults, reset } = handler
  const { bounds, profile, clock, root } = context
  const { host = '127.0.0.1', port = 0 } = options
  const recordedBytes = options.recording?.bytes
  const server = await openServer(handle, { port, host, bounds, maxBodyBytes: profile.maxBodyBytes, recordedBytes })
  const control = await openControl(handler, options).catch(async (error: unknown) => {
    await server.close()
    throw error
  })
  const close = async (gently?: boolean) => {
    // Calls that wait at a barrier would keep their connections busy.
    faults.clear()
    await Promise.all([server.close(gently), control?.close(gently)])
  }
  return {
    ...createOperator(handler),
    url: `${server.origin}${profile.basePath}`,
    rootKey: { id: root.id, secret: root.secret },
    get solutions() {
      return [...context.state.solutions.keys()].slice(0, 2)
    },
    clock,
    profile,
    handle,
    journal,
    recording: server.recording,
    faults,
    control: control && { url: control.origin, token: control.token },
    reset,
    close: () => close(),
    [Symbol.asyncDispose]: () => close(),
    async stop(graceMs = 5000) {
      const late = setTimeout(() => void close(), graceMs)
      await close(true)
      clearTimeout(late)
    },
  }
}

async function openControl(handler: MockHandler, { control }: StartOptions) {
  if (control === undefined || control === false) return undefined
  const { port = 0, token = randomBytes(16).toString('hex') } = control === true ? {} : control
  const plan = { port, host: '127.0.0.1', bounds: defaultBounds, maxBodyBytes: 64 * 1024 }
  return { ...(await openServer(createControl(handler, token), plan)), token }
}

export interface ServeOptions extends StartOptions {
  /** Words of the command line, under the switches of `profile`: `random`, `switch=value`, the path of a JSON file. */
  profileWords?: readonly string[]
  /** Called once the first line is printed. */
  onStart?: (server: Pick<MockServer, 'url' | 'rootKey'>) => unknown
}

/** What `serve` needs from its process. */
export interface ServeEdge {
  print(line: string): void
  complain(line: string): void
  /** Calls back at SIGTERM or SIGINT. */
  onStop(stop: () => void): void
}

/**
 * Runs the reference server until it is stopped; resolves with the exit code. The first line printed is
 * `{"url","apiKeyId","apiKeySecret"}`, with `controlUrl` and `controlToken` where the control port is open. A random profile goes to
 * stderr, with all its switches. 2: it cannot start, and one line says why.
 */
export async function serve(options: ServeOptions, edge: ServeEdge = processEdge): Promise<0 | 2> {
  let server: MockServer
  try {
    const { profileWords = [], onStart: _onStart, ...rest } = options
    const random = createRandom(options.seed === undefined ? undefined : `profile ${options.seed}`)
    const words = profileFromWords(profileWords, () => random(4).readUInt32LE() / 2 ** 32)
    server = await startMockServer({ ...rest, profile: { ...words, ...options.profile } })
  } catch (error) {
    edge.complain(startProblem(error, options))
    return 2
  }
  const { url, rootKey, control, profile } = server
  edge.print(
    JSON.stringify({
      url,
      apiKeyId: rootKey.id,
      apiKeySecret: rootKey.secret,
      ...(control ? { controlUrl: control.url, controlToken: control.token } : {}),
    }),
  )
  await options.onStart?.(server)
  if (options.profileWords?.includes('random')) edge.complain(`Profile: ${JSON.stringify(profile)}`)
  await new Promise<void>((resolve) => edge.onStop(resolve))
  await server.stop()
  return 0
}

const listenProblems: { readonly [code: string]: string } = {
  EADDRINUSE: 'the port is taken, choose another one or 0 for any free one',
  EACCES: 'not allowed, choose a port above 1023',
  EADDRNOTAVAIL: 'this machine has no such address',
  ENOTFOUND: 'this machine has no such address',
}

function startProblem(error: unknown, options: ServeOptions): string {
  if (!(error instanceof Error)) return String(error)
  const { code = '', address, port }: NodeJS.ErrnoException & { address?: string; port?: number } = error
  const problem = listenProblems[code]
  // The error of node:net names the place; the control port may be the one that is taken.
  const place = port === undefined ? `${options.host ?? '127.0.0.1'}:${options.port ?? 0}` : `${address}:${port}`
  return problem === undefined ? error.message : `Cannot listen on "${place}": ${problem}`
}

const processEdge: ServeEdge = {
  print: (line) => process.stdout.write(`${line}\n`),
  complain: (line) => process.stderr.write(`${line}\n`),
  onStop(stop) {
    process.once('SIGTERM', stop)
    process.once('SIGINT', stop)
  },
}

/**
 * A vitest fixture: `const test = base.extend({ mock: mockServerFixture() })` gives every test its own server, with a clock that
 * stands still until it is moved.
 */
export function mockServerFixture(options: StartOptions = {}) {
  // biome-ignore lint/correctness/noEmptyPattern: vitest reads the parameter's pattern to learn what a fixture needs
  return async ({}: object, use: (server: MockServer) => Promise<void>): Promise<void> => {
    const server = await startMockServer({ clock: 'virtual', ...options })
    await use(server)
    await server.close()
  }
}
