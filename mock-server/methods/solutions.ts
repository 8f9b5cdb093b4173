import type { ServerContext } from '../context.ts'
import { type Outcome, refuse, succeed } from '../refusal.ts'
import type { Area } from '../rules.ts'
import { type Context, makeRoom, type Solution } from '../state.ts'
import { asText, type Call, count, type Method, oneOf, optional, type Result, text } from './method.ts'

const solutionId = { id: text(1, 128) }

/** Part 4.3, and beyond the document: creating and changing solutions. */
export const solutionMethods: Method[] = [
  {
    name: 'solution/listSolutions',
    area: 'solution',
    params: {},
    run({ context }) {
      const wait = context.rules.beforeEffect('listing')
      return wait ? wait.then(() => listing(context)) : listing(context)
    },
  },
  {
    name: 'solution/createSolution',
    area: 'solution',
    params: { name: text(1, 128) },
    run({ context, params }) {
      const solution: Solution = {
        id: context.random(16).toString('hex'),
        createdMs: context.now(),
        name: asText(params.name),
      }
      context.state.forgotten.records += makeRoom(context.state.solutions, context.bounds.records)
      context.state.solutions.set(solution.id, solution)
      return succeed({ solutionId: solution.id })
    },
  },
  {
    name: 'solution/getSolution',
    area: 'solution',
    params: solutionId,
    run: (call) => withSolution(call, (solution) => succeed({ solution: record(solution) })),
  },
  {
    name: 'solution/updateSolution',
    area: 'solution',
    params: { ...solutionId, name: text(1, 128) },
    run: (call) =>
      withSolution(call, (solution) => {
        solution.name = asText(call.params.name)
        return succeed('OK')
      }),
  },
  {
    name: 'solution/deleteSolution',
    area: 'solution',
    params: solutionId,
    run: (call) =>
      withSolution(call, (solution) => {
        call.context.state.solutions.delete(solution.id)
        return succeed('OK')
      }),
  },
]

function listing({ state, profile }: ServerContext): Outcome<object> {
  const list = [...state.solutions.values()].map(record)
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

function record(solution: Solution): object {
  return { id: solution.id, created: solution.createdMs, name: solution.name }
}

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
      const list = all.slice(skip, skip + Number(params.limit ?? 100)).map(contextRecord)
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

function contextRecord({ createdMs, ...context }: Context): object {
  return { ...context, created: createdMs }
}

const listings: [name: string, area: Area][] = [
  ['thread/listThreads', 'thread'],
  ['store/listStores', 'store'],
  ['inbox/listInboxes', 'inbox'],
  ['stream/listStreams', 'stream'],
]

/** Beyond the document: one harmless call in each of the other API areas, to show that their scopes open them. */
export const areaMethods: Method[] = listings.map(([name, area]) => ({
  name,
  area,
  params: { skip: optional(count), limit: optional(count) },
  run: () => succeed({ list: [], count: 0 }),
}))
