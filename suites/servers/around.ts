/** What wraps the handler of a server: calls and answers that are changed, looked at, or given again. */
import type { MockAnswer, MockRequest } from '../../mock-server/http-server.ts'
import { Call, isAccepted, type Members } from './call.ts'
import type { Around, Change, Seen } from './rows.ts'

/** Passes each answer to `look` and sends what that returns. */
export function answerThrough(look: (answer: MockAnswer, call: Call) => MockAnswer): Around {
  return (handle, context) => (request) => {
    const answer = handle(request)
    const call = new Call(request, context)
    return answer instanceof Promise ? answer.then((late) => look(late, call)) : look(answer, call)
  }
}

type Next = (request?: MockRequest) => MockAnswer | Promise<MockAnswer>

/** Meets each call; `next` goes on with it, or with another request in its place. */
export const meets =
  (look: (call: Call, next: Next) => MockAnswer | Promise<MockAnswer>): Around =>
  (handle, context) =>
  (request) =>
    look(new Call(request, context), (changed = request) => handle(changed))

/** Wraps the handler in each of the given ways; the last one is the outermost. */
export const chain =
  (...arounds: Around[]): Around =>
  (handle, context) =>
    arounds.reduce((inner, around) => around(inner, context), handle)

type Met = (call: Call) => MockRequest | MockAnswer | Promise<void> | undefined

/** Meets every call first: an answer is sent at once, a changed request goes on instead, and a promise is waited for. */
export function before(look: Met): Around {
  return meets((call, next) => {
    const met = look(call)
    if (met === undefined) return next()
    if (met instanceof Promise) return met.then(() => next())
    return 'status' in met ? met : next(met)
  })
}

export const calls = (look: Met): Change => ({ around: before(look) })

/** Changes the params of calls of manager/auth, which nobody signs; undefined leaves them as they are. */
export const changingParams = (change: (params: Members) => Members | undefined): Around =>
  meets((call, next) => {
    const params = call.is('manager/auth') ? change(call.params) : undefined
    return next(params && call.withParams(params))
  })

interface Again {
  forMs: number
  /** Calls with the same text are the same; undefined: the call is answered for itself. */
  as: (call: Call) => string | undefined
  /** Whether an answer is given again, by default an accepted one. */
  stored?: (answer: MockAnswer) => boolean
  /** Whether the stored answer may still be given. */
  isGood?: (answer: MockAnswer, call: Call) => unknown
  give?: (answer: MockAnswer, call: Call) => MockAnswer
}

/** The same call gets the answer of the first one again for a while, and is not carried out. */
export const answeredAgain =
  ({ forMs, as, stored = isAccepted, isGood = () => true, give = (answer, call) => call.answered(answer) }: Again) =>
  (_seen: Seen, known = new Map<string, { answer: MockAnswer; untilMs: number }>()): Change => ({
    around: meets(async (call, next) => {
      const first = known.get(as(call) ?? '')
      if (first && call.nowMs < first.untilMs && isGood(first.answer, call)) return give(first.answer, call)
      const answer = await next()
      const name = as(call)
      if (name !== undefined && stored(answer)) known.set(name, { answer, untilMs: call.nowMs + forMs })
      return answer
    }),
  })
