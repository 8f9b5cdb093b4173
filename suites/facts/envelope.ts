/** Part 1: which envelopes are accepted. All calls list solutions, so nothing lasts. */
import { membersOf } from '../engine/json.ts'
import { bodyWith, type Call, type Caller, type Reply, signed } from './caller.ts'
import { describeReply, sameRefusal } from './compare-replies.ts'
import { acceptance, type Probe, type ProbeResult, resultOf, word } from './fact.ts'

const callWith = (caller: Caller, what: Call): Promise<Reply> => caller.call({ auth: signed(caller), ...what })

async function envelopeVersion(caller: Caller): Promise<ProbeResult> {
  const version = await callWith(caller, { body: bodyWith({ jsonrpc: '1.0' }) })
  const params = await callWith(caller, { body: bodyWith({ params: [] }) })
  const isAccepted = version.outcome === 'accepted' && params.outcome === 'accepted'
  return resultOf(
    { strictEnvelope: !isAccepted },
    acceptance('envelope/jsonrpc-version', 'jsonrpc "1.0"', version),
    acceptance('envelope/params-type', 'params as an array', params),
  )
}

async function idTypes(caller: Caller): Promise<ProbeResult> {
  const kinds = { string: 'seven', fraction: 7.5, null: null, boolean: true }
  const accepted: string[] = []
  const seen: string[] = []
  for (const [kind, id] of Object.entries(kinds)) {
    const reply = await callWith(caller, { body: bodyWith({ id }) })
    if (reply.outcome === 'accepted') accepted.push(kind)
    seen.push(`${kind}: ${describeReply(reply)}`)
  }
  const value = accepted.length === 0 ? 'integers only' : `integers, ${accepted.join(', ')}`
  const choice = accepted.includes('null') ? 'any' : accepted.includes('string') ? 'strings-and-numbers' : 'integers'
  return resultOf({ idTypes: choice }, word('envelope/id-types', 'accepted types of ids', value, seen.join('; ')))
}

async function missingId(caller: Caller): Promise<ProbeResult> {
  const reply = await callWith(caller, { body: bodyWith({ id: undefined }) })
  const isSilent = reply.status !== null && reply.status < 300 && reply.bytes === 0
  const value = isSilent ? 'no-body' : reply.outcome === 'accepted' ? 'answered' : 'refused'
  return resultOf(
    { notifications: value },
    word('envelope/missing-id', 'a request without id', value, describeReply(reply)),
  )
}

async function batch(caller: Caller): Promise<ProbeResult> {
  const reply = await callWith(caller, { body: `[${bodyWith({})}]` })
  const value = Array.isArray(reply.json) ? 'answered' : 'refused'
  const evidence = value === 'answered' ? 'an array came back' : describeReply(reply)
  return resultOf({ batch: value }, word('envelope/batch', 'a batch of one request', value, evidence))
}

async function contentType(caller: Caller): Promise<ProbeResult> {
  const reply = await callWith(caller, { headers: [['content-type', 'text/plain']] })
  const value = reply.outcome === 'accepted' ? 'ignored' : 'json-only'
  return resultOf({ contentType: value }, acceptance('envelope/content-type', 'Content-Type text/plain', reply))
}

async function extraMembers(caller: Caller): Promise<ProbeResult> {
  const member = await callWith(caller, { body: bodyWith({ extra: 1 }) })
  const param = await callWith(caller, { params: { extra: 1 } })
  return resultOf(
    {
      extraMembers: member.outcome === 'accepted' ? 'ignored' : 'refused',
      extraParams: param.outcome === 'accepted' ? 'ignored' : 'refused',
    },
    acceptance('envelope/extra-members', 'a further member of the envelope', member),
    acceptance('grants/extra-params', 'a further param', param),
  )
}

/** Sends an unknown method and wrong params without authorization: the refusal shows which check comes first. */
async function orderOfChecks(caller: Caller): Promise<ProbeResult> {
  const unauthorized = await caller.call({})
  const unknown = await callWith(caller, { method: 'solution/svcNoSuchMethod' })
  const unknownWithout = await caller.call({ method: 'solution/svcNoSuchMethod' })
  const badParams = await callWith(caller, { params: { extra: 1 } })
  const badParamsWithout = await caller.call({ params: { extra: 1 } })
  const isToldApart = !sameRefusal(unknown, unauthorized)
  const methodFirst = isToldApart ? sameRefusal(unknownWithout, unknown) : null
  const paramsFirst = sameRefusal(badParams, unauthorized) ? null : sameRefusal(badParamsWithout, badParams)
  const method = methodFirst === null ? [] : [methodFirst ? 'method, authorization' : 'authorization, method']
  const evidence = `unknown method ${describeReply(unknown)}, without authorization ${describeReply(unknownWithout)}`
  return {
    facts: [
      word('envelope/method-not-found', 'order of checks', method[0] ?? 'not told apart', evidence),
      word(
        'errors/outcomes',
        'params checked before authorization',
        paramsFirst ?? 'not told apart',
        `wrong params ${describeReply(badParams)}, without authorization ${describeReply(badParamsWithout)}`,
      ),
    ],
    ...(methodFirst === null ? {} : { switches: { methodCheckedFirst: methodFirst } }),
  }
}

async function listing(caller: Caller): Promise<ProbeResult> {
  const { result, headers } = await callWith(caller, {})
  const members = Object.keys(membersOf(result))
  const shape = members.includes('list') ? 'list' : members.includes('solutions') ? 'solutions' : 'counted'
  return resultOf(
    { listShape: shape, closeConnections: /close/i.test(headers.connection ?? '') },
    word('solutions/list-result', 'members of the listing', members.join(', ') || typeof result, 'an accepted call'),
  )
}

export const envelopeProbes: readonly Probe[] = [
  { name: 'listing', needs: [], cost: { calls: 1, refusals: 0 }, run: listing },
  { name: 'jsonrpc and params', needs: [], cost: { calls: 2, refusals: 2 }, run: envelopeVersion },
  { name: 'types of ids', needs: [], cost: { calls: 4, refusals: 2 }, run: idTypes },
  { name: 'no id', needs: [], cost: { calls: 1, refusals: 1 }, run: missingId },
  { name: 'batch', needs: [], cost: { calls: 1, refusals: 1 }, run: batch },
  { name: 'content type', needs: [], cost: { calls: 1, refusals: 0 }, run: contentType },
  { name: 'further members', needs: [], cost: { calls: 2, refusals: 1 }, run: extraMembers },
  { name: 'order of checks', needs: [], cost: { calls: 5, refusals: 5 }, run: orderOfChecks },
]
