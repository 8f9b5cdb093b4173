import { rules as right } from '../../rules.ts'
import { isAccepted, paramsOf, readMembers } from '../calls.ts'
import type { IndependentMutant } from '../independent-mutant.ts'
import { isMethod } from '../requests.ts'
import { watch } from '../watch.ts'

/** Parts 1 and 5: the envelope, and whether a call needs authorization. */
export const fourthEnvelopeMutants: IndependentMutant[] = [
  {
    // "the response carries the same value"
    id: 'negative-id-loses-its-sign',
    breaks: 'envelope/id-echo',
    create: () => ({
      rules: { echoedId: (id) => (typeof id === 'number' ? Math.abs(id) : id) },
    }),
  },
  {
    // "the response carries the same value"
    id: 'refresh-answered-with-id-of-its-grant',
    breaks: 'envelope/id-echo',
    needsState: true,
    about: 'The answer is stored with the refresh token, and filled in again.',
    create: () => {
      const seen = watch(() => ({ ids: new Map<unknown, unknown>() }))
      return {
        around: (handle, context) => {
          const inner = seen.around(handle, context)
          return async (request) => {
            const answer = await inner(request)
            if (!isMethod(request, 'manager/auth') || !isAccepted(answer)) return answer
            const { ids } = seen.memory
            const members = readMembers(answer.body) ?? {}
            const first = ids.get(paramsOf(request).refreshToken)
            const id = first ?? members.id
            ids.set(readMembers(JSON.stringify(members.result))?.refreshToken, id)
            return first === undefined ? answer : { ...answer, body: JSON.stringify({ ...members, id }) }
          }
        },
      }
    },
  },
  {
    // "jsonrpc | string | `2.0`"
    id: 'jsonrpc-is-a-number-in-answers-to-tokens',
    breaks: 'envelope/response-jsonrpc',
    create: () => {
      const seen = watch()
      return {
        around: seen.around,
        rules: { ...seen.notePair, answerVersion: () => (seen.pair === undefined ? '2.0' : 2) },
      }
    },
  },
  {
    // "Method names have the form `<group>/<operation>`"
    id: 'dot-for-slash-in-method-name-taken',
    breaks: 'envelope/method-names',
    create: () => ({
      rules: { methodName: (name) => name.replace('.', '/') },
    }),
  },
  {
    // "a JSON body"
    id: 'comments-in-json-skipped',
    breaks: 'envelope/malformed-answered',
    create: () => ({
      rules: {
        parseBody: (text) => right.parseBody(text.replaceAll(/("(?:[^"\\]|\\.)*")|\/\*.*?\*\//gs, '$1')),
      },
    }),
  },
  {
    // "Three ways to authorize a call to a method": a header of that call, and a grant before it is not one of them
    id: 'grant-authorizes-its-connection',
    breaks: 'authorization/required',
    needsState: true,
    create: () => {
      const seen = watch(() => ({ connections: new Set<number | undefined>() }))
      return {
        around: seen.around,
        rules: {
          grantResult: (result) => {
            seen.memory.connections.add(seen.request.connection)
            return result
          },
          forgives: (stage) =>
            stage === 'authorization/none' &&
            seen.request.connection !== undefined &&
            seen.memory.connections.has(seen.request.connection),
        },
      }
    },
  },
  {
    // "with the header `Content-Type: application/json` and a JSON body": of any length
    id: 'body-of-a-multiple-of-256-bytes-not-read',
    breaks: 'envelope/json-body',
    needsState: true,
    about: 'The reader waits for a last piece that is shorter than its buffer, and then has nothing.',
    create: () => {
      const seen = watch()
      return {
        around: seen.around,
        rules: {
          parseBody: (text) => right.parseBody(seen.request.body.length % 256 === 0 ? '' : text),
        },
      }
    },
  },
]
