import type { ServerContext } from '../context.ts'
import type { MockAnswer, MockRequest } from '../http-server.ts'
import type { Around } from './independent-variant.ts'

type ChangeAnswer = (answer: MockAnswer, request: MockRequest, context: ServerContext) => MockAnswer

/** Changes every answer before it is sent. */
export function changeAnswers(change: ChangeAnswer): Around {
  return (handle, context) => (request) => {
    const answer = handle(request)
    return answer instanceof Promise
      ? answer.then((late) => change(late, request, context))
      : change(answer, request, context)
  }
}

const refusalStatuses = [400, 401, 403, 404]

/** Changes the refusals of a server whose profile maps refusals to an HTTP status. */
export function changeRefusals(change: ChangeAnswer): Around {
  return changeAnswers((answer, request, context) =>
    refusalStatuses.includes(answer.status) ? change(answer, request, context) : answer,
  )
}

/** Wraps the handler in each of the given ways; the last one is the outermost. */
export function chain(...arounds: Around[]): Around {
  return (handle, context) => arounds.reduce((inner, around) => around(inner, context), handle)
}

type Members = { [name: string]: unknown }

/** Changes the JSON of every JSON answer; batches are left alone. */
export function changeJson(change: (envelope: Members, answer: MockAnswer) => unknown): Around {
  return changeAnswers((answer) => {
    if (!answer.body.startsWith('{')) return answer
    return { ...answer, body: JSON.stringify(change(JSON.parse(answer.body) as Members, answer)) }
  })
}

interface ErrorObject {
  code: number
  message: string
  data?: unknown
}

/** Replaces the error object of every refusal. */
export function changeErrors(change: (error: ErrorObject) => unknown): Around {
  return changeJson((envelope) =>
    envelope.error === undefined ? envelope : { ...envelope, error: change(envelope.error as ErrorObject) },
  )
}

/** An answer of plain text or of a given content type that keeps the Date header. */
export function textAnswer(
  from: MockAnswer,
  status: number,
  body: string,
  headers: { [name: string]: string } = { 'content-type': 'text/plain; charset=utf-8' },
): MockAnswer {
  const { date } = from.headers
  return { status, headers: date === undefined ? headers : { date, ...headers }, body }
}

/** The Date header of a server whose clock shows `ms`. */
export const httpDate = (ms: number): string => new Date(Math.floor(ms / 1000) * 1000).toUTCString()
