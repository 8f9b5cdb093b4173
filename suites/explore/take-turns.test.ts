import { expect, test, vi } from 'vitest'
import { takeTurns } from './take-turns.ts'

/** Jobs on a clock that only `idle` moves; each takes a number of pauses. @returns what they did, and when */
async function record(jobs: readonly { name: string; needs: string[]; pausesMs: number[] }[]): Promise<string[]> {
  let nowMs = 0
  const done: string[] = []
  await takeTurns(
    jobs.map(({ name, needs, pausesMs }) => ({
      needs,
      run: async (wait) => {
        done.push(`${nowMs} ${name} starts`)
        for (const ms of pausesMs) {
          await wait(ms)
          done.push(`${nowMs} ${name}`)
        }
      },
    })),
    () => nowMs,
    async (untilMs) => {
      nowMs = untilMs
    },
  )
  return done
}

test('one goes on while another waits, in the order in which their waits end', async () => {
  const jobs = [
    { name: 'a', needs: ['x'], pausesMs: [10, 10] },
    { name: 'b', needs: ['y'], pausesMs: [5, 20] },
  ]
  expect(await record(jobs)).toEqual(['0 a starts', '0 b starts', '5 b', '10 a', '20 a', '25 b'])
})

test('those that need the same follow one another, and nothing overtakes one that it waits for', async () => {
  const jobs = [
    { name: 'a', needs: ['x'], pausesMs: [10] },
    { name: 'b', needs: ['x', 'y'], pausesMs: [] },
    { name: 'c', needs: ['y'], pausesMs: [] },
    { name: 'd', needs: ['z'], pausesMs: [] },
  ]
  expect(await record(jobs)).toEqual(['0 a starts', '0 d starts', '10 a', '10 b starts', '10 c starts'])
})

test('the error of a job ends all', async () => {
  const failing = { needs: ['x'], run: () => Promise.reject(new Error('gone')) }
  const never = { needs: ['y'], run: (wait: (ms: number) => Promise<void>) => wait(5) }
  const idle = vi.fn(async () => {})
  await expect(takeTurns([never, failing], () => 0, idle)).rejects.toThrow('gone')
  expect(idle).not.toHaveBeenCalled()
})
