/** Writes a finding as a scenario, if the fixture language has words for it. */
import { hasDocumentedResult } from '../engine/document.ts'
import { counted } from '../engine/group.ts'
import { readDeviations } from '../engine/language/deviations.ts'
import type { Matchers } from '../engine/model/state.ts'
import { printable } from '../engine/printable.ts'
import { cutLetterForms } from '../engine/signer/bodies.ts'
import { partNamed } from '../engine/signer/changed-call.ts'
import type { NamedOperations } from '../engine/signer/operations.ts'
import type { Since } from '../report/report.ts'
import { sinceLines } from '../report/tell.ts'
import {
  type CreationOf,
  crowdText,
  crowdUses,
  freeOwner,
  isRefresh,
  keysOfScenario,
  type Named,
  type Names,
  ofAnyTarget,
  ownerOf,
  quoted,
  raceText,
  stepText,
  Unsayable,
} from './fixture-words.ts'
import {
  asRepeated,
  type Crowd,
  callsOf,
  crowdOf,
  findMadeBy,
  granteeOf,
  isPushedOut,
  isSameInEveryReading,
  madeBy,
  type Outcome,
  refreshedIn,
  withOtherSessionsTogether,
} from './sequences.ts'
import {
  type Auth,
  type BurstStep,
  type CallStep,
  type Change,
  grant,
  inDocumentOrder,
  list,
  namesIn,
  type Step,
} from './step.ts'
import { connectionsIn, cutLetters, noneShared } from './words.ts'

interface Counts {
  readonly refused: number
  readonly accepted: number
}

export interface FixtureInput {
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
  /** The finding is seen only if calls share a connection, as in these steps. */
  readonly sharesConnection?: boolean
  /** Whether these steps showed the finding when they were tried, or were not tried. */
  readonly isSeenAgain?: boolean
  /** The finding was not seen each time that it was tried. */
  readonly isSeenSometimes?: boolean
  /** How often such a call was refused before, and how often the right call was accepted: a server may count them. */
  readonly before?: Counts
  readonly creationOf?: CreationOf
  /** What came before the finding, on the server on which it was found. */
  readonly since?: Since | undefined
  /** What a reader must know of a key of the exploration. */
  about?(key: string): string | undefined
  /** What stands in a scenario for a value of this target: `$solutions.0`, `$client.address`. */
  readonly ofTarget?: ReadonlyMap<string, string>
}

// Writes a finding as a scenario, if the fixture language has words for it.

/** A finding as a scenario, or why there is none. */
export type WrittenFinding = { readonly text: string } | { readonly why: string }

export function fixtureText(input: FixtureInput): WrittenFinding {
  const last = input.steps.at(-1)
  if (last === undefined || last.do === 'wait') return { why: 'it has no call' }
  const why = whyOnlyHere(input)
  if (why !== undefined) return { why }
  try {
    return { text: scenarioText(input, last) }
  } catch (error) {
    if (error instanceof Unsayable) return { why: error.message }
    throw error
  }
}

/** Why the steps alone would accuse other servers, or disturb other scenarios. */
function whyOnlyHere(input: FixtureInput): string | undefined {
  const { requirement, steps, expect, isSeenAgain = true } = input
  if (!isSeenAgain) return 'it was not seen again, so these steps do not show it'
  if (tooManyLive(input) !== undefined) return undefined
  if (requirement.startsWith('keys/can-be-')) return 'no scenario may disable or delete a test key'
  const isOfSession = requirement.startsWith('sessions/') || requirement === 'refresh/session-kept'
  if (!isOfSession || isSameInEveryReading(steps) || (expect === 'refused' && isPushedOut(steps))) return undefined
  return 'which session is the oldest rests on what this target showed before'
}

/** A crowd of sessions of which more live than may. */
const tooManyLive = (input: FixtureInput): Crowd | undefined =>
  input.expect === 'refused' ? crowdOf(input) : undefined

function scenarioText(input: FixtureInput, last: CallStep | BurstStep): string {
  const needs = new Set<string>()
  const { named, creations } = keysOfScenario(input.steps, input.creationOf ?? (() => []))
  const judged = judgedStep(last, input)
  const names = friendlyNames(named, [...creations, ...input.steps, judged], input)
  const write = (step: Step, expect: string | null): Line => ({ step, text: stepText(step, names, needs, { expect }) })
  const crowd = tooManyLive(input)
  const groups = crowd === undefined ? withOtherSessionsTogether(input).slice(0, -1) : []
  const before = groups.map(({ steps: [step, ...more], outcome }): Line => {
    const expect = preparationText(outcome)
    return more.length === 0 ? write(step, expect) : times(more.length + 1, write(asRepeated(step), expect))
  })
  if (crowd !== undefined) before.push({ step: crowd.burst, text: crowdText(crowd.burst, names, needs) })
  const counts = countsBefore(input, last)
  const titleOf = ({ form, inChunks }: CallStep): string =>
    form === undefined && inChunks === undefined
      ? 'control: the server accepts a right call'
      : 'control: the server takes such a body'
  const ofRefusals = methodsOfRefusals(input)
    .filter((method) => hasDocumentedResult(method))
    .map(rootCall)
  const controls = [...controlsFor(last, input, names), ...ofRefusals].map((step): Line => {
    const line = {
      step,
      text: stepText({ ...step, connection: 'new' }, names, needs, { expect: 'accepted', title: titleOf(step) }),
    }
    return counts !== null && madeBy(step).length === 0 ? times(counts.accepted, line) : line
  })
  const created = creations.map((step) => write(step, 'accepted'))
  const judgedLine = crowd === undefined ? judgedText(judged, input, names, needs) : crowdUses
  const given = withControls([...created, ...before, ...untilExpiry(input, last, names)], controls, creations.length)
  const lines = withoutUnusedKeeps([...given.map(({ text }) => text), judgedLine])
  return [
    `scenario: ${quoted(input.sentence)}`,
    `why: ${quoted(`Found by explore: ${input.message}. See part ${input.part} of the document.`)}`,
    `proves: [${input.requirement}]`,
    ...(needs.size > 0 ? [`needs: [${[...needs].sort().reverse().join(', ')}]`] : []),
    ...commentLines(input, named),
    ...whyRepeated(input, judged, counts),
    'given:',
    ...lines.slice(0, -1).map((text) => `  - ${text}`),
    'steps:',
    `  - ${lines.at(-1)}`,
    '',
  ].join('\n')
}

/** A demand may compare one value of a result with another; otherwise nothing uses the result. */
function judgedStep(last: CallStep | BurstStep, { result }: FixtureInput): CallStep | BurstStep {
  if (last.do === 'burst') return last
  const { as = 'judged', ...call } = last
  return result === undefined ? call : { ...call, as }
}

/** What the finding rests on: where another server answers otherwise, it says nothing about that server. */
function preparationText(outcome: Outcome): string | null {
  if (outcome === 'accepted') return outcome
  return outcome === 'broken'
    ? null
    : `refused, if-accepted: ${quoted('the finding rests on the refusal of this call')}`
}

/** Every refusal has a right call of its method before it. */
const methodsOfRefusals = ({ steps, outcomes }: FixtureInput): string[] => [
  ...new Set(
    steps.slice(0, -1).flatMap((step, at) => (step.do === 'call' && outcomes[at] === 'refused' ? [step.method] : [])),
  ),
]

/** That a token has expired rests on the expiry that the target reported. On another server the same time may be in the future. */
function untilExpiry({ requirement, expect }: FixtureInput, last: CallStep | BurstStep, names: Names): Line[] {
  if (!expiries.includes(requirement) || expect === 'accepted' || last.do === 'burst') return []
  const [, access] = /^\$([\w-]+)\.accessToken$/.exec(last.auth.kind === 'token' ? last.auth.token : '') ?? []
  const pair = access ?? refreshedIn(last)
  const name = names.get(pair ?? '')?.name
  if (pair === undefined || name === undefined) throw new Unsayable('the expired token is of no pair of these steps')
  const expiry = access === undefined ? 'refreshTokenExpiry' : 'accessTokenExpiry'
  return [{ step: { do: 'wait', ms: 0 }, text: `{ wait: { past: $${name}.${expiry} } }` }]
}

const expiries: readonly string[] = [
  'tokens/expire',
  'tokens/expire-by-default',
  'refresh/own-expiry',
  'expires-in/enforced',
]

interface Line {
  readonly step: Step
  readonly text: string
}

const times = (count: number, { step, text }: Line): Line => ({
  step,
  text: count < 2 ? text : text.replace('{ ', `{ repeat: ${count}, `),
})

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

/** How often a call is repeated whose finding was not seen each time. */
const repetitions = 30

function judgedText(judged: CallStep | BurstStep, input: FixtureInput, names: Names, needs: Set<string>): string {
  if (judged.do === 'burst') return raceText(judged, names, needs)
  const line = { step: judged, text: stepText(judged, names, needs, { expect: expectText(input, judged, names) }) }
  const counts = countsBefore(input, judged)
  if (counts !== null) return times(counts.refused + 1, line).text
  return isRepeatedForChance(input.isSeenSometimes, judged) ? times(repetitions, line).text : line.text
}

/** Why the last call of the scenario is repeated. */
function whyRepeated({ isSeenSometimes }: FixtureInput, judged: CallStep | BurstStep, counts: Counts | null): string[] {
  if (counts !== null)
    return [
      ...(counts.refused > 0
        ? [`# the last call is repeated: it was accepted after ${counted(counts.refused, 'refusal')}`]
        : []),
      ...(counts.accepted > 1 ? ['# the control is repeated: as many right calls came before'] : []),
    ]
  return isRepeatedForChance(isSeenSometimes, judged) ? ['# the last call is repeated: not each try showed this'] : []
}

/** Other calls make something with each repetition. */
const isRepeatedForChance = (isSeenSometimes: boolean | undefined, judged: CallStep | BurstStep): boolean =>
  isSeenSometimes === true && judged.do === 'call' && judged.method === 'solution/listSolutions'

/** How often such a call was refused before it was accepted, and the right call accepted; null where it was accepted at once. */
function countsBefore({ before, expect, steps }: FixtureInput, judged: CallStep | BurstStep): Counts | null {
  if (before === undefined || before.refused === 0 || expect === 'accepted' || judged.do === 'burst') return null
  // The token was new each time that the steps were run, and let in at once.
  if (judged.change === undefined && steps.flatMap(madeBy).some((name) => namesIn(judged).includes(name))) return null
  if (judged.method === 'manager/createApiKey' || isRefresh(judged)) return null
  const most = (count: number): number => Math.min(repetitions - 1, count)
  return { refused: most(before.refused), accepted: most(before.accepted) }
}

/** `$pair`, `$pair-2`, … in the order in which they are made. */
function friendlyNames(
  keys: ReadonlyMap<string, Named>,
  steps: readonly Step[],
  { ofTarget = new Map(), sharesConnection = false }: FixtureInput,
): Names {
  const names = new Map<string, Named>([...keys, [rightPair, { name: 'right-pair' }]])
  const counts = new Map<string, number>()
  for (const step of namedCalls(steps)) {
    if (step.as === undefined || names.has(step.as)) continue
    // A call whose header alone is used makes no pair.
    const word = wordsOfMade[step.method] ?? 'sent'
    const count = (counts.get(word) ?? 0) + 1
    counts.set(word, count)
    const signs = step.params.publicKey === undefined ? {} : { signsAs: freeOwner([...names.values()]) }
    names.set(step.as, { name: count === 1 ? word : `${word}-${count}`, ...signs })
  }
  const texts = JSON.stringify(steps)
  const isSentAgain = (name: string): boolean => new RegExp(`\\$${name}\\.(header|signature)\\b`).test(texts)
  const made = steps.flatMap(callsOf).flatMap(({ as }) => as ?? [])
  return {
    ofTarget,
    connectionOf: sharesConnection ? connectionsIn(steps) : noneShared,
    sessions: shortSessions(texts),
    get: (name) => names.get(name),
    sentAgain: new Set(made.filter(isSentAgain)),
  }
}

/** The calls whose results have names; of calls at once only those whose result another step uses. */
const namedCalls = (steps: readonly Step[]): CallStep[] =>
  steps.flatMap((step) => {
    if (step.do !== 'burst') return step.do === 'call' ? [step] : []
    const wanted = new Set(steps.flatMap((other) => (other === step ? [] : namesIn(other))))
    return step.calls.filter(({ as = '' }) => wanted.has(as))
  })

const wordsOfMade: { readonly [method: string]: string } = { 'manager/auth': 'pair', 'manager/createApiKey': 'made' }

/** Names of sessions that say nothing, and may be too long for another server. The order of the letters in front may matter. */
const plainSession =
  /session:(?:pair\d+|first-of-all-sessions|life|ended|wrong-\d+|(?:before|unknown)-[\w-]+|\d+[xs]\d+|twice\d+|(?:alpha|mike|zulu)-s\d+)-\$unique/g

function shortSessions(texts: string): ReadonlyMap<string, string> {
  const found = [...new Set(texts.match(plainSession) ?? [])]
  const letterOf = (session: string): string => /^session:([amz])(?:lpha|ike|ulu)-/.exec(session)?.[1] ?? 's'
  return new Map(found.map((session, at) => [session, `session:${letterOf(session)}${(at + 10).toString(36)}$unique`]))
}

// The right calls of a scenario, which show that a server is not out of order.

/** Right calls that are accepted on a server which is not out of order: the same call, or one by the same key. */
function controlsFor(judged: CallStep | BurstStep, { expect, steps }: FixtureInput, names: Names): CallStep[] {
  if (judged.do === 'burst') return [rootCall('solution/listSolutions')]
  const { change, also: _also, as: _as, ...plain } = judged
  if (expect === 'accepted') return likeCalls(judged)
  if (judged.method === 'manager/createApiKey' || isRefresh(judged)) return [rootCall(judged.method)]
  const isListing = judged.method === 'solution/listSolutions'
  if (isListing && judged.auth.kind === 'none') return [{ ...plain, auth: { kind: 'basic', who: 'root' } }]
  const keys = namesIn(plain).map(ownerOf)
  if (change !== undefined && !keys.some((key) => isUsedAsSecret(key, plain, names))) return [plain]
  const owner = judged.auth.kind === 'token' ? granteeOf(judged.auth.token, findMadeBy(steps)) : undefined
  if (owner !== undefined && names.get(owner)?.listsSolutions === true) return withToken(owner)
  const byKey = keys.flatMap((key) => rightCallBy(key, names))
  return byKey.length > 0 && isListing ? byKey : [...byKey, rootCall(judged.method)]
}

/** What the document does not show, so that a server may refuse it to everybody: bodies with further members or in chunks, and nonces with padding. */
const openForms: readonly string[] = ['extra-member', 'member-twice', 'params-twice', ...Object.keys(cutLetterForms)]
const addsMember = (form: CallStep['form']): boolean =>
  typeof form === 'string' && (form.startsWith('with-') || openForms.includes(form))

/** Calls of root in the same form, where a server may refuse that form to everybody; it may refuse a long body, so root sends one nearly as long. */
function likeCalls({ method, form, inChunks, from, nonce, auth }: CallStep): CallStep[] {
  const more = {
    ...(addsMember(form) && form !== undefined ? { form } : {}),
    ...(typeof form === 'number' ? { form: form - 1 } : {}),
    ...(inChunks === true ? { inChunks } : {}),
    ...(from === undefined ? {} : { from }),
  }
  const isBasicOfRoot = auth.kind === 'basic' && auth.who === 'root'
  const call = rootCall(method)
  const like = isBasicOfRoot && addsMember(form) ? { ...call, auth: signed, ...more } : { ...call, ...more }
  return nonce === 'padded' && !(auth.kind === 'hmac' && auth.who === 'root') ? [like, list(signed, { nonce })] : [like]
}

const signed: Auth = { kind: 'hmac', who: 'root' }

/** Whether a key with a public key is used by its secret, which proves nothing. */
const isUsedAsSecret = (key: string, { auth }: CallStep, names: Names): boolean =>
  names.get(key)?.signsAs !== undefined && auth.kind !== 'ecc' && auth.kind !== 'token'

/** A token of the same key that opens the Solution API. */
const withToken = (who: string): CallStep[] => [
  inDocumentOrder(grant(who, ['solution'], { as: rightPair })),
  list({ kind: 'token', token: `$${rightPair}.accessToken` }),
]

const rightPair = 'right'

/** A right call by a key, before it is used wrongly. */
function rightCallBy(who: string, names: Names): CallStep[] {
  const { name, listsSolutions = false, signsAs } = names.get(who) ?? {}
  if (name === 'root' || !listsSolutions) return []
  return [list({ kind: signsAs === undefined ? 'basic' : 'ecc', who })]
}

const rootCall = (method: string): CallStep =>
  method === 'manager/auth' ? inDocumentOrder(grant('root', ['solution'])) : list({ kind: 'basic', who: 'root' })

// What the document demands of the answer to the last call of a finding, as `expect` says it.

const schemaOf: { readonly [method: string]: string } = {
  'manager/auth': 'auth-result',
  'manager/createApiKey': 'create-api-key-result',
  'solution/listSolutions': 'list-solutions-result',
}

/** The results that a schema describes, and those that a matcher does; an accepted answer without `jsonrpc` or with another id is no envelope. */
function expectText(input: FixtureInput, last: CallStep, names: Names): string {
  const { requirement, expect, result } = input
  if (result === undefined || requirement === 'envelope/id-echo' || requirement === 'envelope/response-jsonrpc')
    return expect
  const schema = schemaOf[last.method]
  if (schema === undefined) throw new Unsayable('no schema describes the result of this method')
  const isOfSchema = /^(grants\/result-|keys\/create-result$|envelope\/result-object$)/.test(requirement)
  const matchers = Object.entries({ ...result, ...ofOtherValues(input, last, names) })
  if (!isOfSchema && matchers.length === 0) throw new Unsayable('no matcher says what the result must be')
  if (requirement === 'refresh/scopes-kept' && !wasRequested(input))
    throw new Unsayable('another server may grant other scopes')
  const where = matchers.map(([path, matcher]) => `${path}: ${ofAnyTarget(JSON.stringify(matcher), names)}`)
  const accepted = `{ accepted: ${schema}${where.length === 0 ? '' : `, where: { ${where.join(', ')} }`} }`
  return input.mayBeRefused === true ? `{ refused-or: ${accepted} }` : accepted
}

/** The scope that a pair is granted may be wider on another server, so a word counts only where it was requested. */
function wasRequested({ steps, result }: FixtureInput): boolean {
  const { includes } = result?.['result.scope'] ?? {}
  return steps
    .flatMap(callsOf)
    .some(({ params }) => JSON.stringify(params.scope ?? []).includes(`"${String(includes)}"`))
}

/** What the document demands of a result by other values. */
function ofOtherValues(
  { requirement, steps, result = {} }: FixtureInput,
  { as = '' }: CallStep,
  names: Names,
): Matchers {
  if (requirement === 'refresh/pair-differs') return otherPair(steps.slice(0, -1), names)
  if (requirement === 'expires-in/reported' && Object.keys(result).length === 0)
    return laterThan(steps.slice(0, -1), names)
  if (requirement !== 'expires-in/within-refresh-lifetime' && requirement !== 'grants/expiry-order') return {}
  const { name } = names.get(as) ?? {}
  if (name === undefined) throw new Unsayable('the result has no name')
  return { 'result.accessTokenExpiry': { 'at-most': `$${name}.refreshTokenExpiry` } }
}

/** A larger NUMBER does not end earlier than a smaller one. */
function laterThan(before: readonly Step[], names: Names): Matchers {
  const smaller = names.get(before.flatMap(madeBy).at(-1) ?? '')?.name
  return smaller === undefined ? {} : { 'result.accessTokenExpiry': { 'at-least': `$${smaller}.accessTokenExpiry` } }
}

/** Both tokens of a refresh are others than all before. */
function otherPair(before: readonly Step[], names: Names): Matchers {
  const earlier = before.flatMap(madeBy).flatMap((as) => names.get(as)?.name ?? [])
  const noneOf = (token: string): Matchers[string] => ({
    is: { not: { enum: earlier.map((name) => `$${name}.${token}`) } },
  })
  if (earlier.length === 0) throw new Unsayable('the earlier pair is not among these steps')
  return { 'result.accessToken': noneOf('accessToken'), 'result.refreshToken': noneOf('refreshToken') }
}

// What a reader of a scenario asks: which key is which, and what an operation does.

/** Comments in YAML. */
export function commentLines({ steps, about, since }: FixtureInput, named: ReadonlyMap<string, Named>): string[] {
  const changes = steps
    .flatMap(callsOf)
    .flatMap(({ change, also = [] }) => [...(change === undefined ? [] : [change]), ...also])
  const forms = steps.flatMap(callsOf).flatMap(({ form }) => (typeof form === 'string' ? [form] : []))
  const cut = forms.filter((form) => form.startsWith('cut-letters')).map((form) => `${form} is ${cutLetters}`)
  const comments = [...keyComments(named, about), ...changes.flatMap(changeComment), ...cut, ...sinceLines({ since })]
  // A line feed would end the comment.
  return [...new Set(comments)].map((text) => `# ${printable(text)}`)
}

/** Test keys have other names than the keys of the report. */
function keyComments(named: ReadonlyMap<string, Named>, about: FixtureInput['about']): string[] {
  return [...named].flatMap(([key, { name, isTestKey, signsAs }]) => {
    const text = about?.(key)
    if (text === undefined) return []
    const signs = isTestKey !== true && signsAs !== undefined ? `; it has the key pair of ${signsAs}` : ''
    return [`${isTestKey === true ? name : `$${name}`} is ${key} of the report: ${text}${signs}`]
  })
}

function changeComment({ field, operation }: Change): string[] {
  const part = partNamed(field)
  if (part?.says === undefined) return []
  const operations = readDeviations()
  const what = operation === undefined ? undefined : operationText(operations, part.operations, operation)
  return [
    `${field} is ${part.says}${what === undefined ? '' : `; ${operation} is ${what} in fixtures/deviations.yaml`}`,
  ]
}

function operationText(operations: NamedOperations, kind: string, name: string): string | undefined {
  if (kind === 'text') return JSON.stringify(operations.text(name))
  return kind === 'bytes' ? JSON.stringify(operations.bytes(name)) : undefined
}

const kept = /, keep: \{ ([^{}]*) \}/

/** What no step refers to is not kept. */
function withoutUnusedKeeps(lines: readonly string[]): string[] {
  return lines.map((line, at) => {
    const [, entries] = kept.exec(line) ?? []
    if (entries === undefined) return line
    // A step may refer to what it keeps itself.
    const others = [line.replace(kept, ''), ...lines.slice(at + 1)]
    const used = entries.split(', ').filter((entry) => {
      const reference = new RegExp(`\\$${entry.split(':')[0]}(?!-?\\w)`)
      return others.some((other) => reference.test(other))
    })
    return line.replace(kept, () => (used.length === 0 ? '' : `, keep: { ${used.join(', ')} }`))
  })
}
