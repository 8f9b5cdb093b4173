import { visibleLines } from '../../engine/exchange.ts'
import type { Redactor } from '../../engine/redact.ts'
import type { Ending, Exchange, Journal } from '../journal.ts'
import type { ShownExchange } from './client-report.ts'

const longestBody = 2000
const shownHeaders = ['authorization', 'content-type', 'cookie']
const shownAnswerHeaders = ['retry-after', 'location', 'date', 'www-authenticate']

/** An exchange as lines, without its secrets. */
export function showExchange(exchange: Exchange, journal: Journal, redactor: Redactor): ShownExchange {
  const { number, connection, startedMs, httpMethod, target, headers, body, bodyBytes, faults } = exchange
  const request = [
    `${httpMethod} ${target}`,
    ...headers
      .filter(([name]) => shownHeaders.includes(name.toLowerCase()))
      .map(([name, value]) => `${name.toLowerCase()}: ${value}`),
    ...bodyLines(new TextDecoder().decode(body), bodyBytes),
  ]
  return {
    number,
    atMs: Math.max(0, Math.round(startedMs - beginOf(journal))),
    connection,
    faults: [...faults],
    request: redacted(request, redactor),
    answer: redacted(answerLines(exchange), redactor),
  }
}

function answerLines({ answer, deliveredMs }: Exchange): string[] {
  if (answer === null) return ['(no answer)']
  if (answer.status === 0) return ['(the connection was closed without an answer)']
  const { status, headers, body } = answer
  const skewed = headers.date === undefined ? [] : shownAnswerHeaders
  const lines = [
    `HTTP ${status}`,
    ...skewed.filter((name) => headers[name] !== undefined).map((name) => `${name}: ${headers[name]}`),
    ...bodyLines(body, body.length),
  ]
  return deliveredMs === null ? [...lines, '(the client did not wait for it)'] : lines
}

function bodyLines(text: string, bytes: number): string[] {
  const lines = visibleLines(text.slice(0, longestBody))
  return text.length > longestBody ? [...lines, `… (${bytes} bytes in all)`] : lines
}

const redacted = (lines: readonly string[], redactor: Redactor): string[] => redactor.text(lines.join('\n')).split('\n')

function beginOf({ starts, exchanges }: Journal): number {
  return starts?.[0]?.fromMs ?? exchanges[0]?.startedMs ?? 0
}

/** Describes how a start of the client ended. */
export function showEnding(ended: Ending): string {
  switch (ended.kind) {
    case 'exit':
      return `exit code ${ended.code}`
    case 'signal':
      return `ended by ${ended.signal}`
    case 'timeout':
      return `ended after ${ended.seconds} s`
    case 'runaway':
      return `ended after ${ended.requests} requests`
    case 'interrupted':
      return 'the run was interrupted'
  }
}
