/** Checks of how a client refreshes: once, in time, and not endlessly. */
import { type Check, type Finding, finding } from '../check.ts'
import { goesOnAfter, isAfter, type Pair, type Request, type Story } from '../story/story.ts'

const noExpiredTokenSent: Check = {
  id: 'refresh/no-expired-token-sent',
  level: 'practice',
  title: 'A token that was refused as expired is not sent again',
  sentence: 'One refusal shows that an access token has expired; a client refreshes then, or earlier',
  source: 'RFC 6750 §3.1; RFC 6749 §1.5',
  judge({ story }) {
    const expired = story.pairs.filter(
      ({ heldMs, accessExpiryMs }) => heldMs !== null && goesOnAfter(story, accessExpiryMs),
    )
    return { exercised: expired.length > 0, findings: expired.flatMap((pair) => sentAgain(story, pair)) }
  },
}

function sentAgain(story: Story, pair: Pair): Finding[] {
  const uses = pair.uses.filter(({ kind }) => kind !== 'refresh')
  const refused = uses.find(
    ({ outcome, exchange }) => outcome === 'refused' && exchange.startedMs > pair.accessExpiryMs,
  )
  const deliveredMs = refused?.exchange.deliveredMs
  if (refused === undefined || deliveredMs === undefined || deliveredMs === null) return []
  return (
    uses
      .filter((request) => request !== refused && isAfter(story, request, deliveredMs))
      // Using an old pair although the client has a newer one is another check.
      .filter((request) => !holdsNewer(story, pair, request))
      .map((request) =>
        finding('An expired access token is sent again after it was refused. Refresh the pair first', refused, request),
      )
  )
}

/** Whether the client had a newer pair than the one it used. */
function holdsNewer({ pairs }: Story, pair: Pair, { exchange, start }: Request): boolean {
  const { startedMs } = exchange
  return pairs.some(
    ({ heldMs, issuedBy }) =>
      heldMs !== null && heldMs > (pair.heldMs ?? 0) && heldMs <= startedMs && issuedBy.start === start,
  )
}

const singleFlight: Check = {
  id: 'refresh/single-flight',
  level: 'practice',
  title: 'One refresh at a time',
  sentence:
    'Of two refreshes with one token the second is refused; the workers of a client wait for one refresh and share its pair',
  source: 'RFC 9700 §4.14.2; interface part 3',
  judge({ story }) {
    const refreshes = story.requests.filter(({ kind, pair }) => kind === 'refresh' && pair !== null)
    const exercised = story.setting.parallel !== 1 && refreshes.length > 0
    const findings = [...refreshes.flatMap((one) => atOnce(story, one)), ...refreshes.flatMap(unused)]
    return { exercised: exercised || findings.length > 0, findings }
  },
}

/** Another refresh with the same token began while this one was under way, or before its answer can have been looked at. */
function atOnce(story: Story, first: Request): Finding[] {
  const endMs = first.exchange.deliveredMs ?? first.exchange.answeredMs
  if (endMs === null) return []
  const second = first.pair?.uses.find(({ kind, exchange }) => {
    if (kind !== 'refresh' || exchange.number <= first.exchange.number) return false
    if (exchange.startedMs < endMs) return true
    const isHeld = first.issued !== null && first.issued.heldMs !== null
    return isHeld && story.setting.parallel !== 1 && !isAfter(story, { exchange } as Request, endMs)
  })
  if (second === undefined) return []
  const message = 'Two refreshes of one token are under way at once. Let one worker refresh, and the others wait for it'
  return [finding(message, first, second)]
}

/** A pair that came from a refresh is refreshed while it is young, before any call was made with it. */
function unused({ pair, exchange }: Request): Finding[] {
  if (pair === null || pair.parent === null || pair.heldMs === null) return []
  const { heldMs, family } = pair
  // A call with an older token, although the client has this pair, is another check.
  const uses = family.flatMap((one) => one.uses)
  const used = uses.some(
    (one) =>
      one.kind !== 'refresh' &&
      one.exchange.number < exchange.number &&
      (one.pair === pair || one.exchange.startedMs > heldMs),
  )
  const isYoung = exchange.startedMs < (pair.heldMs + pair.accessExpiryMs) / 2
  if (used || !isYoung) return []
  const message = 'A new pair is refreshed before its first call. Check whether the token has changed before a refresh'
  return [finding(message, pair.issuedBy, exchange)]
}

const lostAnswer: Check = {
  id: 'refresh/lost-answer',
  level: 'practice',
  title: 'A refresh whose answer was lost is repeated once at most, then a grant follows',
  sentence: 'The server may have rotated the pair: a retried rotation is refused, since the old pair is revoked',
  source: 'RFC 9700 §4.14.2; interface part 3',
  judge({ story }) {
    const lost = story.requests.filter(
      ({ kind, pair, outcome }) => kind === 'refresh' && pair !== null && (outcome === 'lost' || outcome === 'spoilt'),
    )
    const firsts = lost.filter((one) => lost.find(({ pair }) => pair === one.pair) === one)
    return { exercised: firsts.length > 0, findings: firsts.flatMap((one) => afterLoss(story, one)) }
  },
}

function afterLoss({ requests, setting }: Story, first: Request): Finding[] {
  const later = requests.filter(({ exchange }) => exchange.number > first.exchange.number)
  const grantAt = later.findIndex(({ kind, outcome }) => kind === 'grant' && outcome === 'accepted')
  const beforeGrant = grantAt < 0 ? later : later.slice(0, grantAt)
  const repeated = beforeGrant.filter((one) => one.kind === 'refresh' && one.pair === first.pair)
  if (repeated.length > 1) {
    const message = `A refresh whose answer was lost is repeated ${repeated.length} times. Repeat it once at most, then request a new grant`
    return [finding(message, first, ...repeated.slice(0, 2))]
  }
  const recovered = later.some(({ kind, outcome }) => kind === 'grant' || outcome === 'accepted')
  const others = later.filter((one) => !repeated.includes(one))
  // The client may give up the call that needed the token, but later calls must work again.
  const before = requests.filter((one) => one.kind === 'call' && one.exchange.number < first.exchange.number)
  const hasMore = others.length > 0 || before.length + 1 < (setting.calls ?? 0)
  if (recovered || !hasMore) return []
  const message =
    'After a refresh whose answer was lost no grant follows, and no call is accepted any more. Request a new grant'
  return [finding(message, first, ...others.slice(0, 2))]
}

/** This many refreshes without an accepted call are a loop. */
const refreshesLetPass = 4

const noLoop: Check = {
  id: 'refresh/no-loop-after-refusal',
  level: 'practice',
  title: 'A client stops refreshing after refusals',
  sentence:
    'A refused refresh token stays refused; a call that is refused with a fresh token is not refused for its age',
  source: 'RFC 6749 §5.2; RFC 9700 §4.14.2',
  judge({ story }) {
    const refused = story.requests.filter(({ kind, outcome }) => kind === 'refresh' && outcome === 'refused')
    const barred = story.requests.some(
      ({ kind, outcome, exchange, pair }) =>
        kind === 'call' && outcome === 'refused' && pair !== null && exchange.faults.includes('refuse'),
    )
    const findings = [...refused.flatMap((one) => againAfterRefusal(story, one, refused)), ...withoutSuccess(story)]
    return { exercised: refused.length > 0 || barred || findings.length > 0, findings }
  },
}

function againAfterRefusal(story: Story, first: Request, refused: readonly Request[]): Finding[] {
  const token = first.params?.refreshToken
  if (refused.find(({ params }) => params?.refreshToken === token) !== first) return []
  const atMs = first.exchange.deliveredMs
  if (atMs === null) return []
  const again = story.requests.filter(
    (one) => one.kind === 'refresh' && one.params?.refreshToken === token && isAfter(story, one, atMs),
  )
  if (again.length < 2) return []
  const message = `A refused refresh token is sent ${again.length} more times. Request a new grant`
  return [finding(message, first, ...again.slice(0, 2))]
}

function isAtOnce(earlier: Request, { params, exchange }: Request): boolean {
  const endMs = earlier.exchange.deliveredMs ?? earlier.exchange.answeredMs ?? Number.POSITIVE_INFINITY
  return earlier.params?.refreshToken === params?.refreshToken && exchange.startedMs < endMs
}

function withoutSuccess({ requests }: Story): Finding[] {
  let row: Request[] = []
  for (const request of requests) {
    if (request.kind === 'call' && request.outcome === 'accepted') row = []
    // Simultaneous refreshes of one token are another check.
    if (request.kind === 'refresh' && !row.some((earlier) => isAtOnce(earlier, request))) row.push(request)
    if (row.length <= refreshesLetPass) continue
    const message = `This is refresh ${row.length} without an accepted call in between. Report the refusal instead`
    return [finding(message, ...row.slice(0, 5))]
  }
  return []
}

export const refreshPracticeChecks: readonly Check[] = [noExpiredTokenSent, singleFlight, lostAnswer, noLoop]
