/** The parts that read an answer: `{ kind: accepted | refused | throttled | broken }`. */
import { createHash, createHmac, createPrivateKey, randomBytes, sign } from 'node:crypto'
import { mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { Agent, request as httpRequest } from 'node:http'
import { request as httpsRequest } from 'node:https'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

/** How long to wait if a 429 names no time. */
const unnamedWaitMs = 200
/** Timers may end a little early. */
const timerErrorMs = 10

const answerParts = {
  readAnswer(client, answer, id, request) {
    if (answer.broken !== undefined) return { kind: 'broken', reason: answer.broken }
    const { parts } = client
    const { status, headers } = answer
    const retryAfter = headers['retry-after']
    if (status === 429 || (status === 503 && retryAfter !== undefined))
      return { kind: 'throttled', reason: `HTTP ${status}`, waitMs: parts.retryAfterMs(retryAfter, headers.date) }
    if (status >= 300 && status < 400) return { kind: 'broken', reason: `HTTP ${status}: redirects are not followed` }
    return parts.readBody(answer, id, request)
  },

  readBody({ status, text }, id) {
    const message = parseObject(text)
    if (message === undefined)
      return { kind: status >= 400 && status < 500 ? 'refused' : 'broken', reason: `HTTP ${status} without JSON` }
    if (message.error !== undefined && message.error !== null) {
      const isForeign = typeof message.id === 'number' && message.id !== id
      return { kind: isForeign ? 'broken' : 'refused', reason: `Error ${JSON.stringify(message.error)}` }
    }
    if (status >= 400) return { kind: status < 500 ? 'refused' : 'broken', reason: `HTTP ${status}` }
    if (message.id !== id) return { kind: 'broken', reason: `The answer has the id ${message.id}, not ${id}` }
    if (message.result === undefined) return { kind: 'broken', reason: 'The answer has no result' }
    return { kind: 'accepted', result: message.result }
  },

  /** Seconds or an HTTP date (RFC 9110 §10.2.3); a date is compared with the server's own. */
  retryAfterMs(text, date) {
    if (text === undefined) return unnamedWaitMs
    if (/^\d+$/.test(text)) return Number(text) * 1000
    const fromMs = Date.parse(date ?? '')
    return Math.max(0, Date.parse(text) - (Number.isNaN(fromMs) ? Date.now() : fromMs)) || 0
  },

  noteThrottled(client, { waitMs }) {
    client.silentUntil = Math.max(client.silentUntil, Date.now() + waitMs + timerErrorMs)
  },
}

/** The JSON object of a text, if it is one. */
export function parseObject(text) {
  try {
    const value = JSON.parse(text)
    return typeof value === 'object' && value !== null ? value : undefined
  } catch {
    return undefined
  }
}

/** The parts that follow the clock of the server by the `Date` of its answers, which has a resolution of one second. */

/** A server may make its Date text a little before it answers. */
const staleDateMs = 500
const dateResolutionMs = 1000
/** A smaller error does not matter: signatures have a time window, and a refused token is refreshed. */
const skewMs = 2000

const clockParts = {
  /** The time of the server, in ms. */
  now: (client) => Date.now() + client.clock.offsetMs,

  /** Narrows the offset down with every answer; returns true when the clock turned out to be off. */
  learnClock(client, answer, sentAtMs) {
    const dateMs = Date.parse(answer.headers?.date ?? '')
    if (Number.isNaN(dateMs)) return false
    const { clock } = client
    const lowest = dateMs - Date.now()
    const highest = dateMs + dateResolutionMs + staleDateMs - sentAtMs
    const agrees = lowest <= clock.highest && highest >= clock.lowest
    clock.lowest = agrees ? Math.max(lowest, clock.lowest) : lowest
    clock.highest = agrees ? Math.min(highest, clock.highest) : highest
    const before = clock.offsetMs
    const mayBeRight = clock.lowest <= 0 && clock.highest >= 0
    clock.offsetMs = mayBeRight ? 0 : Math.round((clock.lowest + clock.highest) / 2)
    return Math.abs(clock.offsetMs - before) > skewMs
  },
}

/** Where clients that survive their process keep a pair of tokens; files of earlier runs are removed. */

const folderOf = ({ TMPDIR }) => join(TMPDIR ?? tmpdir(), 'svc-test-clients')
const oldMs = 600_000

export function fileOf({ env }) {
  const { SVC_URL, SVC_KEY_ID, SVC_KEY_SECRET } = env
  const name = createHash('sha256').update(`${SVC_URL} ${SVC_KEY_ID} ${SVC_KEY_SECRET}`).digest('hex')
  return join(folderOf(env), `${name}.json`)
}

export function savePair(client, pair) {
  if (pair === undefined) return
  mkdirSync(folderOf(client.env), { recursive: true, mode: 0o700 })
  writeFileSync(fileOf(client), JSON.stringify(pair), { mode: 0o600 })
}

/** The pair that an earlier process saved, if there is one; removes old files. */
export function readPairFile(client) {
  const folder = folderOf(client.env)
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  for (const name of readdirSync(folder)) {
    const file = join(folder, name)
    if (Date.now() - (statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? 0) > oldMs) rmSync(file, { force: true })
  }
  try {
    return JSON.parse(readFileSync(fileOf(client), 'utf8'))
  } catch {
    return undefined
  }
}

/** The parts that make a request and send it. */

const timeoutMs = 8000

const requestParts = {
  httpMethod: () => 'POST',
  path: (client) => `${client.basePath}/api`,
  contentType: () => 'application/json',
  furtherHeaders: () => ({}),
  nextId: (client) => (client.lastId += 1),
  envelope: ({ id, method, params }) => ({ jsonrpc: '2.0', id, method, params }),
  writeBody: (envelope) => JSON.stringify(envelope),
  /** The body as it goes over the wire; a right client signs exactly this. */
  bodyAsSent: (body) => body,
  /** The last place where a request can be changed: `{ httpMethod, path, headers, body }`. */
  finish: (_client, wire) => wire,

  /** Waits until a Retry-After is over (RFC 9110 §10.2.3). */
  async keepSilence(client) {
    for (let waitMs = client.silentUntil - Date.now(); waitMs > 0; waitMs = client.silentUntil - Date.now())
      await sleep(waitMs)
  },

  async attempt(client, request) {
    const { parts } = client
    await parts.keepSilence(client, request)
    const id = parts.nextId(client)
    const body = parts.writeBody(
      parts.envelope({ id, method: request.method, params: request.params }, request),
      client,
    )
    const wire = parts.finish(
      client,
      { httpMethod: parts.httpMethod(), path: parts.path(client, request), headers: {}, body },
      request,
    )
    const contentType = parts.contentType()
    const authorization = parts.authorization(client, request, wire)
    wire.headers = {
      ...(contentType === undefined ? {} : { 'content-type': contentType }),
      'content-length': Buffer.byteLength(parts.bodyAsSent(wire.body, client)),
      ...parts.furtherHeaders(client, request),
      ...wire.headers,
      ...(authorization === undefined ? {} : { authorization }),
    }
    wire.body = parts.bodyAsSent(wire.body, client)
    const sentAtMs = Date.now()
    const answer = await parts.exchange(client, wire, request).catch((error) => ({ broken: error.message }))
    const learntSkew = parts.learnClock(client, answer, sentAtMs)
    const outcome = { ...parts.readAnswer(client, answer, id, request), learntSkew }
    if (outcome.kind === 'throttled') parts.noteThrottled(client, outcome, request)
    return outcome
  },

  /** Sends a request and reads the whole answer; a redirect is an answer like any other. Rejects when there is none. */
  exchange: (client, { httpMethod, path, headers, body, url = client.url }) =>
    new Promise((resolve, reject) => {
      const send = url.protocol === 'https:' ? httpsRequest : httpRequest
      const options = { agent: client.agent, method: httpMethod, path, headers, timeout: timeoutMs }
      const sent = send(url, options, (incoming) => {
        const chunks = []
        incoming.on('data', (chunk) => chunks.push(chunk))
        incoming.on('error', reject)
        incoming.on('end', () =>
          resolve({ status: incoming.statusCode, headers: incoming.headers, text: Buffer.concat(chunks).toString() }),
        )
      })
      sent.on('timeout', () => sent.destroy(new Error(`No answer within ${timeoutMs} ms`)))
      sent.on('error', reject)
      sent.end(body)
    }),
}

/** The parts that make an Authorization header: interface.md §5. */

const signatureParts = {
  timestamp: (client) => String(client.parts.now(client)),
  nonce: () => randomBytes(16).toString('hex'),
  signedMethod: (httpMethod) => httpMethod.toUpperCase(),
  signedUri: () => '/api',
  signedBody: (body) => body,
  requestData: ({ method, uri, body }) => `${method}\n${uri}\n${body}\n`,
  dataToSign: ({ timestamp, nonce, requestData }) => `${timestamp};${nonce};${requestData}`,
  mac: (secret, data) => createHmac('sha256', secret).update(data).digest(),
  shortenMac: (mac) => mac.subarray(0, 20),
  eccSignature: (privateKey, data) => sign(null, Buffer.from(data), privateKey),
  encodeSignature: (bytes) => bytes.toString('base64'),
  /** The copies that go into the header. */
  timestampSent: (timestamp) => timestamp,
  nonceSent: (nonce) => nonce,
  signatureHeader: ({ scheme, keyId, timestamp, nonce, signature }) =>
    `${scheme} ${keyId};1;${timestamp};${nonce};${signature}`,

  basic: (client) =>
    `Basic ${Buffer.from(`${client.env.SVC_KEY_ID}:${client.env.SVC_KEY_SECRET ?? ''}`).toString('base64')}`,
  bearer: (client, token) => {
    const prefix = client.env.SVC_TOKEN_PREFIX ?? 'Bearer'
    return prefix === '' ? token : `${prefix} ${token}`
  },

  /** The Authorization header of a request; `manager/auth` has none (§4.2). */
  authorization(client, request, wire) {
    const { parts } = client
    if (request.purpose !== 'call') return parts.authorizationOfAuth(client, request, wire)
    if (client.auth === 'token') return parts.bearer(client, request.token)
    if (client.auth === 'basic') return parts.basic(client)
    return parts.signed(client, wire, request)
  },
  authorizationOfAuth: () => undefined,

  signed(client, wire, request = {}) {
    const { parts, env } = client
    const timestamp = parts.timestamp(client)
    const nonce = parts.nonce(client, request)
    const requestData = parts.requestData({
      method: parts.signedMethod(wire.httpMethod),
      uri: parts.signedUri(client),
      body: parts.signedBody(wire.body),
    })
    const data = parts.dataToSign({ timestamp, nonce, requestData, keyId: env.SVC_KEY_ID })
    if (client.auth === 'ecc') client.privateKey ??= createPrivateKey(readFileSync(env.SVC_PRIVATE_KEY_FILE))
    const bytes =
      client.auth === 'ecc'
        ? parts.eccSignature(client.privateKey, data)
        : parts.shortenMac(parts.mac(env.SVC_KEY_SECRET, data))
    return parts.signatureHeader({
      scheme: env.SVC_SCHEME ?? 'svc-hmac-sha256',
      keyId: env.SVC_KEY_ID,
      timestamp: parts.timestampSent(timestamp),
      nonce: parts.nonceSent(nonce),
      signature: parts.encodeSignature(bytes),
    })
  },
}

/** The parts that take, keep and renew a pair of tokens: interface.md §4.2 and §5.3. */

/** A token is renewed when a tenth of its life is left, but no earlier than this. */
const longestMarginMs = 30_000
/** After this many renewals without an accepted call, renewing does not help; it is tried again later. */
const renewalsWorthTrying = 2
const renewalPauseMs = 60_000

const tokenParts = {
  /** The access token of the next call. */
  async tokenFor(client) {
    const { parts } = client
    if (client.pair === undefined || parts.needsRenewal(client, client.pair)) await parts.renewOnce(client)
    parts.checkGranted(client, client.pair)
    client.pair.isSent = true
    return client.pair.accessToken
  },

  /** A pair is used before it is renewed, whatever the clocks say. */
  needsRenewal: (client, pair) => pair.isRefused || (pair.isSent && client.parts.isDue(client, pair)),

  isDue(client, { expiryMs, receivedAtMs }) {
    const marginMs = Math.min(longestMarginMs, Math.max(0, expiryMs - receivedAtMs) / 10)
    return client.parts.now(client) >= expiryMs - marginMs
  },

  /** All workers wait for the same renewal. */
  renewOnce(client) {
    client.renewal ??= client.parts.renew(client).finally(() => {
      client.renewal = undefined
    })
    return client.renewal
  },

  async renew(client) {
    const { parts, pair } = client
    if (pair?.isRefused && parts.now(client) < pair.expiryMs) parts.countRefusal(client)
    const refreshed = pair && (await parts.refresh(client, pair))
    if (refreshed === undefined) parts.dropPair(client)
    parts.keepPair(client, refreshed ?? (await parts.grant(client)))
  },

  /** Counts renewals of tokens that were refused in the middle of their life; throws when they make no difference. */
  countRefusal(client) {
    if (Date.now() - client.lastRenewalMs > renewalPauseMs) client.renewalsAfterRefusal = 0
    if (client.renewalsAfterRefusal >= renewalsWorthTrying) throw new Error('Calls are refused with new tokens too')
    client.renewalsAfterRefusal += 1
    client.lastRenewalMs = Date.now()
  },

  dropPair: (client) => {
    client.pair = undefined
  },
  keepPair: (client, pair) => {
    client.pair = pair
  },

  /** Returns the new pair; undefined when the refresh token is refused, or its answer was lost twice: the token is spent then. */
  async refresh(client, { refreshToken }) {
    for (let tries = 1; tries <= 2; tries += 1) {
      const outcome = await askOnce(client, refreshToken)
      if (outcome.kind === 'accepted') return outcome.pair
      if (outcome.kind === 'refused') return undefined
    }
    return undefined
  },

  async grant(client) {
    const { parts } = client
    for (let tries = 1; ; tries += 1) {
      const outcome = await parts.askForPair(client, 'grant', parts.grantParams(client))
      if (outcome.kind === 'accepted') return outcome.pair
      if (outcome.kind === 'refused' || tries === 2) throw new Error(`No token: ${outcome.reason}`)
    }
  },

  grantParams: (client) => ({
    grantType: 'api_key_credentials',
    apiKeyId: client.env.SVC_KEY_ID,
    apiKeySecret: client.env.SVC_KEY_SECRET,
    scope: client.parts.scopeAsked(client),
  }),
  refreshParams: (_client, refreshToken) => ({ grantType: 'refresh_token', refreshToken }),
  scopeAsked: (client) => client.scope,

  /** Calls `manager/auth` and waits out what throttles it. */
  async askForPair(client, purpose, params) {
    const { parts } = client
    for (let tries = 1; ; tries += 1) {
      const outcome = await parts.attempt(client, { purpose, method: 'manager/auth', params, tries })
      if (outcome.kind === 'throttled' && tries < 4) continue
      if (outcome.kind === 'throttled') throw new Error(`No token: ${outcome.reason}`)
      if (outcome.kind !== 'accepted') return outcome
      const pair = parts.readPair(client, outcome.result)
      return pair ? { ...outcome, pair } : { kind: 'broken', reason: 'The answer has no pair of tokens' }
    }
  },

  readPair(client, { accessToken, refreshToken, accessTokenExpiry, scope } = {}) {
    if (typeof accessToken !== 'string' || typeof refreshToken !== 'string') return undefined
    const times = { expiryMs: Number(accessTokenExpiry), receivedAtMs: client.parts.now(client) }
    return { accessToken, refreshToken, ...times, scope, isSent: false, isRefused: false }
  },

  /** Throws when the server granted less than the calls need. */
  checkGranted(client, { scope }) {
    if (!Array.isArray(scope)) return
    const granted = new Set(scope.map((entry) => String(entry).toLowerCase()))
    const missing = client.scope.filter((entry) => !isRestriction(entry) && !granted.has(entry.toLowerCase()))
    if (missing.length > 0) throw new Error(`The scope ${missing.join(', ')} was not granted`)
  },

  noteAccepted(client) {
    client.renewalsAfterRefusal = 0
  },
  /** A late refusal of an older token says nothing about the newer one. */
  noteRefused(client, token) {
    if (token !== undefined && client.pair?.accessToken === token) client.pair.isRefused = true
  },
}

/** Asks for a refresh once; the client handles the outcome. */
export const askOnce = (client, refreshToken) =>
  client.parts.askForPair(client, 'refresh', client.parts.refreshParams(client, refreshToken))

/** Whether a token is past the middle of its life. */
export const isPastHalfLife = (client, { expiryMs, receivedAtMs }) =>
  client.parts.now(client) >= receivedAtMs + Math.max(0, expiryMs - receivedAtMs) / 2

/** These entries restrict a token, and servers need not repeat them in the granted scope. */
const isRestriction = (entry) => /^(session|ipAddr|expiresIn):/.test(entry)

/**
 * The core of the test clients: a small, right client of the service, made of parts. Each client of the catalogue replaces a few parts.
 * Written from spec/interface.md and the contract of `svc-conformance client`; it shares no code with the suite or the server.
 */

/** Decides how a call goes on after an answer; at most three further attempts. */
const callParts = {
  /** Only a call without an effect may be sent again when its answer is lost (RFC 9110 §9.2.2). */
  isSafe: (method) => /\/(list|get)/.test(method),

  triesAgain(client, { outcome, tries, refusals, method }) {
    if (tries > 3) return false
    if (outcome.kind === 'throttled') return true
    if (outcome.kind === 'broken') return client.parts.isSafe(method)
    if (refusals > 1) return false
    return client.auth === 'token' || outcome.learntSkew
  },

  paramsOf: (method) => (method === 'manager/createApiKey' ? { name: 'test client', scope: ['solution'] } : {}),

  print: (line) => process.stdout.write(`${line}\n`),
  complain: (line) => process.stderr.write(`${line}\n`),

  /** What happens before the first call, and after the last one. */
  start: async () => undefined,
  end: async () => undefined,
  runCalls,
}

export const defaultParts = {
  ...callParts,
  ...requestParts,
  ...signatureParts,
  ...clockParts,
  ...answerParts,
  ...tokenParts,
}

/**
 * Makes rows of the catalogue: clients with these ways to authorize and, if they are broken, the check that they do not pass. `partsOf` makes
 * the replaced parts of what the row gives.
 */
export const clientOf =
  (auth, check, partsOf = (parts) => parts) =>
  (id, about, given) => ({ id, auth, check, about, parts: partsOf(given) })

/** The only part that is replaced. */
export const part = (name) => (value) => ({ [name]: value })

/** @param env the environment that the contract names (`SVC_URL`, …) */
export function createClient(env, parts = {}) {
  const url = new URL(env.SVC_URL)
  return {
    env,
    parts: { ...defaultParts, ...parts },
    url,
    basePath: url.pathname.replace(/\/$/, ''),
    auth: env.SVC_AUTH ?? 'hmac',
    scope: (env.SVC_SCOPE ?? '').split(',').filter((entry) => entry !== ''),
    agent: new Agent({ keepAlive: true }),
    lastId: 0,
    /** Until when a Retry-After asks for silence, in ms of the local clock. */
    silentUntil: 0,
    clock: { lowest: -Infinity, highest: Infinity, offsetMs: 0 },
    pair: undefined,
    renewal: undefined,
    renewalsAfterRefusal: 0,
    lastRenewalMs: 0,
    /** Scratch space of a replaced part. */
    memory: {},
  }
}

/** Makes one call; throws an error that says why it failed. */
export async function call(client, method) {
  const { parts } = client
  /** Scratch space that all tries of this call share. */
  const kept = {}
  let refusals = 0
  for (let tries = 1; ; tries += 1) {
    const token = client.auth === 'token' ? await parts.tokenFor(client) : undefined
    const request = { purpose: 'call', method, params: parts.paramsOf(method), token, tries, kept }
    const outcome = await parts.attempt(client, request)
    if (outcome.kind === 'accepted') {
      parts.noteAccepted(client, token)
      return outcome.result
    }
    if (outcome.kind === 'refused') {
      refusals += 1
      parts.noteRefused(client, token)
    }
    if (!parts.triesAgain(client, { outcome, tries, refusals, method })) throw new Error(outcome.reason)
  }
}

/** Makes the calls that the environment asks for, and prints a line for each. */
async function runCalls(client) {
  const { env, parts } = client
  const method = env.SVC_METHOD || 'solution/listSolutions'
  const pauseMs = Number(env.SVC_PAUSE_MS || 0)
  let left = Number(env.SVC_CALLS || 1)
  const work = async () => {
    while (left > 0) {
      left -= 1
      try {
        await call(client, method)
        parts.print('ok')
      } catch (error) {
        if (error.isDefect) throw error
        parts.complain(error.message)
        parts.print('error')
      }
      if (left > 0) await sleep(pauseMs)
    }
  }
  await Promise.all(Array.from({ length: Number(env.SVC_PARALLEL || 1) }, work))
}

/** Runs a client of the catalogue from its start to its end. */
export async function runClient(env, parts) {
  const client = createClient(env, parts)
  await client.parts.start(client)
  await client.parts.runCalls(client)
  await client.parts.end(client)
  client.agent.destroy()
}
