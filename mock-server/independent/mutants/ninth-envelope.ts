import { methods } from '../../methods/index.ts'
import type { IndependentMutant } from '../independent-mutant.ts'
import { watch } from '../watch.ts'

const groupOf = (method: string): string => method.split('/')[0] ?? ''

/** The fields of a form as a request; throws if they name no method. */
function readForm(text: string): object {
  const fields = new URLSearchParams(text)
  const method = fields.get('method')
  if (method === null) throw new SyntaxError('Name a method')
  return { jsonrpc: '2.0', id: Number(fields.get('id')), method, params: {} }
}

/** Part 1. */
export const ninthEnvelopeMutants: IndependentMutant[] = [
  {
    // "Method names have the form `<group>/<operation>`."
    id: 'slash-in-front-of-method-name-ignored',
    breaks: 'envelope/unknown-method',
    create: () => ({ rules: { methodName: (name) => name.replace(/^\//, '') } }),
  },
  {
    // "with the header `Content-Type: application/json` and a JSON body"
    id: 'form-fields-taken-instead-of-json',
    breaks: 'envelope/malformed-answered',
    about: 'What is not JSON is read as a form: `id=7&method=solution/listSolutions`.',
    create: () => ({
      rules: {
        parseBody: (text) => {
          try {
            return JSON.parse(text)
          } catch {
            return readForm(text)
          }
        },
      },
    }),
  },
  {
    // "id | integer | Echo of the request `id`."
    id: 'answer-to-grant-without-id',
    breaks: 'envelope/id-echo',
    create: () => {
      const seen = watch()
      return { around: seen.around, rules: { echoedId: (id) => (seen.bodyHas('manager/auth') ? undefined : id) } }
    },
  },
  {
    // "Chosen by the caller; the response carries the same value."
    id: 'id-beyond-24-bits-rounded',
    breaks: 'envelope/id-echo',
    about: 'It is kept as a floating point number of single precision.',
    create: () => ({ rules: { echoedId: (id) => (typeof id === 'number' ? Math.fround(id) : id) } }),
  },
  {
    // "The service exposes a JSON-RPC 2.0 interface over HTTP": with its methods, whatever was called before
    id: 'unknown-method-hides-its-group-for-100-ms',
    breaks: 'envelope/method-names',
    needsState: true,
    about: 'The router remembers for 100 ms that it found nothing, and looks that up by the group.',
    create: () => {
      const seen = watch(() => ({ missedMs: new Map<string, number>() }))
      return {
        around: seen.around,
        rules: {
          methodName: (name) => {
            const { missedMs } = seen.memory
            const isHidden = seen.nowMs - (missedMs.get(groupOf(name)) ?? Number.NEGATIVE_INFINITY) < 100
            if (!methods.has(name)) missedMs.set(groupOf(name), seen.nowMs)
            return isHidden ? 'unknown/unknown' : name
          },
        },
      }
    },
  },
]
