/**
 * A broken answer does not show whether the call was refused. A control right after it shows that the server still answers; where the call
 * would have had an effect, that effect must be absent.
 */

import { type JsonObject, membersOf, parseJson } from '../json.ts'
import type { Called } from '../judge/called.ts'
import { summarizeAnswer } from '../judge/classify.ts'
import type { Confirmation } from '../judge/confirmation.ts'
import type { Effect } from '../judge/problem.ts'
import type { CallStep, SendStep } from '../language/fixture-types.ts'
import { makeCall } from './call.ts'
import type { Caller } from './caller.ts'
import { isSendable } from './credential-of.ts'
import { noteSilence } from './patience.ts'

/** Whether a refusal may satisfy the step. */
export function mayBeRefused({ expect, tally }: CallStep | SendStep): boolean {
  return tally !== undefined || expect === 'refused' || (typeof expect === 'object' && 'refused-or' in expect)
}

/** Finds out for every broken answer whether the call was refused in effect. One control is enough for calls that were made at once. */
export async function confirmRefusals(caller: Caller, calls: Called[]): Promise<void> {
  const broken = calls.filter(({ answer }) => answer.outcome === 'broken')
  const [first] = broken
  if (first === undefined || caller.run.stopping.reason !== null) return
  for (const called of broken) noteSilence(caller, called.wire)
  const { answer } = await plainCall(caller)
  for (const called of broken) {
    called.confirmation =
      answer.outcome === 'accepted'
        ? await checkEffect(caller, called)
        : { kind: 'control-failed', control: summarizeAnswer(answer) }
  }
}

/** An ordinary call of the root key, on a new connection. */
function plainCall(caller: Caller): Promise<Called> {
  return makeCall(caller, {
    method: 'solution/listSolutions',
    params: {},
    auth: { key: 'root' },
    freshConnection: true,
  })
}

async function checkEffect(caller: Caller, called: Called): Promise<Confirmation> {
  const effect = effectOf(called)
  if (effect === undefined) return { kind: 'confirmed' }
  // The content of a lost answer is unknown, and so is the part of a long one that was not kept.
  if (called.wire.kind !== 'answer' || called.wire.cut !== undefined) return { kind: 'effect-unknown', effect }
  const result = resultIn(called.wire.body)
  const isShown = effect === 'token' ? await tokenWorks(caller, result) : await keyWorks(caller, result)
  if (isShown === undefined) return { kind: 'effect-unknown', effect }
  return isShown ? { kind: 'effect-shown', effect } : { kind: 'confirmed' }
}

/** Decided by the method in the sent request, because raw requests carry one too. */
function effectOf({ request }: Called): Effect | undefined {
  const text = new TextDecoder().decode(request.body)
  if (text.includes('manager/createApiKey')) return 'key'
  return text.includes('manager/auth') ? 'token' : undefined
}

function resultIn(body: Uint8Array): JsonObject {
  return membersOf(membersOf(parseJson(new TextDecoder().decode(body))).result)
}

/** An answer without a token gives the caller nothing. */
async function tokenWorks(caller: Caller, { accessToken }: JsonObject): Promise<boolean> {
  if (typeof accessToken !== 'string' || !isSendable(accessToken)) return false
  caller.redactor.add(accessToken)
  const call = { method: 'solution/listSolutions', params: {}, auth: { token: accessToken }, freshConnection: true }
  return (await makeCall(caller, call)).answer.outcome === 'accepted'
}

/** An answer without a key proves nothing: the key may exist and take one of the ten places. */
async function keyWorks(caller: Caller, { id, secret }: JsonObject): Promise<boolean | undefined> {
  if (typeof id !== 'string' || typeof secret !== 'string' || !isSendable(id)) return undefined
  caller.redactor.add(secret)
  const call = {
    method: 'solution/listSolutions',
    params: {},
    auth: { key: { id, secret } as never },
    freshConnection: true,
  }
  const works = (await makeCall(caller, call)).answer.outcome === 'accepted'
  // A key that works must be removed after the run, and may take a place.
  if (works) caller.createdKeys.created({ id, name: '(in a broken answer)', secret })
  return works
}
