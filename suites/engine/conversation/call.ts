/** Makes calls, and records what their answers show. */
import type { Called, Delivered } from '../judge/called.ts'
import { envelopeProblems } from '../judge/envelope.ts'
import type { CallSpec, RawSpec } from './call-spec.ts'
import type { Caller } from './caller.ts'
import { deliver, deliverTogether } from './deliver.ts'
import { laneOf } from './grant-lanes.ts'
import { keyName, learnAnswer, requestedLife, tokenUsed, witnessed } from './learn-answer.ts'
import { noteAccepted } from './patience.ts'
import { type PreparedCall, prepareCall, prepareRaw } from './prepare-call.ts'

/** Makes one call, or several at once as a race, and notes every key that is created. */
export async function makeCalls(caller: Caller, specs: CallSpec[]): Promise<Called[]> {
  const lane = laneOf(specs, caller.facts)
  if (lane === undefined) return makeCallsNow(caller, specs)
  return caller.grants.run(lane, () => makeCallsNow(caller, specs), caller.isUrgent)
}

async function makeCallsNow(caller: Caller, specs: CallSpec[]): Promise<Called[]> {
  const prepared = specs.map((spec) => prepareCall(caller, { sharedBy: specs.length, ...spec }))
  for (const spec of specs) if (spec.method === 'manager/createApiKey') caller.createdKeys.intend(keyName(spec))
  caller.calls += specs.length
  const tries = specs.some((spec) => mayBeBeyondLimit(caller, spec)) ? 1 : undefined
  const [only] = prepared
  const delivered =
    prepared.length === 1 && only !== undefined
      ? [await deliver(caller, only.build, tries)]
      : await deliverTogether(
          caller,
          prepared.map(({ build }) => build),
          tries,
        )
  return delivered.map((answered, index) => {
    const spec = specs[index]
    const call = prepared[index]
    if (spec === undefined || call === undefined) throw new Error('an answer without its call')
    // A server that drops calls of a race is overloaded; that does not mean it went away.
    if (specs.length === 1) caller.silence.hear(answered.answer, spec.mayBeRefused)
    return conclude(caller, spec, call, answered)
  })
}

/** Learns from an answer, and combines it with the request. */
function conclude(caller: Caller, spec: CallSpec, { sent }: PreparedCall, answered: Delivered): Called {
  const one = mayBeBeyondLimit(caller, spec) ? withLimitRefused(answered) : answered
  learnAnswer(caller, spec, one)
  noteAccepted(caller, one)
  const requestedLifeMs = requestedLife(spec)
  const tokenExpiryMs = caller.tokenExpiries.get(tokenUsed(spec))
  // The latest expiry that the requested lifetime allows.
  if (requestedLifeMs !== undefined) sent.expiry = one.time.answeredAtMs + requestedLifeMs
  return {
    ...one,
    time: requestedLifeMs === undefined ? one.time : witnessed(caller, one, requestedLifeMs),
    sent,
    departures: envelopeProblems(one.answer, sent.id, spec.method),
    ...(requestedLifeMs === undefined ? {} : { requestedLifeMs }),
    ...(tokenExpiryMs === undefined ? {} : { tokenExpiryMs }),
  }
}

/** The number of created keys that the interface allows (part 8); the initial key may count. */
const leastKeyLimit = 9

/** A target may answer a creation beyond its limit with HTTP 429; waiting does not help then. */
function mayBeBeyondLimit({ createdKeys }: Caller, { method }: CallSpec): boolean {
  return method === 'manager/createApiKey' && createdKeys.keys.length >= leastKeyLimit
}

function withLimitRefused(one: Delivered): Delivered {
  if (one.answer.outcome !== 'throttled') return one
  const { status, headers } = one.answer
  return { ...one, answer: { outcome: 'refused', status, headers, json: undefined, error: undefined } }
}

/** Makes one call, with an access token, key or signature as `auth` says, and notes what the answer shows about the target. */
export async function makeCall(caller: Caller, spec: CallSpec): Promise<Called> {
  const [called] = await makeCalls(caller, [spec])
  if (called === undefined) throw new Error('a call without an answer')
  return called
}

/** Sends raw HTTP; assumes nothing about its answer. */
export async function sendRaw(caller: Caller, spec: RawSpec): Promise<Called> {
  const { build, sent } = prepareRaw(caller, spec)
  caller.calls += 1
  const delivered = await deliver(caller, build)
  caller.silence.hear(delivered.answer, spec.mayBeRefused)
  return { ...delivered, sent, departures: [] }
}
