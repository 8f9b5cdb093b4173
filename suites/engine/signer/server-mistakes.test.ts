import { expect, test } from 'vitest'
import { utf8 } from './bytes.ts'
import { type KnownMistake, mistakeById } from './mistakes.ts'
import { serverHint, serverMistakes } from './server-mistakes.ts'
import { needsBase64Marks, nonceWithBase64Marks, type SignInput, sign } from './sign.ts'

const nonces = [
  'AAAAAAAAAAAAAAAAAAAAAA==',
  'AQEBAQEBAQEBAQEBAQEBAQ==',
  'AgICAgICAgICAgICAgICAg==',
  'AwMDAwMDAwMDAwMDAwMDAw==',
]
const request: Omit<SignInput, 'nonce'> = {
  scheme: 'svc-hmac-sha256',
  keyId: '7c41a5d2f0a94e6bb1d6a2f3c4e5d6f7',
  key: { kind: 'secret', secret: '0a1b2c3d' },
  method: 'POST',
  uri: '/api',
  body: utf8('{"jsonrpc":"2.0","id":17,"method":"solution/listSolutions","params":{}}'),
  timestamp: '1795154904754',
}

test.each(['hmac', 'ecc'] as const)('every classic mistake of %s can be made in any request of a run', (kind) => {
  const key: SignInput['key'] =
    kind === 'hmac' ? request.key : { kind: 'ed25519', seed: utf8('an Ed25519 seed of 32 bytes ....') }
  const tried = serverMistakes(kind)
  expect(tried.length).toBeGreaterThan(25)
  for (const { mistake } of tried) {
    let next = 0
    const fresh = () => nonces[next++ % nonces.length] ?? ''
    const nonce = needsBase64Marks(mistake) ? nonceWithBase64Marks({ ...request, key }, fresh) : fresh()
    const input = { ...request, key, nonce }
    expect(sign(input, mistake).header).not.toBe(sign(input).header)
  }
})

const hintsOf = (kind: 'hmac' | 'ecc') =>
  serverMistakes(kind).map(({ id }) => serverHint(mistakeById(id) as KnownMistake))

test('a hint speaks to the author of the server', () => {
  expect(hintsOf('hmac')[0]).toBe(
    'The server accepts this call when all 32 bytes of the MAC are sent. Compare the signature with the first 20 bytes of the MAC, no more and no less',
  )
})

test.each(['hmac', 'ecc'] as const)('no hint about %s tells a server to send something', (kind) => {
  for (const hint of hintsOf(kind)) {
    expect(hint.split('. ').at(-1)).toMatch(/^(Accept|Begin|Compare|Compute|Decode|End|Take|Verify) /)
  }
})
