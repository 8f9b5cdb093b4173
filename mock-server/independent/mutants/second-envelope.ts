import type { MockAnswer } from '../../http-server.ts'
import { answerThrough, isAccepted, readMembers } from '../calls.ts'
import type { IndependentMutant } from '../independent-mutant.ts'
import { isMethod } from '../requests.ts'
import { watch } from '../watch.ts'

const methodOf: { [operation: string]: string } = {
  createApiKey: 'manager/createApiKey',
  auth: 'manager/auth',
  listSolutions: 'solution/listSolutions',
}

/** Part 1. */
export const secondEnvelopeMutants: IndependentMutant[] = [
  {
    // "Every call is an HTTP `POST` to `{base_url}/api`"
    id: 'body-behind-malformed-one-on-connection-refused',
    breaks: 'envelope/malformed-answered',
    needsState: true,
    about: 'What could not be read stays in the buffer of the connection and spoils the next call.',
    create: () => {
      const seen = watch(() => ({ spoilt: new Set<number>() }))
      return {
        around: (handle, context) => {
          const inner = seen.around(handle, context)
          return (request) => {
            const { connection, body } = request
            if (connection === undefined) return inner(request)
            if (seen.memory.spoilt.delete(connection))
              return inner({ ...request, body: Buffer.concat([Buffer.from('{'), body]) })
            if (readMembers(body.toString('utf8')) === undefined) seen.memory.spoilt.add(connection)
            return inner(request)
          }
        },
      }
    },
  },
  {
    // "method | string | yes"
    id: 'missing-method-is-that-of-last-call',
    breaks: 'envelope/request-members',
    needsState: true,
    create: () => {
      const seen = watch((): { last?: string } => ({}))
      return {
        around: seen.around,
        rules: {
          methodMemberTaken: (value): value is string => typeof value === 'string' || value === undefined,
          methodName: (name) => {
            if (name === 'undefined') return seen.memory.last ?? name
            seen.memory.last = name
            return name
          },
        },
      }
    },
  },
  {
    // "the response carries the same value"
    id: 'listing-of-caller-cached-with-its-id',
    breaks: 'envelope/id-echo',
    needsState: true,
    about: 'An accepted listing within a second of another one with the same header is answered with its body.',
    create: () => {
      const seen = watch(() => ({ answers: new Map<string, { untilMs: number; answer: MockAnswer }>() }))
      const cache = answerThrough((answer, request, context) => {
        if (!isMethod(request, 'solution/listSolutions') || !isAccepted(answer)) return answer
        const { answers } = seen.memory
        const header = request.headers.authorization ?? ''
        const kept = answers.get(header)
        if (kept && context.now() < kept.untilMs) return { ...answer, body: kept.answer.body }
        answers.set(header, { untilMs: context.now() + 1000, answer })
        return answer
      })
      return { around: (handle, context) => cache(seen.around(handle, context), context) }
    },
  },
  {
    // "Method names have the form `<group>/<operation>`"
    id: 'operation-found-in-every-group',
    breaks: 'envelope/unknown-method',
    about: 'The group is not looked at: manager/listSolutions lists the solutions.',
    create: () => ({
      rules: {
        methodName: (name) => {
          const operation = name.slice(name.indexOf('/') + 1)
          return name.includes('/') && Object.hasOwn(methodOf, operation) ? (methodOf[operation] ?? name) : name
        },
      },
    }),
  },
]
