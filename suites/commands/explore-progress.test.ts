import { expect, test } from 'vitest'
import { startExploreProgress } from './explore-progress.ts'

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
