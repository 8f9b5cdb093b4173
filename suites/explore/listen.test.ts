import { describe, expect, test } from 'vitest'
import type { RunEvent } from '../engine/conversation/conversation.ts'
import type { CaseOutcome } from '../engine/judge/problem.ts'
import { initialState } from '../engine/model/state.ts'
import type { WireRequest } from '../engine/target.ts'
import { listeningFindings, listenToRun } from './listen.ts'

const root = { id: 'root-id', secret: 'root-secret' }
const state = {
  ...initialState(
    { scheme: 'svc-hmac-sha256', tokenPrefix: 'Bearer', uri: '/api', probes: new Map(), fresh: false },
    { ...root, name: '', publicKey: null, scope: null, doubtful: [], works: 'yes', origin: 'the initial key' },
  ),
  sessions: [],
}

/** A run whose events are made by hand; the clock stands still. */
function conversation() {
  const listening = listenToRun({
    state,
    isFreshEachCase: false,
    seenFrom: { first: '127.0.0.1', second: undefined },
    requirements: [],
    ownHeaders: new Set(),
  })
  let id = 0
  const begin = (method: string, params: object, authorization?: string, path = '/api'): WireRequest => {
    const request: WireRequest = {
      method: 'POST',
      path,
      headers: [
        ['content-type', 'application/json'],
        ...(authorization === undefined ? [] : [['authorization', authorization] as [string, string]]),
      ],
      body: new TextEncoder().encode(JSON.stringify({ jsonrpc: '2.0', id: ++id, method, params })),
    }
    listening.listener({ kind: 'exchange-begun', request })
    return request
  }
  const end = (request: WireRequest, result: object | null): void => {
    const sent = JSON.parse(new TextDecoder().decode(request.body)) as { id: number }
    const answer = { jsonrpc: '2.0', id: sent.id, ...(result === null ? { error: { code: 1 } } : { result }) }
    const event: RunEvent = {
      kind: 'exchange-made',
      request,
      answer: { kind: 'answer', status: 200, headers: {}, body: new TextEncoder().encode(JSON.stringify(answer)) },
      sentAtMs: 1_700_000_000_000,
      answeredAtMs: 1_700_000_000_000,
    }
    listening.listener(event)
  }
  const call = (result: object | null, ...sent: Parameters<typeof begin>): void => end(begin(...sent), result)
  const found = (): string[] => listening.take().map((finding) => finding.id)
  return { begin, end, call, found }
}

const listMethod = 'solution/listSolutions'
const pair = (name: string) => ({
  accessToken: `${name}-access`,
  accessTokenExpiry: 1_700_000_900_000,
  refreshToken: `${name}-refresh`,
  refreshTokenExpiry: 1_700_600_000_000,
  tokenType: 'Bearer',
  scope: ['solution'],
})
const grant = [
  'manager/auth',
  { grantType: 'api_key_credentials', apiKeyId: root.id, apiKeySecret: root.secret, scope: ['solution'] },
] as const
const refresh = (name: string) =>
  ['manager/auth', { grantType: 'refresh_token', refreshToken: `${name}-refresh` }] as const
const basic = `Basic ${btoa(`${root.id}:${root.secret}`)}`

describe('listening', () => {
  test('an old access token that is let in after its refresh', () => {
    const { call, found } = conversation()
    call(pair('one'), ...grant)
    call({}, listMethod, {}, 'Bearer one-access')
    call(pair('two'), ...refresh('one'))
    expect(found()).toEqual([])
    call({}, listMethod, {}, 'Bearer one-access')
    expect(found()).toEqual(['found/refresh/revokes-access/let-in'])
  })

  test('not while the refresh is under way, whichever answer comes first', () => {
    for (const refreshIsFirst of [true, false]) {
      const { call, begin, end, found } = conversation()
      call(pair('one'), ...grant)
      const [refreshing, using] = [begin(...refresh('one')), begin(listMethod, {}, 'Bearer one-access')]
      if (refreshIsFirst) end(refreshing, pair('two'))
      end(using, {})
      if (!refreshIsFirst) end(refreshing, pair('two'))
      expect(found()).toEqual([])
      call({}, listMethod, {}, 'Bearer one-access')
      expect(found()).toEqual(['found/refresh/revokes-access/let-in'])
    }
  })

  test('a race that two refreshes of one token win has no order', () => {
    const { call, begin, end, found } = conversation()
    call(pair('one'), ...grant)
    const racing = [begin(...refresh('one')), begin(...refresh('one')), begin(...refresh('one'))]
    for (const [at, request] of racing.entries()) end(request, at === 1 ? null : pair(`next-${at}`))
    expect(found()).toEqual(['found/refresh/revokes-refresh/history'])
  })

  test('a refusal says nothing: a limit or a lock may be its reason', () => {
    const { call, found } = conversation()
    call(null, listMethod, {}, basic)
    call(null, ...grant)
    expect(found()).toEqual([])
  })

  test('wrong credentials that are let in, and a token that nobody issued', () => {
    const { call, found } = conversation()
    call({}, listMethod, {}, `Basic ${btoa(`${root.id}:another-secret`)}`)
    call({}, listMethod, {}, 'Bearer of-nobody')
    call({}, listMethod, {})
    expect(found()).toEqual([
      'found/basic/credentials/let-in',
      'found/tokens/authorize/let-in',
      'found/authorization/required/let-in',
    ])
  })

  test('nothing is said of another spelling of a token', () => {
    const { call, found } = conversation()
    call(pair('One-and-only'), ...grant)
    for (const text of ['one-and-only-ACCESS', 'One-and-only-access-more', ' One-and-only-access'])
      call({}, listMethod, {}, `Bearer ${text}`)
    expect(found()).toEqual([])
  })

  test('a token is known that came in answer to a request that the document does not show', () => {
    const { call, found } = conversation()
    call(pair('odd'), 'manager/other', {})
    call({}, listMethod, {}, 'Bearer odd-access')
    call(pair('more'), ...grant, undefined, '/api/v2')
    call({}, listMethod, {}, 'Bearer more-access')
    expect(found()).toEqual([])
  })

  test('what is the same for every call of an answer is told once', () => {
    const { call, found } = conversation()
    for (const name of ['one', 'two']) call({ ...pair(name), tokenType: 'bearer' }, ...grant)
    expect(found()).toEqual(['found/grants/result-token-type/shape'])
  })
})

test.each([
  ['passed', ['found/authorization/required/let-in', 'found/grants/result-scope/shape']],
  ['failed', ['found/grants/result-scope/shape']],
] as const)('what a case that %s shows already is not told again', (verdict, told) => {
  const found = ['found/authorization/required/let-in', 'found/grants/result-scope/shape'].map((id) => ({
    id,
    requirement: id.split('/').slice(1, 3).join('/'),
    level: 'must' as const,
    message: '',
    steps: [],
  }))
  const outcome = { key: 'tokens/in-request', verdict, requirements: {}, envelope: [], findings: found }
  expect(listeningFindings([outcome as unknown as CaseOutcome], []).map(({ id }) => id)).toEqual(told)
})
