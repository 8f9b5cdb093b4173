/** Part 4.2: which scopes and params a grant accepts. */
import { type Asker, basic, type Reply } from './asker.ts'
import { describeReply } from './compare-replies.ts'
import { type Finding, type Probe, word } from './fact.ts'
import { askGrant, pairOf, works } from './granted.ts'

async function scopeEcho(asker: Asker): Promise<Finding> {
  const asked = ['solution', 'context', 'expiresIn:60000']
  const reply = await askGrant(asker, asked)
  const pair = pairOf(reply)
  if (pair === null) return { facts: [] }
  const echo = pair.scope.join(',')
  const form =
    echo === asked.join(',') ? 'as-requested' : echo === 'context,solution' ? 'sorted' : 'without-restrictions'
  const { length } = Object.keys(reply.result as object)
  return {
    facts: [
      word('grants/scope-echo', 'the granted scope', echo, `asked for ${asked.join(',')}`),
      word('keys/create-result-extras', 'further members in a grant', length > 6, `${length} members`),
    ],
    switches: { scopeEcho: form, extraResultMembers: length > 6 },
  }
}

const grantWord = (reply: Reply, isInForce: boolean): string =>
  reply.outcome !== 'accepted' ? 'refused' : isInForce ? 'granted' : 'left out'

async function scopeWords(asker: Asker): Promise<Finding> {
  const unknown = await askGrant(asker, ['solution', 'svcUnknown'])
  const unknownScope = pairOf(unknown)?.scope ?? []
  const empty = await askGrant(asker, [])
  const emptyPair = pairOf(empty)
  const opens = emptyPair !== null && (await works(asker, emptyPair.access))
  const cased = await askGrant(asker, ['Solution'])
  const casedPair = pairOf(cased)
  const anyCase = casedPair !== null && (await works(asker, casedPair.access))
  const emptyWord = emptyPair === null ? 'refused' : opens ? 'whole-key' : 'nothing'
  return {
    facts: [
      word(
        'grants/unknown-scope',
        'an unknown scope',
        grantWord(unknown, unknownScope.includes('svcUnknown')),
        describeReply(unknown),
      ),
      word('grants/empty-scope', 'an empty scope list', emptyScopeWords[emptyWord], describeReply(empty)),
      word('scopes/case', 'scope "Solution"', grantWord(cased, anyCase), describeReply(cased)),
    ],
    switches: {
      unknownScopes: unknown.outcome === 'accepted' ? 'left-out' : 'refused',
      emptyScope: emptyWord,
      scopeCase: anyCase ? 'any' : 'sensitive',
    },
  }
}

const emptyScopeWords = {
  refused: 'refused',
  nothing: 'a token that can do nothing',
  'whole-key': 'a token with the scope of the key',
}

async function apikeySpelling(asker: Asker): Promise<Finding> {
  const taken: ('apikey' | 'apiKey')[] = []
  for (const spelling of ['apikey', 'apiKey'] as const) {
    const pair = pairOf(await askGrant(asker, [spelling]))
    if (pair !== null && pair.scope.length > 0) taken.push(spelling)
  }
  const [only] = taken
  if (only === undefined) return { facts: [] }
  const value = taken.length === 2 ? 'both' : only
  return {
    facts: [word('scopes/apikey-spelling', 'spelling of apikey in a grant', value, 'two grants')],
    switches: { apikeySpelling: value },
  }
}

async function solutionId(asker: Asker): Promise<Finding> {
  const any = await askGrant(asker, ['solution:*'])
  const id = asker.instance.settings.solutions[0] ?? (await firstSolution(asker))
  if (any.outcome !== 'accepted' || id === null) return { facts: [] }
  const named = await askGrant(asker, [`solution:${id}`])
  const value = named.outcome === 'accepted'
  return {
    facts: [
      word(
        'scopes/solution-id-from-any',
        'solution:ID for a key that has solution:*',
        value ? 'granted' : 'refused',
        describeReply(named),
      ),
    ],
    switches: { solutionIdFromAny: value },
  }
}

/** The id of a solution that the target lists; null if the list is empty. */
async function firstSolution(asker: Asker): Promise<string | null> {
  const { result } = await asker.ask({ auth: basic(asker) })
  if (typeof result !== 'object' || result === null) return null
  const list: unknown = Object.values(result).find(Array.isArray)
  const first: unknown = Array.isArray(list) ? list[0] : null
  const { id } = (typeof first === 'object' && first !== null ? first : {}) as { id?: unknown }
  return typeof id === 'string' ? id : null
}

async function headerOnGrant(asker: Asker): Promise<Finding> {
  const wrong = await askGrant(asker, ['solution'], { auth: basic(asker, { secret: 'svc-wrong-secret' }) })
  const right = await askGrant(asker, ['solution'], { auth: basic(asker) })
  const value = wrong.outcome === 'accepted' ? 'ignored' : right.outcome === 'accepted' ? 'judged' : 'refused'
  return {
    facts: [
      word(
        'grants/authorization-header',
        'an Authorization header on manager/auth',
        value,
        `wrong: ${describeReply(wrong)}; right: ${describeReply(right)}`,
      ),
    ],
    switches: { authHeaderOnGrant: value },
  }
}

export const grantProbes: readonly Probe[] = [
  {
    name: 'echo of scopes',
    needs: ['sessions'],
    needsSecret: true,
    cost: { calls: 1, refusals: 0, grants: 1 },
    run: scopeEcho,
  },
  {
    name: 'scope words',
    needs: ['sessions'],
    needsSecret: true,
    cost: { calls: 5, refusals: 3, grants: 1 },
    run: scopeWords,
  },
  {
    name: 'spelling of apikey',
    needs: ['sessions'],
    needsSecret: true,
    cost: { calls: 2, refusals: 0, grants: 2 },
    run: apikeySpelling,
  },
  {
    name: 'solution:ID',
    needs: ['sessions'],
    needsSecret: true,
    cost: { calls: 3, refusals: 0, grants: 2 },
    run: solutionId,
  },
  {
    name: 'header on a grant',
    needs: ['sessions'],
    needsSecret: true,
    cost: { calls: 2, refusals: 0, grants: 2 },
    run: headerOnGrant,
  },
]
