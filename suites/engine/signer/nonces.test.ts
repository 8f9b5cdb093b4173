import { expect, test } from 'vitest'
import { seededRandom } from '../random.ts'
import { utf8 } from './bytes.ts'
import { ed25519Sign } from './ed25519.ts'
import { hmacSha256 } from './hmac.ts'
import { nonceFor, nonceOf } from './nonces.ts'

const values = seededRandom(1)
const dataWith = (nonce: string): string => `1;${nonce};POST\n/api\n{}\n`
const making = { next: (kind: Parameters<typeof nonceOf>[0]) => nonceOf(kind, values), dataWith }
const seed = values.bytes(32)

test.each([
  ['leading-zero', 0],
  ['trailing-zero', 19],
] as const)('a nonce for %s makes a MAC with a zero byte there', (kind, at) => {
  const nonce = nonceFor(kind, { secret: 'secret' }, making) ?? ''
  expect(hmacSha256(utf8('secret'), utf8(dataWith(nonce)))[at]).toBe(0)
})

test('a nonce for leading-zero makes an ED25519 signature whose S has a zero byte on top', () => {
  const nonce = nonceFor('leading-zero', { seed }, making) ?? ''
  expect(ed25519Sign(seed, utf8(dataWith(nonce)))[63]).toBe(0)
})

test('no nonce is used twice', () => {
  const nonces = Array.from({ length: 200 }, () => nonceOf(undefined, values))
  expect(new Set(nonces).size).toBe(200)
})
