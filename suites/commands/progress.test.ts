import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import type { CaseWork } from '../run/plan.ts'
import { madeUpCase, problemOf } from '../self/made-up-report.ts'
import { startExploreProgress, startProgress } from './progress.ts'

/** A terminal or a file, and what was written to it. */
function openOutput(isTTY: boolean) {
  let text = ''
  const write = (chunk: string | Uint8Array): boolean => {
    text += String(chunk)
    return true
  }
  return { stream: { isTTY, write } as Parameters<typeof startProgress>[0], written: () => text }
}

function progressOn(isTTY: boolean) {
  let nowMs = 0
  const { stream, written } = openOutput(isTTY)
  const progress = startProgress(stream, { now: () => nowMs, wall: () => nowMs })
  const pass = (ms: number): void => {
    nowMs += ms
  }
  const endCase = (key: string): void => {
    progress.listener({ kind: 'case-started', key })
    pass(1000)
    progress.listener({ kind: 'case-ended', outcome: madeUpCase({ key }) })
  }
  return { progress, endCase, pass, written, lastLine: () => written().split('\r').at(-1) ?? '' }
}

test('the target is named before the first call', () => {
  const { progress, written } = progressOn(false)
  progress.begin('http://a.example')
  expect(written()).toBe('Testing http://a.example\n')
})

test('without a terminal a line is printed from time to time, with the remaining time once estimates agree', () => {
  const { progress, endCase, written } = progressOn(false)
  progress.start(20, 20)
  for (let number = 0; number < 10; number += 1) endCase(`a/${number}`)
  const first = '2 of 20 cases\n4 of 20 cases\n6 of 20 cases\n'
  expect(written()).toBe(`${first}8 of 20 cases, about 12 s left\n10 of 20 cases, about 10 s left\n`)
})

test('on a terminal the line shows how many cases run, and which one waits', () => {
  const { progress, endCase, pass, written } = progressOn(true)
  progress.start(20, 20)
  endCase('a/first')
  expect(written()).toContain('now a/first')
  for (const key of ['a/one', 'a/two', 'a/three']) progress.listener({ kind: 'case-started', key })
  progress.listener({ kind: 'wait-started', key: 'a/three', untilMs: 5500 })
  endCase('b')
  expect(written()).toContain('; now a/one and 1 more, 1 waiting')
  const problem = problemOf({ kind: 'not-run', because: { kind: 'interrupted', during: 'run' } })
  const outcome = madeUpCase({ key: 'not/reached', verdict: 'blocked', problem })
  pass(1000)
  progress.listener({ kind: 'case-ended', outcome })
  expect(written()).not.toContain('blocked')
  for (const key of ['a/one', 'a/two']) endCase(key)
  expect(written()).toMatch(/; waiting 1 s for a\/three$/)
  progress.end()
  expect(written().endsWith('\r\u001b[K')).toBe(true)
})

/** What the cases do, each as the last value says. */
const workOf = (...cases: (readonly [key: string, work: Partial<CaseWork>])[]): Map<string, CaseWork> =>
  new Map(cases.map(([key, work]) => [key, { beside: 0, alone: 0, atOnce: 0, waitMs: 0, ...work }]))

/** The last estimate after this many seconds with ten calls in each. */
function estimated(work: ReadonlyMap<string, CaseWork>, seconds: number, tookMs = 5): string | undefined {
  const { progress, pass, lastLine } = progressOn(true)
  progress.start(work.size, work.size, work)
  progress.listener({ kind: 'case-started', key: 'a' })
  for (let at = 0; at < seconds; at += 1) {
    pass(1000)
    progress.listener({ kind: 'calls-made', calls: 10, tookMs })
  }
  return /about .* left/.exec(lastLine())?.[0]
}

test.each<[string, Partial<CaseWork>, number, string]>([
  ['calls take what they took lately', { beside: 300 }, 5, 'about 10 s left'],
  ['calls of a case that runs alone take as long as an answer', { beside: 200, alone: 50 }, 200, 'about 10 s left'],
  ['calls at once take what the quickest calls took', { beside: 200, atOnce: 100 }, 200, 'about 10 s left'],
  ['cases wait while others make their calls', { beside: 201, waitMs: 9900 }, 5, 'about 10 s left'],
])('of the calls that are left %s', (_what, work, tookMs, left) => {
  expect(estimated(workOf(['a', work]), 20, tookMs)).toBe(left)
})

test('the calls of the model are counted, and what they take is no part of the estimate for the cases', () => {
  const { progress, endCase, pass, written } = progressOn(true)
  progress.start(40, 40, new Map(), true)
  for (let number = 0; number < 32; number += 1) endCase(`a/${number}`)
  expect(written()).toContain('20 of 40 cases, about 20 s left, not counting the model')
  expect(written()).not.toContain('about 19 s left')
  for (let calls = 1; calls <= 50; calls += 1) {
    pass(1000)
    progress.listener({ kind: 'model-called', calls, most: 100, likely: 90, leftMs: 600_000 - calls * 1000 })
  }
  // 40 calls of the model at one a second, and eight cases.
  expect(written()).toContain('32 of 40 cases, and 50 of at most 100 calls of the model, about 48 s left')
})

test('while the model waits, its calls do not show how long the others take', () => {
  const { progress, endCase, pass, written } = progressOn(true)
  progress.start(2, 2, new Map(), true)
  for (const key of ['a/1', 'a/2']) endCase(key)
  const call = (calls: number): void =>
    progress.listener({ kind: 'model-called', calls, most: 800, likely: 800, leftMs: 60_000 })
  for (let calls = 10; calls <= 300; calls += 10) {
    pass(500)
    call(calls)
  }
  expect(written()).toContain('300 of at most 800 calls of the model, about 25 s left')
  for (const calls of [301, 302, 303]) {
    pass(6000)
    call(calls)
  }
  expect(written()).toMatch(/303 of at most 800 calls of the model$/)
})

test('the cases that come after the model take what its calls take, where theirs took longer', () => {
  const { progress, pass, written } = progressOn(true)
  progress.start(1, 1, workOf(['after', { alone: 100 }]), true)
  progress.listener({ kind: 'case-started', key: 'before' })
  for (let at = 0; at < 10; at += 1) {
    pass(1000)
    progress.listener({ kind: 'calls-made', calls: 1, tookMs: 1000 })
  }
  for (let calls = 20; calls <= 400; calls += 20) {
    pass(1000)
    progress.listener({ kind: 'model-called', calls, most: 600, likely: 600, leftMs: 60_000 })
  }
  // 200 calls of the model at 20 a second, and the other 90 of the case, each four times as long.
  expect(written()).toContain('400 of at most 600 calls of the model, about 28 s left')
})

describe('of an exploration', () => {
  /** Three calls, 10 s apart, and a finding. */
  function written(isTTY: boolean, seconds = 60): string {
    let nowMs = 0
    const { stream, written } = openOutput(isTTY)
    const progress = startExploreProgress(stream, { target: 'http://a', seconds }, () => nowMs)
    for (let call = 1; call <= 3; call += 1) {
      nowMs += 10_000
      progress.called(call)
    }
    progress.say('Found: something')
    progress.end()
    return written()
  }

  const first = 'Exploring http://a for 60 s; most calls are wrong on purpose, and may look like an attack in its log\n'

  test('a line every 15 s without a terminal', () => {
    expect(written(false)).toBe(`${first}2 calls, 20 of 60 s\nFound: something\n`)
  })

  test('one line that is drawn again on a terminal', () => {
    const clear = '\r\u001b[K'
    expect(written(true)).toBe(
      `${first}${clear}1 call, 10 of 60 s${clear}2 calls, 20 of 60 s${clear}3 calls, 30 of 60 s${clear}Found: something\n${clear}`,
    )
  })

  test('says why it goes on after the end', () => {
    expect(written(false, 15)).toContain('\n2 calls, 20 s, repeating what was found\n')
  })
})

/** What happened in one second of a run that was recorded: the work of the cases that ended, the calls of cases, and the model at its end. */
interface Second extends CaseWork {
  server: string
  second: number
  /** The second in which it was decided that these cases run again; 0: they did not. A second has one row for each such time. */
  requeued: number
  ended: number
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

/** What the progress of a terminal says after each second. */
function shownIn(run: readonly Second[]) {
  const { progress, pass, lastLine } = progressOn(true)
  const { start, listener } = progress
  const keyOf = ({ second, requeued }: Second): string => `ended in second ${second}, requeued in ${requeued}`
  const work = new Map(run.filter(({ ended }) => ended > 0).map((one) => [keyOf(one), one]))
  start(work.size, work.size, work, true)
  listener({ kind: 'case-started', key: 'first' })
  return run.flatMap((one, at) => {
    const { second, ended, calls, tookMs, model, likely, leftMs } = one
    pass((second - (run[at - 1]?.second ?? 0)) * 1000)
    const requeued = second === run[at - 1]?.second ? [] : run.filter((other) => other.requeued === second)
    for (const other of requeued) listener({ kind: 'case-requeued', key: keyOf(other) })
    if (calls > 0) listener({ kind: 'calls-made', calls, tookMs })
    if (ended > 0) listener({ kind: 'case-ended', outcome: madeUpCase({ key: keyOf(one) }) })
    if (model > 0) listener({ kind: 'model-called', calls: model, most: 16_000, likely, leftMs })
    const [, number, unit] = /about (\d+) (s|min) left/.exec(lastLine()) ?? []
    if (number === undefined) return []
    const isWithoutModel = lastLine().includes(', not counting the model')
    return [{ second, estimate: Number(number) * (unit === 'min' ? 60 : 1), isWithoutModel }]
  })
}

/** The cases that fill the places for keys come after the model. */
function actualSeconds(run: readonly Second[], { second, isWithoutModel }: ReturnType<typeof shownIn>[number]): number {
  const end = run.at(-1)?.second ?? 0
  const firstOfModel = run.find(({ model }) => model > 0)?.second ?? end
  if (!isWithoutModel) return end - second
  const filling = run.filter((one) => one.second > firstOfModel && one.calls > 0)
  return firstOfModel - second + filling.length
}

/** An estimate may always be too long or too short by this much. */
const nearEnoughSeconds = 6

test.each([...new Set(seconds.map(({ server }) => server))])(
  'the time that is left, as the progress of a recorded run shows it: %s',
  (server) => {
    const run = seconds.filter((one) => one.server === server)
    const shown = shownIn(run)
    const wrong = shown.flatMap((one) => {
      const actual = actualSeconds(run, one)
      const isNear = Math.abs(one.estimate - actual) <= nearEnoughSeconds
      return isNear || (one.estimate <= 2 * actual && actual <= 2 * one.estimate) ? [] : [{ ...one, actual }]
    })
    expect(wrong).toEqual([])
    expect(shown.length).toBeGreaterThan(run.length / 10)
  },
)
