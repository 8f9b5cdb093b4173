/** Makes calls, and records what their answers show. */
import type { Called, Delivered } from '../judge/called.ts'
import { envelopeProblems } from '../judge/envelope.ts'
import type { CallSpec, RawSpec } from './call-spec.ts'
import type { Client } from './client.ts'
import { deliver, deliverTogether } from './deliver.ts'
import { laneOf } from './grant-lanes.ts'
import { keyName, learnAnswer, lifeAsked, tokenUsed, witnessed } from './learn-answer.ts'
import { noteAccepted } from './patience.ts'
import { type PreparedCall, prepareCall, prepareRaw } from './prepare-call.ts'

/** Makes one call, or several at once as a race, and notes every key that is created. */
export async function makeCalls(client: Client, specs: CallSpec[]): Promise<Called[]> {
  const lane = laneOf(specs, client.facts)
  return lane === undefined ? makeCallsNow(client, specs) : client.grants.run(lane, () => makeCallsNow(client, specs))
}

async function makeCallsNow(client: Client, specs: CallSpec[]): Promise<Called[]> {
  const prepared = specs.map((spec) => prepareCall(client, { sharedBy: specs.length, ...spec }))
  for (const spec of specs) if (spec.method === 'manager/createApiKey') client.createdKeys.intend(keyName(spec))
  client.calls += specs.length
  const tries = specs.some((spec) => mayBeBeyondLimit(client, spec)) ? 1 : undefined
  const [only] = prepared
  const delivered =
    prepared.length === 1 && only !== undefined
      ? [await deliver(client, only.build, tries)]
      : await deliverTogether(
          client,
          prepared.map(({ build }) => build),
          tries,
        )
  return delivered.map((answered, index) => {
    const spec = specs[index]
    const call = prepared[index]
    if (spec === undefined || call === undefined) throw new Error('an answer without its call')
    // A server that drops calls of a race is overloaded; that does not mean it went away.
    if (specs.length === 1) client.silence.hear(answered.answer, spec.mayBeRefused)
    return conclude(client, spec, call, answered)
  })
}

/** Learns from an answer, and combines it with the request. */
function conclude(client: Client, spec: CallSpec, { sent }: PreparedCall, answered: Delivered): Called {
  const one = mayBeBeyondLimit(client, spec) ? withLimitRefused(answered) : answered
  learnAnswer(client, spec, one)
  noteAccepted(client, one)
  const lifeAskedMs = lifeAsked(spec)
  const tokenExpiryMs = client.tokenExpiries.get(tokenUsed(spec))
  // The latest expiry that the requested lifetime allows.
  if (lifeAskedMs !== undefined) sent.expiry = one.moment.answeredAtMs + lifeAskedMs
  return {
    ...one,
    moment: lifeAskedMs === undefined ? one.moment : witnessed(client, one, lifeAskedMs),
    sent,
    departures: envelopeProblems(one.answer, sent.id, spec.method),
    ...(lifeAskedMs === undefined ? {} : { lifeAskedMs }),
    ...(tokenExpiryMs === undefined ? {} : { tokenExpiryMs }),
  }
}

/** The number of created keys that the interface allows (part 8); the initial key may count. */
const leastKeyLimit = 9

/** A target may answer a creation beyond its limit with HTTP 429; waiting does not help then. */
function mayBeBeyondLimit({ createdKeys }: Client, { method }: CallSpec): boolean {
  return method === 'manager/createApiKey' && createdKeys.keys.length >= leastKeyLimit
}

function withLimitRefused(one: Delivered): Delivered {
  if (one.answer.outcome !== 'throttled') return one
  const { status, headers } = one.answer
  return { ...one, answer: { outcome: 'refused', status, headers, json: undefined, error: undefined } }
}

export async function makeCall(client: Client, spec: CallSpec): Promise<Called> {
  const [called] = await makeCalls(client, [spec])
  if (called === undefined) throw new Error('a call without an answer')
  return called
}

/** Sends raw HTTP; assumes nothing about its answer. */
export async function sendRaw(client: Client, spec: RawSpec): Promise<Called> {
  const { build, sent } = prepareRaw(client, spec)
  client.calls += 1
  const delivered = await deliver(client, build)
  client.silence.hear(delivered.answer, spec.mayBeRefused)
  return { ...delivered, sent, departures: [] }
}
