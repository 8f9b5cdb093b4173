import type { CreatedKeys } from '../../engine/case/created-keys.ts'
import { countAnswer } from '../../explore/answer.ts'
import type { Response, Wire } from '../../explore/wire.ts'

/** Records each key that an exploration creates, before the call that creates it, whatever that call is for. */
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
  try {
    const { params } = JSON.parse(body) as { params?: { name?: unknown } }
    return typeof params?.name === 'string' ? params.name : ''
  } catch {
    return ''
  }
}

function keyIn(response: Response): { id: string; secret?: string } | null {
  const answer = countAnswer(response)
  if (answer.kind !== 'accepted' || typeof answer.result !== 'object' || answer.result === null) return null
  const { id, secret } = answer.result as { id?: unknown; secret?: unknown }
  if (typeof id !== 'string') return null
  return { id, ...(typeof secret === 'string' ? { secret } : {}) }
}
