/** Part 4.2: which scopes and params a grant accepts. */
import { membersOf } from '../engine/json.ts'
import { basic, type Caller, type Reply } from './caller.ts'
import { describeReply } from './compare-replies.ts'
import { type Probe, type ProbeResult, resultOf, tokenProbe, word } from './fact.ts'
import { pairOf, requestGrant, works } from './granted.ts'

async function scopeEcho(caller: Caller): Promise<ProbeResult> {
  const requested = ['solution', 'context', 'expiresIn:60000']
  const reply = await requestGrant(caller, requested)
  const pair = pairOf(reply)
  if (pair === null) return { facts: [] }
  const echo = pair.scope.join(',')
  const form =
    echo === requested.join(',') ? 'as-requested' : echo === 'context,solution' ? 'sorted' : 'without-restrictions'
  const { length } = Object.keys(reply.result as object)
  return resultOf(
    { scopeEcho: form, extraResultMembers: length > 6 },
    word('grants/scope-echo', 'the granted scope', echo, `requested for ${requested.join(',')}`),
    word('keys/create-result-extras', 'further members in a grant', length > 6, `${length} members`),
  )
}

const grantWord = (reply: Reply, isInForce: boolean): string =>
  reply.outcome !== 'accepted' ? 'refused' : isInForce ? 'granted' : 'left out'

async function scopeWords(caller: Caller): Promise<ProbeResult> {
  const unknown = await requestGrant(caller, ['solution', 'svcUnknown'])
  const unknownScope = pairOf(unknown)?.scope ?? []
  const empty = await requestGrant(caller, [])
  const emptyPair = pairOf(empty)
  const opens = emptyPair !== null && (await works(caller, emptyPair.access))
  const cased = await requestGrant(caller, ['Solution'])
  const casedPair = pairOf(cased)
  const anyCase = casedPair !== null && (await works(caller, casedPair.access))
  const emptyWord = emptyPair === null ? 'refused' : opens ? 'whole-key' : 'nothing'
  return resultOf(
    {
      unknownScopes: unknown.outcome === 'accepted' ? 'left-out' : 'refused',
      emptyScope: emptyWord,
      scopeCase: anyCase ? 'any' : 'sensitive',
    },
    word(
      'grants/unknown-scope',
      'an unknown scope',
      grantWord(unknown, unknownScope.includes('svcUnknown')),
      describeReply(unknown),
    ),
    word('grants/empty-scope', 'an empty scope list', emptyScopeWords[emptyWord], describeReply(empty)),
    word('scopes/case', 'scope "Solution"', grantWord(cased, anyCase), describeReply(cased)),
  )
}

const emptyScopeWords = {
  refused: 'refused',
  nothing: 'a token that can do nothing',
  'whole-key': 'a token with the scope of the key',
}

async function apikeySpelling(caller: Caller): Promise<ProbeResult> {
  const accepted: ('apikey' | 'apiKey')[] = []
  for (const spelling of ['apikey', 'apiKey'] as const) {
    const pair = pairOf(await requestGrant(caller, [spelling]))
    if (pair !== null && pair.scope.length > 0) accepted.push(spelling)
  }
  const [only] = accepted
  if (only === undefined) return { facts: [] }
  const value = accepted.length === 2 ? 'both' : only
  return resultOf(
    { apikeySpelling: value },
    word('scopes/apikey-spelling', 'spelling of apikey in a grant', value, 'two grants'),
  )
}

async function solutionId(caller: Caller): Promise<ProbeResult> {
  const any = await requestGrant(caller, ['solution:*'])
  const id = caller.instance.settings.solutions[0] ?? (await firstSolution(caller))
  if (any.outcome !== 'accepted' || id === null) return { facts: [] }
  const named = await requestGrant(caller, [`solution:${id}`])
  const value = named.outcome === 'accepted'
  return resultOf(
    { solutionIdFromAny: value },
    word(
      'scopes/solution-id-from-any',
      'solution:ID for a key that has solution:*',
      value ? 'granted' : 'refused',
      describeReply(named),
    ),
  )
}

/** The id of a solution that the target lists; null if the list is empty. */
async function firstSolution(caller: Caller): Promise<string | null> {
  const { result } = await caller.call({ auth: basic(caller) })
  const list: unknown[] = Object.values(membersOf(result)).find(Array.isArray) ?? []
  const { id } = membersOf(list[0])
  return typeof id === 'string' ? id : null
}

async function headerOnGrant(caller: Caller): Promise<ProbeResult> {
  const wrong = await requestGrant(caller, ['solution'], { auth: basic(caller, { secret: 'svc-wrong-secret' }) })
  const right = await requestGrant(caller, ['solution'], { auth: basic(caller) })
  const value = wrong.outcome === 'accepted' ? 'ignored' : right.outcome === 'accepted' ? 'judged' : 'refused'
  return resultOf(
    { authHeaderOnGrant: value },
    word(
      'grants/authorization-header',
      'an Authorization header on manager/auth',
      value,
      `wrong: ${describeReply(wrong)}; right: ${describeReply(right)}`,
    ),
  )
}

export const grantProbes: readonly Probe[] = [
  tokenProbe('echo of scopes', { calls: 1, refusals: 0, grants: 1 }, scopeEcho),
  tokenProbe('scope words', { calls: 5, refusals: 3, grants: 1 }, scopeWords),
  tokenProbe('spelling of apikey', { calls: 2, refusals: 0, grants: 2 }, apikeySpelling),
  tokenProbe('solution:ID', { calls: 3, refusals: 0, grants: 2 }, solutionId),
  tokenProbe('header on a grant', { calls: 2, refusals: 0, grants: 2 }, headerOnGrant),
]
