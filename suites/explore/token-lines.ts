/** From a token back to the grant that began its line. */
import type { CallStep, Step } from './step.ts'
import { callsOf } from './whole-sequence.ts'

/** The pair that a call refreshes. */
export const refreshedIn = ({ params }: CallStep): string | undefined =>
  /^\$([\w-]+)\.refreshToken$/.exec(String(params.refreshToken))?.[1]

/** @param token `$pair.accessToken` */
function grantOf(token: string, steps: readonly Step[]): CallStep | undefined {
  const [, pair] = /^\$([\w-]+)\./.exec(token) ?? []
  const made = pair === undefined ? undefined : steps.flatMap(callsOf).find(({ as }) => as === pair)
  const refreshed = made === undefined ? undefined : refreshedIn(made)
  return refreshed === undefined || refreshed === pair ? made : grantOf(`$${refreshed}.`, steps)
}

/** The key to which the pair of a token was granted. */
export const granteeOf = (token: string, steps: readonly Step[]): string | undefined =>
  /^\$([\w-]+)\.id$/.exec(String(grantOf(token, steps)?.params.apiKeyId))?.[1]

/** The scope words that were requested for a token, as one text. */
export function requestedFor(token: string, steps: readonly Step[]): string | undefined {
  const scope = grantOf(token, steps)?.params.scope
  return Array.isArray(scope) ? scope.map(String).join(' ') : undefined
}
