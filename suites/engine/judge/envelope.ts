import { hasDocumentedResult } from '../document.ts'
import { isObject } from '../json.ts'
import type { Classified } from './classify.ts'
import type { EnvelopeProblem } from './problem.ts'
import { showJson } from './show-json.ts'

/** The requirement that each departure breaks. */
export const envelopeRequirements: { readonly [kind in EnvelopeProblem['kind']]: string } = {
  'wrong-jsonrpc': 'envelope/response-jsonrpc',
  'wrong-id': 'envelope/id-echo',
  'wrong-result-type': 'envelope/result-object',
}

/**
 * Departures of a successful answer from the response envelope (part 1). They never change whether a call was accepted.
 * Refusals are not examined, because the document does not show their shape.
 */
export function envelopeProblems(answer: Classified, sentId: unknown, method: string): EnvelopeProblem[] {
  if (answer.outcome !== 'accepted') return []
  const problems: EnvelopeProblem[] = []
  const { jsonrpc, id } = answer.json
  if (jsonrpc !== '2.0') problems.push({ kind: 'wrong-jsonrpc', got: showJson(jsonrpc) })
  if (Number.isInteger(sentId) && id !== sentId) {
    problems.push({ kind: 'wrong-id', sent: showJson(sentId), got: showJson(id) })
  }
  const { result } = answer
  if (hasDocumentedResult(method) && !isObject(result)) {
    problems.push({ kind: 'wrong-result-type', method, got: showJson(result) })
  }
  return problems
}
