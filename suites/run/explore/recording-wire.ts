import type { CreatedKeys } from '../../engine/conversation/conversation.ts'
import { membersOf, parseJson } from '../../engine/json.ts'
import { countAnswer } from '../../explore/answer.ts'
import type { Response, Wire } from '../../explore/wire.ts'

/**
 * Records each key that an exploration creates, before the call that creates it, and each that it deletes.
 *
 * @param deletes the method that deletes keys, if the target file names one
 */
export function recordingWire(wire: Wire, keys: CreatedKeys, deletes?: string): Wire {
  return {
    ...wire,
    send: async (request) => {
      if (deletes !== undefined && membersOf(parseJson(request.body)).method === deletes) {
        const response = await wire.send(request)
        const deleted = keys.keys.filter(({ id }) => request.body.includes(JSON.stringify(id)))
        if (countAnswer(response).kind === 'accepted') for (const { id } of deleted) keys.removed(id)
        return response
      }
      if (!request.body.includes('createApiKey')) return wire.send(request)
      const name = nameIn(request.body)
      keys.intend(name)
      const response = await wire.send(request)
      const key = keyIn(response)
      if (key !== null) keys.created({ ...key, name })
      else if (['refused', 'throttled'].includes(countAnswer(response).kind)) keys.notCreated(name)
      return response
    },
  }
}

/** The label of the key that a body creates. */
function nameIn(body: string): string {
  const { name } = membersOf(membersOf(parseJson(body)).params)
  return typeof name === 'string' ? name : ''
}

function keyIn(response: Response): { id: string; secret?: string } | null {
  const answer = countAnswer(response)
  if (answer.kind !== 'accepted') return null
  const { id, secret } = membersOf(answer.result)
  if (typeof id !== 'string') return null
  return { id, ...(typeof secret === 'string' ? { secret } : {}) }
}
