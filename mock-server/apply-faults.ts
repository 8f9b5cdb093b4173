import { setTimeout as sleep } from 'node:timers/promises'
import type { ServerContext } from './context.ts'
import { decodeUtf8 } from './encoding.ts'
import type { ArmedFault, FaultSource } from './faults.ts'
import type { MockAnswer, MockRequest } from './http.ts'
import { refuse } from './refusal.ts'
import { emptyAnswer, plainAnswer, renderOutcome, withHeaders } from './render.ts'

/** Lets `ms` pass: moves a frozen clock, and otherwise really waits. */
export async function letPass({ clock }: ServerContext, ms: number): Promise<void> {
  if (ms === 0) return
  if (clock.frozen) clock.advance(ms)
  else await sleep(ms)
}

interface FaultyAnswering {
  /** Makes the right answer, with its effects. */
  answer: (faults: string[] | undefined) => MockAnswer | Promise<MockAnswer>
  /** Records an answer that a fault gives instead. */
  noteUnanswered: (answer: MockAnswer, faults: string[]) => MockAnswer
}

/** Answers a call under the faults that apply to it. */
export async function answerUnderFaults(
  context: ServerContext,
  source: FaultSource,
  request: MockRequest,
  { answer, noteUnanswered }: FaultyAnswering,
): Promise<MockAnswer> {
  const met = source.meet(peek(request.body))
  const names = met.map(({ fault }) => fault)
  for (const fault of met) {
    const instead = await applyBefore(context, source, fault, request)
    if (instead) return noteFaults(noteUnanswered(instead, names), names)
  }
  const right = await answer(names.some(spoils) ? names : undefined)
  return noteFaults(
    met.reduce((whole, fault) => spoil(context, whole, fault), right),
    names,
  )
}

function noteFaults(answer: MockAnswer, faults: string[]): MockAnswer {
  if (faults.length > 0) answer.notes = { ...answer.notes, faults }
  return answer
}

/** Applies a fault before the call has its effect: it does nothing, waits, or gives an answer instead. */
async function applyBefore(
  context: ServerContext,
  source: FaultSource,
  fault: ArmedFault,
  request: MockRequest,
): Promise<MockAnswer | undefined> {
  switch (fault.fault) {
    case 'delay':
      await letPass(context, fault.ms)
      return undefined
    case 'barrier':
      await source.waitAt(fault)
      return undefined
    case 'expire-token':
      expirePresented(context, request)
      return undefined
    case 'drop':
      return fault.when === 'before' ? { ...emptyAnswer(context, 0), hangUp: true } : undefined
    case 'throttle':
      return withHeaders(plainAnswer(context, 429, 'Too many requests'), retryAfter(fault))
    case 'unavailable':
      return withHeaders(plainAnswer(context, 503, 'Service unavailable'), retryAfter(fault))
    case 'redirect':
      return withHeaders(emptyAnswer(context, fault.status), { location: fault.location })
    case 'refuse':
      return refused(context, fault, request)
    case 'error':
      return plainAnswer(context, 500, 'Internal server error')
    default:
      return undefined
  }
}

const retryAfter = ({ retryAfterSeconds }: { retryAfterSeconds: number }) => ({
  'retry-after': String(retryAfterSeconds),
})

function refused(context: ServerContext, { as }: Extract<ArmedFault, { fault: 'refuse' }>, { body }: MockRequest) {
  const { method, grantType } = peek(body)
  return renderOutcome(context, {
    id: readObject(decodeUtf8(body) ?? '')?.id,
    method,
    params: undefined,
    caller: undefined,
    outcome: refuse(as ?? (grantType === 'refresh_token' ? 'token' : 'unauthorized'), 'fault/refuse'),
    silent: false,
  })
}

const spoils = (fault: string) => fault === 'drop' || fault === 'malformed' || fault === 'wrong-id'

function spoil(context: ServerContext, answer: MockAnswer, fault: ArmedFault): MockAnswer {
  const notes = { unspoilt: answer.body, ...answer.notes }
  switch (fault.fault) {
    case 'drop':
      return { ...answer, notes, hangUp: true }
    case 'malformed':
      return { ...answer, notes, body: answer.body.slice(0, Math.floor(answer.body.length / 2)) }
    case 'wrong-id':
      return { ...answer, notes, body: withWrongId(answer.body) }
    case 'narrow-grant':
    case 'shorten-lifetime':
      return { ...answer, body: withLesserGrant(context, answer.body, fault) }
    default:
      return answer
  }
}

/** Grants less than requested, both in the server's state and in the answer. */
function withLesserGrant({ state, now }: ServerContext, body: string, fault: ArmedFault): string {
  const parsed = readObject(body)
  const result = typeof parsed?.result === 'object' && parsed.result !== null ? { ...parsed.result } : {}
  const pair = 'accessToken' in result ? state.tokens.get(String(result.accessToken))?.pair : undefined
  if (!pair) return body
  if (fault.fault === 'narrow-grant') {
    pair.scope = pair.scope.filter((word) => fault.scope.includes(word))
    pair.scopeEcho = pair.scopeEcho.filter((word) => fault.scope.includes(word))
    Object.assign(result, { scope: pair.scopeEcho })
  }
  if (fault.fault === 'shorten-lifetime') {
    pair.accessExpiryMs = Math.min(pair.accessExpiryMs, now() + fault.ms)
    Object.assign(result, { accessTokenExpiry: pair.accessExpiryMs })
  }
  return JSON.stringify({ ...parsed, result })
}

function withWrongId(body: string): string {
  const parsed = readObject(body)
  return parsed ? JSON.stringify({ ...parsed, id: typeof parsed.id === 'number' ? parsed.id + 1 : 0 }) : body
}

function expirePresented({ state, now }: ServerContext, { headers }: MockRequest): void {
  const text = headers.authorization?.split(' ').pop() ?? ''
  const token = state.tokens.get(text)
  if (token?.kind === 'access') token.pair.accessExpiryMs = Math.min(token.pair.accessExpiryMs, now())
}

/** The method and the grant type of a body, if they can be read; they select the faults. */
function peek(bytes: Buffer): { method: string | undefined; grantType: string | undefined } {
  const body = readObject(decodeUtf8(bytes) ?? '')
  const params = body?.params
  const grantType =
    typeof params === 'object' && params !== null && 'grantType' in params ? params.grantType : undefined
  return {
    method: typeof body?.method === 'string' ? body.method : undefined,
    grantType: typeof grantType === 'string' ? grantType : undefined,
  }
}

function readObject(text: string): { [member: string]: unknown } | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null ? { ...value } : undefined
  } catch {
    return undefined
  }
}
