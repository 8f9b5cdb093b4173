/** One try of a case: takes its steps in order until one ends it, and has each judged. */
import { SuiteError } from '../errors.ts'
import {
  type Attempt,
  judgeStep,
  type PlacedStep,
  readable,
  type StepVerdict,
  stepEnd,
  type TakenStep,
  takenStep,
} from '../judge/judge-case.ts'
import type { Case, Scenario, Step } from '../language/fixture-types.ts'
import {
  judgementOf,
  type Names,
  referencesIn,
  resolve,
  UnresolvedReference,
  valueAt,
  withCase,
} from '../language/resolve.ts'
import { publicKeyOfSeed } from '../signer/ed25519.ts'
import { derivedSecrets, type Ed25519KeyPair, ed25519KeyPair, publicKeyToPem } from '../signer/pem.ts'
import { shortName, uniqueLength } from '../signer/random.ts'
import { allProves, claimsOfCase } from './cases.ts'
import {
  actor,
  type Conversation,
  type Credential,
  credentialFor,
  isMustIn,
  UnsendableCredentials,
  UnusableValue,
} from './conversation.ts'
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

interface CaseContext {
  talk: Conversation
  names: Names
  /** Names that have no value because a `refused-or` step was refused; later steps that use them are skipped. */
  notGiven: Set<string>
  /** Names of times that the case requested. Judging by them needs no knowledge of the server's clock. */
  requestedTimes: Set<string>
}

/** Runs the given steps and then the others, in order, until one ends the case. */
export async function attemptCase(
  talk: Conversation,
  names: Names,
  scenario: Scenario,
  testCase: Case,
): Promise<Attempt> {
  const context = { talk, names, notGiven: new Set<string>(), requestedTimes: new Set<string>() }
  const isMust = isMustIn(talk.run.corpus)
  const steps = placeSteps(scenario, testCase)
  const taken: TakenStep[] = []
  for (const [index, placed] of steps.entries()) {
    const one = await takeStep(context, placed)
    taken.push(one)
    const { kind } = one.verdict
    // A warning ends nothing: the steps after it can still be judged.
    const ends = kind === 'broke' ? placed.proves.some(isMust) : kind !== 'held' && kind !== 'nothing-expected'
    if (ends) return { taken, left: steps.slice(index + 1) }
  }
  return { taken, left: [] }
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

/** Runs one step and has it judged. */
async function takeStep(context: CaseContext, placed: PlacedStep): Promise<TakenStep> {
  const { talk, names } = context
  const { step } = placed
  const { reason } = talk.run.stopping
  if (reason !== null) return takenStep(placed, stepEnd('blocked', { kind: 'not-run', because: reason }))
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
function judgeNotCalled(error: unknown, { step, given, proves }: PlacedStep, { notGiven }: CaseContext): StepVerdict {
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

/** The built-in names of a case (fixtures/README.md); `beyond`, `holder` and `created` are read when they are used. */
export function builtInNames(
  talk: Conversation,
  { scenario, testCase }: { scenario: Scenario; testCase: Case },
  members: Iterable<string>,
  attempt: number,
): Names {
  const { run, facts, createdKeys, instance } = talk
  const { scopeNames, solutions, probes } = instance.settings
  const letters = 'abcdefghijklmnopqrstuvwxyz'
  // Two cases that run at the same time must not use one name for two sessions.
  const unique = shortName(`${run.unique}-${talk.next('try')}`, uniqueLength)
  const names: Names = {
    case: testCase.values,
    life: suitableLifeMs(talk, attempt, claimsOfCase(scenario, testCase).grants),
    apikey: scopeNames.apikey ?? facts.apikey,
    solutions,
    // The scope that each probe needs in addition to that of its area.
    probes: Object.fromEntries(Object.entries(probes).map(([area, { scope = [] }]) => [area, { scope }])),
    client: { address: facts.clientAddress },
    second: { address: facts.secondAddress },
    elsewhere: addressesElsewhere(facts.clientAddress, facts.secondAddress),
    // Short, and unlikely to occur twice.
    tiny: Array.from({ length: 3 }, () => letters[run.random.below(letters.length)]).join(''),
    unique,
    keypairs: keyPairs(talk, unique),
    /** The key that requests the scope of one solution: one that was created with it, otherwise root. */
    get holder() {
      const holder = [...talk.testKeys].find(([, { scope }]) => scope?.includes(`solution:${solutions[0]}`))
      return credentialFor(talk, holder?.[0] ?? actor(talk, 'root'))
    },
    get beyond() {
      return lifeBeyondRefreshMs(talk)
    },
    get created() {
      return [...createdKeys.keys]
    },
  }
  for (const member of members) names[member] = withPublicKey(credentialFor(talk, actor(talk, member)))
  return names
}

/** Key pairs of this try alone, as `$keypairs.a.publicKey`; each is made when it is used. */
function keyPairs(
  { run }: Conversation,
  unique: string,
): { readonly [letter: string]: { readonly publicKey: string } } {
  const pairOf = (letter: string): Ed25519KeyPair => {
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
