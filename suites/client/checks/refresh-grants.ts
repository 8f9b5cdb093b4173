/** Checks of when a client requests new tokens with its key although it could refresh. */
import { type Check, type Finding, finding } from '../check.ts'
import { goesOnAfter, isGoodForRefresh, type Pair, type Request, replacedMs, type Story } from '../story/story.ts'

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
