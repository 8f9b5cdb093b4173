import type { Called } from '../judge/expectation.ts'
import type { ProblemFacts } from '../judge/problem.ts'
import type { Auth, TestKey } from '../language/fixture-types.ts'
import { type Ed25519KeyPair, ed25519KeyPair } from '../signer/pem.ts'
import { shortName, uniqueLength } from '../signer/random.ts'
import { type Way, ways } from './cases.ts'
import {
  actor,
  type Conversation,
  type CreatedKey,
  credentialOfKey,
  type HeldKey,
  isSendable,
  type Run,
} from './conversation.ts'
import { makeCall } from './send.ts'

/**
 * Makes sure that the talk has these test keys, created in any way that works, and that the target knows them; returns why one of them
 * cannot be created.
 */
export async function ensureTestKeys(talk: Conversation, names: Iterable<string>): Promise<ProblemFacts | undefined> {
  for (const name of names) {
    const problem = talk.testKeys.has(name) ? undefined : await createInAnyWay(talk, name)
    if (problem !== undefined) return problem
    await talk.testKeys.get(name)?.known
  }
  return undefined
}

/** Every creation on a target with existing keys was refused: its ten places may be taken, or the given key may not create keys. */
export function hasNoPlace(problem: ProblemFacts): boolean {
  if (problem.kind !== 'test-key-missing' || problem.fresh) return false
  return (
    problem.tried.length > 0 && problem.tried.every(({ outcome }) => outcome === 'refused' || outcome === 'no-token')
  )
}

async function createInAnyWay(talk: Conversation, name: string): Promise<ProblemFacts | undefined> {
  const testKey = talk.run.corpus.testKeys.find((candidate) => candidate.name === name)
  if (testKey === undefined) return { kind: 'not-a-test-key', testKey: name }
  const { root } = talk.instance
  const tried: Extract<ProblemFacts, { kind: 'test-key-missing' }>['tried'] = []
  for (const way of ways) {
    if ((root.kind === 'ed25519') !== (way === 'ecc') && way !== 'token') continue
    if (root.kind === 'ed25519' && way === 'token') continue
    const { called, problem } = await createKeyOf(talk, testKey, way, 'root')
    if (problem === undefined || talk.testKeys.has(name)) return undefined
    tried.push({ way, outcome: called?.answer.outcome ?? (problem.kind === 'no-scope' ? 'no-scope' : 'no-token') })
  }
  return { kind: 'test-key-missing', testKey: name, tried, fresh: talk.run.target.fresh }
}

export interface Creation {
  called?: Called
  /** The ways that failed. */
  problem?: CreationProblem
}

type CreationProblem =
  | { kind: 'not-accepted' }
  | { kind: 'no-scope' }
  | Extract<ProblemFacts, { kind: 'no-token' | 'creation-result' }>

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
  const lists = [given, given.filter((word) => shownScopes.includes(word)), []]
  for (const scope of lists) {
    const token = await tokenOf(talk, creator, [spelling, ...scope])
    if (token !== undefined) return token
  }
  return undefined
}

async function create(talk: Conversation, member: TestKey, auth: Auth): Promise<Creation> {
  const { facts } = talk
  const [way = ''] = Object.keys(auth)
  // A target that refuses every list has another reason, so later keys try fewer lists.
  const lists = scopesOf({ ...member, scope: declaredScope(talk, member) }, facts.keysWithout).slice(
    0,
    facts.keyScopesTried.includes(way) ? 1 : undefined,
  )
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
  const { solutions } = instance.settings
  return scope.flatMap((word) => {
    const [, index] = /\$solutions\.(\d+)$/.exec(word) ?? []
    if (index === undefined) return [word]
    const id = solutions[Number(index)]
    return id === undefined ? [] : [word.replace(/\$solutions\.\d+$/, id)]
  })
}

/** The scope words of the document's examples. */
const shownScopes = ['apikey', 'apiKey', 'context', 'solution']

/**
 * Which words a key's scope may contain is open, and so is the spelling of one of them. A refused list is tried again without the words
 * that no example shows, without one spelling or the other, and without both.
 */
function scopesOf({ scope }: TestKey, keysWithout: string[]): { scope: string[]; without: string[] }[] {
  const unshown = scope.filter((word) => !shownScopes.includes(word))
  const lists = [keysWithout, [], unshown, ['apiKey'], ['apikey'], ['apiKey', ...unshown], ['apikey', ...unshown]].map(
    (without) => ({
      scope: scope.filter((word) => !without.includes(word)),
      without,
    }),
  )
  return [...new Map(lists.reverse().map((list) => [list.scope.join(' '), list])).values()].reverse()
}

async function createWith(talk: Conversation, member: TestKey, auth: Auth, scope: string[]): Promise<Creation> {
  const pair = member.key === 'ed25519' ? pairOf(talk.run, member.name) : undefined
  const called = await makeCall(talk, {
    method: 'manager/createApiKey',
    params: {
      name: `${member.name}-${shortName(talk.run.unique, uniqueLength)}`,
      scope,
      ...(pair === undefined ? {} : { publicKey: pair.publicKeyPem }),
    },
    auth,
    member: member.name,
    ...(pair === undefined ? {} : { privateKey: pair.privateKeyPem }),
  })
  if (called.answer.outcome !== 'accepted') return { called, problem: { kind: 'not-accepted' } }
  const result = called.answer.result as { id?: unknown; secret?: unknown } | null
  if (typeof result?.id !== 'string') return { called, problem: { kind: 'creation-result', lacks: 'id' } }
  if (!isSendable(result.id)) return { called, problem: { kind: 'creation-result', lacks: 'sendable-id' } }
  const hasSecret = typeof result.secret === 'string'
  const key: CreatedKey = {
    id: result.id,
    name: member.name,
    ...(typeof result.secret === 'string' ? { secret: result.secret } : {}),
    ...(pair === undefined ? {} : { privateKey: pair.privateKeyPem }),
  }
  // A key with a public key needs no secret, and creating another would take one more of the ten places.
  if (hasSecret || pair !== undefined) {
    const held: HeldKey = { ...credentialOfKey(key), ...(member.key === 'secret' ? { scope } : {}) }
    talk.testKeys.set(member.name, held)
    const known = awaitKey(talk, member)
    held.known = known
    // Whoever needs the key gets the error.
    known.catch(() => {})
  }
  return hasSecret ? { called } : { called, problem: { kind: 'creation-result', lacks: 'secret' } }
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
  const isKnown = async (): Promise<boolean> => {
    if (!scope.includes('solution')) return (await tokenOf(talk, name, scope)) !== undefined
    const call = { method: 'solution/listSolutions', params: {}, auth: { key: name } }
    return (await makeCall(talk, call)).answer.outcome === 'accepted'
  }
  for (let pauseMs = firstPauseMs; pauseMs <= longestPauseMs; pauseMs *= 2) {
    if (talk.run.stopping.reason !== null || (await isKnown())) return
    await clock.sleep(pauseMs)
  }
}

function pairOf(run: Run, member: string): Ed25519KeyPair {
  const pair = run.keyPairs.get(member) ?? ed25519KeyPair(run.random.bytes(32))
  run.keyPairs.set(member, pair)
  return pair
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
  const result = answer.outcome === 'accepted' ? (answer.result as { accessToken?: unknown } | null) : null
  const token = result?.accessToken
  return typeof token === 'string' && isSendable(token) ? token : undefined
}
