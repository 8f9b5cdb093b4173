/** The calls of the interface (interface.md parts 4 and 5), each judged by its answer; a call without a result counts as refused. */
import http from 'k6/http'
import { Counter, Rate } from 'k6/metrics'
import { countRefusal, sign } from 'k6/x/svc'
import { settings } from './settings.js'

const refused = new Rate('refused')
/** Tagged with call and reason, for k6's own outputs. */
const refusals = new Counter('refusals')

/** A token that ends within this time is not used again: the server's clock may be ahead. */
const expiryMarginMs = 5000

let lastId = 0

/** @throws Error naming the settings that the scenario needs and does not have */
export function requireKeys(scenario) {
  const ecc = { SVC_ECC_KEY_ID: settings.eccKeyId, SVC_ECC_PRIVATE_KEY: settings.eccPrivateKey }
  const hmac = { SVC_KEY_ID: settings.keyId, SVC_KEY_SECRET: settings.keySecret }
  const usesEcc = scenario === 'ecc' || (scenario === 'mixed' && settings.eccKeyId !== '')
  const needed = { SVC_URL: settings.url, ...(scenario === 'ecc' ? {} : hmac), ...(usesEcc ? ecc : {}) }
  const missing = Object.keys(needed).filter((name) => needed[name] === '')
  if (missing.length > 0) throw new Error(`Set ${missing.join(', ')}: the scenario "${scenario}" needs it`)
}

/** One `solution/listSolutions`, signed with the key of that kind: hmac or ecc. */
export function signedCall(kind) {
  const body = bodyOf('solution/listSolutions', {})
  const key =
    kind === 'ecc'
      ? { keyId: settings.eccKeyId, privateKeyPem: settings.eccPrivateKey }
      : { keyId: settings.keyId, secret: settings.keySecret }
  return send(kind, body, sign({ ...key, scheme: settings.scheme, body: body.text })) !== undefined
}

/** One `solution/listSolutions` with the access token of a pair. */
export function callWithToken(pair) {
  const { tokenPrefix } = settings
  const authorization = tokenPrefix === '' ? pair.accessToken : `${tokenPrefix} ${pair.accessToken}`
  return send('token', bodyOf('solution/listSolutions', {}), authorization) !== undefined
}

/** A new token pair, or undefined when it was refused. The scope names no session, so none is created. */
export function grant() {
  const credentials = { apiKeyId: settings.keyId, apiKeySecret: settings.keySecret }
  return pairOf('grant', { grantType: 'api_key_credentials', scope: ['solution'], ...credentials })
}

/** The pair that replaces `pair`, or undefined when it was refused. */
export function refresh(pair) {
  return pairOf('refresh', { grantType: 'refresh_token', refreshToken: pair.refreshToken })
}

export function isSoonExpired(pair) {
  return pair.accessTokenExpiry < Date.now() + expiryMarginMs
}

function pairOf(call, params) {
  return send(call, bodyOf('manager/auth', params), undefined, (result) =>
    typeof result.accessToken === 'string' && typeof result.refreshToken === 'string'
      ? undefined
      : 'no token pair in the result',
  )
}

function bodyOf(method, params) {
  lastId += 1
  return { id: lastId, method, text: JSON.stringify({ jsonrpc: '2.0', id: lastId, method, params }) }
}

function send(call, body, authorization, faultOf) {
  const headers = { 'Content-Type': 'application/json' }
  if (authorization !== undefined) headers.Authorization = authorization
  const tags = { call, name: body.method }
  const answer = http.post(`${settings.url}/api`, body.text, { headers, tags, redirects: 0, timeout: '10s' })
  const { result, reason } = readAnswer(answer, body.id, faultOf)
  refused.add(reason !== undefined, { call })
  if (reason !== undefined) refusals.add(1, { call, reason: countRefusal(call, reason) })
  return result
}

/** Either the result, or the reason why there is none. */
function readAnswer(answer, id, faultOf = () => undefined) {
  if (answer.status === 0) return { reason: `no answer: ${answer.error}` }
  const status = `HTTP ${answer.status}`
  const envelope = parse(answer.body)
  const error = envelope.error
  if (isObject(error)) return { reason: `${status}, code ${error.code}, "${error.message}"` }
  if (!isObject(envelope.result)) return { reason: `${status}, not a JSON-RPC answer` }
  if (envelope.id !== id) return { reason: `${status}, the id of another request` }
  const fault = faultOf(envelope.result)
  return fault === undefined ? { result: envelope.result } : { reason: `${status}, ${fault}` }
}

function parse(text) {
  try {
    const value = JSON.parse(text)
    return isObject(value) ? value : {}
  } catch {
    return {}
  }
}

function isObject(value) {
  return typeof value === 'object' && value !== null
}
