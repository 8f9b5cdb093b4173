import { describe, expect, test } from 'vitest'
import { madeUpCase } from '../self/made-up-report.ts'
import { startExploreProgress, startProgress } from './progress.ts'

function progressOn(isTTY: boolean) {
  let text = ''
  let nowMs = 0
  const write = (chunk: string | Uint8Array): boolean => {
    text += String(chunk)
    return true
  }
  const progress = startProgress({ isTTY, write }, { now: () => nowMs, wall: () => nowMs })
  const pass = (ms: number): void => {
    nowMs += ms
  }
  const endCase = (key: string): void => {
    progress.listener({ kind: 'case-started', key })
    pass(1000)
    progress.listener({ kind: 'case-ended', outcome: madeUpCase({ key }) })
  }
  return { progress, endCase, pass, written: () => text }
}

test('the target is named before the first call', () => {
  const { progress, written } = progressOn(false)
  progress.begin('http://a.example')
  expect(written()).toBe('Testing http://a.example\n')
})

test('without a terminal a line is printed from time to time, with the remaining time', () => {
  const { progress, endCase, written } = progressOn(false)
  progress.start(20, 20)
  for (let number = 0; number < 4; number += 1) endCase(`a/${number}`)
  expect(written()).toBe('2 of 20 cases, about 18 s left\n4 of 20 cases, about 16 s left\n')
})

test('on a terminal the line names the case that waits', () => {
  const { progress, endCase, written } = progressOn(true)
  progress.start(20, 20)
  endCase('a/1')
  progress.listener({ kind: 'case-started', key: 'a/slow' })
  expect(written()).toContain('now a/1')
  progress.end()
  expect(written().endsWith('\r\u001b[K')).toBe(true)
})

test('on a terminal the line shows how many cases run, and which one waits', () => {
  const { progress, endCase, written } = progressOn(true)
  progress.start(20, 20)
  for (const key of ['a/one', 'a/two', 'a/three']) progress.listener({ kind: 'case-started', key })
  progress.listener({ kind: 'wait-started', key: 'a/three', untilMs: 3500 })
  endCase('b')
  expect(written()).toContain('; now a/one and 1 more, 1 waiting')
  for (const key of ['a/one', 'a/two']) endCase(key)
  expect(written()).toMatch(/; waiting 1 s for a\/three$/)
})

test('the estimate takes into account that some cases are more work than others', () => {
  const { progress, endCase, written } = progressOn(false)
  progress.start(4, 4, new Map([['a/long', 7]]))
  for (const key of ['a/1', 'a/2']) endCase(key)
  // Two of ten parts took two seconds.
  expect(written()).toContain('2 of 4 cases, about 8 s left')
})

test('the calls of the model are counted, and what they take is no part of the estimate for the cases', () => {
  const { progress, endCase, pass, written } = progressOn(false)
  progress.start(4, 4, new Map(), true)
  for (const key of ['a/1', 'a/2']) endCase(key)
  expect(written()).toContain('2 of 4 cases, about 2 s left without the model')
  for (let calls = 1; calls <= 21; calls += 1) {
    progress.listener({ kind: 'model-called', calls, most: 100, leftMs: 600_000 - calls * 1000 })
    pass(1000)
  }
  expect(written()).toContain('2 of 4 cases, and 16 of at most 100 calls of the model, about 86 s left')
  endCase('a/3')
  expect(written()).toContain('3 of 4 cases, and 21 of at most 100 calls of the model')
})

test('the estimate goes by the pace of the last seconds, and by the time that the model has left', () => {
  const { progress, endCase, pass, written } = progressOn(false)
  progress.start(100, 100)
  pass(60_000)
  for (let number = 1; number <= 30; number += 1) endCase(`a/${number}`)
  expect(written()).toContain('20 of 100 cases, about 80 s left')
  const listener = (calls: number, leftMs: number) =>
    progress.listener({ kind: 'model-called', calls, most: 16_000, leftMs })
  listener(1, 60_000)
  expect(written()).not.toContain('of the model, about')
  for (let calls = 2; calls <= 40; calls += 1) {
    pass(1000)
    listener(calls, 60_000 - 1000 * calls)
  }
  // 70 cases at one a second, and 30 s of the model, which would make the other calls in more than four hours.
  expect(written()).toContain('30 of 100 cases, and 31 of at most 16000 calls of the model, about 2 min left')
})

describe('of an exploration', () => {
  /** Three calls, 10 s apart, and a finding. */
  function written(isTTY: boolean, seconds = 60): string {
    let text = ''
    let nowMs = 0
    const write = (more: string): boolean => {
      text += more
      return true
    }
    const progress = startExploreProgress({ isTTY, write } as never, { target: 'http://a', seconds }, () => nowMs)
    for (let call = 1; call <= 3; call += 1) {
      nowMs += 10_000
      progress.called(call)
    }
    progress.say('Found: something')
    progress.end()
    return text
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
