import type { Called } from '../judge/called.ts'
import { changesOf } from '../language/alterations.ts'
import type { Auth, CallStep, SendStep, Value } from '../language/fixture-types.ts'
import { type Names, resolve } from '../language/resolve.ts'
import { ed25519KeyPair } from '../signer/pem.ts'
import { alterText } from './authorize.ts'
import { makeCall, makeCalls, sendRaw } from './call.ts'
import type { CallSpec, RawSpec } from './call-spec.ts'
import type { Caller } from './caller.ts'
import { confirmRefusals, mayBeRefused } from './confirm-refusals.ts'
import { actor } from './credential-of.ts'
import { patienceForRefusalMs } from './patience.ts'

/** Makes every call of a step: one, or those of repeat, parallel or for. */
export async function perform(caller: Caller, step: CallStep | SendStep, names: Names): Promise<Called[]> {
  if (!('send' in step) && step.parallel !== undefined) return performRaces(caller, step, names)
  const rounds = roundsOf(step, names)
  const make = async (round: Names): Promise<Called> => {
    const called = await makeRound(caller, step, round, rounds.length)
    if (mayBeRefused(step)) await confirmRefusals(caller, [called])
    return called
  }
  if (caller.limit.atOnce > 1 && !isOrdered(step)) return Promise.all(rounds.map(make))
  const calls: Called[] = []
  for (const [index, round] of rounds.entries()) {
    calls.push(await make(round))
    if (caller.limit.atOnce > 1 && isFull(step, calls))
      return [...calls, ...(await Promise.all(rounds.slice(index + 1).map(make)))]
  }
  return calls
}

/** After this number of refusals in a row a limit counts as reached. */
const refusalsWhenFull = 2

/**
 * Whether the creations of a step meet the limit of keys. Those that follow change nothing then, so they may be under way at once. If one is
 * accepted all the same, the limit must hold for simultaneous creations too.
 */
function isFull(step: CallStep | SendStep, calls: readonly Called[]): boolean {
  if ('send' in step || step.call !== 'manager/createApiKey') return false
  const last = calls.slice(-refusalsWhenFull)
  return last.length === refusalsWhenFull && last.every(({ answer }) => answer.outcome === 'refused')
}

/** Whether the rounds of a step must run one after another. They need not if they change nothing and only their sum counts. */
function isOrdered(step: CallStep | SendStep): boolean {
  if ('send' in step || step.call !== 'solution/listSolutions') return true
  // A server may answer repeated calls differently one after another than all at once.
  return step.observe !== undefined && step.for === undefined
}

/** One race, or one for each item of `for`; every second one uses connections that carried calls before. */
async function performRaces(caller: Caller, step: CallStep, names: Names): Promise<Called[]> {
  const { for: items, ...race } = step
  const rounds = items === undefined ? [names] : roundsOf({ ...step, parallel: undefined } as never, names)
  const calls: Called[] = []
  for (const [round, inRound] of rounds.entries()) {
    const connections = step.connections ?? (round % 2 === 0 ? 'new' : 'warm')
    const racers = roundsOf(race, inRound)
    const specs = racers.map((one) => ({
      ...callSpec(caller, race, one),
      warmConnection: connections === 'warm',
      sharedBy: rounds.length * racers.length,
    }))
    if (connections === 'warm') await warmUp(caller, specs.length)
    const racing = await makeCalls(caller, specs)
    await caller.instance.endRaces?.()
    if (mayBeRefused(step)) await confirmRefusals(caller, racing)
    for (const called of racing) calls.push({ ...called, race: { round, connections } })
  }
  return calls
}

/** Makes ordinary calls at once, so that enough connections are open for a race. */
async function warmUp(caller: Caller, connections: number): Promise<void> {
  const call = { method: 'solution/listSolutions', params: {}, auth: { key: 'root' }, warmConnection: true } as const
  await makeCalls(
    caller,
    Array.from({ length: connections }, () => call),
  )
}

function makeRound(caller: Caller, step: CallStep | SendStep, names: Names, sharedBy: number): Promise<Called> {
  const isRefusable = mayBeRefused(step)
  const timeoutMs = isRefusable ? patienceForRefusalMs(caller) : undefined
  return 'send' in step
    ? sendRaw(caller, {
        ...rawSpec(caller, step, names),
        timeoutMs,
        sharedBy,
        mayBeRefused: isRefusable || step.expect === undefined,
      })
    : makeCall(caller, {
        ...callSpec(caller, step, names),
        timeoutMs,
        sharedBy,
        mayBeRefused: isRefusable || step.expect === undefined,
        mustBeRefused: step.expect === 'refused',
      })
}

/** Several calls, or one per item. */
export const hasRounds = (step: CallStep | SendStep): boolean =>
  step.repeat !== undefined || step.parallel !== undefined || step.for !== undefined

/** The names of each round: `$n` counts from 1, `$it` is the item. */
function roundsOf(step: CallStep | SendStep, names: Names): Names[] {
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

function callSpec(caller: Caller, step: CallStep, names: Names): CallSpec {
  const method = String(resolve(step.call, names))
  const params = resolve(step.params ?? {}, names)
  const declared = declaredCall(caller, method, params)
  return {
    method: declared?.method ?? method,
    params: applyParamChanges(declared?.params ?? params, resolve(step.but, names)),
    auth: resolveAuth(caller, step.auth, names),
    nonce: resolve(step.nonce, names) as CallSpec['nonce'],
    // No other case has this unique text.
    ...(step.connection === undefined ? {} : { ownConnection: `${names.unique} ${step.connection}` }),
    ...('alter' in step ? { changes: changesOf(resolve(step.alter, names)) } : {}),
    form: resolve(step.body, names) as CallSpec['form'],
    headers: resolve(step.headers, names) as CallSpec['headers'],
    from: step.from,
    ...privateKeyFor(caller, params),
    ...(method === 'cleanup' ? { removes: String((params as { id?: unknown }).id) } : {}),
    ...('id' in step ? { id: resolve(step.id, names) } : {}),
  }
}

/** A key that is created with a test key's public key (`$bob.publicKey`) is used with that test key's private key. */
function privateKeyFor(caller: Caller, params: unknown): { privateKey?: string } {
  if (typeof params !== 'object' || params === null || !('publicKey' in params)) return {}
  for (const { seed } of caller.testKeys.values()) {
    if (seed === undefined) continue
    const { publicKeyPem, privateKeyPem } = ed25519KeyPair(seed)
    if (publicKeyPem === params.publicKey) return { privateKey: privateKeyPem }
  }
  return {}
}

/**
 * `probe:context` and `cleanup` stand for the method that the target file declares; `$name` in its params takes the step's param
 * of that name.
 */
function declaredCall(
  caller: Caller,
  method: string,
  params: unknown,
): { method: string; params: unknown } | undefined {
  const { probes, cleanup } = caller.instance.settings
  const declared = method === 'cleanup' ? cleanup : method.startsWith('probe:') ? probes[method.slice(6)] : undefined
  if (declared === undefined) return undefined
  return { method: declared.method, params: resolve(declared.params, params as Names) }
}

function applyParamChanges(params: unknown, but: unknown): unknown {
  if (typeof but !== 'object' || but === null) return params
  const changed = { ...(params as { [name: string]: unknown }) }
  for (const [name, word] of Object.entries(but)) changed[name] = alterText(String(changed[name]), word)
  return changed
}

function resolveAuth(caller: Caller, auth: Auth, names: Names): Auth {
  const resolved = resolve(auth as Value, names) as Auth
  if (typeof resolved !== 'object') return resolved
  if ('hmac' in resolved && resolved.hmac === 'root') return { ...resolved, hmac: actor(caller, 'root') }
  if ('basic' in resolved && resolved.basic === 'root') return { ...resolved, basic: actor(caller, 'root') }
  return resolved
}

function rawSpec(caller: Caller, step: SendStep, names: Names): RawSpec {
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
    auth: resolveAuth(caller, send.auth ?? 'none', names),
    from: step.from,
  }
}
