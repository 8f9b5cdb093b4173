/** Kinds of pairs of tokens, of keys and of grants. */
import type { ApiKey, TokenPair } from '../../../mock-server/state.ts'
import { isOneSolution } from '../call.ts'
import type { Seen } from '../rows.ts'

type Fits = (pair: TokenPair) => boolean

export const inSession: Fits = ({ session }) => session !== undefined

export const withAddress: Fits = ({ addresses }) => addresses.length > 0

export const withLifetime: Fits = ({ expiresInMs }) => expiresInMs !== undefined

export const ofCreatedKey: Fits = ({ key }) => !key.initial

export const ofRefresh: Fits = ({ generation }) => generation > 0

export const ofSolution: Fits = ({ scope }) => scope.some(isOneSolution)

export const withApikey: Fits = ({ scope }) => scope.includes('apiKey')

/** Whether a key may create others. */
export const managesKeys = ({ scope }: Pick<ApiKey, 'scope'>): boolean => scope.some((word) => /^apikey$/i.test(word))

/** Whether the call shows the access token of such a pair. */
export const shows = ({ pair }: Seen, fits: Fits): boolean => pair !== undefined && fits(pair)

/** Whether the scope of the call has an entry that begins so. */
export const asks = ({ scope }: Seen, beginning: string): boolean => scope.some((word) => word.startsWith(beginning))
