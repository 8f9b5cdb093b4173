import { createPublicKey, verify as nodeVerify } from 'node:crypto'
import { expect, test } from 'vitest'
import { ed25519Verify } from '../engine/signer/ed25519.ts'
import { publicKeyToPem } from '../engine/signer/pem.ts'
import { createProfile, rules } from '../targets/bundled.ts'
import { shipped } from './shipped.ts'

interface EdgeCase {
  id: string
  title: string
  /** 32 bytes in hex. */
  publicKey: string
  message: string
  signature: string
  verdicts: {
    'node:crypto': boolean
    'noble, strict': boolean
    'bundled server': 'accepted' | 'refused' | 'key refused'
  }
  position: string
}

const { cases } = JSON.parse(shipped('suites/self/ed25519-edge-cases.json')) as { cases: EdgeCase[] }
const bytes = (hex: string): Buffer => Buffer.from(hex, 'hex')

test.each(cases)('$id: $title', ({ publicKey, message, signature, verdicts, position }) => {
  const pem = publicKeyToPem(bytes(publicKey))
  expect({
    'node:crypto': nodeVerify(null, bytes(message), createPublicKey(pem), bytes(signature)),
    'noble, strict': ed25519Verify(bytes(publicKey), bytes(message), bytes(signature)),
    'bundled server': byServer(pem, bytes(message), bytes(signature)),
  }).toEqual(verdicts)
  expect(position).toMatch(/^.{20,}\.$|^As above/)
})

test('the table has the cases that verifiers are known to differ in', () => {
  const ids = cases.map(({ id }) => id)
  for (const wanted of ['s-plus-l', 'r-neutral', 'r-not-canonical', 'key-neutral', 'key-order-8', 'key-mixed-order']) {
    expect(ids).toContain(wanted)
  }
  expect(cases.filter(({ verdicts }) => verdicts['node:crypto'] !== verdicts['noble, strict'])).not.toEqual([])
})

function byServer(pem: string, message: Buffer, signature: Buffer): EdgeCase['verdicts']['bundled server'] {
  const key = rules.publicKey(pem, createProfile())
  if (key === undefined) return 'key refused'
  return rules.eccVerifies(key, message, signature) ? 'accepted' : 'refused'
}
