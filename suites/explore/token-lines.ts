/** From a token back to the grant that began its line. */
import type { CallStep, Step } from './step.ts'
import { callsOf } from './whole-sequence.ts'

/** The pair that a call refreshes. */
export const refreshedIn = ({ params }: Pick<CallStep, 'params'>): string | undefined =>
  /^\$([\w-]+)\.refreshToken$/.exec(String(params.refreshToken))?.[1]

/** The call that made what a name stands for. */
export type FindMade = (name: string) => CallStep | undefined

export function findMadeBy(steps: readonly Step[]): FindMade {
  const made = new Map(steps.flatMap(callsOf).map((call) => [call.as ?? '', call]))
  return (name) => made.get(name)
}

/** The calls that made the pair of a token, from its last refresh back to its grant. @param token `$pair.accessToken` */
function lineOf(token: string, find: FindMade): CallStep[] {
  const [, pair] = /^\$([\w-]+)\./.exec(token) ?? []
  const made = pair === undefined ? undefined : find(pair)
  if (made === undefined) return []
  const refreshed = refreshedIn(made)
  return refreshed === undefined || refreshed === pair ? [made] : [made, ...lineOf(`$${refreshed}.`, find)]
}

export const grantOf = (token: string, find: FindMade): CallStep | undefined => lineOf(token, find).at(-1)

/** How often the pair of a token was refreshed. */
export const generationOf = (token: string, find: FindMade): number => Math.max(0, lineOf(token, find).length - 1)

/** The key to which the pair of a token was granted. */
export const granteeOf = (token: string, find: FindMade): string | undefined =>
  /^\$([\w-]+)\.id$/.exec(String(grantOf(token, find)?.params.apiKeyId))?.[1]

/** The scope words that were requested for a token, as one text. */
export function requestedFor(token: string, find: FindMade): string | undefined {
  const scope = grantOf(token, find)?.params.scope
  return Array.isArray(scope) ? scope.map(String).join(' ') : undefined
}
