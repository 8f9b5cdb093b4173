import { expect, test } from 'vitest'
import { initialState } from '../engine/model/index.ts'
import type { WireRequest } from '../engine/target.ts'
import { listenToRun } from './listen.ts'

const root = { id: 'root-id', secret: 'root-secret' }
const state = {
  ...initialState(
    { scheme: 'svc-hmac-sha256', tokenPrefix: 'Bearer', uri: '/api', probes: new Map(), fresh: false },
    { ...root, name: '', publicKey: null, scope: null, doubtful: [], works: 'yes', origin: 'the initial key' },
  ),
  sessions: [],
}

/** A run whose calls and answers are made by hand, on a clock that the test moves. */
function conversation() {
  const { listener, lostPreparation } = listenToRun({
    state,
    isFreshEachCase: false,
    seenFrom: { first: '127.0.0.1', second: undefined },
    ownHeaders: new Set(),
  })
  let nowMs = 1_800_000_000_000
  let id = 0
  const begin = (method: string, params: object, token?: string): WireRequest => {
    const request: WireRequest = {
      method: 'POST',
      path: '/api',
      headers: [
        ['content-type', 'application/json'],
        ...(token === undefined ? [] : [['authorization', `Bearer ${token}`] as [string, string]]),
      ],
      body: new TextEncoder().encode(JSON.stringify({ jsonrpc: '2.0', id: ++id, method, params })),
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
  const credentials = { grantType: 'api_key_credentials', apiKeyId: root.id, apiKeySecret: root.secret }
  const refreshing = (name: string) =>
    begin('manager/auth', { grantType: 'refresh_token', refreshToken: `${name}-refresh-token` })
  const using = (name: string) => begin('solution/listSolutions', {}, `${name}-access-token`)
  return {
    wait: (ms: number) => {
      nowMs += ms
    },
    begin,
    end,
    using,
    grant: (name: string, scope: string[] = [], result: object = pair(name)) =>
      end(begin('manager/auth', { ...credentials, scope: ['solution', ...scope] }), result),
    grantSessions: (names: string[]) => {
      for (const name of names) end(begin('manager/auth', { ...credentials, scope: [`session:${name}`] }), pair(name))
    },
    refresh: (from: string, to: string) => end(refreshing(from), pair(to)),
    use: (name: string) => end(using(name), {}),
    pair,
    whyUse: (name: string) => lostPreparation(made(using(name), null)),
    whyRefresh: (name: string) => lostPreparation(made(refreshing(name), null)),
    lostPreparation,
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

test('nothing is certain while another call is under way, until it was answered', () => {
  const { grant, refresh, using, end, lostPreparation } = conversation()
  grant('other')
  const other = using('other')
  grant('one')
  refresh('one', 'two')
  const refused = using('one')
  end(refused, null)
  expect(lostPreparation(refused)).toBeUndefined()
  end(other, {})
  const again = using('one')
  end(again, null)
  expect(lostPreparation(again)).toMatchObject({ kind: 'pair-refreshed' })
})

test('no answer to another call, no credentials and no token that nobody issued is a lost preparation', () => {
  const { begin, end, lostPreparation, whyUse } = conversation()
  const request = begin('solution/listSolutions', {})
  end(request, null)
  expect([lostPreparation(request), whyUse('of nobody')]).toEqual([undefined, undefined])
})
