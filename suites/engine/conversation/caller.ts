import type { Hint, RefusalJudgement } from '../judge/problem.ts'
import type { Auth, Corpus } from '../language/fixture-types.ts'
import type { Random } from '../random.ts'
import { createRedactor, type Redactor } from '../redact.ts'
import { type Ed25519KeyPair, seedFromPkcs8 } from '../signer/pem.ts'
import { type Instance, isLoopback, type Target, type WireRequest } from '../target.ts'
import type { Credential } from './authorize.ts'
import { type CallLimit, createCallLimit } from './call-limit.ts'
import { type CreatedKey, type CreatedKeys, type CreatedKeysEntry, openCreatedKeys } from './created-keys.ts'
import type { CallContext } from './deliver.ts'
import type { RunListener } from './events.ts'
import { createGrantLanes, type GrantLanes } from './grant-lanes.ts'
import { createPace, gentleStart } from './pace.ts'
import { createSilence, type Silence } from './silence.ts'
import { createStopping, type Stopping } from './stopping.ts'
import type { TargetFacts } from './target-facts.ts'

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
  stopping: Stopping
  /** Reports events to everything that listens to the run. */
  emit: RunListener
  /** Limits of the target that do not hold, each with the case that found it: what it left there spoils later cases. */
  spoilt: Map<'sessions' | 'keys', string>
  /** The kinds of authorization with which the root key was accepted before, to notice a lock-out. */
  acceptedControls: Set<'basic' | 'hmac'>
  /** What was found out about refused right signatures, for each kind of key. */
  diagnoses: Map<string, Promise<Hint | undefined>>
  /** Shared by every case on a lasting target. */
  sharedCaller: Caller | null
  /** One key pair for each test key: creating it again for every case would take longer than most cases. */
  keyPairs: Map<string, Ed25519KeyPair>
  /** Finds out by further calls why a right call was refused; without it no hint is looked for. */
  diagnose?: Diagnose | undefined
  /** Asks the model, where it listens, about a refused call that a case needed accepted. */
  judgeRefusal?: ((refused: WireRequest) => RefusalJudgement | undefined) | undefined
}

/** Looks for the reason of a refusal. It is passed in, so the engine does not depend on suites/lab. */
export interface Diagnose {
  /** @param refused the request that carried a right signature and was refused */
  signature(caller: Caller, auth: Auth, refused?: WireRequest): Promise<Hint | undefined>
  token(caller: Caller): Promise<Hint | undefined>
}

/** Makes the calls to one instance, for a single case (bundled) or for all cases (lasting), and remembers what they showed. */
export interface Caller extends CallContext {
  instance: Instance
  run: Run
  createdKeys: CreatedKeys
  testKeys: Map<string, Credential>
  /** For each test key of this run: resolves when the target knows it. Other keys are created meanwhile. */
  knownKeys: Map<string, Promise<void>>
  /** The scopes with which test keys were created in this run. */
  testKeyScopes: Map<string, readonly string[]>
  /** Knows every secret that must not appear in a report. */
  redactor: Redactor
  nextId: number
  /** Counts the session names that were added to grants without one. */
  ownSessions: { next(): number }
  /** Counts the tries of cases. */
  tries: { next(): number }
  calls: number
  /** Grants of one user are made one at a time. */
  grants: GrantLanes
  silence: Silence
  /** Skips waits that only separate the sessions created before and after them. */
  skipsSessionWaits: boolean
  /** The key of the case that runs; null outside of cases. */
  caseKey: string | null
  /** When tokens that were granted here end, as their grants reported it. In ms since 1970, on the server's clock. */
  tokenExpiries: Map<string, number>
}

type RunOptions = Pick<Run, 'target' | 'corpus' | 'facts' | 'random' | 'unique' | 'diagnose'> &
  Partial<Pick<Run, 'trace' | 'keptTestKeys' | 'earlierKeys' | 'emit'>>

/** The state of a run at its beginning. Opens nothing and calls nothing. */
export function startRun(options: RunOptions): Run {
  const emit = options.emit ?? (() => {})
  return {
    ...options,
    trace: options.trace ?? false,
    keptTestKeys: options.keptTestKeys ?? [],
    earlierKeys: options.earlierKeys ?? [],
    stopping: createStopping(options.target, emit),
    emit,
    spoilt: new Map(),
    acceptedControls: new Set(),
    diagnoses: new Map(),
    sharedCaller: null,
    keyPairs: new Map(),
  }
}

/** Returns the shared caller of a lasting target, otherwise a new one on a fresh instance, which closeCaller closes. */
export async function openCaller(run: Run): Promise<Caller> {
  if (run.sharedCaller !== null) return run.sharedCaller
  const instance = await run.target.open()
  const createdKeys = openCreatedKeys((entry) => run.emit({ kind: 'key-noted', entry }), run.earlierKeys)
  // Every instance of the bundled server starts at the same virtual time, so the facts are copied and not shared.
  const facts = run.target.lasting ? run.facts : structuredClone(run.facts)
  const caller: Caller = {
    instance,
    run,
    facts,
    pace: createPace({
      limit: instance.settings.rate,
      start: run.target.lasting && !run.target.fresh && !isLoopback(instance.baseUrl) ? gentleStart : null,
      facts,
      random: run.random,
    }),
    emit: run.emit,
    createdKeys,
    testKeys: new Map([['root', credentialOfKey(instance.root)]]),
    knownKeys: new Map(),
    testKeyScopes: new Map(),
    redactor: createRedactor(secretsOf(instance)),
    nextId: 1,
    ownSessions: createCounter(),
    tries: createCounter(),
    calls: 0,
    grants: createGrantLanes(),
    limit: limitFor(instance, facts),
    isUrgent: false,
    silence: createSilence(run.stopping),
    skipsSessionWaits: false,
    caseKey: null,
    tokenExpiries: new Map(),
  }
  for (const key of run.keptTestKeys) {
    if (key.member !== undefined) caller.testKeys.set(key.member, credentialOfKey(key))
    for (const secret of [key.secret, key.privateKey]) if (secret !== undefined) caller.redactor.add(secret)
    if (!createdKeys.keys.some(({ id }) => id === key.id)) createdKeys.created(key)
  }
  if (run.target.lasting) run.sharedCaller = caller
  return caller
}

/** Answers that come sooner than this are not worth several calls at once. In ms. */
const nearMs = 15

/** How many calls may be under way at once, judging by what is known of the connection to the target. */
export function limitFor(instance: Instance, facts: TargetFacts): CallLimit {
  const { rate } = instance.settings
  return createCallLimit(callsAtOnce(instance, facts), rate > 0 ? Math.ceil(rate) : undefined)
}

/**
 * One call at a time where more would not help: on the loopback, where cases still run at the same time because most of a run is waiting;
 * and where the clock is moved instead of waiting, because such a clock cannot measure how fast answers come. A distant server that is
 * reached through a port of the loopback counts as distant.
 */
function callsAtOnce({ baseUrl, clock, settings }: Instance, { roundTripMs }: TargetFacts): number | null {
  const isNear = isLoopback(baseUrl) && roundTripMs < nearMs
  return settings.concurrency ?? (clock.controlled || isNear ? 1 : null)
}

function createCounter(): { next(): number } {
  let count = 0
  return {
    next: () => {
      count += 1
      return count
    },
  }
}

const secretHeader = /auth|key|token|secret|cookie|password/i

/** The secrets that the user gives to the suite: the root key, and headers for a gateway in front of the server. */
function secretsOf({ root, settings }: Instance): string[] {
  const headers = Object.entries(settings.headers).filter(([name]) => secretHeader.test(name))
  return [root.kind === 'secret' ? root.secret : root.privateKey, ...headers.map(([, value]) => value)]
}

/** Closes the instance of a caller, except the lasting one (see endRun). */
export async function closeCaller(caller: Caller): Promise<void> {
  if (!caller.run.target.lasting) await caller.instance.close()
}

/** Closes the instance that the cases shared, and the target. */
export async function endRun(run: Run): Promise<void> {
  await run.sharedCaller?.instance.close()
  run.sharedCaller = null
  await run.target.close?.()
}

/** What calls with this key are authorized with. A root key has the same members as a created one. */
export function credentialOfKey({
  id,
  secret,
  privateKey,
}: Pick<CreatedKey, 'id' | 'secret' | 'privateKey'>): Credential {
  return {
    id,
    ...(privateKey === undefined ? {} : { seed: seedFromPkcs8(privateKey) }),
    ...(secret === undefined ? {} : { secret }),
  }
}

/** Whether a requirement of the corpus is a must; one that the corpus does not name counts as a must. */
export function isMustIn(corpus: Corpus): (requirement: string) => boolean {
  return (id) => corpus.requirements.find((requirement) => requirement.id === id)?.level !== 'implied'
}
