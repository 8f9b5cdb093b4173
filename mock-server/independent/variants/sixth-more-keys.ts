import { changeAnswers, changeJson } from '../answers.ts'
import { isAccepted, scopeOf } from '../calls.ts'
import { callerOf } from '../creators.ts'
import type { IndependentVariant } from '../independent-variant.ts'
import { namedKeyId } from '../requests.ts'
import { watch } from '../watch.ts'

/** Parts 2, 4.1, 4.3 and 8: sessions, keys and listings, between calls. */
export const sixthMoreKeyVariants: IndependentVariant[] = [
  {
    id: 'session-names-of-8-small-letters-and-digits-that-add',
    questions: ['sessions/name-rules', 'sessions/reused-name'],
    about: 'Names are stored in a column of eight signs, and a name is only a label.',
    profile: { reusedSessionName: 'adds' },
    create: () => ({
      rules: {
        paramTaken: (_method, name, value, valid) =>
          valid &&
          (name !== 'scope' ||
            !Array.isArray(value) ||
            value.every((word) => !/^session:/.test(word) || /^session:[a-z0-9]{1,8}$/.test(word))),
      },
    }),
  },
  {
    id: 'two-sessions-of-one-name-and-a-third-ends-the-first',
    questions: ['sessions/reused-name', 'sessions/age'],
    about: 'Everybody has a telephone and a computer, which call themselves the same.',
    profile: { oldestSession: 'longest-unused' },
    create() {
      const seen = watch()
      const asked = { name: '', user: '' }
      return {
        around: seen.around,
        rules: {
          sessionName: (name) => {
            asked.name = name ?? ''
            return name
          },
          sessionUser: (key) => {
            asked.user = key.id
            return key.id
          },
          reusedSessionName: () => {
            const sessions = seen.context.state.sessions.get(asked.user) ?? []
            const same = sessions.filter(
              ({ name, removed, expiryMs }) => name === asked.name && !removed && expiryMs > seen.nowMs,
            )
            return same.length < 2 ? 'adds' : 'replaces'
          },
        },
      }
    },
  },
  {
    id: 'session-joined-by-the-same-scope-and-replaced-by-another',
    questions: ['sessions/reused-name', 'grants/scope-echo'],
    about: 'A session has the scope of its first grant. A grant of its name with another scope replaces the session.',
    profile: { scopeEcho: 'sorted' },
    create() {
      const seen = watch(() => new Map<string, string>())
      return {
        around: seen.around,
        rules: {
          reusedSessionName: () => {
            const scope = scopeOf(seen.request)
            const name = scope.find((word) => word.startsWith('session:')) ?? ''
            const session = `${namedKeyId(seen.request)} ${name}`
            const text = scope.toSorted().join(' ')
            const joins = seen.memory.get(session) === text
            seen.memory.set(session, text)
            return joins ? 'joins' : 'replaces'
          },
        },
      }
    },
  },
  {
    id: 'key-names-unique-for-each-creator-in-any-case',
    questions: ['keys/name-rules', 'keys/unknown-scopes', 'keys/empty-scope'],
    about: 'Each key keeps a list of those that it made; a key has at least one known scope.',
    profile: { unknownKeyScopes: 'refused' },
    create() {
      const seen = watch(() => new Set<string>())
      const nameOf = (name: unknown) => `${callerOf(seen)?.id} ${String(name).toLowerCase()}`
      return {
        around: seen.around,
        rules: {
          ...seen.notePair,
          paramTaken: (method, name, value, valid) => {
            if (!valid || method !== 'manager/createApiKey') return valid
            if (name === 'scope') return Array.isArray(value) && value.length > 0
            return name !== 'name' || !seen.memory.has(nameOf(value))
          },
          storedKey: (key) => {
            seen.memory.add(nameOf(key.name))
            return key
          },
        },
      }
    },
  },
  {
    id: 'created-keys-are-shown-with-a-tidy-scope',
    questions: ['keys/create-result-extras', 'keys/record', 'scopes/apikey-spelling'],
    about: 'The scope of a key is stored as a sorted set that says apiKey, and the result shows the record.',
    create() {
      const seen = watch()
      return {
        around: seen.around,
        rules: {
          storedKey: (key) => {
            const scope = key.scope.map((word) => (word === 'apikey' ? 'apiKey' : word))
            return Object.assign(key, { scope: [...new Set(scope)].sort() })
          },
          createKeyResult: (result) => {
            const { name, scope, createdMs } = seen.context.state.keys.get(result.id) ?? {}
            return { name, scope, created: createdMs, status: 'active', ...result }
          },
        },
      }
    },
  },
  {
    id: 'eleventh-key-gets-result-null-and-error-ids-are-null',
    questions: ['keys/limit-exceeded', 'keys/limit-counts-initial', 'errors/shape', 'errors/id'],
    about: 'Only the full list of keys, in which the initial one stands, is a case of its own for the serializer.',
    profile: { errorId: 'null', initialKeyCounts: true },
    create: () => ({
      around: changeJson((envelope) =>
        (envelope.error as { code?: unknown } | undefined)?.code === 24877 ? { ...envelope, result: null } : envelope,
      ),
    }),
  },
  {
    id: 'eleventh-key-gets-409-and-the-list-of-the-ten',
    questions: ['keys/limit-exceeded', 'errors/shape', 'errors/http-status', 'keys/limit-frees'],
    about: 'The refusal shows the ids of the keys that could be removed, and no removal frees a place.',
    create: () => ({
      rules: { keysCounted: (all) => all.filter(({ initial }) => !initial).length },
      around: changeAnswers((answer, _request, { state }) => {
        if (isAccepted(answer) || !answer.body.includes('"code":24877')) return answer
        const keys = [...state.keys.values()].filter(({ initial }) => !initial).map(({ id }) => id)
        return { ...answer, status: 409, body: JSON.stringify({ conflict: keys, id: keys[0] }) }
      }),
    }),
  },
  {
    id: 'listing-grows-with-every-call',
    questions: ['solutions/list-result', 'solutions/records'],
    about: 'Each call leaves a record of itself in the list, up to 300 of them.',
    create() {
      const seen = watch(() => ({ count: 0 }))
      return {
        around: seen.around,
        rules: {
          resultMember: (method, result) => {
            if (method !== 'solution/listSolutions') return result
            const { memory } = seen
            memory.count = Math.min(memory.count + 1, 300)
            const calls = Array.from({ length: memory.count }, (_, at) => ({ id: `call-${at}`, name: 'A call' }))
            return { ...(result as object), calls }
          },
        },
      }
    },
  },
]
