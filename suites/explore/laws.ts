/**
 * Laws: what follows from the document for any key and any pair, whatever was done before (fixtures/worlds/laws.yaml). They ride on every step of
 * every world and walk: after a step they look at what it made or used, and at some that it did not touch. The model says of each call whether it is
 * sure of the answer.
 *
 * A law is tried for every two features of a pair that it has not met together, or for every value of its only feature, and once for each key: what
 * is wrong in one combination shows, and nothing is repeated that cannot fail any more.
 */
import type { Key, Pair } from '../engine/model/state.ts'
import type { Explorer } from './explorer.ts'
import { type Caller, expectAccepted, keyOf } from './keyring.ts'
import { readWorlds } from './read-worlds.ts'
import { basic, ecc, list, token } from './step.ts'
import { combinations, makeStep, stepOf, type Values } from './world-steps.ts'

/** Tries the laws after a step. @param names the pairs and keys that it made or used */
export async function applyLaws(
  caller: Caller,
  names: readonly string[],
  all: readonly Law[] = readWorlds().laws,
): Promise<void> {
  const laws = all.filter(({ late = false }) => !late)
  for (const name of new Set(names)) {
    const pair = pairNamed(caller.x, name)
    if (pair !== undefined) await tryPair(caller, name, pair, laws)
    else await tryKey(caller, name, laws)
  }
  await tryBystander(caller, names)
}

/** Tries the laws of used refresh tokens, at the end of a world. */
export async function applyLateLaws(caller: Caller, names: readonly string[]): Promise<void> {
  const laws = readWorlds().laws.filter(({ late = false }) => late)
  for (const name of names) {
    const pair = pairNamed(caller.x, name)
    if (pair !== undefined) await tryPair(caller, name, pair, laws)
  }
}

/** A law about a pair is tried for every two features of it that it has not met together, or for every value of its only feature. */
async function tryPair(caller: Caller, name: string, pair: Pair, laws: readonly Law[]): Promise<void> {
  const features = featuresOf(caller.x, pair)
  const values = new Map(Object.entries(valuesOfPair(caller, name)))
  for (const law of lawsFor(laws, ofPairs, pair)) {
    const two = twoByTwo(
      features.filter(([feature, , group = '']) => law.by?.some((by) => by === feature || by === group) ?? true),
    )
    for (const [at, combination] of combinationsOf(caller, law, values)) {
      const open = two.map((one) => `${law.law} ${at} ${one}`).filter((one) => !caller.tried.has(one))
      if (open.length > 0 && (await make(caller, law, combination)).made > 0)
        for (const one of open) caller.tried.add(one)
    }
  }
}

/** Calls with a key after one step: wrong calls in a row may lock it. */
const mostAtOnce = 8
/** After this many wrong calls with a key a right one follows. */
const wrongInARow = 3

/** A law about a key is tried once for each key. */
async function tryKey(caller: Caller, who: string, laws: readonly Law[]): Promise<void> {
  const key = keyOf(caller.x, who)
  if (key === undefined) return
  const values = new Map(Object.entries(valuesOfKey(caller, who, key)))
  let [made, wrong] = [0, 0]
  for (const law of lawsFor(laws, ofKeys, key))
    for (const [at, combination] of combinationsOf(caller, law, values)) {
      const kind = `${law.law} ${at} ${who} ${key.ended ?? ''}`
      if (made >= mostAtOnce) return
      if (caller.tried.has(kind)) continue
      const calls = await make(caller, law, combination)
      if (calls.made === 0) continue
      caller.tried.add(kind)
      made += calls.made
      wrong += calls.wrong
      if (wrong < wrongInARow) continue
      await expectAccepted(caller.x, list(key.publicKey === null ? basic(who) : ecc(who)))
      wrong = 0
    }
}

type Conditions<Subject> = { readonly [word: string]: (subject: Subject) => boolean }

type Law = ReturnType<typeof readWorlds>['laws'][number]

/** The laws whose conditions hold for a pair, or for a key. */
const lawsFor = <Subject>(laws: readonly Law[], conditions: Conditions<Subject>, subject: Subject): readonly Law[] =>
  laws.filter(({ where }) => where.every((word) => conditions[word]?.(subject) ?? false))

const has = ({ scope }: Pair, wanted: RegExp): boolean => scope.some((word) => wanted.test(word))

const ofPairs: Conditions<Pair> = {
  pair: () => true,
  newest: ({ standing }) => standing === 'newest',
  old: ({ standing }) => standing !== 'newest',
  bound: (pair) => has(pair, /^ipAddr:/),
  unbound: (pair) => !has(pair, /^ipAddr:/),
  'of one word': ({ scope }) => scope.length === 1,
  'of one solution': (pair) => pair.scope.includes('context') && has(pair, /^solution:[\w-]/),
}

const ofKeys: Conditions<Key> = {
  key: () => true,
  alive: ({ ended }) => ended === undefined,
  ended: ({ ended }) => ended !== undefined,
  'with public key': ({ publicKey }) => publicKey !== null,
  'without public key': ({ publicKey }) => publicKey === null,
}

type Feature = readonly [name: string, value: string, group?: 'restrictions']

/** What makes a pair another kind of pair; the names of sessions and of foreign addresses do not. */
function featuresOf(x: Explorer, pair: Pair): Feature[] {
  const { scope, key, generation, standing, accessEnds } = pair
  const isOver = accessEnds !== null && x.clock.now() > accessEnds.to
  const address = scope.find((word) => word.startsWith('ipAddr:'))
  const session = scope.find((word) => word.startsWith('session:'))
  return [
    ['who', key],
    ['generation', String(generation)],
    ['standing', `${standing}${isOver ? ' expired' : ''}`],
    [
      'areas',
      scope
        .filter((word) => !word.includes(':') && !/^apikey$/i.test(word))
        .toSorted()
        .join(' '),
    ],
    // A server may look for a word in the text of all.
    ['session', session?.replace(/^session:(.*(?:solution|api))?.*$/i, 'session $1') ?? '', 'restrictions'],
    ['address', address === undefined ? '' : String(address === `ipAddr:${x.addresses[0]?.seen}`), 'restrictions'],
    ['lifetime', String(has(pair, /^expiresIn:/)), 'restrictions'],
    ['solution', String(has(pair, /^solution:/)), 'restrictions'],
    ['apikey', String(has(pair, /^apikey$/i)), 'restrictions'],
  ]
}

/** Every two features together; a feature that stands alone by itself. */
const twoByTwo = (features: readonly Feature[]): string[] =>
  features.length === 1
    ? features.map(([name, value]) => `${name}=${value}`)
    : features.flatMap(([name, value], at) =>
        features.slice(at + 1).map(([other, its]) => `${name}=${value} ${other}=${its}`),
      )

/** What laws are about: what may be true of it, and what its laws may name. */
export const subjects = {
  pair: { conditions: ofPairs, valuesOf: valuesOfPair },
  key: { conditions: ofKeys, valuesOf: valuesOfKey },
} as const

function valuesOfPair({ x }: Caller, it: string) {
  const [first, ...others] = x.addresses.slice(1).map(({ name }) => name)
  return {
    it,
    addresses: first === undefined ? [] : [first],
    otherAddresses: others,
    probes: x.probes,
    contexts: contextsOf(x),
  }
}

function valuesOfKey(caller: Caller, who: string, { publicKey }: Key) {
  return {
    ...valuesOfPair(caller, who),
    ...othersOf(caller, who),
    ways: publicKey === null ? [{ basic: who }, { hmac: who }] : [{ ecc: who }],
    signer: { [publicKey === null ? 'hmac' : 'ecc']: who },
  }
}

/** The keys beside one, in a ring: those that come after it first. */
function othersOf({ x, keyring: { secret, narrow, ecc, narrowEcc } }: Caller, who: string) {
  const ring = [...secret, ...narrow, ...ecc, ...narrowEcc]
  const others = [...ring.slice(ring.indexOf(who) + 1), ...ring.slice(0, Math.max(0, ring.indexOf(who)))]
  const signs = (name: string): boolean => x.names.get(name)?.seed !== undefined
  return { secretOthers: others.filter((name) => !signs(name)), signingOthers: others.filter(signs) }
}

/** The declared calls for the contexts of two solutions. */
function contextsOf({ solutionProbe, solutions: [own, other] }: Explorer): unknown[] {
  if (solutionProbe === undefined || own === undefined || other === undefined) return []
  const { method, params, path } = solutionProbe
  return [own, other].map((solution) => ({ method, params: withValue(params, path, solution) }))
}

function withValue(value: unknown, [name, ...rest]: readonly string[], instead: string): unknown {
  if (name === undefined) return instead
  const members = value as { readonly [name: string]: unknown }
  return { ...members, [name]: withValue(members[name] ?? {}, rest, instead) }
}

/** Lists are as long as in a long exploration. */
const column = 2

/** The combinations of a law, each with its number. A list that takes turns gives another item each time. */
function* combinationsOf(
  { turns }: Caller,
  { law, each = {} }: Law,
  values: ReadonlyMap<string, unknown>,
): Generator<readonly [at: number, values: Values]> {
  const turn = turns.get(law) ?? 0
  let at = 0
  for (const one of combinations(Object.entries(each), new Map(values).set('turn', turn), column)) yield [at++, one]
}

/** Makes the calls of a law. @returns how many, and how many of them were wrong */
async function make(caller: Caller, { law, steps }: Law, values: Values): Promise<{ made: number; wrong: number }> {
  const count = { made: 0, wrong: 0 }
  caller.turns.set(law, (caller.turns.get(law) ?? 0) + 1)
  for (const raw of steps) {
    const step = stepOf(caller, raw, values)
    if (step === null || (await makeStep(caller, step.call, raw.expect)) === null) continue
    count.made += 1
    count.wrong += raw.expect === 'refused' ? 1 : 0
  }
  return count
}

const bystanders = 'nobody else is touched'
const everyBystander = 3
const recentPairs = 24

/** Pairs that a step did not touch: newer and older ones, of the same key and of others. */
async function tryBystander({ x, turns }: Caller, names: readonly string[]): Promise<void> {
  const steps = turns.get(bystanders) ?? 0
  turns.set(bystanders, steps + 1)
  if (steps % everyBystander !== 0) return
  const recent = x.pairNames.slice(-recentPairs)
  const name = recent.at(-1 - (((steps / everyBystander) * 7) % Math.max(1, recent.length)))
  if (name !== undefined && !names.includes(name)) await expectAccepted(x, list(token(name)))
}

function pairNamed(x: Explorer, name: string): Pair | undefined {
  const { access, pairs } = x.state()
  const index = access.get(x.names.get(name)?.accessToken ?? '')
  return index === undefined ? undefined : pairs.get(index)
}
