/** Checks of retries. */
import { groupBy } from '../../engine/group.ts'
import { parseRetryAfter } from '../../engine/judge/classify.ts'
import { type Check, type Finding, finding } from '../check.ts'
import type { Request, Story } from '../story/story.ts'

/** A tolerance: timers may fire early, and the clocks of two processes are read at different times. In ms. */
const toleranceMs = 20

const retryAfterKept: Check = {
  id: 'retry/after-is-kept',
  level: 'practice',
  title: 'Nothing is sent before the time that Retry-After names',
  sentence: 'Retry-After says how long a client ought to wait before it makes a follow-up request',
  source: 'RFC 9110 §10.2.3',
  judge({ story }) {
    // With several workers a request may have been under way.
    if (story.setting.parallel !== 1) return { exercised: false, findings: [] }
    const throttled = story.requests.filter(({ outcome }) => outcome === 'throttled')
    return { exercised: throttled.length > 0, findings: throttled.flatMap((one) => tooEarly(story, one)) }
  },
}

function tooEarly({ requests }: Story, throttled: Request): Finding[] {
  const { answeredMs, deliveredMs, answer } = throttled.exchange
  const waitMs = parseRetryAfter(answer?.headers['retry-after'], answeredMs ?? 0)
  if (waitMs === undefined || answeredMs === null || deliveredMs === null) return []
  const early = requests.find(
    ({ exchange }) => exchange.startedMs >= deliveredMs && exchange.startedMs < answeredMs + waitMs - toleranceMs,
  )
  if (early === undefined) return []
  const afterMs = Math.round(early.exchange.startedMs - answeredMs)
  const message = `Retry-After names ${waitMs} ms, the next request came after ${afterMs} ms. Send nothing earlier`
  return [finding(message, throttled, early)]
}

const signedAnew: Check = {
  id: 'retry/signed-anew',
  level: 'practice',
  title: 'A request that is sent again is signed again',
  sentence: 'A signature is valid for one timestamp and one nonce; a server that has seen the nonce refuses it',
  source: 'interface part 5.1; RFC 9421 §7.2.2',
  judge({ story }) {
    const signed = signedRequests(story)
    const message =
      'A request is sent again with its old signature or nonce. Choose a new timestamp and nonce, and sign again'
    const troubled = signed.findIndex(({ outcome }) => outcome !== 'accepted' && outcome !== 'refused')
    const repeats = [
      ...groupsBy(signed, headerText).filter((same) => same.length > 1),
      ...groupsBy(signed, nonceOf).filter(([first, second]) => first !== undefined && isRetry(first, second)),
    ]
    return {
      exercised: (troubled >= 0 && troubled < signed.length - 1) || repeats.length > 0,
      findings: repeats.map((same) => finding(message, ...same.slice(0, 2))),
    }
  },
}

const nonceUnique: Check = {
  id: 'nonce/unique',
  level: 'practice',
  title: 'Every signature has its own nonce',
  sentence: 'A nonce is used once, so that a server can tell a request from its copy',
  source: 'RFC 9421 §2.3; interface part 5.1 leaves the rule to the server',
  judge({ story }) {
    const signed = signedRequests(story)
    // A whole signature that is sent again is another check.
    const once = groupsBy(signed, headerText).flatMap(([first]) => (first === undefined ? [] : [first]))
    const repeats = groupsBy(once, nonceOf).filter((same) => same.length > 1)
    const message = 'Two signatures have the same nonce. Make a new random nonce for each'
    return { exercised: once.length > 1, findings: repeats.map((same) => finding(message, ...same.slice(0, 2))) }
  },
}

const createKeyOnce: Check = {
  id: 'retry/create-key-not-repeated',
  level: 'practice',
  title: 'A key creation whose answer was lost is not repeated',
  sentence:
    'A client should not automatically retry a request with a method that is not idempotent; there are ten places for keys',
  source: 'RFC 9110 §9.2.2; interface part 8',
  judge({ story }) {
    const creations = story.requests.filter(({ method }) => method === 'manager/createApiKey')
    const lost = creations.find(({ outcome }) => outcome === 'lost' || outcome === 'spoilt')
    const wanted = story.setting.method === 'manager/createApiKey' ? story.setting.calls : null
    if (lost === undefined || wanted === null) return { exercised: false, findings: [] }
    const message =
      'A key creation is sent again although its answer was lost and it may have worked. Report the loss instead'
    return {
      exercised: true,
      findings: creations.slice(wanted, wanted + 1).map((again) => finding(message, lost, again)),
    }
  },
}

const skewSurvived: Check = {
  id: 'clock/skew-survived',
  level: 'practice',
  title: 'A wrong clock costs one refused call at most',
  sentence: "The Date header gives the server's time; a client corrects its timestamps by it",
  source: 'RFC 9110 §6.6.1; interface part 5.1 needs timestamps that agree',
  judge({ story }) {
    // A timestamp in seconds or with letters is another check.
    const refused = story.requests.filter(
      (request) => request.exchange.stage === 'signature/timestamp' && /^\d{13}$/.test(timestampOf(request)),
    )
    const accepted = signedRequests(story).some(({ outcome }) => outcome === 'accepted')
    const findings = refused.length > 1 ? [refusedAgain(refused)] : givenUp(story, refused[0])
    return { exercised: findings.length > 0 || (story.setting.clockOffsetMs !== 0 && accepted), findings }
  },
}

function refusedAgain(refused: readonly Request[]): Finding {
  const message = `${refused.length} calls are refused because the clocks differ. Correct the timestamp by the Date header of the first refusal`
  return finding(message, ...refused.slice(0, 2))
}

/** A finding if the client sends nothing after the first refusal although calls are left. */
function givenUp({ requests, setting }: Story, refused: Request | undefined): Finding[] {
  if (refused === undefined || requests.at(-1) !== refused || (setting.calls ?? 0) < 2) return []
  const message =
    'After a call that was refused because the clocks differ, no further call is made. Correct the timestamp by the Date header of the refusal'
  return [finding(message, refused)]
}

/** The second request repeats the first, which failed. */
function isRetry(first: Request, second: Request | undefined): boolean {
  const hasFailed = first.outcome !== 'accepted' && first.outcome !== 'refused'
  return hasFailed && second?.method === first.method && headerText(first) !== headerText(second)
}

const signedRequests = ({ requests }: Story): Request[] =>
  requests.filter(({ authorization }) => authorization.kind === 'signature')

const headerText = ({ authorization }: Request): string =>
  authorization.kind === 'signature' ? authorization.header : ''

/** The fourth of five fields; otherwise the whole header, which says nothing about nonces. */
function nonceOf(request: Request): string {
  const fields = headerText(request).split(';')
  return fields.length === 5 ? `nonce ${fields[3]}` : headerText(request)
}

const timestampOf = (request: Request): string => headerText(request).split(';')[2] ?? ''

const groupsBy = (requests: readonly Request[], nameOf: (request: Request) => string): Request[][] => [
  ...groupBy(requests, nameOf).values(),
]

export const retryChecks: readonly Check[] = [retryAfterKept, signedAnew, nonceUnique, createKeyOnce, skewSurvived]
