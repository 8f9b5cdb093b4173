/** What the document says about renewing tokens: parts 3 and 4.2. */
import { type Check, type Finding, finding } from '../check.ts'
import {
  goesOnAfter,
  isAfter,
  isGoodForRefresh,
  type Pair,
  type Request,
  replacedMs,
  type Story,
} from '../story/story.ts'

const refreshNoScope: Check = {
  id: 'refresh/no-scope',
  level: 'document',
  title: 'A refresh sends no scope',
  sentence: 'scope is not sent with refresh_token',
  source: 'interface part 4.2',
  judge({ story }) {
    const refreshes = story.requests.filter(({ kind }) => kind === 'refresh')
    const withScope = refreshes.filter(({ params }) => params !== null && 'scope' in params)
    const message = 'The refresh sends "scope". Send grantType and refreshToken alone'
    return { exercised: refreshes.length > 0, findings: withScope.map((request) => finding(message, request)) }
  },
}

const oldPairGone: Check = {
  id: 'refresh/old-pair-gone',
  level: 'document',
  title: 'After a refresh the old pair is not used any more',
  sentence: 'With refresh_token, a new pair is returned and the old pair is revoked',
  source: 'interface parts 3 and 4.2',
  judge({ story }) {
    const replaced = story.pairs.filter((pair) => replacedMs(pair) !== null)
    const last = story.requests.at(-1)
    const exercised = last !== undefined && replaced.some((pair) => isAfterReplacement(story, last, pair))
    return { exercised, findings: story.requests.flatMap((request) => oldUses(story, request)) }
  },
}

function oldUses(story: Story, request: Request): Finding[] {
  const { pair, kind } = request
  if (pair === null || !isAfterReplacement(story, request, pair)) return []
  const token = kind === 'refresh' ? 'refresh token' : 'access token'
  const message = `The ${token} of a pair is sent after its refresh was answered. Use the new pair from then on`
  return [finding(message, ...refreshBefore(pair), request)]
}

function isAfterReplacement(story: Story, request: Request, pair: Pair): boolean {
  const atMs = replacedMs(pair)
  return atMs !== null && isAfter(story, request, atMs)
}

/** The refresh that replaced a pair. */
const refreshBefore = ({ successor }: Pair): Request[] => (successor === null ? [] : [successor.issuedBy])

const newestUsed: Check = {
  id: 'refresh/newest-used',
  level: 'document',
  title: 'The newest pair is used after a refresh',
  sentence:
    'With refresh_token, a new pair is returned and the old pair is revoked: the next call and the next refresh use the new one',
  source: 'interface parts 3 and 4.2',
  judge({ story }) {
    const renewed = story.pairs.filter(({ parent, heldMs }) => parent !== null && heldMs !== null)
    const used = renewed.filter((pair) => usesAfter(story, pair).length > 0)
    const findings = [
      ...renewed.flatMap((pair) => neverUsed(story, pair)),
      ...story.requests.flatMap((one) => oldRefresh(story, one)),
    ]
    return { exercised: used.length > 0 || findings.length > 0, findings }
  },
}

/** The authorized calls with pairs of the same grant, after the client had this pair. */
function usesAfter(story: Story, pair: Pair): Request[] {
  const uses = pair.family.flatMap((one) => one.uses)
  return uses.filter(
    (request) => request.kind !== 'refresh' && isAfter(story, request, pair.heldMs ?? Number.POSITIVE_INFINITY),
  )
}

function neverUsed(story: Story, pair: Pair): Finding[] {
  const later = usesAfter(story, pair)
  const [first] = later
  // Calls with this pair, or with a pair that came from it.
  if (first === undefined || later.some((request) => request.pair !== null && descends(request.pair, pair))) return []
  const message = 'A new pair was delivered, and later calls still send an older access token. Use the newest one'
  return [finding(message, pair.issuedBy, first)]
}

function oldRefresh(story: Story, request: Request): Finding[] {
  const { pair, kind } = request
  if (kind !== 'refresh' || pair === null || !isAfterReplacement(story, request, pair)) return []
  const message = 'A refresh sends a refresh token that was replaced. Send the newest one'
  return [finding(message, ...refreshBefore(pair), request)]
}

/** Whether `pair` is `ancestor`, or came from it by refreshes. */
function descends(pair: Pair, ancestor: Pair): boolean {
  for (let at: Pair | null = pair; at !== null; at = at.parent) if (at === ancestor) return true
  return false
}

export const refreshDocumentChecks: readonly Check[] = [refreshNoScope, oldPairGone, newestUsed]

/** Checks of when a client requests new tokens with its key although it could refresh. */

/** Two grants do no harm; from the third on, tokens pile up. */
const grantsLetPass = 2

const notANewGrant: Check = {
  id: 'refresh/not-a-new-grant',
  level: 'practice',
  title: 'A pair is refreshed while its refresh token is valid',
  sentence:
    'An access token has a time-to-live and can be renewed with its refresh token; a grant takes a new place among the sessions',
  source: 'RFC 6749 §1.5 and §6; interface parts 2 and 8',
  judge({ story }) {
    const findings = story.requests.flatMap((request) => needlessGrant(story, request))
    const due = story.pairs.some(({ heldMs, accessExpiryMs }) => heldMs !== null && goesOnAfter(story, accessExpiryMs))
    return { exercised: due || findings.length > 0, findings }
  },
}

function needlessGrant(story: Story, request: Request): Finding[] {
  const { kind, exchange } = request
  if (kind !== 'grant') return []
  const earlier = grantsBefore(story, request).filter(({ issued }) => issued !== null)
  if (earlier.length === 0) return []
  const good = story.pairs.find(
    (pair) => sameStart(pair.issuedBy, request) && isGoodForRefresh(pair, exchange.startedMs),
  )
  if (good === undefined) return []
  if (isRecovery(story, request, earlier)) return []
  const isDue = good.accessExpiryMs <= exchange.startedMs && !wasTried(good, exchange.startedMs)
  const piles = request.start !== null && earlier.length >= grantsLetPass
  if (!isDue && !piles) return []
  const message = isDue
    ? 'A new grant is requested instead of a refresh, although the refresh token is valid and was not tried. Refresh the pair'
    : `This is grant ${earlier.length + 1} of one start, although an older pair is valid. Keep one pair and refresh it`
  return [finding(message, good.issuedBy, exchange)]
}

function grantsBefore({ requests }: Story, request: Request): Request[] {
  return requests.filter(
    (other) => other.kind === 'grant' && other.exchange.number < request.exchange.number && sameStart(other, request),
  )
}

/** After a refresh that failed, one grant is right, even if the client has other pairs. */
function isRecovery({ requests }: Story, request: Request, earlier: readonly Request[]): boolean {
  const failed = requests.filter(
    (other) =>
      other.kind === 'refresh' &&
      other.outcome !== 'accepted' &&
      (other.exchange.answeredMs ?? Number.POSITIVE_INFINITY) <= request.exchange.startedMs &&
      sameStart(other, request),
  )
  return failed.length >= earlier.length
}

/** If the starts of a client are unknown, each connection counts as one start. */
function sameStart(one: Request, other: Request): boolean {
  return one.start === null ? one.exchange.connection === other.exchange.connection : one.start === other.start
}

function wasTried({ uses }: Pair, atMs: number): boolean {
  return uses.some(({ kind, exchange }) => kind === 'refresh' && exchange.startedMs < atMs)
}

const lateLoser: Check = {
  id: 'refresh/late-loser-keeps-the-newer-pair',
  level: 'practice',
  title: 'A late refusal does not end the use of the newer pair',
  sentence: 'Of two requests with one old token the one that is answered last is refused: the newer pair stays in use',
  source: 'RFC 9700 §4.14.2; interface part 3',
  judge({ story }) {
    const late = story.requests.filter((one) => isLateLoser(one) && hasNewerPair(one))
    const findings = late.flatMap((loser) => grantAfterLoser(story, loser))
    return { exercised: late.length > 0, findings }
  },
}

/** Refused for an old token after the client had the newer pair. */
function isLateLoser({ pair, outcome, exchange }: Request): boolean {
  if (pair === null || outcome !== 'refused' || exchange.deliveredMs === null) return false
  const atMs = replacedMs(pair)
  return atMs !== null && exchange.startedMs < atMs && exchange.deliveredMs > atMs
}

/** Otherwise a new grant is right, and nothing is shown. */
function hasNewerPair({ pair, exchange }: Request): boolean {
  const refusedMs = exchange.deliveredMs ?? Number.POSITIVE_INFINITY
  const newer = newestOf(pair, refusedMs)
  return newer !== null && newer.accessExpiryMs > refusedMs && isGoodForRefresh(newer, refusedMs)
}

function grantAfterLoser(story: Story, loser: Request): Finding[] {
  const refusedMs = loser.exchange.deliveredMs ?? Number.POSITIVE_INFINITY
  for (const grant of story.requests) {
    const { startedMs } = grant.exchange
    if (grant.kind !== 'grant' || startedMs < refusedMs || !sameStart(grant, loser)) continue
    const newer = newestOf(loser.pair, startedMs)
    if (newer === null || newer.accessExpiryMs <= startedMs || !isGoodForRefresh(newer, startedMs)) continue
    const message =
      'After a late refusal a new grant is requested, although the client has a newer valid pair. Check whether the token has changed, and use the newer one'
    return [finding(message, newer.issuedBy, loser, grant)]
  }
  return []
}

/** The newest pair of a grant that the client had at a given time. */
function newestOf(pair: Pair | null, atMs: number): Pair | null {
  let newest: Pair | null = null
  for (let at = pair?.successor ?? null; at !== null; at = at.successor)
    if (at.heldMs !== null && at.heldMs <= atMs) newest = at
  return newest
}

export const refreshGrantChecks: readonly Check[] = [notANewGrant, lateLoser]

/** Checks of how a client refreshes: once, in time, and not endlessly. */

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
