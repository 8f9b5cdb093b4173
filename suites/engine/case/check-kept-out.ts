/**
 * After a broken answer to a call that must be refused: was the caller kept out? A control right after it shows that the server still
 * answers, and where the call would have had an effect, that effect must be absent.
 */

import type { CallStep, SendStep } from '../fixture/fixture-types.ts'
import { type JsonObject, membersOf, parseJson } from '../json.ts'
import type { Called } from '../judge/called.ts'
import { summarizeAnswer } from '../judge/classify.ts'
import type { KeptOut } from '../judge/kept-out.ts'
import type { Effect } from '../judge/problem.ts'
import { makeCall } from './call.ts'
import type { Client } from './client.ts'
import { isSendable } from './credential-of.ts'
import { noteSilence } from './patience.ts'

/** Whether a step is satisfied if its calls are kept out. */
export function mayBeRefused({ expect, tally }: CallStep | SendStep): boolean {
  return tally !== undefined || expect === 'refused' || (typeof expect === 'object' && 'refused-or' in expect)
}

/** Finds out for every broken answer whether the caller was kept out. One control is enough for calls that were made at once. */
export async function checkKeptOut(client: Client, calls: Called[]): Promise<void> {
  const broken = calls.filter(({ answer }) => answer.outcome === 'broken')
  const [first] = broken
  if (first === undefined || client.run.stopping.reason !== null) return
  for (const called of broken) noteSilence(client, called.wire)
  const { answer } = await plainCall(client)
  for (const called of broken) {
    called.keptOut =
      answer.outcome === 'accepted'
        ? await checkEffect(client, called)
        : { kind: 'control-failed', control: summarizeAnswer(answer) }
  }
}

/** An ordinary call of the root key, on a new connection. */
function plainCall(client: Client): Promise<Called> {
  return makeCall(client, {
    method: 'solution/listSolutions',
    params: {},
    auth: { key: 'root' },
    freshConnection: true,
  })
}

async function checkEffect(client: Client, called: Called): Promise<KeptOut> {
  const effect = effectOf(called)
  if (effect === undefined) return { kind: 'yes' }
  // The content of a lost answer is unknown, and so is the part of a long one that was not kept.
  if (called.wire.kind !== 'answer' || called.wire.cut !== undefined) return { kind: 'effect-unknown', effect }
  const result = resultIn(called.wire.body)
  const isShown = effect === 'token' ? await tokenWorks(client, result) : await keyWorks(client, result)
  if (isShown === undefined) return { kind: 'effect-unknown', effect }
  return isShown ? { kind: 'effect-shown', effect } : { kind: 'yes' }
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
async function tokenWorks(client: Client, { accessToken }: JsonObject): Promise<boolean> {
  if (typeof accessToken !== 'string' || !isSendable(accessToken)) return false
  client.redactor.add(accessToken)
  const call = { method: 'solution/listSolutions', params: {}, auth: { token: accessToken }, freshConnection: true }
  return (await makeCall(client, call)).answer.outcome === 'accepted'
}

/** An answer without a key proves nothing: the key may exist and take one of the ten places. */
async function keyWorks(client: Client, { id, secret }: JsonObject): Promise<boolean | undefined> {
  if (typeof id !== 'string' || typeof secret !== 'string' || !isSendable(id)) return undefined
  client.redactor.add(secret)
  const call = {
    method: 'solution/listSolutions',
    params: {},
    auth: { key: { id, secret } as never },
    freshConnection: true,
  }
  const works = (await makeCall(client, call)).answer.outcome === 'accepted'
  // A key that works must be removed after the run, and may take a place.
  if (works) client.createdKeys.created({ id, name: '(in a broken answer)', secret })
  return works
}
