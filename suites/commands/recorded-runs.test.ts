import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { madeUpCase } from '../self/made-up-report.ts'
import { startProgress } from './progress.ts'

/** What happened in one second of a run that was recorded: the work of the cases that ended, the calls of cases, and the model at its end. */
interface Second {
  server: string
  second: number
  /** The second in which it was decided that these cases run again; 0: they did not. A second has one row for each such time. */
  requeued: number
  ended: number
  beside: number
  alone: number
  atOnce: number
  waitMs: number
  calls: number
  tookMs: number
  model: number
  likely: number
  leftMs: number
}

const [head = '', ...lines] = readFileSync(new URL('recorded-runs.csv', import.meta.url), 'utf8')
  .trim()
  .split('\n')
const names = head.split(',')
const seconds = lines.map((line): Second => {
  const values = line.split(',').map((value, at) => [names[at], at === 0 ? value : Number(value)])
  return Object.fromEntries(values)
})

interface Shown {
  second: number
  estimate: number
  isWithoutModel: boolean
}

/** What the progress of a terminal says after each second. */
function shownIn(run: readonly Second[]): Shown[] {
  let nowMs = 0
  let text = ''
  const write = (chunk: string | Uint8Array): boolean => {
    text = String(chunk)
    return true
  }
  const { start, listener } = startProgress({ isTTY: true, write }, { now: () => nowMs, wall: () => nowMs })
  const keyOf = ({ second, requeued }: Second): string => `ended in second ${second}, requeued in ${requeued}`
  const work = new Map(run.filter(({ ended }) => ended > 0).map((one) => [keyOf(one), one]))
  start(work.size, work.size, work, true)
  listener({ kind: 'case-started', key: 'first' })
  return run.flatMap((one, at) => {
    const { second, ended, calls, tookMs, model, likely, leftMs } = one
    nowMs = second * 1000
    const requeued = second === run[at - 1]?.second ? [] : run.filter((other) => other.requeued === second)
    for (const other of requeued) listener({ kind: 'case-requeued', key: keyOf(other) })
    if (calls > 0) listener({ kind: 'calls-made', calls, tookMs })
    if (ended > 0) listener({ kind: 'case-ended', outcome: madeUpCase({ key: keyOf(one) }) })
    if (model > 0) listener({ kind: 'model-called', calls: model, most: 16_000, likely, leftMs })
    const [, number, unit] = /about (\d+) (s|min) left/.exec(text) ?? []
    if (number === undefined) return []
    return [
      {
        second,
        estimate: Number(number) * (unit === 'min' ? 60 : 1),
        isWithoutModel: /, not counting the model/.test(text),
      },
    ]
  })
}

/** The cases that fill the places for keys come after the model. */
function actualSeconds(run: readonly Second[], { second, isWithoutModel }: Shown): number {
  const end = run.at(-1)?.second ?? 0
  const firstOfModel = run.find(({ model }) => model > 0)?.second ?? end
  if (!isWithoutModel) return end - second
  const filling = run.filter((one) => one.second > firstOfModel && one.calls > 0)
  return firstOfModel - second + filling.length
}

/** An estimate may always be too long or too short by this much. */
const nearEnoughSeconds = 6

describe('the time that is left, as the progress of recorded runs shows it', () => {
  test.each([...new Set(seconds.map(({ server }) => server))])('%s', (server) => {
    const run = seconds.filter((one) => one.server === server)
    const shown = shownIn(run)
    const wrong = shown.flatMap((one) => {
      const actual = actualSeconds(run, one)
      const isNear = Math.abs(one.estimate - actual) <= nearEnoughSeconds
      return isNear || (one.estimate <= 2 * actual && actual <= 2 * one.estimate) ? [] : [{ ...one, actual }]
    })
    expect(wrong).toEqual([])
    expect(shown.length).toBeGreaterThan(run.length / 10)
  })
})
