/** Pairs with every combination of restrictions, refreshed several times: each token works as what it is, and as nothing else. */
import { changed, list, refresh, token } from './calls.ts'
import { creation, expectAccepted, expectRefused } from './expect-calls.ts'
import { apikeyScope, freshName, granted } from './keyring.ts'
import type { CallStep } from './step.ts'
import type { Caller } from './table.ts'

/** How often a pair is refreshed: a restriction may be lost late. With one solution as well, the first pair alone is refreshed often. */
const refreshes = [1, 2, 5, 1]
const fewRefreshes = 1

/**
 * Tries pairs with combinations of a session, an address, a lifetime, the right to create keys and one solution. The users take turns.
 *
 * @param count how many of the 32 combinations to try; there are 16 where the target grants no scope of one solution
 */
export async function kindsOfPairs(caller: Caller, users: readonly string[], count: number): Promise<void> {
  const { x } = caller
  x.script = 'kinds-of-pairs'
  const ofOneSolution = users.filter((who) => x.oneSolution.has(who))
  const solution = ofOneSolution.length > 0 ? [['solution:']] : []
  const words = [['session:'], ['ipAddr:'], ['expiresIn:15000'], apikeyScope(x) ?? [], ...solution]
  const all = 2 ** words.length
  for (let kind = all - 1; kind >= Math.max(0, all - count); kind--) {
    const chosen = words.flatMap((restriction, at) => ((kind >> at) & 1 ? restriction : []))
    const isOfOne = chosen.includes('solution:')
    const able = isOfOne ? ofOneSolution : users
    const who = able[kind % able.length] ?? 'root'
    const times = refreshes[(kind + (kind >> 2)) % refreshes.length] ?? 1
    const most = isOfOne && kind < all - 1 ? fewRefreshes : times
    await useKind(caller, who, ['solution', ...chosen], Math.min(most, times))
  }
}

async function useKind({ x, keyring }: Caller, who: string, scope: readonly string[], times: number): Promise<void> {
  const pairs: string[] = []
  const elsewhere = scope.includes('ipAddr:') ? x.addresses.slice(1) : []
  let next = await granted(x, { who, scope })
  for (let turn = 0; next !== undefined; turn++) {
    const pair: string = next
    pairs.push(pair)
    await x.call(list(token(pair)))
    await expectRefused(x, list({ kind: 'token', token: `$${pair}.refreshToken` }))
    await expectRefused(x, changed(refresh(pair), { field: 'param refreshToken', place: `$${pair}.accessToken` }))
    for (const { name: from } of elsewhere) {
      await expectRefused(x, list(token(pair), { from }))
      const isEnd = turn === 0 || turn === times
      const mayCreate = isEnd && keyring.keys && x.state().created <= 9
      if (mayCreate) await expectRefused(x, { ...creation(token(pair)), from })
    }
    for (const step of wrongCallsWithPair(pair)) await expectRefused(x, step)
    await expectAccepted(x, list(token(pair)))
    if (turn === times) break
    next = freshName(x)
    // A pair without an address may be refreshed from another one.
    const from = scope.includes('ipAddr:') || turn % 2 === 0 ? undefined : x.addresses[1]?.name
    await x.call(refresh(pair, { as: next, ...(from === undefined ? {} : { from }) }))
    if (!x.lines.has(next)) break
    await expectRefused(x, list(token(pair)))
  }
  for (const old of pairs.slice(0, -1)) await expectRefused(x, refresh(old))
}

/** Calls that must be refused and must leave the pair valid. */
const wrongCallsWithPair = (pair: string): CallStep[] => [
  changed(refresh(pair), { field: 'param grantType', value: 'client_credentials' }),
  changed(list(token(pair)), { field: 'member method', operation: 'letter-appended' }),
  { do: 'call', method: 'manager/createApiKey', params: { name: 1, scope: 'solution' }, auth: token(pair) },
]
