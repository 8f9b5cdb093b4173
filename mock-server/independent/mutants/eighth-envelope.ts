import { readMembers } from '../calls.ts'
import type { IndependentMutant } from '../independent-mutant.ts'
import { watch } from '../watch.ts'

/** Part 1. */
export const eighthEnvelopeMutants: IndependentMutant[] = [
  {
    // "`<group>/<operation>`", and the operation is `listSolutions`
    id: 'method-name-in-snake-case-accepted',
    breaks: 'envelope/unknown-method',
    create: () => ({
      rules: { methodName: (name) => name.replaceAll(/_([a-z])/g, (_all, letter: string) => letter.toUpperCase()) },
    }),
  },
  {
    // "id | integer | Echo of the request `id`."
    id: 'id-of-key-creation-echoed-as-text',
    breaks: 'envelope/id-echo',
    create: () => {
      const seen = watch()
      return {
        around: seen.around,
        rules: { echoedId: (id) => (seen.bodyHas('manager/createApiKey') ? String(id) : id) },
      }
    },
  },
  {
    // "result | object | Result of the method."
    id: 'result-of-listing-is-null-for-tokens-of-created-keys',
    breaks: 'envelope/result-object',
    create: () => {
      const seen = watch()
      return {
        around: seen.around,
        rules: {
          ...seen.notePair,
          resultMember: (method, result) =>
            method === 'solution/listSolutions' && seen.pair?.key.initial === false ? null : result,
        },
      }
    },
  },
  {
    // "id | integer | yes | Chosen by the caller"
    id: 'id-below-that-of-last-call-on-connection-refused',
    breaks: 'envelope/id-echo',
    needsState: true,
    about: 'Ids must not fall, as those of a stream of messages.',
    create: () => {
      const seen = watch(() => ({ last: new Map<number, number>() }))
      return {
        around: (handle, context) => {
          const inner = seen.around(handle, context)
          return (request) => {
            const { connection } = request
            const id = readMembers(request.body.toString('utf8'))?.id
            if (connection === undefined || typeof id !== 'number') return inner(request)
            const isBelow = id < (seen.memory.last.get(connection) ?? id)
            if (isBelow) return inner({ ...request, body: Buffer.from('{}') })
            const answer = inner(request)
            seen.memory.last.set(connection, id)
            return answer
          }
        },
      }
    },
  },
]
