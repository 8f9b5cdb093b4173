/** Builders of facts. */
import type { Member, Span } from './sessions.ts'
import type { Fact, Pair, State } from './state.ts'

const make =
  (is: Fact['is']) =>
  (requirement: string, about?: string): Fact =>
    about === undefined ? { requirement, is } : { requirement, is, about }

export const yes = make('yes')
export const no = make('no')
/** Unknown for this call only: an accepted call says nothing about others of its kind. */
export const unsure = make('unknown')

/** The name of a fact, as `shown` remembers it. */
export const nameOf = ({ requirement, about }: Fact): string =>
  about === undefined ? requirement : `${requirement} (${about})`

/** Open until an accepted call has shown how this target reads it. */
export function open(state: State, requirement: string, about: string): Fact {
  const fact = unsure(requirement, about)
  return state.shown.has(nameOf(fact)) ? yes(requirement, about) : fact
}

export const wordsBehind = (scope: readonly string[], prefix: string): string[] =>
  scope.filter((word) => word.startsWith(prefix)).map((word) => word.slice(prefix.length))

const sessionOf = (scope: readonly string[]): string | null => wordsBehind(scope, 'session:')[0] ?? null

/** A pair as a member of a session. */
export function memberOf(state: State, pair: Pick<Pair, 'key' | 'line' | 'scope'>): Member {
  const key = state.keys.get(pair.key)
  const keyName = key?.name ?? ''
  const keyScope = key?.scope?.toSorted().join(' ')
  const name = sessionOf(pair.scope)
  // What a name used again does may depend on what else is requested with it.
  const besides =
    name === null
      ? ''
      : pair.scope
          .filter((word) => !word.startsWith('session:'))
          .toSorted()
          .join(' ')
  return { key: pair.key, line: pair.line, name, besides, keyName, keyScope, isRoot: pair.key === state.root }
}

/** `NUMBER` of expiresIn, where exactly one plain one was asked for. */
export function lifetimeOf(scope: readonly string[]): number | null {
  const asked = wordsBehind(scope, 'expiresIn:')
  return asked.length === 1 && /^[1-9]\d*$/.test(asked[0] ?? '') ? Number(asked[0]) : null
}

/** Whether a span of time is before a point in time, after it, or too near to tell. */
export function sideOf(span: Span, end: Span, slackMs: number): 'before' | 'after' | 'near' {
  if (span.to < end.from - slackMs) return 'before'
  return span.from > end.to + slackMs ? 'after' : 'near'
}
