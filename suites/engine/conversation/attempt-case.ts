/** One try of a case: runs each step, has it judged, and records the result. */
import { SuiteError } from '../errors.ts'
import { membersOf } from '../json.ts'
import { envelopeRequirements } from '../judge/classify.ts'
import type { Called } from '../judge/expectation.ts'
import { readable, type Schemas, type Side } from '../judge/expectation.ts'
import type { CredentialKind } from '../judge/judge-case.ts'
import { type Attempt, emptyAttempt, judgeStep, type StepEnd, type StepVerdict, stepEnd } from '../judge/judge-case.ts'
import type { CallStep, Case, Scenario, SendStep, Step } from '../language/fixture-types.ts'
import { type Names, referencesIn, resolve, UnresolvedReference, valueAt, withCase } from '../language/resolve.ts'
import { publicKeyOfSeed } from '../signer/ed25519.ts'
import { derivedSecrets, publicKeyToPem } from '../signer/pem.ts'
import { shortName, uniqueLength } from '../signer/random.ts'
import { allProves, claimsOfCase } from './cases.ts'
import type { Credential } from './conversation.ts'
import { actor, type Conversation, credentialFor, UnsendableCredentials, UnusableValue } from './conversation.ts'
import {
  hasRounds,
  isClockKnown,
  lifeBeyondRefreshMs,
  observation,
  perform,
  seenAnswer,
  suitableLifeMs,
  type Wait,
  waitStep,
} from './perform-step.ts'
import { noteSessionFacts, tokenClockDoubt } from './target-facts.ts'

/** What the steps of a case have in common. */
interface CaseContext {
  talk: Conversation
  names: Names
  schemas: Schemas
  isMust: (requirement: string) => boolean
}

interface PlacedStep {
  step: Step
  given: boolean
  /** For a preparation: everything that the case proves, because the preparation is its control. */
  proves: string[]
}

/** Runs the given steps and then the others, in order, until one ends the case. */
export async function attemptCase(context: CaseContext, scenario: Scenario, testCase: Case): Promise<Attempt> {
  const attempt = emptyAttempt()
  const steps = placeSteps(scenario, testCase)
  for (const [index, placed] of steps.entries()) {
    const verdict = await takeStep(context, placed, attempt)
    if (verdict.kind === 'held') recordHeld(placed, verdict.sides, context.talk, attempt)
    if (verdict.kind === 'held' || verdict.kind === 'nothing-expected') continue
    attempt.stops.push({ ...verdict, step: placed.step, proves: verdict.kind === 'broke' ? placed.proves : [] })
    // A warning ends nothing: the steps after it can still be judged.
    if (verdict.kind === 'broke' && !placed.proves.some(context.isMust)) continue
    recordUnreached(steps, index, verdict, attempt)
    break
  }
  return attempt
}

function placeSteps(scenario: Scenario, testCase: Case): PlacedStep[] {
  const everything = allProves(scenario, testCase)
  const own = testCase.proves ?? scenario.proves
  const place =
    (given: boolean) =>
    (raw: Step): PlacedStep => {
      const step = withCase(raw, testCase.values)
      return { step, given, proves: given ? everything : (step.proves ?? own) }
    }
  return [...scenario.given.map(place(true)), ...scenario.steps.map(place(false))]
}

/** A step with the calls that it made. */
interface PerformedStep {
  step: CallStep | SendStep
  calls: Called[]
  names: Names
}

/** Runs one step and has it judged. */
async function takeStep(context: CaseContext, placed: PlacedStep, attempt: Attempt): Promise<StepVerdict> {
  const { talk, names } = context
  const { step } = placed
  const { reason } = talk.run.stopping
  if (reason !== null) return stepEnd('blocked', { kind: 'not-run', because: reason })
  try {
    if ('wait' in step) {
      const isOwn = isRequestedTime(step.wait, attempt)
      return (await waitStep(talk, resolve(step.wait, names) as Wait, isOwn)) ?? { kind: 'nothing-expected' }
    }
    const calls = await perform(talk, step, names)
    recordCalls({ step, calls, names }, placed.proves, attempt)
    if (calls.length === 0 && isJudged(step)) {
      return stepEnd('not-testable', { kind: 'empty-list', list: String(step.for) })
    }
    noteSessionFacts(talk.facts, step, calls)
    if (calls.length === 0 || step.observe !== undefined) return { kind: 'nothing-expected' }
    return judgeStep(step, calls, names, {
      given: placed.given,
      proves: placed.proves,
      schemas: context.schemas,
      clockIsKnown: isClockKnown(talk) || isRequestedTime(step.before, attempt),
      tokenClockAheadMs: isRequestedTime(step.before, attempt) ? 0 : tokenClockDoubt(talk.facts).aheadMs,
      refreshLifeMs: talk.facts.refreshLifeMs,
      judgeRefusal: talk.run.judgeRefusal,
    })
  } catch (error) {
    return judgeNotCalled(error, placed, attempt)
  }
}

/** Whether a `$reference` names a time that the case requested. Judging by it needs no knowledge of the server's clock. */
function isRequestedTime(wait: unknown, { requestedTimes }: Attempt): boolean {
  return referencesIn(wait).some(({ reference }) => requestedTimes.has(reference))
}

/** The verdict on a step whose call could not be made. */
function judgeNotCalled(error: unknown, { step, given, proves }: PlacedStep, attempt: Attempt): StepVerdict {
  if (error instanceof UnresolvedReference) {
    const [name = ''] = error.reference.slice(1).split('.')
    if (!attempt.notGiven.has(name)) return stepEnd('blocked', { kind: 'value-missing', reference: error.reference })
    // The values that this step would have kept are missing too.
    for (const kept of Object.keys(('keep' in step && step.keep) || {})) attempt.notGiven.add(kept)
    return { kind: 'nothing-expected' }
  }
  if (error instanceof UnusableValue) {
    return stepEnd('blocked', { kind: 'value-unusable', wanted: error.wanted, got: error.got })
  }
  if (error instanceof UnsendableCredentials && error.isToken && !('wait' in step) && step.expect !== 'refused') {
    const judgesIt = !given && proves.includes(tokensAuthorize)
    return stepEnd(judgesIt ? 'broke' : 'blocked', { kind: 'token-unsendable' })
  }
  // The mistake changes nothing at this target: its scheme word may already be in capitals.
  if (error instanceof SuiteError && error.code === 'fixture') {
    return stepEnd('not-testable', { kind: 'cannot-be-sent', reason: error.message })
  }
  throw error
}

/** The requirement that a token breaks if it cannot be sent in the Authorization header. */
const tokensAuthorize = 'tokens/authorize'

function isJudged(step: Step): boolean {
  return !('wait' in step) && (step.expect !== undefined || step.tally !== undefined)
}

/** Stores the values that the fixture keeps, counts successful answers, and records observations. */
function recordCalls({ step, calls, names }: PerformedStep, proves: string[], attempt: Attempt): void {
  attempt.calls.push(...calls.map(({ request, wire, throttled: times }) => ({ request, wire, throttled: times })))
  attempt.throttled ||= calls.some(({ throttled }) => throttled > 0)
  keepValues({ step, calls, names })
  for (const [name, path] of Object.entries(step.keep ?? {}))
    if (path === requestedTime) attempt.requestedTimes.add(name)
  for (const called of calls) {
    if (called.answer.outcome === 'accepted') attempt.envelopeAnswers += 1
    for (const problem of called.departures) {
      // A case about this requirement fails on its own.
      if (!proves.includes(envelopeRequirements[problem.kind])) attempt.envelope.push({ problem, called })
    }
  }
  if (step.observe === undefined || calls.length === 0) return
  attempt.observations.push({
    question: step.observe,
    answer: observation(step, calls, names),
    seen: calls.map(seenAnswer),
    ...(step.step === undefined ? {} : { step: step.step }),
  })
}

/** The path of a time that follows from the request alone, not from anything the server reported. */
const requestedTime = 'sent.expiry'

function keepValues({ step, calls, names }: PerformedStep): void {
  const several = hasRounds(step)
  for (const [name, path] of Object.entries(step.keep ?? {})) {
    const values = calls.map((called) => valueAt(readable(called), path)).filter((value) => value !== undefined)
    names[name] = several ? values : values[0]
  }
}

function recordHeld({ step, given, proves }: PlacedStep, sides: Side[], talk: Conversation, attempt: Attempt): void {
  if ('wait' in step) return
  for (const id of proves) {
    const shown = attempt.sides.get(id) ?? new Set()
    for (const side of sides) shown.add(side)
    attempt.sides.set(id, shown)
    if (!given) attempt.judged.add(id)
  }
  if (typeof step.expect === 'object' && 'refused-or' in step.expect && sides.includes('refused')) {
    for (const name of Object.keys(step.keep ?? {})) attempt.notGiven.add(name)
  }
  const control = rootControl(step)
  if (control !== undefined && sides.includes('accepted')) talk.run.acceptedControls.add(control)
  if (given || 'send' in step) return
  if (sides.includes('refused')) attempt.refusedMethods.add(step.call)
  if (sides.includes('accepted')) attempt.acceptances.push({ method: step.call, kind: credentialKindOf(step) })
}

/** Records that the steps after the end of a case were not judged, and the last step too unless it was. */
function recordUnreached(steps: PlacedStep[], index: number, { kind }: StepEnd, attempt: Attempt): void {
  const broke = kind === 'broke'
  for (const later of steps.slice(broke ? index + 1 : index)) {
    if (!later.given && isJudged(later.step)) for (const id of later.proves) attempt.unreached.add(id)
  }
  const ended = steps[index]
  if (ended?.given && !broke) for (const id of ended.proves) attempt.unreached.add(id)
}

/** Which ordinary call of the root key a step makes, if any. Its refusal may show a lock-out. */
function rootControl(step: Step): 'basic' | 'hmac' | undefined {
  if (!('call' in step) || step.call !== 'solution/listSolutions' || typeof step.auth !== 'object') return undefined
  if ('but' in step.auth || step.alter !== undefined) return undefined
  if ('basic' in step.auth && step.auth.basic === 'root') return 'basic'
  return 'hmac' in step.auth && step.auth.hmac === 'root' ? 'hmac' : undefined
}

function credentialKindOf({ call, auth, params }: CallStep): CredentialKind {
  if (call === 'manager/auth') {
    const grant = membersOf(params).grantType
    return grant === 'refresh_token' ? 'refresh' : 'credentials'
  }
  if (auth === 'none' || 'header' in auth) return 'none'
  if ('basic' in auth) return 'basic'
  if ('token' in auth) return 'token'
  return 'ecc' in auth ? 'ecc' : 'hmac'
}

/** The built-in names of a case (fixtures/README.md); `beyond` and `created` are read when they are used. */
export function builtInNames(
  talk: Conversation,
  { scenario, testCase }: { scenario: Scenario; testCase: Case },
  members: Iterable<string>,
  attempt: number,
): Names {
  const { settings } = talk.instance
  const names: Names = {
    case: testCase.values,
    life: suitableLifeMs(talk, attempt, claimsOfCase(scenario, testCase).grants),
    apikey: settings.scopeNames.apikey ?? talk.facts.apikey,
    solutions: settings.solutions,
    probes: scopesOfProbes(settings.probes),
    client: { address: talk.facts.clientAddress },
    second: { address: talk.facts.secondAddress },
    elsewhere: addressesElsewhere(talk.facts.clientAddress, talk.facts.secondAddress),
    tiny: freshTinyText(talk),
    // Two cases that run at the same time must not use one name for two sessions.
    unique: shortName(`${talk.run.unique}-${talk.next('try')}`, uniqueLength),
    get holder() {
      return holderOfOneSolution(talk)
    },
    get beyond() {
      return lifeBeyondRefreshMs(talk)
    },
    get created() {
      return [...talk.createdKeys.keys]
    },
  }
  for (const member of members) {
    names[member] = withPublicKey(credentialFor(talk, member === 'root' ? actor(talk, 'root') : member))
  }
  return names
}

/** The scope that each probe needs in addition to that of its area. */
function scopesOfProbes(probes: Conversation['instance']['settings']['probes']): {
  [area: string]: { scope: readonly string[] }
} {
  return Object.fromEntries(Object.entries(probes).map(([area, { scope = [] }]) => [area, { scope }]))
}

/** Addresses from which no call of ours comes; the first three belong to networks for documentation (RFC 5737). */
function addressesElsewhere(own = '127.0.0.1', second = own): { [which: string]: string } {
  const [last = '1'] = own.split('.').slice(-1)
  const network = own.split('.').slice(0, 3).join('.')
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

const isAddress = (text: string): boolean => text.split('.').every((part) => Number(part) <= 255)

/** The key that requests the scope of one solution: one that was created with it, otherwise root. */
function holderOfOneSolution(talk: Conversation): Credential {
  const [id] = talk.instance.settings.solutions
  const holder = [...talk.testKeys].find(([, { scope }]) => scope?.includes(`solution:${id}`))?.[0]
  return credentialFor(talk, holder ?? actor(talk, 'root'))
}

const tinyLetters = 'abcdefghijklmnopqrstuvwxyz'

/** Three letters: short, and unlikely to occur twice. */
function freshTinyText({ run }: Conversation): string {
  return Array.from({ length: 3 }, () => tinyLetters[run.random.below(tinyLetters.length)]).join('')
}

/**
 * `$bob.publicKey` is the PEM of bob's public key, and `$bob.derived.sha256PemHex` bob's id with a secret that anyone can compute from it.
 * Both are computed only when a fixture uses them.
 */
function withPublicKey(
  credential: Credential,
): Credential & { readonly publicKey?: string; readonly derived?: object } {
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
