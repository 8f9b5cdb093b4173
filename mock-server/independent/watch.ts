import type { ServerContext } from '../context.ts'
import type { MockRequest } from '../http-server.ts'
import type { Rules } from '../rules.ts'
import type { State, TokenPair } from '../state.ts'
import type { Around } from './independent-variant.ts'

/** What a replaced rule can see besides its arguments. */
export interface Watch<Memory> {
  /** Goes into the options of the server; without it, the watch sees nothing. */
  around: Around
  /** Goes into the rules of the server where `pair` is used. */
  notePair: Pick<Rules, 'accessExpired'>
  readonly context: ServerContext
  /** The request that came last: the one being answered, as long as nothing waits. */
  readonly request: MockRequest
  readonly nowMs: number
  /** Lives as long as the state of the server: a reset begins a new one. */
  readonly memory: Memory
  /** The pair whose access token the request shows. */
  readonly pair: TokenPair | undefined
  /** Whether the body contains this text, such as the name of a method. */
  bodyHas(text: string): boolean
}

const noRequest: MockRequest = { method: '', target: '', headers: {}, body: Buffer.alloc(0), remoteAddress: '' }

/** Watches one server; `begin` makes the memory of a fresh state. */
export function watch<Memory extends object>(begin: () => Memory): Watch<Memory>
export function watch(): Watch<object>
export function watch(begin: () => object = () => ({})): Watch<object> {
  let context: ServerContext | undefined
  let request = noRequest
  let pair: TokenPair | undefined
  const memories = new WeakMap<State, object>()
  const watched = () => {
    if (context === undefined) throw new TypeError('Give the server the wrapper `around` of this watch')
    return context
  }
  return {
    around: (handle, given) => {
      context = given
      return (next) => {
        request = next
        pair = undefined
        return handle(next)
      }
    },
    notePair: {
      accessExpired: (shown, nowMs) => {
        pair = shown
        return nowMs >= shown.accessExpiryMs
      },
    },
    get context() {
      return watched()
    },
    get request() {
      return request
    },
    get nowMs() {
      return watched().now()
    },
    get memory() {
      const { state } = watched()
      const known = memories.get(state)
      if (known !== undefined) return known
      const fresh = begin()
      memories.set(state, fresh)
      return fresh
    },
    get pair() {
      return pair
    },
    bodyHas: (text) => request.body.includes(text),
  }
}
