import { rules as right } from '../../rules.ts'
import { chain } from '../answers.ts'
import { answerThrough, isAccepted, readMembers } from '../calls.ts'
import type { IndependentMutant } from '../independent-mutant.ts'
import { watch } from '../watch.ts'

const second = 1000
const members = ['jsonrpc', 'id', 'method', 'params']

/** The same object with its envelope members in their right letter case. */
function foldMembers(value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value
  const spelled = (name: string) => (members.includes(name.toLowerCase()) ? name.toLowerCase() : name)
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [spelled(name), member]))
}

/** Part 1. */
export const twelfthEnvelopeMutants: IndependentMutant[] = [
  {
    // "Method names have the form `<group>/<operation>`."
    id: 'operation-found-in-prototype-of-objects',
    breaks: 'envelope/unknown-method',
    about: 'The operations of a group are members of an object, which also has members like toString.',
    create: () => ({
      rules: {
        unknownMethodResult: (name) => {
          const [group = '', operation = '', ...rest] = name.split('/')
          return ['manager', 'solution'].includes(group) && operation in {} && rest.length === 0 ? {} : undefined
        },
      },
    }),
  },
  {
    // "method | string | yes": another member is not this one
    id: 'letter-case-of-envelope-members-ignored',
    breaks: 'envelope/request-members',
    about: 'The reader of JSON fills a structure, and compares names of members without their letter case.',
    create: () => ({ rules: { parseBody: (text) => foldMembers(JSON.parse(text)) } }),
  },
  {
    // "a JSON body"
    id: 'unquoted-names-in-json-accepted',
    breaks: 'envelope/malformed-answered',
    about: 'The reader of bodies is that of the configuration files.',
    create: () => ({
      rules: {
        parseBody: (text) => {
          try {
            return JSON.parse(text)
          } catch {
            return JSON.parse(text.replace(/([{,]\s*)([A-Za-z_]\w*)\s*:/g, '$1"$2":'))
          }
        },
      },
    }),
  },
  {
    // "the response carries the same value"
    id: 'id-above-32-bits-echoed-as-text',
    breaks: 'envelope/id-echo',
    about: 'The writer of JSON writes integers of 64 bits as text.',
    create: () => ({
      rules: { echoedId: (id) => (typeof id === 'number' && Math.abs(id) >= 2 ** 31 ? String(id) : id) },
    }),
  },
  {
    // "Callers prove their identity with an API key [...] or with an access token"
    id: 'refusals-beyond-twelve-a-second-answered-with-result',
    breaks: 'authorization/required',
    needsState: true,
    about: 'The limit of failed calls answers by itself, with an empty result.',
    create: () => {
      const seen = watch(() => ({ times: [] as number[] }))
      const limit = answerThrough((answer, request, context) => {
        const id = readMembers(request.body.toString('utf8'))?.id
        if (isAccepted(answer) || id === undefined) return answer
        const { memory } = seen
        const nowMs = context.now()
        memory.times = [...memory.times.filter((ms) => nowMs - ms < second), nowMs]
        if (memory.times.length <= 12) return answer
        const headers = { 'content-type': 'application/json' }
        return { status: 200, headers, body: JSON.stringify({ jsonrpc: right.answerVersion(), id, result: {} }) }
      })
      return { around: chain(seen.around, limit) }
    },
  },
]
