import { refuse, succeed } from '../refusal.ts'
import { type Context, makeRoom } from '../state.ts'
import { asText, type Call, count, type Method, oneOf, optional, text } from './method.ts'

/** Beyond the document: Contexts, to show that the scopes context, solution:ID and solution:* work. */
export const contextMethods: Method[] = [
  {
    name: 'context/createContext',
    area: 'context',
    params: {
      solution: text(1, 128),
      name: text(1, 128),
      description: text(0, 1024),
      scope: oneOf('private', 'public'),
    },
    run(call) {
      const { context, params } = call
      const solution = asText(params.solution)
      if (!reached(call, solution)) return refuse('denied', 'scope/solution')
      const made: Context = {
        id: context.random(16).toString('hex'),
        createdMs: context.now(),
        solution,
        name: asText(params.name),
        description: asText(params.description),
        scope: asText(params.scope),
      }
      context.state.forgotten.records += makeRoom(context.state.contexts, context.bounds.records)
      context.state.contexts.set(made.id, made)
      return succeed({ contextId: made.id })
    },
  },
  {
    name: 'context/listContexts',
    area: 'context',
    params: {
      solution: optional(text(1, 128)),
      skip: optional(count),
      limit: optional(count),
      sortOrder: optional(oneOf('asc', 'desc')),
    },
    run(call) {
      const { params } = call
      const wanted = params.solution === undefined ? undefined : asText(params.solution)
      if (wanted !== undefined && !reached(call, wanted)) return refuse('denied', 'scope/solution')
      const all = [...call.context.state.contexts.values()].filter(({ solution }) =>
        wanted === undefined ? mayManage(call, solution) : solution === wanted,
      )
      if (params.sortOrder === 'desc') all.reverse()
      const skip = Number(params.skip ?? 0)
      const list = all.slice(skip, skip + Number(params.limit ?? 100)).map(record)
      return succeed({ list, count: all.length })
    },
  },
]

/** Checks that the solution exists and that the caller may manage its Contexts. */
function reached(call: Call, solution: string): boolean {
  return call.context.state.solutions.has(solution) && mayManage(call, solution)
}

function mayManage({ context, caller }: Call, solution: string): boolean {
  return context.rules.solutionReached(caller?.scopes ?? [], solution)
}

function record({ createdMs, ...context }: Context): object {
  return { ...context, created: createdMs }
}
