/** Disables and deletes keys with the methods that the user names: nothing that such a key authorizes may be accepted any more. */

import type { Key } from '../engine/model/state.ts'
import type { Json } from '../engine/signer/changed-call.ts'
import type { TargetSettings } from '../engine/target.ts'
import { basic, ecc, grant, hmac, list } from './calls.ts'
import { creation, expectAccepted, expectRefused } from './expect-calls.ts'
import type { Explorer } from './explorer-types.ts'
import { byRoot, isOwnKey, type Keyring } from './keyring.ts'
import type { CallStep } from './step.ts'
import { expectEveryKeyAccepted } from './still-valid.ts'
import type { Caller } from './table.ts'

/** A method of the target that the document does not show; `$id` in its params stands for the id of the key. */
export interface WayToEndKey {
  readonly requirement: NonNullable<Key['ended']>
  readonly method: string
  readonly params: unknown
}

export function waysToEndKeys({ cleanup, probes: { disable } }: TargetSettings): WayToEndKey[] {
  return [
    ...(disable === undefined ? [] : [{ ...disable, requirement: 'keys/can-be-disabled' as const }]),
    ...(cleanup === undefined ? [] : [{ ...cleanup, requirement: 'keys/can-be-deleted' as const }]),
  ]
}

/** What the calls of this part are noted as. */
export const scriptOfEndedKeys = 'ended-keys'

const hoursMs = [61 * 60_000, 26 * 3_600_000]

/** Ends a key of each kind in each way, and tries everything that it authorized; where the clock can be moved, hours and days later too. */
export async function endKeys({ x, keyring }: Caller, ways: readonly WayToEndKey[]): Promise<void> {
  x.script = scriptOfEndedKeys
  if (!keyring.keys) return
  const isOwn = (name: string): boolean => isOwnKey(x, name)
  const secretKeys = keyring.secret.filter(isOwn)
  const eccKeys = [...keyring.ecc, ...keyring.narrowEcc].filter(isOwn)
  const ended: CallStep[] = []
  const end = async (who: string | undefined, way: WayToEndKey, calls: (who: string) => CallStep[]): Promise<void> => {
    if (who !== undefined) ended.push(...(await endKey(x, who, way, calls(who))))
  }
  for (const [at, way] of ways.entries()) {
    // Between two of them there is one that must live on, because a server may end the key behind the right one.
    const chosen = (keys: readonly string[]): string | undefined => keys.at(-1 - 2 * at) ?? keys.at(-1 - at)
    await end(chosen(secretKeys), way, (who) => callsOfSecret(keyring, who))
    await end(chosen(eccKeys), way, callsOfEcc)
  }
  // A place is free now, so that a wrong creation would be accepted.
  for (const step of ended) await expectRefused(x, step)
  // A deletion must not bring a disabled key back.
  const [, deletion] = ways
  for (const who of deletion === undefined ? [] : [secretKeys.at(-1), eccKeys.at(-1)])
    if (who !== undefined && deletion !== undefined) await x.call(endingOf(x, who, deletion))
  for (const step of ended) await expectRefused(x, step)
  await expectEveryKeyAccepted(x, keyring)
  x.script = scriptOfEndedKeys
  for (const ms of x.options.wire.controlled ? hoursMs : []) {
    await x.wait(ms)
    for (const step of ended) await expectRefused(x, step)
  }
}

/** A connection that a key used before it ended. */
const usedBefore = 60

/** @returns the calls that must be refused from now on; none if the key did not work before, or did not end */
async function endKey(
  x: Explorer,
  who: string,
  way: WayToEndKey,
  calls: readonly CallStep[],
): Promise<readonly CallStep[]> {
  const [control] = calls
  if (control === undefined || (await x.call(control))?.answer.kind !== 'accepted') return []
  const ending = endingOf(x, who, way)
  if ((await x.call(ending))?.answer.kind !== 'accepted') return []
  x.endKey(who, way.requirement)
  for (const step of calls) await expectRefused(x, step)
  await expectAccepted(x, list(ending.auth))
  for (const step of calls) await expectRefused(x, { ...step, connection: 'new' })
  return calls
}

/** The call that ends a key. */
export function endingOf(x: Explorer, who: string, { method, params }: WayToEndKey): CallStep {
  return { do: 'call', method, params: paramsFor(params, who), auth: byRoot(x) }
}

function callsOfSecret({ grants }: Keyring, who: string): CallStep[] {
  const ofGrants = [['solution'], ['context', 'session:ended-$unique']].map((scope) => grant(who, scope))
  return [
    list(hmac(who), { connection: usedBefore }),
    list(basic(who), { connection: usedBefore }),
    ...(grants ? ofGrants : []),
    creation(hmac(who)),
    creation(basic(who)),
  ]
}

const callsOfEcc = (who: string): CallStep[] => [list(ecc(who), { connection: usedBefore }), creation(ecc(who))]

const paramsFor = (params: unknown, who: string): CallStep['params'] =>
  JSON.parse(JSON.stringify(params).replaceAll('"$id"', `"$${who}.id"`).replaceAll('"$name"', `"$${who}.name"`)) as {
    [name: string]: Json
  }
