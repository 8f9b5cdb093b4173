import type { ServerContext, ServerOptions } from './context.ts'
import { createContext } from './context.ts'
import { answerUnderFaults, createFaults, type Faults, letPass } from './faults.ts'
import type { Handle, MockAnswer, MockRequest } from './http-server.ts'
import { createJournal, defaultJournalBounds, type Journal } from './journal.ts'
import { answerBody, emptyAnswer, plainAnswer, type RpcOutcome, renderOutcome, withHeaders } from './rpc.ts'

/** One server without a network: requests in, answers out. */
export interface MockHandler {
  handle: Handle
  context: ServerContext
  journal: Journal
  faults: Faults
  /** Returns to the state at the start: same root key and seed, no faults, an empty journal. The clock stays. */
  reset(): void
}

type Noted = RpcOutcome | { stage: string }

/** The reference server as a function. Its answer is a promise only if it must wait; it never throws. */
export function createHandler(options: ServerOptions = {}): MockHandler {
  const context = createContext(options)
  const { profile } = context
  const journal = createJournal(context, { ...defaultJournalBounds, ...options.journal })
  const faults = createFaults(() => context.random(4).readUInt32LE() / 2 ** 32)
  const gate = createGate(context)

  function answer(request: MockRequest): MockAnswer | Promise<MockAnswer> {
    return profile.delayMs > 0 ? letPass(context, profile.delayMs).then(() => answerNow(request)) : answerNow(request)
  }

  function answerNow(request: MockRequest): MockAnswer | Promise<MockAnswer> {
    const closed = gate(request)
    if (closed) return noted(request, closed.answer, closed)
    if (!faults.armed) return answerRight(request)
    return answerUnderFaults(context, faults, request, {
      answer: (met) => answerRight(request, met),
      noteUnanswered: (instead, met) => noted(request, instead, { stage: `fault/${met.at(-1)}` }, met),
    })
  }

  function answerRight(request: MockRequest, met?: string[]): MockAnswer | Promise<MockAnswer> {
    return whenReady(answerBody(context, request), (outcome) =>
      noted(request, renderOutcome(context, outcome), outcome, met),
    )
  }

  function noted(request: MockRequest, given: MockAnswer, outcome: Noted | Noted[], met?: string[]): MockAnswer {
    for (const one of Array.isArray(outcome) ? outcome : [outcome]) journal.record(request, given, one, met)
    return given
  }

  const inner = guarded(context, options.cors?.length ? forPages(context, options.cors, answer) : answer)
  const handle = options.around ? guarded(context, options.around(inner, context)) : inner
  const reset = () => {
    context.reset()
    faults.clear()
    journal.clear()
  }
  return { handle, context, journal, faults, reset }
}

/** Answers web pages of these origins too; `*` stands for any origin. */
function forPages(context: ServerContext, origins: readonly string[], answer: Handle): Handle {
  return (request) => {
    const { origin, 'access-control-request-method': wanted } = request.headers
    if (origin === undefined || !(origins.includes('*') || origins.includes(origin))) return answer(request)
    const allowed = {
      'access-control-allow-origin': origin,
      'access-control-expose-headers': 'date, retry-after, x-refused-at',
      vary: 'origin',
    }
    if (request.method !== 'OPTIONS' || wanted === undefined)
      return whenReady(answer(request), (answered) => withHeaders(answered, allowed))
    return withHeaders(emptyAnswer(context, 204), {
      ...allowed,
      'access-control-allow-methods': 'POST',
      'access-control-allow-headers': 'authorization, content-type',
      'access-control-max-age': '600',
    })
  }
}

/** Refuses requests before their body is read: not a call, too long, too many, another content type. */
function createGate(
  context: ServerContext,
): (request: MockRequest) => { answer: MockAnswer; stage: string } | undefined {
  const { rules, profile } = context
  const callPath = `${profile.basePath}/api`
  const withinRate = createRateLimit(context)
  const closed = (stage: string, status: number, text: string) => ({
    stage,
    answer: plainAnswer(context, status, text),
  })
  return (request) => {
    if (!rules.isCall(request.method, request.target, callPath, request.body))
      return closed('http/path', 404, 'Not found')
    if (request.body.length > profile.maxBodyBytes) return closed('http/size', 413, 'Content too large')
    if (!withinRate()) {
      const slow = closed('http/rate', 429, 'Too many requests')
      return { ...slow, answer: withHeaders(slow.answer, { 'retry-after': '1' }) }
    }
    if (rules.contentTypeTaken(request.headers['content-type'], profile)) return undefined
    return closed('http/content-type', 415, 'Unsupported media type')
  }
}

/** Calls `next` at once, or when a promise is kept: most calls wait for nothing, and a promise would take time. */
const whenReady = <T, R>(value: T | Promise<T>, next: (value: T) => R): R | Promise<R> =>
  value instanceof Promise ? value.then(next) : next(value)

/** Turns a defect into HTTP 500 for this call, so that the server goes on. */
function guarded(context: ServerContext, handle: Handle): Handle {
  const failed = () => plainAnswer(context, 500, 'Internal server error')
  return (request) => {
    try {
      const answer = handle(request)
      return answer instanceof Promise ? answer.catch(failed) : answer
    } catch {
      return failed()
    }
  }
}

/** Counts calls in each second of the server's clock; true while the limit is not reached. */
function createRateLimit({ profile, now }: ServerContext): () => boolean {
  if (profile.callsPerSecond === 0) return () => true
  let second = 0
  let calls = 0
  return () => {
    const current = Math.floor(now() / 1000)
    if (current !== second) {
      second = current
      calls = 0
    }
    calls += 1
    return calls <= profile.callsPerSecond
  }
}
