/** The threads that run cases. They start before the corpus is read, because loading what cases need takes as long. */
import { availableParallelism } from 'node:os'
import { Worker } from 'node:worker_threads'
import type { RunEvent, RunListener } from '../engine/conversation/conversation.ts'
import type { Ending } from './ending.ts'
import type { RunOptions } from './options.ts'
import type { RanCases } from './run.ts'
import type { ThreadRequest } from './worker.ts'

/** More threads would mostly load the suite. */
const mostThreads = 4

/** Starts as many threads as the run probably needs: one for a server at a URL, and one for few cases. */
export function startThreads({ target, plan, only, failed }: Pick<RunOptions, 'target' | 'plan' | 'only' | 'failed'>) {
  const most = Math.min(availableParallelism(), mostThreads)
  const isWhole = target === null && only.length === 0 && failed === null
  // Node cannot start a thread with what is not compiled; the main thread runs the cases then.
  const isCompiled = import.meta.url.endsWith('.js')
  const count = plan || !isCompiled ? 0 : isWhole ? Math.max(1, most - 1) : 1
  const threads = Array.from({ length: count }, () => startThread(target === null ? 'bundled' : 'url'))
  return {
    /** How many threads a run may use, the main thread included. */
    most: count === 0 ? 1 : most,
    count,
    /** Lets some of the threads begin with the cases. @returns what each of them ran, without an error where it fails */
    begin: (request: ThreadRequest, some: number, listened: Listened): Promise<RanCases>[] =>
      threads.slice(0, some).map((thread) => thread.begin(request, listened)),
    /** Ends the threads, except those whose cases have not ended: Node aborts the process if a thread ends while a call is under way. */
    close: async (): Promise<void> => void (await Promise.all(threads.map((thread) => thread.close()))),
  }
}

interface Listened {
  /** Tells the thread to end. */
  ending: Ending
  /** Hears the events of its cases. */
  listener: RunListener
}

function startThread(what: 'bundled' | 'url') {
  const thread = new Worker(new URL('../run/early-thread.js', import.meta.url), { workerData: what })
  let listener: RunListener = () => {}
  const ran = new Promise<RanCases>((resolve) => {
    const fail = (defect: string): void => resolve({ defects: [defect], stopped: null })
    thread.on('message', ({ events = [], ran }: { events?: RunEvent[]; ran?: RanCases }) => {
      for (const event of events) listener(event)
      if (ran !== undefined) resolve(ran)
    })
    thread.on('error', ({ message }) => fail(message))
    thread.on('exit', (code) => fail(`a thread ended with exit code ${code} before its cases did`))
  })
  // A run that ends before it needs the thread does not wait for it.
  thread.unref()
  let isBusy = false
  return {
    begin(request: ThreadRequest, listened: Listened): Promise<RanCases> {
      isBusy = true
      listener = listened.listener
      thread.ref()
      thread.postMessage(request)
      listened.ending.onEnd((reason) => thread.postMessage(reason))
      return ran.finally(() => {
        isBusy = false
      })
    },
    close: async (): Promise<void> => void (isBusy || (await thread.terminate())),
  }
}
