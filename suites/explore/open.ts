/** Opens a target for an exploration, and says what is known of it before the first call. */
import type { CreatedKey } from '../engine/conversation/conversation.ts'
import { areas } from '../engine/model/judge.ts'
import { initialState, type Key, layered, type State, type Terms } from '../engine/model/state.ts'
import { publicKeyOfSeed } from '../engine/signer/ed25519.ts'
import { publicKeyToPem, seedFromPkcs8 } from '../engine/signer/pem.ts'
import { type Random, systemRandom } from '../engine/signer/random.ts'
import { bareSettings, type Instance, type TargetSettings } from '../engine/target.ts'
import { createHandler } from '../targets/bundled.ts'
import { memoryInstance } from '../targets/in-memory.ts'
import { type UrlTargetOptions, urlTarget } from '../targets/url.ts'
import { fixedSessionNames } from './read-worlds.ts'
import { type CallStep, plannedKeys, solutionKeys, type Value } from './step.ts'

/** A target for one exploration. `values`: where a server may remember the nonces, names and public keys of an earlier one with this seed. */
interface OpenedTarget {
  readonly instance: Instance
  /** Whether calls can come from every address of 127/8; over IPv6 they cannot. */
  readonly loopback: boolean
  readonly values?: Random
}

/** @param target null: the bundled server in memory, with a clock of its own */
export async function openTarget(target: UrlTargetOptions | null): Promise<OpenedTarget> {
  if (target === null) return openBundled()
  const opened = await urlTarget({ ...target, namesConnections: true }).open()
  const loopback = /^127\.\d+\.\d+\.\d+$/.test(new URL(opened.baseUrl).hostname)
  return { instance: { ...opened, settings: target.settings }, loopback, values: systemRandom }
}

function openBundled(): OpenedTarget {
  const { handle, context } = createHandler({ clock: 'virtual' })
  const { id, secret } = context.root
  const settings = { ...bareSettings, clientAddress: '127.0.0.1' }
  const root = { kind: 'secret', id, secret } as const
  return { instance: memoryInstance({ handle, clock: context.clock, root, settings }), loopback: true }
}

// What is known before the first call.

type Credentials = Pick<CreatedKey, 'id' | 'secret' | 'privateKey'>

/** A key that is there before the exploration. One that is no test key may only list solutions. */
type KnownKey = Credentials & Partial<Pick<CreatedKey, 'member' | 'name'>>

/** A target that is still to be explored. */
interface Unexplored {
  readonly instance: Instance
  /** Whether calls can come from every address of 127/8. */
  readonly loopback: boolean
  /** Nothing was created on the target before, and nobody else uses it. */
  readonly fresh: boolean
  /** How many keys were created on the target before. */
  readonly created?: number
  /** Existing keys: the test keys of a run. */
  readonly knownKeys?: readonly KnownKey[]
  /** A key that must still work: no wrong call was made with it, and no later key can have taken its place. */
  readonly untried?: KnownKey | undefined
  /** A race before it left more sessions than the limit. */
  readonly hasSurplusSessions?: boolean
}

export function knownBefore(target: Unexplored) {
  const { instance, loopback, fresh, created = 0, knownKeys = [], untried, hasSurplusSessions = false } = target
  const { settings, root } = instance
  const begun = stateOfTarget(instance, { fresh, hasSurplusSessions })
  const names = new Map<string, Value>([['root', credentialsOf(root)]])
  const known = knownKeys.flatMap((key, at) => {
    const nameless = knownKeys.slice(0, at).filter((other) => other.member === undefined && isLike(key, other)).length
    const name = nameOfKnown(key, nameless)
    return name === undefined ? [] : [asKnown(key, name)]
  })
  if (untried !== undefined) known.push(asKnown(untried, 'untried-key', 'yes'))
  for (const { name, value } of known) {
    names.set(name, value)
    if (value.publicKey !== undefined) names.set(`${name}-own`, { publicKey: value.publicKey })
  }
  const state: State = {
    ...begun,
    created,
    keys: new Map([...begun.keys, ...known.map(({ key }) => [key.id, key] as const)]),
    keyNames: layered(known.map(({ key }) => [key.name, true])),
    // Names that are the same in every exploration may have been used before, which is open (sessions/reused-name).
    sessionNames: layered(fixedSessionNames().map((name) => [name, true])),
  }
  return {
    names,
    state,
    addresses: addressesOf(settings, loopback),
    /** Ids of solutions that the user names, and that can stand in a word of scope. */
    solutions: settings.solutions.filter((id) => /^[\w-]+$/.test(id)),
    /** Methods of the API areas that the user names, without a solution in their params. */
    probes: areaProbes(settings),
    /** The method for the contexts of a solution that the user names. */
    solutionProbe: solutionProbe(settings),
  }
}

/** The state of a target before any call, as far as its settings tell. */
export function stateOfTarget({ root, settings }: Instance, terms: Partial<Terms>): State {
  const { scheme, signedUri: uri, tokenPrefix = null } = settings
  return initialState(
    // Calls may have been made before.
    { scheme, tokenPrefix, uri, ...namedMethods(settings), fresh: false, ...terms },
    keyBefore(root, { works: 'yes', origin: 'the initial key' }),
  )
}

/** A key that is there before the first call, as the model knows it. */
export function keyBefore({ id, secret = '', privateKey }: Credentials, more: Partial<Key> & Pick<Key, 'origin'>): Key {
  const publicKey = privateKey === undefined ? null : publicKeyOfSeed(seedFromPkcs8(privateKey))
  return { id, name: '', secret, publicKey, scope: null, doubtful: [], works: 'unknown', ...more }
}

function credentialsOf({ id, secret = '', privateKey }: Credentials): Value {
  const seed = privateKey === undefined ? undefined : seedFromPkcs8(privateKey)
  return { id, secret, ...(seed === undefined ? {} : { seed, publicKey: publicKeyToPem(publicKeyOfSeed(seed)) }) }
}

/** Whether both keys have a secret, or both a public key. */
const isLike = (one: KnownKey, other: KnownKey): boolean =>
  (one.privateKey === undefined) === (other.privateKey === undefined)

/** The explorer's key that another one replaces. @param nameless how many keys of its kind before it are no test keys */
function nameOfKnown({ member, privateKey }: KnownKey, nameless: number): string | undefined {
  if (member === undefined) return (privateKey === undefined ? solutionKeys.secret : solutionKeys.ecc)[nameless]
  return Object.keys(plannedKeys).find((name) => plannedKeys[name]?.member === member)
}

/** Which areas a key's scope may name is open, so a test key may have been created without those that no example of the document names. */
const perhapsMissing = areas.filter((area) => area !== 'solution' && area !== 'context')

/** @param works unknown where it may have been removed to make room for another one */
function asKnown(known: KnownKey, name: string, works: Key['works'] = 'unknown') {
  const { member, name: label = member ?? '' } = known
  const { scope = null } = plannedKeys[name] ?? {}
  const origin = member === undefined ? 'a key of a case' : `test key ${member}`
  const key = keyBefore(known, { name: label, scope, works, doubtful: scope === null ? perhapsMissing : [], origin })
  return { name, key, value: { ...credentialsOf(known), name: label } }
}

/** One of our addresses. */
type Address = {
  readonly name: string
  /** The local address to bind to; undefined: the machine chooses. */
  readonly local: string | undefined
  /** As the target sees it; empty if that is not known. */
  readonly seen: string
}

/** On the loopback, every address of 127/8 is ours. */
function addressesOf({ clientAddress, secondAddress }: TargetSettings, loopback: boolean): readonly Address[] {
  if (!loopback) {
    const first = { name: 'first-address', local: undefined, seen: clientAddress ?? '' }
    const hasSecond = clientAddress !== undefined && secondAddress !== undefined
    return hasSecond ? [first, { name: 'second-address', local: secondAddress, seen: secondAddress }] : [first]
  }
  const translated = clientAddress !== undefined && clientAddress !== '127.0.0.1'
  // If addresses are translated on the way, the target's view of the others is unknown.
  if (translated) return [{ name: 'first-address', local: undefined, seen: clientAddress }]
  const second = secondAddress ?? '127.0.0.2'
  const others = ['127.0.0.11', '127.0.1.1', '127.1.0.1', '127.200.150.250']
  return [
    { name: 'first-address', local: undefined, seen: clientAddress ?? '127.0.0.1' },
    { name: 'second-address', local: second, seen: second },
    ...others.map((seen) => ({ name: seen, local: seen, seen })),
  ]
}

/** The methods of the target file: those that one API area opens, the one for the contexts of a solution, and those that it names for other purposes. */
export function namedMethods(settings: TargetSettings): Pick<Terms, 'probes' | 'otherMethods' | 'contextsOfSolution'> {
  const { probes, cleanup } = settings
  const named = Object.entries(probes)
  const ofSolution = solutionProbe(settings)
  const ofAreas = new Map(named.flatMap(([area, { method }]) => (areas.includes(area) ? [[method, area]] : [])))
  const others = [...named.map(([, { method }]) => method), ...(cleanup === undefined ? [] : [cleanup.method])]
  return {
    probes: ofAreas,
    otherMethods: new Set(others.filter((method) => !ofAreas.has(method))),
    ...(ofSolution === undefined ? {} : { contextsOfSolution: ofSolution }),
  }
}

/** The probe `solution-context` of the target file, if the scope context suffices for it. */
function solutionProbe({ probes }: TargetSettings) {
  const probe = probes['solution-context']
  const params = (probe?.params ?? {}) as CallStep['params']
  const path = pathTo('$solution', params)
  const isPlain = probe?.scope === undefined && JSON.stringify(params).split('$').length === 2
  return probe === undefined || path === undefined || !isPlain ? undefined : { method: probe.method, params, path }
}

/** Where in a value a text stands; undefined: nowhere. */
function pathTo(text: string, value: unknown): string[] | undefined {
  if (value === text) return []
  if (typeof value !== 'object' || value === null) return undefined
  for (const [name, member] of Object.entries(value)) {
    const rest = pathTo(text, member)
    if (rest !== undefined) return [name, ...rest]
  }
  return undefined
}

/** The calls of the target file for which the scope of their area suffices; none with the id of a solution. */
const areaProbes = ({ probes }: TargetSettings) =>
  Object.entries(probes).flatMap(([area, { method, params, scope }]) => {
    const isPlain = areas.includes(area) && scope === undefined && !JSON.stringify(params ?? {}).includes('$')
    return isPlain ? [{ method, params: (params ?? {}) as CallStep['params'] }] : []
  })
