import { rules as right } from '../../rules.ts'
import { answerThrough, isAccepted, paramsOf, readMembers, tokenText } from '../calls.ts'
import type { IndependentMutant } from '../independent-mutant.ts'
import { namedKeyId } from '../requests.ts'
import { createMemory } from '../server-memory.ts'
import { watch } from '../watch.ts'

/** Parts 1 and 4: the envelope of requests and answers. */
export const thirdEnvelopeMutants: IndependentMutant[] = [
  {
    // "id | integer | … the response carries the same value"
    id: 'id-beyond-53-bits-rounded',
    breaks: 'envelope/id-echo',
    needsState: true,
    about: 'A layer in front of the server reads the answer and writes it again.',
    create: () => ({
      around: answerThrough((answer) =>
        isAccepted(answer) ? { ...answer, body: JSON.stringify(JSON.parse(answer.body)) } : answer,
      ),
    }),
  },
  {
    // "id | createApiKey result | … Identifier of the key", and ids of requests are "Chosen by the caller"
    id: 'creation-with-repeated-id-answered-as-before',
    breaks: 'keys/unique-ids',
    needsState: true,
    about: 'The result of a creation is stored with its caller and the id of the request, to answer a repetition.',
    create: () => {
      const seen = watch(() => ({ results: new Map<string, { id: string; secret: string }>() }))
      return {
        around: seen.around,
        rules: {
          createKeyResult: (result) => {
            const { id } = readMembers(seen.request.body.toString('utf8')) ?? {}
            const call = JSON.stringify([namedKeyId(seen.request) ?? tokenText(seen.request), id])
            const known = seen.memory.results.get(call) ?? result
            seen.memory.results.set(call, known)
            return known
          },
        },
      }
    },
  },
  {
    // "Method names have the form `<group>/<operation>`"
    id: 'doubled-slash-in-method-name-accepted',
    breaks: 'envelope/unknown-method',
    create: () => ({ rules: { methodName: (name) => right.methodName(name.replaceAll(/\/{2,}/g, '/')) } }),
  },
  {
    // "scope | array of string, required"
    id: 'missing-scope-of-creation-is-that-of-last-one',
    breaks: 'keys/create-params',
    needsState: true,
    create: () => {
      const seen = watch((): { last?: string[] } => ({}))
      return {
        around: seen.around,
        rules: {
          paramTaken: (method, name, value, valid) =>
            valid ||
            (method === 'manager/createApiKey' &&
              name === 'scope' &&
              value === undefined &&
              seen.memory.last !== undefined),
          storedKey: (key) => {
            const isMissing = paramsOf(seen.request).scope === undefined
            const scope = isMissing ? (seen.memory.last ?? key.scope) : key.scope
            seen.memory.last = scope
            return { ...key, scope }
          },
        },
      }
    },
  },
  {
    // "id | integer | Echo of the request id": wherever it stands in the request
    id: 'id-behind-params-not-echoed',
    breaks: 'envelope/id-echo',
    needsState: true,
    about: 'A call is made as soon as its params are read, with the id that was read until then.',
    create: () => ({
      around: answerThrough((answer, { body }) => {
        const names = Object.keys(readMembers(body.toString('utf8')) ?? {})
        if (!isAccepted(answer) || names.indexOf('id') < names.indexOf('params')) return answer
        return { ...answer, body: JSON.stringify({ ...readMembers(answer.body), id: 0 }) }
      }),
    }),
  },
  {
    // "params | object | yes | Parameters of the method; `{}` when there are none"
    id: 'empty-params-refused-behind-full-ones-on-connection',
    breaks: 'envelope/empty-params',
    needsState: true,
    create: () => {
      const seen = watch(() => ({ connections: new Set<number>() }))
      return {
        around: seen.around,
        rules: {
          paramsTaken: (value, profile) => {
            const { connection } = seen.request
            const taken = right.paramsTaken(value, profile)
            if (!taken || connection === undefined) return taken
            const isEmpty = Object.keys(value ?? {}).length === 0
            if (!isEmpty) seen.memory.connections.add(connection)
            return !isEmpty || !seen.memory.connections.has(connection)
          },
        },
      }
    },
  },
  {
    // The answer: "jsonrpc | string | `2.0`"
    id: 'answer-behind-refusal-on-connection-without-jsonrpc',
    breaks: 'envelope/response-jsonrpc',
    needsState: true,
    create: () => {
      const memoryOf = createMemory(() => ({ connections: new Set<number>() }))
      return {
        around: answerThrough((answer, { connection }, context) => {
          const { connections } = memoryOf(context)
          if (connection === undefined) return answer
          if (!isAccepted(answer)) {
            connections.add(connection)
            return answer
          }
          if (!connections.delete(connection)) return answer
          const { jsonrpc: _jsonrpc, ...rest } = readMembers(answer.body) ?? {}
          return { ...answer, body: JSON.stringify(rest) }
        }),
      }
    },
  },
]
