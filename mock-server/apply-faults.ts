import { setTimeout as sleep } from 'node:timers/promises'
import type { ServerContext } from './context.ts'
import { decodeUtf8 } from './encoding.ts'
import type { ArmedFault, FaultSource } from './faults.ts'
import type { MockAnswer, MockRequest } from './http.ts'
import { emptyAnswer, plainAnswer } from './render.ts'

/** Lets `ms` pass: a clock that stands still is moved, otherwise the call really waits. */
export async function letPass({ clock }: ServerContext, ms: number): Promise<void> {
  if (ms === 0) return
  if (clock.frozen) clock.advance(ms)
  else await sleep(ms)
}

/** Answers a call under the faults that meet it; `answer` makes the right answer, with its effects. */
export async function answerUnderFaults(
  context: ServerContext,
  source: FaultSource,
  request: MockRequest,
  answer: (faults: string[] | undefined) => MockAnswer | Promise<MockAnswer>,
  noteUnanswered: (answer: MockAnswer, faults: string[]) => MockAnswer,
): Promise<MockAnswer> {
  const met = source.meet(peek(request.body))
  const names = met.map(({ fault }) => fault)
  for (const fault of met) {
    const instead = await meetBefore(context, source, fault, request)
    if (instead) return noteUnanswered(instead, names)
  }
  const right = await answer(names.some(spoils) ? names : undefined)
  return met.reduce(spoil, right)
}

/** What a fault does before the call has its effect: nothing, a wait, or an answer instead. */
async function meetBefore(
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
    case 'throttle': {
      const answer = plainAnswer(context, 429, 'Too many requests')
      answer.headers['retry-after'] = String(fault.retryAfterSeconds)
      return answer
    }
    case 'error':
      return plainAnswer(context, 500, 'Internal server error')
    default:
      return undefined
  }
}

const spoils = (fault: string) => fault === 'drop' || fault === 'malformed' || fault === 'wrong-id'

function spoil(answer: MockAnswer, fault: ArmedFault): MockAnswer {
  switch (fault.fault) {
    case 'drop':
      return { ...answer, hangUp: true }
    case 'malformed':
      return { ...answer, body: answer.body.slice(0, Math.floor(answer.body.length / 2)) }
    case 'wrong-id':
      return { ...answer, body: withWrongId(answer.body) }
    default:
      return answer
  }
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

/** The method and the grant that a body asks for, as far as it can be read; faults are chosen by them. */
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
