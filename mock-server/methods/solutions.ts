import { oneOf, optional, wholeNumber } from '../checks.ts'
import type { ServerContext } from '../context.ts'
import { type Outcome, refuse, succeed } from '../refusal.ts'
import { makeRoom, type Solution } from '../state.ts'
import { asText, type Call, carryOut, type Method, method, type Result, text } from './method.ts'

const solutionId = { id: text(1, 128) }

/** Part 4.3, and beyond the document: creating and changing solutions. */
export const solutionMethods: Method[] = [
  method('solution/listSolutions', {}, ({ context }) => carryOut(context, 'listing', () => listing(context))),
  method('solution/createSolution', { name: text(1, 128) }, ({ context, params }) => {
    const made = { ...recordOf(context), name: asText(params.name) }
    keep(context, context.state.solutions, made)
    return succeed({ solutionId: made.id })
  }),
  method('solution/getSolution', solutionId, (call) => withSolution(call, (solution) => succeed({ solution }))),
  method('solution/updateSolution', { ...solutionId, name: text(1, 128) }, (call) =>
    withSolution(call, (solution) => {
      solution.name = asText(call.params.name)
      return succeed('OK')
    }),
  ),
  method('solution/deleteSolution', solutionId, (call) =>
    withSolution(call, ({ id }) => {
      call.context.state.solutions.delete(id)
      return succeed('OK')
    }),
  ),
]

const recordOf = ({ random, now }: ServerContext) => ({ id: random(16).toString('hex'), created: now() })

function keep<R extends { id: string }>({ state, bounds }: ServerContext, records: Map<string, R>, made: R): void {
  state.forgotten.records += makeRoom(records, bounds.records)
  records.set(made.id, made)
}

function listing({ state, profile }: ServerContext): Outcome<object> {
  const list = [...state.solutions.values()]
  switch (profile.listShape) {
    case 'list':
      return succeed({ list })
    case 'solutions':
      return succeed({ solutions: list })
    default:
      return succeed({ items: list, count: list.length, next: null })
  }
}

function withSolution(call: Call, use: (solution: Solution) => Outcome<Result>): Outcome<Result> {
  const solution = call.context.state.solutions.get(asText(call.params.id))
  return solution ? use(solution) : refuse('denied', 'params/id')
}

const page = { skip: optional(wholeNumber(0)), limit: optional(wholeNumber(0)) }

/** Beyond the document: Contexts, to show that the scopes context, solution:ID and solution:* work. */
export const contextMethods: Method[] = [
  method(
    'context/createContext',
    { solution: text(1, 128), name: text(1, 128), description: text(0, 1024), scope: oneOf(['private', 'public']) },
    (call) => {
      const { context, params } = call
      const solution = asText(params.solution)
      if (!reached(call, solution)) return refuse('denied', 'scope/solution')
      const { name, description, scope } = params
      const texts = { name: asText(name), description: asText(description), scope: asText(scope) }
      const made = { ...recordOf(context), solution, ...texts }
      keep(context, context.state.contexts, made)
      return succeed({ contextId: made.id })
    },
  ),
  method(
    'context/listContexts',
    { ...page, solution: optional(text(1, 128)), sortOrder: optional(oneOf(['asc', 'desc'])) },
    (call) => {
      const { params } = call
      const wanted = params.solution === undefined ? undefined : asText(params.solution)
      if (wanted !== undefined && !reached(call, wanted)) return refuse('denied', 'scope/solution')
      const all = [...call.context.state.contexts.values()].filter(({ solution }) =>
        wanted === undefined ? mayManage(call, solution) : solution === wanted,
      )
      if (params.sortOrder === 'desc') all.reverse()
      const skip = Number(params.skip ?? 0)
      const list = all.slice(skip, skip + Number(params.limit ?? 100))
      return succeed({ list, count: all.length })
    },
  ),
]

/** Checks that the solution exists and that the caller may manage its Contexts. */
function reached(call: Call, solution: string): boolean {
  return call.context.state.solutions.has(solution) && mayManage(call, solution)
}

function mayManage({ context, caller }: Call, solution: string): boolean {
  return context.rules.solutionReached(caller?.scopes ?? [], solution)
}

/** Beyond the document: one harmless call in each of the other API areas, to show that their scopes open them. */
export const areaMethods: Method[] = (
  ['thread/listThreads', 'store/listStores', 'inbox/listInboxes', 'stream/listStreams'] as const
).map((name) => method(name, page, () => succeed({ list: [], count: 0 })))
