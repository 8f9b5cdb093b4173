/** Part 5.1: time and nonces of signatures, and how they may be written. Nothing lasts. */
import type { Profile } from '../targets/bundled.ts'
import {
  basic,
  bodyWith,
  type Caller,
  freshNonce,
  freshWord,
  type SignatureOptions,
  signed,
  withWrongSignature,
} from './caller.ts'
import { describeReply } from './compare-replies.ts'
import {
  acceptance,
  acceptedOrRefused,
  amount,
  type Fact,
  type Probe,
  type ProbeOptions,
  type ProbeResult,
  resultOf,
  word,
} from './fact.ts'
import { findLargest } from './search.ts'

const day = 24 * 60 * 60_000
/** No server has a wider window on purpose. */
const widestWindowMs = 400 * day
const secondsOf = (ms: number): number => Math.round(ms / 1000)

const isAccepted = (caller: Caller, options: SignatureOptions): Promise<boolean> =>
  caller.accepts({ auth: signed(caller, options) })

async function timeWindow(caller: Caller): Promise<ProbeResult> {
  const range = { from: 1000, limit: widestWindowMs, resolution: 50 }
  const search = (side: -1 | 1) =>
    findLargest((ms) => isAccepted(caller, { timestampMs: caller.serverNowMs() + side * ms }), range)
  const past = await search(-1)
  const future = await search(1)
  const side = (name: string, { largest, unbounded }: typeof past): Fact =>
    amount(
      'signatures/time-window',
      name,
      { value: secondsOf(largest), unit: 'seconds' },
      unbounded ? 'every timestamp that was tried was accepted' : `accepted at ${largest} ms, refused 50 ms further`,
    )
  // An error of the measured clock lengthens one side and shortens the other.
  const isSymmetric = Math.abs(past.largest - future.largest) <= 2000
  const widthMs = isSymmetric ? (past.largest + future.largest) / 2 : past.largest
  const clock = secondsOf(caller.clockOffsetMs())
  return resultOf(
    { timeWindowMs: secondsOf(widthMs) * 1000, clockOffsetMs: clock * 1000 },
    side('time window, the past', past),
    side('time window, the future', future),
    amount('signatures/time-window', 'clock ahead of ours', { value: clock, unit: 'seconds' }, 'Date headers'),
  )
}

async function nonceLength(caller: Caller): Promise<ProbeResult> {
  const ofLength = (length: number): string => {
    let text = ''
    while (text.length < length) text += freshWord(caller.random)
    return text.slice(0, length)
  }
  const accepts = (length: number) => isAccepted(caller, { nonce: ofLength(length) })
  const { largest, unbounded } = await findLargest(accepts, { from: 16, limit: 4096, resolution: 1 })
  // A nonce of one character may have been used before, so its refusal would show little.
  const shortest = await accepts(3)
  return resultOf(
    { nonceMaxLength: largest },
    amount(
      'signatures/nonce-length',
      'longest nonce',
      { value: largest, unit: 'characters' },
      unbounded ? 'the longest that was tried' : `${largest + 1} characters were refused`,
    ),
    word('signatures/nonce-length', 'a nonce of 3 characters', shortest ? 'accepted' : 'refused', 'one signed call'),
  )
}

async function nonceReuse(caller: Caller): Promise<ProbeResult> {
  const nonce = freshNonce(caller.random)
  await isAccepted(caller, { nonce })
  const again = await caller.call({ auth: signed(caller, { nonce }) })
  const value = acceptedOrRefused(again)
  const facts = [
    word('signatures/nonce-reuse', 'a nonce used before', value, `the second call: ${describeReply(again)}`),
  ]
  if (value === 'accepted') return resultOf({ nonceReuse: value }, ...facts)
  const burnt = await burntBy(caller, { change: withWrongSignature })
  const unknown = await burntBy(caller, { keyId: 'svc-no-such-key' })
  const text = (isBurnt: boolean): string => (isBurnt ? 'used up' : 'still good')
  const how = 'the same nonce in a right call afterwards'
  return resultOf(
    { nonceReuse: value, nonceBurntByBadSignature: burnt },
    ...facts,
    word('signatures/nonce-burnt', 'a nonce after a wrong signature', text(burnt), how),
    word('signatures/nonce-burnt', 'a nonce after an unknown key id', text(unknown), how),
  )
}

/** Whether a nonce is refused after it was used in a call that was refused for another reason. */
async function burntBy(caller: Caller, wrong: SignatureOptions): Promise<boolean> {
  const nonce = freshNonce(caller.random)
  await isAccepted(caller, { ...wrong, nonce })
  return !(await isAccepted(caller, { nonce }))
}

const minute = 60_000
/** A nonce that is forgotten sooner protects nothing. */
export const shortestWaitMs = 5000
const waitsMs = [
  shortestWaitMs,
  10_000,
  30_000,
  minute,
  2 * minute,
  5 * minute,
  10 * minute,
  20 * minute,
  30 * minute,
  60 * minute,
]

/** Waits, as long as it may, until a nonce is forgotten. */
async function nonceMemory(caller: Caller, known: Partial<Profile>, { maxWaitMs }: ProbeOptions): Promise<ProbeResult> {
  if (known.nonceReuse === 'accepted') return { facts: [] }
  const { clock } = caller.instance
  const waits = waitsMs.filter((ms) => ms <= maxWaitMs)
  const nonces = waits.map(() => freshNonce(caller.random))
  for (const nonce of nonces) await isAccepted(caller, { nonce })
  const startMs = clock.now()
  let rememberedMs = 0
  for (const [index, ms] of waits.entries()) {
    await clock.sleep(Math.max(0, startMs + ms - clock.now()))
    if (await isAccepted(caller, { nonce: nonces[index] ?? '' }))
      return memory(rememberedMs, `forgotten after ${secondsOf(ms)} s`)
    rememberedMs = ms
  }
  return memory(rememberedMs, 'as long as this waited')
}

function memory(rememberedMs: number, evidence: string): ProbeResult {
  const measured = { value: secondsOf(rememberedMs), unit: 'seconds at least' }
  return { facts: [amount('signatures/nonce-reuse', 'a nonce is remembered', measured, evidence)] }
}

async function spelling(caller: Caller): Promise<ProbeResult> {
  // 20 characters: with padding the document's sample pair has 24.
  const headerNonce = freshNonce(caller.random).slice(0, 22)
  const padded = await caller.call({ auth: signed(caller, { nonce: `${headerNonce}==`, headerNonce }) })
  const unpadded = await caller.call({ auth: signed(caller, { change: (header) => header.replace(/=+$/, '') }) })
  const { scheme } = caller.instance.settings
  const other = scheme.toUpperCase() === scheme ? scheme.toLowerCase() : scheme.toUpperCase()
  const cased = await caller.call({ auth: signed(caller, { scheme: other }) })
  return resultOf(
    {
      scheme,
      noncePadding: acceptedOrRefused(padded),
      unpaddedSignatures: acceptedOrRefused(unpadded),
      schemeCase: cased.outcome === 'accepted' ? 'any' : 'sensitive',
    },
    acceptance('signatures/nonce-padding', 'header nonce without the signed padding', padded),
    acceptance('signatures/base64-padding', 'a signature without padding', unpadded),
    acceptance('signatures/scheme-case', `scheme word "${other}"`, cased),
  )
}

async function requestSize(caller: Caller): Promise<ProbeResult> {
  const auth = caller.secret === undefined ? signed(caller) : basic(caller)
  const accepts = (bytes: number) => caller.accepts({ auth, body: bodyWith({}).padEnd(bytes) })
  const { largest, unbounded } = await findLargest(accepts, { from: 1024, limit: 4 * 2 ** 20, resolution: 16 * 1024 })
  return resultOf(
    { maxBodyBytes: largest },
    amount(
      'limits/request-size',
      'largest body',
      { value: largest, unit: 'bytes' },
      unbounded ? 'the largest that was tried' : 'at most 16 KiB more was refused',
    ),
  )
}

export const signatureProbes: readonly Probe[] = [
  { name: 'time window', needs: [], cost: { calls: 56, refusals: 26 }, run: timeWindow },
  { name: 'length of nonces', needs: [], cost: { calls: 12, refusals: 4 }, run: nonceLength },
  { name: 'nonces used again', needs: [], cost: { calls: 6, refusals: 4 }, run: nonceReuse },
  { name: 'spellings of a signature', needs: [], cost: { calls: 3, refusals: 3 }, run: spelling },
  { name: 'size of requests', needs: [], cost: { calls: 18, refusals: 4 }, run: requestSize },
]

/** Comes last, because it waits. */
export const waitingProbes: readonly Probe[] = [
  { name: 'memory of nonces', needs: [], cost: { calls: 4, refusals: 2 }, run: nonceMemory },
]
