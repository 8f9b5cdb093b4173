/** Keys that are used as keys of another kind, with the secret of another, or wrongly behind another spelling of a word. */
import { basic, changed, ecc, grant, hmac, list, token } from './calls.ts'
import { creation, expectAccepted, expectRefused } from './expect-calls.ts'
import type { Explorer } from './explorer-types.ts'
import { type Keyring, pairOf, wordsOf } from './keyring.ts'
import type { Auth, CallStep } from './step.ts'
import type { Caller } from './table.ts'

/** Operations on the word before credentials that a server may read as the same word. */
const otherSpellings = ['lower-case', 'upper-case']

/** Authorization that keys with and without a public key must not be used with. */
export async function wrongKinds({ x, keyring, pairs }: Caller, users: number): Promise<void> {
  x.script = 'kinds-of-keys'
  const creates = keyring.keys && x.state().created <= 9
  const steps = (auth: Auth): CallStep[] => [
    list(auth),
    list(auth, { connection: 'new' }),
    ...(creates ? [creation(auth)] : []),
  ]
  for (const who of [...keyring.ecc, ...keyring.narrowEcc]) {
    for (const step of [...steps(basic(who)), ...steps(hmac(who))]) await expectRefused(x, step)
    for (const scope of [['solution'], ['context'], ['solution', 'session:'], ['solution', 'solution:']])
      await expectRefused(x, grant(who, wordsOf(x, who, scope, 'wrong-$unique')))
    await expectRefused(x, changed(grant(who, ['solution']), { field: 'param apiKeySecret', value: '' }))
    await expectRefused(
      x,
      changed(grant(who, ['solution']), { field: 'param apiKeySecret', place: `$${who}-own.publicKey` }),
    )
    await expectRefused(x, changed(list(basic(who)), { field: 'basic-secret', place: `$${who}-own.publicKey` }))
    await expectRefused(x, changed(list(basic(who)), { field: 'basic-secret', operation: 'empty' }))
    await expectRefused(x, changed(list(hmac(who)), { field: 'secret', place: `$${who}-own.publicKey` }))
    await expectRefused(x, changed(list(hmac(who)), { field: 'secret', operation: 'empty' }))
    // Another spelling of the word in front may lead to other code.
    for (const right of [list, ...(creates ? [creation] : [])])
      for (const operation of otherSpellings)
        for (const [auth, field] of [
          [basic(who), 'basic-word'],
          [hmac(who), 'scheme'],
        ] as const)
          await expectRefused(x, changed(right(auth), { field, operation }))
    await wrongBehindOtherWords(x, who, true)
    await expectAccepted(x, list(ecc(who)))
    for (const other of keyring.secret.slice(0, users)) await secretOfOther(x, who, other)
    for (const other of [...keyring.secret, ...keyring.ecc, ...keyring.narrowEcc])
      if (other !== who) await expectRefused(x, changed(list(ecc(who)), { field: 'key-id', place: `$${other}.id` }))
  }
  for (const who of [...keyring.secret.slice(0, users), ...keyring.narrow.filter((one) => one === 'solution-key')]) {
    for (const other of [...keyring.secret, ...keyring.narrow]) {
      if (other === who) continue
      // A server may keep what it found for the call before.
      await expectAccepted(x, list(hmac(other)))
      await expectRefused(x, changed(list(basic(who)), { field: 'basic-secret', place: `$${other}.secret` }))
      await expectRefused(x, changed(list(hmac(who)), { field: 'key-id', place: `$${other}.id` }))
      await expectRefused(x, changed(list(hmac(who)), { field: 'secret', place: `$${other}.secret` }))
      await expectRefused(
        x,
        changed(grant(who, ['solution']), { field: 'param apiKeySecret', place: `$${other}.secret` }),
      )
    }
    await expectAccepted(x, list(basic(who)))
    await expectAccepted(x, list(hmac(who)))
    await wrongBehindOtherWords(x, who, false)
    await expectAccepted(x, list(basic(who)))
  }
  await wrongTokenBehindOtherWords(x, keyring, pairs)
}

async function wrongTokenBehindOtherWords(x: Explorer, keyring: Keyring, pairs: Map<string, string>): Promise<void> {
  const pair = keyring.grants
    ? await pairOf(x, pairs, { who: keyring.secret[0] ?? 'root', scope: ['solution'] })
    : undefined
  if (pair === undefined) return
  for (const operation of otherSpellings)
    await expectRefused(
      x,
      list(token(pair), {
        change: { field: 'token', operation: 'inside-changed' },
        also: [{ field: 'token-word', operation }],
      }),
    )
}

/** Wrong credentials behind another spelling of the word in front, which may lead to other code. */
async function wrongBehindOtherWords(x: Explorer, who: string, hasPublicKey: boolean): Promise<void> {
  const wrongSignature = { field: 'signature-bytes', operation: 'middle-bit-flipped' }
  const wrongSecret = { field: 'basic-secret', operation: 'inside-changed' }
  for (const operation of otherSpellings) {
    const scheme = [{ field: 'scheme', operation }]
    await expectRefused(x, list(hasPublicKey ? ecc(who) : hmac(who), { change: wrongSignature, also: scheme }))
    if (hasPublicKey) continue
    await expectRefused(x, list(basic(who), { change: wrongSecret, also: [{ field: 'basic-word', operation }] }))
  }
}

/** The secret of one key proves nothing for another one that has a public key, not even if it created it. */
async function secretOfOther(x: Explorer, who: string, other: string): Promise<void> {
  const place = `$${other}.secret`
  await expectRefused(x, changed(list(hmac(who)), { field: 'secret', place }))
  await expectRefused(x, changed(list(basic(who)), { field: 'basic-secret', place }))
  await expectRefused(x, changed(grant(who, ['solution']), { field: 'param apiKeySecret', place }))
}
