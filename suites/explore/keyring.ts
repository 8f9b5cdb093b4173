/** The keys and pairs of an exploration; provides a valid pair whenever one is needed, and makes calls only if the model is sure of their answers. */

import { keyLimit } from '../engine/document.ts'
import type { Key } from '../engine/model/state.ts'
import type { TargetSettings } from '../engine/target.ts'
import type { Explorer, Seen } from './explorer.ts'
import { type CallStep, grant, list, nameOf, plannedKeys, refresh, solutionKeys, token, wayOf, whoOf } from './step.ts'

/** Who makes the calls of an exploration, and what it remembers of them. */
export type Caller = Readonly<ReturnType<typeof callerOf>>

interface Wishes {
  /** Whether the last places for keys may be filled; true unless given. */
  readonly fillsKeys?: boolean
  /** Whether creations may be tried that the target must refuse, and that take a place where it does not; true unless given. */
  readonly triesCreations?: boolean
}

export const callerOf = (x: Explorer, allowed: Allowed, { fillsKeys = true, triesCreations = true }: Wishes = {}) => ({
  x,
  keyring: keyringOf(x, allowed),
  /** Calls since the right call of this kind was last made. */
  sinceControl: new Map<string, number>(),
  /** How a part was called last, so that the next call uses another key. */
  turns: new Map<string, number>(),
  /** The kinds of pairs and keys for which the laws made their calls. */
  tried: new Set<string>(),
  /** Changes that were let in somewhere: on a creation they show nothing new, and take a place for a key. */
  forgiven: new Set<string>(),
  /** What worlds left for others: the names of pairs and keys, by a name for them. */
  left: new Map<string, readonly string[]>(),
  /** What worlds do later. */
  later: [] as Later[],
  /** How the target disables and deletes keys; empty if that is unknown, or the keys are still needed. */
  waysToEndKeys: fillsKeys ? waysToEndKeys(x.options.instance.settings) : [],
  triesCreations,
})

/** Whether a wrong creation shows something: keys may be created, and a place is free. */
export const mayTryCreation = ({ x, keyring, triesCreations }: Caller): boolean =>
  triesCreations && keyring.keys && x.state().created < keyLimit

interface Later {
  /** That of the world. */
  readonly name: string
  /** A time on the target's clock. */
  readonly due: number
  /** How many pairs it is about. */
  readonly pairs: number
  run(): Promise<void>
}

interface PairKind {
  readonly who: string
  /** Scope words; `session:` stands for a session of its own, `ipAddr:` for our address, `solution:` for one solution. */
  readonly scope: readonly string[]
  /** How often it is refreshed before it is used. */
  readonly generation?: number
}

/** The name of a valid pair of the kind; undefined if none can be granted. */
export async function pairOf(x: Explorer, kind: PairKind): Promise<string | undefined> {
  const id = JSON.stringify(kind)
  const known = x.pairsByKind.get(id)
  if (known !== undefined && isStillValid(x, known, kind)) return known
  let name = await granted(x, kind)
  for (let turn = 0; name !== undefined && turn < (kind.generation ?? 0); turn++) {
    const next = freshName(x)
    const seen = await x.call(refresh(name, { as: next }))
    name = seen?.answer.kind === 'accepted' ? next : undefined
  }
  if (name !== undefined) x.pairsByKind.set(id, name)
  return name
}

const isStillValid = (x: Explorer, name: string, { scope }: PairKind): boolean =>
  x.foresee(scope.includes('solution') ? list(token(name)) : refresh(name))?.is === 'accepted'

/** The word that binds a token to our address; none where it is not known how the target sees us. */
export const ownAddress = ({ addresses: [own] }: Explorer): readonly string[] =>
  own === undefined || own.seen === '' ? [] : [`ipAddr:${own.seen}`]

export async function granted(x: Explorer, kind: PairKind): Promise<string | undefined> {
  const name = freshName(x)
  const scope = wordsOf(x, kind.who, kind.scope, `${name}-$unique`)
  const seen = await x.call(grant(kind.who, scope, { as: name }))
  return seen?.answer.kind === 'accepted' && x.lines.has(name) ? name : undefined
}

/** The words of a kind of pair as they are sent. @param session the name of its session, if it has one */
export const wordsOf = (x: Explorer, who: string, words: readonly string[], session: string): string[] =>
  inSomeOrder(words).flatMap((word) => {
    if (word === 'ipAddr:') return ownAddress(x)
    // Where no such token is granted to the key, there is no word.
    if (word === 'solution:') return x.oneSolution.get(who) ?? []
    return word === 'session:' ? `session:${session}` : word
  })

/** The order of the words has no meaning, so a restriction comes first in half of the scopes; calls at once that name their sessions have one order. */
function inSomeOrder(scope: readonly string[]): readonly string[] {
  const isRestriction = (word: string): boolean => word.includes(':')
  if (!scope.some((word) => word.endsWith(':'))) return scope
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
/** The words of scope that open manager/createApiKey for a token, as grants have shown; undefined: not known to be granted. */
export function apikeyScope(x: Explorer): string[] | undefined {
  const shown = ['apikey', 'apiKey'].filter((word) => x.state().shown.has(`grants/credentials (${word})`))
  return shown.length === 0 ? undefined : shown
}

/** Whether the exploration created a key. One that the target gave the id of the root key, or of a key of the cases, is not its own. */
export function isOwnKey(x: Explorer, name: string): boolean {
  const id = x.names.get(name)?.id
  return id !== undefined && x.isOwnKey(id)
}

/** `name is …` for each of these names that is a key of the exploration. */
export const explainKeys = (x: Explorer, names: readonly string[]): string[] =>
  [...new Set(names)].flatMap((name) => {
    const about = (isCreatedAsPlanned(x, name) ? plannedKeys[name]?.about : undefined) ?? aboutOwnKey(x, name)
    return about === undefined ? [] : `${name} is ${about}`
  })

/** A key that the target does not let its creator create is created by root instead. */
function isCreatedAsPlanned({ log }: Explorer, name: string): boolean {
  const made = log
    .flatMap(({ seen }) => seen)
    .find(({ step, answer }) => nameOf(step) === name && answer.kind === 'accepted')
  const { way } = plannedKeys[name] ?? {}
  return way === undefined || made === undefined || wayOf(made.step.auth) === way
}

const creations: { readonly [how: string]: string } = {
  HMAC: 'an HMAC signature',
  ECC: 'an ED25519 signature',
  basic: 'Basic credentials',
  token: 'an access token',
}

/** What the creation of a key says of it. */
function aboutOwnKey(x: Explorer, name: string): string | undefined {
  const key = x.state().keys.get(x.names.get(name)?.id ?? '')
  if (key === undefined || !isOwnKey(x, name)) return undefined
  const [, how = ''] = /created by (.*)$/.exec(key.origin) ?? []
  const [by] = [...x.names].find(([, { id }]) => id !== undefined && id === key.creator) ?? []
  const creation = creations[how] === undefined ? '' : `, which ${creations[how]} of ${by ?? 'another key'} created`
  const scope = `the scope "${(key.scope ?? []).join(' ')}"`
  return `a key with ${key.publicKey === null ? '' : 'a public key and '}${scope}${creation}`
}

/** What may be done: request tokens, create keys, fill limits. */
type Allowed = { readonly [what in 'grants' | 'keys' | 'limits']: boolean }

/** The wanted keys that exist. */
export function keyringOf(x: Explorer, allowed: Allowed) {
  const has = (name: string): boolean => x.names.has(name)
  const rootIsSecret = x.names.get('root')?.seed === undefined
  return {
    /** Keys without public key that list solutions, root first. */
    secret: [...(rootIsSecret ? ['root'] : []), ...['by-basic', 'by-ecc', 'by-token', 'by-child'].filter(has)],
    /** Keys with public key that list solutions. */
    ecc: [...(rootIsSecret ? [] : ['root']), ...['ecc-a', 'ecc-b'].filter(has)],
    /** Keys whose scope is narrow. */
    narrow: ['context-key', 'solution-key'].filter(has),
    /** Keys that may only list solutions, for sessions alone. */
    counted: solutionKeys.secret.slice(1).filter((name) => keyOf(x, name)?.works === 'yes'),
    narrowEcc: solutionKeys.ecc.filter(has),
    /** A key with which no wrong call is made, so that its refusal is that of no lock. */
    untried: ['untried-key'].filter(has),
    ...allowed,
  }
}

/** What is known of a key of the exploration. */
export const keyOf = (x: Explorer, name: string): Key | undefined => x.state().keys.get(x.names.get(name)?.id ?? '')

/** Makes a call. @returns whether it was accepted */
export const isAccepted = async (x: Explorer, step: CallStep): Promise<boolean> =>
  (await x.call(step))?.answer.kind === 'accepted'

/** Makes a wrong call only if the model says that it must be refused. */
export const expectRefused = (x: Explorer, step: CallStep) => x.call(step, 'refused')

/**
 * Makes a right call only if the model says that it must be accepted. A listing is made also where wrong calls before may have locked the key, or a
 * misuse may have ended the token: if it is accepted, what follows can be judged again.
 */
export async function expectAccepted(x: Explorer, step: CallStep): Promise<Seen | null> {
  const seen = await x.call(step, 'accepted')
  const doubt = seen === null ? x.foresee(step) : null
  if (doubt?.is !== 'open' || !doubts.includes(doubt.requirement)) return seen
  await endDoubt(x, step)
  return (await x.call(step, 'accepted')) ?? (step.call === 'solution/listSolutions' ? x.call(step, 'open') : null)
}

/**
 * After wrong calls with a key a refusal may be a lock, so it would show nothing of an unusual call: a plain right call comes first. If it is
 * accepted, the answer to the unusual one can be judged.
 */
export async function endDoubt(x: Explorer, step: CallStep): Promise<void> {
  if (whoOf(step.auth) === undefined || x.foresee(step)?.requirement !== 'keys/created-key-works') return
  const plain = list(step.auth)
  if (JSON.stringify(plain) !== JSON.stringify(step)) await x.call(plain, 'open')
}

/** What is in doubt after wrong calls with a key, or with a token. */
const doubts: readonly string[] = ['keys/created-key-works', 'refresh/new-pair']

/** Methods of the target that the document does not show; `$id` in their params stands for the id of the key. */
export function waysToEndKeys({ cleanup, probes: { disable } }: TargetSettings) {
  return [
    ...(disable === undefined ? [] : [{ ...disable, requirement: 'keys/can-be-disabled' as const }]),
    ...(cleanup === undefined ? [] : [{ ...cleanup, requirement: 'keys/can-be-deleted' as const }]),
  ]
}
