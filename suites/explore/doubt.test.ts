import { expect, test } from 'vitest'
import { type Conversation, conversation, rootKey, rootSecret } from '../self/made-up-calls.ts'

test.each<[string, string, (talk: Conversation) => void, object | undefined]>([
  ['a token alone', 'one', ({ grant }) => grant('one'), undefined],
  [
    'three newer tokens of its key',
    'one',
    ({ grant }) => {
      for (const name of ['one', 'two', 'three', 'four']) grant(name)
    },
    { kind: 'newer-tokens', newer: 3, question: 'limits/live-tokens' },
  ],
  [
    'its used refresh token was sent again',
    'two',
    ({ grant, refresh, whyRefresh }) => {
      grant('one')
      refresh('one', 'two')
      whyRefresh('one')
    },
    { kind: 'pair-uncertain', question: 'refresh/family' },
  ],
  [
    'a session among those of others',
    'one',
    ({ grantSessions }) => grantSessions(['one']),
    { kind: 'sessions-of-others' },
  ],
])('what may explain a refusal where it is open: %s', (_what, name, talk, because) => {
  const told = conversation()
  talk(told)
  expect(told.judgeUse(name)).toEqual(because === undefined ? undefined : { is: 'open', because })
})

test('wrong attempts may have locked a key, until a call with it is accepted', () => {
  const { begin, end, judgeRefusal } = conversation()
  const basic = (secret: string) => () => `Basic ${btoa(`${rootKey.id}:${secret}`)}`
  const calls = (secret: string, result: object | null) => {
    const request = begin('solution/listSolutions', {}, basic(secret))
    end(request, result)
    return judgeRefusal(request)
  }
  const wrong = (times: number) => Array.from({ length: times }, () => calls('wrong', null)).at(-1)
  wrong(3)
  expect(calls(rootSecret, null)).toBeUndefined()
  const because = { kind: 'key-perhaps-locked', refused: 4, question: 'limits/lock-out' }
  expect(calls(rootSecret, null)).toEqual({ is: 'open', because })
  calls(rootSecret, {})
  wrong(3)
  expect(calls(rootSecret, null)).toBeUndefined()
})
