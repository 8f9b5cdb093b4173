import { callerAddress } from '../../caller.ts'
import type { ServerContext } from '../../context.ts'
import type { MockAnswer, MockRequest } from '../../http-server.ts'
import { changeAnswers, changeRefusals, textAnswer } from '../answers.ts'
import { isAccepted, paramsOf, readMembers, scopeOf, tokenText } from '../calls.ts'
import type { Around, IndependentVariant } from '../independent-variant.ts'
import { isMethod } from '../requests.ts'

type TokenReason = 'unknown' | 'revoked' | 'expired' | 'address' | 'other'

/** Why a call with a Bearer token is refused; undefined for a call without one. */
function tokenReason(request: MockRequest, context: ServerContext): TokenReason | undefined {
  const text = tokenText(request)
  if (text === '' || isMethod(request, 'manager/auth')) return undefined
  const token = context.state.tokens.get(text)
  if (token?.kind !== 'access') return 'unknown'
  const { pair } = token
  if (pair.accessRevoked || pair.family.revoked || pair.session?.removed) return 'revoked'
  if (context.now() >= pair.accessExpiryMs) return 'expired'
  const isForeign = pair.addresses.length > 0 && !pair.addresses.includes(callerAddress(context, request))
  return isForeign ? 'address' : 'other'
}

const oddStatuses: { readonly [reason in TokenReason]?: number } = {
  unknown: 498,
  revoked: 410,
  expired: 440,
  address: 451,
}

/** Gives each reason to refuse a token a status of its own. Expects a profile with HTTP statuses. */
const tellReasonByStatus: Around = changeRefusals((answer, request, context) => {
  const reason = tokenReason(request, context) ?? 'other'
  const body = JSON.stringify({ reason })
  return textAnswer(answer, oddStatuses[reason] ?? answer.status, body, { 'content-type': 'application/json' })
})

/** Tells the owner of an access token that has ended to come back later. */
const putOffEndedTokens: Around = changeAnswers((answer, request, context) => {
  const reason = isAccepted(answer) ? undefined : tokenReason(request, context)
  if (reason !== 'revoked' && reason !== 'expired') return answer
  return textAnswer(answer, 503, 'Renew the token first', { 'content-type': 'text/plain', 'retry-after': '1' })
})

const isRefresh = (request: MockRequest): boolean => paramsOf(request).grantType === 'refresh_token'

/** Says of every refused token, of either kind, that it has expired. */
export const callRefusedTokensExpired: Around = changeAnswers((answer, request) => {
  const members = readMembers(answer.body)
  const code = (members?.error as { code?: unknown } | undefined)?.code
  const isAboutToken = (tokenText(request) !== '' && code === 24879) || (isRefresh(request) && code === 21)
  if (!isAboutToken) return answer
  return { ...answer, body: JSON.stringify({ ...members, error: { code: 40101, message: 'The token has expired' } }) }
})

/** A batch is answered from its end, with status 207; a batch of one call is answered like the call alone. */
function answerBatch(answer: MockAnswer): MockAnswer {
  if (!answer.body.startsWith('[')) return answer
  const answers = JSON.parse(answer.body) as unknown[]
  if (answers.length === 1) return { ...answer, body: JSON.stringify(answers[0]) }
  return { ...answer, status: 207, body: JSON.stringify(answers.reverse()) }
}

/** What a firewall takes for markup, or for a part of a command. */
const suspicious = /[<>'"`\\;|&$]|--/

const blockPage = '<html><body><h1>Request blocked</h1><p>Rule 942100, score 15</p></body></html>'

/** Stops calls whose names or scopes look like an attack. It does not look at PEM texts and credentials. */
const blockSuspiciousNames: Around = (handle) => (request) => {
  const { name } = paramsOf(request)
  const words = typeof name === 'string' ? [name, ...scopeOf(request)] : scopeOf(request)
  if (!words.some((word) => suspicious.test(word))) return handle(request)
  return { status: 403, headers: { 'content-type': 'text/html', 'x-waf-rule': '942100' }, body: blockPage }
}

/** Parts 1 and 7: odd but legal JSON, batches, and what a refused token is told. */
export const tenthAnswerVariants: IndependentVariant[] = [
  // Part 1 lists the members of an answer. The grammar of JSON lets a member stand twice, here with the same value.
  {
    id: 'answers-say-jsonrpc-and-id-twice',
    questions: ['envelope/encoding', 'errors/id'],
    about: 'A gateway writes the envelope in front of an envelope that is already there.',
    create: () => ({
      around: changeAnswers((answer) => ({
        ...answer,
        body: answer.body.replace(/^\{("jsonrpc":"2\.0","id":-?\d+,)/, '{$1$1'),
      })),
    }),
  },
  // Part 1 shows one call in a body. Arrays, calls without an id and their answers are not shown.
  {
    id: 'batches-answered-from-their-end-with-status-207',
    questions: ['envelope/batch', 'envelope/missing-id', 'errors/http-status'],
    about: 'A batch of one call gets a single answer, and a call without an id gets the id 0.',
    profile: { batch: 'answered', notifications: 'answered' },
    create: () => ({ around: changeAnswers(answerBatch), rules: { echoedId: (id) => id ?? 0 } }),
  },
  // Part 7 shows neither HTTP status codes nor the outcome of a rejected token or address.
  {
    id: 'refused-tokens-get-498-410-440-or-451',
    questions: ['errors/http-status', 'errors/outcomes', 'errors/shape'],
    about: 'Unknown, revoked, expired and foreign tokens each have an unregistered or unusual status.',
    profile: { refusalStatus: 'http' },
    create: () => ({ around: tellReasonByStatus }),
  },
  // Part 7 does not show the outcome of a rejected token. The call is not carried out, however often it comes again.
  {
    id: 'ended-tokens-get-503-and-a-time-to-wait',
    questions: ['errors/http-status', 'errors/outcomes', 'limits/rate'],
    about: 'Whoever shows an expired or revoked access token is told to wait a second, each time.',
    create: () => ({ around: putOffEndedTokens }),
  },
  // Part 7 does not show errors, so they need not be true. Part 2 does not say who a user is.
  {
    id: 'every-refused-token-is-called-expired',
    questions: ['errors/codes', 'errors/outcomes', 'sessions/user', 'sessions/reused-name'],
    about: 'Removed, revoked and unknown tokens are all said to have expired; all keys share 16 sessions.',
    profile: { sessionUser: 'all-keys', reusedSessionName: 'adds' },
    create: () => ({ around: callRefusedTokensExpired }),
  },
  // Part 2 calls the name of a key a label and does not show its characters, nor those of a session name.
  {
    id: 'firewall-blocks-markup-and-quotes-in-names',
    questions: ['keys/name-rules', 'sessions/name-rules', 'keys/unknown-scopes', 'errors/shape'],
    about: 'A name or a scope with quotes, semicolons, markup or two hyphens in a row gets a page with status 403.',
    create: () => ({ around: blockSuspiciousNames }),
  },
]
