import { type Exchange, visibleLines } from '../exchange.ts'
import type { WireAnswer, WireRequest } from '../target.ts'
import { cutAnswer, keptBytes } from './cut-evidence.ts'

/**
 * The exchanged bytes as lines for a report, not yet redacted.
 *
 * @param secondAddress the local address of `second-address`: such a case is about where a call came from
 */
export function showExchange(request: WireRequest, wire: WireAnswer, secondAddress: string | undefined): Exchange {
  return {
    request: [
      `${request.method} ${request.path}`,
      ...(request.from === 'second-address' ? [`from ${secondAddress ?? 'the second address'}`] : []),
      ...request.headers.map(([name, value]) => `${name}: ${value}`),
      ...bodyLines(request.body),
    ],
    answer:
      wire.kind === 'none'
        ? [`(${wire.reason})`]
        : wire.kind === 'unread'
          ? [`HTTP ${wire.status}`, ...shownHeaders(wire.headers), `(longer than ${wire.limitBytes} bytes, not read)`]
          : [`HTTP ${wire.status}`, ...shownHeaders(wire.headers), ...bodyLines(wire.body, wire.cut)],
  }
}

/** The headers of an answer that matter for a verdict. */
function shownHeaders(headers: { [name: string]: string }): string[] {
  return ['www-authenticate', 'retry-after', 'location', 'x-refused-at']
    .filter((name) => headers[name] !== undefined)
    .map((name) => `${name}: ${headers[name]}`)
}

/** @param cut the body is the first and the last part of a longer one */
function bodyLines(body: Uint8Array, cut?: { bytes: number; sha256: string }): string[] {
  if (body.length > 2 * keptBytes) return bodyLines(...cutBody(body))
  if (cut === undefined) return visibleLines(body)
  return [
    ...visibleLines(body.subarray(0, keptBytes)),
    `… (${cut.bytes} bytes in all, SHA-256 ${cut.sha256})`,
    ...visibleLines(body.subarray(keptBytes)),
  ]
}

function cutBody(body: Uint8Array): [Uint8Array, { bytes: number; sha256: string }] {
  const cut = cutAnswer({ kind: 'answer', status: 0, headers: {}, body })
  if (cut.kind !== 'answer' || cut.cut === undefined) throw new Error('a long body that was not cut')
  return [cut.body, cut.cut]
}
