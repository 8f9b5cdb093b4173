import type { ServerContext } from '../context.ts'
import { type Outcome, refuse, succeed } from '../refusal.ts'
import { makeRoom, type Solution } from '../state.ts'
import { asText, type Call, type Method, type Result, text } from './method.ts'

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
