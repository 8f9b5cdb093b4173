/** One try of a case: takes its steps in order until one ends it, each with its calls or its wait, and has each judged. */
import { SuiteError } from '../errors.ts'
import { countBy } from '../group.ts'
import { isObject, type JsonObject, membersIn, membersOf, parseJson } from '../json.ts'
import { describe, showJson, summarizeAnswer } from '../judge/classify.ts'
import {
  type Attempt,
  type Called,
  endOfTimestampsMs,
  expiryProblem,
  firstTimestampMs,
  judgeStep,
  readable,
  roundingMs,
  stepEnd,
  type TakenStep,
  takenStep,
} from '../judge/judge-case.ts'
import type { Effect, ProblemFacts, SeenAnswer } from '../judge/problem.ts'
import { changesOf } from '../language/deviations.ts'
import type { Auth, CallStep, Case, Scenario, SendStep, Step, Value } from '../language/fixture-types.ts'
import {
  judgementOf,
  type Names,
  referencesIn,
  resolve,
  UnresolvedReference,
  valueAt,
  withCase,
} from '../language/resolve.ts'
import type { Change } from '../signer/changed-call.ts'
import { publicKeyOfSeed } from '../signer/ed25519.ts'
import { derivedSecrets, ed25519KeyPair, publicKeyToPem } from '../signer/pem.ts'
import { shortName, uniqueLength } from '../signer/random.ts'
import { isLoopback } from '../target.ts'
import type { CallSpec, RawSpec } from './call.ts'
import { claimsOf, hasRace, limitOf, provesOf } from './cases.ts'
import {
  actor,
  type Conversation,
  type CreatedKey,
  credentialFor,
  isMustIn,
  isSendable,
  UnsendableCredentials,
  UnusableValue,
} from './conversation.ts'
import { listSolutions, makeCall, makeCalls, sendRaw, serverNow } from './send.ts'
import { noteSilence, offsetUncertaintyMs, patienceForRefusalMs, type TargetFacts } from './target-facts.ts'

type PlacedStep = Attempt['left'][number]

interface CaseContext {
  talk: Conversation
  names: Names
  /** Names that have no value because a `refused-or` step was refused; later steps that use them are skipped. */
  notGiven: Set<string>
  /** Names of times that the case requested. Judging by them needs no knowledge of the server's clock. */
  requestedTimes: Set<string>
  /** The case that left more keys than the limit allows, so that counting them says nothing. */
  spoilt: string | undefined
}

interface Trying {
  scenario: Scenario
  testCase: Case
  /** The names of those that it uses. */
  testKeys: Iterable<string>
  /** Of the try, from 1. */
  number: number
}

/** Runs the given steps and then the others, in order, until one ends the case. */
export async function attemptCase(talk: Conversation, trying: Trying): Promise<Attempt> {
  const { scenario, testCase } = trying
  const names = builtInNames(talk, trying)
  const spoilt = talk.run.target.lasting && limitOf(scenario) === 'keys' ? talk.run.spoilt.get('keys') : undefined
  const context = { talk, names, notGiven: new Set<string>(), requestedTimes: new Set<string>(), spoilt }
  const isMust = isMustIn(talk.run.corpus)
  const steps = placeSteps(scenario, testCase)
  const taken: TakenStep[] = []
  const left: PlacedStep[] = []
  // A count is no preparation: what later steps say of other requirements is judged, whatever was counted.
  let counted: PlacedStep | undefined
  for (const [index, placed] of steps.entries()) {
    if (counted?.proves.some((id) => placed.proves.includes(id))) {
      left.push(placed)
      continue
    }
    const one = await takeStep(context, placed)
    taken.push(one)
    const { kind } = one.verdict
    // A warning ends nothing: the steps after it can still be judged.
    const ends = kind === 'broke' ? one.proves.some(isMust) : kind !== 'held' && kind !== 'nothing-expected'
    if (!ends) continue
    const unjudged = placed.proves.filter((id) => !one.proves.includes(id))
    if (unjudged.length > 0) left.push({ ...placed, proves: unjudged })
    const isCount = isUpperBound(placed) && (spoilt !== undefined || (kind === 'broke' && hasRace(scenario)))
    if (!isCount || counted !== undefined) return { taken, left: [...left, ...steps.slice(index + 1)] }
    counted = placed
  }
  return { taken, left }
}

/** Whether a step checks that at most a number of credentials work. */
const isUpperBound = ({ step, given }: PlacedStep): boolean =>
  !given && 'tally' in step && String(step.tally?.accepted).startsWith('at-most')

function placeSteps(scenario: Scenario, testCase: Case): PlacedStep[] {
  const everything = provesOf({ scenario, testCase })
  const own = testCase.proves ?? scenario.proves
  const place =
    (given: boolean) =>
    (raw: Step): PlacedStep => {
      const step = withCase(raw, testCase.values)
      return { step, given, proves: given ? everything : (step.proves ?? own) }
    }
  return [...scenario.given.map(place(true)), ...scenario.steps.map(place(false))]
}

/** Runs one step and has it judged. */
async function takeStep(context: CaseContext, placed: PlacedStep): Promise<TakenStep> {
  const { talk, names, spoilt } = context
  const { step } = placed
  const { reason } = talk.run.stopping
  if (reason !== null) return takenStep(placed, stepEnd('blocked', { kind: 'not-run', because: reason }))
  if (spoilt !== undefined && isUpperBound(placed))
    return takenStep(placed, stepEnd('blocked', { kind: 'limit-spoilt', what: 'keys', by: spoilt }))
  try {
    if ('wait' in step) {
      const wait = resolve(step.wait, names) as Wait
      const end = await waitStep(talk, wait, isRequestedTime(step.wait, context))
      return takenStep(placed, end ?? { kind: 'nothing-expected' })
    }
    return await takeCalls(context, { ...placed, step })
  } catch (error) {
    return takenStep(placed, judgeNotCalled(error, placed, context))
  }
}

type Calling = PlacedStep & { step: Exclude<Step, { wait: unknown }> }

async function takeCalls(context: CaseContext, placed: Calling): Promise<TakenStep> {
  const { talk, names, notGiven } = context
  const { step, given, proves } = placed
  const { unless } = step as Partial<CallStep>
  if (unless !== undefined && names[unless.slice(1)] !== undefined)
    return takenStep(placed, { kind: 'nothing-expected' })
  const calls = await perform(talk, step, names)
  const kept = Object.entries(step.keep ?? {})
  for (const [name, path] of kept) {
    const values = calls.map((called) => valueAt(readable(called), path)).filter((value) => value !== undefined)
    names[name] = hasRounds(step) ? values : values[0]
    if (path === requestedTime) context.requestedTimes.add(name)
  }
  if (calls.length === 0) {
    const isEmpty = judgementOf(step) !== undefined
    const end = stepEnd('not-testable', { kind: 'empty-list', list: String(step.for) })
    return takenStep(placed, isEmpty ? end : { kind: 'nothing-expected' })
  }
  noteSessionFacts(talk.facts, step, calls)
  if (step.observe !== undefined) {
    const answer = observation(step, calls, names)
    const sentence = step.step === undefined ? {} : { step: step.step }
    const observed = { question: step.observe, answer, seen: calls.map(seenAnswer), ...sentence }
    return takenStep(placed, { kind: 'nothing-expected' }, calls, observed)
  }
  const judgesByOwnTime = isRequestedTime(step.before, context)
  const verdict = judgeStep(step, calls, names, {
    given,
    proves,
    schemas: talk.run.corpus.schemas,
    clockIsKnown: isClockKnown(talk) || judgesByOwnTime,
    tokenClockAheadMs: judgesByOwnTime ? 0 : tokenClockDoubt(talk.facts).aheadMs,
    refreshLifeMs: talk.facts.refreshLifeMs,
    judgeRefusal: talk.run.judgeRefusal,
  })
  if (verdict.kind === 'held') {
    const isOptional = typeof step.expect === 'object' && 'refused-or' in step.expect
    if (isOptional && verdict.sides.includes('refused')) for (const [name] of kept) notGiven.add(name)
  }
  return takenStep(placed, verdict, calls)
}

/** The path of a time that follows from the request alone, not from anything the server reported. */
const requestedTime = 'sent.expiry'

const isRequestedTime = (wait: unknown, { requestedTimes }: CaseContext): boolean =>
  referencesIn(wait).some(({ reference }) => requestedTimes.has(reference))

/** The verdict on a step whose call could not be made. */
function judgeNotCalled(
  error: unknown,
  { step, given, proves }: PlacedStep,
  { notGiven }: CaseContext,
): TakenStep['verdict'] {
  if (error instanceof UnresolvedReference) {
    const [name = ''] = error.reference.slice(1).split('.')
    if (!notGiven.has(name)) return stepEnd('blocked', { kind: 'value-missing', reference: error.reference })
    // The values that this step would have kept are missing too.
    for (const kept of Object.keys(('keep' in step && step.keep) || {})) notGiven.add(kept)
    return { kind: 'nothing-expected' }
  }
  if (error instanceof UnusableValue) {
    return stepEnd('blocked', { kind: 'value-unusable', wanted: error.wanted, got: error.got })
  }
  if (error instanceof UnsendableCredentials && error.isToken && !('wait' in step) && step.expect !== 'refused') {
    return stepEnd(!given && proves.includes(tokensWork) ? 'broke' : 'blocked', { kind: 'token-unsendable' })
  }
  // The mistake changes nothing at this target: its scheme word may already be in capitals.
  if (error instanceof SuiteError && error.code === 'fixture') {
    return stepEnd('not-testable', { kind: 'cannot-be-sent', reason: error.message })
  }
  throw error
}

/** The requirement that access tokens authorize calls: a token breaks it that no header can carry. */
export const tokensWork = 'tokens/authorize'

/** The built-in names of a case (fixtures/README.md); those with a getter are made when they are used. */
function builtInNames(talk: Conversation, trying: Trying): Names {
  const { testCase, testKeys } = trying
  const { run, facts, createdKeys, instance } = talk
  const { scopeNames, solutions, probes } = instance.settings
  const letters = 'abcdefghijklmnopqrstuvwxyz'
  // A server may give one id twice: that is one key.
  const created = () => [...new Map(createdKeys.keys.map((key) => [key.id, key])).values()]
  const made: { life?: number; tiny?: string; unique?: string; pairs?: ReturnType<typeof keyPairs> } = {}
  // Most cases use few of them.
  const names: Names = {
    case: testCase.values,
    get life() {
      made.life ??= suitableLifeMs(talk, trying)
      return made.life
    },
    apikey: scopeNames.apikey ?? facts.apikey,
    solutions,
    // The scope that each probe needs in addition to that of its area.
    probes: Object.fromEntries(Object.entries(probes).map(([area, { scope = [] }]) => [area, { scope }])),
    client: { address: facts.clientAddress },
    second: { address: facts.secondAddress },
    get elsewhere() {
      return addressesElsewhere(facts.clientAddress, facts.secondAddress)
    },
    /** Short, and unlikely to occur twice. */
    get tiny() {
      made.tiny ??= Array.from({ length: 3 }, () => letters[run.random.below(letters.length)]).join('')
      return made.tiny
    },
    /** Two cases that run at the same time must not use one name for two sessions. */
    get unique() {
      made.unique ??= shortName(`${run.unique}-${talk.next('try')}`, uniqueLength)
      return made.unique
    },
    get keypairs() {
      made.pairs ??= keyPairs(talk, String(names.unique))
      return made.pairs
    },
    /** The key that requests the scope of one solution: one that was created with it, otherwise root. */
    get holder() {
      const holder = [...talk.testKeys].find(([, { scope }]) => scope?.includes(`solution:${solutions[0]}`))
      return credentialFor(talk, holder?.[0] ?? actor(talk, 'root'))
    },
    /** A lifetime in ms that exceeds that of a refresh token; undefined until a refresh token was granted. */
    get beyond() {
      return facts.refreshLifeMs === undefined ? undefined : facts.refreshLifeMs + clearlyBeyondMs
    },
    get created() {
      return created()
    },
    /** Those of them that list solutions: each was created in a way that must be accepted, with a scope that says so and no restriction beside it. */
    get listing() {
      return created().filter(({ member, scope = [] }) => {
        const words = run.corpus.testKeys.find(({ name }) => name === member)?.scope ?? scope
        return words.includes('solution') && !words.some((word) => /^(expiresIn|ipAddr|session):/.test(word))
      })
    },
  }
  for (const member of testKeys) names[member] = withPublicKey(credentialFor(talk, actor(talk, member)))
  return names
}

/** Key pairs of this try alone, as `$keypairs.a.publicKey`; each is made when it is used. */
function keyPairs(
  { run }: Conversation,
  unique: string,
): { readonly [letter: string]: { readonly publicKey: string } } {
  const pairOf = (letter: string): ReturnType<typeof ed25519KeyPair> => {
    const name = `${unique} ${letter}`
    const pair = run.keyPairs.get(name) ?? ed25519KeyPair(run.random.bytes(32))
    run.keyPairs.set(name, pair)
    return pair
  }
  const entries = Array.from('abcdefghij', (letter) => [
    letter,
    {
      get publicKey() {
        return pairOf(letter).publicKeyPem
      },
    },
  ])
  return Object.fromEntries(entries)
}

/** Addresses from which no call of ours comes; the first three belong to networks for documentation (RFC 5737). */
function addressesElsewhere(own = '127.0.0.1', second = own): { [which: string]: string } {
  const [last = '1'] = own.split('.').slice(-1)
  const network = own.split('.').slice(0, 3).join('.')
  const isAddress = (text: string): boolean => text.split('.').every((part) => Number(part) <= 255)
  const choose = (...candidates: string[]): string =>
    candidates.find((address) => address !== own && address !== second && isAddress(address)) ?? '192.0.2.77'
  return {
    far: choose('203.0.113.7', '192.0.2.7'),
    farther: choose('198.51.100.255', '192.0.2.255'),
    alike: choose(`203.0.113.${last}`, `198.51.100.${last}`),
    neighbour: choose(`${network}.10`, `${network}.20`, `${network}.30`),
    longer: choose(`${own}11`, `${own}1`, `${network}.111`),
  }
}

/**
 * `$bob.publicKey` is the PEM of bob's public key, and `$bob.derived.sha256PemHex` bob's id with a secret that anyone can compute from it.
 * Both are computed only when a fixture uses them.
 */
function withPublicKey(
  credential: ReturnType<typeof credentialFor>,
): ReturnType<typeof credentialFor> & { readonly publicKey?: string; readonly derived?: object } {
  const { seed, id } = credential
  if (seed === undefined) return credential
  return {
    ...credential,
    get publicKey() {
      return publicKeyToPem(publicKeyOfSeed(seed))
    },
    get derived() {
      const secrets = Object.entries(derivedSecrets(publicKeyOfSeed(seed)))
      return Object.fromEntries(secrets.map(([name, secret]) => [name, { id, secret }]))
    },
  }
}

/** Makes every call of a step: one, or those of repeat, parallel or for. */
async function perform(talk: Conversation, step: CallStep | SendStep, names: Names): Promise<Called[]> {
  if (!('send' in step) && (step.parallel !== undefined || step.beside !== undefined))
    return performTogether(talk, step, names)
  const rounds = roundsOf(step, names)
  const make = async (round: Names): Promise<Called> => {
    const called = await makeRound(talk, step, round, rounds.length)
    if (mayBeRefused(step)) await confirmRefusals(talk, [called])
    return called
  }
  if (talk.limit.atOnce > 1 && !isOrdered(step)) return Promise.all(rounds.map(make))
  const calls: Called[] = []
  for (const [index, round] of rounds.entries()) {
    calls.push(await make(round))
    if (talk.limit.atOnce > 1 && isFull(step, calls))
      return [...calls, ...(await Promise.all(rounds.slice(index + 1).map(make)))]
  }
  return calls
}

/** After this number of refusals in a row a limit counts as reached. */
const refusalsWhenFull = 2

/**
 * Whether the creations of a step meet the limit of keys. Those that follow change nothing then, so they may be under way at once. If one is
 * accepted all the same, the limit must hold for simultaneous creations too.
 */
function isFull(step: CallStep | SendStep, calls: readonly Called[]): boolean {
  if ('send' in step || step.call !== 'manager/createApiKey') return false
  const last = calls.slice(-refusalsWhenFull)
  return last.length === refusalsWhenFull && last.every(({ answer }) => answer.outcome === 'refused')
}

/** Whether the rounds of a step must run one after another. They need not if they change nothing and only their sum counts. */
function isOrdered(step: CallStep | SendStep): boolean {
  if ('send' in step || step.call !== 'solution/listSolutions') return true
  // A server may answer repeated calls differently one after another than all at once.
  return step.observe !== undefined && step.for === undefined
}

/**
 * Calls at once: equal ones, one of them for each item of `for`, and others beside them. Only the calls of the step itself are judged, so what
 * those beside keep is kept here. Every second race uses connections that carried calls before, unless the step says which.
 */
async function performTogether(talk: Conversation, step: CallStep, names: Names): Promise<Called[]> {
  const { for: items, beside = [], ...race } = step
  const rounds = items === undefined ? [names] : roundsOf({ ...step, parallel: undefined } as never, names)
  const others = beside.map((one): CallStep => ({ ...one, at: step.at }))
  const calls: Called[] = []
  for (const [round, inRound] of rounds.entries()) {
    const connections = step.connections ?? (round % 2 === 0 ? 'new' : 'warm')
    const racers = roundsOf(race, inRound)
    const sharedBy = rounds.length * (racers.length + others.length)
    const specs = [
      ...racers.map((one) => callSpec(talk, race, one)),
      ...others.map((one) => callSpec(talk, one, inRound)),
    ].map((spec) => ({ ...spec, warmConnection: connections === 'warm', sharedBy }))
    if (connections === 'warm') await warmUp(talk, specs.length)
    const made = await makeCalls(talk, specs)
    await talk.instance.endRaces?.()
    const judged = made.slice(0, racers.length)
    if (mayBeRefused(step)) await confirmRefusals(talk, judged)
    for (const [at, called] of made.slice(racers.length).entries())
      for (const [name, path] of Object.entries(beside[at]?.keep ?? {})) names[name] = valueAt(readable(called), path)
    for (const called of judged) calls.push({ ...called, race: { round, connections } })
  }
  return calls
}

/** Makes ordinary calls at once, so that enough connections are open for a race. */
async function warmUp(talk: Conversation, connections: number): Promise<void> {
  const call = { method: 'solution/listSolutions', params: {}, auth: { key: 'root' }, warmConnection: true } as const
  await makeCalls(
    talk,
    Array.from({ length: connections }, () => call),
  )
}

async function makeRound(
  talk: Conversation,
  step: CallStep | SendStep,
  names: Names,
  sharedBy: number,
): Promise<Called> {
  const timeoutMs = mayBeRefused(step) ? patienceForRefusalMs(talk) : undefined
  if ('send' in step) return sendRaw(talk, { ...rawSpec(talk, step, names), timeoutMs, sharedBy })
  const mustBeRefused = step.expect === 'refused'
  const called = await makeCall(talk, { ...callSpec(talk, step, names), timeoutMs, sharedBy, mustBeRefused })
  const { step: madeBy } = membersOf(names.it) as Pick<CreatedKey, 'step'>
  return madeBy !== undefined && madeBy.caseKey === talk.caseKey ? { ...called, keyMadeBy: madeBy.title } : called
}

/** Several calls, or one per item. */
const hasRounds = (step: CallStep | SendStep): boolean =>
  step.repeat !== undefined || step.parallel !== undefined || step.for !== undefined

/** The names of each round: `$n` counts from 1, `$it` is the item. */
function roundsOf(step: CallStep | SendStep, names: Names): Names[] {
  // `created` must stay a getter, so names are inherited and not copied.
  const withNames = (more: Names): Names => Object.assign(Object.create(names) as Names, more)
  if (step.for !== undefined) {
    const list = resolve(step.for, names)
    return (Array.isArray(list) ? list : []).map((it: unknown, index) => withNames({ it, n: index + 1 }))
  }
  const count = step.repeat ?? step.parallel
  if (count === undefined) return [names]
  return Array.from({ length: Number(resolve(count, names)) }, (_nothing, index) => withNames({ n: index + 1 }))
}

function callSpec(talk: Conversation, step: CallStep, names: Names): CallSpec {
  const method = String(resolve(step.call, names))
  const params = resolve(step.params ?? {}, names)
  const declared = declaredCall(talk, method, params)
  return {
    method: declared?.method ?? method,
    params: declared?.params ?? params,
    auth: resolveAuth(talk, step.auth, names),
    nonce: resolve(step.nonce, names) as CallSpec['nonce'],
    // No other case has this unique text.
    ...(step.connection === undefined ? {} : { ownConnection: `${names.unique} ${step.connection}` }),
    changes: [...changesOfParams(resolve(step.but, names)), ...changesOf(resolve(step.alter, names))],
    form: resolve(step.body, names) as CallSpec['form'],
    headers: resolve(step.headers, names) as CallSpec['headers'],
    from: reachable(talk, step.from),
    ...privateKeyFor(talk, params),
    title: step.step ?? method,
    ...('id' in step ? { id: resolve(step.id, names) } : {}),
  }
}

/** @throws SuiteError (`fixture`) for an address of the loopback, from which only targets of this machine can be called */
function reachable({ instance: { baseUrl, clock } }: Conversation, from: string | undefined): string | undefined {
  if (from?.startsWith('127.') !== true || isLoopback(baseUrl) || clock.controlled) return from
  throw new SuiteError('fixture', `Cannot call from ${from}: the target is not on this machine`)
}

/** A key that is created with the public key of a test key, or of `$keypairs`, is used with its private key. */
function privateKeyFor(talk: Conversation, params: unknown): { privateKey?: string } {
  if (typeof params !== 'object' || params === null || !('publicKey' in params)) return {}
  const ofTestKeys = [...talk.testKeys.values()].flatMap(({ seed }) =>
    seed === undefined ? [] : [ed25519KeyPair(seed)],
  )
  const pair = [...talk.run.keyPairs.values(), ...ofTestKeys].find(
    ({ publicKeyPem }) => publicKeyPem === params.publicKey,
  )
  return pair === undefined ? {} : { privateKey: pair.privateKeyPem }
}

/**
 * `probe:context` and `cleanup` stand for the method that the target file declares; `$name` in its params takes the step's param
 * of that name.
 */
function declaredCall(
  talk: Conversation,
  method: string,
  params: unknown,
): { method: string; params: unknown } | undefined {
  const { probes, cleanup } = talk.instance.settings
  const declared = method === 'cleanup' ? cleanup : method.startsWith('probe:') ? probes[method.slice(6)] : undefined
  if (declared === undefined) return undefined
  return { method: declared.method, params: resolve(declared.params, params as Names) }
}

function resolveAuth(talk: Conversation, auth: Auth, names: Names): Auth {
  const resolved = resolve(auth as Value, names) as Auth
  if (typeof resolved !== 'object') return resolved
  if ('hmac' in resolved && resolved.hmac === 'root') return { ...resolved, hmac: actor(talk, 'root') }
  if ('basic' in resolved && resolved.basic === 'root') return { ...resolved, basic: actor(talk, 'root') }
  return resolved
}

function rawSpec(talk: Conversation, step: SendStep, names: Names): RawSpec {
  const { send } = step
  const body = resolve(send.body ?? '', names)
  const method = String(resolve(send.method, names))
  return {
    method,
    path: String(resolve(send.path, names)),
    headers: (resolve(send.headers ?? {}, names) ?? {}) as { [name: string]: string },
    body:
      typeof body === 'object' && body !== null && 'base64' in body
        ? Uint8Array.from(atob(String(body.base64)), (character) => character.charCodeAt(0))
        : new TextEncoder().encode(String(body)),
    auth: resolveAuth(talk, send.auth ?? 'none', names),
    from: step.from,
  }
}

/** Whether reported times can be judged, because the server's answers carry a Date header that did not jump. */
function isClockKnown({ facts }: Conversation): boolean {
  return facts.offset !== undefined && facts.clockWasSet !== true
}

/** A clock is not moved beyond this: the times of later calls must still have 13 digits. */
const latestTimeMs = endOfTimestampsMs - 366 * 86_400_000

/** Time for a call between the end of an `until` wait and the margin. */
const roomForCallMs = 200

const units: { [unit: string]: number } = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 }

/** `350ms`, `11m`, `366d` in ms; undefined for a text that is not a duration. */
export function parseDuration(text: string): number | undefined {
  const match = /^(\d+(?:\.\d+)?)(ms|s|m|h|d)$/.exec(text)
  return match?.[1] === undefined || match[2] === undefined ? undefined : Number(match[1]) * (units[match[2]] ?? 1)
}

type Wait = string | { past: unknown } | { until: unknown }

/**
 * Waits, or returns why it cannot.
 *
 * @param isRequestedTime the case requested the time; the server did not report it
 */
async function waitStep(
  talk: Conversation,
  wait: Wait,
  isRequestedTime: boolean,
): Promise<ReturnType<typeof stepEnd> | undefined> {
  const { clock, settings } = talk.instance
  if (typeof wait === 'object' && !isRequestedTime && !isClockKnown(talk))
    return stepEnd('not-testable', { kind: 'clock-unknown' })
  const ms = waitMs(talk, wait, isRequestedTime ? { behindMs: 0, aheadMs: 0 } : tokenClockDoubt(talk.facts))
  if (typeof ms === 'object') return stepEnd('blocked', ms)
  if (talk.skipsSessionWaits && typeof wait === 'string') return undefined
  const isTooLong = clock.controlled ? serverNow(talk) + ms > latestTimeMs : ms > settings.maxWaitMs
  if (isTooLong) return stepEnd('not-testable', { kind: 'wait-too-long', waitMs: ms })
  await sleepAs(talk, ms)
  return undefined
}

/** Waits, and announces it, because other cases may run meanwhile. */
async function sleepAs({ caseKey, emit, instance: { clock } }: Conversation, ms: number): Promise<void> {
  if (caseKey !== null) emit({ kind: 'wait-started', key: caseKey, untilMs: clock.now() + ms })
  await clock.sleep(ms)
  if (caseKey !== null) emit({ kind: 'wait-ended', key: caseKey })
}

/** How long a wait takes from now, in ms; `past` ends a second after a time on the server's clock, `until` over a second before. */
function waitMs(talk: Conversation, wait: Wait, doubt: ReturnType<typeof tokenClockDoubt>): number | ProblemFacts {
  if (typeof wait === 'string') return parseDuration(wait) ?? { kind: 'not-a-duration', got: wait }
  const time = 'past' in wait ? wait.past : wait.until
  if (typeof time !== 'number') return { kind: 'not-a-time', got: showJson(time) }
  // Waiting for a time in the distant past would end at once, and a token that still works would count as a failure.
  const wrong = expiryProblem(time)
  if (wrong !== undefined) return wrong
  const uncertainty = offsetUncertaintyMs(talk.facts.offset)
  const margin =
    'past' in wait
      ? roundingMs + uncertainty + doubt.behindMs
      : -(roundingMs + uncertainty + doubt.aheadMs + Math.max(roomForCallMs, 3 * talk.facts.roundTripMs))
  return Math.max(0, Math.ceil(time + margin - serverNow(talk)))
}

/** More than any uncertainty of clocks and rounding. */
const clearlyBeyondMs = 60_000

/** The usual number of calls while a token with a requested lifetime is in use. */
const callsInALife = 4

/** Whether a case waits for the end of a lifetime, which must not be longer than the run may wait. */
const waitsForAnEnd = ({ given, steps }: Scenario): boolean =>
  [...given, ...steps].some((step) => 'wait' in step && typeof step.wait === 'object')

/** How long those calls take at the pace of the target. @param grants a case that makes many grants uses each of them */
function paceMs({ facts, instance }: Conversation, grants = 0): number {
  const { rate } = instance.settings
  const slowest = Math.min(facts.callsPerSecond ?? Number.POSITIVE_INFINITY, rate > 0 ? rate : Number.POSITIVE_INFINITY)
  return Math.ceil((1000 * (callsInALife + 2 * grants)) / slowest)
}

/**
 * A lifetime in ms that leaves time for a call before it ends; longer at every new try. At most half the lifetime of a refresh
 * token, so that the refresh token is still valid when the access token has ended.
 */
export function suitableLifeMs(talk: Conversation, trying: Pick<Trying, 'scenario' | 'testCase' | 'number'>): number {
  const { facts, instance } = talk
  const { grants } = claimsOf(trying)
  const distance = (6 + grants) * facts.roundTripMs + 2 * offsetUncertaintyMs(facts.offset) + paceMs(talk, grants)
  const firstMs = 1700 + distance
  const mostMs = waitsForAnEnd(trying.scenario)
    ? instance.settings.maxWaitMs - roundingMs - firstMs
    : Number.POSITIVE_INFINITY
  // The third try adds this three times.
  const addedMs = Math.max(1000, Math.min(distance / 2, mostMs / 3))
  const wanted = instance.clock.controlled
    ? 20_000 + 30 * paceMs(talk)
    : Math.ceil(firstMs + (2 ** (trying.number - 1) - 1) * addedMs)
  const { refreshLifeMs = 0 } = facts
  // A refresh token that is granted with an expiry in the past has a wrong expiry, which says nothing about lifetimes.
  return refreshLifeMs > 0 ? Math.min(wanted, Math.floor(refreshLifeMs / 2)) : wanted
}

// A broken answer does not show whether the call was refused. A control right after it shows that the server still
// answers; where the call would have had an effect, that effect must be absent.

/** Whether a refusal may satisfy the step. */
function mayBeRefused({ expect, tally }: CallStep | SendStep): boolean {
  return tally !== undefined || expect === 'refused' || (typeof expect === 'object' && 'refused-or' in expect)
}

/** Finds out for every broken answer whether the call was refused in effect. One control is enough for calls that were made at once. */
async function confirmRefusals(talk: Conversation, calls: Called[]): Promise<void> {
  const broken = calls.filter(({ answer }) => answer.outcome === 'broken')
  const [first] = broken
  if (first === undefined || talk.run.stopping.reason !== null) return
  for (const called of broken) noteSilence(talk, called.wire)
  const { answer } = await listSolutions(talk, { key: 'root' }, { freshConnection: true })
  for (const called of broken) {
    called.confirmation =
      answer.outcome === 'accepted'
        ? await checkEffect(talk, called)
        : { kind: 'control-failed', control: summarizeAnswer(answer) }
  }
}

async function checkEffect(talk: Conversation, called: Called): Promise<NonNullable<Called['confirmation']>> {
  const effect = effectOf(called)
  if (effect === undefined) return { kind: 'confirmed' }
  // The content of a lost answer is unknown, and so is the part of a long one that was not kept.
  if (called.wire.kind !== 'answer' || called.wire.cut !== undefined) return { kind: 'effect-unknown', effect }
  const result = membersOf(membersIn(called.wire.body).result)
  const isShown = effect === 'token' ? await tokenWorks(talk, result) : await keyWorks(talk, result)
  if (isShown === undefined) return { kind: 'effect-unknown', effect }
  return isShown ? { kind: 'effect-shown', effect } : { kind: 'confirmed' }
}

/** Decided by the method in the sent request, because raw requests carry one too. */
function effectOf({ request }: Called): Effect | undefined {
  const text = new TextDecoder().decode(request.body)
  if (text.includes('manager/createApiKey')) return 'key'
  return text.includes('manager/auth') ? 'token' : undefined
}

/** An answer without a token gives the talk nothing. */
async function tokenWorks(talk: Conversation, { accessToken }: JsonObject): Promise<boolean> {
  if (typeof accessToken !== 'string' || !isSendable(accessToken)) return false
  const { answer } = await listSolutions(talk, { token: accessToken }, { freshConnection: true })
  return answer.outcome === 'accepted'
}

/** An answer without a key proves nothing: the key may exist and take one of the ten places. */
async function keyWorks(talk: Conversation, { id, secret }: JsonObject): Promise<boolean | undefined> {
  if (typeof id !== 'string' || typeof secret !== 'string' || !isSendable(id)) return undefined
  const { answer } = await listSolutions(talk, { key: { id, secret } as never }, { freshConnection: true })
  const works = answer.outcome === 'accepted'
  // A key that works must be removed after the run, and may take a place.
  if (works) talk.createdKeys.note({ created: { id, name: '(in a broken answer)', secret } })
  return works
}

/** Describes in a phrase what an observing step saw. */
function observation(step: CallStep | SendStep, calls: Called[], names: Names): string {
  const values = calls.flatMap((called) => observedValue(step.observe ?? '', called) ?? [])
  if (values.length === calls.length) return [...new Set(values)].join('; ')
  return observed(calls) + keptValues(step, names)
}

/** A value that an observing step keeps is part of the observation; with several calls it is only kept for later steps. */
function keptValues(step: CallStep | SendStep, names: Names): string {
  if (hasRounds(step)) return ''
  const kept = Object.keys(step.keep ?? {}).filter((name) => names[name] !== undefined)
  return kept.map((name) => `; ${name} ${showJson(names[name], longestKept)}`).join('')
}

const longestKept = 100

/** Describes how often each outcome occurred. */
function observed(calls: Called[]): string {
  const counts = countBy(calls, ({ answer }) => describe(answer))
  if (calls.length === 1) return [...counts.keys()].join('')
  return [...counts].map(([what, count]) => `${count} of ${calls.length} ${what}`).join(', ')
}

/** The answer to one call of an observing step as data; it holds no secret but those that a server repeats in a message. */
function seenAnswer({ answer, time, wire }: Called): SeenAnswer {
  const result = answer.outcome === 'accepted' ? membersOf(answer.result) : {}
  const error = membersOf(answer.outcome === 'refused' ? answer.error : undefined)
  const { accessToken, accessTokenExpiry, refreshTokenExpiry, scope } = result
  const text = wire.kind === 'answer' ? new TextDecoder().decode(wire.body) : ''
  const body = membersOf(parseJson(text))
  const lifeMs = (expiry: unknown): number | null => (typeof expiry === 'number' ? expiry - time.answeredAtMs : null)
  const isWhole = (expiry: unknown): boolean => typeof expiry === 'number' && expiry % 1000 === 0
  return {
    outcome: answer.outcome,
    status: wire.kind === 'none' ? null : wire.status,
    code: typeof error.code === 'number' || typeof error.code === 'string' ? error.code : null,
    message:
      typeof error.message === 'string'
        ? error.message
        : 'error' in body || text === ''
          ? null
          : text.slice(0, longestKept),
    id: 'id' in body ? (body.id === null ? 'null' : 'request') : 'none',
    members: answer.outcome === 'accepted' ? typesOf(result) : null,
    scope: Array.isArray(scope) ? scope.map(String) : null,
    tokenLength: typeof accessToken === 'string' ? accessToken.length : null,
    accessLifeMs: lifeMs(accessTokenExpiry),
    refreshLifeMs: lifeMs(refreshTokenExpiry),
    isRounded: isWhole(accessTokenExpiry) && isWhole(refreshTokenExpiry),
    closes: wire.kind === 'answer' && /close/i.test(wire.headers.connection ?? ''),
  }
}

/** `list: array`, in the order of names. */
const typesOf = (result: JsonObject): string[] =>
  Object.entries(result)
    .map(([name, value]) => `${name}: ${Array.isArray(value) ? 'array' : value === null ? 'null' : typeof value}`)
    .sort()

// Open questions that are answered with a value, and not only with whether a call was accepted.

type Result = { [name: string]: unknown }

/** The value that answers an open question; undefined where the outcome of the call answers it. */
function observedValue(question: string, { answer, time }: Called): string | undefined {
  if (answer.outcome !== 'accepted' || typeof answer.result !== 'object' || answer.result === null) return undefined
  return answers[question]?.(answer.result as Result, time.answeredAtMs)
}

const answers: { readonly [question: string]: (result: Result, nowMs: number) => string | undefined } = {
  'limits/token-lifetimes': lifetimesOf({ accessTokenExpiry: 'access token', refreshTokenExpiry: 'refresh token' }),
  'sessions/lifetime': lifetimesOf({ refreshTokenExpiry: 'its refresh token' }),
  'expires-in/too-long': lifetimesOf({ accessTokenExpiry: 'access token' }),
  'expires-in/forms': lifetimesOf({ accessTokenExpiry: 'access token' }),
  'refresh/lifetime-renewed': lifetimesOf({ refreshTokenExpiry: 'refresh token' }),
  'refresh/expires-in-kept': lifetimesOf({ accessTokenExpiry: 'access token' }),
  'grants/scope-echo': grantedScope,
  'grants/empty-scope': grantedScope,
  'grants/unknown-scope': grantedScope,
  'keys/record': members,
  'keys/create-result-extras': members,
  'keys/secret-of-public-key': ({ secret }) => joined([['secret', formatOf(secret) ?? 'none']]),
  'tokens/format': ({ accessToken, refreshToken }) =>
    joined([
      ['access token', formatOf(accessToken)],
      ['refresh token', formatOf(refreshToken)],
    ]),
}

function grantedScope({ scope }: Result): string {
  return `scope ${showJson(scope)}`
}

function members(result: Result): string {
  return `members ${Object.keys(result)
    .sort()
    .map((name) => showJson(name))
    .join(', ')}`
}

function joined(parts: [what: string, value: string | undefined][]): string | undefined {
  const known = parts.filter(([, value]) => value !== undefined)
  return known.length === 0 ? undefined : known.map(([what, value]) => `${what}: ${value}`).join(', ')
}

/** @param names what the expiries of a result are called */
function lifetimesOf(names: { readonly [expiry: string]: string }) {
  return (result: Result, nowMs: number): string | undefined =>
    joined(Object.entries(names).map(([expiry, name]) => [name, lifetime(result[expiry], nowMs)]))
}

const unitsShown: [name: string, ms: number][] = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['min', 60_000],
  ['s', 1000],
]

/** Rounded to the second, because a server may round an expiry. */
function lifetime(expiry: unknown, nowMs: number): string | undefined {
  if (typeof expiry !== 'number' || expiry < firstTimestampMs) return undefined
  const ms = Math.round((expiry - nowMs) / 1000) * 1000
  const [name, unitMs] = unitsShown.find(([, unit]) => ms !== 0 && ms % unit === 0) ?? ['s', 1000]
  return `${ms / unitMs} ${name}`
}

/** Describes what a token looks like without showing a character of it. */
function formatOf(token: unknown): string | undefined {
  if (typeof token !== 'string') return undefined
  const alphabet =
    alphabets.find(([, pattern]) => pattern.test(token))?.[0] ?? 'characters beyond those of BASE64 and base64url'
  return `${token.length} characters, ${alphabet}`
}

const alphabets: [name: string, pattern: RegExp][] = [
  ['a JWT', /^eyJ[\w-]+\.[\w-]+\.[\w-]*$/],
  ['a UUID', /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i],
  ['digits', /^\d+$/],
  ['hex', /^[0-9a-f]+$/i],
  ['letters and digits', /^[0-9a-z]+$/i],
  ['base64url', /^[\w-]+=*$/],
  ['BASE64', /^[0-9a-z+/]+=*$/i],
]

/**
 * By how much the clock of reported expiries may be behind and ahead of the clock of the Date header, where the two contradict each other;
 * 0 where they do not. In ms.
 */
function tokenClockDoubt({ tokenClock }: TargetFacts): { behindMs: number; aheadMs: number } {
  const earliestMs = Math.max(...tokenClock.map((sighting) => sighting.earliestMs))
  const latestMs = Math.min(...tokenClock.map((sighting) => sighting.latestMs))
  const contradicts = tokenClock.length > 0 && earliestMs <= latestMs && (earliestMs > 0 || latestMs < 0)
  return contradicts
    ? { behindMs: Math.max(0, -earliestMs), aheadMs: Math.max(0, latestMs) }
    : { behindMs: 0, aheadMs: 0 }
}

// What cases show about how a target counts sessions. It decides which cases may run at the same time.

/** In the cases that observe these questions the last call is made as an earlier session, after sixteen grants of another kind. */
function noteSessionFacts(facts: TargetFacts, { observe }: CallStep | SendStep, calls: readonly Called[]): void {
  const outcome = calls.at(-1)?.answer.outcome
  if (outcome !== 'accepted' && outcome !== 'refused') return
  if (observe === 'sessions/counting') facts.unnamedTakePlaces = outcome === 'refused'
  if (observe === 'sessions/user') facts.sessionsPerKey = outcome === 'accepted'
}

/** What the `but` of a call changes in its params. */
const changesOfParams = (but: unknown): Change[] =>
  Object.entries(isObject(but) ? but : {}).map(([name, word]) => ({
    field: `param ${name}`,
    by: { word: String(word) },
  }))
