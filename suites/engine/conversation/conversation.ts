/**
 * One talk with one target: its state, the functions that change it, and its pace: how fast calls are made, how many at once, and which grants
 * beside each other.
 */
import { SuiteError } from '../errors.ts'
import { defined } from '../json.ts'
import { showJson } from '../judge/classify.ts'
import type { CaseOutcome, Hint, RefusalJudgement, StopReason } from '../judge/problem.ts'
import type { Auth, Corpus, TestKey } from '../language/fixture-types.ts'
import { createRedactor, type Redactor } from '../redact.ts'
import { type ed25519KeyPair, seedFromPkcs8 } from '../signer/pem.ts'
import type { Random } from '../signer/random.ts'
import {
  type Clock,
  type Instance,
  isLoopback,
  type RootKey,
  type Target,
  type WireAnswer,
  type WireRequest,
} from '../target.ts'
import type { TargetFacts } from './target-facts.ts'

export type RunEvent =
  | { kind: 'case-started'; key: string }
  /** The result of a case does not count, because other cases may have disturbed it, so the case runs again. */
  | { kind: 'case-requeued'; key: string }
  /** A case waits until a time on the clock of the calling machine, and makes no call meanwhile. In ms since 1970. */
  | { kind: 'wait-started'; key: string; untilMs: number }
  | { kind: 'wait-ended'; key: string }
  /** A request is sent now; an `exchange-made` with the same object follows. */
  | { kind: 'exchange-begun'; request: WireRequest }
  /** A request as sent with what came back. In ms since 1970 on the clock of the calling machine. */
  | { kind: 'exchange-made'; request: WireRequest; answer: WireAnswer; sentAtMs: number; answeredAtMs: number }
  /** Something about a created key. Emitted before the key is created; no key is created if a listener throws. */
  | { kind: 'key-noted'; entry: CreatedKeysEntry }
  | { kind: 'case-ended'; outcome: CaseOutcome }
  /** The cases have made calls since the last such event: how many, and how long the answer to one took. In ms. */
  | { kind: 'calls-made'; calls: number; tookMs: number }
  /** The model makes calls besides the cases, told at times: how many it has made, how many it makes at most and how many probably, and how long it may go on. */
  | { kind: 'model-called'; calls: number; most: number; likely: number; leftMs: number }

export type RunListener = (event: RunEvent) => void

// Every API key that a run created on an instance, intended or not. The interface shows no way to delete a key, so
// each one is recorded. The intent is recorded before the call, so a key whose answer was lost is known as a possible
// one.

export interface CreatedKey {
  id: string
  name: string
  /** A key with a public key has one only if the server returned it anyway. */
  secret?: string
  /** PKCS#8 PEM, for a key with a public key. */
  privateKey?: string
  /** The name of the test key, if it is one. */
  member?: string
  /** The step of a case that created it. */
  step?: { caseKey: string | null; title: string }
  /** The scope that a case requested for it; undefined also where its creation should have been refused. */
  scope?: readonly string[]
}

export type CreatedKeysEntry =
  /** A call that creates a key of this name is about to be sent. */
  | { intend: string }
  | { created: CreatedKey }
  /** The call was answered, and no key of this name was created. */
  | { notCreated: string }
  /** The key with this id was deleted through the method that the target declares. */
  | { removed: string }

interface CreatedKeys {
  note(entry: CreatedKeysEntry): void
  /** The keys that exist, as far as we know. */
  readonly keys: readonly CreatedKey[]
  /** Names of creations that were never answered. */
  readonly unanswered: readonly string[]
  /** How many keys were removed or refused; a target may count them all the same. */
  readonly perhapsCounted: number
}

/**
 * @param write called with each entry before it counts; an edge may append it to a file
 * @param earlier entries read back from such a file
 */
export function openCreatedKeys(
  write: (entry: CreatedKeysEntry) => void = () => {},
  earlier: readonly CreatedKeysEntry[] = [],
): CreatedKeys {
  const keys: CreatedKey[] = []
  const unanswered: string[] = []
  let perhapsCounted = 0
  const without = <Item>(items: Item[], isMeant: (item: Item) => boolean): void => {
    const index = items.findIndex(isMeant)
    if (index >= 0) items.splice(index, 1)
  }
  const apply = (entry: CreatedKeysEntry): void => {
    if ('intend' in entry) unanswered.push(entry.intend)
    else if ('created' in entry) {
      without(unanswered, (name) => name === entry.created.name)
      keys.push(entry.created)
    } else {
      if ('removed' in entry) without(keys, ({ id }) => id === entry.removed)
      else without(unanswered, (name) => name === entry.notCreated)
      perhapsCounted += 1
    }
  }
  for (const entry of earlier) apply(entry)
  return {
    note: (entry) => {
      write(entry)
      apply(entry)
    },
    keys,
    unanswered,
    get perhapsCounted() {
      return perhapsCounted
    },
  }
}

/** Decides when a run ends before its last case, and remembers why. The only writer of that reason. */
function createStopping() {
  let reason: StopReason | null = null
  return {
    /** null while the run goes on. */
    get reason(): StopReason | null {
      return reason
    },
    /** Ends the run. The first reason stays. */
    stop(given: StopReason): void {
      reason ??= given
    },
  }
}

const longestShown = 60

/** A value from the server that cannot be used as a token or key. It proves nothing about the requirement of the step. */
export class UnusableValue extends Error {
  override readonly name = 'UnusableValue'
  readonly wanted: 'token' | 'key'
  /** JSON, cut to a readable length. */
  readonly got: string
  constructor(wanted: 'token' | 'key', got: unknown) {
    super(`Cannot use ${showJson(got, longestShown)} as a ${wanted}`)
    this.wanted = wanted
    this.got = showJson(got, longestShown)
  }
}

const cannotSend = 'Cannot send these credentials as they are: HTTP headers do not take their characters'

/** Credentials that no Authorization header can carry: they contain a line feed, or a character outside ISO 8859-1. */
export class UnsendableCredentials extends SuiteError {
  /** Whether the step sent an unaltered token. The server issued it, unless a secret was sent in its place. */
  readonly isToken: boolean
  constructor(isToken: boolean) {
    super('fixture', cannotSend)
    this.isToken = isToken
  }
}

/**
 * The test key to use where a step needs a secret: root, or the one that test-keys.yaml names with `stands-in-for: root` when root has
 * a public key.
 */
export function standInOf(testKeys: readonly TestKey[], root: Pick<RootKey, 'kind'>): string {
  if (root.kind === 'secret') return 'root'
  return testKeys.find((testKey) => testKey['stands-in-for'] === 'root')?.name ?? 'root'
}

/** A way to call with a key. */
type WayOfKey = 'basic' | 'signature' | 'grant'

export interface KeyTries {
  id: string
  way: WayOfKey
  /** A call of this kind was accepted before. */
  wasAccepted: boolean
  /** How many were refused since the last accepted one. */
  refused: number
  /** Of the calls with this key in any way that were refused since then: the first. A key that a right call cannot use before any wrong one is not locked. */
  firstRefused?: 'right' | 'wrong'
  /** When a wrong call of this kind was last refused: a lock may begin a little later. */
  wrongAtMs?: number
  /** The key stayed refused for as long as a run waits for a lock to end. */
  isShut?: true
}

/** One run: its cases, its target, and what is known so far. */
export interface Run {
  target: Target
  corpus: Corpus
  facts: TargetFacts
  random: Random
  /** Makes the names of created keys and sessions differ from those of other runs. */
  unique: string
  /** Print exchanges unredacted, secrets included. */
  trace: boolean
  /** The test keys that an earlier run left on the target. */
  keptTestKeys: readonly CreatedKey[]
  /** What was recorded about created keys on a lasting target before the cases. */
  earlierKeys: readonly CreatedKeysEntry[]
  /** Decides when the run ends early. */
  stopping: ReturnType<typeof createStopping>
  /** Reports events to everything that listens to the run. */
  emit: RunListener
  /** Limits of the target that do not hold, each with the case that found it: what it left there spoils later cases. */
  spoilt: Map<'sessions' | 'keys', string>
  /** What was found out about refused right signatures, for each kind of key. */
  diagnoses: Map<string, Promise<Hint | undefined>>
  /** Shared by every case on a lasting target. */
  shared: Conversation | null
  /** One key pair for each test key: creating it again for every case would take longer than most cases. */
  keyPairs: Map<string, ReturnType<typeof ed25519KeyPair>>
  /** Finds out by further calls why a right call was refused; without it no hint is looked for. */
  diagnose?: Diagnose | undefined
  /** Asks the model, where it listens, about a refused call that a case needed accepted. */
  judgeRefusal?: ((refused: WireRequest) => RefusalJudgement | undefined) | undefined
}

/** Looks for the reason of a refusal. It is passed in, so the engine does not depend on suites/lab. */
interface Diagnose {
  /** @param refused the request that carried a right signature and was refused */
  signature(talk: Conversation, auth: Auth, refused?: WireRequest): Promise<Hint | undefined>
  token(talk: Conversation): Promise<Hint | undefined>
}

/** Builds the request, signed with a time in ms on the server's clock. Called again for every try, because each needs a fresh signature. */
export type Build = (signedAtMs: number) => WireRequest

/** The way to one instance: what sending takes, and what is recorded of every call whoever makes it. */
export interface Line {
  readonly instance: Instance
  readonly facts: TargetFacts
  readonly pace: ReturnType<typeof createPace>
  limit: ReturnType<typeof createCallLimit>
  /** Its calls go before those of others, because others wait until they have ended. */
  readonly isUrgent: boolean
  readonly emit: RunListener
  readonly createdKeys: CreatedKeys
  /** Knows every secret that must not appear in a report; null where nothing is reported with secrets in it. */
  readonly redactor: Redactor | null
}

interface LineOptions {
  facts: TargetFacts
  random: Random
  emit: RunListener
  createdKeys: CreatedKeys
  redactor: Redactor | null
  /** Begins slowly, because others may use the target. */
  isGentle: boolean
}

export function openLine(instance: Instance, { isGentle, random, facts, ...options }: LineOptions): Line {
  const start = isGentle && !isLoopback(instance.baseUrl) ? gentleStart : null
  const pace = createPace({ limit: instance.settings.rate, start, facts, random })
  return { instance, facts, pace, limit: limitFor(instance, facts), isUrgent: false, ...options }
}

/** A test key that the target has. */
interface HeldKey extends Credential {
  /** The scope with which it was created in this run. */
  scope?: readonly string[]
  /** Resolves when the target knows it. Other keys are created meanwhile. */
  known?: Promise<void>
}

/** A talk with one instance, for a single case (bundled) or for all cases (lasting): the line, and what its calls showed. */
export interface Conversation extends Line {
  readonly run: Run
  readonly redactor: Redactor
  readonly testKeys: Map<string, HeldKey>
  /** Numbers calls, tries of cases, and sessions that were added to grants without one; each from 1. */
  next(of: 'call' | 'try' | 'session'): number
  calls: number
  /** Grants of one user are made one at a time. */
  readonly grants: ReturnType<typeof createGrantLanes>
  /** Skips waits that only separate the sessions created before and after them. */
  skipsSessionWaits: boolean
  /** The key of the case that runs; null outside of cases. */
  caseKey: string | null
  /** When tokens that were granted here end, as their grants reported it. In ms since 1970, on the server's clock. */
  readonly tokenExpiries: Map<string, number>
  /** What was answered to calls with each key, by the id and the way. A server may lock a key after wrong tries. */
  readonly tries: Map<string, KeyTries>
}

type RunOptions = Pick<Run, 'target' | 'corpus' | 'facts' | 'random' | 'unique' | 'diagnose'> &
  Partial<Pick<Run, 'trace' | 'keptTestKeys' | 'earlierKeys' | 'emit'>>

/** The state of a run at its beginning. Opens nothing and calls nothing. */
export function startRun(options: RunOptions): Run {
  return {
    ...options,
    trace: options.trace ?? false,
    keptTestKeys: options.keptTestKeys ?? [],
    earlierKeys: options.earlierKeys ?? [],
    stopping: createStopping(),
    emit: options.emit ?? (() => {}),
    spoilt: new Map(),
    diagnoses: new Map(),
    shared: null,
    keyPairs: new Map(),
  }
}

const copyOf = (facts: TargetFacts): TargetFacts => JSON.parse(JSON.stringify(facts))

/** Returns the shared talk of a lasting target, otherwise a new one on a fresh instance, which closeConversation closes. */
export async function openConversation(run: Run): Promise<Conversation> {
  if (run.shared !== null) return run.shared
  const instance = await run.target.open()
  const createdKeys = openCreatedKeys((entry) => run.emit({ kind: 'key-noted', entry }), run.earlierKeys)
  // Every instance of the bundled server starts at the same virtual time, so the facts are copied and not shared.
  const facts = run.target.lasting ? run.facts : copyOf(run.facts)
  const redactor = createRedactor(secretsOf(instance))
  const isGentle = run.target.lasting && !run.target.fresh
  const line = openLine(instance, { facts, random: run.random, emit: run.emit, createdKeys, redactor, isGentle })
  const numbers = { call: 0, try: 0, session: 0 }
  const talk: Conversation = {
    ...line,
    redactor,
    run,
    testKeys: new Map([['root', credentialOfKey(instance.root)]]),
    next: (of) => {
      numbers[of] += 1
      return numbers[of]
    },
    calls: 0,
    grants: createGrantLanes(),
    skipsSessionWaits: false,
    caseKey: null,
    tokenExpiries: new Map(),
    tries: new Map(),
  }
  for (const key of run.keptTestKeys) {
    if (key.member !== undefined) talk.testKeys.set(key.member, credentialOfKey(key))
    for (const secret of [key.secret, key.privateKey]) if (secret !== undefined) talk.redactor.add(secret)
    if (!createdKeys.keys.some(({ id }) => id === key.id)) createdKeys.note({ created: key })
  }
  if (run.target.lasting) run.shared = talk
  return talk
}

/** Answers that come sooner than this are not worth several calls at once. In ms. */
const nearMs = 15

/** How many calls may be under way at once, judging by what is known of the connection to the target. */
export function limitFor(instance: Instance, facts: TargetFacts) {
  const { rate } = instance.settings
  const first = facts.roundTripMs >= farMs ? firstWhereFar : firstCalls
  return createCallLimit(callsAtOnce(instance, facts), { first, highest: rate > 0 ? Math.ceil(rate) : mostCalls })
}

/**
 * One call at a time where more would not help: on the loopback, where cases still run at the same time because most of a run is waiting;
 * and where the clock is moved instead of waiting, because such a clock cannot measure how fast answers come. A distant server that is
 * reached through a port of the loopback counts as distant.
 */
function callsAtOnce({ baseUrl, clock, settings }: Instance, { roundTripMs }: TargetFacts): number | null {
  const isInTurn = clock.controlled || (roundTripMs < nearMs && isLoopback(baseUrl))
  return settings.concurrency ?? (isInTurn ? 1 : null)
}

const secretHeader = /auth|key|token|secret|cookie|password/i

/** The secrets that the user gives to the suite: the root key, and headers for a gateway in front of the server. */
function secretsOf({ root, settings }: Instance): string[] {
  const headers = Object.entries(settings.headers).filter(([name]) => secretHeader.test(name))
  return [root.kind === 'secret' ? root.secret : root.privateKey, ...headers.map(([, value]) => value)]
}

/** Closes the instance of a talk, except the lasting one (see endRun). */
export async function closeConversation(talk: Conversation): Promise<void> {
  if (!talk.run.target.lasting) await talk.instance.close()
}

/** Closes the instance that the cases shared, and the target. */
export async function endRun(run: Run): Promise<void> {
  await run.shared?.instance.close()
  run.shared = null
  await run.target.close?.()
}

/** The talk: an API key with its secret or private key. */
interface Credential {
  id: string
  /** Undefined for a key with a public key, unless the server returned one anyway. */
  secret?: string
  /** 32 bytes, for a key with a public key. */
  seed?: Uint8Array
}

/** What calls with this key are authorized with. A root key has the same members as a created one. */
function credentialOfKey(key: Pick<CreatedKey, 'id' | 'secret' | 'privateKey'>): Credential {
  const { id, secret, privateKey } = key
  return { id, ...defined({ secret, seed: privateKey === undefined ? undefined : seedFromPkcs8(privateKey) }) }
}

/** Whether a requirement of the corpus is a must; one that the corpus does not name counts as a must. */
export function isMustIn(corpus: Corpus): (requirement: string) => boolean {
  return (id) => corpus.requirements.find((requirement) => requirement.id === id)?.level !== 'implied'
}

// Finds the key that a step calls with, and checks that it can be sent.

/** Matches characters that no header can carry: all but tabs, visible ASCII and ISO 8859-1. */
const unsendable = /[^\t\x20-\x7e\x80-\xff]/

/** Whether a token or an id from a server can be sent in an Authorization header. */
export function isSendable(text: string): boolean {
  return !unsendable.test(text)
}

/** Returns a test key by name, or a kept { id, secret }. @throws UnusableValue for a value from a server that is not a key */
export function credentialFor(talk: Conversation, member: unknown): Credential {
  const found = talk.testKeys.get(String(member))
  if (typeof member === 'string' && found !== undefined) return found
  const key = (typeof member === 'object' && member !== null ? member : {}) as CreatedKey
  if (typeof key.id !== 'string' || !['string', 'undefined'].includes(typeof key.secret)) {
    throw new UnusableValue('key', member)
  }
  // A key that was created here with a public key of ours.
  const { privateKey } = talk.createdKeys.keys.find(({ id }) => id === key.id) ?? {}
  return credentialOfKey({ ...defined({ privateKey }), ...key })
}

/** The test key to use where a step needs the secret of a test key: root may have a stand-in. */
export function actor(talk: Conversation, member: string): string {
  return member === 'root' ? standInOf(talk.run.corpus.testKeys, talk.instance.root) : member
}

interface HeardAnswer {
  isThrottled: boolean
  /** When it came: those of calls at once are heard one after another, each when its call is made again. Now by default. */
  atMs?: number
  /** How long the target asks to wait. */
  retryAfterMs?: number
  /** How often the same call was throttled before. */
  tries?: number
}

interface PaceOptions {
  /** Calls a second that the user allows; 0 is no limit. */
  limit: number
  /** Calls a second to begin with on a target that is not disposable; null: as fast as answers come. */
  start: number | null
  /** Where the pace that was found is remembered. */
  facts: Pick<TargetFacts, 'callsPerSecond'>
  random: Random
}

/** The pace of a run at the beginning, away from loopback and without `--disposable`. */
const gentleStart = 20

/** While all goes well a run becomes faster each second. In ms. */
const calmMs = 1000
const fasterBy = 1.5
/** Where the target has a limit, the pace approaches it in smaller steps. */
const nearerBy = 1.2
/** After the target has throttled, it must bear the slower pace for this long first; twice as long each time that it throttles again. */
const firstPatienceMs = 15_000
const longestPatienceMs = 120_000
/** A run stays this far below what the target was seen to bear in a second. */
const justBelow = 0.9
/** A target that throttles a call now and then, however slow the calls become, has no limit that a slower pace would keep. */
const noLimitBelow = 0.4
/** A pace that is throttled again and again falls by this, even where hardly a call was answered. */
const slowerBy = 0.7
/** Above this pace, waiting spares the target nothing. */
const fastEnough = 500
/** The slowest pace: a target that is still too busy answers with Retry-After, which is waited out. */
const leastCallsPerSecond = 5
/** Refusals of one burst count once. */
const burstMs = 500
/** At first a pace does not know how many calls the preflight, the cases or the model made just before it. In ms. */
const newMs = 1000
/** A target that throttles more of the latest calls is called too fast, even if each of them is accepted when it is made again. */
const rareShare = 0.1
const latestCalls = 50
const firstBackOffMs = 100
const longestBackOffMs = 3000

function createPace({ limit, start, facts, random }: PaceOptions) {
  const bounded = (wanted: number | null): number | null => lowest(limit > 0 ? limit : null, wanted)
  let rate = bounded(facts.callsPerSecond ?? start)
  let patienceMs = firstPatienceMs
  /** How long the target must have borne this pace before the next faster one. */
  let pauseMs = facts.callsPerSecond === undefined ? calmMs : patienceMs
  let freeAtMs = 0
  let beganAtMs: number | undefined
  let slowedAtMs = Number.NEGATIVE_INFINITY
  let steadySinceMs: number | undefined
  const borne = createLastSecond()
  let mostBorne = 0
  /** How many calls the target bore in a second when it first seemed to have a limit; null: it throttles some calls at any pace. */
  let seemingLimit: number | null = 0
  let throttledShare = 0
  const goFaster = (nowMs: number): void => {
    steadySinceMs ??= nowMs
    if (rate === null || nowMs - steadySinceMs < pauseMs) return
    steadySinceMs = nowMs
    pauseMs = calmMs
    // Only what the target has borne is remembered.
    if (facts.callsPerSecond !== undefined) facts.callsPerSecond = rate
    const faster = rate * (facts.callsPerSecond === undefined ? fasterBy : nearerBy)
    rate = bounded(faster > fastEnough ? null : faster)
  }
  const slowDown = (nowMs: number, count: number): void => {
    if (facts.callsPerSecond !== undefined && pauseMs === calmMs)
      patienceMs = Math.min(2 * patienceMs, longestPatienceMs)
    pauseMs = patienceMs
    slowedAtMs = nowMs
    steadySinceMs = nowMs
    const bearable = justBelow * Math.max(1, count, slowerBy * (rate ?? 0))
    const slower = bounded(Math.max(leastCallsPerSecond, Math.min(rate ?? bearable, bearable))) ?? bearable
    rate = slower
    facts.callsPerSecond = slower
  }
  return {
    /** Waits until this many more calls may be made. */
    async take(clock: Clock, calls: number): Promise<void> {
      const nowMs = clock.now()
      beganAtMs ??= nowMs
      goFaster(nowMs)
      if (rate === null) return
      // The place is taken before the wait, so that simultaneous calls wait one after another. Several at once need a second with room for them.
      const roomMs = calls > 1 ? borne.roomAtMs(nowMs, rate - calls) : nowMs
      const startMs = Math.max(freeAtMs, roomMs)
      freeAtMs = Math.max(startMs, nowMs) + (1000 / rate) * calls
      const waitMs = Math.ceil(startMs - nowMs)
      if (waitMs > 0) await clock.sleep(waitMs)
    },
    /** An answer came. Slows down where it shows that the calls come too fast. */
    hear(clock: Clock, { isThrottled, retryAfterMs = 0, tries = 0, atMs = clock.now() }: HeardAnswer): void {
      const nowMs = clock.now()
      throttledShare += (Number(isThrottled) - throttledShare) / latestCalls
      if (!isThrottled) {
        borne.note(nowMs)
        mostBorne = Math.max(mostBorne, borne.count(nowMs))
        return
      }
      const count = borne.count(nowMs)
      // A call that is accepted at once when it is made again did not come too fast. Where the target asks to wait, or is known to have a
      // limit, it matters whether it has borne more calls in a second.
      const hasLimit = seemingLimit !== null && (retryAfterMs > 0 || facts.callsPerSecond !== undefined)
      const isAtLimit = hasLimit && count >= justBelow * Math.min(mostBorne, rate ?? mostBorne)
      if (tries === 0 && throttledShare <= rareShare && !isAtLimit) return
      if (seemingLimit !== null) seemingLimit = Math.max(seemingLimit, count)
      if (tries === 0 && throttledShare <= rareShare && count < noLimitBelow * (seemingLimit ?? 0)) {
        rate = bounded(seemingLimit)
        seemingLimit = null
        pauseMs = calmMs
        delete facts.callsPerSecond
        return
      }
      freeAtMs = Math.max(freeAtMs, atMs + Math.min(retryAfterMs, longestBackOffMs))
      // The target also counts calls that others made just before, so the few calls made here do not show its limit.
      const isNew = tries === 0 && retryAfterMs > 0 && atMs - (beganAtMs ?? atMs) < newMs
      if (!isNew && atMs - slowedAtMs >= burstMs) slowDown(nowMs, count)
    },
    /** How long to wait before a throttled call is tried again, where the target does not say. In ms. */
    backOffMs(tries: number): number {
      const jitter = 0.75 + random.below(51) / 100
      return Math.min(longestBackOffMs, firstBackOffMs * 2 ** (tries - 1)) * jitter
    },
  }
}

function lowest(one: number | null, other: number | null): number | null {
  if (one === null || other === null) return one ?? other
  return Math.min(one, other)
}

/** Older entries are forgotten after this many. */
const longestRecord = 10_000

/** What happened within the last second. */
function createLastSecond() {
  let times: number[] = []
  let oldest = 0
  const forget = (nowMs: number): void => {
    while (oldest < times.length && (times[oldest] ?? 0) <= nowMs - 1000) oldest += 1
    if (oldest <= longestRecord) return
    times = times.slice(oldest)
    oldest = 0
  }
  return {
    note: (nowMs: number): void => void times.push(nowMs),
    count(nowMs: number): number {
      forget(nowMs)
      return times.length - oldest
    },
    /** When no more than this many will be left of the last second, or none. In ms since 1970. */
    roomAtMs(nowMs: number, most: number): number {
      forget(nowMs)
      const last = times[times.length - 1 - Math.max(0, Math.floor(most))]
      return last === undefined || last <= nowMs - 1000 ? nowMs : last + 1000
    },
  }
}

/**
 * Lets calls in, in their order but urgent ones first, each as soon as nothing that is under way or waits before it keeps it out. No call
 * overtakes one that keeps it out.
 */
function createGate<Item>(isKeptOut: (item: Item, before: readonly Item[]) => boolean) {
  const inside = new Set<Item>()
  let waiting: { item: Item; isFirst: boolean; start(): void }[] = []
  const startNext = (): void => {
    const left: typeof waiting = []
    for (const one of [...waiting.filter(({ isFirst }) => isFirst), ...waiting.filter(({ isFirst }) => !isFirst)]) {
      if (isKeptOut(one.item, [...inside, ...left.map(({ item }) => item)])) left.push(one)
      else {
        inside.add(one.item)
        one.start()
      }
    }
    waiting = left
  }
  return {
    startNext,
    waiting: (): number => waiting.length,
    /** Resolves when the item may start; true if it had to wait. */
    enter(item: Item, isFirst: boolean): { started: Promise<void>; hasToWait: boolean } {
      const started = new Promise<void>((start) => waiting.push({ item, isFirst, start }))
      startNext()
      return { started, hasToWait: !inside.has(item) }
    },
    leave: (item: Item): void => void inside.delete(item),
  }
}

// How many calls are under way at once: more while the target keeps up, fewer as soon as it answers more slowly or
// not at all.

/** The number of calls to begin with, and the maximum, where the user does not set it. */
const firstCalls = 4
const mostCalls = 16
/** Of a target that is so far away, eight calls at once ask less in a second than four of a near one. */
const farMs = 80
const firstWhereFar = 8

/** An answer counts as slow if it takes this many times as long as the quickest ones, and this much longer. */
const timesSlower = 1.5
const slowerByMs = 5

/** Fewer answers are too few to compare. */
const fewestAnswers = 8

/** @param fixed the number of calls; null: as many as the target can take */
function createCallLimit(fixed: number | null, { first, highest }: { first: number; highest: number }) {
  const fewest = Math.min(firstCalls, highest)
  let atOnce = fixed ?? Math.min(first, highest)
  let took: number[] = []
  let quickestMs = Number.POSITIVE_INFINITY
  /** Each step doubles the number, until the target first answers more slowly or not at all; then they are smaller. */
  let growth = 2
  let holds = 0
  const now = (): number => (holds > 0 ? 1 : atOnce)
  const gate = createGate<object>((_call, before) => before.length >= now())
  const change = (to: number): void => {
    if (to <= atOnce) growth = 1.5
    took = []
    atOnce = Math.min(Math.max(1, to), highest)
    gate.startNext()
  }
  return {
    /** How many calls may be under way now. */
    get atOnce(): number {
      return now()
    },
    /** One call at a time from now on. @returns ends this */
    hold(): () => void {
      holds += 1
      return () => {
        holds -= 1
        gate.startNext()
      }
    },
    /** Makes a call as soon as there is a place for it. @param isUrgent whether it goes before those that wait and are not */
    async run<T>(call: () => Promise<T>, isUrgent = false): Promise<T> {
      await gate.enter(call, isUrgent).started
      try {
        return await call()
      } finally {
        gate.leave(call)
        gate.startNext()
      }
    },
    /** How long an ordinary call took, in ms, and its answer. */
    hear(tookMs: number, answer: WireAnswer): void {
      if (fixed !== null) return
      if (answer.kind === 'none' || [429, 503].includes(answer.kind === 'answer' ? answer.status : 0)) {
        change(Math.floor(atOnce / 2))
        return
      }
      // One call at a time is answered quickly, which says nothing about several.
      if (holds > 0) return
      took.push(tookMs)
      if (took.length < Math.max(fewestAnswers, 2 * atOnce)) return
      const usualMs = lowerQuartile(took)
      quickestMs = Math.min(quickestMs, usualMs)
      const isSlow = usualMs > timesSlower * quickestMs + slowerByMs
      const fewer = Math.min(atOnce, Math.max(fewest, Math.floor(0.75 * atOnce)))
      change(isSlow ? fewer : Math.max(atOnce + 2, Math.floor(growth * atOnce)))
    },
  }
}

/** Some calls open a connection, carry a large body or meet a busy server: they say nothing about how many calls are under way. */
const lowerQuartile = (values: readonly number[]): number =>
  [...values].sort((one, other) => one - other)[Math.floor(values.length / 4)] ?? 0

// Which grants may be under way at once. A server may miscount simultaneous grants and keep too many sessions. So
// grants of one user are made one at a time, except in a race and for grants that must be refused.

export type Lane =
  /**
   * `user`: undefined as long as it is not known whose sessions they are. `named`: it names a session. `free`: only named grants take places
   * among the sessions, and it has no name.
   */
  | { kind: 'grant'; user: string | undefined; named: boolean; free: boolean }
  | { kind: 'refresh'; free: boolean }
  /** Calls that are deliberately made at once. */
  | { kind: 'race' }

/** Whether two grants conflict: they must not be under way at once. */
function lanesConflict(one: Lane, other: Lane): boolean {
  if (one.kind === 'race' || other.kind === 'race') return true
  if (one.free && other.free) return false
  if (one.kind === 'refresh') return !one.free && (other.kind === 'refresh' || other.named || isOfAnybody(other))
  if (other.kind === 'refresh') return lanesConflict(other, one)
  return one.user === other.user
}

const isOfAnybody = ({ user, free }: Extract<Lane, { kind: 'grant' }>): boolean => user === undefined && !free

function createGrantLanes() {
  const gate = createGate<Lane>((lane, before) => before.some((other) => lanesConflict(lane, other)))
  let listener = (): void => {}
  return {
    /** How many grants wait for others to end. */
    get waiting(): number {
      return gate.waiting()
    },
    /** Tells this listener whenever a grant has to wait. */
    onWait(added: () => void): void {
      listener = added
    },
    /**
     * Makes a grant as soon as no conflicting grant is under way or waiting before it.
     *
     * @param isUrgent whether it goes before those that wait and are not
     */
    run: async <T>(lane: Lane, grant: () => Promise<T>, isUrgent = false): Promise<T> => {
      // A new object, so that equal lanes can be told apart.
      const mine = { ...lane }
      // Grants with sessions and urgent ones go first, because most others wait for them.
      const { started, hasToWait } = gate.enter(mine, isUrgent || (lane.kind === 'grant' && lane.named))
      if (hasToWait) listener()
      await started
      try {
        return await grant()
      } finally {
        gate.leave(mine)
        // The caller that waited for this grant may make another one, which goes first.
        if (gate.waiting() > 0) setImmediate(gate.startNext)
      }
    },
  }
}
