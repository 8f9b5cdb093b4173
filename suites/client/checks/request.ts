/** Checks of every request: part 1 of the document. */
import { callPath } from '../../engine/document.ts'
import { type Check, type Finding, finding, findingsOf } from '../check.ts'
import { headerOf } from '../story/authorization.ts'
import { asObject } from '../story/rpc.ts'
import type { Request } from '../story/story.ts'

const postJson: Check = {
  id: 'request/post-json',
  level: 'document',
  title: 'Every call is a POST of JSON to /api',
  sentence:
    'Every call is an HTTP POST to {base_url}/api with the header Content-Type: application/json and a JSON body',
  source: 'interface part 1',
  judge({ story }) {
    const requests = story.requests.filter((request) => !isOutsideInterface(request))
    return { exercised: requests.length > 0, findings: requests.flatMap(postJsonFindings) }
  },
}

/** Requests that the interface does not cover: a browser sends OPTIONS first, and a client may check whether the server is up, or read its Date. */
function isOutsideInterface({ exchange, authorization }: Request): boolean {
  const { httpMethod, target, bodyBytes } = exchange
  if (httpMethod === 'OPTIONS') return true
  const isLook = httpMethod === 'HEAD' || httpMethod === 'GET'
  return isLook && bodyBytes === 0 && authorization.kind === 'none' && !target.includes('?')
}

function postJsonFindings({ exchange, body }: Request): Finding[] {
  const { httpMethod, target } = exchange
  const type = headerOf(exchange, 'content-type')
  return findingsOf(exchange, [
    httpMethod === 'POST' ? null : `The HTTP method is ${httpMethod}. Send POST`,
    target === callPath ? null : `The request goes to "${target}". Send it to {base_url}/api`,
    isJsonType(type)
      ? null
      : `The Content-Type is ${type === undefined ? 'missing' : `"${type}"`}. Send application/json`,
    body.kind === 'not-json' ? 'The body is not JSON' : null,
  ])
}

/** RFC 9110 §8.3.1: names of types are compared in any case, and parameters may follow. */
const isJsonType = (type: string | undefined): boolean => /^\s*application\/json\s*(;|$)/i.test(type ?? '')

const envelope: Check = {
  id: 'request/envelope',
  level: 'document',
  title: 'Every request has the four members of the envelope',
  sentence: 'jsonrpc is "2.0", id an integer, method <group>/<operation>, params an object ({} if there are no params)',
  source: 'interface part 1, request envelope',
  judge({ story }) {
    const requests = story.requests.filter(({ body }) => body.kind === 'json')
    return { exercised: requests.length > 0, findings: requests.flatMap(envelopeFindings) }
  },
}

function envelopeFindings({ exchange, body }: Request): Finding[] {
  const rpc = body.kind === 'json' ? asObject(body.value) : null
  if (rpc === null) return [finding('The body is not a JSON object. Send one request object', exchange)]
  return findingsOf(exchange, [
    rpc.jsonrpc === '2.0' ? null : `jsonrpc is ${shown(rpc.jsonrpc)}. Send "2.0"`,
    Number.isInteger(rpc.id) ? null : `id is ${shown(rpc.id)}. Send an integer`,
    isMethodName(rpc.method) ? null : `method is ${shown(rpc.method)}. Send <group>/<operation>`,
    asObject(rpc.params) === null ? `params is ${shown(rpc.params)}. Send an object, {} if there are no params` : null,
  ])
}

const isMethodName = (method: unknown): boolean => typeof method === 'string' && /^[^/\s]+\/[^/\s]+$/.test(method)

function shown(value: unknown): string {
  if (value === undefined) return 'missing'
  const text = JSON.stringify(value)
  return text.length > 60 ? `${text.slice(0, 60)}…` : text
}

export const requestChecks: readonly Check[] = [postJson, envelope]
