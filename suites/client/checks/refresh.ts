/** Checks of how tokens are renewed: what the document says (parts 3 and 4.2), and once, in time, and not endlessly. */
import { type Check, each, type Finding, finding, ofEach } from '../check.ts'
import { type Exchange, isOutlived, type Request, replacedMs, type Story } from '../journal.ts'

export const refreshChecks: readonly Check[] = [
  {
    id: 'refresh/no-scope',
    level: 'document',
    title: 'A refresh sends no scope',
    sentence: 'scope is not sent with refresh_token',
    source: 'interface part 4.2',
    judge: ofEach(isRefresh, ({ params }) => [
      'scope' in params && 'The refresh sends "scope". Send grantType and refreshToken alone',
    ]),
  },
  {
    id: 'refresh/old-pair-gone',
    level: 'document',
    title: 'After a refresh the old pair is no longer used',
    sentence: 'With refresh_token, a new pair is returned and the old pair is revoked',
    source: 'interface parts 3 and 4.2',
    judge({ story }) {
      const last = story.requests.at(-1)
      const findings = each(story.requests, (request) => {
        const token = isRefresh(request) ? 'refresh token' : 'access token'
        const message = `The ${token} of a pair is sent after its refresh was answered. Use the new pair from then on`
        return [isReplaced(story, request) && finding(message, ...refreshBefore(request), request)]
      })
      return {
        exercised: last !== undefined && story.pairs.some((pair) => isAfter(story, last, replacedMs(pair))),
        findings,
      }
    },
  },
  {
    id: 'refresh/newest-used',
    level: 'document',
    title: 'The newest pair is used after a refresh',
    sentence:
      'With refresh_token, a new pair is returned and the old pair is revoked: the next call and the next refresh use the new one',
    source: 'interface parts 3 and 4.2',
    judge({ story }) {
      const renewed = story.pairs.filter(({ parent }) => parent !== null)
      const message = 'A refresh sends a refresh token that was replaced. Send the newest one'
      const oldRefreshes = each(story.requests.filter(isRefresh), (request) => [
        isReplaced(story, request) && finding(message, ...refreshBefore(request), request),
      ])
      return {
        exercised: renewed.some((pair) => usesAfter(story, pair).length > 0),
        findings: [...renewed.flatMap((pair) => neverUsed(story, pair)), ...oldRefreshes],
      }
    },
  },
  {
    id: 'refresh/not-a-new-grant',
    level: 'practice',
    title: 'A pair is refreshed while its refresh token is valid',
    sentence:
      'An access token has a time-to-live and can be renewed with its refresh token; a grant takes a new place among the sessions',
    source: 'RFC 6749 §1.5 and §6; interface parts 2 and 8',
    judge: ({ story }) => ({
      exercised: story.pairs.some((pair) => isOutlived(story, pair)),
      findings: story.requests.flatMap((request) => needlessGrant(story, request)),
    }),
  },
  {
    id: 'refresh/late-loser-keeps-the-newer-pair',
    level: 'practice',
    title: 'A late refusal does not end the use of the newer pair',
    sentence:
      'Of two requests with one old token the one that is answered last is refused: the newer pair stays in use',
    source: 'RFC 9700 §4.14.2; interface part 3',
    judge: ofEach(isLateLoser, grantAfterLoser),
  },
  {
    id: 'refresh/no-expired-token-sent',
    level: 'practice',
    title: 'A token that was refused as expired is not sent again',
    sentence: 'One refusal shows that an access token has expired; a client refreshes then, or earlier',
    source: 'RFC 6750 §3.1; RFC 6749 §1.5',
    judge({ story }) {
      const expired = story.pairs.filter((pair) => isOutlived(story, pair))
      return { exercised: expired.length > 0, findings: expired.flatMap((pair) => sentAgain(story, pair)) }
    },
  },
  {
    id: 'refresh/single-flight',
    level: 'practice',
    title: 'One refresh at a time',
    sentence:
      'Of two refreshes with one token the second is refused; the workers of a client wait for one refresh and share its pair',
    source: 'RFC 9700 §4.14.2; interface part 3',
    judge({ story }) {
      const refreshes = story.requests.filter((request) => isRefresh(request) && request.pair !== null)
      return {
        exercised: story.setting.parallel !== 1 && refreshes.length > 0,
        findings: [...refreshes.flatMap((one) => atOnce(story, one)), ...tooOften(refreshes.filter(isIdle))],
      }
    },
  },
  {
    id: 'refresh/lost-answer',
    level: 'practice',
    title: 'A refresh whose answer was lost is repeated once at most, then a grant follows',
    sentence: 'The server may have rotated the pair: a retried rotation is refused, since the old pair is revoked',
    source: 'RFC 9700 §4.14.2; interface part 3',
    judge({ story }) {
      const lost = story.requests.filter(
        ({ kind, pair, outcome }) =>
          kind === 'refresh' && pair !== null && (outcome === 'lost' || outcome === 'spoilt'),
      )
      const firsts = lost.filter((one) => lost.find(({ pair }) => pair === one.pair) === one)
      return { exercised: firsts.length > 0, findings: firsts.flatMap((one) => afterLoss(story, one)) }
    },
  },
  {
    id: 'refresh/no-loop-after-refusal',
    level: 'practice',
    title: 'A client stops refreshing after refusals',
    sentence:
      'A refused refresh token stays refused; a call that is refused with a fresh token is not refused for its age',
    source: 'RFC 6749 §5.2; RFC 9700 §4.14.2',
    judge({ story }) {
      const refused = story.requests.filter(({ outcome }) => outcome === 'refused')
      const refreshes = refused.filter(isRefresh)
      const barred = refused.some(
        ({ kind, faults, pair }) => kind === 'call' && pair !== null && faults.includes('refuse'),
      )
      return {
        exercised: refreshes.length > 0 || barred,
        findings: [...refreshes.flatMap((one) => againAfterRefusal(story, one, refreshes)), ...withoutSuccess(story)],
      }
    },
  },
]

function isRefresh({ kind }: Request): boolean {
  return kind === 'refresh'
}

/** Whether a request presents a token that the client knew to be replaced. */
const isReplaced = (story: Story, request: Request): boolean =>
  request.pair !== null && isAfter(story, request, replacedMs(request.pair))

/** The refresh that replaced the pair of a request. */
const refreshBefore = ({ pair }: Request): Request[] => (pair?.successor ? [pair.successor.issuedBy] : [])

type Pair = Story['pairs'][number]

/** The authorized calls with pairs of the same grant, after the client had this pair. */
function usesAfter(story: Story, { family, heldMs }: Pair): Request[] {
  const uses = family.flatMap((one) => one.uses)
  return uses.filter((request) => !isRefresh(request) && isAfter(story, request, heldMs))
}

function neverUsed(story: Story, pair: Pair): Finding[] {
  const later = usesAfter(story, pair)
  const [first] = later
  // Calls with this pair, or with a pair that came from it.
  if (first === undefined || later.some((request) => request.pair !== null && descends(request.pair, pair))) return []
  const message = 'A new pair was delivered, and later calls still send an older access token. Use the newest one'
  return [finding(message, pair.issuedBy, first)]
}

/** Whether `pair` is `ancestor`, or came from it by refreshes. */
function descends(pair: Pair, ancestor: Pair): boolean {
  return pair === ancestor || (pair.parent !== null && descends(pair.parent, ancestor))
}

/** Two grants do no harm; from the third on, tokens pile up. */
const grantsLetPass = 2

function needlessGrant({ requests, pairs }: Story, request: Request): Finding[] {
  const { kind, startedMs, number } = request
  if (kind !== 'grant') return []
  const mine = requests.filter((other) => other.number < number && sameStart(other, request))
  const earlier = mine.filter((other) => other.kind === 'grant' && other.issued !== null)
  const good = pairs.find((pair) => sameStart(pair.issuedBy, request) && isGoodForRefresh(pair, startedMs))
  // After a refresh that failed, one grant is right, even if the client has other pairs.
  const failed = mine.filter(
    (other) =>
      isRefresh(other) && other.outcome !== 'accepted' && other.answeredMs !== null && other.answeredMs <= startedMs,
  )
  if (earlier.length === 0 || good === undefined || failed.length >= earlier.length) return []
  const wasTried = good.uses.some((one) => isRefresh(one) && one.startedMs < startedMs)
  const isDue = good.accessExpiryMs <= startedMs && !wasTried
  const piles = request.start !== null && earlier.length >= grantsLetPass
  if (!isDue && !piles) return []
  const message = isDue
    ? 'A new grant is requested instead of a refresh, although the refresh token is valid and was not tried. Refresh the pair'
    : `This is grant ${earlier.length + 1} of one start, although an older pair is valid. Keep one pair and refresh it`
  return [finding(message, good.issuedBy, request)]
}

/** If the starts of a client are unknown, each connection counts as one start. */
function sameStart(one: Request, other: Request): boolean {
  return one.start === null ? one.connection === other.connection : one.start === other.start
}

/** Whether the client could use the refresh token of a pair at a given time: received, not used, not refused, not expired. */
function isGoodForRefresh({ heldMs, refreshExpiryMs, uses }: Pair, atMs: number): boolean {
  if (heldMs > atMs || refreshExpiryMs <= atMs) return false
  return !uses.some(
    ({ kind, startedMs, outcome, issued }) =>
      kind === 'refresh' && startedMs < atMs && (issued !== null || outcome === 'refused'),
  )
}

/** Refused for an old token after the client had the newer pair, which is still good: otherwise a new grant is right, and nothing is shown. */
function isLateLoser({ pair, outcome, startedMs, heardMs }: Request): boolean {
  if (pair === null || outcome !== 'refused') return false
  const atMs = replacedMs(pair)
  return startedMs < atMs && heardMs > atMs && goodNewer(pair, heardMs) !== null
}

function grantAfterLoser(loser: Request, { requests }: Story): Finding[] {
  for (const grant of requests) {
    if (grant.kind !== 'grant' || grant.startedMs < loser.heardMs || !sameStart(grant, loser)) continue
    const newer = goodNewer(loser.pair, grant.startedMs)
    if (newer === null) continue
    const message =
      'After a late refusal a new grant is requested, although the client has a newer valid pair. Check whether the token has changed, and use the newer one'
    return [finding(message, newer.issuedBy, loser, grant)]
  }
  return []
}

/** The newest pair of a grant that the client had at a given time; null if it has expired or was used. */
function goodNewer(pair: Pair | null, atMs: number): Pair | null {
  let newest: Pair | null = null
  for (let at = pair?.successor ?? null; at !== null; at = at.successor) if (at.heldMs <= atMs) newest = at
  return newest !== null && newest.accessExpiryMs > atMs && isGoodForRefresh(newest, atMs) ? newest : null
}

function sentAgain(story: Story, pair: Pair): Finding[] {
  const uses = pair.uses.filter((request) => !isRefresh(request))
  const refused = uses.find(({ outcome, startedMs }) => outcome === 'refused' && startedMs > pair.accessExpiryMs)
  if (refused === undefined) return []
  const message = 'An expired access token is sent again after it was refused. Refresh the pair first'
  // Using an old pair although the client has a newer one is another check.
  return uses
    .filter((one) => one !== refused && isAfter(story, one, refused.heardMs) && !holdsNewer(story, pair, one))
    .map((one) => finding(message, refused, one))
}

/** Whether the client had a newer pair than the one it used. */
function holdsNewer({ pairs }: Story, pair: Pair, { startedMs, start }: Request): boolean {
  return pairs.some(({ heldMs, issuedBy }) => heldMs > pair.heldMs && heldMs <= startedMs && issuedBy.start === start)
}

/** Another refresh with the same token began while this one was under way, or before its answer can have been looked at. */
function atOnce(story: Story, first: Request): Finding[] {
  const endMs = endOf(first)
  if (endMs === Number.POSITIVE_INFINITY) return []
  const isShared = story.setting.parallel !== 1 && Number.isFinite(first.issued?.heldMs)
  const second = first.pair?.uses.find(
    (one) =>
      isRefresh(one) &&
      one.number > first.number &&
      (one.startedMs < endMs || (isShared && !isAfter(story, one, endMs))),
  )
  if (second === undefined) return []
  const message =
    second.startedMs < endMs
      ? 'Two refreshes of one token are under way at once. Let one worker refresh, and the others wait for it'
      : `A token is refreshed again ${Math.round(second.startedMs - endMs)} ms after its refresh was answered. Let one worker refresh, and give the new pair to the others`
  return [finding(message, first, second)]
}

/** When the answer of a request was sent, or else ready; Infinity: never. */
const endOf = ({ deliveredMs, answeredMs }: Request): number => deliveredMs ?? answeredMs ?? Number.POSITIVE_INFINITY

/** A pair that came from a refresh is refreshed while it is young, before any call was made with it. */
function isIdle({ pair, number, startedMs }: Request): boolean {
  if (pair === null || pair.parent === null || !Number.isFinite(pair.heldMs)) return false
  const { heldMs, accessExpiryMs, family } = pair
  // A call with an older token, although the client has this pair, is another check.
  const isUsed = family
    .flatMap(({ uses }) => uses)
    .some((one) => !isRefresh(one) && one.number < number && (one.pair === pair || one.startedMs > heldMs))
  return !isUsed && startedMs < (heldMs + accessExpiryMs) / 2
}

/** From this many on, something refreshes by itself: they are one finding. */
const idleRefreshesOfTimer = 5

function tooOften(idle: readonly Request[]): Finding[] {
  const [first, last] = [idle[0], idle.at(-1)]
  if (first === undefined || last === undefined || idle.length < idleRefreshesOfTimer)
    return idle.map((refresh) =>
      finding(
        'A new pair is refreshed before its first call. Check whether the token has changed before a refresh',
        ...(refresh.pair === null ? [] : [refresh.pair.issuedBy]),
        refresh,
      ),
    )
  const everyMs = Math.floor((last.startedMs - first.startedMs) / (idle.length - 1)) + 1
  const message = `${idle.length} refreshes before the first call of their pairs, more often than once in ${everyMs} ms. Check the timer that refreshes: a delay that is too long for it fires at once`
  return [finding(message, ...idle.slice(0, 3))]
}

function afterLoss({ requests, setting }: Story, first: Request): Finding[] {
  const later = requests.filter(({ number }) => number > first.number)
  const grantAt = later.findIndex(({ kind, outcome }) => kind === 'grant' && outcome === 'accepted')
  const beforeGrant = grantAt < 0 ? later : later.slice(0, grantAt)
  const repeated = beforeGrant.filter((one) => isRefresh(one) && one.pair === first.pair)
  if (repeated.length > 1) {
    const message = `A refresh whose answer was lost is repeated ${repeated.length} times. Repeat it once at most, then request a new grant`
    return [finding(message, first, ...repeated.slice(0, 2))]
  }
  const recovered = later.some(({ kind, outcome }) => kind === 'grant' || outcome === 'accepted')
  const others = later.filter((one) => !repeated.includes(one))
  // The client may give up the call that needed the token, but later calls must work again.
  const before = requests.filter(({ kind, number }) => kind === 'call' && number < first.number)
  const hasMore = others.length > 0 || before.length + 1 < (setting.calls ?? 0)
  if (recovered || !hasMore) return []
  const message =
    'After a refresh whose answer was lost no grant follows, and no call is accepted any more. Request a new grant'
  return [finding(message, first, ...others.slice(0, 2))]
}

const tokenOf = ({ params }: Request): unknown => params.refreshToken

function againAfterRefusal(story: Story, first: Request, refused: readonly Request[]): Finding[] {
  if (refused.find((one) => tokenOf(one) === tokenOf(first)) !== first) return []
  const again = story.requests.filter(
    (one) => isRefresh(one) && tokenOf(one) === tokenOf(first) && isAfter(story, one, first.heardMs),
  )
  if (again.length < 2) return []
  const message = `A refused refresh token is sent ${again.length} more times. Request a new grant`
  return [finding(message, first, ...again.slice(0, 2))]
}

/** This many refreshes without an accepted call are a loop. */
const refreshesLetPass = 4

function withoutSuccess({ requests }: Story): Finding[] {
  let row: Request[] = []
  for (const request of requests) {
    if (request.kind === 'call' && request.outcome === 'accepted') row = []
    // Simultaneous refreshes of one token are another check.
    const isAtOnce = row.some((one) => tokenOf(one) === tokenOf(request) && request.startedMs < endOf(one))
    if (isRefresh(request) && !isAtOnce) row.push(request)
    if (row.length <= refreshesLetPass) continue
    const message = `This is refresh ${row.length} without an accepted call in between. Report the refusal instead`
    return [finding(message, ...row.slice(0, 5))]
  }
  return []
}

/** With several workers, a request that arrives this soon after an answer may have been sent before it; longer on a slow machine. */
const underWayMs = 250

/** Whether a request was sent after the client had an answer, as far as the times show. */
function isAfter({ setting }: Story, { startedMs }: Exchange, answeredMs: number): boolean {
  return setting.parallel === 1 ? startedMs >= answeredMs : startedMs > answeredMs + underWayMs + setting.lagMs
}
