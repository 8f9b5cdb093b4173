/** Exchanges as lines to print, with the beginning and the end of long bodies. */
import { toHex, visibleLines } from '../signer/bytes.ts'
import { sha256 } from '../signer/hmac.ts'
import type { Exchange, WireAnswer, WireRequest } from '../target.ts'

/** How many bytes of each end of a long body are kept, so that evidence stays small. */
const keptBytes = 2048

/** Returns the answer as it is kept: a long body is cut, with its length and its SHA-256. */
export function cutAnswer(wire: WireAnswer): WireAnswer {
  return wire.kind !== 'answer' || !isLong(wire.body) ? wire : { ...wire, ...cutBody(wire.body) }
}

/** What is said of the whole of a body that was cut. */
interface Cut {
  bytes: number
  sha256: string
}

const isLong = (body: Uint8Array): boolean => body.length > 2 * keptBytes

function cutBody(body: Uint8Array): { body: Uint8Array; cut: Cut } {
  const kept = new Uint8Array(2 * keptBytes)
  kept.set(body.subarray(0, keptBytes))
  kept.set(body.subarray(-keptBytes), keptBytes)
  return { body: kept, cut: { bytes: body.length, sha256: toHex(sha256(body)) } }
}

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

/** A character may be cut in two. */
const partLines = (part: Uint8Array): string[] => visibleLines(new TextDecoder().decode(part))

/** @param cut says that the body is the first and the last part of a longer one */
function bodyLines(body: Uint8Array, cut?: Cut): string[] {
  if (isLong(body)) {
    const short = cutBody(body)
    return bodyLines(short.body, short.cut)
  }
  if (cut === undefined) return visibleLines(body)
  return [
    ...partLines(body.subarray(0, keptBytes)),
    `… (${cut.bytes} bytes in all, SHA-256 ${cut.sha256})`,
    ...partLines(body.subarray(keptBytes)),
  ]
}
