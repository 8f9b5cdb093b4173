/** What else can be behind a verdict on a target: other cases, a lock, no place that is left, removed sessions, a misread secret. */
import { sessionLimit } from '../document.ts'
import { membersIn, membersOf } from '../json.ts'
import { describe } from '../judge/classify.ts'
import type { Called, CaseStop, Exchanged, TakenStep } from '../judge/judge-case.ts'
import type { Hint, ProblemFacts } from '../judge/problem.ts'
import type { Auth, Case, Scenario } from '../language/fixture-types.ts'
import { shortName, uniqueLength } from '../signer/random.ts'
import { limitOf, namesIn } from './cases.ts'
import { actor, type Conversation, isSendable, type KeyTries } from './conversation.ts'
import { isAway, keyCalledWith, listSolutions, makeCall, noticeGone, serverNow } from './send.ts'
import { requestsSession } from './target-facts.ts'

const createApiKey = 'manager/createApiKey'

/** Other cases may end a token, slow an answer down or cause throttling. They cannot make the target accept a call that it would refuse. */
export function causeByOthers(stops: readonly CaseStop[]): 'time' | 'tokens' | undefined {
  if (stops.length > 0 && stops.every(isLate)) return 'time'
  return stops.some((stop) => isLate(stop) || isRefusedInstead(stop)) ? 'tokens' : undefined
}

function isLate({ kind, problem, called }: CaseStop): boolean {
  if (kind === 'too-late' || problem.kind === 'token-ended') return true
  if (problem.kind === 'preparation-lost' && problem.because.kind === 'token-expired') return true
  return called.some(({ answer }) => answer.outcome === 'broken' || answer.outcome === 'throttled')
}

/** A case after its last step. */
interface Suspect {
  talk: Conversation
  scenario: Scenario
  testCase: Case
  stops: readonly CaseStop[]
  /** How many removed keys, and creations that were refused or not answered before the case, may count towards the limit of keys. */
  perhapsCounted: number
}

interface Spoiler {
  verdict: 'blocked' | 'not-testable'
  problem: ProblemFacts
  /** It is over, so the case is worth another try. */
  hasEnded?: true
}

/** Finds out what happened to the target meanwhile, if it makes the case prove nothing. */
export async function findSpoiler(suspect: Suspect): Promise<Spoiler | undefined> {
  const { talk, stops } = suspect
  const { target, stopping } = talk.run
  const mayAsk = (): boolean => target.lasting && stopping.reason === null
  const ended = (): Spoiler | undefined =>
    stopping.reason === null
      ? undefined
      : { verdict: 'blocked', problem: { kind: 'not-run', because: stopping.reason } }
  if (stops.some(isUnanswered)) {
    await noticeGone(talk)
    if (stopping.reason !== null) return ended()
  }
  // If the run ends meanwhile, it stays open whether a lock was behind a refusal.
  const lockOf = async (isMeant: (tries: KeyTries) => boolean): Promise<Spoiler | undefined> =>
    mayAsk() && stops.some(isRefusedInstead) ? ((await meetLock(suspect, isMeant)) ?? ended()) : undefined
  const lock = await lockOf(({ way }) => way !== 'grant')
  if (lock !== undefined) return lock
  if (mayAsk() && (await hasNoPlaceForKeys(suspect))) {
    const created = talk.createdKeys.keys.length
    // Either creation is broken, or a run before took all places of a target that should be fresh.
    const verdict = target.fresh && created === 0 ? 'blocked' : 'not-testable'
    return { verdict, problem: { kind: 'no-place-for-keys', fresh: target.fresh, created } }
  }
  if (mayAsk() && (await hasNoRoomForSessions(suspect)))
    return { verdict: 'blocked', problem: { kind: 'no-room-for-sessions' } }
  return (await lockOf(({ way }) => way === 'grant')) ?? placesUsedBefore(suspect)
}

/** A call should have been accepted and was refused. */
const isRefusedInstead = ({ step, called }: Pick<CaseStop, 'step' | 'called'>): boolean =>
  !('wait' in step) && step.expect !== 'refused' && called.some(isRefused)

const isRefused = ({ answer }: Called): boolean => answer.outcome === 'refused'

const isUnanswered = ({ called }: CaseStop): boolean => called.some(({ answer }) => isAway(answer))

/**
 * A locked key is refused every time. A server that refuses only some right calls, such as those whose nonce has a plus sign, accepts one of
 * this many.
 */
const triesOfLock = 6
/** Fewer wrong tries, one after another, lock no created key. */
const fewestWrong = 4
/** The pause before each new try of a locked key, in ms; they grow, because a try may start the lock again. */
const waitsForLock = [2000, 4000, 8000, 16_000]
/** After this many keys and ways that stayed refused, no other is waited for: a server that refuses all of them must not make the run much longer. */
const mostShut = 2

/**
 * A server may lock a key after wrong tries: for how long, and in which ways to call, is open. It is seen where a key is refused again and
 * again, in a way in which it was accepted before, on used and on new connections: a refusal on used ones alone is no lock. A lock that ends
 * is waited out. If the lock of the root key does not end, the run ends.
 */
async function meetLock(
  { talk, stops, scenario }: Suspect,
  isMeant: (tries: KeyTries) => boolean,
): Promise<Spoiler | undefined> {
  const { tries } = talk
  const { stopping, target } = talk.run
  const refused = stops.filter(isRefusedInstead).flatMap(({ called }) => called.filter(isRefused))
  const called = refused.map(({ request }) => keyCalledWith(request))
  const involved = new Set(called.map((key) => key?.id))
  // A lock begins with a wrong call. A creation beyond the limit may have removed the key.
  const removed = new Set(
    called.flatMap((key) => {
      const known = key && tries.get(`${key.way} ${key.id}`)
      return known?.wasAccepted && known.firstRefused === 'right' ? [known.id] : []
    }),
  )
  const root = talk.testKeys.get(actor(talk, 'root'))?.id
  for (const known of [...tries.values()].filter(isMeant)) {
    const { id, way, wasAccepted } = known
    const wrong = [...tries.values()].reduce((sum, one) => sum + (one.id === id ? one.refused : 0), 0)
    // Any refusal may show that the root key is locked.
    const endsRun = id === root && way !== 'grant'
    // Creations beyond the limit may have removed it instead: then it stays refused, and is judged.
    const mayBeGone = limitOf(scenario) === 'keys' && (!endsRun || removed.has(id))
    const call = plainCallOf(talk, known)
    if (call === undefined || !wasAccepted || stopping.reason !== null) continue
    if (!endsRun && (!involved.has(id) || removed.has(id) || wrong < fewestWrong)) continue
    const shut = [...tries.values()].filter(({ isShut }) => isShut)
    const isEnough = known.isShut === true || (!endsRun && shut.length >= mostShut)
    if (mayBeGone && isEnough) continue
    const last = await refusesAll(call, triesOfLock)
    if (last === undefined) continue
    const problem = { kind: 'key-locked', key: call.name, refused: wrong } as const
    if (isEnough) return { verdict: 'blocked', problem }
    // Other cases would start the lock again while this one waits. If the lock ends, the hold stays: one case after another makes right calls
    // between wrong ones, which keeps most servers from locking the key again.
    const goOn = talk.limit.hold()
    if (await endsInTime(talk, call)) return { verdict: 'blocked', problem, hasEnded: true }
    goOn()
    if (talk.run.stopping.reason !== null) return undefined
    tries.set(`${known.way} ${known.id}`, { ...known, isShut: true })
    if (mayBeGone) continue
    if (!endsRun) return { verdict: 'blocked', problem }
    stopping.stop({ kind: 'locked-out', target: target.name, answered: describe(last.answer) })
  }
  return undefined
}

interface PlainCall {
  /** Of the test key. */
  name: string
  make(freshConnection: boolean): Promise<Called>
}

/** @returns the last refusal, if none of the calls was accepted */
async function refusesAll({ make }: PlainCall, times: number): Promise<Called | undefined> {
  let last: Called | undefined
  for (let time = 0; time < times; time += 1) {
    last = await make(time % 2 === 1)
    if (!isRefused(last)) return undefined
  }
  return last
}

/** Whether the key is accepted again after a while, and every time then. */
async function endsInTime(talk: Conversation, { make }: PlainCall): Promise<boolean> {
  for (const ms of waitsForLock) {
    await talk.instance.clock.sleep(ms)
    if (talk.run.stopping.reason !== null) return false
    if (isRefused(await make(true))) continue
    for (let time = 1; time < triesOfLock; time += 1) if (isRefused(await make(time % 2 === 1))) return false
    return true
  }
  return false
}

/** An ordinary call with a test key, in the way in which it was refused; undefined for a key that only a case knows. */
function plainCallOf(talk: Conversation, { id, way }: KeyTries): PlainCall | undefined {
  const [name, key] = [...talk.testKeys].find(([, held]) => held.id === id) ?? []
  if (name === undefined || key === undefined) return undefined
  if (way === 'grant') {
    // What is beyond the scope of the key may be refused.
    const declared = talk.run.corpus.testKeys.find((one) => one.name === name)?.scope
    const { secret = '', scope = declared ?? ['solution'] } = key
    const own = scope.includes('solution') ? ['solution'] : scope.slice(0, 1)
    const params = { grantType: 'api_key_credentials', apiKeyId: id, apiKeySecret: secret, scope: own }
    return { name, make: () => makeCall(talk, { method: 'manager/auth', params, auth: 'none' }) }
  }
  const auth = { [way === 'basic' ? 'basic' : key.seed === undefined ? 'hmac' : 'ecc']: name } as Auth
  return {
    name,
    make: (freshConnection) => listSolutions(talk, auth, { freshConnection }),
  }
}

/** Whether the creation of a key was refused that may be accepted. */
const isRefusedCreation = (stop: CaseStop): boolean =>
  'call' in stop.step && stop.step.call === createApiKey && isRefusedInstead(stop)

/**
 * At most ten API keys can be created. A lasting target may hold some that the suite does not know of, or count refused creations. So
 * a refused creation there says something only if another one, by the root key in a way that works, is accepted now.
 */
const hasNoPlaceForKeys = async ({ talk, stops }: Suspect): Promise<boolean> =>
  stops.some(isRefusedCreation) && refusesPlainCreation(talk)

/** Creates a key with a plain name, by the root key in a way that works. */
async function refusesPlainCreation(talk: Conversation): Promise<boolean> {
  const { run, instance, facts } = talk
  const way = instance.root.kind === 'ed25519' ? 'ecc' : facts.keyWay === 'hmac' ? 'hmac' : 'basic'
  const params = { name: `full-${shortName(run.unique, uniqueLength)}`, scope: ['solution'] }
  return isRefused(await makeCall(talk, { method: createApiKey, params, auth: { [way]: 'root' } as Auth }))
}

const nextWorks = 'sessions/next-works'

/**
 * A server that refuses the seventeenth session, instead of removing the oldest, breaks sessions/next-works. Once there may be sixteen, a
 * refused session says something about another requirement only if an ordinary session of the same key is granted now.
 */
async function hasNoRoomForSessions({ talk, stops }: Suspect): Promise<boolean> {
  if ((talk.facts.sessionsGranted ?? 0) < sessionLimit) return false
  const refused = stops.filter((stop) => isRefusedInstead(stop) && !stop.proves.includes(nextWorks))
  const [params] = refused.flatMap(({ called }) => called.filter(isRefused).map(paramsOf).filter(requestsSession))
  return params !== undefined && isRefused(await grantOrdinary(talk, params, 'control'))
}

/** Grants another session of the same key, without anything particular. */
function grantOrdinary(talk: Conversation, params: SessionParams, name: string): Promise<Called> {
  const areas = params.scope.filter((word) => !String(word).includes(':'))
  const scope = [...areas, `session:${shortName(`${name}-${talk.run.unique}`)}`]
  return makeCall(talk, { method: 'manager/auth', params: { ...params, scope }, auth: 'none' })
}

interface SessionParams {
  scope: unknown[]
}

const paramsOf = ({ request }: Exchanged): unknown => membersIn(request.body).params

/** Too few keys work. A target may refuse the others with something that is no JSON-RPC error. */
const kindsOfTooFew: readonly ProblemFacts['kind'][] = ['wrong-count', 'call-not-answered']

/**
 * A case that needs all ten places of a fresh instance proves nothing on a lasting one where keys were removed, or creations were refused or not
 * answered before: whether those count is open.
 */
function placesUsedBefore({ talk, scenario, stops, perhapsCounted }: Suspect): Spoiler | undefined {
  const fillsFresh = scenario.needs.includes('fresh-instance') && scenario.needs.includes('limits')
  const tooFew = stops.some(({ kind, problem }) => kind === 'broke' && kindsOfTooFew.includes(problem.kind))
  if (!talk.run.target.lasting || !fillsFresh || perhapsCounted === 0 || !tooFew) return undefined
  return { verdict: 'not-testable', problem: { kind: 'places-perhaps-used', count: perhapsCounted } }
}

/** @param taken the steps of the case */
export async function explainRefusal(
  { talk, scenario, testCase, stops }: Suspect,
  taken: readonly TakenStep[],
): Promise<Hint | undefined> {
  const { run, instance } = talk
  if (run.target.lasting) {
    // If the user is wrong about the address that the target sees, every token bound to that address is refused.
    const { clientAddress: declared } = instance.settings
    const { clientAddress = declared, mapsAddresses } = talk.facts
    if (clientAddress !== undefined && stops.some(isRefusedInstead) && namesIn(scenario, testCase).has('client')) {
      if (mapsAddresses === true) return { kind: 'mapped-address', address: clientAddress }
      if (declared !== undefined) return { kind: 'client-address', address: declared }
    }
  }
  return (await endedSessions(talk, stops, taken)) ?? (await diagnose(talk, stops))
}

/** The musts that are broken where another session is removed than the oldest. */
const ofRemovedSessions = ['sessions/oldest-removed', 'sessions/sixteen-live']

/** Asks which of the sessions that a case created live: only all of them in the order of their creation show which one makes room. */
async function endedSessions(
  talk: Conversation,
  stops: readonly CaseStop[],
  taken: readonly TakenStep[],
): Promise<Hint | undefined> {
  const isSuspected = stops.some(
    ({ kind, proves }) => kind === 'broke' && proves.some((id) => ofRemovedSessions.includes(id)),
  )
  if (!isSuspected) return undefined
  const sessions = sessionsOf(taken)
  const [newest] = sessions.slice(-1)
  if (newest === undefined || talk.run.stopping.reason !== null) return undefined
  const isEnded = async ({ token }: GrantedSession): Promise<boolean> => {
    const quiet = withoutModel(talk)
    const called = await listSolutions(quiet, { token })
    talk.calls = quiet.calls
    return isRefused(called)
  }
  const lives: boolean[] = []
  for (const session of sessions) {
    const ended = await isEnded(session)
    // A token that has expired says nothing of its session.
    if (!ended || session.expiryMs > serverNow(talk) + clockMarginMs) lives.push(!ended)
  }
  const ended = lives.flatMap((isLive, at) => (isLive ? [] : [at + 1]))
  const oldestLiving = lives.indexOf(true) + 1
  const isNewestAlone = oldestLiving === lives.length && ended.length > 0
  // One more shows whether each session ends the one before it, or all of them ended at once.
  const isTelling = isNewestAlone
    ? isGranted(await grantOrdinary(talk, newest.params, 'next')) && (await isEnded(newest))
    : oldestLiving > 0 && ended.some((place) => place > oldestLiving)
  return isTelling ? { kind: 'sessions-ended', ended, of: lives.length } : undefined
}

const isGranted = ({ answer }: Called): boolean => answer.outcome === 'accepted'

/** How far the clocks of tokens and of the server's answers may be apart, in ms. */
const clockMarginMs = 1000

interface GrantedSession {
  params: SessionParams
  token: string
  /** Of the access token. */
  expiryMs: number
  refreshToken: unknown
}

/** The sessions that a case was granted, in their order, each with its last access token. */
function sessionsOf(taken: readonly TakenStep[]): GrantedSession[] {
  const sessions: GrantedSession[] = []
  for (const called of taken.flatMap(({ calls }) => calls)) {
    const { wire } = called
    const { result } = membersIn('body' in wire ? wire.body : undefined)
    const { accessToken: token, accessTokenExpiry: expiry, refreshToken } = membersOf(result)
    if (typeof token !== 'string' || !isSendable(token)) continue
    const pair = { token, refreshToken, expiryMs: typeof expiry === 'number' ? expiry : Number.POSITIVE_INFINITY }
    const params = paramsOf(called)
    const { refreshToken: used } = membersOf(params)
    const refreshed = sessions.findIndex((one) => used !== undefined && one.refreshToken === used)
    const session = sessions[refreshed]
    if (session !== undefined) sessions[refreshed] = { ...session, ...pair }
    else if (requestsSession(params)) sessions.push({ params, ...pair })
  }
  return sessions
}

/** The model does not hear of the calls of a hint: what they show is the cause of a failure that is reported. */
const withoutModel = (talk: Conversation): Conversation => ({
  ...talk,
  emit: (event) => {
    if (event.kind !== 'exchange-begun' && event.kind !== 'exchange-made') talk.emit(event)
  },
})

/** For a refused signature: which deliberate mistake does the server accept? For a refused token: is its prefix wrong? */
async function diagnose(talk: Conversation, stops: readonly CaseStop[]): Promise<Hint | undefined> {
  // A call that came too late, or after what it rests on was gone, was refused for that reason.
  const [stop] = stops
    .filter(({ kind }) => kind !== 'too-late' && kind !== 'preparation-lost')
    .flatMap(({ step, problem, called }) => called.filter(isRefused).map((refused) => ({ step, problem, refused })))
  if (stop === undefined) return undefined
  const { step, refused } = stop
  if (!('call' in step) || step.expect !== 'accepted' || step.alter !== undefined) return undefined
  const misread = misreadSecret(talk, step.auth)
  if (misread !== undefined) return misread
  const isPlain = step.call === 'solution/listSolutions'
  if (!isPlain && !isSignedBeyondAscii(step.auth, refused)) return undefined
  if (typeof step.auth === 'object' && 'token' in step.auth)
    return step.auth.but === undefined ? talk.run.diagnose?.token(talk) : undefined
  const quiet = withoutModel(talk)
  // A call with an effect is not made again.
  const again = isPlain ? refused.request : undefined
  const hint = await talk.run.diagnose?.signature(quiet, step.auth, again)
  talk.calls = quiet.calls
  // The failure tells already what may explain the refusal.
  if (hint?.kind === 'signature-unexplained' && 'doubt' in stop.problem) return undefined
  return hint ?? (again === undefined && talk.run.diagnose !== undefined ? { kind: 'body-beyond-ascii' } : undefined)
}

/** What the secret in right Basic credentials has that a server may read wrongly. */
function misreadSecret(talk: Conversation, auth: Auth): Hint | undefined {
  if (typeof auth !== 'object' || !('basic' in auth) || 'but' in auth) return undefined
  const secret = talk.testKeys.get(actor(talk, auth.basic))?.secret ?? ''
  if (/[^\0-\x7f]/.test(secret)) return { kind: 'basic-secret', has: 'letters beyond ASCII' }
  return secret.includes(':') ? { kind: 'basic-secret', has: 'a colon' } : undefined
}

/** Whether a key of the suite signed a body with letters beyond ASCII. */
function isSignedBeyondAscii(auth: Auth, { request }: Called): boolean {
  if (typeof auth !== 'object' || 'but' in auth) return false
  const member = 'hmac' in auth ? auth.hmac : 'ecc' in auth ? auth.ecc : '$'
  return !member.startsWith('$') && request.body.some((byte) => byte > 0x7f)
}
