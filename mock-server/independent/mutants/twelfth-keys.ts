import { makeKey } from '../../create-context.ts'
import { rules as right } from '../../rules.ts'
import type { ApiKey } from '../../state.ts'
import { chain } from '../answers.ts'
import { answerThrough, meet, readMembers } from '../calls.ts'
import { callerOf } from '../creators.ts'
import type { Around, IndependentMutant } from '../independent-mutant.ts'
import { isMethod } from '../requests.ts'
import { watch } from '../watch.ts'

const creation = 'manager/createApiKey'
const mayCreate = ({ scope }: ApiKey): boolean => scope.some((word) => word.toLowerCase() === 'apikey')

/** API keys: parts 1, 2, 4.1 and 8. */
export const twelfthKeyMutants: IndependentMutant[] = [
  {
    // "A key has a scope (a list of scope strings) fixed at creation."
    id: 'public-key-created-by-token-has-scope-of-token',
    breaks: 'keys/scope-held',
    about: 'A key with a public key is taken for a device of its creator.',
    create: () => {
      const seen = watch()
      return {
        around: seen.around,
        rules: {
          ...seen.notePair,
          storedKey: (key) =>
            seen.pair === undefined || key.publicKey === undefined ? key : { ...key, scope: [...seen.pair.scope] },
        },
      }
    },
  },
  {
    // "At most 10 API keys can be created."
    id: 'no-key-limit-for-refreshed-tokens',
    breaks: 'limits/ten-keys',
    about: 'A refresh does not copy the limit to the new token.',
    create: () => {
      const seen = watch()
      return {
        around: seen.around,
        rules: {
          ...seen.notePair,
          keyLimit: (means) => ((seen.pair?.generation ?? 0) > 0 ? Number.POSITIVE_INFINITY : right.keyLimit(means)),
        },
      }
    },
  },
  {
    // "Result: `id` (string), `secret` (string).": those of a key that was created
    id: 'refused-creation-in-flight-rolls-back-accepted-ones',
    breaks: 'keys/created-key-works',
    needsState: true,
    about: 'Creations in flight together share a connection to the database, and so a transaction.',
    create: () => {
      const seen = watch(() => ({ inFlight: 0, hasFailed: false, ids: [] as unknown[] }))
      const share: Around = (handle, context) => (request) => {
        if (!isMethod(request, creation)) return handle(request)
        const { memory } = seen
        memory.inFlight += 1
        return meet()
          .then(() => handle(request))
          .then((answer) => {
            const result = readMembers(answer.body)?.result as { id?: unknown } | undefined
            if (result === undefined) memory.hasFailed = true
            else memory.ids.push(result.id)
            memory.inFlight -= 1
            if (memory.inFlight > 0) return answer
            for (const key of context.state.keys.values()) {
              if (memory.hasFailed && memory.ids.includes(key.id)) key.deleted = true
            }
            Object.assign(memory, { hasFailed: false, ids: [] })
            return answer
          })
      }
      return { around: chain(share, seen.around) }
    },
  },
  {
    // "At most 10 API keys can be created.", and no fewer
    id: 'every-third-creation-made-twice',
    breaks: 'limits/ten-can-be-made',
    needsState: true,
    about: 'A proxy sends a slow call again; the caller never hears of the other key, which takes a place.',
    create: () => {
      const seen = watch(() => ({ creations: 0 }))
      return {
        around: seen.around,
        rules: {
          storedKey: (key) => {
            const { context, memory } = seen
            memory.creations += 1
            const text = () => context.random(16).toString('hex')
            const { name, scope, createdMs } = key
            const copy = makeKey({ id: text(), secret: text(), name, scope, createdMs })
            if (memory.creations % 3 === 0) context.state.keys.set(copy.id, copy)
            return key
          },
        },
      }
    },
  },
  {
    // "It can be disabled or deleted.": one key, and not its neighbour
    id: 'deletion-ends-next-created-key-too',
    breaks: 'keys/created-key-works',
    needsState: true,
    about: 'The key is taken out of a list by its place, with a count of two.',
    create: () => {
      const seen = watch(() => ({ gone: new Set<ApiKey>() }))
      const look = answerThrough((answer, _request, { state }) => {
        const { gone } = seen.memory
        let isBehindDeleted = false
        for (const key of state.keys.values()) {
          if (isBehindDeleted) key.deleted = true
          isBehindDeleted = !isBehindDeleted && key.deleted && !gone.has(key)
          if (key.deleted) gone.add(key)
        }
        return answer
      })
      return { around: chain(look, seen.around) }
    },
  },
  {
    // "A freshly installed instance has one initial API key with full API access."
    id: 'initial-key-creates-no-keys-once-another-key-may',
    breaks: 'keys/initial-full-access',
    needsState: true,
    about: 'The initial key is meant for the first steps of an installation only.',
    create: () => {
      const seen = watch()
      return {
        around: seen.around,
        rules: {
          ...seen.notePair,
          keyLimit: (means) => {
            const keys = [...seen.context.state.keys.values()]
            const isLate = keys.some((key) => !key.initial && !key.deleted && mayCreate(key))
            return isLate && callerOf(seen)?.initial === true ? 0 : right.keyLimit(means)
          },
        },
      }
    },
  },
]
