import { type Called, isSendable, makeCall } from '../engine/case/call.ts'
import type { Client } from '../engine/case/client.ts'
import type { CredentialKind, TargetFacts } from '../engine/case/target-facts.ts'
import { createKeyOf } from '../engine/case/test-keys.ts'
import { SuiteError } from '../engine/errors.ts'
import type { Auth, SafetyClass } from '../engine/fixture/model.ts'
import { describe } from '../engine/judge/classify.ts'
import type { SecondAddressProblem } from '../engine/judge/problem.ts'

const listSolutions = 'solution/listSolutions'
/** Junk that no server knows. */
const junk = { id: 'svc-conformance-junk', secret: 'svc-conformance-junk-secret' }
const junkSeed = '\u0007'.repeat(32)
/** Between two looks at a target that is still starting. */
const patienceMs = 250

/**
 * The first calls of a run: is the target there, does it take the root key, what does its clock say, which token prefix and
 * spelling does it take, and does it take junk.
 *
 * @param allow which lasting effects are allowed: tokens are only taken with `sessions`
 * @param patientMs how long to wait for a target that refuses connections
 * @throws SuiteError (`unreachable`, exit code 3) when nothing connects, or the root key is refused in every way
 */
export async function preflight(client: Client, allow: readonly SafetyClass[], patientMs = 0): Promise<TargetFacts> {
  const { target, stopping } = client.run
  // A target that is still starting gives no answer, and a second address may get none.
  stopping.pause()
  try {
    const first = await firstCall(client, patientMs)
    await measure(client)
    await tryRoot(client, first, allow)
    if (allow.includes('sessions')) await learnTokens(client)
    if (!client.instance.clock.controlled) await measureAccepted(client, allow)
    await tryGates(client, first, allow)
    await learnAddress(client, allow)
    await trySecondAddress(client, allow)
    if (!target.lasting && allow.includes('sessions') && allow.includes('keys')) await learnSpelling(client)
    return client.facts
  } finally {
    stopping.resume()
  }
}

const call = (client: Client, auth: Auth, method = listSolutions, params: unknown = {}): Promise<Called> =>
  makeCall(client, { method, params, auth })

async function firstCall(client: Client, patientMs: number): Promise<Called> {
  const { clock, baseUrl } = client.instance
  const untilMs = clock.now() + patientMs
  for (;;) {
    const first = await call(client, 'none')
    const { answer } = first
    // Shorter times were waited out.
    if (answer.outcome === 'throttled' && first.throttled === 0) throw throttledFromTheStart(client, answer)
    if (answer.outcome !== 'broken' || answer.status !== null) return first
    if (clock.now() >= untilMs || !answer.refusedConnection || client.run.stopping.reason !== null) {
      const patience = answer.refusedConnection ? `; is the server running? ${afterWaiting(patientMs)}` : ''
      throw new SuiteError('unreachable', `Cannot reach ${baseUrl}/api: ${answer.reason}${patience}`, { exitCode: 3 })
    }
    await clock.sleep(patienceMs)
  }
}

function throttledFromTheStart(
  { instance }: Client,
  { status, retryAfterMs = 0 }: { status: number; retryAfterMs?: number },
): SuiteError {
  const seconds = Math.ceil(retryAfterMs / 1000)
  return new SuiteError(
    'unreachable',
    `Cannot use ${instance.baseUrl}: it answers the first call with HTTP ${status} and asks to wait ${seconds} s, longer than this run waits; "--wait ${seconds}" waits so long`,
    { exitCode: 3 },
  )
}

const afterWaiting = (patientMs: number): string =>
  patientMs > 0 ? `It did not come up within ${patientMs / 1000} s` : '--wait SECONDS waits for it to come up'

async function measure(client: Client): Promise<void> {
  for (let sample = 0; sample < 3; sample += 1) await timeCall(client, () => call(client, 'none'))
}

/** A server may refuse in no time and take its time for what it accepts. */
async function measureAccepted(client: Client, allow: readonly SafetyClass[]): Promise<void> {
  await timeCall(client, () => call(client, { key: 'root' }))
  if (allow.includes('sessions') && client.instance.root.kind === 'secret') {
    await timeCall(client, () => grant(client, ['solution']))
  }
}

/** The longest call counts; one that was throttled says nothing about the way. */
async function timeCall({ instance, facts }: Client, makeIt: () => Promise<Called>): Promise<void> {
  const before = instance.clock.now()
  const { throttled } = await makeIt()
  if (throttled === 0) facts.roundTripMs = Math.max(facts.roundTripMs, instance.clock.now() - before)
}

const basicRoot: Auth = { basic: 'root' }

/** With its secret or its private key, in every way that may work: one accepted call is enough to go on. */
async function tryRoot(client: Client, first: Called, allow: readonly SafetyClass[]): Promise<void> {
  const { root } = client.instance
  const ways: [string, Auth][] =
    root.kind === 'secret'
      ? [
          ['Basic credentials', basicRoot],
          ['a signature', { hmac: 'root' }],
        ]
      : [['a signature', { ecc: 'root' }]]
  const seen: string[] = []
  for (const [way, auth] of ways) {
    const { answer } = await call(client, auth)
    if (answer.outcome === 'accepted') {
      if (root.kind === 'secret') client.facts.keyWay = auth === basicRoot ? 'basic' : 'hmac'
      return
    }
    if (answer.outcome === 'unread') throw tooLong(client, answer.limitBytes)
    // Nothing can be accepted here, which is for the cases to say.
    if (answer.outcome === 'refused' && hasResult(answer.json)) return
    seen.push(`${way}: ${describe(answer)}`)
  }
  if (allow.includes('sessions') && root.kind === 'secret') {
    const { answer } = await grant(client, ['solution'])
    if (answer.outcome === 'accepted') return
    seen.push(`a grant: ${describe(answer)}`)
  }
  const { status } = first.answer
  const wrongPath = status === 404 || status === 405 || (status !== null && status >= 300 && status < 400)
  const advice = wrongPath
    ? `HTTP ${status} came back from ${client.instance.baseUrl}/api: is the base URL right?`
    : first.answer.outcome === 'broken'
      ? `what came back from ${client.instance.baseUrl}/api is no JSON-RPC answer: is the base URL right, and is the service well?`
      : 'check the key id, the secret, whether the key has the scope solution, and --scheme if the deployment has a scheme word of its own'
  throw new SuiteError(
    'unreachable',
    `Cannot use ${client.instance.baseUrl}: the API key "${root.id}" was accepted in no way (${seen.join('; ')}); ${advice}`,
    { exitCode: 3 },
  )
}

const hasResult = (json: unknown): boolean =>
  typeof json === 'object' && json !== null && 'result' in json && json.result !== null && json.result !== undefined

function tooLong({ instance }: Client, limitBytes: number): SuiteError {
  return new SuiteError(
    'unreachable',
    `Cannot use ${instance.baseUrl}: its first answer to solution/listSolutions is longer than ${limitBytes} bytes; maxAnswerBytes in the target file allows more`,
    { exitCode: 3 },
  )
}

function grantParams(client: Client, scope: string[]): unknown {
  const { id, secret = '' } = client.testKeys.get('root') ?? { id: '' }
  return { grantType: 'api_key_credentials', apiKeyId: id, apiKeySecret: secret, scope }
}

const grant = (client: Client, scope: string[]): Promise<Called> =>
  call(client, 'none', 'manager/auth', grantParams(client, scope))

/** The access token of a grant, if there is one that can be sent. */
function accessTokenOf({ answer }: Called): string | undefined {
  const result = answer.outcome === 'accepted' ? (answer.result as { accessToken?: unknown } | null) : null
  const token = result?.accessToken
  return typeof token === 'string' && isSendable(token) ? token : undefined
}

/** Which word stands before a token. */
async function learnTokens(client: Client): Promise<void> {
  const { facts, instance } = client
  if (instance.root.kind !== 'secret') return
  const { answer } = await grant(client, ['solution'])
  if (answer.outcome !== 'accepted') return
  const result = answer.result as { [name: string]: unknown } | null
  const { accessToken, tokenType } = result ?? {}
  if (typeof accessToken === 'string' && isSendable(accessToken)) {
    const configured = instance.settings.tokenPrefix
    const words = ['Bearer', ...(typeof tokenType === 'string' ? [tokenType] : []), 'Token', '']
    for (const prefix of configured === undefined ? new Set(words) : [configured]) {
      facts.tokenPrefix = prefix
      const { answer: used } = await call(client, { token: accessToken })
      if (used.outcome === 'accepted') break
      facts.tokenPrefix = configured ?? 'Bearer'
    }
  }
}

/** On a throwaway instance a key costs nothing: which spelling of the scope really opens key creation? */
async function learnSpelling(client: Client): Promise<void> {
  const member = client.run.corpus.testKeys.find(({ key }) => key === 'secret')
  if (member !== undefined) await createKeyOf(client, member, 'token', 'root')
}

/** Every acceptance needs its control: where junk is accepted, an acceptance shows nothing. */
async function tryGates(client: Client, first: Called, allow: readonly SafetyClass[]): Promise<void> {
  const note = (method: string, kind: CredentialKind, { answer }: Called): void => {
    if (answer.outcome === 'accepted') client.facts.junkTaken.push(`${method} ${kind}`)
  }
  const junkAuths: [CredentialKind, Auth][] = [
    ['basic', { basic: junk as never }],
    ['hmac', { hmac: junk as never }],
    ['ecc', { ecc: { id: junk.id, secret: junkSeed } as never }],
    ['token', { token: 'svc-conformance-junk-token' }],
  ]
  note(listSolutions, 'none', first)
  for (const [kind, auth] of junkAuths) note(listSolutions, kind, await call(client, auth))
  if (allow.includes('keys')) {
    const params = { name: `svc-conformance-junk-${client.run.unique}`, scope: ['solution'] }
    const noAuth: [CredentialKind, Auth][] = [['none', 'none']]
    for (const [kind, auth] of [...noAuth, ...junkAuths]) {
      note('manager/createApiKey', kind, await call(client, auth, 'manager/createApiKey', params))
    }
  }
  if (!allow.includes('sessions')) return
  const credentials = {
    grantType: 'api_key_credentials',
    apiKeyId: junk.id,
    apiKeySecret: junk.secret,
    scope: ['solution'],
  }
  note('manager/auth', 'credentials', await call(client, 'none', 'manager/auth', credentials))
  const refresh = { grantType: 'refresh_token', refreshToken: 'svc-conformance-junk-token' }
  note('manager/auth', 'refresh', await call(client, 'none', 'manager/auth', refresh))
}

/**
 * Our address as the server sees it: as declared, or of the likely ones the first that a token is good for. Before a container the
 * server sees another one than 127.0.0.1.
 */
async function learnAddress(client: Client, allow: readonly SafetyClass[]): Promise<void> {
  const { clientAddress, likelyAddresses = [] } = client.instance.settings
  const canAsk = allow.includes('sessions') && client.instance.root.kind === 'secret'
  const [likeliest] = likelyAddresses
  const known = clientAddress ?? (canAsk ? undefined : likeliest)
  if (known !== undefined) client.facts.clientAddress = known
  for (const address of known === undefined ? likelyAddresses : []) {
    const token = accessTokenOf(await grant(client, ['solution', `ipAddr:${address}`]))
    if (token === undefined) continue
    const { answer: used } = await call(client, { token })
    if (used.outcome !== 'accepted') continue
    client.facts.clientAddress = address
    return
  }
}

/** A second local address counts only if the server hears it and sees it as what it is: behind a proxy all calls come from one. */
async function trySecondAddress(client: Client, allow: readonly SafetyClass[]): Promise<void> {
  const address = client.instance.settings.secondAddress
  if (address === undefined) return
  const stop = await secondAddressProblem(client, address, allow)
  if (stop === undefined) client.facts.secondAddress = address
  else client.facts.secondAddressProblem = stop
}

async function secondAddressProblem(
  client: Client,
  address: string,
  allow: readonly SafetyClass[],
): Promise<SecondAddressProblem | undefined> {
  if (address === client.facts.clientAddress) {
    return { kind: 'same-address', address }
  }
  const fromSecond = (spec: { method: string; params: unknown; auth: Auth }): Promise<Called> =>
    makeCall(client, { ...spec, from: 'second-address' })
  const { answer: heard } = await fromSecond({ method: listSolutions, params: {}, auth: 'none' })
  if (heard.status === null) {
    const reason = heard.outcome === 'broken' ? heard.reason : 'no answer'
    return { kind: 'no-answer', address, reason }
  }
  if (!allow.includes('sessions') || client.instance.root.kind !== 'secret') return undefined
  const worksThere = async (scope: string[]): Promise<boolean> => {
    const granted = await fromSecond({ method: 'manager/auth', params: grantParams(client, scope), auth: 'none' })
    const token = accessTokenOf(granted)
    if (token === undefined) return false
    const { answer } = await fromSecond({ method: listSolutions, params: {}, auth: { token } })
    return answer.outcome === 'accepted'
  }
  if (await worksThere(['solution', `ipAddr:${address}`])) return undefined
  return (await worksThere(['solution']))
    ? { kind: 'seen-as-another', address }
    : { kind: 'no-token-accepted', address }
}
