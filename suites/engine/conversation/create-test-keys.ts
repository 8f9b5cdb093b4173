/** The test keys of a run: each is created in its declared way, which is evidence by itself, or else in any way that works. */
import { keyLimit, sparePlaces } from '../document.ts'
import { membersOf } from '../json.ts'
import { summarizeAnswer } from '../judge/classify.ts'
import { type Attempt, type Called, stepEnd, takenStep } from '../judge/judge-case.ts'
import type { CaseOutcome, Hint, ProblemFacts } from '../judge/problem.ts'
import type { Auth, CallStep, TestKey } from '../language/fixture-types.ts'
import { ed25519KeyPair } from '../signer/pem.ts'
import { shortName, uniqueLength } from '../signer/random.ts'
import { declaredWay, type Item, unjudged, ways } from './cases.ts'
import {
  actor,
  type Conversation,
  type CreatedKey,
  closeConversation,
  credentialFor,
  isSendable,
  openConversation,
  type Run,
  standInOf,
} from './conversation.ts'
import { recordCase } from './outcome.ts'
import { isAway, listSolutions, makeCall, noticeGone } from './send.ts'

type Way = (typeof ways)[number]

const createApiKey = 'manager/createApiKey'

/**
 * Makes sure that the talk has these test keys, created in any way that works, and that the target knows them; returns why one of them
 * cannot be created.
 */
export async function ensureTestKeys(talk: Conversation, names: Iterable<string>): Promise<Missing | undefined> {
  for (const name of names) {
    const problem = talk.testKeys.has(name) ? undefined : await createInAnyWay(talk, name)
    if (problem !== undefined) return blocked(problem)
    await talk.testKeys.get(name)?.known
  }
  return undefined
}

/** Why no further key may be created on a target that no run may fill: too few of the ten places are free. */
export function fewPlacesForKeys({ run, createdKeys: { keys, unanswered } }: Conversation): ProblemFacts | undefined {
  // A creation without an answer may have been made.
  const places = keyLimit - keys.length - unanswered.length
  if (!run.target.lasting || places > sparePlaces) return undefined
  const wrongly = keys.filter(({ member, scope }) => member === undefined && scope === undefined).length
  return {
    kind: 'few-places-for-keys',
    places: sparePlaces + 1,
    ...(places + wrongly > sparePlaces ? { wrongly: true } : {}),
  }
}

/** Why a case with a test key is not judged. */
interface Missing {
  verdict: 'blocked' | 'not-testable'
  problem: ProblemFacts
}

const blocked = (problem: ProblemFacts): Missing => ({
  verdict: hasNoPlace(problem) ? 'not-testable' : 'blocked',
  problem,
})

/** Too few places for a test key, or every creation on a target with existing keys was refused: its ten places may be taken, or the given key may not create keys. */
function hasNoPlace(problem: ProblemFacts): boolean {
  if (problem.kind === 'few-places-for-keys') return true
  if (problem.kind !== 'test-key-missing' || problem.fresh) return false
  return (
    problem.tried.length > 0 && problem.tried.every(({ outcome }) => outcome === 'refused' || outcome === 'no-token')
  )
}

async function createInAnyWay(talk: Conversation, name: string): Promise<ProblemFacts | undefined> {
  const testKey = talk.run.corpus.testKeys.find((candidate) => candidate.name === name)
  if (testKey === undefined) return { kind: 'not-a-test-key', testKey: name }
  const full = talk.run.target.fresh ? undefined : fewPlacesForKeys(talk)
  if (full !== undefined) return full
  const tried: Extract<ProblemFacts, { kind: 'test-key-missing' }>['tried'] = []
  const usable = talk.instance.root.kind === 'ed25519' ? (['ecc'] as const) : ways.filter((way) => way !== 'ecc')
  for (const way of usable) {
    const { called, problem } = await createKeyOf(talk, testKey, way, 'root')
    if (problem === undefined || talk.testKeys.has(name)) return undefined
    tried.push({ way, outcome: called?.answer.outcome ?? (problem.kind === 'no-scope' ? 'no-scope' : 'no-token') })
    if (called !== undefined && isAway(called.answer)) await noticeGone(talk)
    // A call that the run's end cut off says nothing about the target.
    const { reason } = talk.run.stopping
    if (reason !== null) return { kind: 'not-run', because: reason }
  }
  return { kind: 'test-key-missing', testKey: name, tried, fresh: talk.run.target.fresh }
}

interface Creation {
  called?: Called
  /** Why the key was not created as it should be. */
  problem?:
    | { kind: 'not-accepted' | 'no-scope' }
    | Extract<ProblemFacts, { kind: 'no-token' }>
    | Extract<ProblemFacts, { kind: 'creation-result' }>
}

/** Creates a test key in one way, and gives it to the talk. */
export async function createKeyOf(talk: Conversation, member: TestKey, way: Way, by: string): Promise<Creation> {
  const creator = way === 'ecc' ? by : actor(talk, by)
  if (way !== 'token') return create(talk, member, { [way]: creator } as Auth)
  // The document uses two spellings of the scope that opens key creation; the one that works is remembered.
  let last: Creation = { problem: { kind: 'no-token', testKey: creator } }
  for (const spelling of new Set([talk.facts.apikey, 'apikey', 'apiKey'])) {
    const token = await creatingToken(talk, { creator, member, spelling })
    if (token === undefined) continue
    last = await create(talk, member, { token })
    if (last.problem !== undefined) continue
    talk.facts.apikey = spelling
    break
  }
  return last
}

/** A token may need every scope that it gives to a key, or may not be granted that many, such as one solution where the key has all. */
async function creatingToken(
  talk: Conversation,
  { creator, member, spelling }: { creator: string; member: TestKey; spelling: string },
): Promise<string | undefined> {
  const given = declaredScope(talk, member).filter((word) => !/^apikey$/i.test(word))
  for (const scope of [given, given.filter((word) => shownScopes.includes(word)), []]) {
    const token = await tokenOf(talk, creator, [spelling, ...scope])
    if (token !== undefined) return token
  }
  return undefined
}

async function create(talk: Conversation, member: TestKey, auth: Auth): Promise<Creation> {
  const { facts } = talk
  const [way = ''] = Object.keys(auth)
  const all = scopesOf(declaredScope(talk, member), facts.keysWithout)
  // A target that refuses every list has another reason, so later keys try fewer lists.
  const lists = facts.keyScopesTried.includes(way) ? all.slice(0, 1) : all
  let refused: Creation | undefined
  for (const { scope, without } of lists) {
    const creation = await createWith(talk, member, auth, scope)
    if (creation.called?.answer.outcome !== 'refused') {
      facts.keysWithout = without
      return creation
    }
    refused ??= creation
  }
  if (lists.length > 1) facts.keyScopesTried.push(way)
  return refused ?? { problem: { kind: 'no-scope' } }
}

/** The scope with the ids of the solutions that the target file names; words for solutions that it does not name are left out. */
function declaredScope({ instance }: Conversation, { scope }: TestKey): string[] {
  return scope.flatMap((word) => {
    const [reference, index] = /\$solutions\.(\d+)$/.exec(word) ?? []
    if (reference === undefined) return [word]
    const id = instance.settings.solutions[Number(index)]
    return id === undefined ? [] : [word.replace(reference, () => id)]
  })
}

/** The scope words of the document's examples. */
const shownScopes = ['apikey', 'apiKey', 'context', 'solution']

/**
 * Which words a key's scope may contain is open, and so is the spelling of one of them. A refused list is tried again without the words
 * that no example shows, without one spelling or the other, and without both.
 */
function scopesOf(words: readonly string[], keysWithout: string[]): { scope: string[]; without: string[] }[] {
  const unshown = words.filter((word) => !shownScopes.includes(word))
  const seen = new Set<string>()
  return [keysWithout, [], unshown, ['apiKey'], ['apikey'], ['apiKey', ...unshown], ['apikey', ...unshown]]
    .map((without) => ({ scope: words.filter((word) => !without.includes(word)), without }))
    .filter(({ scope }) => !seen.has(scope.join(' ')) && seen.add(scope.join(' ')))
}

async function createWith(talk: Conversation, member: TestKey, auth: Auth, scope: string[]): Promise<Creation> {
  const { run, testKeys } = talk
  const pair =
    member.key === 'ed25519' ? (run.keyPairs.get(member.name) ?? ed25519KeyPair(run.random.bytes(32))) : undefined
  if (pair !== undefined) run.keyPairs.set(member.name, pair)
  const own = pair === undefined ? {} : { privateKey: pair.privateKeyPem }
  const name = `${member.name}-${shortName(run.unique, uniqueLength)}`
  const params = { name, scope, ...(pair === undefined ? {} : { publicKey: pair.publicKeyPem }) }
  const called = await makeCall(talk, { method: createApiKey, params, auth, member: member.name, ...own })
  if (called.answer.outcome !== 'accepted') return { called, problem: { kind: 'not-accepted' } }
  const { id, secret } = membersOf(called.answer.result)
  const lacks = (what: 'id' | 'sendable-id' | 'secret'): Creation => ({
    called,
    problem: { kind: 'creation-result', lacks: what },
  })
  if (typeof id !== 'string') return lacks('id')
  if (!isSendable(id)) return lacks('sendable-id')
  const hasSecret = typeof secret === 'string'
  const key: CreatedKey = { id, name: member.name, ...(hasSecret ? { secret } : {}), ...own }
  // A key with a public key needs no secret, and creating another would take one more of the ten places.
  if (hasSecret || pair !== undefined) {
    const held = { ...credentialFor(talk, key), ...(member.key === 'secret' ? { scope } : {}) }
    testKeys.set(member.name, held)
    const known = awaitKey(talk, member)
    testKeys.set(member.name, { ...held, known })
    // Whoever needs the key gets the error.
    known.catch(() => {})
  }
  return hasSecret ? { called } : lacks('secret')
}

const firstPauseMs = 50
const longestPauseMs = 800

/**
 * In a deployment of several processes, a new key may reach all of them only after a short time. The cases about creation judge that; all
 * others wait for it.
 */
async function awaitKey(talk: Conversation, { name, scope }: TestKey): Promise<void> {
  const { clock } = talk.instance
  if (!talk.run.target.lasting || clock.controlled) return
  const isKnown = async (): Promise<boolean> =>
    scope.includes('solution')
      ? (await listSolutions(talk, { key: name })).answer.outcome === 'accepted'
      : (await tokenOf(talk, name, scope)) !== undefined
  for (let pauseMs = firstPauseMs; pauseMs <= longestPauseMs; pauseMs *= 2) {
    if (talk.run.stopping.reason !== null || (await isKnown())) return
    await clock.sleep(pauseMs)
  }
}

/** Requests tokens for a test key with these scopes. */
export function grantFor(talk: Conversation, who: string, scope: string[], from?: string): Promise<Called> {
  const { id, secret = '' } = talk.testKeys.get(who) ?? { id: '' }
  const params = { grantType: 'api_key_credentials', apiKeyId: id, apiKeySecret: secret, scope }
  return makeCall(talk, { method: 'manager/auth', auth: 'none', params, from })
}

/** Requests an access token with these scopes; undefined if it is refused. */
export async function tokenOf(talk: Conversation, by: string, scope: string[]): Promise<string | undefined> {
  return talk.testKeys.has(by) ? accessTokenOf(await grantFor(talk, by, scope)) : undefined
}

/** The access token in the answer to a grant, if it can be sent. */
export function accessTokenOf({ answer }: Called): string | undefined {
  const { accessToken } = membersOf(answer.outcome === 'accepted' ? answer.result : undefined)
  return typeof accessToken === 'string' && isSendable(accessToken) ? accessToken : undefined
}

// The creation as evidence.

/** Creates a test key in its declared way. If that fails, the cases create it in another way. */
export async function createTestKey(
  run: Run,
  { scenario, testCase, member: testKey }: Extract<Item, { kind: 'test-key' }>,
): Promise<CaseOutcome> {
  const startedMs = performance.now()
  const talk = await openConversation(run)
  const callsBefore = talk.calls
  try {
    const evidence = await tryCreation(talk, testKey)
    const recorded =
      'attempt' in evidence
        ? recordCase({ talk, scenario, testCase, attempt: evidence.attempt }, evidence.hint, noJunk)
        : unjudged(scenario, testCase, evidence.verdict, evidence.problem)
    const { reason } = talk.run.stopping
    const outcome =
      reason !== null && recorded.verdict === 'blocked'
        ? unjudged(scenario, testCase, 'blocked', { kind: 'not-run', because: reason })
        : recorded
    const durationMs = Math.round((performance.now() - startedMs) * 10) / 10
    return { ...outcome, calls: talk.calls - callsBefore, durationMs }
  } finally {
    await closeConversation(talk)
  }
}

/** Whether junk creates keys too is judged by the cases about credentials. */
const noJunk = { junkTaken: [] }

/** What the creation showed, or why nothing could be judged. */
type Evidence = { attempt: Attempt; hint?: Hint | undefined } | Missing

async function tryCreation(talk: Conversation, testKey: TestKey): Promise<Evidence> {
  const { run, facts, testKeys } = talk
  if (run.stopping.reason !== null) return blocked({ kind: 'not-run', because: run.stopping.reason })
  const declared = wayOf(testKey, talk)
  if (declared === undefined) return blocked({ kind: 'no-way-to-create' })
  const { way, by } = declared
  if (testKeys.has(testKey.name)) {
    const isKept = run.keptTestKeys.some((key) => key.member === testKey.name)
    return { verdict: 'not-testable', problem: { kind: isKept ? 'test-key-kept' : 'test-key-made-before' } }
  }
  if (way === 'token' && facts.tokenWord !== undefined)
    return blocked({ kind: 'no-token-word', because: facts.tokenWord })
  if (by === testKey.name) return blocked({ kind: 'root-has-public-key' })
  const missing = await ensureTestKeys(talk, [by])
  if (missing !== undefined) return missing
  const full = run.target.fresh ? undefined : fewPlacesForKeys(talk)
  if (full !== undefined) return blocked(full)
  const first = await createKeyOf(talk, testKey, way, by)
  // A target may lose an answer once.
  const isLost = run.target.lasting && first.called !== undefined && isAway(first.called.answer)
  const { called, problem } = isLost ? await createKeyOf(talk, testKey, way, by) : first
  if (called !== undefined && isAway(called.answer)) await noticeGone(talk)
  if (run.stopping.reason !== null) return blocked({ kind: 'not-run', because: run.stopping.reason })
  if (called === undefined) return blocked(problem?.kind === 'no-token' ? problem : { kind: 'no-way-to-create' })
  if (problem === undefined) return { attempt: creationShown(testKey, called) }
  if (problem.kind === 'creation-result') return { attempt: creationShown(testKey, called, problem) }
  return whyRefused(talk, testKey, declared, called)
}

/** The declared way, with the stand-in if the root key has no secret. */
function wayOf(testKey: TestKey, talk: Conversation): { way: Way; by: string } | undefined {
  // Only the root key itself can create its stand-in.
  if (standInOf(talk.run.corpus.testKeys, talk.instance.root) === testKey.name) return { way: 'ecc', by: 'root' }
  const declared = declaredWay(testKey)
  if (declared === undefined || declared.way === 'ecc') return declared
  return { way: declared.way, by: actor(talk, declared.by) }
}

/** A refused creation proves something only if an ordinary call with the same authorization is accepted. */
async function whyRefused(
  talk: Conversation,
  testKey: TestKey,
  { way, by }: { way: Way; by: string },
  refused: Called,
): Promise<Evidence> {
  const { run } = talk
  const token = way === 'token' ? await tokenOf(talk, by, ['solution']) : undefined
  if (way === 'token' && token === undefined) return blocked({ kind: 'no-token', testKey: by })
  const auth = (token === undefined ? { [way]: by } : { token }) as Auth
  const control = await listSolutions(talk, auth)
  const end = (kind: 'broke' | 'blocked', called: Called) =>
    stepEnd(kind, { kind: 'wrong-outcome', expected: 'accepted', got: summarizeAnswer(called.answer) }, [called])
  if (control.answer.outcome !== 'accepted') {
    const verdict = { ...end('blocked', control), inPreparation: true as const }
    const step = { ...creationStep, call: 'solution/listSolutions' }
    const attempt = { taken: [takenStep({ step, given: true, proves: testKey.proves }, verdict)], left: [] }
    return { attempt, hint: await run.diagnose?.signature(talk, auth) }
  }
  const missing = await ensureTestKeys(talk, [testKey.name])
  if (missing !== undefined && !run.target.fresh) return missing
  // Where no way creates a key, the ten places may have been taken before: the same command run twice must not accuse a right server.
  const isPerhapsFull = missing !== undefined && run.target.lasting
  const provesNothing = isPerhapsFull || refused.answer.outcome === 'throttled'
  const judged = testKey.proves.filter((id) => id !== resultRequirement)
  const attempt = {
    taken: [creation(judged, end(provesNothing ? 'blocked' : 'broke', refused))],
    left: [{ step: creationStep, given: false, proves: testKey.proves.filter((id) => !judged.includes(id)) }],
  }
  return isPerhapsFull ? { attempt, hint: { kind: 'perhaps-not-fresh' } } : { attempt }
}

const creationStep: CallStep = { call: createApiKey, auth: 'none', expect: 'accepted', at: { line: 1, column: 1 } }
const resultRequirement = 'keys/create-result'

const creation = (proves: string[], verdict: Attempt['taken'][number]['verdict'], calls: Called[] = []) =>
  takenStep({ step: creationStep, given: false, proves }, verdict, calls)

/** An accepted creation. @param lacking what its result lacks */
function creationShown({ proves }: TestKey, called: Called, lacking?: ProblemFacts): Attempt {
  const held = proves.filter((id) => lacking === undefined || id !== resultRequirement)
  const taken = [creation(held, { kind: 'held', sides: ['accepted'] }, [called])]
  if (lacking !== undefined)
    taken.push(
      creation(
        proves.filter((id) => !held.includes(id)),
        stepEnd('broke', lacking, [called]),
      ),
    )
  return { taken, left: [] }
}
