/** Bodies signed in one form and sent in another. */

import { rewritings, richForms } from '../engine/signer/bodies.ts'
import { basic, changed, create, ecc, grant, hmac, list, none } from './calls.ts'
import { expectRefused } from './expect-calls.ts'
import type { Change } from './step.ts'
import type { Caller } from './table.ts'

/**
 * Bodies that can be written in many ways, each signed in one and sent in another.
 *
 * @param every false: only forms that a server may make of a body, each signed by one kind of key
 */
export async function writtenAgain(caller: Caller, every: boolean): Promise<void> {
  const { x, keyring } = caller
  x.script = 'bodies'
  const { fields, changesOf } = x.options.operations
  const changes = fields
    .filter(({ field }) => ['signed-body', 'sent-body', 'mistake'].includes(field))
    .flatMap((field) => changesOf(field))
    .filter(
      ({ field, operation = '' }) =>
        field !== 'mistake' || operation.startsWith('data/with-body') || operation.startsWith('data/without-body'),
    )
  const auths = [...keyring.secret.slice(0, 1).map(hmac), ...keyring.ecc.slice(0, 1).map(ecc)]
  for (const form of richForms)
    for (const auth of auths) {
      const right = list(auth, { form })
      const who = keyring.secret[0]
      // Basic credentials show whether such a body is accepted.
      if (who !== undefined && (await x.call(list(basic(who), { form })))?.answer.kind !== 'accepted') continue
      if ((await x.call(right))?.answer.kind !== 'accepted') continue
      for (const [turn, change] of changes.entries()) {
        const isMine = auths.length < 2 || (turn % 2 === 0) === (auth.kind === 'hmac')
        if (!every && (change.field !== 'signed-body' || !rewritings.has(change.operation ?? '') || !isMine)) continue
        if (change.field === 'signed-body' || (auth.kind === 'hmac' && change.field === 'mistake'))
          await expectRefused(x, changed(right, change))
      }
    }
  for (const auth of auths)
    for (const [turn, change] of changes.entries()) {
      if (!every && turn % 2 === (auth.kind === 'hmac' ? 0 : 1)) continue
      if (!keyring.keys || x.state().created > 9) return
      const right = create(auth, { name: 'deviation-$unique', scope: ['solution'] })
      await expectRefused(x, changed(right, change))
    }
}

/**
 * signatures/request-body: a body whose length is not announced is signed as any other. Whether such a request is accepted is open, so Basic
 * credentials show it first; on a connection of its own it disturbs no other.
 */
export async function bodiesInChunks({ x, keyring }: Caller, users: number): Promise<void> {
  x.script = 'bodies-in-chunks'
  const more = { inChunks: true, connection: 'new' }
  const others: Change[] = [
    { field: 'signed-body-text', value: '' },
    { field: 'signed-body', operation: 'another-method' },
    { field: 'signature-bytes', operation: 'middle-bit-flipped' },
  ]
  const signers = [...keyring.secret.slice(0, users).map(hmac), ...keyring.ecc.slice(0, users).map(ecc)]
  for (const auth of [...keyring.secret.slice(0, 1).map(basic), ...signers]) await x.call(list(auth, more))
  for (const auth of signers) for (const other of others) await expectRefused(x, changed(list(auth, more), other))
  for (const who of keyring.secret.slice(0, users)) {
    await expectRefused(x, changed(list(basic(who), more), { field: 'basic-secret', operation: 'inside-changed' }))
    const wrong = { field: 'param apiKeySecret', operation: 'inside-changed' }
    if (keyring.grants) await expectRefused(x, changed(grant(who, ['solution'], more), wrong))
  }
  await expectRefused(x, list(none, more))
}
