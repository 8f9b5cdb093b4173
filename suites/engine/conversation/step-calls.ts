/** What a step asks for: `$names` get their values, and calls all that is needed to write them. */
import { SuiteError } from '../errors.ts'
import { isObject } from '../json.ts'
import { roundingMs } from '../judge/judge-case.ts'
import { changesOf } from '../language/deviations.ts'
import type { Auth, CallStep, Case, Scenario, SendStep, Value } from '../language/fixture-types.ts'
import { type Names, resolve } from '../language/resolve.ts'
import type { Change } from '../signer/changed-call.ts'
import { publicKeyOfSeed } from '../signer/ed25519.ts'
import { derivedSecrets, ed25519KeyPair, publicKeyToPem } from '../signer/pem.ts'
import { shortName, uniqueLength } from '../signer/random.ts'
import { isLoopback } from '../target.ts'
import type { CallSpec, RawSpec } from './call.ts'
import { claimsOf } from './cases.ts'
import { actor, type Conversation, credentialFor } from './conversation.ts'
import { offsetUncertaintyMs } from './target-facts.ts'

/** One try of a case. */
interface Trying {
  scenario: Scenario
  testCase: Case
  /** The names of the test keys that the case uses. */
  testKeys: Iterable<string>
  /** Of this try, from 1. */
  number: number
}

/** The built-in names of a case (fixtures/README.md); those with a getter are made when they are used. */
export function builtInNames(talk: Conversation, trying: Trying): Names {
  const { testCase, testKeys } = trying
  const { run, facts, createdKeys, instance } = talk
  const { scopeNames, solutions, probes } = instance.settings
  const letters = 'abcdefghijklmnopqrstuvwxyz'
  // A server may give one id twice: that is one key.
  const created = () => [...new Map(createdKeys.keys.map((key) => [key.id, key])).values()]
  const made: { life?: number; tiny?: string; unique?: string; pairs?: ReturnType<typeof keyPairs> } = {}
  // Most cases use few of them.
  const names: Names = {
    case: testCase.values,
    get life() {
      made.life ??= suitableLifeMs(talk, trying)
      return made.life
    },
    apikey: scopeNames.apikey ?? facts.apikey,
    solutions,
    // The scope that each probe needs in addition to that of its area.
    probes: Object.fromEntries(Object.entries(probes).map(([area, { scope = [] }]) => [area, { scope }])),
    client: { address: facts.clientAddress },
    second: { address: facts.secondAddress },
    get elsewhere() {
      return addressesElsewhere(facts.clientAddress, facts.secondAddress)
    },
    /** Short, and unlikely to occur twice. */
    get tiny() {
      made.tiny ??= Array.from({ length: 3 }, () => letters[run.random.below(letters.length)]).join('')
      return made.tiny
    },
    /** Two cases that run at the same time must not use one name for two sessions. */
    get unique() {
      made.unique ??= shortName(`${run.unique}-${talk.next('try')}`, uniqueLength)
      return made.unique
    },
    get keypairs() {
      made.pairs ??= keyPairs(talk, String(names.unique))
      return made.pairs
    },
    /** The key that requests the scope of one solution: one that was created with it, otherwise root. */
    get holder() {
      const holder = [...talk.testKeys].find(([, { scope }]) => scope?.includes(`solution:${solutions[0]}`))
      return credentialFor(talk, holder?.[0] ?? actor(talk, 'root'))
    },
    /** A lifetime in ms that exceeds that of a refresh token; undefined until a refresh token was granted. */
    get beyond() {
      return facts.refreshLifeMs === undefined ? undefined : facts.refreshLifeMs + clearlyBeyondMs
    },
    get created() {
      return created()
    },
    /** Those of them that list solutions: each was created in a way that must be accepted, with a scope that says so and no restriction beside it. */
    get listing() {
      return created().filter(({ member, scope = [] }) => {
        const words = run.corpus.testKeys.find(({ name }) => name === member)?.scope ?? scope
        return words.includes('solution') && !words.some((word) => /^(expiresIn|ipAddr|session):/.test(word))
      })
    },
  }
  for (const member of testKeys) names[member] = withPublicKey(credentialFor(talk, actor(talk, member)))
  return names
}

/** Key pairs of this try alone, as `$keypairs.a.publicKey`; each is made when it is used. */
function keyPairs(
  { run }: Conversation,
  unique: string,
): { readonly [letter: string]: { readonly publicKey: string } } {
  const pairOf = (letter: string): ReturnType<typeof ed25519KeyPair> => {
    const name = `${unique} ${letter}`
    const pair = run.keyPairs.get(name) ?? ed25519KeyPair(run.random.bytes(32))
    run.keyPairs.set(name, pair)
    return pair
  }
  const entries = Array.from('abcdefghij', (letter) => [
    letter,
    {
      get publicKey() {
        return pairOf(letter).publicKeyPem
      },
    },
  ])
  return Object.fromEntries(entries)
}

/** Addresses from which no call of ours comes; the first three belong to networks for documentation (RFC 5737). */
function addressesElsewhere(own = '127.0.0.1', second = own): { [which: string]: string } {
  const [last = '1'] = own.split('.').slice(-1)
  const network = own.split('.').slice(0, 3).join('.')
  const isAddress = (text: string): boolean => text.split('.').every((part) => Number(part) <= 255)
  const choose = (...candidates: string[]): string =>
    candidates.find((address) => address !== own && address !== second && isAddress(address)) ?? '192.0.2.77'
  return {
    far: choose('203.0.113.7', '192.0.2.7'),
    farther: choose('198.51.100.255', '192.0.2.255'),
    alike: choose(`203.0.113.${last}`, `198.51.100.${last}`),
    neighbour: choose(`${network}.10`, `${network}.20`, `${network}.30`),
    longer: choose(`${own}11`, `${own}1`, `${network}.111`),
  }
}

/**
 * `$bob.publicKey` is the PEM of bob's public key, and `$bob.derived.sha256PemHex` bob's id with a secret that anyone can compute from it.
 * Both are computed only when a fixture uses them.
 */
function withPublicKey(
  credential: ReturnType<typeof credentialFor>,
): ReturnType<typeof credentialFor> & { readonly publicKey?: string; readonly derived?: object } {
  const { seed, id } = credential
  if (seed === undefined) return credential
  return {
    ...credential,
    get publicKey() {
      return publicKeyToPem(publicKeyOfSeed(seed))
    },
    get derived() {
      const secrets = Object.entries(derivedSecrets(publicKeyOfSeed(seed)))
      return Object.fromEntries(secrets.map(([name, secret]) => [name, { id, secret }]))
    },
  }
}

/** Several calls, or one per item. */
export const hasRounds = (step: CallStep | SendStep): boolean =>
  step.repeat !== undefined || step.parallel !== undefined || step.for !== undefined

/** The names of each round: `$n` counts from 1, `$it` is the item. */
export function roundsOf(step: CallStep | SendStep, names: Names): Names[] {
  // `created` must stay a getter, so names are inherited and not copied.
  const withNames = (more: Names): Names => Object.assign(Object.create(names) as Names, more)
  if (step.for !== undefined) {
    const list = resolve(step.for, names)
    return (Array.isArray(list) ? list : []).map((it: unknown, index) => withNames({ it, n: index + 1 }))
  }
  const count = step.repeat ?? step.parallel
  if (count === undefined) return [names]
  return Array.from({ length: Number(resolve(count, names)) }, (_nothing, index) => withNames({ n: index + 1 }))
}

export function callSpec(talk: Conversation, step: CallStep, names: Names): CallSpec {
  const method = String(resolve(step.call, names))
  const params = resolve(step.params ?? {}, names)
  const declared = declaredCall(talk, method, params)
  return {
    method: declared?.method ?? method,
    params: declared?.params ?? params,
    auth: resolveAuth(talk, step.auth, names),
    nonce: resolve(step.nonce, names) as CallSpec['nonce'],
    // No other case has this unique text.
    ...(step.connection === undefined ? {} : { ownConnection: `${names.unique} ${step.connection}` }),
    changes: [...changesOfParams(resolve(step.but, names)), ...changesOf(resolve(step.alter, names))],
    form: resolve(step.body, names) as CallSpec['form'],
    headers: resolve(step.headers, names) as CallSpec['headers'],
    from: reachable(talk, step.from),
    ...privateKeyFor(talk, params),
    title: step.step ?? method,
    ...('id' in step ? { id: resolve(step.id, names) } : {}),
  }
}

/** @throws SuiteError (`fixture`) for an address of the loopback, from which only targets of this machine can be called */
function reachable({ instance: { baseUrl, clock } }: Conversation, from: string | undefined): string | undefined {
  if (from?.startsWith('127.') !== true || isLoopback(baseUrl) || clock.controlled) return from
  throw new SuiteError('fixture', `Cannot call from ${from}: the target is not on this machine`)
}

/** A key that is created with the public key of a test key, or of `$keypairs`, is used with its private key. */
function privateKeyFor(talk: Conversation, params: unknown): { privateKey?: string } {
  if (typeof params !== 'object' || params === null || !('publicKey' in params)) return {}
  const ofTestKeys = [...talk.testKeys.values()].flatMap(({ seed }) =>
    seed === undefined ? [] : [ed25519KeyPair(seed)],
  )
  const pair = [...talk.run.keyPairs.values(), ...ofTestKeys].find(
    ({ publicKeyPem }) => publicKeyPem === params.publicKey,
  )
  return pair === undefined ? {} : { privateKey: pair.privateKeyPem }
}

/**
 * `probe:context` and `cleanup` stand for the method that the target file declares; `$name` in its params takes the step's param
 * of that name.
 */
function declaredCall(
  talk: Conversation,
  method: string,
  params: unknown,
): { method: string; params: unknown } | undefined {
  const { probes, cleanup } = talk.instance.settings
  const declared = method === 'cleanup' ? cleanup : method.startsWith('probe:') ? probes[method.slice(6)] : undefined
  if (declared === undefined) return undefined
  return { method: declared.method, params: resolve(declared.params, params as Names) }
}

function resolveAuth(talk: Conversation, auth: Auth, names: Names): Auth {
  const resolved = resolve(auth as Value, names) as Auth
  if (typeof resolved !== 'object') return resolved
  if ('hmac' in resolved && resolved.hmac === 'root') return { ...resolved, hmac: actor(talk, 'root') }
  if ('basic' in resolved && resolved.basic === 'root') return { ...resolved, basic: actor(talk, 'root') }
  return resolved
}

export function rawSpec(talk: Conversation, step: SendStep, names: Names): RawSpec {
  const { send } = step
  const body = resolve(send.body ?? '', names)
  const method = String(resolve(send.method, names))
  return {
    method,
    path: String(resolve(send.path, names)),
    headers: (resolve(send.headers ?? {}, names) ?? {}) as { [name: string]: string },
    body:
      typeof body === 'object' && body !== null && 'base64' in body
        ? Uint8Array.from(atob(String(body.base64)), (character) => character.charCodeAt(0))
        : new TextEncoder().encode(String(body)),
    auth: resolveAuth(talk, send.auth ?? 'none', names),
    from: step.from,
  }
}

/** More than any uncertainty of clocks and rounding. */
const clearlyBeyondMs = 60_000

/** The usual number of calls while a token with a requested lifetime is in use. */
const callsInALife = 4

/** Whether a case waits for the end of a lifetime, which must not be longer than the run may wait. */
const waitsForAnEnd = ({ given, steps }: Scenario): boolean =>
  [...given, ...steps].some((step) => 'wait' in step && typeof step.wait === 'object')

/** How long those calls take at the pace of the target. @param grants a case that makes many grants uses each of them */
function paceMs({ facts, instance }: Conversation, grants = 0): number {
  const { rate } = instance.settings
  const slowest = Math.min(facts.callsPerSecond ?? Number.POSITIVE_INFINITY, rate > 0 ? rate : Number.POSITIVE_INFINITY)
  return Math.ceil((1000 * (callsInALife + 2 * grants)) / slowest)
}

/**
 * A lifetime in ms that leaves time for a call before it ends; longer at every new try. At most half the lifetime of a refresh
 * token, so that the refresh token is still valid when the access token has ended.
 */
export function suitableLifeMs(talk: Conversation, trying: Pick<Trying, 'scenario' | 'testCase' | 'number'>): number {
  const { facts, instance } = talk
  const { grants } = claimsOf(trying)
  const distance = (6 + grants) * facts.roundTripMs + 2 * offsetUncertaintyMs(facts.offset) + paceMs(talk, grants)
  const firstMs = 1700 + distance
  const mostMs = waitsForAnEnd(trying.scenario)
    ? instance.settings.maxWaitMs - roundingMs - firstMs
    : Number.POSITIVE_INFINITY
  // The second try adds this once, the third three times.
  const addedMs = Math.max(1000, Math.min(distance / 2, mostMs / 3))
  const wanted = instance.clock.controlled
    ? 20_000 + 30 * paceMs(talk)
    : Math.ceil(firstMs + (2 ** (trying.number - 1) - 1) * addedMs)
  const { refreshLifeMs = 0 } = facts
  // A refresh token that is granted with an expiry in the past has a wrong expiry, which says nothing about lifetimes.
  return refreshLifeMs > 0 ? Math.min(wanted, Math.floor(refreshLifeMs / 2)) : wanted
}

/** What the `but` of a call changes in its params. */
const changesOfParams = (but: unknown): Change[] =>
  Object.entries(isObject(but) ? but : {}).map(([name, word]) => ({
    field: `param ${name}`,
    by: { word: String(word) },
  }))
