import type { Instance, Target, WireAnswer, WireRequest } from '../engine/target.ts'
import { bundledTarget } from '../targets/bundled.ts'

const encoder = new TextEncoder()

function answer(status: number, body: unknown, headers: { [name: string]: string } = {}): WireAnswer {
  const text = typeof body === 'string' ? body : JSON.stringify(body)
  return { kind: 'answer', status, headers, body: encoder.encode(text) }
}

const error = { code: 1, message: 'No' }
const idOf = ({ body }: WireRequest): unknown => (JSON.parse(new TextDecoder().decode(body)) as { id: unknown }).id

const answers: { readonly [name: string]: (request: WireRequest) => WireAnswer } = {
  throttled: () => answer(429, '', { 'retry-after': '1' }),
  unavailable: () => answer(503, '', { 'retry-after': '1' }),
  'error-500': () => answer(500, 'oh no'),
  'error-500-with-error': (request) => answer(500, { jsonrpc: '2.0', id: idOf(request), error }),
  'status-400': () => answer(400, 'Bad request'),
  'status-401': () => answer(401, ''),
  'status-403': () => answer(403, '<h1>Forbidden</h1>'),
  redirected: () => answer(302, '', { location: '/elsewhere' }),
  empty: () => answer(200, ''),
  page: () => answer(200, '<h1>It works</h1>'),
  array: () => answer(200, [{ result: {} }]),
  'jsonrpc-1': (request) => answer(200, { jsonrpc: '1.0', id: idOf(request), result: {} }),
  'error-null': (request) => answer(200, { jsonrpc: '2.0', id: idOf(request), result: {}, error: null }),
  'error-beside-a-result': (request) => answer(200, { jsonrpc: '2.0', id: idOf(request), result: {}, error }),
  nested: () => answer(200, '['.repeat(100_000)),
  unread: () => ({ kind: 'unread', status: 200, headers: {}, limitBytes: 4_194_304 }),
  silent: () => ({
    kind: 'none',
    reason: 'no answer within the time limit of a request',
    refusedConnection: false,
    stale: false,
    timedOut: true,
  }),
  dropped: () => ({
    kind: 'none',
    reason: 'the connection was dropped without an answer',
    refusedConnection: false,
    stale: false,
  }),
}

/**
 * The bundled server behind something that does what the headers of a call say: `x-answer` names an answer that comes instead,
 * `x-delay` the milliseconds that pass before the right one.
 */
export function obedientTarget(): Target {
  const target = bundledTarget()
  return { ...target, open: async () => obedient(await target.open()) }
}

function obedient(instance: Instance): Instance {
  let throttled = 0
  let isBroken = false
  const send = async (request: WireRequest): Promise<WireAnswer> => {
    const header = (wanted: string) => request.headers.find(([name]) => name === wanted)?.[1]
    const wanted = header('x-answer')
    if (wanted === 'throttled-twice' && throttled < 2) {
      throttled += 1
      return answer(429, '', { 'retry-after': '1' })
    }
    isBroken ||= wanted === 'error-500-from-now-on'
    if (isBroken) return answer(500, 'oh no')
    if (wanted === 'right-with-500') {
      const right = await instance.send(request)
      return right.kind === 'answer' ? { ...right, status: 500 } : right
    }
    await instance.clock.sleep(Number(header('x-delay') ?? 0))
    return answers[wanted ?? '']?.(request) ?? instance.send(request)
  }
  return { ...instance, send, sendTogether: (requests) => Promise.all(requests.map(send)) }
}
