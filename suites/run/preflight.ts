import { type Conversation, limitFor } from '../engine/conversation/conversation.ts'
import { accessTokenOf, createKeyOf, grantFor } from '../engine/conversation/create-test-keys.ts'
import { listSolutions } from '../engine/conversation/send.ts'
import {
  isUnavailable,
  noteRepeated,
  noteSilence,
  offsetMs,
  patienceForRefusalMs,
  type TargetFacts,
} from '../engine/conversation/target-facts.ts'
import { SuiteError } from '../engine/errors.ts'
import { membersOf } from '../engine/json.ts'
import { type Classified, describe } from '../engine/judge/classify.ts'
import { type Called, type CredentialKind, firstTimestampMs, roundingMs } from '../engine/judge/judge-case.ts'
import type { SecondAddressProblem } from '../engine/judge/problem.ts'
import type { Auth, SafetyClass } from '../engine/language/fixture-types.ts'
import { printable } from '../engine/printable.ts'
import { shortName, uniqueLength } from '../engine/signer/random.ts'

/**
 * The first calls of a run. They find out whether the target is up, whether it accepts the root key, what its clock says, which token
 * prefix and scope spelling it uses, and whether it accepts junk.
 *
 * @param allow the allowed lasting effects: tokens are requested only with `sessions`
 * @param patientMs how long to wait for a target that refuses connections
 * @throws SuiteError (`unreachable`, exit code 3) when nothing connects, or the root key is refused in every way
 */
export async function preflight(
  talk: Conversation,
  allow: readonly SafetyClass[],
  patientMs = 0,
): Promise<TargetFacts> {
  const { target } = talk.run
  const first = await firstCall(talk, patientMs)
  await measureRefused(talk, first, 1)
  adaptLimit(talk)
  await checkDate(talk)
  await Promise.all([measureRefused(talk, first, 2), tryRootKey(talk, first, allow)])
  const isTimed = !talk.instance.clock.controlled
  if (allow.includes('sessions')) {
    await Promise.all([learnTokens(talk), isTimed && measureAccepted(talk)])
    if (isTimed && talk.instance.root.kind === 'secret') noteTime(talk, await grant(talk, ['solution']))
    adaptLimit(talk)
    if (target.lasting) await checkExpiry(talk)
    await Promise.all([learnAddresses(urgent(talk), allow), tryJunk(talk, first, allow)])
  } else {
    const isTimedMeanwhile = isTimed && measureAccepted(talk)
    await Promise.all([isTimedMeanwhile, learnAddresses(urgent(talk), allow), tryJunk(talk, first, allow)])
  }
  // On a throwaway instance: which spelling of the scope really opens key creation.
  const member = target.lasting ? undefined : talk.run.corpus.testKeys.find(({ key }) => key === 'secret')
  if (member !== undefined && allow.includes('sessions') && allow.includes('keys'))
    await createKeyOf(talk, member, 'token', 'root')
  return talk.facts
}

/** A talk whose calls go before those of others: each of them waits for the one before. */
const urgent = (talk: Conversation): Conversation => ({ ...talk, isUrgent: true })

/** How many calls are made at once depends on how far away the target is. */
function adaptLimit(talk: Conversation): void {
  talk.limit = limitFor(talk.instance, talk.facts)
}

// The calls of the preflight.

type How = Parameters<typeof listSolutions>[2]
type Answer = Called['answer']

const accepts = async (talk: Conversation, auth: Auth, how?: How): Promise<boolean> =>
  (await listSolutions(talk, auth, how)).answer.outcome === 'accepted'

/** Makes a call that should be refused; some servers never answer such calls. */
async function callExpectingRefusal(talk: Conversation, auth: Auth, how?: How): Promise<Called> {
  const called = await listSolutions(talk, auth, { timeoutMs: patienceForRefusalMs(talk), ...how })
  noteSilence(talk, called.wire)
  return called
}

const grant = (talk: Conversation, scope: string[]): Promise<Called> => grantFor(talk, 'root', scope)

const signatureOf = ({ instance }: Conversation): Auth =>
  instance.root.kind === 'secret' ? { hmac: 'root' } : { ecc: 'root' }

const cannotUse = ({ instance }: Conversation, why: string): SuiteError =>
  new SuiteError('unreachable', `Cannot use ${instance.baseUrl}: ${why}`)

/** The pause between two tries to reach a target that is still starting. In ms. */
const pauseMs = 250

/**
 * The first call, which carries no authorization. Where its answer says that the target may be away or throttles, calls with authorization
 * show whether that goes for calls without it alone.
 *
 * @param patientMs how long to wait for a target that refuses connections, or for which something in front of it answers
 * @throws SuiteError (`unreachable`, exit code 3) if nothing connects, or the target throttles for too long
 */
async function firstCall(talk: Conversation, patientMs: number): Promise<Called> {
  const { clock, baseUrl } = talk.instance
  const untilMs = clock.now() + patientMs
  for (;;) {
    const first = await callExpectingRefusal(talk, 'none')
    const { answer } = first
    if (answer.outcome === 'throttled') await demandLessThrottling(talk, first, answer)
    if (answer.outcome !== 'broken') {
      noteRepeated(talk.facts, true)
      return first
    }
    const { status } = answer
    if (status !== null && !isUnavailable(status)) return first
    // This call was repeated, and the others need not be.
    if (status !== null) noteRepeated(talk.facts, 'never')
    const isOver = clock.now() >= untilMs || talk.run.stopping.reason !== null
    if (status !== null && isOver) return first
    const isThere = status === null ? (one: Answer) => one.status !== null : isReached
    if (!answer.refusedConnection && (await someOfRoot(talk, isThere))) return first
    if (status === null && (isOver || !answer.refusedConnection)) {
      const waited = patientMs > 0 ? `It did not come up within ${patientMs / 1000} s` : waitFlag
      const patience = answer.refusedConnection ? `; is the server running? ${waited}` : ''
      throw new SuiteError('unreachable', `Cannot reach ${baseUrl}/api: ${printable(answer.reason)}${patience}`)
    }
    await clock.sleep(pauseMs)
  }
}

/** @throws SuiteError (`unreachable`) unless calls with authorization are not throttled */
async function demandLessThrottling(
  talk: Conversation,
  { throttled }: Called,
  { status, retryAfterMs = 0 }: { status: number; retryAfterMs?: number },
): Promise<void> {
  const seconds = Math.ceil(retryAfterMs / 1000)
  // Shorter times have already been waited out.
  if (throttled === 0)
    throw cannotUse(
      talk,
      `it answers the first call with HTTP ${status} and asks to wait ${seconds} s, longer than this run waits; "--wait ${seconds}" allows it`,
    )
  if ((await listSolutions(talk, { key: 'root' })).answer.outcome === 'throttled')
    throw cannotUse(talk, `it answers every call with HTTP ${status}, however slowly the calls come`)
}

const isReached = ({ outcome, status }: Answer): boolean =>
  outcome !== 'broken' || !(status === null || isUnavailable(status))

/** Whether one of the ways to call with the root key gets such an answer. */
async function someOfRoot(talk: Conversation, isWanted: (answer: Answer) => boolean): Promise<boolean> {
  const basic: Auth[] = talk.instance.root.kind === 'secret' ? [{ basic: 'root' }] : []
  for (const auth of [...basic, { key: 'root' }]) if (isWanted((await listSolutions(talk, auth)).answer)) return true
  return false
}

/** Measures how long refused calls take. */
async function measureRefused(talk: Conversation, first: Called, samples: number): Promise<void> {
  if (first.answer.status === null) return
  for (let sample = 0; sample < samples; sample += 1) noteTime(talk, await listSolutions(talk, 'none'))
}

/** Measures how long an accepted call takes: a server may refuse fast and accept slowly. */
async function measureAccepted(talk: Conversation): Promise<void> {
  noteTime(talk, await listSolutions(talk, { key: 'root' }))
}

/** The longest call counts, without what it waited for before it was sent; a throttled one says nothing about the latency. */
function noteTime({ facts }: Conversation, { throttled, wire, time }: Called): void {
  if (throttled === 0 && wire.kind === 'answer')
    facts.roundTripMs = Math.max(facts.roundTripMs, time.answeredAtMs - time.sentAtMs)
}

/**
 * Calls with the root key in every way that may work; one accepted call is enough to go on.
 *
 * @param first the call without any authorization
 * @throws SuiteError (`unreachable`, exit code 3) if the key is refused in every way
 */
async function tryRootKey(talk: Conversation, first: Called, allow: readonly SafetyClass[]): Promise<void> {
  const { facts, instance } = talk
  const { root } = instance
  const hasSecret = root.kind === 'secret'
  const seen: string[] = []
  let last = first.answer
  for (const way of hasSecret ? (['basic', 'hmac'] as const) : (['ecc'] as const)) {
    const { answer } = await listSolutions(talk, { [way]: 'root' } as Auth)
    if (answer.outcome === 'accepted') {
      if (way !== 'ecc') facts.keyWay = way
      return
    }
    if (answer.outcome === 'unread')
      throw cannotUse(
        talk,
        `its first answer to solution/listSolutions is longer than ${answer.limitBytes} bytes; raise maxAnswerBytes in the target file`,
      )
    // The target accepts nothing, which the cases will report.
    if (answer.outcome === 'refused' && (membersOf(answer.json).result ?? null) !== null) return
    seen.push(printable(`${way === 'basic' ? 'Basic credentials' : 'a signature'}: ${describe(answer)}`))
    last = answer
  }
  if (allow.includes('sessions') && hasSecret) {
    const { answer } = await grant(talk, ['solution'])
    if (answer.outcome === 'accepted') return
    seen.push(printable(`a grant: ${describe(answer)}`))
  }
  throw cannotUse(
    talk,
    `it refuses the API key "${root.id}" in every way (${seen.join('; ')}); ${advice(instance.baseUrl, first.answer, last)}`,
  )
}

/** Finds out which word precedes a token. */
async function learnTokens(talk: Conversation): Promise<void> {
  const { facts, instance } = talk
  if (instance.root.kind !== 'secret') return
  const granted = await grant(talk, ['solution'])
  const token = accessTokenOf(granted)
  if (token === undefined || granted.answer.outcome !== 'accepted') return
  const { tokenType } = membersOf(granted.answer.result)
  const { tokenPrefix: configured } = instance.settings
  const words = ['Bearer', ...(typeof tokenType === 'string' ? [tokenType] : []), 'Token', '']
  for (const prefix of configured === undefined ? new Set(words) : [configured]) {
    facts.tokenPrefix = prefix
    if (await accepts(talk, { token })) return learnReplacement(talk, token)
    facts.tokenPrefix = configured ?? 'Bearer'
  }
  // Without a given word, tokens may work with another one; a given word must work.
  if (talk.run.target.lasting)
    facts.tokenWord = configured === undefined ? { kind: 'not-found' } : { kind: 'not-accepted', prefix: configured }
}

/**
 * Finds out whether a grant without a session ends the previous one, as some servers treat all such grants as one session, or gives the
 * same pair again, as some do for a while.
 */
async function learnReplacement(talk: Conversation, earlier: string): Promise<void> {
  const later = accessTokenOf(await grant(talk, ['solution']))
  if (later === undefined) return
  const isReplaced =
    later === earlier || (!(await accepts(talk, { token: earlier })) && (await accepts(talk, { token: later })))
  if (isReplaced) talk.facts.unnamedReplaced = true
}

/** Two clocks of one deployment differ by less. */
const notableMs = 10_000

/**
 * The document does not mention the `Date` header, and a proxy with a wrong clock may write it. Where it differs much from our clock, a
 * signature shows which of the two the target uses: if only one with our time is accepted, the header is ignored from then on.
 */
async function checkDate(talk: Conversation): Promise<void> {
  const { facts } = talk
  const { offset } = facts
  const aheadMs = offsetMs(offset)
  if (offset === undefined || Math.abs(aheadMs) < notableMs) return
  if ((await listSolutions(talk, signatureOf(talk))).answer.outcome !== 'refused') return
  facts.wrongDateMs = aheadMs
  delete facts.offset
  if (await accepts(talk, signatureOf(talk))) return
  delete facts.wrongDateMs
  facts.offset = offset
}

/** Both are requested where no Date header confirms what one expiry says. In ms. */
const lifetimesMs = [5000, 12_000] as const

/** How far the clock of the target may be ahead of ours. In ms. */
interface Ahead {
  earliestMs: number
  latestMs: number
}

/**
 * A proxy may write the Date header by another clock than the target's. The expiry of a requested lifetime shows another clock too; but it may
 * simply be wrong. It is taken for the target's clock if it agrees with ours, or if the signatures that the target accepts show that clock too.
 * Where no answer carries a Date header, the expiries of two lifetimes must show the same clock.
 */
async function checkExpiry(talk: Conversation): Promise<void> {
  const { facts } = talk
  if (talk.instance.root.kind !== 'secret') return
  const { offset } = facts
  const seen = offset === undefined ? await commonClock(talk) : await clockOfExpiries(talk, lifetimesMs[0])
  const ofDateMs = offsetMs(offset)
  if (seen === undefined || (offset !== undefined && isNear(seen, ofDateMs))) return
  if (!(isNear(seen, 0) ? await isAccepted(talk, 0) : await isClockOfSignatures(talk, seen))) return
  if (offset !== undefined) facts.wrongDateMs = ofDateMs - offsetMs(seen)
  facts.offset = seen
}

/** Two clocks of one deployment differ by less. */
const isNear = ({ earliestMs, latestMs }: Ahead, aheadMs: number): boolean =>
  earliestMs < aheadMs + notableMs && latestMs > aheadMs - notableMs

/** The clock that the expiries of both lifetimes show; undefined if they contradict each other. */
async function commonClock(talk: Conversation): Promise<Ahead | undefined> {
  const [one, other] = [await clockOfExpiries(talk, lifetimesMs[0]), await clockOfExpiries(talk, lifetimesMs[1])]
  if (one === undefined || other === undefined) return undefined
  const earliestMs = Math.max(one.earliestMs, other.earliestMs)
  const latestMs = Math.min(one.latestMs, other.latestMs)
  return earliestMs <= latestMs ? { earliestMs, latestMs } : undefined
}

async function clockOfExpiries(talk: Conversation, lifeMs: number): Promise<Ahead | undefined> {
  const { clock } = talk.instance
  const sentMs = clock.now()
  const { answer } = await grant(talk, ['solution', `expiresIn:${lifeMs}`])
  const expiry = answer.outcome === 'accepted' ? membersOf(answer.result).accessTokenExpiry : undefined
  if (typeof expiry !== 'number' || expiry < firstTimestampMs) return undefined
  return { earliestMs: expiry - lifeMs - clock.now() - roundingMs, latestMs: expiry - lifeMs - sentMs + roundingMs }
}

/** Whether the target accepts a signature with a time that is so far ahead of ours. */
async function isAccepted(talk: Conversation, aheadMs: number): Promise<boolean> {
  const offset = { earliestMs: aheadMs, latestMs: aheadMs }
  return accepts({ ...talk, facts: { ...talk.facts, offset, wrongDateMs: 0 } }, { hmac: 'root' })
}

/** The first step, and the widest window that is looked for: more than a day, which many servers take. In ms. */
const firstStepMs = 15_000
const widestMs = 2 ** 13 * firstStepMs

/**
 * Whether the times that the target accepts in signatures lie around this clock, and not around that of the Date header. A target that accepts
 * every time shows no clock.
 */
async function isClockOfSignatures(talk: Conversation, seen: Ahead): Promise<boolean> {
  const middleMs = offsetMs(seen)
  if (!(await isAccepted(talk, middleMs))) return false
  const ofDateMs = offsetMs(talk.facts.offset)
  if (!(await isAccepted(talk, ofDateMs))) return true
  const latestMs = await edgeOf(talk, middleMs, 1)
  const earliestMs = latestMs === undefined ? undefined : await edgeOf(talk, middleMs, -1)
  if (latestMs === undefined || earliestMs === undefined) return false
  const centreMs = (latestMs + earliestMs) / 2
  return Math.abs(centreMs - middleMs) < Math.abs(centreMs - ofDateMs) / 3
}

/** The last time in this direction that is accepted, as precisely as this needs; undefined where there is none. */
async function edgeOf(talk: Conversation, fromMs: number, direction: 1 | -1): Promise<number | undefined> {
  const { largest, unbounded } = await findLargest((ms) => isAccepted(talk, fromMs + direction * ms), {
    from: firstStepMs,
    limit: widestMs,
    resolution: notableMs / 4,
  })
  return unbounded ? undefined : fromMs + direction * largest
}

/**
 * Doubles a value until it is refused, then halves the distance.
 *
 * @returns the largest accepted value (0: no value was accepted), and whether the limit of the search was accepted
 */
export async function findLargest(
  accepts: (value: number) => Promise<boolean>,
  { from, limit, resolution }: { from: number; limit: number; resolution: number },
): Promise<{ largest: number; unbounded: boolean }> {
  let accepted = 0
  let refused = from
  while (await accepts(refused)) {
    accepted = refused
    if (refused >= limit) return { largest: accepted, unbounded: true }
    refused = Math.min(limit, refused * 2)
  }
  while (refused - accepted > resolution) {
    const middle = Math.floor((accepted + refused) / 2)
    if (await accepts(middle)) accepted = middle
    else refused = middle
  }
  return { largest: accepted, unbounded: false }
}

/**
 * Finds our address as the server sees it: the declared one, or the first likely one for which a token works. A server in a container does
 * not see 127.0.0.1.
 */
async function learnAddress(talk: Conversation, allow: readonly SafetyClass[]): Promise<void> {
  const { clientAddress, likelyAddresses = [] } = talk.instance.settings
  const canGrant = allow.includes('sessions') && talk.instance.root.kind === 'secret'
  const [likeliest] = likelyAddresses
  const known = clientAddress ?? (canGrant ? undefined : likeliest)
  if (known !== undefined) talk.facts.clientAddress = known
  const tried = known === undefined ? likelyAddresses : []
  for (const address of tried) {
    if (!(await worksBoundTo(talk, address))) continue
    talk.facts.clientAddress = address
    return
  }
  for (const address of tried) {
    if (!(await worksBoundTo(talk, mapped(address)))) continue
    // It may take every word that is no IPv4 address.
    if (await worksBoundTo(talk, mapped(foreignAddress))) return
    talk.facts.clientAddress = address
    talk.facts.mapsAddresses = true
    return
  }
}

/** The form in which a socket for both IPv6 and IPv4 shows an IPv4 address. */
const mapped = (address: string): string => `::ffff:${address}`

/** Of a network for documentation, so never ours. */
const foreignAddress = '203.0.113.7'

/** Whether a token that is bound to an address works from where we call. */
async function worksBoundTo(talk: Conversation, address: string, from?: 'second-address'): Promise<boolean> {
  const token = accessTokenOf(await grantFor(talk, 'root', ['solution', `ipAddr:${address}`], from))
  return token !== undefined && accepts(talk, { token }, from === undefined ? {} : { from })
}

/** Finds out both addresses; the calls for one need not wait for those for the other, unless a grant ends the token of the one before. */
async function learnAddresses(talk: Conversation, allow: readonly SafetyClass[]): Promise<void> {
  const { facts } = talk
  await together(facts, [() => learnAddress(talk, allow), () => trySecondAddress(talk, allow)])
  const { secondAddress } = talk.instance.settings
  // Which form it compares was not known before.
  if (facts.mapsAddresses === true && secondAddress !== undefined && facts.secondAddress === undefined) {
    if (await worksBoundTo(talk, mapped(secondAddress), 'second-address')) {
      facts.secondAddress = secondAddress
      delete facts.secondAddressProblem
    }
  }
  if (facts.secondAddress === undefined || facts.secondAddress !== facts.clientAddress) return
  facts.secondAddressProblem = { kind: 'same-address', address: facts.secondAddress }
  delete facts.secondAddress
}

/** Runs all at the same time; one after the other where a grant without a session ends the previous one. */
async function together<T>({ unnamedReplaced }: TargetFacts, runs: readonly (() => Promise<T>)[]): Promise<T[]> {
  if (unnamedReplaced !== true) return Promise.all(runs.map((run) => run()))
  const results: T[] = []
  for (const run of runs) results.push(await run())
  return results
}

/**
 * Tries the second local address. It counts only if the server receives its calls and sees the address: through a proxy all calls come from
 * one address.
 */
async function trySecondAddress(talk: Conversation, allow: readonly SafetyClass[]): Promise<void> {
  const { facts, instance } = talk
  const address = instance.settings.secondAddress
  if (address === undefined) return
  const no = (problem: SecondAddressProblem): void => {
    facts.secondAddressProblem = problem
  }
  if (address === facts.clientAddress) return no({ kind: 'same-address', address })
  const from = 'second-address'
  const { answer: first } = await listSolutions(talk, 'none', { from })
  if (first.status === null) {
    const reason = first.outcome === 'broken' ? first.reason : 'no answer'
    return no({ kind: 'no-answer', address, reason })
  }
  if (allow.includes('sessions') && instance.root.kind === 'secret') {
    const worksUnbound = async (): Promise<boolean> => {
      const token = accessTokenOf(await grantFor(talk, 'root', ['solution'], from))
      return token !== undefined && accepts(talk, { token }, { from })
    }
    // On a target that is far away, asking the second one only after the first one has failed would take as long again.
    const [bound, unbound] = await together(facts, [() => worksBoundTo(talk, address, from), worksUnbound])
    if (!bound) return no({ kind: unbound ? 'seen-as-another' : 'no-token-accepted', address })
  }
  facts.secondAddress = address
}

/** Junk credentials, which no server knows. */
const junk = { id: 'svc-conformance-junk', secret: 'svc-conformance-junk-secret' }
const junkSeed = '\u0007'.repeat(32)
const junkAuths: readonly [CredentialKind, Auth][] = [
  ['basic', { basic: junk as never }],
  ['hmac', { hmac: junk as never }],
  ['ecc', { ecc: { id: junk.id, secret: junkSeed } as never }],
  ['token', { token: 'svc-conformance-junk-token' }],
]

/** Tries junk credentials: where they are accepted, an acceptance proves nothing. */
async function tryJunk(talk: Conversation, first: Called, allow: readonly SafetyClass[]): Promise<void> {
  const { id: apiKeyId, secret: apiKeySecret } = junk
  const key = { name: `junk-${shortName(talk.run.unique, uniqueLength)}`, scope: ['solution'] }
  const credentials = { grantType: 'api_key_credentials', apiKeyId, apiKeySecret, scope: ['solution'] }
  const refresh = { grantType: 'refresh_token', refreshToken: 'svc-conformance-junk-token' }
  const ordinary = 'solution/listSolutions'
  const everyWay: Junk[] = junkAuths.map(([kind, auth]) => ({ kind, auth }))
  const withNone: Junk[] = [{ kind: 'none', auth: 'none' }, ...everyWay]
  const byParams: Junk[] = [
    { kind: 'credentials', auth: 'none', params: credentials },
    { kind: 'refresh', auth: 'none', params: refresh },
  ]
  const tries = [
    ...everyWay.map((one) => ({ method: ordinary, params: {}, ...one })),
    ...(allow.includes('keys') ? withNone : []).map((one) => ({ method: 'manager/createApiKey', params: key, ...one })),
    ...(allow.includes('sessions') ? byParams : []).map((one) => ({ method: 'manager/auth', ...one })),
  ]
  const called = await Promise.all(
    tries.map(({ auth, method, params }) => callExpectingRefusal(talk, auth, { method, params })),
  )
  const asked = [{ method: ordinary, kind: 'none' }, ...tries]
  for (const [index, { answer }] of [first, ...called].entries())
    if (answer.outcome === 'accepted') talk.facts.junkTaken.push(`${asked[index]?.method} ${asked[index]?.kind}`)
}

interface Junk {
  kind: CredentialKind
  auth: Auth
  params?: unknown
}

const waitFlag = '--wait SECONDS waits for it to come up'

/** What a user can do if the root key is refused. @param first the answer to a call without authorization @param last the last answer to the key */
function advice(baseUrl: string, first: Classified, last: Classified): string {
  const { status } = first
  if (last.outcome === 'broken' && isUnavailable(last.status))
    return `the answer from ${baseUrl}/api was HTTP ${last.status}, as from a proxy that cannot reach the service: is the service running? ${waitFlag}`
  if (status === 404 || status === 405 || (status !== null && status >= 300 && status < 400))
    return `the answer from ${baseUrl}/api was HTTP ${status}: is the base URL right?${ifUrlHasApi(baseUrl)}`
  if (status === 403)
    return 'the answer was HTTP 403: check the key id and the secret, and whether something in front of the service refuses these calls (headers in the target file are sent with every call)'
  if (first.outcome === 'broken')
    return `the answer from ${baseUrl}/api is not JSON-RPC: is the base URL right, and is the service healthy?${ifUrlHasApi(baseUrl)}`
  return 'check the key id, the secret, whether the key has the scope solution, and --scheme if the deployment has another scheme word'
}

/** A user may have given the address of the calls instead of the base URL. */
function ifUrlHasApi(baseUrl: string): string {
  if (!baseUrl.endsWith('/api')) return ''
  return ` Calls go to {url}/api; did you mean --url ${baseUrl.slice(0, -'/api'.length)}?`
}
