import { changeAnswers, changeErrors, changeJson, changeRefusals, httpDate, textAnswer } from '../answers.ts'
import { isAccepted, readMembers } from '../calls.ts'
import type { IndependentVariant } from '../independent-variant.ts'
import { createMemory } from '../server-memory.ts'
import { watch } from '../watch.ts'

/** Members that scripting languages give a meaning. */
const reserved = '{"__proto__":{"result":1},"constructor":null,"then":"later","length":-1,"":"","toString":[]}'

/** Parts 1, 4.3 and 7: what answers look like, and the clock that they show. */
export const sixthAnswerVariants: IndependentVariant[] = [
  {
    id: 'refusals-redirect-to-the-same-address',
    questions: ['errors/shape', 'errors/http-status'],
    about: 'A gateway renews its cookie by a redirect (307) to the address that was called.',
    profile: { refusalStatus: 'http' },
    create: () => ({
      around: changeRefusals((answer, request) =>
        textAnswer(answer, 307, '', { location: request.target, 'set-cookie': 'gate=1' }),
      ),
    }),
  },
  {
    id: 'refusals-401-tell-to-come-back-in-an-hour',
    questions: ['errors/http-status', 'errors/outcomes'],
    about: 'A front end adds Retry-After to every refusal, which nobody there ever reads.',
    profile: { refusalStatus: 'http' },
    create: () => ({
      around: changeRefusals((answer) => ({
        ...answer,
        status: 401,
        headers: { ...answer.headers, 'retry-after': '3600' },
      })),
    }),
  },
  {
    id: 'refusals-forbidden-beside-a-result-that-explains',
    questions: ['errors/shape', 'errors/http-status'],
    about: 'The status 403 is the refusal; the body is made by the same code as that of an answer.',
    profile: { refusalStatus: 'http' },
    create: () => ({
      around: changeRefusals((answer, request) => ({
        ...answer,
        status: 403,
        body: JSON.stringify({
          jsonrpc: '2.0',
          id: readMembers(request.body.toString('utf8'))?.id ?? null,
          result: { granted: false, reason: 'policy' },
        }),
      })),
    }),
  },
  {
    id: 'refusals-beside-results-with-empty-members',
    questions: ['errors/shape'],
    about: 'A typed serializer writes the empty result class beside the error, at status 200.',
    create: () => ({
      around: changeJson((envelope) =>
        envelope.error === undefined
          ? envelope
          : { ...envelope, result: { accessToken: '', refreshToken: '', accessTokenExpiry: 0, scope: [] } },
      ),
    }),
  },
  {
    id: 'two-releases-answer-in-turn',
    questions: ['errors/shape', 'errors/http-status', 'solutions/list-result'],
    about: 'During a slow roll-out every second answer comes from a release with text refusals and another listing.',
    create() {
      const calls = createMemory(() => ({ count: 0 }))
      return {
        around: changeAnswers((answer, _request, context) => {
          const memory = calls(context)
          memory.count += 1
          if (memory.count % 2 === 0 || !answer.body.startsWith('{')) return answer
          const members = readMembers(answer.body)
          if (members?.error !== undefined) return textAnswer(answer, 401, 'No access')
          const { list } = (members?.result ?? {}) as { list?: unknown }
          if (list === undefined) return answer
          return { ...answer, body: JSON.stringify({ ...members, result: { total: 2, items: list } }) }
        }),
      }
    },
  },
  {
    id: 'refusals-of-half-a-megabyte',
    questions: ['errors/shape', 'errors/http-status'],
    about: 'A framework in debug mode sends its whole configuration page, as bytes of no known kind.',
    profile: { refusalStatus: 'http' },
    create: () => ({
      around: changeRefusals((answer) =>
        textAnswer(answer, 500, '{"result":{}}\n'.repeat(36_000), { 'content-type': 'application/octet-stream' }),
      ),
    }),
  },
  {
    id: 'listing-differs-in-every-call',
    questions: ['solutions/list-result', 'solutions/records'],
    about: 'A listing tells when and by whom it was asked for, and how often, and its order turns.',
    create() {
      const calls = createMemory(() => ({ count: 0 }))
      const seen = watch()
      return {
        around: seen.around,
        rules: {
          ...seen.notePair,
          resultMember: (method, result) => {
            if (method !== 'solution/listSolutions') return result
            const memory = calls(seen.context)
            memory.count += 1
            const { list = [] } = result as { list?: unknown[] }
            return {
              asked: memory.count,
              at: seen.nowMs,
              by: seen.pair?.key.id ?? null,
              list: memory.count % 2 === 0 ? list : [...list].reverse(),
            }
          },
        },
      }
    },
  },
  {
    id: 'listing-with-members-that-scripts-reserve',
    questions: ['solutions/list-result', 'solutions/records'],
    about: 'A listing has names such as __proto__ and then, numbers of thirty digits, and lists 200 deep.',
    create: () => ({
      around: changeAnswers((answer, request) => {
        if (!isAccepted(answer) || !request.body.includes('solution/listSolutions')) return answer
        const deep = `${'['.repeat(200)}${']'.repeat(200)}`
        const more = `{"reserved":${reserved},"serial":${'9'.repeat(30)},"deep":${deep},`
        return { ...answer, body: answer.body.replace('"result":{', `"result":${more}`) }
      }),
    }),
  },
  {
    id: 'answers-begin-with-blanks-and-have-no-headers',
    questions: ['envelope/content-type', 'solutions/list-result'],
    about: 'A small server keeps connections busy with blanks before its JSON, and sends no header of its own.',
    create: () => ({
      around: changeAnswers((answer) => ({
        ...answer,
        headers: {},
        body: answer.body.startsWith('{') ? `${' \n'.repeat(2048)}${answer.body}` : answer.body,
      })),
    }),
  },
  {
    id: 'date-header-of-the-first-answer',
    questions: ['errors/codes', 'signatures/time-window'],
    about: 'A cache in front repeats the Date of the first answer and adds Age; error codes are large numbers.',
    create() {
      const first = createMemory((context) => ({ date: httpDate(context.now()), ms: context.now() }))
      const stale = changeAnswers((answer, _request, context) => {
        const { date, ms } = first(context)
        const age = String(Math.floor((context.now() - ms) / 1000))
        return { ...answer, headers: { ...answer.headers, date, age } }
      })
      const codes = changeErrors((error) => ({ ...error, code: 9_007_199_254_740_000 + Math.abs(error.code) }))
      return { around: (handle, context) => stale(codes(handle, context), context) }
    },
  },
  {
    id: 'successes-with-status-203-and-refusals-with-418',
    questions: ['errors/http-status', 'errors/id'],
    about: 'A proxy that rewrites answers marks them so (203); refusals are a joke of its author.',
    profile: { refusalStatus: 'http', errorId: 'none' },
    create: () => ({
      around: changeAnswers((answer) => ({ ...answer, status: isAccepted(answer) ? 203 : 418 })),
    }),
  },
]
