import {
  createHandler,
  createProfile,
  type Fault,
  type MockServer,
  type Profile,
  profileChoices,
  type RecordedExchange,
  rules,
  type ServerOptions,
  serve,
  startMockServer,
} from '../../mock-server/index.ts'
import { bareSettings, type Instance, type Target, type TargetSettings } from '../engine/target.ts'

/** A second loopback address; on systems without one, cases that need it are not testable. */
const secondAddress = '127.0.0.12'
/** One harmless listing per area, all of them extensions of the reference server beyond the document. */
const areaProbes: TargetSettings['probes'] = {
  solution: { method: 'solution/listSolutions', params: {} },
  context: { method: 'context/listContexts', params: { skip: 0, limit: 10, sortOrder: 'asc' } },
  thread: { method: 'thread/listThreads', params: {} },
  store: { method: 'store/listStores', params: {} },
  inbox: { method: 'inbox/listInboxes', params: {} },
  stream: { method: 'stream/listStreams', params: {} },
  'solution-context': {
    method: 'context/listContexts',
    params: { solution: '$solution', skip: 0, limit: 10, sortOrder: 'asc' },
  },
  disable: { method: 'manager/updateApiKey', params: { id: '$id', enabled: false } },
}

/** What a user of the bundled server would write in a target file. */
export function bundledSettings(solutions: string[]): TargetSettings {
  return {
    ...bareSettings,
    probes: areaProbes,
    solutions,
    cleanup: { method: 'manager/deleteApiKey', params: { id: '$id' } },
    secondAddress,
    clientAddress: '127.0.0.1',
    maxWaitMs: Number.POSITIVE_INFINITY,
  }
}

// The only connection between the suite and the reference server: only suites/servers/ imports mock-server/ too, to
// break it on purpose, and mock-server/ imports nothing of suites/. Two witnesses that share code are one.

export type { Fault, MockServer, Profile, RecordedExchange, ServerOptions }
export { createHandler, createProfile, profileChoices, rules, serve, startMockServer }

/**
 * The bundled server as a target: every instance is in the state of a fresh start, with its own virtual clock that `sleep`
 * moves. A server whose case has ended is reset and used again, since opening a port takes longer than most cases.
 *
 * @param server how it departs from the reference: rules of a mutant, the profile of a variant
 * @param settings what a target file for such a server would name, for example its scheme word
 */
export function bundledTarget(server: ServerOptions = {}, settings: Partial<TargetSettings> = {}): Target {
  const idle: Bundled[] = []
  return {
    name: 'bundled',
    lasting: false,
    fresh: true,
    open: async () => {
      const bundled = idle.pop() ?? (await startBundled(server, settings))
      return instanceOn(bundled, settings, async () => {
        bundled.server.reset()
        bundled.server.clock.set(bundled.startMs)
        idle.push(bundled)
      })
    },
    close: async () => {
      await Promise.all(idle.splice(0).map(stop))
    },
  }
}

/**
 * One server that all cases share, like one at a URL, but with a clock that can be moved: for tests of runs against real servers.
 *
 * @param withSockets otherwise only calls that need a socket have one, which takes a third of the time
 */
export function lastingTarget(
  server: ServerOptions = {},
  settings: Partial<TargetSettings> = {},
  withSockets = true,
): Target {
  return {
    name: 'http://lasting',
    lasting: true,
    fresh: true,
    open: async () => {
      const bundled = await startBundled(server, settings, withSockets)
      return instanceOn(bundled, settings, () => stop(bundled))
    },
  }
}

type Bundled = Awaited<ReturnType<typeof startBundled>>

async function startBundled(options: ServerOptions, settings: Partial<TargetSettings>, withSockets = false) {
  const server = await startMockServer({ clock: 'virtual', ...options })
  const { secondAddress } = { ...bundledSettings([]), ...settings }
  // Loaded here, so that `serve`, which uses this file too, need not wait for it.
  const { openWire } = await import('./transport.ts')
  const wire = openWire({ baseUrl: server.url, requestTimeoutMs: 10_000, secondAddress })
  /** `startMs`: the time at which its clock started. */
  const started = { server, wire, startMs: server.clock.now() }
  if (withSockets) return started
  const { openInProcess } = await import('./in-memory.ts')
  return {
    ...started,
    wire: { ...wire, ...openInProcess({ handle: server.handle, baseUrl: server.url, secondAddress }, wire) },
  }
}

async function stop({ server, wire }: Bundled): Promise<void> {
  wire.close()
  await server.close()
}

function instanceOn(
  { server, wire }: Bundled,
  settings: Partial<TargetSettings>,
  close: () => Promise<void>,
): Instance {
  return {
    ...wire,
    baseUrl: server.url,
    root: { kind: 'secret', ...server.rootKey },
    settings: { ...bundledSettings(server.solutions), ...settings },
    clock: {
      now: () => server.clock.now(),
      sleep: async (ms) => server.clock.advance(ms),
      controlled: true,
    },
    close,
  }
}
