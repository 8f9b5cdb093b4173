import type { IncomingMessage, ServerResponse } from 'node:http'
import { createConnectionNumbers } from './connection-numbers.ts'
import type { MockAnswer } from './http.ts'

/** One exchange as it went over the wire, SECRETS INCLUDED. Times are ms since 1970, with fractions. */
export interface RecordedExchange {
  /** Counts from 1, in the order in which the requests began to arrive. */
  number: number
  /** Counts from 1, in the order in which connections brought their first request. */
  connection: number
  /** When the header of the request had arrived. */
  startedMs: number
  /** When its body had arrived; null: it did not arrive. */
  receivedMs: number | null
  /** When the answer was ready; null: there was none. */
  answeredMs: number | null
  /** When the last byte of the answer was sent; null: it was not sent. */
  deliveredMs: number | null
  httpMethod: string
  /** Path and query as received. */
  target: string
  /** Names and values as received, in their order. */
  headers: [name: string, value: string][]
  /** At most the first 256 KiB. */
  body: Buffer
  /** The length of the whole body. */
  bodyBytes: number
  /** null: no answer. */
  answer: RecordedAnswer | null
  /** Where a refused call was stopped, such as `signature/mac`. */
  stage?: string
  /** The deliberate faults that applied to the call. */
  faults: string[]
}

export interface RecordedAnswer {
  /** 0 where the connection was closed instead. */
  status: number
  headers: { readonly [name: string]: string }
  /** As sent; at most the first 256 Ki characters. */
  body: string
  /** The body before a fault changed it. */
  unspoilt?: string
}

export interface Recording {
  /** Every exchange that is held, in the order of their numbers; those under way too. */
  exchanges(): readonly RecordedExchange[]
  /** Exchanges that came after the recording was full. */
  readonly dropped: number
}

/** What the HTTP server reports to the recording about one exchange. */
interface ExchangeWriter {
  received(body: Buffer): void
  answered(answer: MockAnswer): void
}

export interface RecordingWriter extends Recording {
  begin(incoming: IncomingMessage, response: ServerResponse): ExchangeWriter
}

const bodyBound = 256 * 1024
const silent: ExchangeWriter = { received: () => {}, answered: () => {} }

/** Keeps the exchanges of a server until `bytes` are held. Later ones are only counted, so the recording is complete from the beginning. */
export function createRecording(bytes: number): RecordingWriter {
  const held: RecordedExchange[] = []
  const connectionOf = createConnectionNumbers()
  let room = bytes
  let dropped = 0
  return {
    exchanges: () => held,
    get dropped() {
      return dropped
    },
    begin(incoming, response) {
      const exchange = exchangeOf(incoming, held.length + 1, connectionOf(incoming.socket), preciseNow())
      room -= sizeOf(exchange)
      if (room < 0) {
        dropped += 1
        return silent
      }
      held.push(exchange)
      response.once('finish', () => {
        exchange.deliveredMs = preciseNow()
      })
      return {
        received(body) {
          exchange.receivedMs = preciseNow()
          exchange.bodyBytes = body.length
          exchange.body = body.length > bodyBound ? Buffer.from(body.subarray(0, bodyBound)) : body
          room -= exchange.body.length
        },
        answered(answer) {
          exchange.answeredMs = preciseNow()
          exchange.answer = answerOf(answer)
          room -= answer.body.length
          const stage = answer.notes?.stage
          if (stage !== undefined) exchange.stage = stage
          exchange.faults = answer.notes?.faults ?? []
        },
      }
    },
  }
}

function exchangeOf(
  incoming: IncomingMessage,
  number: number,
  connection: number,
  startedMs: number,
): RecordedExchange {
  const { rawHeaders } = incoming
  const headers: [string, string][] = []
  for (let at = 0; at + 1 < rawHeaders.length; at += 2) headers.push([rawHeaders[at] ?? '', rawHeaders[at + 1] ?? ''])
  return {
    number,
    connection,
    startedMs,
    receivedMs: null,
    answeredMs: null,
    deliveredMs: null,
    httpMethod: incoming.method ?? '',
    target: incoming.url ?? '',
    headers,
    body: Buffer.alloc(0),
    bodyBytes: 0,
    answer: null,
    faults: [],
  }
}

function answerOf({ status, headers, body, hangUp, notes }: MockAnswer): RecordedAnswer {
  const unspoilt = notes?.unspoilt
  return {
    status: hangUp ? 0 : status,
    headers: { ...headers },
    body: hangUp ? '' : body.slice(0, bodyBound),
    ...(unspoilt === undefined ? {} : { unspoilt: unspoilt.slice(0, bodyBound) }),
  }
}

/** The approximate size of an exchange without its bodies. */
function sizeOf({ headers, target }: RecordedExchange): number {
  return headers.reduce((sum, [name, value]) => sum + name.length + value.length, 500 + target.length)
}

/** More precise than Date.now, because an answer and the next request are often less than a millisecond apart. */
function preciseNow(): number {
  return performance.timeOrigin + performance.now()
}
