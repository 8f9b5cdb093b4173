/** Makes calls directly after refused ones: a refusal changes nothing for the next call, right or wrong. */

import { basic, changed, create, grant, hmac, list, none, refresh, token } from './calls.ts'
import { expectRefused } from './expect-calls.ts'
import { freshName, pairOf } from './keyring.ts'
import type { CallStep, Change } from './step.ts'
import type { Caller } from './table.ts'

/**
 * Lets a call follow a refusal for each reason there is.
 *
 * @param every every call follows every refusal; otherwise each refusal is followed by one right and one wrong call
 */
export async function afterRefusals(caller: Caller, who: string, every: boolean): Promise<void> {
  const { x } = caller
  x.script = 'after-refusals'
  const reasons = refusals(caller, who, 'pair').length
  const [rights, wrongs] = [rightCalls(caller, who, 'pair').length, wrongCalls(caller, who, 'pair').length]
  for (let reason = 0; reason < reasons; reason++)
    for (let turn = 0; turn < (every ? Math.max(rights, wrongs) : 1); turn++) {
      await follow(caller, who, reason, (pair) => rightCalls(caller, who, pair)[(turn + reason) % rights])
      await follow(caller, who, reason, (pair) => wrongCalls(caller, who, pair)[(turn + reason) % wrongs])
    }
}

/** Makes one refused call and one after it, both with a pair that is valid. */
async function follow(
  caller: Caller,
  who: string,
  reason: number,
  next: (pair: string) => CallStep | undefined,
): Promise<void> {
  const { x, keyring, pairs } = caller
  const pair = keyring.grants ? ((await pairOf(x, pairs, { who, scope: ['solution'] })) ?? '') : ''
  const refused = refusals(caller, who, pair)[reason]
  const after = next(pair)
  if (refused === undefined || after === undefined) return
  // An accepted creation would take a place.
  if (refused.method === 'manager/createApiKey') await expectRefused(x, refused)
  else await x.call(refused)
  await x.call(after)
}

const wrongSecret: Change = { field: 'param apiKeySecret', operation: 'inside-changed' }
const wrongToken: Change = { field: 'token', operation: 'inside-changed' }

/** A call for every reason to refuse one. */
function refusals({ x, keyring: { grants, keys } }: Caller, who: string, pair: string): CallStep[] {
  const right = grant(who, ['solution'])
  const creation = create(basic(who), { name: 'refused-$unique', scope: ['solution'] })
  const ofGrants = [
    changed(right, wrongSecret),
    changed(right, { field: 'param scope', remove: true }),
    changed(right, { field: 'param scope', value: 'solution' }),
    grant(who, ['no-such-scope']),
    grant(who, ['solution', 'expiresIn:-1']),
    changed(right, { field: 'param grantType', value: 'password' }),
    changed(refresh(pair), { field: 'param refreshToken', operation: 'inside-changed' }),
    // With one param too many, refused or not.
    { ...refresh(pair, { as: freshName(x) }), params: { ...refresh(pair).params, scope: ['context'] } },
    changed(refresh(pair), { field: 'param grantType', value: 'refresh' }),
    changed(list(token(pair)), wrongToken),
    { ...list(token(pair)), method: 'solution/noSuchMethod' },
  ]
  const ofCreations = [
    changed(creation, { field: 'param scope', remove: true }),
    changed(creation, { field: 'param name', remove: true }),
  ]
  return [
    list(none),
    changed(list(basic(who)), { field: 'basic-secret', operation: 'inside-changed' }),
    changed(list(hmac(who)), { field: 'signature-bytes', operation: 'middle-bit-flipped' }),
    { ...list(basic(who)), method: 'manager/noSuchMethod' },
    { ...list(hmac(who)), method: 'solution/noSuchMethod' },
    changed(list(basic(who)), { field: 'body', operation: 'brace-missing' }),
    ...(grants ? ofGrants : []),
    ...(keys ? ofCreations : []),
  ]
}

function rightCalls({ x, keyring: { grants } }: Caller, who: string, pair: string): CallStep[] {
  const ofGrants = [list(token(pair)), grant(who, ['solution']), refresh(pair, { as: freshName(x) })]
  return [list(basic(who)), list(hmac(who)), ...(grants ? ofGrants : [])]
}

function wrongCalls({ keyring: { grants } }: Caller, who: string, pair: string): CallStep[] {
  const ofGrants = [changed(list(token(pair)), wrongToken), changed(grant(who, ['solution']), wrongSecret)]
  return [
    list(none),
    changed(list(basic(who)), { field: 'basic-secret', operation: 'inside-changed' }),
    changed(list(hmac(who)), { field: 'signature-bytes', operation: 'middle-bit-flipped' }),
    ...(grants ? ofGrants : []),
  ]
}
