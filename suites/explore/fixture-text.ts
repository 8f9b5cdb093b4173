/**
 * A finding as a scenario: its steps are steps of the fixture language already. Test keys stand for most keys, names become such that a reader can
 * follow, and right calls before the judged one show that the server is not out of order.
 */
import { isDocumentedMethod, sessionLimit } from '../engine/document.ts'
import { counted } from '../engine/group.ts'
import { defined } from '../engine/json.ts'
import { type RawStep, shortened, writtenOut } from '../engine/language/corpus.ts'
import { changesOf, partNamed, readDeviations } from '../engine/language/deviations.ts'
import type { Step as FixtureStep } from '../engine/language/fixture-types.ts'
import { needsOfSteps } from '../engine/language/lint.ts'
import { printScenario } from '../engine/language/yaml-source.ts'
import type { Matchers } from '../engine/model/state.ts'
import { printable } from '../engine/printable.ts'
import { cutLetterForms } from '../engine/signer/bodies.ts'
import type { Since } from '../report/report.ts'
import { sinceLines } from '../report/tell.ts'
import {
  type Auth,
  type BurstStep,
  basic,
  type CallStep,
  type Change,
  callsOf,
  crowdOf,
  ecc,
  findMadeBy,
  grant,
  granteeOf,
  grantOf,
  hmac,
  inDocumentOrder,
  isBurst,
  isCall,
  isChunked,
  isCreation,
  isOfExpiry,
  isRefresh,
  isSigner,
  isWait,
  list,
  madeBy,
  named,
  nameOf,
  namesIn,
  type Outcome,
  pairUsed,
  pause,
  plannedKeys,
  quietMs,
  refreshedIn,
  type Step,
  sessionOf,
  token,
  waitMs,
  wayOf,
  withSessionsTogether,
} from './step.ts'
import { connectionsIn, cutLetters } from './words.ts'

/** The calls that make a key; none where nobody knows them. */
type CreationOf = (key: string) => readonly Step[]

interface FixtureInput {
  readonly requirement: string
  /** The part of the document that says so. */
  readonly part: string
  readonly sentence: string
  readonly message: string
  readonly steps: readonly Step[]
  /** The outcome of each step. */
  readonly outcomes: readonly Outcome[]
  readonly expect: 'accepted' | 'refused'
  /** What the result of the last step must be, where it was accepted with a wrong one. */
  readonly result?: Matchers | undefined
  /** Where a result is wrong: the document lets a server refuse the call as well. */
  readonly mayBeRefused?: boolean
  /** Of calls at once: the one whose answer is wrong, and whether it is wrong whatever the others do. */
  readonly wrong?: { readonly at: number; readonly isByItself: boolean } | undefined
  /** The finding is seen only if calls share a connection, as in these steps. */
  readonly sharesConnection?: boolean
  /** Whether these steps showed the finding when they were tried, or were not tried. */
  readonly isSeenAgain?: boolean
  /** The finding was not seen each time that it was tried. */
  readonly isSeenSometimes?: boolean
  /** How often such a call was refused before, and how often the right call was accepted: a server may count them. */
  readonly before?: { readonly refused: number; readonly accepted: number }
  readonly creationOf?: CreationOf
  /** The methods of the target that disable or delete a key, by their words: `cleanup`, `probe:disable`. */
  readonly endings?: ReadonlyMap<string, string>
  /** What came before the finding, on the server on which it was found. */
  readonly since?: Since | undefined
  /** What a reader must know of a key of the exploration. */
  about?(key: string): string | undefined
  /** What stands in a scenario for a value of this target: `$solutions.0`, `$client.address`. */
  readonly ofTarget?: ReadonlyMap<string, string>
}

/** Thrown where the steps prove nothing about another server; the message says why. */
class Unsayable extends Error {}

/** Writes a finding as a scenario, or says why it cannot be one. */
export function fixtureText(found: FixtureInput): { fixture: string | null; whyNoFixture?: string } {
  const none = (whyNoFixture: string) => ({ fixture: null, whyNoFixture })
  const input = { ...found, steps: found.steps.map((step) => withWordOfEnding(step, found.endings)) }
  const last = input.steps.at(-1)
  if (last === undefined || isWait(last)) return none('it has no call')
  const why = whyOnlyHere(input)
  if (why !== undefined) return none(why)
  try {
    return { fixture: scenarioText(input, last) }
  } catch (error) {
    if (error instanceof Unsayable) return none(error.message)
    throw error
  }
}

/** The call that ends a key by the word for it, so that other targets are called in their own way. */
function withWordOfEnding(step: Step, endings: FixtureInput['endings']): Step {
  const word = isCall(step) ? endings?.get(step.call) : undefined
  if (!isCall(step) || word === undefined) return step
  const [key = ''] = namesIn({ ...step, auth: 'none' })
  return { ...step, call: word, params: { id: `$${key}.id` } }
}

const isEnding = (step: Step): boolean => isCall(step) && /^(cleanup|probe:disable)$/.test(step.call)

/** Why the steps alone would accuse other servers, or disturb other scenarios. */
function whyOnlyHere(input: FixtureInput): string | undefined {
  const { requirement, steps, expect, isSeenAgain = true } = input
  if (!isSeenAgain) return 'it was not seen again, so these steps do not show it'
  if (tooManyLive(input) !== undefined) return undefined
  const isOfSession = requirement.startsWith('sessions/') || requirement === 'refresh/session-kept'
  if (!isOfSession || isSameInEveryReading(steps) || (expect === 'refused' && isPushedOut(steps))) return undefined
  return 'which session is the oldest rests on what this target showed before'
}

/** A crowd of sessions of which more live than may. */
const tooManyLive = (input: FixtureInput): NonNullable<ReturnType<typeof crowdOf>> | undefined =>
  input.expect === 'refused' ? crowdOf(input) : undefined

/** A step, and what the scenario says of it beside the call. */
interface Line {
  readonly step: Step
  readonly more?: RawStep
}

function scenarioText(input: FixtureInput, last: CallStep | BurstStep): string {
  const { keys, creations } = keysOfScenario(input.steps, input.creationOf ?? (() => []))
  const repeated = isBurst(last) ? notRepeated : repeatedAs(input, last)
  const judged = judgedLine(last, input, repeated.times)
  const crowd = tooManyLive(input)
  const controls = controlsOf(judged.step, input, keys).map((step): Line => {
    const isPlain = step.body === undefined && !isChunked(step)
    const title = `control: the server ${isPlain ? 'accepts a right call' : 'takes such a body'}`
    const times = nameOf(step) === undefined ? repeated.controls : 1
    const more = { step: title, ...(times > 1 ? { repeat: times } : {}), expect: 'accepted' }
    return { step: { ...step, connection: 'new' }, more }
  })
  const created = creations.map((step): Line => ({ step, more: { expect: 'accepted' } }))
  const before = crowd === undefined ? preparations(input) : [crowdLine(crowd.burst)]
  const given = withControls([...created, ...before, ...untilExpiry(input, last)], controls, created.length)
  const lines = [...given, crowd === undefined ? judged : usesOfCrowd]
  const steps = namedSteps(lines, keys, input)
  const needs = new Set([
    ...needsOfSteps(steps.map(writtenOut) as unknown as FixtureStep[]),
    ...(crowd === undefined ? [] : ['limits']),
  ])
  return printScenario({
    scenario: input.sentence,
    why: `Found by the model: ${input.message}. See part ${input.part} of the document.`,
    proves: [input.requirement],
    ...(needs.size > 0 ? { needs: [...needs].sort().reverse() } : {}),
    comments: [...commentLines(input, keys), ...repeated.why],
    given: steps.slice(0, -1),
    steps: steps.slice(-1),
  })
}

/** What the finding rests on: where another server answers otherwise, it says nothing about that server. */
function preparations(input: FixtureInput): Line[] {
  const expectOf: { readonly [outcome in Outcome]: RawStep } = {
    accepted: { expect: 'accepted' },
    refused: { expect: 'refused', 'if-accepted': 'the finding rests on the refusal of this call' },
    broken: {},
  }
  return withSessionsTogether(input, 'put in')
    .slice(0, -1)
    .map(({ steps: [step, ...others], outcome }): Line => {
      const more = isCall(step) ? expectOf[outcome] : {}
      return others.length === 0
        ? { step, more }
        : { step: asRepeated(step), more: { repeat: others.length + 1, ...more } }
    })
}

/** The grants of a crowd, whose results are kept as `$sessions`. */
function crowdLine(burst: BurstStep): Line {
  const [first] = callsOf(inDocumentOrder(burst))
  if (first === undefined) throw new Unsayable('there are no calls')
  const { keep: _keep, ...one } = first
  const scope = Array.isArray(one.params.scope) ? one.params.scope : []
  const words = scope.map((word) => (String(word).startsWith('session:') ? 'session:s$n$unique' : word))
  return {
    step: { ...one, params: { ...one.params, scope: words } },
    more: {
      parallel: callsOf(burst).length,
      connections: burst.connections,
      tally: { accepted: 'at-least 1' },
      keep: { sessions: 'result' },
    },
  }
}

/** Uses every session of a crowd: not more of them may live than the document says. */
const usesOfCrowd: Line = {
  step: list({ token: '$it.accessToken' }),
  more: { for: '$sessions', tally: { accepted: `at-most ${sessionLimit}` } },
}

/** That a token has expired rests on the expiry that the target reported. On another server the same time may be in the future. */
function untilExpiry({ requirement, expect }: FixtureInput, last: CallStep | BurstStep): Line[] {
  if (!isOfExpiry(requirement) || expect === 'accepted' || isBurst(last)) return []
  const access = pairUsed(last)
  const pair = access ?? refreshedIn(last)
  if (pair === undefined) throw new Unsayable('the expired token is of no pair of these steps')
  const expiry = access === undefined ? 'refreshTokenExpiry' : 'accessTokenExpiry'
  return [{ step: pause(0), more: { wait: { past: `$${pair}.${expiry}` } } }]
}

/** Controls come as early as they can: a right call between wrong ones may change what a server thinks of a caller. */
function withControls(lines: readonly Line[], controls: readonly Line[], earliest: number): Line[] {
  const given = [...lines]
  for (const control of controls) {
    const wanted = namesIn(control.step)
    const after = given.findLastIndex(({ step }) => madeBy(step).some((name) => wanted.includes(name)))
    given.splice(Math.max(earliest, after + 1), 0, control)
  }
  return given
}

// What is judged.

/** How often a call is repeated whose finding was not seen each time. */
const repetitions = 30

function judgedLine(last: CallStep | BurstStep, input: FixtureInput, times: number) {
  if (isBurst(last)) return judgedAtOnce(last, input)
  // A demand may compare one value of a result with another; otherwise nothing uses the result.
  const { keep: _keep, ...plain } = last
  const step = input.result === undefined ? plain : named(plain, nameOf(last) ?? 'judged')
  return { step, more: { ...(times < 2 ? {} : { repeat: times }), expect: expected(input, step) } }
}

/**
 * Of refreshes of one token at once at most one is accepted. Of other calls the wrong one is judged, if its answer is wrong whatever the
 * others do.
 */
function judgedAtOnce(last: BurstStep, { wrong, expect }: FixtureInput) {
  const calls = callsOf(inDocumentOrder(last)).map(plainAtOnce)
  const at = wrong?.at ?? calls.findIndex(isRefresh)
  const judged = calls[at]
  if (judged === undefined) throw new Unsayable('which of the calls at once is wrong is not known')
  const isLike = (call: CallStep): boolean => JSON.stringify(call) === JSON.stringify(judged)
  const others = calls.filter((call, index) => index !== at && !(isRefresh(judged) && isLike(call)))
  const step: BurstStep = { ...judged, beside: others, connections: last.connections }
  const count = calls.length - others.length
  if (count > 1) return { step, more: { parallel: count, tally: { accepted: 'at-most 1' } } }
  if (wrong?.isByItself === true || expect === 'accepted') return { step, more: { expect } }
  throw new Unsayable('which of the calls at once is wrong follows from their order, which a scenario cannot know')
}

/** What matters of a call that is made at once with others. */
const plainAtOnce = ({ keep: _keep, connection: _connection, id: _id, ...call }: CallStep): CallStep => call

const notRepeated = { times: 1, controls: 1, why: [] as string[] }

/** How often the last call is made, how often its control, and why. */
function repeatedAs({ before, expect, steps, isSeenSometimes }: FixtureInput, last: CallStep): typeof notRepeated {
  // The token was new each time that the steps were run, and let in at once.
  const isOfNewToken = last.alter === undefined && steps.flatMap(madeBy).some((name) => namesIn(last).includes(name))
  const isCounted = expect === 'refused' && !isOfNewToken && !isCreation(last) && !isRefresh(last)
  if (before === undefined || before.refused === 0 || !isCounted) {
    // Other calls make something with each repetition.
    if (isSeenSometimes !== true || last.call !== 'solution/listSolutions') return notRepeated
    return { ...notRepeated, times: repetitions, why: ['the last call is repeated: not each try showed this'] }
  }
  const refused = Math.min(repetitions - 1, before.refused)
  const controls = Math.min(repetitions - 1, before.accepted)
  const why = [
    `the last call is repeated: it was accepted after ${counted(refused, 'refusal')}`,
    ...(controls > 1 ? ['the control is repeated: as many right calls came before'] : []),
  ]
  return { times: refused + 1, controls, why }
}

// What the document demands of the answer to the last call of a finding, as `expect` says it.

const schemaOf: { readonly [method: string]: string } = {
  'manager/auth': 'auth-result',
  'manager/createApiKey': 'create-api-key-result',
  'solution/listSolutions': 'list-solutions-result',
}

/** The results that a schema describes, and those that a matcher does; an accepted answer without `jsonrpc` or with another id is no envelope. */
function expected(input: FixtureInput, last: CallStep): unknown {
  const { requirement, expect, result } = input
  if (result === undefined || requirement === 'envelope/id-echo' || requirement === 'envelope/response-jsonrpc')
    return expect
  const schema = schemaOf[last.call]
  if (schema === undefined) throw new Unsayable('no schema describes the result of this method')
  const isOfSchema = /^(grants\/result-|keys\/create-result$|envelope\/result-object$)/.test(requirement)
  const where = { ...result, ...ofOtherValues(input, last) }
  const isMatched = Object.keys(where).length > 0
  if (!isOfSchema && !isMatched) throw new Unsayable('no matcher says what the result must be')
  if (requirement === 'refresh/scopes-kept' && !wasRequested(input))
    throw new Unsayable('another server may grant other scopes')
  const accepted = { accepted: schema, ...(isMatched ? { where } : {}) }
  return input.mayBeRefused === true ? { 'refused-or': accepted } : accepted
}

/** The scope that a pair is granted may be wider on another server, so a word counts only where it was requested. */
function wasRequested({ steps, result }: FixtureInput): boolean {
  const { includes } = result?.['result.scope'] ?? {}
  return steps
    .flatMap(callsOf)
    .some(({ params }) => JSON.stringify(params.scope ?? []).includes(`"${String(includes)}"`))
}

/** What the document demands of a result by other values. */
function ofOtherValues({ requirement, steps, result = {} }: FixtureInput, last: CallStep): Matchers {
  const made = steps.slice(0, -1).flatMap(madeBy)
  if (requirement === 'refresh/pair-differs') return otherPair(made)
  // A larger NUMBER does not end earlier than a smaller one.
  if (requirement === 'expires-in/reported' && Object.keys(result).length === 0 && made.length > 0)
    return { 'result.accessTokenExpiry': { 'at-least': `$${made.at(-1)}.accessTokenExpiry` } }
  if (requirement !== 'expires-in/within-refresh-lifetime' && requirement !== 'grants/expiry-order') return {}
  return { 'result.accessTokenExpiry': { 'at-most': `$${nameOf(last)}.refreshTokenExpiry` } }
}

/** Both tokens of a refresh are others than all before. */
function otherPair(made: readonly string[]): Matchers {
  if (made.length === 0) throw new Unsayable('the earlier pair is not among these steps')
  const noneOf = (kind: string): Matchers[string] => ({
    is: { not: { enum: made.map((name) => `$${name}.${kind}`) } },
  })
  return { 'result.accessToken': noneOf('accessToken'), 'result.refreshToken': noneOf('refreshToken') }
}

// The right calls of a scenario, which show that a server is not out of order.

/** Those of the judged call, and one of each method of which a call must be refused before it. */
function controlsOf(judged: CallStep | BurstStep, input: FixtureInput, keys: Keys): CallStep[] {
  const { steps, outcomes } = input
  const refused = steps
    .slice(0, -1)
    .flatMap((step, at) => (isCall(step) && outcomes[at] === 'refused' ? [step.call] : []))
  return [
    ...(isBurst(judged) ? [rootCall('solution/listSolutions')] : controlsFor(judged, input, keys)),
    ...[...new Set(refused)].filter((method) => isDocumentedMethod(method)).map(rootCall),
  ]
}

/** Right calls that are accepted on a server which is not out of order: the same call, or one by the same key. */
function controlsFor(judged: CallStep, { expect, steps }: FixtureInput, keys: Keys): CallStep[] {
  const { alter, keep: _keep, ...plain } = judged
  if (expect === 'accepted') return likeCalls(judged)
  if (isCreation(judged) || isRefresh(judged)) return [rootCall(judged.call)]
  const isListing = judged.call === 'solution/listSolutions'
  if (isListing && judged.auth === 'none') return [{ ...plain, auth: basic('root') }]
  const used = namesIn(plain).map(ownerOf)
  if (alter !== undefined && !used.some((key) => isUsedAsSecret(key, plain, keys))) return [plain]
  const owner = granteeOf(pairUsed(judged), findMadeBy(steps))
  if (owner !== undefined && keys.get(owner)?.listsSolutions === true) return withToken(owner)
  const byKey = used.flatMap((key) => rightCallBy(key, keys))
  return byKey.length > 0 && isListing ? byKey : [...byKey, rootCall(judged.call)]
}

/** What the document does not show, so that a server may refuse it to everybody: bodies with further members or in chunks, and nonces with padding. */
const openForms: readonly string[] = ['extra-member', 'member-twice', 'params-twice', ...Object.keys(cutLetterForms)]
const addsMember = (form: CallStep['body']): boolean =>
  typeof form === 'string' && (form.startsWith('with-') || openForms.includes(form))

/** Calls of root in the same form, where a server may refuse that form to everybody; it may refuse a long body, so root sends one nearly as long. */
function likeCalls({ call: method, body, headers, from, nonce, auth }: CallStep): CallStep[] {
  const more = {
    ...(addsMember(body) && body !== undefined ? { body } : {}),
    ...(typeof body === 'object' ? { body: { size: body.size - 1 } } : {}),
    ...defined({ headers, from }),
  }
  const isOfRoot = (way: Auth): boolean => JSON.stringify(auth) === JSON.stringify(way)
  const right = rootCall(method)
  const like = isOfRoot(basic('root')) && addsMember(body) ? { ...right, auth: hmac('root') } : right
  const padded = nonce === 'padded' && !isOfRoot(hmac('root')) ? [list(hmac('root'), { nonce })] : []
  return [{ ...like, ...more }, ...padded]
}

/** Whether a key with a public key is used by its secret, which proves nothing. */
const isUsedAsSecret = (key: string, { auth }: CallStep, keys: Keys): boolean =>
  keys.get(key)?.hasPublicKey === true && !['ecc', 'token'].includes(wayOf(auth))

/** A token of the same key that opens the Solution API. */
const withToken = (who: string): CallStep[] => [
  inDocumentOrder(grant(who, ['solution'], { as: rightPair })),
  list(token(rightPair)),
]

const rightPair = 'right'

/** A right call by a key, before it is used wrongly. */
function rightCallBy(who: string, keys: Keys): CallStep[] {
  const { name, listsSolutions = false, hasPublicKey = false } = keys.get(who) ?? {}
  return name === 'root' || !listsSolutions ? [] : [list(hasPublicKey ? ecc(who) : basic(who))]
}

const rootCall = (method: string): CallStep =>
  method === 'manager/auth' ? inDocumentOrder(grant('root', ['solution'])) : list(basic('root'))

// The keys of a scenario.

/** A key of the exploration in a scenario. */
interface ScenarioKey {
  /** Of a test key, or by which the scenario keeps the one that it creates. */
  readonly name: string
  readonly isTestKey?: boolean
  readonly hasPublicKey?: boolean
  /** The name that a created key is given. */
  readonly label?: string
  readonly listsSolutions?: boolean
}

type Keys = ReadonlyMap<string, ScenarioKey>

const root = { name: 'root', isTestKey: true, listsSolutions: true }

/** The test key that stands for a key which is created in the same way. @param isBefore it was there before the exploration */
function standInFor(key: string, isBefore: boolean): ScenarioKey | undefined {
  const { member, scope } = plannedKeys[key] ?? {}
  if (member === undefined || (member === 'carol' && !isBefore)) return undefined
  return { name: member, isTestKey: true, hasPublicKey: isSigner(key), listsSolutions: scope === undefined }
}

/** `ecc-a-own.publicKey` belongs to `ecc-a`. */
export const ownerOf = (name: string): string => name.replace(/-own$/, '')

/**
 * Test keys have names of their own, so that they stand for no two keys that may have one name.
 *
 * @returns creations: the calls that create those which no test key stands for
 */
function keysOfScenario(steps: readonly Step[], creationOf: CreationOf) {
  const keysIn = (step: Step): string[] =>
    [...new Set(namesIn(step).map(ownerOf))].filter(
      (key) => plannedKeys[key]?.member !== undefined || creationOf(key).length > 0,
    )
  // A key that the steps create is there already.
  const own = new Set(steps.flatMap(madeBy))
  const wanted = [...new Set(steps.flatMap(keysIn))].filter((key) => !own.has(key))
  const ended = new Set(
    steps.flatMap((step) => (isCall(step) && isEnding(step) ? namesIn({ ...step, auth: 'none' }) : [])),
  )
  const named = new Map<string, ScenarioKey>([['root', root]])
  const creations: Step[] = []
  const take = (key: string, mayStandIn: boolean): void => {
    if (named.has(key)) return
    const made = creationOf(key)
    const standIn = standInFor(key, made.length === 0)
    if (ended.has(key) && made.length === 0) throw new Unsayable('no scenario may disable or delete a test key')
    if (standIn !== undefined && !ended.has(key) && (mayStandIn || made.length === 0))
      return void named.set(key, standIn)
    for (const step of made) {
      for (const other of keysIn(step)) if (other !== key) take(other, true)
      if (!creations.includes(step)) creations.push(step)
    }
    const creation = made.flatMap(callsOf).find((call) => nameOf(call) === key)
    if (creation !== undefined) named.set(key, createdKey(creation, named))
  }
  for (const key of wanted) take(key, wanted.length < 2)
  return { keys: named, creations: creations.flatMap((step) => plainCreation(step, named)) }
}

/** `key`, `key-2`, … in the order in which they are created. */
function createdKey(creation: CallStep, named: Keys): ScenarioKey {
  const { name = nameOf(creation) ?? '', scope, publicKey } = creation.params
  const count = [...named.values()].filter(({ label }) => label !== undefined).length
  // Some keys get the name of another on purpose.
  const [, other] = /^\$([\w-]+)\.name$/.exec(String(name)) ?? []
  return {
    name: count === 0 ? 'key' : `key-${count + 1}`,
    label: other === undefined ? String(name) : (named.get(other)?.label ?? `${other}-$unique`),
    hasPublicKey: publicKey !== undefined,
    listsSolutions: JSON.stringify(scope).includes('"solution"'),
  }
}

/** The id of the explorer's creation means nothing, and of creations at once each is made alone. */
function plainCreation(step: Step, keys: Keys): CallStep[] {
  return callsOf(step).flatMap((call): CallStep[] => {
    if (!isCreation(call)) return [{ ...call, connection: 'new' }]
    const { id: _id, ...creation } = call
    const label = keys.get(nameOf(call) ?? '')?.label
    if (label === undefined) return []
    return [{ ...creation, connection: 'new', params: { ...creation.params, name: label } }]
  })
}

// The steps of the scenario, with names that a reader can follow.

/** A name in a reference, or in `keep`; `${unique}` stays as it is. */
const references = /\$([a-z]\w*(?:-\w+)*)((?:\.\w+)*)/gi

/** What a step keeps of a call that later ones use, by names that begin with `$` like the references to them. */
const keptOf = (call: CallStep, used: ReadonlySet<string>): RawStep =>
  Object.fromEntries(
    Object.entries({ '': 'result', '-header': 'sent.header', '-signature': 'sent.signature' }).flatMap(
      ([part, path]) => {
        const name = `${nameOf(call)}${part}`
        return used.has(name) ? [[`$${name}`, path]] : []
      },
    ),
  )

/** In place of digits that belong to one exploration. */
const digits = '4711'

function namedSteps(
  lines: readonly Line[],
  keys: Keys,
  { ofTarget = new Map(), sharesConnection = false }: FixtureInput,
): RawStep[] {
  const connectionOf = sharesConnection ? connectionsIn(lines.map(({ step }) => step)) : () => undefined
  const texts = JSON.stringify(lines, (name, value) => (name === 'keep' ? undefined : value))
  const used = new Set(Array.from(headersApart(texts).matchAll(references), ([, name = '']) => name))
  const steps = lines.map((line) => writtenLine(line, used, connectionOf))
  const names = friendlyNames(keys, steps)
  const pairs: string[] = []
  const other = (whole: string, name: string, path: string): string => {
    if (['unique', 'n', 'it', 'sessions'].includes(name)) return whole
    if (name === 'digits') return digits
    const owner = ownerOf(name)
    const { name: known = names.get(name), label, isTestKey } = keys.get(owner) ?? {}
    if (path === '.publicKey' && isTestKey !== true) {
      if (!pairs.includes(owner)) pairs.push(owner)
      return `$keypairs.${String.fromCharCode(97 + pairs.indexOf(owner))}${path}`
    }
    if (path === '.name' && label !== undefined) return label
    if (known === undefined) throw new Unsayable(`what ${name} is rests on calls before these steps`)
    return `$${known}${path}`
  }
  const text = withShortSessions(headersApart(JSON.stringify(steps))).replace(references, other)
  const ofAnyTarget = [...ofTarget].reduce((all, [value, name]) => all.replace(wholeText(value), () => name), text)
  const callers = [...keys.values()].flatMap(({ name, isTestKey }) => (isTestKey === true ? [`$${name}`] : []))
  return (JSON.parse(ofAnyTarget) as RawStep[]).map((step) => asWritten(step, callers))
}

/** `$sent.header` is kept by a name of its own. */
const headersApart = (texts: string): string => texts.replace(/(\$[\w-]+)\.(header|signature)\b/g, '$1-$2')

/** A line as a step of the language, with the names of the exploration. */
function writtenLine(
  { step, more = {} }: Line,
  used: ReadonlySet<string>,
  connectionOf: (step: CallStep) => string | undefined,
): RawStep {
  // Why such a pause is made is not seen from the steps.
  if (isWait(step))
    return {
      ...(waitMs(step) === quietMs ? { step: 'a server may note the age of a session in whole seconds' } : {}),
      ...step,
      ...more,
    }
  const write = (call: CallStep, keep = keptOf(call, used)): RawStep => {
    const { keep: _keep, connection: _connection, from = 'first-address', ...rest } = call
    return {
      ...rest,
      ...(from === 'first-address' ? {} : { from }),
      ...(Object.keys(keep).length === 0 ? {} : { keep }),
    }
  }
  if (isCall(step)) return { ...write(step), ...defined({ connection: connectionOf(step) }), ...more }
  const { connections, beside, ...first } = step
  if ('parallel' in more || !isOfEqualCalls(step)) {
    const others = beside.map((call) => write(call))
    return { ...write(first), ...(others.length === 0 ? {} : { beside: others }), connections, ...more }
  }
  // Those that were accepted are a list.
  const names = callsOf(step).flatMap((call) => nameOf(call) ?? [])
  const keep = Object.fromEntries(names.filter((name) => used.has(name)).map((name) => [`$${name}`, 'result']))
  return { ...write(first, keep), parallel: callsOf(step).length, connections, ...more }
}

/** Whether calls at once differ in nothing but their names. */
const isOfEqualCalls = (step: BurstStep): boolean =>
  new Set(callsOf(step).map((call) => JSON.stringify(plainAtOnce(call)))).size === 1

const wordsOfMade: { readonly [method: string]: string } = { 'manager/auth': 'pair', 'manager/createApiKey': 'made' }

/** `pair`, `pair-2`, … in the order in which they are made; of equal calls at once `pair.0`, `pair.1`, … */
function friendlyNames(keys: Keys, steps: readonly RawStep[]): ReadonlyMap<string, string> {
  const names = new Map<string, string>([[rightPair, 'right-pair']])
  const counts = new Map<string, number>()
  const name = ({ call, keep = {}, parallel, beside = [] }: RawStep): void => {
    const made = Object.keys(keep as RawStep).flatMap((kept) => (kept.startsWith('$') ? kept.slice(1) : []))
    // A call whose header alone is used makes no pair.
    const word = wordsOfMade[String(call)] ?? 'sent'
    for (const [at, one] of made.entries()) {
      const [, base = one, part = ''] = /^(.*?)(-(?:header|signature))?$/.exec(one) ?? []
      if (keys.has(base) || names.has(one)) continue
      const isNext = parallel !== undefined && at > 0
      if (!isNext && !names.has(base)) counts.set(word, (counts.get(word) ?? 0) + 1)
      const count = counts.get(word) ?? 0
      const own = names.get(base) ?? (count === 1 ? word : `${word}-${count}`)
      names.set(base, parallel === undefined ? own : `${own}.${at}`).set(one, `${names.get(base)}${part}`)
    }
    for (const one of beside as RawStep[]) name(one)
  }
  for (const step of steps) name(step)
  return names
}

/** Names of sessions that say nothing, and may be too long for another server. The order of the letters in front may matter. */
const plainSession =
  /session:(?:pair\d+|first-of-all-sessions|life|ended|wrong-\d+|(?:before|unknown)-[\w-]+|\d+[xs]\d+|twice\d+|(?:alpha|mike|zulu)-s\d+)-\$unique/g

function withShortSessions(texts: string): string {
  const found = [...new Set(texts.match(plainSession))]
  return texts.replace(plainSession, (session) => {
    const letter = /^session:([amz])(?:lpha|ike|ulu)-/.exec(session)?.[1] ?? 's'
    return `session:${letter}${(found.indexOf(session) + 10).toString(36)}$unique`
  })
}

/** An address may begin with another one. */
const wholeText = (value: string): RegExp =>
  new RegExp(`(?<![\\w.])${value.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')}(?![\\w.:])`, 'g')

/** A step as a person would write it. @param callers the test keys, which callers are named by without a `$` */
function asWritten({ auth, keep, beside, params, ...step }: RawStep, callers: readonly string[]): RawStep {
  const bare = (who: string): string => (callers.includes(who) ? who.slice(1) : who)
  const byCaller = (one: Auth): unknown =>
    typeof one === 'string' ? one : Object.fromEntries(Object.entries(one).map(([way, who]) => [way, bare(who)]))
  const kept = Object.entries((keep ?? {}) as RawStep).map(([name, path]) => [name.replace(/^\$|\.0$/g, ''), path])
  return shortened(
    {
      ...step,
      ...(auth === undefined ? {} : { auth: byCaller(auth as Auth) }),
      ...(Object.keys(params ?? {}).length === 0 ? {} : { params }),
      ...(Array.isArray(beside) ? { beside: beside.map((one: RawStep) => asWritten(one, callers)) } : {}),
      ...(kept.length === 0
        ? {}
        : { keep: Object.fromEntries(kept.slice(0, step.parallel === undefined ? kept.length : 1)) }),
    },
    bare,
  )
}

// What a reader of a scenario asks: which key is which, and what an operation does.

/** Comments of the scenario. */
function commentLines({ steps, about, since }: FixtureInput, keys: Keys): string[] {
  const calls = steps.flatMap(callsOf)
  const cut = calls.flatMap(({ body }) =>
    typeof body === 'string' && body.startsWith('cut-letters') ? [`${body} is ${cutLetters}`] : [],
  )
  const changes = calls.flatMap(({ alter }) => changesOf(alter)).flatMap(changeComment)
  // A line feed would end the comment.
  return [...new Set([...keyComments(keys, about), ...changes, ...cut, ...sinceLines({ since })])].map((text) =>
    printable(text),
  )
}

/** Test keys have other names than the keys of the report. */
function keyComments(keys: Keys, about: FixtureInput['about']): string[] {
  return [...keys].flatMap(([key, { name, isTestKey }]) => {
    const text = about?.(key)
    return text === undefined ? [] : [`${isTestKey === true ? name : `$${name}`} is ${key} of the report: ${text}`]
  })
}

function changeComment({ field, operation }: Change): string[] {
  const part = partNamed(field)
  if (part?.says === undefined) return []
  const { text, bytes } = readDeviations()
  const namedOf: { readonly [operations: string]: (name: string) => unknown } = { text, bytes }
  const data = operation === undefined ? undefined : namedOf[part.operations]?.(operation)
  const what = data === undefined ? '' : `; ${operation} is ${JSON.stringify(data)} in fixtures/deviations.yaml`
  return [`${field} is ${part.says}${what}`]
}

/** Steps that are alike as a repeated call; in the names of sessions that were put in `$n` counts from 1. */
function asRepeated(step: Step): Step {
  if (!isCall(step)) return step
  const { keep: _keep, ...rest } = step
  return JSON.parse(JSON.stringify(rest).replace(/session:([nob])\d+\$unique/, 'session:$1$$n$$unique')) as CallStep
}

/** A right grant that makes a session. */
function grantedBy(step: Step | undefined): { readonly session: string; readonly who: string } | undefined {
  if (!isCall(step) || step.alter !== undefined || step.params.grantType !== 'api_key_credentials') return undefined
  const session = sessionOf(step)
  return session === undefined ? undefined : { session, who: String(step.params.apiKeyId) }
}

/**
 * Whether every step before the last one makes a new session of one key. Otherwise a finding about the oldest session rests on what the target
 * showed before, and the steps alone would accuse servers of another reading.
 */
function isSameInEveryReading(steps: readonly Step[]): boolean {
  const made = steps.slice(0, -1).filter((step) => !('wait' in step))
  const granted = made.flatMap((step) => grantedBy(step) ?? [])
  return (
    new Set(granted.map(({ session }) => session)).size === made.length &&
    new Set(granted.map(({ who }) => who)).size === 1
  )
}

/**
 * Whether sixteen newer sessions of its key followed one another when nothing was done with the session of the last step: then it was removed in every
 * reading, and a later session of its name is another one.
 */
function isPushedOut(steps: readonly Step[]): boolean {
  const last = steps.at(-1)
  const pair = isCall(last) ? (pairUsed(last) ?? refreshedIn(last)) : undefined
  const before = steps.slice(0, -1).filter((step) => !('wait' in step))
  const first = grantedBy(grantOf(pair, findMadeBy(steps))) ?? before.flatMap((step) => grantedBy(step) ?? [])[0]
  if (first === undefined) return false
  const isFirst = (step: Step): boolean => JSON.stringify(grantedBy(step)) === JSON.stringify(first)
  let newer = new Set<string>()
  for (const step of before.slice(before.findIndex(isFirst) + 1)) {
    const granted = grantedBy(step)
    if (granted === undefined || isFirst(step)) newer = new Set()
    else if (granted.who === first.who) newer.add(granted.session)
    if (newer.size >= sessionLimit) return true
  }
  return false
}
