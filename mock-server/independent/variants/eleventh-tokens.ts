import type { ServerContext } from '../../context.ts'
import type { MockAnswer, MockRequest } from '../../http-server.ts'
import type { TokenResult } from '../../rules.ts'
import { rules as referenceRules } from '../../rules.ts'
import type { TokenPair } from '../../state.ts'
import { changeAnswers } from '../answers.ts'
import { answerFor, answerThrough, isAccepted, readMembers, tokenText } from '../calls.ts'
import type { Around, IndependentVariant } from '../independent-variant.ts'
import { isMethod } from '../requests.ts'
import { createMemory } from '../server-memory.ts'
import { errorCode, waitAnswer } from './eleventh-limits.ts'

/** The pair whose access token a call shows; a header beside a grant does not count. */
function shownPair(request: MockRequest, { state }: ServerContext): TokenPair | undefined {
  const token = isMethod(request, 'manager/auth') ? undefined : state.tokens.get(tokenText(request))
  return token?.kind === 'access' ? token.pair : undefined
}

/** A text that begins like the one of the pair before it, which tells the line of the pair and its number in the line. */
function textInLine(before: string | undefined, number: number, fresh: string): string {
  const line = before?.split('.')[0] ?? `line-${fresh.slice(0, 24)}`
  return `${line}.${number}.${fresh}`
}

/** Ended access tokens are known for a while, and then they are not found any more. */
function forgetEndedTokens(afterMs: number): Around {
  return changeAnswers((answer, request, context) => {
    if (isAccepted(answer) || tokenText(request) === '' || errorCode(answer) !== 24879) return answer
    const pair = shownPair(request, context)
    const endedMs = Math.min(pair?.revokedMs ?? Number.POSITIVE_INFINITY, pair?.accessExpiryMs ?? 0)
    const isKnown = pair !== undefined && context.now() - endedMs < afterMs
    const error = isKnown ? { code: 1002, message: 'Token has ended' } : { code: 1001, message: 'No such token' }
    const body = JSON.stringify({ ...readMembers(answer.body), error })
    return { ...answer, status: isKnown ? 403 : 404, body }
  })
}

/** An access token that lives for ten seconds or more must come again if it is younger than `youngMs`. */
function putOffYoungTokens(youngMs: number): Around {
  return (handle, context) => (request) => {
    const pair = shownPair(request, context)
    if (pair === undefined || pair.accessExpiryMs - pair.issuedMs < 10_000) return handle(request)
    const leftMs = pair.issuedMs + youngMs - context.now()
    return leftMs > 0 ? waitAnswer(503, leftMs) : handle(request)
  }
}

/** A gateway repeats the refusal of a token for `forMs`, whatever is called with it and from where. */
function rememberRefusedTokens(forMs: number): Around {
  const refused = createMemory(() => new Map<string, { answer: MockAnswer; untilMs: number }>())
  return (handle, context) => {
    const noted = answerThrough((answer, request) => {
      const text = tokenText(request)
      const isAboutToken = text !== '' && !isMethod(request, 'manager/auth')
      if (isAboutToken && [24878, 24879].includes(Number(errorCode(answer)))) {
        refused(context).set(text, { answer, untilMs: context.now() + forMs })
      }
      return answer
    })(handle, context)
    return (request) => {
      const known = isMethod(request, 'manager/auth') ? undefined : refused(context).get(tokenText(request))
      return known && known.untilMs > context.now() ? answerFor(known.answer, request) : noted(request)
    }
  }
}

/** Names what one may do with each API, beside the word of the API. */
const withFinerWords = (result: TokenResult): TokenResult => ({
  ...result,
  scope: result.scope.flatMap((word) => (word.includes(':') ? [word] : [word, `${word}.read`, `${word}.write`])),
})

/** Parts 3, 4.2, 5.3, 5.4 and 7: texts of tokens, what refused tokens are told, and scopes. */
export const eleventhTokenVariants: IndependentVariant[] = [
  // Part 5.3 shows no form of tokens, and part 3 not that a refresh begins a new refresh lifetime.
  {
    id: 'tokens-begin-with-their-line-and-its-number',
    questions: ['tokens/format', 'refresh/lifetime-renewed'],
    about:
      'Each token begins like the one that it replaced, and its line ends when the first refresh token would have.',
    profile: { refreshLifetime: 'kept' },
    create: () => ({
      rules: {
        tokenText: (kind, fresh, old) =>
          textInLine(kind === 'access' ? old?.accessToken : old?.refreshToken, (old?.generation ?? -1) + 1, fresh),
      },
    }),
  },
  // Part 7 shows neither error codes nor HTTP statuses nor the outcome of a rejected token.
  {
    id: 'ended-tokens-are-not-found-after-two-seconds',
    questions: ['errors/outcomes', 'errors/codes', 'errors/http-status'],
    about: 'An ended access token gets 403 at first; two seconds later its record is gone, and it gets 404.',
    profile: { refusalStatus: 'http' },
    create: () => ({ around: forgetEndedTokens(2000) }),
  },
  // Part 8 shows neither rate limits nor lifetimes. The token is not refused, and short-lived ones need not wait.
  {
    id: 'young-tokens-must-come-again-a-moment-later',
    questions: ['limits/rate', 'limits/token-lifetimes'],
    about: 'Tokens take 300 ms to reach every node; until then there is 503. Access lasts for five minutes.',
    profile: { accessLifeMs: 300_000 },
    create: () => ({ around: putOffYoungTokens(300) }),
  },
  // Part 7 does not show the outcome of a rejected token, scope or address. The refresh token goes on.
  {
    id: 'gateway-remembers-refused-tokens-for-two-seconds',
    questions: ['tokens/after-misuse', 'errors/outcomes'],
    about: 'A token that was refused for its scope or address gets the same refusal for two seconds, everywhere.',
    create: () => ({ around: rememberRefusedTokens(2000) }),
  },
  // Part 5.4 limits what solution:SOLUTION_ID does to Contexts, and does not say whether it opens the Solution API too.
  {
    id: 'word-for-one-solution-opens-the-listing-too',
    questions: ['scopes/solution-id-from-any', 'solutions/list-result'],
    about: 'A caller with solution:ID or solution:* may list solutions; only a key with solution:ID passes it on.',
    profile: { solutionIdFromAny: false, listShape: 'counted' },
    create: () => ({
      rules: {
        scopeOpens: (scope, area) =>
          referenceRules.scopeOpens(scope, area) || (area === 'solution' && scope.startsWith('solution:')),
      },
    }),
  },
  // Part 4.2 shows the granted scope by an example. The further words open nothing that the API of the first does not have.
  {
    id: 'scope-of-result-adds-words-for-reading-and-writing',
    questions: ['grants/scope-echo', 'grants/unknown-scope'],
    about: 'Beside solution there are solution.read and solution.write; whoever asks for them gets nothing by it.',
    profile: { unknownScopes: 'left-out' },
    create: () => ({
      rules: {
        grantResult: withFinerWords,
        refreshResult: withFinerWords,
      },
    }),
  },
]
