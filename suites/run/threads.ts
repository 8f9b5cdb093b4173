/**
 * The threads of vitest workers, started before the corpus is read and vitest is loaded, because all of this takes equally long. vitest calls this
 * part of its interface experimental: where a thread fails, vitest starts one of its own.
 */
import { availableParallelism } from 'node:os'
import { Worker } from 'node:worker_threads'
import type { PoolWorker } from 'vitest/node'
import type { RunOptions } from './options.ts'
import type { WorkerRequest } from './worker.ts'

/** More threads would mostly load the suite. */
const mostThreads = 4

/** Starts as many threads as the run probably needs: one for a server at a URL, and one for few cases. */
export function startThreads({ target, plan, only, failed }: Pick<RunOptions, 'target' | 'plan' | 'only' | 'failed'>) {
  const most = Math.min(availableParallelism(), mostThreads)
  const isWhole = target === null && only.length === 0 && failed === null
  // Only vitest can load what is not compiled.
  const isCompiled = import.meta.url.endsWith('.js')
  const count = plan || !isCompiled ? 0 : isWhole ? Math.max(1, most - 1) : 1
  const early = Array.from({ length: count }, () => startThread(target === null ? 'bundled' : 'url'))
  return {
    /** How many threads a run may use, this one included. */
    most,
    /** Lets as many threads as vitest will take begin with cases of the bundled server. @param onLost called if one of them fails before it is taken */
    begin: (request: WorkerRequest, workers: number, onLost: (error: Error) => void): void => {
      for (const one of early.filter(({ isFree }) => isFree()).slice(0, workers)) one.begin(request, onLost)
    },
    /** A thread that nobody has taken, as vitest wants it; undefined if there is none. */
    take: (): PoolWorker | undefined => early.find((one) => one.isFree())?.take(),
    /** Ends those that nobody has taken. */
    close: (): void => {
      for (const one of early) one.close()
    },
  }
}

function startThread(what: 'bundled' | 'url') {
  const thread = new Worker(new URL('../run/early-thread.js', import.meta.url), { workerData: what })
  let isFree = true
  const lose = (): void => {
    isFree = false
  }
  thread.on('error', lose)
  thread.on('exit', lose)
  // A run that ends before it needs the thread does not wait for it.
  thread.unref()
  return {
    isFree: (): boolean => isFree,
    begin(request: WorkerRequest, onLost: (error: Error) => void): void {
      thread.on('error', onLost)
      thread.postMessage({ request })
    },
    take(): PoolWorker {
      isFree = false
      thread.ref()
      return {
        name: 'early',
        on: (event, hear) => void thread.on(event, hear),
        off: (event, hear) => void thread.off(event, hear),
        send: (message) => thread.postMessage(message),
        deserialize: (data) => data,
        start: async () => {},
        stop: async () => void (await thread.terminate()),
      }
    },
    close: (): void => {
      if (isFree) void thread.terminate()
    },
  }
}
