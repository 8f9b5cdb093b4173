/** What the document says about renewing tokens: parts 3 and 4.2. */
import { type Check, type Finding, finding } from '../check.ts'
import { isAfter, type Pair, type Request, replacedMs, type Story } from '../story/story.ts'

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
