import type { ServerContext } from '../context.ts'
import type { State } from '../state.ts'
import type { Around } from './independent-variant.ts'

/** What a variant remembers of one server. A reset of the server begins a new memory. */
export function createMemory<T extends object>(begin: (context: ServerContext) => T): (context: ServerContext) => T {
  const memories = new WeakMap<State, T>()
  return (context) => {
    const known = memories.get(context.state)
    if (known) return known
    const memory = begin(context)
    memories.set(context.state, memory)
    return memory
  }
}

/** Gives the rules of a variant the context of their server, which `around` receives before the first call. */
export function holdContext(): { around: Around; get(): ServerContext } {
  let held: ServerContext | undefined
  return {
    around: (handle, context) => {
      held = context
      return handle
    },
    get() {
      if (!held) throw new Error('The rule was called before the server was created')
      return held
    },
  }
}
