/** Which key a call tries to use, read from its bytes alone: cheap enough for every refused call of a run. */

import { isObject, readBody } from '../engine/model/parse.ts'
import { looseBytes } from '../engine/model/spelling.ts'
import type { Call } from '../engine/model/state.ts'

/** @returns the id in a signature, in Basic credentials or in the params of a grant; undefined without one */
export function attemptedKey({ authorization, body }: Call): string | undefined {
  if (authorization === undefined) {
    const { method, params } = readBody(body)
    const id = method === 'manager/auth' && isObject(params) ? params.apiKeyId : undefined
    return typeof id === 'string' ? id : undefined
  }
  const [, blob] = /^basic +(\S+)/i.exec(authorization) ?? []
  if (blob !== undefined) return looseBytes(blob).split(':')[0]
  return authorization.includes(';') ? authorization.split(' ').at(-1)?.split(';')[0] : undefined
}
