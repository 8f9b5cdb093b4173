/** Describes an exchange of a case in words. */

import { authorizationOf } from '../engine/model/facts.ts'
import { findPair } from '../engine/model/facts-of-credentials.ts'
import { isObject, isStrings, readBody } from '../engine/model/parse.ts'
import type { State } from '../engine/model/state.ts'
import { type CaseCall, unknownAddress } from './case-call.ts'

export function describeCaseCall(state: State, caseCall: CaseCall): string {
  const { method, params } = readBody(caseCall.call.body)
  if (method !== 'manager/auth') return `A call of ${shortly(method)}${authorOf(state, caseCall)}`
  if (!isObject(params) || params.grantType === 'refresh_token') return 'A refresh'
  const scope = isStrings(params.scope) ? ` for the scope "${params.scope.join(' ').slice(0, 80)}"` : ''
  const wrong = isWrong(state, params.apiKeyId, params.apiKeySecret) ? ' with a wrong secret' : ''
  return `A grant by ${keyName(state, params.apiKeyId)}${wrong}${scope}`
}

function authorOf(state: State, { call }: CaseCall): string {
  const auth = authorizationOf(state, call)
  switch (auth.kind) {
    case 'none':
      return ' without authorization'
    case 'basic':
      return ` with ${isWrong(state, auth.id, auth.secret) ? 'wrong Basic credentials' : 'Basic credentials'} of ${keyName(state, auth.id)}`
    case 'signature':
      return ` with a signature of ${keyName(state, auth.fields[0])}`
    case 'token':
      return tokenOf(state, auth.token, call.from)
    default:
      return ' with an Authorization header of another form'
  }
}

function tokenOf(state: State, text: string, from: string): string {
  const pair = findPair(state, text, 'access')?.pair
  if (pair === undefined)
    return findPair(state, text, 'refresh') === undefined
      ? ' with a token that was never issued'
      : ' with a refresh token'
  const age =
    ['the', 'the once refreshed', 'the twice refreshed'][pair.generation] ?? `the ${pair.generation} times refreshed`
  const bound = pair.scope.filter((word) => word.startsWith('ipAddr:')).join(' ')
  const where = bound === '' || from === unknownAddress ? '' : `, which has the scope "${bound}", from ${from}`
  return ` with ${age} access token of grant ${pair.line + 1}${where}`
}

/** Whether this is not the secret of a known key. */
function isWrong(state: State, id: unknown, secret: unknown): boolean {
  const key = typeof id === 'string' ? state.keys.get(id) : undefined
  return key !== undefined && key.secret !== secret
}

function keyName(state: State, id: unknown): string {
  if (id === state.root) return 'the root key'
  const key = typeof id === 'string' ? state.keys.get(id) : undefined
  return key === undefined ? 'an unknown key' : `the key "${key.name}"`
}

const shortly = (method: unknown): string => (typeof method === 'string' ? method.slice(0, 60) : 'no method')
