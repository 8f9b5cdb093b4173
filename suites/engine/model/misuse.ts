/** What a misuse of a token costs its holder beyond the refused call: the document does not show the outcome of a rejected token. */
import { authorizationOf } from './facts.ts'
import { findPair } from './facts-of-token.ts'
import { ofLine, presentedToken } from './learn-pair.ts'
import { isObject, readBody } from './parse.ts'
import type { Call, Fact, Misuse, Pair, State } from './types.ts'

const isWithdrawnAfter = ({ terms }: State, misuse: Misuse): boolean => terms.withdraws?.has(misuse) === true

/** Where the target has shown that a misuse ends a token, it is open whether the token still works. */
export function withMisuse(state: State, call: Call, known: readonly Fact[]): State {
  const wrong = known.filter(({ is }) => is === 'no').map(({ requirement }) => requirement)
  const misuse = misuses.find(([name, about]) => isWithdrawnAfter(state, name) && wrong.some((one) => about.test(one)))
  if (misuse === undefined) return state
  const auth = authorizationOf(state, call)
  const { params } = readBody(call.body)
  const presented = isObject(params) ? presentedToken(params) : undefined
  const text = presented ?? (auth.kind === 'token' ? auth.token : '')
  const pair = (findPair(state, text, 'access') ?? findPair(state, text, 'refresh'))?.pair
  return pair === undefined ? state : doubtLine(state, pair.line)
}

const misuses: readonly (readonly [Misuse, RegExp])[] = [
  ['address', /^(addresses\/|refresh\/address-kept)/],
  ['scope', /^(scopes\/|keys\/apikey-scope|refresh\/scopes-kept)/],
  ['kind', /^tokens\/(refresh-is-no-access|access-is-no-refresh)/],
]

/** Whether presenting a used refresh token revokes the newer pair is open (refresh/family); a target may have shown that it ends more. */
export const withReuse = (state: State, { key, line }: Pair): State =>
  isWithdrawnAfter(state, 'reuse') ? doubtPairsOf(state, key) : doubtLine(state, line)

/** Makes every pair of a key unknown. */
function doubtPairsOf(state: State, key: string): State {
  const lines = new Set(
    state.pairs.keys().flatMap((index) => {
      const pair = state.pairs.get(index)
      return pair?.key === key && pair.standing === 'newest' ? [pair.line] : []
    }),
  )
  return [...lines].reduce(doubtLine, state)
}

/** Makes every pair of a line unknown. */
export function doubtLine(state: State, line: number): State {
  return {
    ...state,
    pairs: state.pairs.with(
      ofLine(state, line, 'newest').map(([index, pair]) => [index, { ...pair, standing: 'unknown' }]),
    ),
  }
}
