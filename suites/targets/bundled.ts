/**
 * The one door between the suite and the reference server: nothing else in suites/ imports mock-server/, and mock-server/ imports
 * nothing of suites/. Two witnesses that shared code would only be one.
 */
import { profileChoices, type ServerOptions, serve, startMockServer } from '../../mock-server/index.ts'
import type { Instance, Target, TargetSettings } from '../engine/target.ts'
import { openWire } from './http.ts'

export type { ServerOptions }
export { profileChoices, serve, startMockServer }

/** A second loopback address; where the system has none, rows that need one say so. */
const secondAddress = '127.0.0.2'
const requestTimeoutMs = 10_000

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

/**
 * The bundled server as a target: every instance is fresh, with a virtual clock of its own that `sleep` moves.
 *
 * @param server how it departs from the reference: rules of a mutant, the profile of a variant
 * @param settings what a user of such a server would tell the suite (its scheme word, say)
 */
export function bundledTarget(server: ServerOptions = {}, settings: Partial<TargetSettings> = {}): Target {
  return { name: 'bundled', lasting: false, fresh: true, open: () => openBundled(server, settings) }
}

/** One server that all rows share, as behind a URL, but with a clock that can be moved: for tests of the way to real servers. */
export function lastingTarget(server: ServerOptions = {}, settings: Partial<TargetSettings> = {}): Target {
  return { name: 'http://lasting', lasting: true, fresh: true, open: () => openBundled(server, settings) }
}

/** What a user of the bundled server would write into a target file. */
export function bundledSettings(solutions: string[]): TargetSettings {
  return {
    scheme: 'svc-hmac-sha256',
    signedUri: '/api',
    scopeNames: {},
    headers: {},
    probes: areaProbes,
    solutions,
    cleanup: { method: 'manager/deleteApiKey', params: { id: '$id' } },
    secondAddress,
    clientAddress: '127.0.0.1',
    rate: 0,
    maxWaitMs: Number.POSITIVE_INFINITY,
  }
}

async function openBundled(options: ServerOptions, settings: Partial<TargetSettings>): Promise<Instance> {
  const server = await startMockServer({ clock: 'virtual', ...options })
  const wire = openWire({ baseUrl: server.url, requestTimeoutMs, secondAddress })
  return {
    baseUrl: server.url,
    root: { kind: 'secret', ...server.rootKey },
    settings: { ...bundledSettings(server.solutions), ...settings },
    clock: {
      now: () => server.clock.now(),
      sleep: async (ms) => server.clock.advance(ms),
      controlled: true,
    },
    send: wire.send,
    sendTogether: wire.sendTogether,
    close: async () => {
      wire.close()
      await server.close()
    },
  }
}
