/** Time that passes only while nothing else happens, so that a run of minutes takes seconds and the load of the machine does not count. */
export interface SimulatedTime {
  /** In ms since 1970. */
  now(): number
  /** @param signal ends the wait at once */
  sleep(ms: number, signal?: AbortSignal): Promise<void>
  /** Lets time pass until the work has ended. */
  during<T>(work: Promise<T>): Promise<T>
}

/** If no wait begins in this many turns of the event loop, all work is waiting, and time may pass. */
const calmTurns = 6

export function createSimulatedTime(startMs: number): SimulatedTime {
  let nowMs = startMs
  let calm = 0
  let waiting: { dueMs: number; wake(): void }[] = []
  const wakeNext = (): void => {
    const dueMs = Math.min(...waiting.map((one) => one.dueMs))
    const next = waiting.find((one) => one.dueMs === dueMs)
    waiting = waiting.filter((one) => one !== next)
    nowMs = Math.max(nowMs, dueMs)
    next?.wake()
  }
  return {
    now: () => nowMs,
    sleep: (ms, signal) =>
      new Promise((resolve) => {
        calm = 0
        waiting.push({ dueMs: nowMs + ms, wake: resolve })
        signal?.addEventListener('abort', () => resolve(), { once: true })
      }),
    async during(work) {
      let isOver = false
      const ended = work.finally(() => {
        isOver = true
      })
      while (!isOver) {
        await new Promise((resolve) => setImmediate(resolve))
        calm += 1
        if (calm < calmTurns || waiting.length === 0) continue
        calm = 0
        wakeNext()
      }
      return ended
    },
  }
}
