/**
 * The core of the test clients: a small, right client of the service, made of parts. Each client of the catalogue replaces a few parts.
 * Written from spec/interface.md and the contract of `svc-conformance client`; it shares no code with the suite or the server.
 */
import { Agent } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { answerParts } from './core/answers.mjs'
import { clockParts } from './core/clock.mjs'
import { requestParts } from './core/requests.mjs'
import { signatureParts } from './core/signatures.mjs'
import { tokenParts } from './core/tokens.mjs'

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
