import { createHmac } from 'node:crypto'
import type { Rules } from '../rules.ts'
import { rules } from '../rules.ts'
import type { ApiKey } from '../state.ts'
import { base64, sha256 } from './bytes.ts'
import type { Mutant } from './mutant.ts'

/** Accepts another MAC too: the key appears twice, and its copy is marked. */
const alsoMac = (make: (data: Uint8Array, key: ApiKey) => Buffer): Partial<Rules> => ({
  signingKeys: (key, _all, kind) => (kind === 'hmac' ? [key, { ...key, name: marked }] : [key]),
  mac: (data, key) => (key.name === marked ? make(data, key) : rules.mac(data, key)),
})
const marked = 'the copy of a key'

/** Accepts other texts for a MAC too. */
const alsoMacText = (make: (mac: Buffer) => string | string[]): Partial<Rules> => ({
  macTexts: (cut, mac, profile) => [...rules.macTexts(cut, mac, profile), ...[make(mac)].flat()],
})
const alsoMacMatch = (fits: (received: string, expected: string) => boolean): Partial<Rules> => ({
  macTextMatches: (received, expected) => rules.macTextMatches(received, expected) || fits(received, expected),
})
const sameBytes = (from: number, to: number) => (received: string, expected: string) => {
  const [one, other] = [received, expected].map((encoded) => Buffer.from(encoded, 'base64'))
  return one?.length === other?.length && one?.subarray(from, to).equals(other?.subarray(from, to) ?? one) === true
}

/** Parts 5.1 and 8: MACs. */
export const hmacMutants: Mutant[] = [
  { id: 'hmac-never-taken', breaks: 'signatures/hmac', with: { hmacTakenFor: () => false } },
  {
    id: 'beginning-of-the-mac-text-taken',
    breaks: 'signatures/hmac',
    with: alsoMacMatch((received, expected) => received.length >= 4 && expected.startsWith(received)),
  },
  {
    id: 'beginning-of-the-mac-bytes-taken',
    breaks: 'signatures/hmac-length',
    with: alsoMacMatch((received, expected) => {
      const bytes = Buffer.from(received, 'base64')
      return bytes.length > 0 && bytes.equals(Buffer.from(expected, 'base64').subarray(0, bytes.length))
    }),
  },
  { id: 'whole-mac-expected', breaks: 'signatures/hmac', with: { macBytes: () => 32 } },
  {
    id: 'sha1-expected',
    breaks: 'signatures/hmac',
    with: { mac: (data, key) => createHmac('sha1', key.macKey).update(data).digest() },
  },
  {
    id: 'sha1-taken-too',
    breaks: 'signatures/hmac',
    with: alsoMac((data, key) => createHmac('sha1', key.macKey).update(data).digest()),
  },
  {
    id: 'sha512-taken-too',
    breaks: 'signatures/hmac',
    with: alsoMac((data, key) => createHmac('sha512', key.macKey).update(data).digest()),
  },
  {
    id: 'plain-hash-taken-too',
    breaks: 'signatures/hmac',
    with: alsoMac((data, key) => sha256(Buffer.concat([Buffer.from(key.secret), data]))),
  },
  {
    id: 'mac-over-a-hash-taken-too',
    breaks: 'signatures/hmac',
    with: alsoMac((data, key) => rules.mac(sha256(data), key)),
  },
  {
    id: 'empty-secret-taken-too',
    breaks: 'signatures/hmac',
    with: alsoMac((data) => createHmac('sha256', '').update(data).digest()),
  },
  {
    id: 'key-id-as-secret-taken-too',
    breaks: 'signatures/hmac',
    with: alsoMac((data, key) => createHmac('sha256', key.id).update(data).digest()),
  },
  {
    id: 'beginning-of-the-mac-taken',
    breaks: 'signatures/hmac',
    with: alsoMacMatch((received, expected) => expected.startsWith(received)),
  },
  { id: 'empty-mac-taken', breaks: 'signatures/hmac', with: alsoMacMatch((received) => received === '') },
  {
    id: 'case-of-the-mac-ignored',
    breaks: 'signatures/hmac',
    with: alsoMacMatch((received, expected) => received.toLowerCase() === expected.toLowerCase()),
  },
  { id: 'first-ten-bytes-compared', breaks: 'signatures/hmac', with: alsoMacMatch(sameBytes(0, 10)) },
  { id: 'all-but-the-last-byte-compared', breaks: 'signatures/hmac', with: alsoMacMatch(sameBytes(0, 19)) },
  { id: 'all-but-the-first-byte-compared', breaks: 'signatures/hmac', with: alsoMacMatch(sameBytes(1, 20)) },
  {
    id: 'whole-mac-taken-too',
    breaks: 'signatures/hmac-length',
    with: alsoMacText((mac) => base64(mac)),
  },
  {
    id: 'any-mac-of-at-least-ten-bytes-taken',
    breaks: 'signatures/hmac-length',
    with: alsoMacText((mac) => Array.from({ length: 23 }, (_none, index) => base64(mac.subarray(0, 10 + index)))),
  },
  {
    id: 'nineteen-bytes-taken-too',
    breaks: 'signatures/hmac-length',
    with: alsoMacText((mac) => base64(mac.subarray(0, 19))),
  },
  {
    id: 'twenty-one-bytes-taken-too',
    breaks: 'signatures/hmac-length',
    with: alsoMacText((mac) => base64(mac.subarray(0, 21))),
  },
  {
    id: 'last-twenty-bytes-taken-too',
    breaks: 'signatures/hmac-length',
    with: alsoMacText((mac) => base64(mac.subarray(-20))),
  },
  {
    id: 'mac-in-hex-taken-too',
    breaks: 'signatures/hmac-encoding',
    with: alsoMacText((mac) => mac.subarray(0, 20).toString('hex')),
  },
  {
    id: 'mac-in-base64url-taken-too',
    breaks: 'signatures/hmac-encoding',
    with: alsoMacText((mac) => base64(mac.subarray(0, 20)).replaceAll('+', '-').replaceAll('/', '_')),
  },
  {
    id: 'base64-of-hex-taken-too',
    breaks: 'signatures/hmac-encoding',
    with: alsoMacText((mac) => base64(Buffer.from(mac.subarray(0, 20).toString('hex')))),
  },
]
