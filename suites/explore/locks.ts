/** Whether a right call was refused because wrong ones before it locked its key, which the document leaves open. */
import { findPair } from '../engine/model/facts-of-credentials.ts'
import { keyIdOf } from '../engine/model/learn.ts'
import { isObject, readBody } from '../engine/model/parse.ts'
import type { Call, State } from '../engine/model/state.ts'
import { basic, ecc, grant, hmac, list } from './calls.ts'
import type { Candidate, Explorer } from './explorer-types.ts'
import type { CallStep, Step } from './step.ts'

/** A server may lock a key, or an address, after this many wrong attempts. */
export const triesOfLock = { key: 5, address: 20 }

/** How many wrong attempts on a key, or on any, may have locked it. */
export type TriesOf = (id: string | null) => number

/** Whether the key of a refused call is refused everywhere after wrong attempts, which is open: it may be locked. */
export async function isLocked(x: Explorer, { kind, entry }: Candidate, triesOf: TriesOf): Promise<boolean> {
  if (kind === 'accepted' || kind === 'shape') return false
  const state = x.state()
  const ids = (x.log[entry]?.seen ?? []).flatMap(({ call }) => keyBehind(state, call) ?? [])
  for (const id of [...new Set([...ids, state.root])]) {
    const isAddress = id === state.root && !ids.includes(id)
    const enough = isAddress ? triesOf(null) >= triesOfLock.address : triesOf(id) >= triesOfLock.key
    if (enough && (await isRefusedEverywhere(x, id))) return true
  }
  // A lost key is no locked address: another key must be refused, too.
  return ids.includes(state.root) && triesOf(null) >= triesOfLock.address && (await areKeysRefused(x))
}

/** Whether the initial key and another one are refused everywhere. */
async function areKeysRefused(x: Explorer): Promise<boolean> {
  const state = x.state()
  const other = [...state.keys.values()].find(
    ({ id, scope, ended }) => id !== state.root && ended === undefined && scope?.includes('solution') !== false,
  )
  return other !== undefined && (await isRefusedEverywhere(x, state.root)) && (await isRefusedEverywhere(x, other.id))
}

/** The key of a call, direct or through a token. */
function keyBehind(state: State, call: Call): string | undefined {
  const body = readBody(call.body)
  const own = keyIdOf(state, call, body)
  if (own !== undefined) return own
  const refreshToken = isObject(body.params) ? body.params.refreshToken : undefined
  const token = (call.authorization ?? '').split(' ').at(-1) ?? ''
  const pair =
    typeof refreshToken === 'string' ? findPair(state, refreshToken, 'refresh') : findPair(state, token, 'access')
  return pair?.pair.key
}

async function isRefusedEverywhere(x: Explorer, id: string): Promise<boolean> {
  const [name, value] = [...x.names].find(([, one]) => one.id === id) ?? []
  if (name === undefined || x.state().keys.get(id)?.scope?.includes('solution') === false) return false
  return unreported(x, async () => {
    const ways = value?.seed === undefined ? [basic(name), hmac(name)] : [ecc(name)]
    for (const auth of ways)
      if ((await x.call(list(auth, { connection: 'new' })))?.answer.kind === 'accepted') return false
    return true
  })
}

/** How long a lock of one way to authorize may last, tried one after the other. In ms. */
const lockMs = [5000, 60_000]
/** How many waits for the end of a lock may fail before no more are made. */
const mostWaits = 2

/**
 * Watches for locks of one way to authorize: after wrong attempts a server may refuse Basic credentials, signatures or grants by themselves.
 *
 * @returns whether a candidate may come from such a lock: its way is refused now and accepted after a while, or was so before
 */
export function watchLocks(x: Explorer): (candidate: Candidate, triesOf: TriesOf) => Promise<boolean> {
  const locking = new Set<string>()
  let waitedInVain = 0
  return async ({ kind, entry }, triesOf) => {
    const step = x.log[entry]?.step
    if (step === undefined || kind === 'accepted' || kind === 'shape') return false
    const perhapsLocked = plainCallsOf(step).filter(({ who }) => {
      const id = x.names.get(who)?.id
      return id !== undefined && triesOf(id) >= triesOfLock.key
    })
    if (perhapsLocked.some(({ way }) => locking.has(way))) return true
    if (waitedInVain >= mostWaits || !(await areRefused(x, perhapsLocked))) return false
    for (const ms of lockMs) {
      if (!x.options.wire.controlled && x.options.timeLeftMs() < 2 * ms) return false
      await x.wait(ms)
      if (!(await areAccepted(x, perhapsLocked))) continue
      for (const { way } of perhapsLocked) locking.add(way)
      return true
    }
    waitedInVain += 1
    return false
  }
}

/** A lock refuses every time; a server that only refuses now and then has another mistake. */
async function areRefused(x: Explorer, calls: readonly PlainCall[]): Promise<boolean> {
  for (let again = 0; again < 3; again++) if (await areAccepted(x, calls)) return false
  return true
}

const areAccepted = (x: Explorer, calls: readonly PlainCall[]): Promise<boolean> =>
  unreported(x, async () => {
    for (const { right } of calls) if ((await x.call(right))?.answer.kind !== 'accepted') return false
    return true
  })

/** The plainest right call that proves a key in one way. */
interface PlainCall {
  readonly who: string
  readonly way: string
  readonly right: CallStep
}

/** For each key that a step calls with rightly. */
function plainCallsOf(step: Step): PlainCall[] {
  if (step.do === 'wait') return []
  const calls = step.do === 'burst' ? step.calls : [step]
  return calls.flatMap(({ auth, params, change }) => {
    if (change !== undefined) return []
    if ('who' in auth) return [{ who: auth.who, way: auth.kind, right: list(auth, { connection: 'new' }) }]
    const [, who] = /^\$([\w-]+)\.id$/.exec(String(params.apiKeyId)) ?? []
    return who === undefined ? [] : [{ who, way: 'grant', right: grant(who, ['solution'], { connection: 'new' }) }]
  })
}

async function unreported<Result>(x: Explorer, make: () => Promise<Result>): Promise<Result> {
  const before = x.report
  x.report = () => {}
  try {
    return await make()
  } finally {
    x.report = before
  }
}
