/** What mutants of grants, tokens and refreshes change. */
import type { Rules, TokenResult } from '../rules.ts'
import type { Token, TokenKind } from '../state.ts'
import type { Mutant } from './mutant.ts'

/** Members that are replaced; undefined leaves one out. */
export type Changed = { [Member in keyof TokenResult]?: unknown }

/** Members of every grant's result replaced. */
export const granted = (change: (result: TokenResult) => Changed): Partial<Rules> => ({
  grantResult: (result) => ({ ...result, ...change(result) }),
})

/** Members of every refresh's result replaced. */
export const refreshed = (change: (result: TokenResult) => Changed): Partial<Rules> => ({
  refreshResult: (result) => ({ ...result, ...change(result) }),
})

/** Accepts other texts for a token besides its own. */
export const alsoNamed = (wanted: TokenKind, fits: (text: string, token: Token) => boolean): Partial<Rules> => ({
  tokenNamed: (text, find, all, use) =>
    find(text) ?? (use === wanted ? all().find((token) => token.kind === use && fits(text, token)) : undefined),
})

/** Mutants that accept other texts for a token of this kind. */
export const namedMutants = (kind: TokenKind, breaks: string): Mutant[] => [
  {
    id: `beginning-of-the-${kind}-token-taken`,
    breaks,
    with: alsoNamed(kind, (text, token) => text.length > 8 && token.text.startsWith(text)),
  },
  {
    id: `two-thirds-of-the-${kind}-token-compared`,
    breaks,
    with: alsoNamed(kind, (text, token) => text.length >= 28 && text.slice(0, 28) === token.text.slice(0, 28)),
  },
  {
    id: `first-half-of-the-${kind}-token-compared`,
    breaks,
    with: alsoNamed(kind, (text, token) => text.length > 20 && text.slice(0, 20) === token.text.slice(0, 20)),
  },
  {
    id: `first-character-of-the-${kind}-token-ignored`,
    breaks,
    with: alsoNamed(kind, (text, token) => text.slice(1) === token.text.slice(1)),
  },
]

export const seconds = (ms: number) => Math.floor(ms / 1000)
