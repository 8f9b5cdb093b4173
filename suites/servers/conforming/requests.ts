/** What conforming servers read in requests. */
import type { MockAnswer, MockRequest } from '../../../mock-server/http-server.ts'
import type { Call } from '../call.ts'
import type { Change } from '../rows.ts'

export const create = 'manager/createApiKey'

export const auth = 'manager/auth'

export const list = 'solution/listSolutions'

/** The same call with another scope; a signature of the old body does not fit any more. */
export const withScope = (call: Call, scope: string[]): MockRequest => call.withParams({ ...call.params, scope })

/** The `session:NAME` of a grant. */
export const sessionWord = (call: Call): string | undefined => call.scope.find((word) => word.startsWith('session:'))

/** The fields of a signature: key id, version, timestamp, nonce and MAC; empty for other calls. */
export function signatureFields({ authorization }: Call): string[] {
  const fields = authorization?.split(';') ?? []
  return fields.length > 1 ? fields : []
}

/** Refuses a list of scopes of manager/auth. */
export const noGrantWith = (refused: (scope: string[]) => boolean): Change => ({
  paramTaken: (method, name, value, valid) =>
    valid && !(method === auth && name === 'scope' && Array.isArray(value) && refused(value.map(String))),
})

/** Whether the key that a call names is active. */
export const isOfLiveKey = (_answer: MockAnswer, call: Call): boolean => {
  const key = call.state.keys.get(call.keyId ?? '')
  return key?.enabled === true && !key.deleted
}
