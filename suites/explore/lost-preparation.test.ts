import { expect, test } from 'vitest'
import { initialState } from '../engine/model/index.ts'
import type { WireRequest } from '../engine/target.ts'
import { hmacHeader, rootKey, rootSecret, startMs } from '../self/made-up-calls.ts'
import { listenToRun } from './listen.ts'

const state = {
  ...initialState(
    { scheme: 'svc-hmac-sha256', tokenPrefix: 'Bearer', uri: '/api', probes: new Map(), fresh: false },
    rootKey,
  ),
  sessions: [],
}

/** A run whose calls and answers are made by hand, on a clock that the test moves. */
function conversation() {
  const { listener, judgeRefusal, counts } = listenToRun({
    isShared: true,
    state,
    isFreshEachCase: false,
    seenFrom: { first: '127.0.0.1', second: undefined },
    ownHeaders: new Set(),
  })
  const lostPreparation = (refused: WireRequest) => {
    const judged = judgeRefusal(refused)
    return judged?.is === 'required' ? judged.because : undefined
  }
  let nowMs = startMs
  let id = 0
  const begin = (method: string, params: object, authorize?: (text: string) => string): WireRequest => {
    const text = JSON.stringify({ jsonrpc: '2.0', id: ++id, method, params })
    const request: WireRequest = {
      method: 'POST',
      path: '/api',
      headers: [
        ['content-type', 'application/json'],
        ...(authorize === undefined ? [] : [['authorization', authorize(text)] as [string, string]]),
      ],
      body: new TextEncoder().encode(text),
    }
    listener({ kind: 'exchange-begun', request })
    return request
  }
  const end = (request: WireRequest, result: object | null): void => {
    const text = JSON.stringify(result === null ? { error: { code: 1 } } : { jsonrpc: '2.0', id, result })
    const answer = { kind: 'answer', status: 200, headers: {}, body: new TextEncoder().encode(text) } as const
    listener({ kind: 'exchange-made', request, answer, sentAtMs: nowMs, answeredAtMs: nowMs })
  }
  const made = (request: WireRequest, result: object | null): WireRequest => {
    end(request, result)
    return request
  }
  const pair = (name: string, lifeMs = 900_000) => ({
    accessToken: `${name}-access-token`,
    accessTokenExpiry: nowMs + lifeMs,
    refreshToken: `${name}-refresh-token`,
    refreshTokenExpiry: nowMs + 604_800_000,
    tokenType: 'Bearer',
    scope: ['solution'],
  })
  const credentials = { grantType: 'api_key_credentials', apiKeyId: rootKey.id, apiKeySecret: rootSecret }
  const refreshing = (name: string) =>
    begin('manager/auth', { grantType: 'refresh_token', refreshToken: `${name}-refresh-token` })
  const using = (name: string) => begin('solution/listSolutions', {}, () => `Bearer ${name}-access-token`)
  return {
    wait: (ms: number) => {
      nowMs += ms
    },
    begin,
    end,
    using,
    refreshing,
    grant: (name: string, scope: string[] = [], result: object = pair(name)) =>
      end(begin('manager/auth', { ...credentials, scope: ['solution', ...scope] }), result),
    grantSessions: (names: string[]) => {
      for (const name of names) end(begin('manager/auth', { ...credentials, scope: [`session:${name}`] }), pair(name))
    },
    refresh: (from: string, to: string) => end(refreshing(from), pair(to)),
    use: (name: string) => end(using(name), {}),
    pair,
    counts,
    whyUse: (name: string) => lostPreparation(made(using(name), null)),
    whyRefresh: (name: string) => lostPreparation(made(refreshing(name), null)),
    lostPreparation,
    judgeUse: (name: string) => judgeRefusal(made(using(name), null)),
  }
}

const names = (count: number, word = 'more'): string[] => Array.from({ length: count }, (_none, at) => `${word}-${at}`)

test('a pair that was refreshed', () => {
  const { grant, refresh, whyUse, whyRefresh } = conversation()
  grant('one')
  expect([whyUse('one'), whyRefresh('one')]).toEqual([undefined, undefined])
  grant('two')
  refresh('two', 'three')
  expect(whyUse('two')).toEqual({ kind: 'pair-refreshed', requirement: 'refresh/revokes-access' })
  expect(whyRefresh('two')).toEqual({ kind: 'pair-refreshed', requirement: 'refresh/revokes-refresh' })
  expect(whyUse('three')).toBeUndefined()
})

test('a token that the server issued twice is not lost by the refresh of its other pair', () => {
  const { grant, refresh, whyUse, pair } = conversation()
  grant('one')
  grant('two', [], { ...pair('two'), accessToken: pair('one').accessToken })
  refresh('one', 'three')
  expect(whyUse('one')).toBeUndefined()
})

test('a token that had expired for longer than a server may round', () => {
  const { grant, wait, whyUse } = conversation()
  grant('one', ['expiresIn:5000'])
  wait(5500)
  expect(whyUse('one')).toBeUndefined()
  wait(1500)
  expect(whyUse('one')).toEqual({ kind: 'token-expired', requirement: 'expires-in/enforced', agoMs: 2000 })
})

test('a token whose reported expiry tells it, once a short lifetime has shown the clock', () => {
  const { grant, wait, whyUse } = conversation()
  grant('clock', ['expiresIn:5000'], { ...conversation().pair('clock', 5000) })
  grant('one')
  wait(904_000)
  expect(whyUse('one')).toMatchObject({ kind: 'token-expired', requirement: 'tokens/expire' })
})

test('a token whose expiry had passed when it was reported is the fault of the server', () => {
  const { grant, wait, whyUse, pair } = conversation()
  grant('clock', ['expiresIn:5000'], pair('clock', 5000))
  grant('one', [], pair('one', -60_000))
  wait(1000)
  expect(whyUse('one')).toBeUndefined()
})

test('a session after sixteen newer ones, and not after fifteen', () => {
  const { grantSessions, wait, whyUse, whyRefresh } = conversation()
  grantSessions(['one'])
  wait(2000)
  grantSessions(names(15))
  expect(whyUse('one')).toBeUndefined()
  grantSessions(['the sixteenth'])
  const loss = { kind: 'session-removed', requirement: 'sessions/oldest-removed', newer: 16 }
  expect(whyUse('one')).toEqual(loss)
  expect(whyRefresh('one')).toEqual({ ...loss, requirement: 'sessions/removed-refresh' })
  expect(whyUse('more-0')).toBeUndefined()
})

test.each<[string, (talk: ReturnType<typeof conversation>) => string]>([
  [
    'it was used among the newer ones',
    ({ grantSessions, use, wait }) => {
      grantSessions(names(8))
      wait(2000)
      use('one')
      wait(2000)
      grantSessions(names(8, 'later'))
      return 'one'
    },
  ],
  [
    'it was refreshed among them',
    ({ grantSessions, refresh, wait }) => {
      grantSessions(names(8))
      wait(2000)
      refresh('one', 'two')
      wait(2000)
      grantSessions(names(8, 'later'))
      return 'two'
    },
  ],
  [
    'its token is too long to be remembered',
    ({ grantSessions, use, wait }) => {
      const long = 'long'.repeat(1100)
      grantSessions([long])
      wait(2000)
      grantSessions(names(8))
      use(long)
      wait(2000)
      grantSessions(names(8, 'later'))
      return long
    },
  ],
  [
    'one of their names is used again',
    ({ grantSessions }) => {
      grantSessions([...names(15), 'MORE-3'])
      return 'one'
    },
  ],
  [
    'its own name is used again',
    ({ grantSessions, grant }) => {
      grantSessions(names(16))
      grant('two', ['session:ONE'])
      return 'one'
    },
  ],
  [
    'one of them has no name',
    ({ grantSessions, grant }) => {
      grantSessions(names(15))
      grant('without a name')
      return 'one'
    },
  ],
])('a session may be alive if %s', (_what, talk) => {
  const told = conversation()
  told.grantSessions(['one'])
  told.wait(2000)
  expect(told.whyUse(talk(told))).toBeUndefined()
})

test('a session may be alive if all are as old as it, to a server that counts in seconds', () => {
  const { grantSessions, whyUse } = conversation()
  grantSessions(['one', ...names(16)])
  expect(whyUse('one')).toBeUndefined()
})

test('while another call is under way, what was answered before a call began is certain', () => {
  const { grant, refresh, refreshing, using, end, pair, lostPreparation } = conversation()
  grant('other')
  const other = using('other')
  grant('one')
  const early = using('one')
  refresh('one', 'two')
  const late = using('one')
  end(early, null)
  end(late, null)
  expect(lostPreparation(early)).toBeUndefined()
  expect(lostPreparation(late)).toMatchObject({ kind: 'pair-refreshed' })
  end(other, {})
  expect(lostPreparation(early)).toBeUndefined()
  const racing = [refreshing('two'), using('two')] as const
  end(racing[0], pair('three'))
  end(racing[1], null)
  expect(lostPreparation(racing[1])).toBeUndefined()
})

test('no answer to another call, no credentials and no token that nobody issued is a lost preparation', () => {
  const { begin, end, lostPreparation, whyUse } = conversation()
  const request = begin('solution/listSolutions', {})
  end(request, null)
  expect([lostPreparation(request), whyUse('of nobody')]).toEqual([undefined, undefined])
})

test('asking changes nothing about what is judged later', () => {
  const judged = (asks: boolean) => {
    const { grant, begin, using, end, lostPreparation, counts } = conversation()
    grant('one')
    const other = using('one')
    end(begin('solution/listSolutions', {}, hmacHeader), {})
    const refused = using('one')
    end(refused, null)
    if (asks) lostPreparation(refused)
    end(other, {})
    return counts
  }
  expect(judged(true)).toEqual(judged(false))
})

test.each<[string, string, (talk: ReturnType<typeof conversation>) => void, object | undefined]>([
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
