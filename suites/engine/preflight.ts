import { createMember } from './cast.ts'
import { SuiteError } from './errors.ts'
import type { Auth, SafetyClass } from './fixture/model.ts'
import { describe } from './judge/classify.ts'
import type { GateKind } from './knowledge.ts'
import { leaveSeat, type Run, type Seat, secretRoot, takeSeat } from './seat.ts'
import { type Called, isSendable, makeCall } from './steps/call.ts'

const listSolutions = 'solution/listSolutions'
/** Junk that no server knows. */
const junk = { id: 'svc-conformance-junk', secret: 'svc-conformance-junk-secret' }
const junkSeed = '\u0007'.repeat(32)
/** Between two looks at a target that is still starting. */
const patienceMs = 250

/**
 * The first calls of a run: is the target there, does it take the root key, what does its clock say, which token prefix and
 * spelling does it take, and does it take junk. Fills `run.knowledge`.
 *
 * @param allow which lasting effects are allowed: tokens are only taken with `sessions`
 * @param patientMs how long to wait for a target that refuses connections
 * @throws SuiteError (`unreachable`, exit code 3) when nothing connects, or the root key is refused in every way
 */
export async function preflight(run: Run, allow: readonly SafetyClass[], patientMs = 0): Promise<void> {
  const seat = await takeSeat(run)
  try {
    const first = await firstCall(seat, patientMs)
    await measure(seat)
    await tryRoot(seat, first, allow)
    if (allow.includes('sessions')) await learnTokens(seat)
    if (!seat.instance.clock.controlled) await measureAccepted(seat, allow)
    await tryGates(seat, first, allow)
    await learnAddress(seat, allow)
    await trySecondAddress(seat, allow)
    if (!run.target.lasting && allow.includes('sessions') && allow.includes('keys')) await learnSpelling(seat)
    run.knowledge = seat.knowledge
  } finally {
    await leaveSeat(seat)
  }
}

const call = (seat: Seat, auth: Auth, method = listSolutions, params: unknown = {}): Promise<Called> =>
  makeCall(seat, { method, params, auth })

async function firstCall(seat: Seat, patientMs: number): Promise<Called> {
  const { clock, baseUrl } = seat.instance
  const untilMs = clock.now() + patientMs
  for (;;) {
    const first = await call(seat, 'none')
    const { answer } = first
    if (answer.outcome !== 'broken' || answer.status !== null) return first
    if (clock.now() >= untilMs || !answer.refusedConnection || seat.run.timeIsUp()) {
      const patience = answer.refusedConnection ? `; is the server running? ${afterWaiting(patientMs)}` : ''
      throw new SuiteError('unreachable', `Cannot reach ${baseUrl}/api: ${answer.reason}${patience}`, { exitCode: 3 })
    }
    seat.run.stopped = null
    seat.run.refusedConnections = 0
    seat.run.unanswered = 0
    await clock.sleep(patienceMs)
  }
}

const afterWaiting = (patientMs: number): string =>
  patientMs > 0 ? `It did not come up within ${patientMs / 1000} s` : '--wait SECONDS waits for it to come up'

async function measure(seat: Seat): Promise<void> {
  for (let sample = 0; sample < 3; sample += 1) await timeCall(seat, () => call(seat, 'none'))
}

/** A server may refuse in no time and take its time for what it accepts. */
async function measureAccepted(seat: Seat, allow: readonly SafetyClass[]): Promise<void> {
  await timeCall(seat, () => call(seat, { key: 'root' }))
  if (allow.includes('sessions') && seat.instance.root.kind === 'secret') {
    await timeCall(seat, () => grant(seat, ['solution']))
  }
}

/** The longest call counts; one that was throttled says nothing about the way. */
async function timeCall({ instance, knowledge }: Seat, makeIt: () => Promise<Called>): Promise<void> {
  const before = instance.clock.now()
  const { throttled } = await makeIt()
  if (throttled === 0) knowledge.roundTripMs = Math.max(knowledge.roundTripMs, instance.clock.now() - before)
}

const basicRoot: Auth = { basic: 'root' }

/** With its secret or its private key, in every way that may work: one accepted call is enough to go on. */
async function tryRoot(seat: Seat, first: Called, allow: readonly SafetyClass[]): Promise<void> {
  const { root } = seat.instance
  const ways: [string, Auth][] =
    root.kind === 'secret'
      ? [
          ['Basic credentials', basicRoot],
          ['a signature', { hmac: 'root' }],
        ]
      : [['a signature', { ecc: 'root' }]]
  const seen: string[] = []
  for (const [way, auth] of ways) {
    const { answer } = await call(seat, auth)
    if (answer.outcome === 'accepted') {
      if (root.kind === 'secret') seat.knowledge.keyWay = auth === basicRoot ? 'basic' : 'hmac'
      return
    }
    seen.push(`${way}: ${describe(answer)}`)
  }
  if (allow.includes('sessions') && root.kind === 'secret') {
    const { answer } = await grant(seat, ['solution'])
    if (answer.outcome === 'accepted') return
    seen.push(`a grant: ${describe(answer)}`)
  }
  const { status } = first.answer
  const wrongPath = status === 404 || status === 405 || (status !== null && status >= 300 && status < 400)
  const advice = wrongPath
    ? `HTTP ${status} came back from ${seat.instance.baseUrl}/api: is the base URL right?`
    : first.answer.outcome === 'broken'
      ? `what came back from ${seat.instance.baseUrl}/api is no JSON-RPC answer: is the base URL right, and is the service well?`
      : 'check the key id, the secret, whether the key has the scope solution, and --scheme if the deployment has a scheme word of its own'
  throw new SuiteError(
    'unreachable',
    `Cannot use ${seat.instance.baseUrl}: the API key "${root.id}" was accepted in no way (${seen.join('; ')}); ${advice}`,
    { exitCode: 3 },
  )
}

function grantParams(seat: Seat, scope: string[]): unknown {
  const { id, secret = '' } = seat.cast.get('root') ?? { id: '' }
  return { grantType: 'api_key_credentials', apiKeyId: id, apiKeySecret: secret, scope }
}

const grant = (seat: Seat, scope: string[]): Promise<Called> =>
  call(seat, 'none', 'manager/auth', grantParams(seat, scope))

/** The access token of a grant, if there is one that can be sent. */
function accessTokenOf({ answer }: Called): string | undefined {
  const result = answer.outcome === 'accepted' ? (answer.result as { accessToken?: unknown } | null) : null
  const token = result?.accessToken
  return typeof token === 'string' && isSendable(token) ? token : undefined
}

/** Which word stands before a token. */
async function learnTokens(seat: Seat): Promise<void> {
  const { knowledge, instance } = seat
  if (secretRoot(instance.root) !== 'root') return
  const { answer } = await grant(seat, ['solution'])
  if (answer.outcome !== 'accepted') return
  const result = answer.result as { [name: string]: unknown } | null
  const { accessToken, tokenType } = result ?? {}
  if (typeof accessToken === 'string' && isSendable(accessToken)) {
    const configured = instance.settings.tokenPrefix
    const words = ['Bearer', ...(typeof tokenType === 'string' ? [tokenType] : []), 'Token', '']
    for (const prefix of configured === undefined ? new Set(words) : [configured]) {
      knowledge.tokenPrefix = prefix
      const { answer: used } = await call(seat, { token: accessToken })
      if (used.outcome === 'accepted') break
      knowledge.tokenPrefix = configured ?? 'Bearer'
    }
  }
}

/** On a throwaway instance a key costs nothing: which spelling of the scope really opens key creation? */
async function learnSpelling(seat: Seat): Promise<void> {
  const member = seat.run.corpus.cast.find(({ key }) => key === 'secret')
  if (member !== undefined) await createMember(seat, member, 'token', 'root')
}

/** Every acceptance needs its control: where junk is accepted, an acceptance shows nothing. */
async function tryGates(seat: Seat, first: Called, allow: readonly SafetyClass[]): Promise<void> {
  const note = (method: string, kind: GateKind, { answer }: Called): void => {
    if (answer.outcome === 'accepted') seat.knowledge.openGates.push(`${method} ${kind}`)
  }
  const junkAuths: [GateKind, Auth][] = [
    ['basic', { basic: junk as never }],
    ['hmac', { hmac: junk as never }],
    ['ecc', { ecc: { id: junk.id, secret: junkSeed } as never }],
    ['token', { token: 'svc-conformance-junk-token' }],
  ]
  note(listSolutions, 'none', first)
  for (const [kind, auth] of junkAuths) note(listSolutions, kind, await call(seat, auth))
  if (allow.includes('keys')) {
    const params = { name: `svc-conformance-junk-${seat.run.unique}`, scope: ['solution'] }
    const noAuth: [GateKind, Auth][] = [['none', 'none']]
    for (const [kind, auth] of [...noAuth, ...junkAuths]) {
      note('manager/createApiKey', kind, await call(seat, auth, 'manager/createApiKey', params))
    }
  }
  if (!allow.includes('sessions')) return
  const credentials = {
    grantType: 'api_key_credentials',
    apiKeyId: junk.id,
    apiKeySecret: junk.secret,
    scope: ['solution'],
  }
  note('manager/auth', 'credentials', await call(seat, 'none', 'manager/auth', credentials))
  const refresh = { grantType: 'refresh_token', refreshToken: 'svc-conformance-junk-token' }
  note('manager/auth', 'refresh', await call(seat, 'none', 'manager/auth', refresh))
}

/**
 * Our address as the server sees it: as declared, or of the likely ones the first that a token is good for. Before a container the
 * server sees another one than 127.0.0.1.
 */
async function learnAddress(seat: Seat, allow: readonly SafetyClass[]): Promise<void> {
  const { clientAddress, likelyAddresses = [] } = seat.instance.settings
  const canAsk = allow.includes('sessions') && seat.instance.root.kind === 'secret'
  const [likeliest] = likelyAddresses
  const known = clientAddress ?? (canAsk ? undefined : likeliest)
  if (known !== undefined) seat.knowledge.clientAddress = known
  for (const address of known === undefined ? likelyAddresses : []) {
    const token = accessTokenOf(await grant(seat, ['solution', `ipAddr:${address}`]))
    if (token === undefined) continue
    const { answer: used } = await call(seat, { token })
    if (used.outcome !== 'accepted') continue
    seat.knowledge.clientAddress = address
    return
  }
}

/** A second local address counts only if the server hears it and sees it as what it is: behind a proxy all calls come from one. */
async function trySecondAddress(seat: Seat, allow: readonly SafetyClass[]): Promise<void> {
  const address = seat.instance.settings.secondAddress
  if (address === undefined) return
  const trouble = await secondAddressTrouble(seat, address, allow)
  seat.run.refusedConnections = 0
  seat.run.unanswered = 0
  if (trouble === undefined) seat.knowledge.secondAddress = address
  else seat.knowledge.secondAddressTrouble = trouble
}

async function secondAddressTrouble(
  seat: Seat,
  address: string,
  allow: readonly SafetyClass[],
): Promise<string | undefined> {
  if (address === seat.knowledge.clientAddress) {
    return `${address} is the address that all other calls come from; secondAddress in the target file names another one`
  }
  const fromSecond = (spec: { method: string; params: unknown; auth: Auth }): Promise<Called> =>
    makeCall(seat, { ...spec, from: 'second-address' })
  const { answer: heard } = await fromSecond({ method: listSolutions, params: {}, auth: 'none' })
  if (heard.status === null) {
    const reason = heard.outcome === 'broken' ? heard.reason : 'no answer'
    return `no call from ${address} gets an answer (${reason}); secondAddress in the target file names an address of this machine`
  }
  if (!allow.includes('sessions') || seat.instance.root.kind !== 'secret') return undefined
  const worksThere = async (scope: string[]): Promise<boolean> => {
    const granted = await fromSecond({ method: 'manager/auth', params: grantParams(seat, scope), auth: 'none' })
    const token = accessTokenOf(granted)
    if (token === undefined) return false
    const { answer } = await fromSecond({ method: listSolutions, params: {}, auth: { token } })
    return answer.outcome === 'accepted'
  }
  if (await worksThere(['solution', `ipAddr:${address}`])) return undefined
  return (await worksThere(['solution']))
    ? `the target does not see ${address} as the address of our calls from there: is a proxy in front of it?`
    : `the target takes no token from ${address}: is that address allowed to call it?`
}
