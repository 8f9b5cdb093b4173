/** The items of a run: which cases there are, in which order they run, and what each needs for itself. */

import { sessionLimit } from '../document.ts'
import { membersOf } from '../json.ts'
import type { CaseOutcome, ProblemFacts } from '../judge/problem.ts'
import type { Case, Corpus, Scenario, Step, TestKey } from '../language/fixture-types.ts'
import { caseKey, referencesIn, withCase } from '../language/resolve.ts'
import { type Random, shuffled } from '../signer/random.ts'

/** What a run consists of: cases of scenarios, and the creation of each test key, which is evidence itself. */
export type Item = { key: string; scenario: Scenario; testCase: Case } & (
  | { kind: 'case' }
  | { kind: 'test-key'; member: TestKey }
)

/** The items of a whole run: first the test keys that it creates, then the cases in the order of their files. */
export function allItems(corpus: Corpus): Item[] {
  const testKeys = corpus.testKeys
    .filter(({ key }) => key !== 'given')
    .map((member): Item => {
      const scenario = creationScenario(member)
      return { kind: 'test-key', key: scenario.id, scenario, testCase: creationCase, member }
    })
  const cases = corpus.scenarios.flatMap((scenario) =>
    scenario.cases.map((testCase): Item => ({ kind: 'case', key: caseKey(scenario, testCase), scenario, testCase })),
  )
  return [...testKeys, ...cases]
}

/** A case as it stands in its scenario. */
type Placed = Pick<Item, 'scenario' | 'testCase'>

interface Selection {
  only: readonly string[]
  skip: readonly { id: string; reason: string }[]
  shard: { index: number; count: number } | null
}

/** `--only` and `--skip` take an id prefix or a requirement id; a shard takes every N-th scenario, all cases of one together. */
export function selectItems(
  items: readonly Item[],
  { only, skip, shard }: Selection,
): { selected: Item[]; skipped: { item: Item; reason: string }[] } {
  const chosen = items.filter((item) => only.length === 0 || only.some((id) => answersTo(item, id)))
  const skipped = chosen.flatMap((item) => {
    const reason = skip.find(({ id }) => answersTo(item, id))?.reason
    return reason === undefined ? [] : [{ item, reason }]
  })
  const left = chosen.filter((item) => !skipped.some((one) => one.item === item))
  if (shard === null) return { selected: left, skipped }
  const scenarioIds = [...new Set(left.map(({ scenario }) => scenario.id))]
  const mine = new Set(scenarioIds.filter((_id, index) => index % shard.count === shard.index - 1))
  return { selected: left.filter(({ scenario }) => mine.has(scenario.id)), skipped }
}

/** Returns whether an id names this item: a requirement that it proves, or a prefix of its key that ends at a word. */
export function answersTo(item: Item, id: string): boolean {
  if (provesOf(item).includes(id)) return true
  return item.key === id || (item.key.startsWith(id) && (/[/-]$/.test(id) || /^[/-]/.test(item.key.slice(id.length))))
}

/**
 * The order of a run. It is random if every case has its own instance. On a lasting target: the test keys first, then what
 * creates nothing, then creations in cases that name a session, keys that should be refused, keys that should not, and races of those, and last
 * what fills a limit, keys after sessions.
 *
 * @param standIn who calls where the secret of the root key is wanted; created first where it is not root
 */
export function orderItems(items: readonly Item[], lasting: boolean, random: Random, standIn = 'root'): Item[] {
  const mixed = shuffled(items, random)
  if (!lasting) return mixed
  const isFirst = ({ key }: Item): number => (key === `test-keys/${standIn}` ? 0 : 1)
  const testKeys = items.filter(({ kind }) => kind === 'test-key').sort((one, other) => isFirst(one) - isFirst(other))
  const cases = mixed.filter(({ kind }) => kind === 'case')
  return [...testKeys, ...cases.sort((one, other) => weight(one) - weight(other) || inOrder(one, other))]
}

/**
 * Cases that create keys run by name, so that in each order the same cases find a place; and so do those that fill the places, because the
 * race of limits/api-keys shows most while places are free.
 */
function inOrder(one: Item, other: Item): number {
  const byName = [createsWithSession, createsKeys, createsInRace, fillsKeys]
  return byName.includes(weight(one)) ? (one.key < other.key ? -1 : 1) : 0
}

const createsWithSession = 1.9
const createsKeys = 3
const createsInRace = 3.1
const fillsKeys = 5

/** Whether an item fills the places for keys: it comes last on a lasting target. */
export const fillsPlaces = (item: Item): boolean => weight(item) === fillsKeys

/** The position of an item in a run on a lasting target. */
function weight(item: Item): number {
  if (item.kind === 'test-key') return 0
  const { scenario } = item
  const limit = limitOf(scenario)
  if (limit === 'keys') return fillsKeys
  // A race for sessions comes after all other cases about sessions, because a server that loses it keeps too many.
  if (limit === 'sessions') return hasRace(scenario) ? 4.5 : 4
  if (!scenario.needs.includes('keys')) return 1
  // After all cases that create keys within the limit, and late, so that no wrong call shortly before can have locked a key.
  if (looksBack(scenario)) return 4.7
  if (!makesKeys(scenario)) return 2
  // The cases that fill the sessions of a user wait for all that take some, so these come early.
  if (claimsOf(item).named > 0) return createsWithSession
  // A race runs alone, and creations after it would wait for it.
  return hasRace(scenario) ? createsInRace : createsKeys
}

/** A step, and the calls that it makes at the same time as steps of their own. */
const withBeside = (step: Step): Step[] => [
  step,
  ...(('call' in step && step.beside) || []).map((one): Step => ({ ...one, at: step.at })),
]

/** Whether a scenario makes calls at the same time. */
export const hasRace = ({ given, steps }: Pick<Scenario, 'given' | 'steps'>): boolean =>
  [...given, ...steps].some((step) => 'parallel' in step || 'beside' in step)

/** Whether a scenario creates no key itself, and calls with the keys that the run has created. */
export const looksBack = ({ needs, steps }: Pick<Scenario, 'needs' | 'steps'>): boolean =>
  !needs.includes('limits') && steps.some((step) => 'for' in step && step.for === '$listing')

/** A correct server creates a key here, and there are only ten places. */
function makesKeys({ given, steps }: Scenario): boolean {
  return [...given, ...steps]
    .flatMap(withBeside)
    .some((step) => 'call' in step && step.call === 'manager/createApiKey' && step.expect !== 'refused')
}

/** The outcome of an item that cannot run against this target, does not apply to it, or was not reached. */
export function skipItem({ scenario, testCase }: Item, reason: ProblemFacts): CaseOutcome {
  const isDefect = reason.kind === 'not-run' && reason.because.kind === 'defect'
  const verdict =
    reason.kind === 'area-absent' ? 'not-applicable' : reason.kind === 'not-run' ? 'not-run' : 'not-testable'
  return unjudged(scenario, testCase, isDefect ? 'blocked' : verdict, reason)
}

/** Every requirement that a case or one of its steps proves. */
export function provesOf({ scenario, testCase }: Placed): string[] {
  const ofSteps = [...scenario.given, ...scenario.steps].flatMap(({ proves }) => proves ?? [])
  return [...new Set([...(testCase.proves ?? scenario.proves), ...ofSteps])]
}

/** The outcome of a case that was not judged at all. */
export function unjudged(
  scenario: Scenario,
  testCase: Case,
  verdict: 'blocked' | 'not-testable' | 'not-applicable' | 'not-run',
  problem: ProblemFacts | null,
): CaseOutcome {
  const proves = provesOf({ scenario, testCase })
  return {
    id: scenario.id,
    case: testCase.name,
    key: caseKey(scenario, testCase),
    title: scenario.title,
    verdict,
    proves,
    requirements: Object.fromEntries(proves.map((id) => [id, verdict])),
    sides: {},
    problem: problem === null ? null : { ...problem, requirements: [], step: '', exchanges: [] },
    observations: [],
    envelope: [],
    envelopeAnswers: 0,
    calls: 0,
    durationMs: 0,
  }
}

/** The test keys that a case calls as, or whose id or secret it names. */
export function testKeysUsed(scenario: Scenario, testCase: Case, members: readonly string[]): Set<string> {
  const used = namesIn(scenario, testCase)
  return new Set(members.filter((member) => used.has(member)))
}

/** Names by where they stand: in the steps, which all cases of a scenario share, or in the values of a case. A run needs them several times. */
const named = new WeakMap<object, ReadonlySet<string>>()

/** Every name in a case: of references, callers and keys. */
export function namesIn(scenario: Scenario, testCase: Case): ReadonlySet<string> {
  const inSteps = named.get(scenario) ?? namesWithin([scenario.given, scenario.steps])
  const own = named.get(testCase) ?? namesWithin(testCase.values)
  named.set(scenario, inSteps).set(testCase, own)
  return own.size === 0 ? inSteps : new Set([...inSteps, ...own])
}

function namesWithin(value: unknown): ReadonlySet<string> {
  const used = new Set(referencesIn(value).map(({ reference }) => reference.split('.')[0] ?? ''))
  const visit = (inner: unknown): void => {
    if (typeof inner !== 'object' || inner === null) return
    for (const [key, member] of Object.entries(inner)) {
      if (['hmac', 'ecc', 'basic', 'key', 'secret-of'].includes(key) && typeof member === 'string') used.add(member)
      visit(member)
    }
  }
  visit(value)
  return used
}

/** The ways to create a test key, in the order in which they are tried. */
export const ways = ['basic', 'hmac', 'ecc', 'token'] as const
type Way = (typeof ways)[number]

/** How a test key is created, and by which key. */
export function declaredWay({ 'created-with': auth }: TestKey): { way: Way; by: string } | undefined {
  const declared: { [way: string]: unknown } = typeof auth === 'object' ? auth : {}
  const way = ways.find((candidate) => candidate in declared)
  return way === undefined ? undefined : { way, by: String(declared[way]) }
}

const wayNames: { [way in Way]: string } = {
  hmac: 'an HMAC signature',
  basic: 'Basic credentials',
  ecc: 'an ED25519 signature',
  token: 'an access token',
}

/** A creation has no cases. */
const creationCase: Case = { name: null, slug: null, values: {} }

/** The creation of a test key as a scenario. */
function creationScenario(member: TestKey): Scenario {
  const { name, proves } = member
  const declared = declaredWay(member)
  const how = declared === undefined ? '' : ` with ${wayNames[declared.way]} of ${declared.by}`
  const id = `test-keys/${name}`
  const title = `The key of "${name}" is created${how}`
  const needs: Scenario['needs'] = ['keys']
  return { id, file: 'fixtures/test-keys.yaml', title, proves, needs, cases: [creationCase], given: [], steps: [] }
}

// What a case needs for itself while it runs, which decides which cases may run at the same time. It follows from the
// case's needs and steps alone.

type Claims = ReturnType<typeof findClaims>

/** The claims of an item that makes no calls. */
export const noClaims: Claims = {
  grants: 0,
  named: 0,
  users: [],
  makesKeys: false,
  fills: null,
  observesCounting: false,
  races: false,
  racesGrants: false,
  waits: false,
  turns: 0,
}

/** Why a case does not run at the same time as every other case. */
type AloneReason = 'makes-keys' | 'fills-sessions' | 'fills-keys' | 'race'

const known = new WeakMap<Case, Claims>()

/** The claims of a case; computed once. */
export function claimsOf({ scenario, testCase }: Placed): Claims {
  const claims = known.get(testCase) ?? findClaims(scenario, testCase)
  known.set(testCase, claims)
  return claims
}

function findClaims(scenario: Scenario, testCase: Case) {
  const steps = [...scenario.given, ...scenario.steps].map((step) => withCase(step, testCase.values))
  const grants = steps.flatMap(withBeside).flatMap(grantsOf)
  return {
    /** How many sessions it takes at most, if every grant takes one. Its tokens work until sixteen more sessions are taken. */
    grants: grants.reduce((sum, { times }) => sum + times, 0),
    /** How many of them name a session. */
    named: grants.reduce((sum, { times, isNamed }) => sum + (isNamed ? times : 0), 0),
    /** The test keys that its grants are for; `*` if only the run shows them. */
    users: [...new Set(grants.map(({ user }) => user))],
    /** It creates keys, or tries to. Such cases keep their order. */
    makesKeys: scenario.needs.includes('keys'),
    /** The limit that it fills; meanwhile no other case may use what is limited. */
    fills: limitOf(scenario) ?? null,
    /** It shows which grants count as sessions, and whose, which decides what may run at the same time. */
    observesCounting: steps.some((step) => 'observe' in step && questionsOfCounting.has(step.observe ?? '')),
    /** It makes calls at once: no call of another case may be under way then. */
    races: steps.some((step) => 'parallel' in step || 'beside' in step),
    /** Those calls are grants or refreshes: a server that loses count keeps too many sessions or pairs. */
    racesGrants: steps.some(
      (step) =>
        ('parallel' in step || 'beside' in step) &&
        withBeside(step).some((one) => 'call' in one && one.call === 'manager/auth'),
    ),
    /** It waits for a lifetime to pass; other cases may run meanwhile. */
    waits: steps.some((step) => 'wait' in step),
    /** How many calls it makes one after another. */
    turns: steps.reduce((sum, step) => sum + turnsOf(step), 0),
  }
}

/** Open questions whose answers show which grants count as sessions, and whose. */
const questionsOfCounting = new Set(['sessions/counting', 'sessions/user'])

/** The limit that a scenario fills, if it fills one. Grants of a case that fills the limit of keys fill no limit of sessions. */
export function limitOf({ needs }: Scenario): 'sessions' | 'keys' | undefined {
  if (!needs.includes('limits')) return undefined
  if (needs.includes('keys')) return 'keys'
  return needs.includes('sessions') ? 'sessions' : undefined
}

/** A list whose length is known only during the run is assumed to have as many items as a user has sessions. */
const unknownLength = sessionLimit

interface Grants {
  times: number
  isNamed: boolean
  user: string
}

/** Grants that may be accepted. A refresh takes no place among the sessions. */
function grantsOf(step: Step): Grants[] {
  if ('wait' in step || step.expect === 'refused') return []
  if ('send' in step) {
    const body = JSON.stringify(step.send.body ?? '')
    return body.includes('manager/auth') ? [{ times: 1, isNamed: body.includes('session:'), user: '*' }] : []
  }
  const { params } = step
  const isRefresh = 'refreshToken' in membersOf(params)
  if (step.call !== 'manager/auth' || isRefresh) return []
  const text = JSON.stringify(params ?? {})
  return [
    {
      times: itemsOf(step) * timesOf(step.repeat ?? step.parallel ?? 1),
      isNamed: text.includes('session:'),
      user: /"apiKeyId":"\$(\w+)\.id"/.exec(text)?.[1] ?? '*',
    },
  ]
}

const turnsOf = (step: Step): number => ('wait' in step ? 0 : itemsOf(step) * timesOf(step.repeat ?? 1))

/** Of how many items a step makes calls. */
const itemsOf = (step: { for?: unknown }): number =>
  step.for === undefined ? 1 : Array.isArray(step.for) ? step.for.length : unknownLength

const timesOf = (count: number | string): number => (Number.isNaN(Number(count)) ? unknownLength : Number(count))

/** Every reason why a case cannot run at the same time as every other one; most cases have no such reason. */
export function aloneReasons({ makesKeys, fills, races }: Claims): AloneReason[] {
  return [
    ...(makesKeys && fills !== 'keys' ? (['makes-keys'] as const) : []),
    ...(fills === null ? [] : ([`fills-${fills}`] as const)),
    ...(races ? (['race'] as const) : []),
  ]
}
