/** Part 7: how each kind of refusal is answered, and what it gives away. For information only. */
import { membersOf } from '../engine/json.ts'
import { basic, type Caller, type Reply, signed, token, withWrongSignature } from './caller.ts'
import { describeReply, difference } from './compare-replies.ts'
import { type Fact, type ProbeResult, word } from './fact.ts'
import { grant, pairOf, requestGrant, requestRefresh } from './granted.ts'

/** One kind of refusal, as a caller sees it. */
export interface Refusal {
  kind: string
  outcome: Reply['outcome']
  status: number | null
  code: number | string | null
  message: string | null
}

/** Whether a caller can tell two states of a credential apart, and by what. */
export interface GivenAway {
  /** `an unknown key`, `a wrong secret`. */
  one: string
  other: string
  where: string
  by: ReturnType<typeof difference>
}

export interface RefusalTable {
  refusals: Refusal[]
  givesAway: GivenAway[]
}

type Replies = Map<string, Reply>

const noterOf =
  (replies: Replies) =>
  async (kind: string, reply: Promise<Reply>): Promise<void> =>
    void replies.set(kind, await reply)

/** Makes one call of each kind; with tokens where they are allowed. */
export async function measureRefusals(
  caller: Caller,
  mayGrant: boolean,
): Promise<RefusalTable & { result: ProbeResult }> {
  const replies: Replies = new Map()
  await refuseWithoutTokens(caller, replies)
  if (mayGrant) await refuseWithTokens(caller, replies)
  const refusals = [...replies].map(([kind, { outcome, status, code, message }]): Refusal => {
    return { kind, outcome, status, code, message }
  })
  return { refusals, givesAway: givenAway(replies), result: shapeOf(replies) }
}

async function refuseWithoutTokens(caller: Caller, replies: Replies): Promise<void> {
  const note = noterOf(replies)
  await note('not JSON', caller.call({ auth: signed(caller), body: '{"jsonrpc":' }))
  await note('unknown method', caller.call({ auth: signed(caller), method: 'solution/svcNoSuchMethod' }))
  await note('no authorization', caller.call({}))
  await note('unknown scheme word', caller.call({ auth: () => 'SvcNoSuchScheme x' }))
  await note('junk token', caller.call({ auth: token(caller, 'svc-no-such-token') }))
  await note('signature, wrong', caller.call({ auth: signed(caller, { change: withWrongSignature }) }))
  await note('signature, unknown key', caller.call({ auth: signed(caller, { keyId: 'svc-no-such-key' }) }))
  await note('signature, old timestamp', caller.call({ auth: signed(caller, { timestampMs: 1_000_000_000_000 }) }))
  if (caller.secret === undefined) return
  await note('Basic, wrong secret', caller.call({ auth: basic(caller, { secret: 'svc-wrong-secret' }) }))
  await note('Basic, unknown key', caller.call({ auth: basic(caller, { id: 'svc-no-such-key' }) }))
}

async function refuseWithTokens(caller: Caller, replies: Replies): Promise<void> {
  const note = noterOf(replies)
  await note('grant, wrong secret', requestGrant(caller, ['solution'], { secret: 'svc-wrong-secret' }))
  await note('grant, unknown key', requestGrant(caller, ['solution'], { id: 'svc-no-such-key' }))
  await note('grant, unknown grant type', caller.call({ method: 'manager/auth', params: { grantType: 'svc' } }))
  await note('refresh, junk token', requestRefresh(caller, 'svc-no-such-token'))
  const narrow = await grant(caller, ['context'])
  if (narrow !== null) {
    const auth = token(caller, narrow.access)
    await note('token, beyond its scope', caller.call({ auth }))
    await note('token, beyond its scope, and wrong params', caller.call({ auth, params: { extra: 1 } }))
  }
  const short = pairOf(await requestGrant(caller, ['solution', 'expiresIn:1000']))
  const old = await grant(caller, ['solution'])
  if (short === null || old === null) return
  await requestRefresh(caller, old.refresh)
  await note('token, revoked', caller.call({ auth: token(caller, old.access) }))
  await note('refresh, revoked token', requestRefresh(caller, old.refresh))
  // Servers may round an expiry to the next second.
  await caller.instance.clock.sleep(2500)
  await note('token, expired', caller.call({ auth: token(caller, short.access) }))
}

const pairs: readonly { one: [words: string, kind: string]; other: [words: string, kind: string]; where: string }[] = [
  { one: ['an unknown key', 'Basic, unknown key'], other: ['a wrong secret', 'Basic, wrong secret'], where: 'Basic' },
  {
    one: ['an unknown key', 'signature, unknown key'],
    other: ['a wrong signature', 'signature, wrong'],
    where: 'signature',
  },
  { one: ['an unknown key', 'grant, unknown key'], other: ['a wrong secret', 'grant, wrong secret'], where: 'grant' },
  {
    one: ['an old timestamp', 'signature, old timestamp'],
    other: ['a wrong signature', 'signature, wrong'],
    where: 'signature',
  },
  { one: ['an expired token', 'token, expired'], other: ['a revoked token', 'token, revoked'], where: 'token' },
  { one: ['a revoked token', 'token, revoked'], other: ['a token that never was', 'junk token'], where: 'token' },
  {
    one: ['a revoked token', 'refresh, revoked token'],
    other: ['a token that never was', 'refresh, junk token'],
    where: 'refresh',
  },
]

function givenAway(replies: Replies): GivenAway[] {
  return pairs.flatMap(({ one, other, where }) => {
    const [first, second] = [replies.get(one[1]), replies.get(other[1])]
    if (first === undefined || second === undefined || [first, second].some(({ outcome }) => outcome === 'accepted'))
      return []
    return [{ one: one[0], other: other[0], where, by: difference(first, second) }]
  })
}

/** The form of refusals, read from a call without authorization. */
function shapeOf(replies: Replies): ProbeResult {
  const plain = replies.get('no authorization')
  if (plain === undefined || plain.outcome === 'accepted' || plain.status === null) return { facts: [] }
  const body = plain.bytes === 0 ? 'none' : isRpc(plain.json) ? 'json-rpc' : 'text'
  const errorId = !isRpc(plain.json) || !('id' in plain.json) ? 'none' : plain.json.id === null ? 'null' : 'request'
  const facts: Fact[] = [
    word('errors/shape', 'body of a refusal', body, describeReply(plain)),
    word('errors/id', 'id of a refusal', errorId, 'a call without authorization'),
  ]
  facts.push(...paramsOrScope(replies))
  for (const [kind, reply] of replies) {
    facts.push(word('errors/http-status', `status: ${kind}`, reply.status ?? 'no answer', describeReply(reply)))
    if (reply.code !== null) facts.push(word('errors/codes', `code: ${kind}`, reply.code, describeReply(reply)))
  }
  return {
    facts,
    switches: {
      errorBody: body,
      refusalStatus: plain.status === 200 ? 'ok' : 'http',
      ...(body === 'json-rpc' ? { errorId } : {}),
    },
  }
}

/** Which refusal a call gets that deserves two. */
function paramsOrScope(replies: Replies): Fact[] {
  const scope = replies.get('token, beyond its scope')
  const both = replies.get('token, beyond its scope, and wrong params')
  if (scope?.outcome !== 'refused' || both?.outcome !== 'refused') return []
  const first = difference(scope, both) === 'no' ? 'scope first, or not told apart' : 'params first'
  return [word('errors/outcomes', 'params or scope first', first, describeReply(both))]
}

const isRpc = (json: unknown): json is { [name: string]: unknown } => 'error' in membersOf(json)
