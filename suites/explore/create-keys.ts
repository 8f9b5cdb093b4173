/** Creates the keys of an exploration, each in another way, and tries each before its first right call. */
import { publicKeyFromPem } from '../engine/signer/pem.ts'
import type { Explorer } from './explorer.ts'
import { apikeyScope, everyScope, expectRefused, freshName, granted, isAccepted, pairOf } from './keyring.ts'
import {
  type Auth,
  atOnce,
  basic,
  type CallStep,
  changed,
  create,
  ecc,
  grant,
  hmac,
  isCall,
  isCreation,
  isSigner,
  list,
  named,
  pairUsed,
  refresh,
  token,
  wayOf,
  whoOf,
} from './step.ts'
import { describeStep } from './words.ts'

const documentedScope = ['apikey', 'apiKey', 'solution', 'context']
const plainScope = ['apikey', 'solution', 'context']

type KeyPair = ReturnType<Explorer['makeKeyPair']>

interface Wanted {
  readonly name: string
  readonly scope: readonly (readonly string[])[]
  /** What authorizes its creation: a pair stands for its access token, which has these words of scope beside those that a creation needs. */
  readonly by: Auth | Parameters<typeof pairOf>[1]
}

const wide = [everyScope, documentedScope, plainScope]
/** A server may lose the last scope of a key. */
const solutionLast = wide.map((scope) => [...scope.filter((word) => word !== 'solution'), 'solution'])

/** @returns undefined if no such pair is granted */
async function authFor(x: Explorer, by: Wanted['by']): Promise<Auth | undefined> {
  if (typeof by === 'string' || !('who' in by)) return by
  const apikeyWords = apikeyScope(x)
  if (apikeyWords === undefined) return undefined
  const pair = await pairOf(x, { ...by, scope: ['solution', ...apikeyWords, ...by.scope] })
  if (pair === undefined) return undefined
  // Then it is known that a token with these restrictions works from here.
  await x.call(list(token(pair)))
  return token(pair)
}

/** Nine keys, each created in another way, so that one place is left for deviations of manager/createApiKey. */
const wanted: readonly Wanted[] = [
  { name: 'ecc-a', scope: solutionLast, by: hmac('root') },
  { name: 'by-basic', scope: wide, by: basic('root') },
  { name: 'by-ecc', scope: wide, by: ecc('ecc-a') },
  { name: 'by-token', scope: solutionLast, by: { who: 'root', scope: [] } },
  { name: 'by-child', scope: solutionLast, by: { who: 'by-basic', scope: ['ipAddr:'] } },
  { name: 'ecc-b', scope: wide, by: { who: 'by-token', scope: ['session:'], generation: 1 } },
  { name: 'ecc-by-ecc', scope: [['solution']], by: ecc('ecc-a') },
  { name: 'context-key', scope: [['context']], by: hmac('by-child') },
  {
    name: 'solution-key',
    scope: [['solution']],
    by: { who: 'by-basic', scope: ['ipAddr:', 'expiresIn:15000'], generation: 2 },
  },
]

/** Creates the keys. `newKeys`: how many may be created for calls; `hasTokens`: pairs may be requested. A key that cannot be created in its own way is created by root, so that the rest can go on. */
export async function createKeys(
  x: Explorer,
  { newKeys, hasTokens }: { readonly newKeys: number; readonly hasTokens: boolean },
): Promise<void> {
  const revoked = hasTokens ? await revokedPair(x) : undefined
  const all = wantedOf(x, newKeys)
  const together = all.filter(({ name }) => createdTogether.includes(name))
  for (const { name, scope, by: how } of all) {
    if (together.length === 2 && name === together[0]?.name)
      for (const creator of await createTogether(x, together)) await afterCreation(x, creator, revoked)
    if (x.names.has(name)) await tryFirst(x, name)
    const ways = [await authFor(x, how), basic('root'), hmac('root'), ecc('root')]
    for (const auth of ways) {
      if (auth === undefined || x.names.has(name)) continue
      // After the tries of its secret, this shows that the key is not locked.
      if (wayOf(auth) === 'ecc') await x.call(list(auth))
      const before = x.log.length
      const ofAnother = sharedPair(x, name)
      if (ofAnother !== undefined)
        await createKey(x, name, auth, { scopes: scope, pair: ofAnother, labels: ['shared-$unique'] })
      const pair = isSigner(name) ? keyPairOf(x, name) : undefined
      if (pair !== undefined && isBesideTestKeys(x, name))
        await createKey(x, name, auth, {
          scopes: scope.slice(0, 1),
          pair: withFinalLineFeed(pair),
          labels: labelsOf(x, name).slice(0, 1),
        })
      await createKey(x, name, auth, { scopes: scope, pair })
      if (!x.names.has(name)) {
        await compareCreators(x, before)
        // Where root may create the very same key, it is not the public key.
        if (pair !== undefined && !x.names.has(name)) await compareWithoutPublicKey(x, before)
      } else await tryFirst(x, name)
      await afterCreation(x, auth, revoked, name)
    }
  }
}

/** A token that created a key still works and can be refreshed, and the key works after that. A pair that was revoked before stays revoked. */
async function afterCreation(x: Explorer, creator: Auth, revoked: string | undefined, key?: string): Promise<void> {
  if (revoked !== undefined) await x.call(list(token(revoked)), 'refused')
  const used = pairUsed({ auth: creator })
  if (used === undefined) return
  await x.call(list(creator))
  for (const { name: from } of x.addresses.slice(1)) await x.call(list(creator, { from }), 'refused')
  await x.call(refresh(used, { as: freshName(x) }))
  if (key !== undefined && x.names.has(key)) await x.call(rightListing(key))
}

const rightListing = (key: string): CallStep => list(isSigner(key) ? ecc(key) : hmac(key))

/** Keys with public keys that are created at once, because a server may mix up what two calls bring. */
const createdTogether = ['ecc-b', 'ecc-solution', 'ecc-by-ecc']

/**
 * The document says nothing about creations at once, so a refusal is open; a key that was refused is created afterwards.
 *
 * @returns who created them
 */
async function createTogether(x: Explorer, both: readonly Wanted[]): Promise<readonly Auth[]> {
  const calls: CallStep[] = []
  for (const { name, scope, by: how } of both) {
    const auth = await authFor(x, how)
    const [first] = scope
    const [label] = labelsOf(x, name)
    if (auth === undefined || first === undefined || label === undefined) return []
    if (wayOf(auth) === 'ecc') await x.call(list(auth))
    const pair = sharedPair(x, name) ?? keyPairOf(x, name)
    x.names.set(`${name}-own`, name === 'ecc-by-ecc' ? pair : withFinalLineFeed(pair))
    calls.push(create(auth, { name: label, scope: first, publicKey: `$${name}-own.publicKey` }, { as: name }))
  }
  const { fresh } = x.state().terms
  x.setTerms({ fresh: false })
  await x.burst(atOnce(calls, 'new'))
  x.setTerms({ fresh })
  return calls.map(({ auth }) => auth)
}

/** Whether two keys may have one public key is open; where they may, both work. */
function sharedPair(x: Explorer, name: string): KeyPair | undefined {
  if (name !== 'ecc-by-ecc' || isBesideTestKeys(x, name)) return undefined
  const { seed, publicKey } = x.names.get('ecc-a-own') ?? {}
  return seed === undefined || publicKey === undefined ? undefined : { seed, publicKey }
}

/** Whether a PEM may end with a line feed is open; where it may, the key has a public key as any other. */
const withFinalLineFeed = (pair: KeyPair): KeyPair => ({ ...pair, publicKey: `${pair.publicKey}\n` })

/**
 * The first calls of a key are wrong, because a server may check a key only from its second call on. A key with a public key proves nothing by
 * its secret from the first moment on.
 */
async function tryFirst(x: Explorer, name: string): Promise<void> {
  const right = rightListing(name)
  const wrongSignature = changed(right, { field: 'signature-bytes', operation: 'middle-bit-flipped' })
  const wrongSecret = isSigner(name)
    ? []
    : [changed(list(basic(name)), { field: 'basic-secret', operation: 'first-half' })]
  const asSecret = isSigner(name) ? [list(basic(name)), list(hmac(name)), grant(name, ['solution'])] : []
  // A server may check a public key only from its first signature on.
  const isSecretFirst = name === 'ecc-b' || name === 'ecc-solution'
  for (const step of isSecretFirst ? asSecret : [wrongSignature, ...wrongSecret]) await expectRefused(x, step)
  // Between wrong calls, so that the key is not locked.
  await x.call(right)
  for (const step of isSecretFirst ? [wrongSignature, ...wrongSecret] : asSecret) await expectRefused(x, step)
}

/** A key pair whose public key has the highest bit of its last byte set for the first key, and not for the second. */
function keyPairOf(x: Explorer, name: string): KeyPair {
  const wanted = { 'ecc-a': true, 'ecc-b': false }[name]
  for (let tries = 0; ; tries++) {
    const pair = x.makeKeyPair()
    const isSet = (publicKeyFromPem(pair.publicKey).at(-1) ?? 0) > 127
    if (wanted === undefined || isSet === wanted || tries > 100) return pair
  }
}

/** A pair that was refreshed before the keys are created: a creation must not bring it back. */
async function revokedPair(x: Explorer): Promise<string | undefined> {
  if (x.names.get('root')?.seed !== undefined) return undefined
  const first = await granted(x, { who: 'root', scope: ['solution'] })
  if (first === undefined) return undefined
  const seen = await x.call(refresh(first, { as: freshName(x) }))
  return seen?.answer.kind === 'accepted' ? first : undefined
}

/**
 * The keys to create; with few places left, those that the test keys replace worst. One with a public key comes before one without, because
 * a server may confuse the second with the first.
 */
function wantedOf(x: Explorer, most: number): readonly Wanted[] {
  const missing = wanted.filter(({ name }) => !x.names.has(name))
  if (missing.length <= most) return missing
  const all = [...besideTestKeys, ...missing]
  return scarce.slice(0, most).flatMap((name) => all.find((one) => one.name === name) ?? [])
}

const scarce = ['ecc-by-ecc', 'by-token', 'ecc-solution', 'solution-key']

/** Where the test keys are there: a wide key and three narrow ones, all with the name of the first key with a public key. */
const besideTestKeys: readonly Wanted[] = [
  // No scope of the key is beyond that of its creator, where a refusal would be open.
  {
    name: 'by-token',
    scope: [['apikey', 'apiKey', 'solution', 'context'], ...wide],
    by: { who: 'root', scope: ['context', 'expiresIn:15000'], generation: 2 },
  },
  {
    name: 'ecc-solution',
    scope: [['solution']],
    by: { who: 'root', scope: ['session:', 'ipAddr:', 'expiresIn:15000'] },
  },
  { name: 'solution-key', scope: [['solution']], by: hmac('by-token') },
  { name: 'ecc-by-ecc', scope: [['context', 'solution']], by: ecc('ecc-a') },
]

const twins = ['by-basic', 'by-ecc', 'ecc-a', 'ecc-b', 'context-key', 'solution-key']

/** Whether a key is created beside the test keys, which stand for the others. */
const isBesideTestKeys = (x: Explorer, name: string): boolean =>
  besideTestKeys.some((one) => one.name === name) && !x.names.has('by-basic')

/** Longer than the others: where it is taken, those must be, too. */
const longName = 'twin-of-others-$unique'

function labelsOf(x: Explorer, name: string): string[] {
  const own = ownLabel(x, name)
  const isBeside = isBesideTestKeys(x, name)
  if (isBeside && x.names.get('ecc-a')?.name !== undefined) return ['$ecc-a.name', own]
  return twins.includes(name) || isBeside ? [longName, own] : [own]
}

/** Until a long name was accepted, only short ones must be; the test keys have short ones. */
const ownLabel = (x: Explorer, name: string, turn = 0): string => {
  const word = isBesideTestKeys(x, name) ? name.replace(/(\w)\w*-?/g, '$1') : name
  return `${word}${turn === 0 ? '' : turn}-$unique`
}

/** The id of every request that creates one of these keys. */
const idOfCreations = 12

interface WantedKey {
  /** The scopes to try, one after the other. */
  scopes: readonly (readonly string[])[]
  /** undefined: a key with a secret. */
  pair: KeyPair | undefined
  /** The names to try for the first scope. */
  labels?: readonly string[]
}

async function createKey(x: Explorer, name: string, auth: Auth, wanted: WantedKey): Promise<void> {
  const { scopes, pair, labels = labelsOf(x, name) } = wanted
  if (x.names.has(name)) return
  if (pair !== undefined) x.names.set(`${name}-own`, pair)
  // Whether a name may be used again is open, so the refusal of a name that was refused before proves nothing.
  for (const [turn, scope] of scopes.entries())
    for (const label of turn === 0 ? labels : [ownLabel(x, name, turn)]) {
      if (x.names.has(name) || x.state().created >= 10) return
      const publicKey = pair === undefined ? {} : { publicKey: `$${name}-own.publicKey` }
      // The id of a request only tells answers apart; a server must not take it for the name of a creation.
      await x.call(create(auth, { name: label, scope, ...publicKey }, { as: name, id: idOfCreations }))
    }
}

/*
 * Where it is not known how many places are free, each refusal of a creation is open; a creation that differs in one thing and is accepted right
 * after shows that a place was free.
 */

/** The refused creations from this entry of the log on. `isAboutPlaces`: nothing but the number of free places may justify the refusal. */
const refusedSince = (x: Explorer, from: number) =>
  x.log.slice(from).flatMap(({ step, seen: [only], script }, at) => {
    if (!isCall(step) || !isCreation(step) || only?.answer.kind !== 'refused') return []
    return [{ step, entry: from + at, script, isAboutPlaces: only.verdict.requirement.startsWith('limits/') }]
  })

/** keys/create-authorized: root creates the very same key. @param from the first entry of the log to look at */
export async function compareCreators(x: Explorer, from: number): Promise<void> {
  const refused = refusedSince(x, from).find(({ step, isAboutPlaces }) => isAboutPlaces && whoOf(step.auth) !== 'root')
  if (refused === undefined) return
  const asRoot = { ...refused.step, auth: x.byRoot }
  await compare(x, refused, asRoot, { requirement: 'keys/create-authorized', how: 'with the authorization of root' })
}

/** The key that shows that a place was free. */
const control = 'without-public-key'

/** keys/public-key: root creates the very same key without its public key. @param from the first entry of the log to look at */
export async function compareWithoutPublicKey(x: Explorer, from: number): Promise<void> {
  const refused = refusedSince(x, from)
  const last = refused.findLast(({ isAboutPlaces }) => isAboutPlaces)
  // One refusal alone may be due to a limit of rates.
  if (refused.length < 2 || last === undefined || x.names.has(control)) return
  const { publicKey: _, ...params } = last.step.params
  const plain = named({ ...last.step, params: { ...params, name: 'plain-$unique' }, auth: x.byRoot }, control)
  await compare(x, last, plain, { requirement: 'keys/public-key', how: 'without its public key' })
}

/** Reports a refused creation if one that differs in one thing is accepted now. */
async function compare(
  x: Explorer,
  { step, entry, script }: ReturnType<typeof refusedSince>[number],
  other: CallStep,
  { requirement, how }: { readonly requirement: string; readonly how: string },
): Promise<void> {
  if (!(await isAccepted(x, other))) return
  const message = `${describeStep(step)} was refused, and accepted right after ${how}`
  x.report({ requirement, level: 'must', message, kind: 'refused', fact: 'creation', entry, script })
}
