import type { CreatedKeys } from '../../engine/case/created-keys.ts'
import { membersOf, parseJson } from '../../engine/json.ts'
import { countAnswer } from '../../explore/answer.ts'
import type { Response, Wire } from '../../explore/wire.ts'

/** Records each key that an exploration creates, before the call that creates it. */
export function recordingWire(wire: Wire, keys: Pick<CreatedKeys, 'intend' | 'created' | 'notCreated'>): Wire {
  return {
    ...wire,
    send: async (request) => {
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
