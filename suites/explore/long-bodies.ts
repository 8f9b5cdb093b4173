/** Sends bodies up to 66 KiB, each as it was signed and each changed afterwards. */

import { cutLetterForms } from '../engine/signer/bodies.ts'
import { basic, changed, ecc, hmac, list, token } from './calls.ts'
import { expectAccepted, expectRefused } from './expect-calls.ts'
import { pairOf } from './keyring.ts'
import type { Caller } from './table.ts'

const cuts = [
  'first-1-KiB',
  'first-4-KiB',
  'first-8-KiB',
  'first-16-KiB',
  'first-32-KiB',
  'first-64-KiB',
  'first-1000',
  'first-10000',
  'last-1-KiB',
  'first-256',
  'compact',
]

const cutsOfData = [
  'cut-1024',
  'cut-4096',
  'cut-8192',
  'cut-16384',
  'cut-32768',
  'cut-65536',
  'cut-1000',
  'cut-10000',
  'cut-256',
  'cut-512',
  'cut-2048',
]

/** Bodies are read in pieces of this size, bytes. */
const readSize = 65_536

/** Signs long bodies, up to the size that the target accepts with Basic credentials. */
export async function longBodies(caller: Caller, sizes: readonly number[]): Promise<void> {
  const { x, keyring, pairs } = caller
  x.script = 'long-bodies'
  const who = keyring.secret[0]
  if (who === undefined) return
  const pair = keyring.grants ? await pairOf(x, pairs, { who, scope: ['solution'] }) : undefined
  const ways = [hmac(who), ...keyring.ecc.slice(0, 1).map(ecc), ...(pair === undefined ? [] : [token(pair)])]
  for (const form of sizes) {
    if ((await x.call(list(basic(who), { form })))?.answer.kind !== 'accepted') continue
    for (const auth of ways) {
      await expectAccepted(x, list(auth, { form }))
      const fields = auth.kind === 'token' ? ['token'] : ['signed-body-text', 'signature', 'signed-nonce', 'nonce']
      const operations = [
        'inside-changed',
        'last-character-changed',
        'late-changed',
        'second-half',
        'first-half',
        'space-appended',
        'without-last-character',
        'empty',
      ]
      for (const field of fields)
        for (const operation of field === 'signed-body-text' ? operations : ['inside-changed'])
          await expectRefused(x, changed(list(auth, { form }), { field, operation }))
      if (auth.kind !== 'token')
        for (const operation of cutsOfData.filter((one) => Number(one.slice('cut-'.length)) < form))
          await expectRefused(x, changed(list(auth, { form }), { field: 'data', operation }))
      if (auth.kind !== 'token')
        for (const operation of cuts)
          await expectRefused(x, changed(list(auth, { form }), { field: 'signed-body', operation }))
      if (auth.kind !== 'token')
        for (const operation of ['spaces-at-the-end', 'line-feed-appended', 'another-id', 'members-reversed'])
          await expectRefused(x, changed(list(auth, { form }), { field: 'sent-body', operation }))
    }
    await expectRefused(x, changed(list(basic(who), { form }), { field: 'basic-secret', operation: 'inside-changed' }))
    await expectRefused(x, list({ kind: 'none' }, { form }))
  }
  if (sizes.some((size) => size > readSize)) await cutLetters(caller, who)
}

/** signatures/request-body: a letter may come in two reads. */
async function cutLetters({ x, keyring }: Caller, who: string): Promise<void> {
  for (const form of Object.keys(cutLetterForms)) {
    if ((await x.call(list(basic(who), { form })))?.answer.kind !== 'accepted') return
    for (const auth of [hmac(who), ...keyring.ecc.slice(0, 1).map(ecc)]) await expectAccepted(x, list(auth, { form }))
  }
}
