/** From a token back to the grant that began its line. */
import type { CallStep, Step } from './step.ts'
import { callsOf } from './whole-sequence.ts'

/** The pair that a call refreshes. */
export const refreshedIn = ({ params }: Pick<CallStep, 'params'>): string | undefined =>
  /^\$([\w-]+)\.refreshToken$/.exec(String(params.refreshToken))?.[1]

/** The call that made what a name stands for. */
export type FindMade = (name: string) => CallStep | undefined

export const findMadeBy =
  (steps: readonly Step[]): FindMade =>
  (name) =>
    steps.flatMap(callsOf).find(({ as }) => as === name)

/** @param token `$pair.accessToken` */
export function grantOf(token: string, find: FindMade): CallStep | undefined {
  const [, pair] = /^\$([\w-]+)\./.exec(token) ?? []
  const made = pair === undefined ? undefined : find(pair)
  const refreshed = made === undefined ? undefined : refreshedIn(made)
  return refreshed === undefined || refreshed === pair ? made : grantOf(`$${refreshed}.`, find)
}

/** How often the pair of a token was refreshed. */
export function generationOf(token: string, find: FindMade): number {
  const [, pair] = /^\$([\w-]+)\./.exec(token) ?? []
  const made = pair === undefined ? undefined : find(pair)
  const refreshed = made === undefined ? undefined : refreshedIn(made)
  return refreshed === undefined || refreshed === pair ? 0 : 1 + generationOf(`$${refreshed}.`, find)
}

/** The key to which the pair of a token was granted. */
export const granteeOf = (token: string, find: FindMade): string | undefined =>
  /^\$([\w-]+)\.id$/.exec(String(grantOf(token, find)?.params.apiKeyId))?.[1]

/** The scope words that were requested for a token, as one text. */
export function requestedFor(token: string, find: FindMade): string | undefined {
  const scope = grantOf(token, find)?.params.scope
  return Array.isArray(scope) ? scope.map(String).join(' ') : undefined
}
