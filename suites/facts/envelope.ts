/** Part 1: which envelopes are accepted. All calls list solutions, so nothing lasts. */
import { type Ask, type Asker, type Reply, signed } from './asker.ts'
import { describeReply, sameRefusal } from './compare-replies.ts'
import { type Finding, type Probe, word } from './fact.ts'

const listSolutions = 'solution/listSolutions'

/** The listing with other members of the envelope; `undefined` leaves one out. */
const envelopeWith = (members: { [name: string]: unknown }): string =>
  JSON.stringify({ jsonrpc: '2.0', id: 7001, method: listSolutions, params: {}, ...members })

const askWith = (asker: Asker, what: Ask): Promise<Reply> => asker.ask({ auth: signed(asker), ...what })

const takenOrRefused = ({ outcome }: Reply): 'taken' | 'refused' => (outcome === 'accepted' ? 'taken' : 'refused')

async function envelopeVersion(asker: Asker): Promise<Finding> {
  const version = await askWith(asker, { body: envelopeWith({ jsonrpc: '1.0' }) })
  const params = await askWith(asker, { body: envelopeWith({ params: [] }) })
  const isTaken = version.outcome === 'accepted' && params.outcome === 'accepted'
  return {
    facts: [
      word('envelope/jsonrpc-version', 'jsonrpc "1.0"', takenOrRefused(version), describeReply(version)),
      word('envelope/params-type', 'params as an array', takenOrRefused(params), describeReply(params)),
    ],
    switches: { strictEnvelope: !isTaken },
  }
}

async function idTypes(asker: Asker): Promise<Finding> {
  const kinds = { string: 'seven', fraction: 7.5, null: null, boolean: true }
  const taken: string[] = []
  const seen: string[] = []
  for (const [kind, id] of Object.entries(kinds)) {
    const reply = await askWith(asker, { body: envelopeWith({ id }) })
    if (reply.outcome === 'accepted') taken.push(kind)
    seen.push(`${kind}: ${describeReply(reply)}`)
  }
  const value = taken.length === 0 ? 'integers only' : `integers, ${taken.join(', ')}`
  const choice = taken.includes('null') ? 'any' : taken.includes('string') ? 'strings-and-numbers' : 'integers'
  return {
    facts: [word('envelope/id-types', 'ids that are taken', value, seen.join('; '))],
    switches: { idTypes: choice },
  }
}

async function missingId(asker: Asker): Promise<Finding> {
  const reply = await askWith(asker, { body: envelopeWith({ id: undefined }) })
  const isSilent = reply.status !== null && reply.status < 300 && reply.bytes === 0
  const value = isSilent ? 'no-body' : reply.outcome === 'accepted' ? 'answered' : 'refused'
  return {
    facts: [word('envelope/missing-id', 'a request without id', value, describeReply(reply))],
    switches: { notifications: value },
  }
}

async function batch(asker: Asker): Promise<Finding> {
  const reply = await askWith(asker, { body: `[${envelopeWith({})}]` })
  const value = Array.isArray(reply.json) ? 'answered' : 'refused'
  const evidence = value === 'answered' ? 'an array came back' : describeReply(reply)
  return { facts: [word('envelope/batch', 'a batch of one request', value, evidence)], switches: { batch: value } }
}

async function contentType(asker: Asker): Promise<Finding> {
  const reply = await askWith(asker, { headers: [['content-type', 'text/plain']] })
  const value = reply.outcome === 'accepted' ? 'ignored' : 'json-only'
  return {
    facts: [word('envelope/content-type', 'Content-Type text/plain', takenOrRefused(reply), describeReply(reply))],
    switches: { contentType: value },
  }
}

async function extraMembers(asker: Asker): Promise<Finding> {
  const member = await askWith(asker, { body: envelopeWith({ extra: 1 }) })
  const param = await askWith(asker, { params: { extra: 1 } })
  return {
    facts: [
      word('envelope/extra-members', 'a further member of the envelope', takenOrRefused(member), describeReply(member)),
      word('grants/extra-params', 'a further param', takenOrRefused(param), describeReply(param)),
    ],
    switches: {
      extraMembers: member.outcome === 'accepted' ? 'ignored' : 'refused',
      extraParams: param.outcome === 'accepted' ? 'ignored' : 'refused',
    },
  }
}

/** Sends an unknown method and wrong params without authorization: the refusal shows which check comes first. */
async function orderOfChecks(asker: Asker): Promise<Finding> {
  const unauthorized = await asker.ask({})
  const unknown = await askWith(asker, { method: 'solution/svcNoSuchMethod' })
  const unknownWithout = await asker.ask({ method: 'solution/svcNoSuchMethod' })
  const badParams = await askWith(asker, { params: { extra: 1 } })
  const badParamsWithout = await asker.ask({ params: { extra: 1 } })
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

async function listing(asker: Asker): Promise<Finding> {
  const { result, headers } = await askWith(asker, {})
  const members = typeof result === 'object' && result !== null ? Object.keys(result) : []
  const shape = members.includes('list') ? 'list' : members.includes('solutions') ? 'solutions' : 'counted'
  return {
    facts: [
      word('solutions/list-result', 'members of the listing', members.join(', ') || typeof result, 'an accepted call'),
    ],
    switches: { listShape: shape, closeConnections: /close/i.test(headers.connection ?? '') },
  }
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
