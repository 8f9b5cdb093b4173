/** The parts that read an answer: `{ kind: accepted | refused | throttled | broken }`. */

/** How long to wait if a 429 names no time. */
const unnamedWaitMs = 200
/** Timers may end a little early. */
const timerErrorMs = 10

export const answerParts = {
  readAnswer(client, answer, id, request) {
    if (answer.broken !== undefined) return { kind: 'broken', reason: answer.broken }
    const { parts } = client
    const { status, headers } = answer
    const retryAfter = headers['retry-after']
    if (status === 429 || (status === 503 && retryAfter !== undefined))
      return { kind: 'throttled', reason: `HTTP ${status}`, waitMs: parts.retryAfterMs(retryAfter, headers.date) }
    if (status >= 300 && status < 400) return { kind: 'broken', reason: `HTTP ${status}: redirects are not followed` }
    return parts.readBody(answer, id, request)
  },

  readBody({ status, text }, id) {
    const message = parseObject(text)
    if (message === undefined)
      return { kind: status >= 400 && status < 500 ? 'refused' : 'broken', reason: `HTTP ${status} without JSON` }
    if (message.error !== undefined && message.error !== null) {
      const isForeign = typeof message.id === 'number' && message.id !== id
      return { kind: isForeign ? 'broken' : 'refused', reason: `Error ${JSON.stringify(message.error)}` }
    }
    if (status >= 400) return { kind: status < 500 ? 'refused' : 'broken', reason: `HTTP ${status}` }
    if (message.id !== id) return { kind: 'broken', reason: `The answer has the id ${message.id}, not ${id}` }
    if (message.result === undefined) return { kind: 'broken', reason: 'The answer has no result' }
    return { kind: 'accepted', result: message.result }
  },

  /** Seconds or an HTTP date (RFC 9110 §10.2.3); a date is compared with the server's own. */
  retryAfterMs(text, date) {
    if (text === undefined) return unnamedWaitMs
    if (/^\d+$/.test(text)) return Number(text) * 1000
    const fromMs = Date.parse(date ?? '')
    return Math.max(0, Date.parse(text) - (Number.isNaN(fromMs) ? Date.now() : fromMs)) || 0
  },

  noteThrottled(client, { waitMs }) {
    client.silentUntil = Math.max(client.silentUntil, Date.now() + waitMs + timerErrorMs)
  },
}

function parseObject(text) {
  try {
    const value = JSON.parse(text)
    return typeof value === 'object' && value !== null ? value : undefined
  } catch {
    return undefined
  }
}
