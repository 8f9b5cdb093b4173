/**
 * The threads of vitest workers, started before the corpus is read and vitest is loaded, because all of this takes equally long. vitest calls this
 * part of its interface experimental: where a thread fails, vitest starts one of its own.
 */
import { availableParallelism } from 'node:os'
import { Worker } from 'node:worker_threads'
import type { PoolWorker } from 'vitest/node'
import type { RunOptions } from './options.ts'
import type { ThreadRequest } from './run.ts'

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
    /** Lets as many threads as vitest will take begin with the cases. @param onLost called if one of them fails before it is taken */
    begin: (request: ThreadRequest, workers: number, onLost: (error: Error) => void): void => {
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
  let hasFailed = false
  let onLost = (_error: Error): void => {}
  let hearStart = (_message: object): void => {}
  const end = (error: Error): void => {
    if (isFree) onLost(error)
    isFree = false
    // While it starts a thread, vitest waits a minute for this answer whatever happens; later it expects none.
    hearStart({ __vitest_worker_response__: true, type: 'started', error })
  }
  thread.on('error', (error) => {
    hasFailed = true
    end(error)
  })
  thread.on('exit', (code) => end(new Error(`a thread ended with exit code ${code}`)))
  // A run that ends before it needs the thread does not wait for it.
  thread.unref()
  return {
    isFree: (): boolean => isFree,
    begin(request: ThreadRequest, lost: (error: Error) => void): void {
      onLost = lost
      thread.postMessage({ request })
    },
    take(): PoolWorker {
      isFree = false
      thread.ref()
      const listeners = new Map<unknown, (value: unknown) => void>()
      return {
        name: 'early',
        on(event, hear) {
          // After an error vitest no longer listens to errors, and would make one of the end of the thread.
          const listener = (value: unknown): void => {
            if (event !== 'exit' || !hasFailed) hear(value)
          }
          listeners.set(hear, listener)
          thread.on(event, listener)
          if (event === 'message') hearStart = hear
        },
        off: (event, hear) => void thread.off(event, listeners.get(hear) ?? hear),
        send: (message) => thread.postMessage(message),
        deserialize: (data) => data,
        start: async () => {},
        stop: async () => void (await thread.terminate()),
      }
    },
    close: (): void => {
      if (!isFree) return
      isFree = false
      void thread.terminate()
    },
  }
}
