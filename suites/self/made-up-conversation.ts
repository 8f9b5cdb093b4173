/** A conversation with a target, to which the model listens. */
import { initialState } from '../engine/model/state.ts'
import type { WireRequest } from '../engine/target.ts'
import { listenToRun } from '../explore/listen.ts'
import { rootKey, rootSecret, startMs } from './made-up-calls.ts'

export type Conversation = ReturnType<typeof conversation>

const state = {
  ...initialState(
    { scheme: 'svc-hmac-sha256', tokenPrefix: 'Bearer', uri: '/api', probes: new Map(), fresh: false },
    rootKey,
  ),
  sessions: [],
}

/** A run whose calls and answers are made by hand, on a clock that the test moves. */
export function conversation() {
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
    judgeRefusal,
    judgeUse: (name: string) => judgeRefusal(made(using(name), null)),
  }
}

/** Names of sessions. */
export const names = (count: number, word = 'more'): string[] =>
  Array.from({ length: count }, (_none, at) => `${word}-${at}`)
