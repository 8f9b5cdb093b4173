import { setTimeout as sleep } from 'node:timers/promises'
import type { ServerContext } from '../context.ts'
import type { Handle, MockAnswer, MockRequest } from '../http-server.ts'
import type { Around } from './independent-variant.ts'

/** The members of a JSON object. */
type Members = { [name: string]: unknown }

/** The body of a request or of an answer, if it is a JSON object. */
export function readMembers(text: string): Members | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Members) : undefined
  } catch {
    return undefined
  }
}

/** The params of a call; empty if the body is something else. */
export function paramsOf({ body }: MockRequest): Members {
  const params = readMembers(body.toString('utf8'))?.params
  return typeof params === 'object' && params !== null ? (params as Members) : {}
}

/** The `scope` of a grant or of a creation. */
export function scopeOf(request: MockRequest): string[] {
  const { scope } = paramsOf(request)
  return Array.isArray(scope) ? scope.filter((word) => typeof word === 'string') : []
}

/** The same call with another body; a signature of the old body does not fit any more. */
export const withMembers = (request: MockRequest, members: Members): MockRequest => ({
  ...request,
  body: Buffer.from(JSON.stringify(members)),
})

export const isAccepted = ({ body }: MockAnswer): boolean => readMembers(body)?.result !== undefined

/** The same answer for a call with another id. */
export const answerFor = (answer: MockAnswer, request: MockRequest): MockAnswer => ({
  ...answer,
  headers: { ...answer.headers },
  body: JSON.stringify({ ...readMembers(answer.body), id: readMembers(request.body.toString('utf8'))?.id }),
})

/** Passes each answer to `look` and sends what that returns. */
export function answerThrough(
  look: (answer: MockAnswer, request: MockRequest, context: ServerContext) => MockAnswer,
): Around {
  return (handle, context) => (request) => {
    const answer = handle(request)
    return answer instanceof Promise
      ? answer.then((late) => look(late, request, context))
      : look(answer, request, context)
  }
}

/** Waits until calls that were sent together have all arrived. */
export const meet = (): Promise<void> => sleep(3)

/** Calls that are in flight together and have the same key get the answer of the first one, each with its own id. */
export function mergeInFlight(keyOf: (request: MockRequest, context: ServerContext) => string | undefined): Around {
  return (handle, context): Handle => {
    const flights = new Map<string, Promise<MockAnswer>>()
    return (request) => {
      const key = keyOf(request, context)
      if (key === undefined) return handle(request)
      const flight = flights.get(key)
      if (flight !== undefined) return flight.then((answer) => answerFor(answer, request))
      const started = meet()
        .then(() => handle(request))
        .finally(() => flights.delete(key))
      flights.set(key, started)
      return started
    }
  }
}

/** The text of a Bearer token, or an empty text. */
export const tokenText = ({ headers }: MockRequest): string =>
  /^Bearer (.*)$/.exec(headers.authorization ?? '')?.[1] ?? ''
