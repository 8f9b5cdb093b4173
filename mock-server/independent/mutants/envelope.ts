import { rules as right } from '../../rules.ts'
import type { IndependentMutant } from '../independent-mutant.ts'
import { watch } from '../watch.ts'

/** Part 1: requests and answers before it matters who calls. */
export const envelopeMutants: IndependentMutant[] = [
  {
    id: 'zero-id-becomes-one',
    breaks: 'envelope/id-echo',
    about: 'The id 0 counts as missing.',
    create: () => ({ rules: { echoedId: (id) => id || 1 } }),
  },
  {
    id: 'id-wraps-at-32-bits',
    breaks: 'envelope/id-echo',
    create: () => ({ rules: { echoedId: (id) => (typeof id === 'number' ? id | 0 : id) } }),
  },
  {
    id: 'second-answer-on-connection-repeats-id',
    breaks: 'envelope/id-echo',
    needsState: true,
    about: 'Only the second answer of a connection is wrong: it carries the id of the first.',
    create: () => {
      const seen = watch(() => ({ answers: new Map<number, { count: number; first: unknown }>() }))
      return {
        around: seen.around,
        rules: {
          echoedId: (id) => {
            const { connection } = seen.request
            if (connection === undefined) return id
            const known = seen.memory.answers.get(connection) ?? { count: 0, first: id }
            known.count += 1
            seen.memory.answers.set(connection, known)
            return known.count === 2 ? known.first : id
          },
        },
      }
    },
  },
  {
    id: 'concurrent-listings-answer-with-last-id',
    breaks: 'envelope/id-echo',
    needsState: true,
    about: 'The id is kept in a variable of the server while a listing waits for 2 ms.',
    create: () => {
      const seen = watch()
      return {
        around: seen.around,
        rules: {
          beforeEffect: (effect) =>
            effect === 'listing' ? new Promise((resolve) => setTimeout(resolve, 2)) : undefined,
          echoedId: (id) => {
            try {
              return JSON.parse(seen.request.body.toString()).id
            } catch {
              return id
            }
          },
        },
      }
    },
  },
  {
    id: 'answer-to-refresh-without-jsonrpc',
    breaks: 'envelope/response-jsonrpc',
    create: () => {
      const seen = watch()
      return {
        around: seen.around,
        rules: { answerVersion: () => (seen.bodyHas('"refresh_token"') ? undefined : '2.0') },
      }
    },
  },
  {
    id: 'signed-listing-answered-with-a-list',
    breaks: 'envelope/result-object',
    create: () => {
      const seen = watch()
      return {
        around: seen.around,
        rules: {
          resultMember: (method, result) =>
            method === 'solution/listSolutions' &&
            seen.request.headers.authorization?.startsWith(seen.context.profile.scheme)
              ? [result]
              : result,
        },
      }
    },
  },
  {
    id: 'letter-case-of-method-ignored',
    breaks: 'envelope/unknown-method',
    create: () => {
      const names = ['manager/auth', 'manager/createApiKey', 'solution/listSolutions']
      return {
        rules: { methodName: (name) => names.find((one) => one.toLowerCase() === name.toLowerCase()) ?? name },
      }
    },
  },
  {
    id: 'text-behind-method-name-ignored',
    breaks: 'envelope/unknown-method',
    create: () => {
      const names = ['manager/auth', 'manager/createApiKey', 'solution/listSolutions']
      return { rules: { methodName: (name) => names.find((one) => name.startsWith(one)) ?? name } }
    },
  },
  {
    id: 'unknown-solution-method-answered-with-empty-result',
    breaks: 'envelope/unknown-method',
    create: () => ({
      rules: { unknownMethodResult: (name) => (name.startsWith('solution/') ? {} : undefined) },
    }),
  },
  {
    id: 'method-name-in-a-list-accepted',
    breaks: 'envelope/request-members',
    create: () => ({
      rules: {
        methodMemberTaken: (value): value is string =>
          typeof value === 'string' || (Array.isArray(value) && value.length === 1),
      },
    }),
  },
  {
    id: 'text-behind-json-ignored',
    breaks: 'envelope/malformed-answered',
    create: () => ({ rules: { parseBody: (text) => JSON.parse(text.slice(0, text.lastIndexOf('}') + 1)) } }),
  },
  {
    id: 'comma-before-closing-brace-accepted',
    breaks: 'envelope/malformed-answered',
    create: () => ({ rules: { parseBody: (text) => JSON.parse(text.replace(/,\s*}\s*$/, '}')) } }),
  },
  {
    id: 'call-after-third-malformed-body-refused',
    breaks: 'envelope/malformed-answered',
    needsState: true,
    about: 'Three bodies in a row that are not JSON make the server refuse the next call.',
    create: () => {
      const seen = watch(() => ({ inARow: 0 }))
      return {
        around: seen.around,
        rules: {
          parseBody: (text) => {
            seen.memory.inARow += 1
            const value = right.parseBody(text)
            seen.memory.inARow = 0
            return value
          },
          answersAfterMalformed: () => {
            if (seen.memory.inARow < 3) return true
            seen.memory.inARow = 0
            return false
          },
        },
      }
    },
  },
  {
    id: 'pretty-printed-body-refused',
    breaks: 'envelope/json-body',
    about: 'A JSON body with line feeds between its tokens is refused.',
    create: () => ({
      rules: {
        parseBody: (text) => {
          if (text.includes('\n')) throw new SyntaxError('Write the body on one line')
          return right.parseBody(text)
        },
      },
    }),
  },
  {
    id: 'empty-params-refused-with-token',
    breaks: 'envelope/empty-params',
    create: () => {
      const seen = watch()
      return {
        around: seen.around,
        rules: {
          paramsTaken: (value, profile) => {
            const isToken = seen.request.headers.authorization?.startsWith(`${profile.tokenPrefix} `)
            const isEmpty = typeof value === 'object' && value !== null && Object.keys(value).length === 0
            return right.paramsTaken(value, profile) && !(isEmpty && isToken)
          },
        },
      }
    },
  },
  {
    id: 'method-with-escaped-slash-unknown',
    breaks: 'envelope/method-names',
    about:
      'The method is looked for in the text of the body, where some JSON writers put a backslash before the slash.',
    create: () => {
      const seen = watch()
      return { around: seen.around, rules: { methodName: (name) => (seen.bodyHas('\\/') ? `?${name}` : name) } }
    },
  },
  {
    id: 'every-fiftieth-call-not-found',
    breaks: 'envelope/post-api',
    needsState: true,
    create: () => {
      const seen = watch(() => ({ calls: 0 }))
      return {
        around: seen.around,
        rules: {
          isCall: (httpMethod, path, callPath, body) => {
            seen.memory.calls += 1
            return seen.memory.calls % 50 !== 0 && right.isCall(httpMethod, path, callPath, body)
          },
        },
      }
    },
  },
]
