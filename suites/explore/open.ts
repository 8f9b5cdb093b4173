/** Opens a target for an exploration, and creates an explorer from its settings. */
import { areas } from '../engine/model/judge.ts'
import type { Key, Terms } from '../engine/model/state.ts'
import { publicKeyOfSeed } from '../engine/signer/ed25519.ts'
import { ed25519KeyPair, publicKeyToPem, seedFromPkcs8 } from '../engine/signer/pem.ts'
import { type Random, systemRandom } from '../engine/signer/random.ts'
import { bareSettings, type Instance, type RootKey, type TargetSettings } from '../engine/target.ts'
import { createHandler } from '../targets/bundled.ts'
import { memoryInstance } from '../targets/in-memory.ts'
import { type UrlTargetOptions, urlTarget } from '../targets/url.ts'
import { createExplorer } from './explorer.ts'
import type { Explorer, ExplorerOptions } from './explorer-types.ts'
import { solutionKeys } from './keyring.ts'
import type { CallStep, Value } from './step.ts'

interface OpenOptions
  extends Pick<
      ExplorerOptions,
      'instance' | 'operations' | 'values' | 'emit' | 'createdKeys' | 'maxCalls' | 'timeLeftMs' | 'onCall'
    >,
    Partial<Pick<ExplorerOptions, 'created' | 'triesBefore' | 'overtimeMs'>> {
  /** Nothing was created on the target before, and nobody else uses it. */
  readonly fresh: boolean
  readonly loopback: boolean
  /** Existing keys: the test keys of a run. */
  readonly knownKeys?: readonly KnownKey[]
  /** A race before it left more sessions than the limit. */
  readonly hasSurplusSessions?: boolean
}

/** A key that is there before the exploration. */
interface KnownKey {
  readonly id: string
  readonly secret?: string
  /** PKCS#8 PEM. */
  readonly privateKey?: string
  /** Its name among the test keys; without one it is a key that may only list solutions. */
  readonly member?: string
  /** Its label on the target. */
  readonly name?: string
}

/** The explorer's key that a test key replaces. */
const standsFor: { readonly [member: string]: string } = {
  erin: 'by-ecc',
  bob: 'ecc-a',
  carol: 'ecc-b',
  dave: 'context-key',
}

export function openExplorer(options: OpenOptions): Explorer {
  const { values, knownKeys = [] } = options
  const { root, settings, clock } = options.instance
  return createExplorer({
    created: 0,
    triesBefore: 0,
    ...options,
    clock,
    unique: Array.from(values.bytes(4), (byte) => (byte % 36).toString(36)).join(''),
    root: rootValue(root),
    rootKey: keyOfRoot(root),
    terms: {
      scheme: settings.scheme,
      tokenPrefix: settings.tokenPrefix ?? null,
      uri: settings.signedUri,
      ...namedMethods(settings),
      fresh: options.fresh,
      ...(options.hasSurplusSessions === true ? { hasSurplusSessions: true } : {}),
    },
    addresses: addressesOf(settings, options.loopback),
    solutions: settings.solutions,
    probes: areaProbes(settings),
    solutionProbe: solutionProbe(settings),
    knowsAddress: settings.clientAddress !== undefined,
    knownKeys: knownKeys.flatMap((key, at) =>
      asKnown(key, knownKeys.slice(0, at).filter((other) => other.member === undefined && isLike(key, other)).length),
    ),
  })
}

/** Which areas a key's scope may name is open, so a test key may have been created without those that no example of the document names. */
const perhapsMissing = areas.filter((area) => area !== 'solution' && area !== 'context')

const narrowScopes: { readonly [name: string]: string[] } = {
  'context-key': ['context'],
  ...Object.fromEntries(Object.values(solutionKeys).flatMap((names) => names.map((name) => [name, ['solution']]))),
}

/** Whether both keys have a secret, or both a public key. */
const isLike = (one: KnownKey, other: KnownKey): boolean =>
  (one.privateKey === undefined) === (other.privateKey === undefined)

/** @param nameless how many keys of its kind before it are no test keys */
function asKnown(
  { id, secret = '', privateKey, member, name: label = member ?? '' }: KnownKey,
  nameless: number,
): { name: string; value: Value; key: Key }[] {
  const namesOfCases = privateKey === undefined ? solutionKeys.secret : solutionKeys.ecc
  const name = member === undefined ? namesOfCases[nameless] : standsFor[member]
  if (name === undefined) return []
  const seed = privateKey === undefined ? undefined : seedFromPkcs8(privateKey)
  const publicKey = seed === undefined ? null : publicKeyOfSeed(seed)
  const scope = narrowScopes[name] ?? null
  // It may have been removed to make room for another one.
  const key: Key = {
    id,
    name: label,
    secret,
    publicKey,
    scope,
    doubtful: scope === null ? perhapsMissing : [],
    works: 'unknown',
    origin: member === undefined ? 'a key of a case' : `test key ${member}`,
  }
  const pair = seed === undefined || publicKey === null ? {} : { seed, publicKey: publicKeyToPem(publicKey) }
  return [{ name, key, value: { id, secret, name: label, ...pair } }]
}

/** The initial key as the model knows it. */
export function keyOfRoot(root: RootKey): Key {
  const { secret = '', seed } = rootValue(root)
  return {
    id: root.id,
    name: '',
    secret,
    publicKey: seed === undefined ? null : publicKeyOfSeed(seed),
    scope: null,
    doubtful: [],
    works: 'yes',
    origin: 'the initial key',
  }
}

function rootValue(root: RootKey): Value {
  if (root.kind === 'secret') return { id: root.id, secret: root.secret }
  const seed = seedFromPkcs8(root.privateKey)
  return { id: root.id, secret: '', seed, publicKey: publicKeyToPem(publicKeyOfSeed(seed)) }
}

/** On the loopback, every address of 127/8 is ours. */
function addressesOf({ clientAddress, secondAddress }: TargetSettings, loopback: boolean): Explorer['addresses'] {
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

export const keyPairMaker = (values: Random) => (): ReturnType<typeof ed25519KeyPair> =>
  ed25519KeyPair(values.bytes(32))

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
function solutionProbe({ probes }: TargetSettings): ExplorerOptions['solutionProbe'] | undefined {
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
const areaProbes = ({ probes }: TargetSettings): ExplorerOptions['probes'][number][] =>
  Object.entries(probes).flatMap(([area, { method, params, scope }]) => {
    const isPlain = areas.includes(area) && scope === undefined && !JSON.stringify(params ?? {}).includes('$')
    return isPlain ? [{ method, params: (params ?? {}) as CallStep['params'] }] : []
  })
