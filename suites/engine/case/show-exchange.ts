import type { Exchange } from '../judge/outcome.ts'
import type { WireAnswer, WireRequest } from '../target.ts'

const longestBody = 4000

/**
 * The exchanged bytes as lines for a report, not yet redacted.
 *
 * @param secondAddress the local address behind `second-address`: where a call came from is what such a case is about
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
          : [`HTTP ${wire.status}`, ...shownHeaders(wire.headers), ...bodyLines(wire.body)],
  }
}

/** Of an answer's headers only those that bear on a verdict. */
function shownHeaders(headers: { [name: string]: string }): string[] {
  return ['www-authenticate', 'retry-after', 'location', 'x-refused-at']
    .filter((name) => headers[name] !== undefined)
    .map((name) => `${name}: ${headers[name]}`)
}

function bodyLines(body: Uint8Array): string[] {
  if (body.length === 0) return []
  const text = new TextDecoder().decode(body.subarray(0, longestBody))
  const visible = text
    .replaceAll('\r', '␍')
    .replaceAll('\n', '␊\n')
    .split('\n')
    .filter((line) => line !== '')
  return body.length > longestBody ? [...visible, `… (${body.length} bytes in all)`] : visible
}
