/** The keys and pairs of an exploration; provides a valid pair whenever one is needed. */
import { basic, create, ecc, grant, hmac, list, refresh, token } from './calls.ts'
import { describeStep } from './describe-step.ts'
import type { Explorer } from './explorer-types.ts'
import type { Auth, Connection } from './step.ts'

export interface Keyring {
  /** Keys without public key that list solutions, root first. */
  readonly secret: readonly string[]
  /** Keys with public key that list solutions. */
  readonly ecc: readonly string[]
  /** Keys whose scope is narrow. */
  readonly narrow: readonly string[]
  readonly narrowEcc: readonly string[]
  /** Whether tokens may be requested. */
  readonly grants: boolean
  /** Whether keys may be created. */
  readonly keys: boolean
  readonly limits: boolean
}

export interface PairKind {
  readonly who: string
  /** Scope words; `session:` stands for a session of its own, `ipAddr:` for our address. */
  readonly scope: readonly string[]
  /** How often it is refreshed before it is used. */
  readonly generation?: number
  readonly from?: string
}

/** The name of a valid pair of the kind; undefined if none can be granted. */
export async function pairOf(x: Explorer, pairs: Map<string, string>, kind: PairKind): Promise<string | undefined> {
  const id = JSON.stringify(kind)
  const known = pairs.get(id)
  const where = kind.from === undefined ? {} : { from: kind.from }
  if (known !== undefined && isStillValid(x, known, kind, where)) return known
  let name = await granted(x, kind)
  for (let turn = 0; name !== undefined && turn < (kind.generation ?? 0); turn++) {
    const next = freshName(x)
    const seen = await x.call(refresh(name, { as: next, ...where }))
    name = seen?.answer.kind === 'accepted' ? next : undefined
  }
  if (name !== undefined) pairs.set(id, name)
  return name
}

function isStillValid(x: Explorer, name: string, kind: PairKind, where: { from?: string }): boolean {
  const verdict = x.foresee(kind.scope.includes('solution') ? list(token(name), where) : refresh(name, where))
  return verdict?.is === 'accepted'
}

/** The word that binds a token to our address; none where it is not known how the target sees us. */
export const ownAddress = ({ addresses: [own] }: Explorer): readonly string[] =>
  own === undefined || own.seen === '' ? [] : [`ipAddr:${own.seen}`]

export async function granted(x: Explorer, kind: PairKind, connection?: Connection): Promise<string | undefined> {
  const name = freshName(x)
  const scope = inSomeOrder(kind.scope).flatMap((word) => {
    if (word === 'ipAddr:') return ownAddress(x)
    return word === 'session:' ? `session:${name}-$unique` : word
  })
  const more = {
    as: name,
    ...(kind.from === undefined ? {} : { from: kind.from }),
    ...(connection === undefined ? {} : { connection }),
  }
  const seen = await x.call(grant(kind.who, scope, more))
  return seen?.answer.kind === 'accepted' && x.lines.has(name) ? name : undefined
}

/** The order of the words has no meaning, so a restriction comes first in half of the scopes. */
function inSomeOrder(scope: readonly string[]): string[] {
  const isRestriction = (word: string): boolean => word.includes(':')
  const [areas, restrictions] = [scope.filter((word) => !isRestriction(word)), scope.filter(isRestriction)]
  return scope.join().length % 2 === 0 ? [...areas, ...restrictions] : [...restrictions, ...areas]
}

/** A new name. */
export function freshName(x: Explorer, word = 'pair'): string {
  for (let n = x.log.length; ; n++) if (!x.names.has(`${word}${n}`)) return `${word}${n}`
}

export const everyScope = [
  'apikey',
  'apiKey',
  'solution',
  'context',
  'thread',
  'store',
  'inbox',
  'stream',
  'solution:*',
]
const documentedScope = ['apikey', 'apiKey', 'solution', 'context']
const plainScope = ['apikey', 'solution', 'context']

interface Wanted {
  readonly name: string
  readonly scope: readonly (readonly string[])[]
  readonly withPublicKey?: boolean
  /** The ways to create it; the first possible one is used. */
  readonly by: (x: Explorer, pairs: Map<string, string>) => Promise<Auth | undefined>
}

const wide = [everyScope, documentedScope, plainScope]
/** A server may lose the last scope of a key. */
const solutionLast = wide.map((scope) => [...scope.filter((word) => word !== 'solution'), 'solution'])
/** @param more words of scope that the token has as well */
const byToken =
  (who: string, generation = 0, more: readonly string[] = []) =>
  async (x: Explorer, pairs: Map<string, string>) => {
    const apikeyWords = apikeyScope(x)
    const pair =
      apikeyWords === undefined
        ? undefined
        : await pairOf(x, pairs, {
            who,
            scope: ['solution', ...apikeyWords, ...more],
            ...(generation === 0 ? {} : { generation }),
          })
    return pair === undefined ? undefined : token(pair)
  }
const by = (auth: Auth) => async () => auth

/** Nine keys, each created in another way, so that one place is left for deviations of manager/createApiKey. */
const wanted: readonly Wanted[] = [
  { name: 'ecc-a', scope: solutionLast, withPublicKey: true, by: by(hmac('root')) },
  { name: 'by-basic', scope: wide, by: by(basic('root')) },
  { name: 'by-ecc', scope: wide, by: by(ecc('ecc-a')) },
  { name: 'by-token', scope: solutionLast, by: byToken('root') },
  { name: 'by-child', scope: solutionLast, by: by(hmac('by-basic')) },
  { name: 'ecc-b', scope: wide, withPublicKey: true, by: byToken('by-token', 1, ['session:']) },
  { name: 'context-key', scope: [['context']], by: by(basic('by-child')) },
  { name: 'ecc-context', scope: [['context']], withPublicKey: true, by: by(ecc('ecc-b')) },
  { name: 'solution-key', scope: [['solution']], by: byToken('by-basic', 2, ['expiresIn:15000']) },
]

/** The words of scope that open manager/createApiKey for a token, as grants have shown; undefined: not known to be granted. */
export function apikeyScope(x: Explorer): string[] | undefined {
  const shown = ['apikey', 'apiKey'].filter((word) => x.state().shown.has(`grants/credentials (${word})`))
  return shown.length === 0 ? undefined : shown
}

/** Makes key pairs, and says how many keys may be created. */
export interface KeyMaker {
  /** How many keys may be created for calls. */
  readonly newKeys: number
  makeKeyPair(): { seed: Uint8Array; publicKeyPem: string }
}

/** Creates the keys. A key that cannot be created in its own way is created by root, so that the rest can go on. */
export async function fillKeyring(
  x: Explorer,
  pairs: Map<string, string>,
  { makeKeyPair, newKeys }: KeyMaker,
): Promise<void> {
  for (const { name, scope, withPublicKey, by: how } of wantedOf(x, newKeys)) {
    const ways = [await how(x, pairs), basic('root'), hmac('root'), ecc('root')]
    for (const auth of ways) {
      if (auth === undefined || x.names.has(name)) continue
      // After the tries of its secret, this shows that the key is not locked.
      if (auth.kind === 'ecc') await x.call(list(auth))
      const before = x.log.length
      // Whether two keys may have one public key is open; where they may, both work.
      const ofAnother = name === 'ecc-context' ? ownOf(x, 'ecc-a') : undefined
      if (ofAnother !== undefined) await createKey(x, name, auth, { scopes: scope, pair: ofAnother })
      await createKey(x, name, auth, { scopes: scope, pair: withPublicKey === true ? makeKeyPair() : undefined })
      if (!x.names.has(name)) await tryOtherwise(x, before)
      else if (withPublicKey === true) await tryAsSecret(x, name)
      // A token that created a key still works, and can be refreshed.
      const pair = auth.kind === 'token' ? /^\$([\w-]+)\./.exec(auth.token)?.[1] : undefined
      if (pair === undefined) continue
      await x.call(list(auth))
      for (const { name: from } of x.addresses.slice(1)) await x.call(list(auth, { from }), 'refused')
      await x.call(refresh(pair, { as: freshName(x) }))
    }
  }
}

/** From the first moment on, a key with a public key proves nothing by its secret. */
async function tryAsSecret(x: Explorer, name: string): Promise<void> {
  for (const step of [list(basic(name)), list(hmac(name)), grant(name, ['solution'])]) await x.call(step, 'refused')
}

/**
 * Where it is not known how many places are free, a refused creation is open. If root can create the very same key right after, a place was
 * free.
 */
async function tryOtherwise(x: Explorer, before: number): Promise<void> {
  for (const [at, { step, seen, script }] of x.log.slice(before).entries()) {
    const [only] = seen
    if (only === undefined || step.do !== 'call' || step.method !== 'manager/createApiKey') continue
    if (only.answer.kind !== 'refused' || only.verdict.requirement !== 'limits/eleventh-refused') continue
    if ('who' in step.auth && step.auth.who === 'root') continue
    const control = await x.call({
      ...step,
      auth: x.names.get('root')?.seed === undefined ? basic('root') : ecc('root'),
    })
    if (control?.answer.kind !== 'accepted') return
    const message = `${describeStep(step)} was refused, and accepted right after with the authorization of root`
    const found = { requirement: 'keys/create-authorized', level: 'must', message, kind: 'refused' } as const
    x.report({ ...found, fact: 'creation', entry: before + at, script })
    return
  }
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

const scarce = ['by-token', 'ecc-solution', 'solution-key', 'ecc-by-ecc']

/** Where the test keys are there: a wide key and three narrow ones, all with the name of the first key with a public key. */
const besideTestKeys: readonly Wanted[] = [
  // No scope of the key is beyond that of its creator, where a refusal would be open.
  {
    name: 'by-token',
    scope: [['apikey', 'apiKey', 'solution', 'context'], ...wide],
    by: byToken('root', 0, ['context', 'ipAddr:', 'expiresIn:15000']),
  },
  { name: 'ecc-solution', scope: [['solution']], withPublicKey: true, by: byToken('by-token', 1, ['session:']) },
  { name: 'solution-key', scope: [['solution']], by: byToken('by-token', 2, ['session:', 'expiresIn:15000']) },
  { name: 'ecc-by-ecc', scope: [['context', 'solution']], withPublicKey: true, by: by(ecc('ecc-a')) },
]

function ownOf(x: Explorer, name: string): { seed: Uint8Array; publicKeyPem: string } | undefined {
  const { seed, publicKey } = x.names.get(`${name}-own`) ?? {}
  return seed === undefined || publicKey === undefined ? undefined : { seed, publicKeyPem: publicKey }
}

const twins = ['by-basic', 'by-ecc', 'ecc-a', 'ecc-b', 'context-key', 'solution-key']

function labelsOf(x: Explorer, name: string): string[] {
  const own = `${name}-$unique`
  const isBesideTestKeys = besideTestKeys.some((one) => one.name === name) && !x.names.has('by-basic')
  if (isBesideTestKeys && x.names.get('ecc-a')?.name !== undefined) return ['$ecc-a.name', own]
  return twins.includes(name) || isBesideTestKeys ? ['twin-$unique', own] : [own]
}

interface WantedKey {
  /** The scopes to try, one after the other. */
  scopes: readonly (readonly string[])[]
  /** undefined: a key with a secret. */
  pair: { seed: Uint8Array; publicKeyPem: string } | undefined
}

async function createKey(x: Explorer, name: string, auth: Auth, { scopes, pair }: WantedKey): Promise<void> {
  if (x.names.has(name)) return
  if (pair !== undefined) x.names.set(`${name}-own`, { seed: pair.seed, publicKey: pair.publicKeyPem })
  // Whether a name may be used again is open; two keys with one name must not be confused.
  for (const scope of scopes)
    for (const label of labelsOf(x, name)) {
      if (x.names.has(name) || x.state().created >= 10) return
      const publicKey = pair === undefined ? {} : { publicKey: `$${name}-own.publicKey` }
      await x.call(create(auth, { name: label, scope, ...publicKey }, { as: name }))
    }
}

/** The wanted keys that exist. */
export function keyringOf(x: Explorer, allowed: Pick<Keyring, 'grants' | 'keys' | 'limits'>): Keyring {
  const has = (name: string): boolean => x.names.has(name)
  const rootIsSecret = x.names.get('root')?.seed === undefined
  return {
    secret: [...(rootIsSecret ? ['root'] : []), ...['by-basic', 'by-ecc', 'by-token', 'by-child'].filter(has)],
    ecc: [...(rootIsSecret ? [] : ['root']), ...['ecc-a', 'ecc-b'].filter(has)],
    narrow: ['context-key', 'solution-key'].filter(has),
    narrowEcc: ['ecc-context', 'ecc-solution', 'ecc-by-ecc'].filter(has),
    ...allowed,
  }
}
