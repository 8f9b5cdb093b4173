import { identify } from '../../caller.ts'
import type { MockAnswer } from '../../http-server.ts'
import { changeAnswers, textAnswer } from '../answers.ts'
import { isAccepted } from '../calls.ts'
import type { Around, IndependentVariant } from '../independent-variant.ts'
import { createMemory } from '../server-memory.ts'
import { errorAnswer, errorCode } from './eleventh-limits.ts'

/** The forms of a refusal, in the order in which they come. */
const forms: readonly ((answer: MockAnswer) => MockAnswer)[] = [
  (answer) => ({ ...answer, status: 200 }),
  (answer) => textAnswer(answer, 401, 'Unauthorized'),
  (answer) => ({ ...answer, hangUp: true }),
  (answer) => textAnswer(answer, 500, '<h1>Oops</h1>', { 'content-type': 'text/html' }),
  (answer) => textAnswer(answer, 204, '', {}),
  (answer) => textAnswer(answer, 302, '', { location: '/login' }),
]

/** Each refusal of a server has the next of these forms. */
function rotateForms(): Around {
  const memories = createMemory(() => ({ refusals: 0 }))
  return changeAnswers((answer, _request, context) => {
    if (isAccepted(answer)) return answer
    const memory = memories(context)
    const form = forms[memory.refusals % forms.length]
    memory.refusals += 1
    return form ? form(answer) : answer
  })
}

/** Looks at an Authorization header before it looks at the body. */
const judgeHeaderFirst: Around = changeAnswers((answer, request, context) => {
  if (errorCode(answer) !== -32700 || request.headers.authorization === undefined) return answer
  // Nobody has looked at the header of a body that could not be read.
  return identify(context, request).ok ? answer : errorAnswer(request, 401, 24879, 'Unauthorized')
})

/** Parts 1, 4.2 and 7: the forms of refusals and the order of the checks. */
export const eleventhAnswerVariants: IndependentVariant[] = [
  // Part 7 shows neither error objects nor HTTP statuses, so a refusal that is asked for twice may have two forms.
  {
    id: 'refusals-have-another-form-each-time',
    questions: ['errors/shape', 'errors/http-status', 'errors/outcomes'],
    about: 'An error, a text, a closed connection, a page with 500, nothing and a redirect come in turn.',
    create: () => ({ around: rotateForms() }),
  },
  // No part shows the order of the checks, nor what a header beside manager/auth does. A missing header is no mistake yet.
  {
    id: 'header-is-judged-before-the-body-is-read',
    questions: [
      'grants/authorization-header',
      'errors/outcomes',
      'signatures/nonce-burnt',
      'envelope/method-not-found',
    ],
    about: 'A wrong header beside an unreadable body, an unknown method or a grant is what is refused.',
    profile: { authHeaderOnGrant: 'judged', methodCheckedFirst: false, refusalStatus: 'http' },
    create: () => ({ around: judgeHeaderFirst }),
  },
]
