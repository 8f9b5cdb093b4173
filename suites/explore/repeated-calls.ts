/** Repeated calls, wrong or right, on one connection and on new ones. */

import { basic, changed, ecc, grant, hmac, list, refresh, token } from './calls.ts'
import { expectAccepted, expectRefused } from './expect-calls.ts'
import { freshName, granted, pairOf } from './keyring.ts'
import type { Auth, CallStep } from './step.ts'
import type { Caller } from './table.ts'

/** Repeats a wrong call, because a server may accept it at some point. */
export async function wrongTries({ x, keyring, pairs }: Caller, who: string, tries: number): Promise<void> {
  x.script = `tries/${who}`
  const pair = keyring.grants ? await pairOf(x, pairs, { who, scope: ['solution'] }) : undefined
  const eccKey = keyring.ecc[0]
  const steps: CallStep[] = [
    changed(list(basic(who)), { field: 'basic-secret', operation: 'inside-changed' }),
    changed(list(hmac(who)), { field: 'signature-bytes', operation: 'middle-bit-flipped' }),
    ...(eccKey === undefined
      ? []
      : [changed(list(ecc(eccKey)), { field: 'signature-bytes', operation: 'middle-bit-flipped' })]),
    ...(keyring.grants
      ? [changed(grant(who, ['solution']), { field: 'param apiKeySecret', operation: 'inside-changed' })]
      : []),
    ...(pair === undefined ? [] : [changed(list(token(pair)), { field: 'token', operation: 'inside-changed' })]),
    ...(pair === undefined
      ? []
      : [changed(refresh(pair), { field: 'param refreshToken', operation: 'inside-changed' })]),
    changed(list(basic(who)), { field: 'basic-id', operation: 'inside-changed' }),
    changed(list(hmac(who)), { field: 'key-id', operation: 'inside-changed' }),
    list({ kind: 'none' }),
  ]
  for (const step of steps) for (let at = 0; at < tries; at++) await expectRefused(x, step)
  // Whether the key is locked now is open; wrong calls must still be refused.
  for (const step of steps) await expectRefused(x, { ...step, connection: 'new' })
  await x.call(list(basic(who)))
  await x.call(list(hmac(who)))
}

/** Several calls with right credentials that are otherwise wrong: the right call after them must still be accepted. */
export async function wrongBodies({ x, keyring, pairs }: Caller, times: number): Promise<void> {
  x.script = 'wrong-bodies'
  const [who] = keyring.secret
  const pair = keyring.grants ? await pairOf(x, pairs, { who: who ?? 'root', scope: ['solution'] }) : undefined
  const ways: Auth[] = [
    ...(who === undefined ? [] : [basic(who), hmac(who)]),
    ...keyring.ecc.slice(0, 1).map(ecc),
    ...(pair === undefined ? [] : [token(pair)]),
  ]
  const wrongs = [
    { field: 'body', operation: 'brace-missing' },
    { field: 'body', operation: 'letter-appended' },
    { field: 'body', operation: 'empty' },
    { field: 'member method', operation: 'letter-appended' },
    { field: 'member params', value: 1 },
  ]
  for (const [at, auth] of ways.entries())
    for (const wrong of wrongs)
      for (const connection of [0, 'new'] as const) {
        const right = list(auth, { connection })
        await x.call(right)
        for (let turn = 0; turn < (at === 0 ? times : 1); turn++) await expectRefused(x, changed(right, wrong))
        await expectAccepted(x, right)
      }
}

/** Other texts for the JSON of a call, which a server that looks for words in the text of a body takes for another call. */
const sameJson = [
  'slash-escaped',
  'letter-escaped',
  'members-reversed',
  'indented',
  'line-feed-prepended',
  'space-appended',
]

/** The same right call many times, on one connection and on new ones. */
export async function rightCalls({ x, keyring }: Caller, times: number, tokenTimes: number): Promise<void> {
  x.script = 'many-right-calls'
  const who = keyring.secret[0] ?? 'root'
  const pair = keyring.grants ? await granted(x, { who, scope: ['solution'] }) : undefined
  const ways: Auth[] = [
    ...keyring.secret.slice(0, 2).flatMap((one) => [basic(one), hmac(one)]),
    ...keyring.ecc.slice(0, 1).map(ecc),
    ...(pair === undefined ? [] : [token(pair)]),
  ]
  for (const auth of ways) {
    // A server may stop accepting something after a hundred uses.
    const uses = auth.kind === 'token' ? tokenTimes : times
    for (let at = 0; at < uses; at++) await expectAccepted(x, list(auth, { connection: 5 }))
    for (let at = 0; at < 4; at++) await expectAccepted(x, list(auth, { connection: 'new' }))
    // A server may write the bytes of a signature as a number.
    const zeros = { hmac: ['leading-zero', 'trailing-zero'], ecc: ['leading-zero'] } as const
    const ofKind = auth.kind === 'hmac' || auth.kind === 'ecc' ? zeros[auth.kind] : []
    for (const nonce of ['digits', 'letters', 'padded', 'marks', ...ofKind] as const)
      await x.call(list(auth, { nonce }))
    for (const form of sameJson) await expectAccepted(x, list(auth, { form }))
    for (const id of [0, 1, 2 ** 31 - 1, 2 ** 31, 2 ** 32, 2 ** 53 - 1, -1, -(2 ** 31), -(2 ** 32) - 1])
      await x.call(list(auth, { id }))
  }
}

/** A param that is missing must not be taken from the call before. */
export async function missingParams({ x, keyring }: Caller, users: number): Promise<void> {
  x.script = 'missing-params'
  for (const who of keyring.grants ? keyring.secret.slice(0, users) : []) {
    const pair = await granted(x, { who, scope: ['solution'] })
    for (const param of ['grantType', 'apiKeyId', 'apiKeySecret', 'scope'])
      await expectRefused(x, changed(grant(who, ['solution']), { field: `param ${param}`, remove: true }))
    if (pair === undefined) continue
    // The grant type selects, not the other param: whether that may be there is open, but this is no refresh.
    const beside = grant(who, ['solution'])
    await x.call({ ...beside, params: { ...beside.params, refreshToken: `$${pair}.refreshToken` } })
    await expectAccepted(x, list(token(pair)))
    const next = freshName(x)
    await x.call(refresh(pair, { as: next }))
    if (x.lines.has(next)) await expectRefused(x, changed(refresh(next), { field: 'param refreshToken', remove: true }))
  }
}

/** The id of calls that are the same byte by byte except for their credentials. */
const sameId = 4711

/** An accepted call must not authorize the next one, neither on its connection nor with its body. */
export async function connections({ x, keyring, pairs }: Caller): Promise<void> {
  x.script = 'connections'
  const who = keyring.secret[0] ?? 'root'
  const pair = keyring.grants ? await pairOf(x, pairs, { who, scope: ['solution'] }) : undefined
  const rights: Auth[] = [
    basic(who),
    hmac(who),
    ...keyring.ecc.slice(0, 1).map(ecc),
    ...(pair === undefined ? [] : [token(pair)]),
  ]
  const wrongs: CallStep[] = [
    list({ kind: 'none' }, { id: sameId }),
    changed(list(basic(who), { id: sameId }), { field: 'basic-secret', operation: 'inside-changed' }),
    changed(list(hmac(who), { id: sameId }), { field: 'signature-bytes', operation: 'middle-bit-flipped' }),
    ...(pair === undefined
      ? []
      : [changed(list(token(pair), { id: sameId }), { field: 'token', operation: 'inside-changed' })]),
    ...keyring.ecc
      .slice(0, 1)
      .map((one) =>
        changed(list(ecc(one), { id: sameId }), { field: 'signature-bytes', operation: 'middle-bit-flipped' }),
      ),
  ]
  let lane = 100
  for (const auth of rights)
    for (const wrong of wrongs) {
      lane += 1
      await expectAccepted(x, list(auth, { connection: lane, id: sameId }))
      for (let at = 0; at < 3; at++) await expectRefused(x, { ...wrong, connection: lane })
      await expectAccepted(x, list(auth, { connection: lane, id: sameId }))
      await expectRefused(x, { ...wrong, connection: lane })
    }
  for (const wrong of wrongs) {
    lane += 1
    for (let at = 0; at < 12; at++) await expectRefused(x, { ...wrong, connection: lane })
  }
}
