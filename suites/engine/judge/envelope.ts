import type { Classified } from './classify.ts'
import type { EnvelopeNote } from './outcome.ts'

/** The methods whose result the document describes; elsewhere its type is not judged. */
const documentedMethods = new Set(['manager/createApiKey', 'manager/auth', 'solution/listSolutions'])

type Note = Omit<EnvelopeNote, 'exchange'>

/**
 * Departures of a successful answer from the response envelope (part 1). They never change whether a call was accepted.
 * Refusals are not looked at: the document does not show their shape.
 */
export function envelopeNotes(answer: Classified, sentId: unknown, method: string): Note[] {
  if (answer.outcome !== 'accepted') return []
  const notes: Note[] = []
  const { jsonrpc, id } = answer.json
  if (jsonrpc !== '2.0') {
    notes.push({
      requirement: 'envelope/response-jsonrpc',
      message: `expected jsonrpc "2.0", got ${JSON.stringify(jsonrpc) ?? 'none'}`,
    })
  }
  if (Number.isInteger(sentId) && id !== sentId) {
    notes.push({
      requirement: 'envelope/id-echo',
      message: `expected the id ${JSON.stringify(sentId)} of the request, got ${JSON.stringify(id) ?? 'none'}`,
    })
  }
  const { result } = answer
  if (documentedMethods.has(method) && (typeof result !== 'object' || result === null || Array.isArray(result))) {
    notes.push({
      requirement: 'envelope/result-object',
      message: `expected the result of ${method} to be an object, got ${JSON.stringify(result)}`,
    })
  }
  return notes
}
