// A client for tests: right, unless EXAMPLE_MISTAKE names one of the mistakes below.
import { createHmac, createPrivateKey, randomBytes, sign } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { Agent, request } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'

const { env } = process
const mistake = env.EXAMPLE_MISTAKE ?? ''
const agent = new Agent({ keepAlive: true })
const privateKey = env.SVC_PRIVATE_KEY_FILE && createPrivateKey(readFileSync(env.SVC_PRIVATE_KEY_FILE))
let lastId = 0
let clockOffsetMs = 0
let quietUntilMs = 0
let pair = null
let refused = null
let refreshesInVain = 0
let refreshing = null

if (mistake === 'inert') process.exit(0)
if (mistake === 'says-ok') {
  console.log('ok\nok\nok\nok')
  process.exit(0)
}
if (mistake === 'hangs') setInterval(() => {}, 1000)

function post(body, authorization) {
  return new Promise((resolve, reject) => {
    const headers = { 'content-type': 'application/json', ...(authorization ? { authorization } : {}) }
    const call = request(`${env.SVC_URL}/api`, { method: 'POST', agent, headers }, (response) => {
      let text = ''
      response.setEncoding('utf8').on('data', (part) => {
        text += part
      })
      response.on('end', () => resolve({ status: response.statusCode, headers: response.headers, text }))
      response.on('error', reject)
    })
    call.on('error', reject)
    call.end(body)
  })
}

/** Resolves with the result; rejects with an Error, whose `refused` says whether the server refused the call. */
async function call(method, params, authorize) {
  await sleep(Math.max(0, quietUntilMs - Date.now()))
  const id = ++lastId
  const body = JSON.stringify({ jsonrpc: '2.0', id, method, params })
  const answer = await post(body, authorize(body))
  const seconds = Number(answer.headers['retry-after'])
  if ((answer.status === 429 || answer.status === 503) && seconds > 0) {
    if (mistake !== 'ignores-retry-after') quietUntilMs = Date.now() + seconds * 1000 + 5
    throw new Error('Throttled')
  }
  const json = mistake === 'crashes' ? JSON.parse(answer.text) : parse(answer.text)
  if (json?.id !== id && mistake !== 'takes-any-id') throw new Error('The answer is not ours')
  if (json.error && mistake !== 'takes-errors') {
    clockOffsetMs = Date.parse(answer.headers.date) - Date.now()
    throw Object.assign(new Error(json.error.message), { refused: true })
  }
  if (answer.status !== 200) throw new Error(`HTTP ${answer.status}`)
  return json.result
}

function parse(text) {
  try {
    return JSON.parse(text)
  } catch {
    throw new Error('The answer is no JSON')
  }
}

function signature(body) {
  const skewMs = Math.abs(clockOffsetMs) > 5000 ? clockOffsetMs : 0
  const timestamp = mistake === 'seconds' ? Math.floor(Date.now() / 1000) : Date.now() + skewMs
  const nonce = mistake === 'constant-nonce' ? 'constant' : randomBytes(12).toString('base64')
  const signed = mistake === 'reserialises' ? JSON.stringify(JSON.parse(body), null, 1) : body
  const data = `${timestamp};${nonce};POST\n/api\n${signed}\n`
  const bytes = privateKey
    ? sign(null, Buffer.from(data), privateKey)
    : createHmac('sha256', env.SVC_KEY_SECRET)
        .update(data)
        .digest()
        .subarray(0, mistake === 'whole-mac' ? 32 : 20)
  return `${env.SVC_SCHEME} ${env.SVC_KEY_ID};1;${timestamp};${nonce};${bytes.toString('base64')}`
}

const none = () => undefined

async function grant() {
  const scope = env.SVC_SCOPE.split(',').filter(
    (entry) => mistake !== 'drops-lifetime' || !entry.startsWith('expiresIn'),
  )
  if (mistake === 'asks-for-more') scope.push('context', 'store')
  const params = { grantType: 'api_key_credentials', scope, apiKeyId: env.SVC_KEY_ID, apiKeySecret: env.SVC_KEY_SECRET }
  return call('manager/auth', params, none)
}

async function renew(old) {
  if (old === null || mistake === 'grants-anew') return grant()
  const { refreshToken } = old
  try {
    const params = {
      grantType: 'refresh_token',
      refreshToken,
      ...(mistake === 'scope-on-refresh' ? { scope: old.scope } : {}),
    }
    const next = await call('manager/auth', params, none)
    return mistake === 'keeps-refresh-token' ? { ...next, refreshToken } : next
  } catch (error) {
    if (error.message === 'Throttled') throw error
    if (mistake === 'loops') return renew(old)
    return grant()
  }
}

async function tokenInstead(of) {
  if (pair !== of) return pair
  if (mistake === 'storm') {
    pair = await renew(of)
    return pair
  }
  refreshing ??= renew(of).then(
    (next) => {
      pair = next
      refreshing = null
    },
    (error) => {
      refreshing = null
      throw error
    },
  )
  await refreshing
  return pair
}

async function callWithToken(method, params) {
  const used = pair === null || pair === refused ? await tokenInstead(pair) : pair
  const areaOf = { solution: 'solution', manager: 'apiKey' }[method.split('/')[0]]
  if (mistake !== 'ignores-grant' && !used.scope.some((one) => one.toLowerCase() === areaOf.toLowerCase()))
    throw new Error('The token does not open this method')
  const bearer = (one) => () => `${env.SVC_TOKEN_PREFIX} ${one.accessToken}`
  try {
    const result = await call(method, params, bearer(used))
    refreshesInVain = 0
    return result
  } catch (error) {
    if (!error.refused || mistake === 'never-refreshes') throw error
    // A fresh token that is refused too is not refused for its age.
    if (refreshesInVain >= 2 && mistake !== 'loops') throw error
    refreshesInVain += 1
    refused = used
    return call(method, params, bearer(await tokenInstead(used)))
  }
}

async function callOnce(method, params) {
  if (env.SVC_AUTH === 'token') return callWithToken(method, params)
  const basic = `Basic ${Buffer.from(`${env.SVC_KEY_ID}:${env.SVC_KEY_SECRET}`).toString('base64')}`
  if (env.SVC_AUTH === 'basic') return call(method, params, () => basic)
  try {
    return await call(method, params, signature)
  } catch (error) {
    if (mistake === 'repeats-creations' && method === 'manager/createApiKey') return call(method, params, signature)
    throw error
  }
}

const params = env.SVC_METHOD === 'manager/createApiKey' ? { name: 'example', scope: ['solution'] } : {}
let left = Number(env.SVC_CALLS)
async function work() {
  while (left-- > 0) {
    try {
      await callOnce(env.SVC_METHOD, params)
      console.log('ok')
    } catch (error) {
      if (mistake === 'crashes') throw error
      console.error(error.message)
      console.log('error')
    }
    await sleep(Number(env.SVC_PAUSE_MS))
  }
}
await Promise.all(Array.from({ length: Number(env.SVC_PARALLEL) }, work))
agent.destroy()
