import { bareSettings, type TargetSettings } from '../engine/target.ts'

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
