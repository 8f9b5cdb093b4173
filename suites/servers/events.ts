/** Does something beside what happens, which is not changed. */
import type { MockAnswer } from '../../mock-server/http-server.ts'
import { type Rules, rules as right, type TokenResult } from '../../mock-server/rules.ts'
import type { ApiKey, Session, TokenPair } from '../../mock-server/state.ts'
import { answerThrough } from './around.ts'
import { type Call, isAccepted } from './call.ts'
import type { Around } from './rows.ts'

/** Does something beside a grant, which is not changed. */
export const onGrant = (act: (pair: TokenPair) => unknown): Pick<Rules, 'grantResult'> => ({
  grantResult: (result, pair) => {
    act(pair)
    return result
  },
})

/** Does something beside a refresh, the use of an access token, the creation of a key, the removal of sessions. */
export const onRefresh = (act: (old: TokenPair, result: TokenResult) => unknown): Pick<Rules, 'refreshResult'> => ({
  refreshResult: (result, old) => {
    act(old, result)
    return result
  },
})

export const onUse = (act: (pair: TokenPair, nowMs: number) => unknown): Pick<Rules, 'accessExpired'> => ({
  accessExpired: (pair, nowMs) => {
    act(pair, nowMs)
    return right.accessExpired(pair, nowMs)
  },
})

export const onNewKey = (act: (key: ApiKey) => unknown): Pick<Rules, 'storedKey'> => ({
  storedKey: (key) => {
    act(key)
    return key
  },
})

export const onRemoval = (act: (removed: Session[]) => unknown): Pick<Rules, 'sessionsRemoved'> => ({
  sessionsRemoved: (live, surplus, profile) => {
    const removed = right.sessionsRemoved(live, surplus, profile)
    act(removed)
    return removed
  },
})

/** Looks at each call once it is answered, and leaves the answer as it is. */
export const afterCalls = (look: (answer: MockAnswer, call: Call) => unknown): Around =>
  answerThrough((answer, call) => {
    look(answer, call)
    return answer
  })

type After = (call: Call, answer: MockAnswer) => unknown

/** Does something after each call that was accepted. */
export const onAccepted = (act: After): { around: Around } => ({
  around: afterCalls((answer, call) => isAccepted(answer) && act(call, answer)),
})

/** Does something after each call that was refused. */
export const onRefused = (act: After): { around: Around } => ({
  around: afterCalls((answer, call) => !isAccepted(answer) && act(call, answer)),
})
