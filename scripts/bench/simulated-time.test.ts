import { expect, test } from 'vitest'
import { createSimulatedTime } from './simulated-time.ts'

test('those who wait wake in the order of their times, and time passes only then', async () => {
  const time = createSimulatedTime(1000)
  const woken: [string, number][] = []
  const waiter = async (name: string, ...waitsMs: number[]): Promise<void> => {
    for (const ms of waitsMs) {
      await time.sleep(ms)
      woken.push([name, time.now()])
    }
  }
  await time.during(Promise.all([waiter('late', 30_000), waiter('twice', 10_000, 15_000), waiter('early', 10_000)]))
  expect(woken).toEqual([
    ['twice', 11_000],
    ['early', 11_000],
    ['twice', 26_000],
    ['late', 31_000],
  ])
})

test('a wait that is aborted ends at once', async () => {
  const time = createSimulatedTime(0)
  const abort = new AbortController()
  const waits = time.sleep(60_000, abort.signal)
  abort.abort()
  await time.during(waits)
  expect(time.now()).toBe(0)
})
