/** Changed answers of conforming servers. */
import type { MockAnswer } from '../../../mock-server/http-server.ts'
import { answerThrough } from '../around.ts'
import { type Call, type Members, readMembers } from '../call.ts'
import type { Change, Changing } from '../rows.ts'
import { counts } from '../rows.ts'

/** The Date header of a server whose clock shows `ms`. */
export const httpDate = (ms: number): string => new Date(ms).toUTCString()

export const html = 'text/html'

export const json = 'application/json'

/** An answer instead of another one, whose Date it keeps. */
export function textAnswer(
  from: MockAnswer,
  status: number,
  body: string,
  headers: { [name: string]: string } = { 'content-type': 'text/plain; charset=utf-8' },
): MockAnswer {
  const { date } = from.headers
  return { status, headers: date === undefined ? headers : { date, ...headers }, body }
}

/** An answer instead of that of the server. */
export const ownAnswer = (status: number, body: string, type = 'text/plain'): MockAnswer => ({
  status,
  headers: { 'content-type': type },
  body,
})

/** An answer that tells the caller to come again after `waitMs`, in whole seconds. */
export const waitAnswer = (status: number, waitMs: number, body = 'Later'): MockAnswer => ({
  status,
  headers: { 'content-type': 'text/plain', 'retry-after': String(Math.max(Math.ceil(waitMs / 1000), 1)) },
  body,
})

export type Answered<Result> = (answer: MockAnswer, call: Call) => Result

/** Changes every answer before it is sent. */
export const answers = (change: Answered<MockAnswer>): Change => ({ around: answerThrough(change) })

/** Changes the JSON of every JSON answer; batches are left alone. */
export const changeJson = (change: (envelope: Members) => unknown): Change =>
  answers((answer) => {
    const envelope = readMembers(answer.body)
    return envelope === undefined ? answer : { ...answer, body: JSON.stringify(change(envelope)) }
  })

/** Adds headers to every answer. */
export const withHeaders = (more: object | Answered<object>): Change =>
  answers((answer, call) => ({
    ...answer,
    headers: Object.assign({}, answer.headers, typeof more === 'function' ? more(answer, call) : more),
  }))

/** Another Date header on every answer, or none; `count` is the number of answers so far. */
export const dated =
  (dateOf: (nowMs: number, count: number) => string | number | undefined): Changing =>
  (seen, next = counts()) =>
    answers((answer) => {
      const date = dateOf(seen.nowMs, next())
      const { date: _date, ...headers } = answer.headers
      if (date === undefined) return { ...answer, headers }
      return { ...answer, headers: { ...headers, date: typeof date === 'number' ? httpDate(date) : date } }
    })

export const withoutDate = dated(() => undefined)
