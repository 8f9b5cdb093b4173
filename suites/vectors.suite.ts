import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { defaultScheme } from './engine/document.ts'
import { packageRoot } from './engine/language/package-root.ts'
import { problemWith } from './engine/language/schemas.ts'
import { flatVectors, loadVectors, type SignatureVector, vectorBytes, vectorTable } from './engine/language/vectors.ts'
import { toHex } from './engine/signer/bytes.ts'
import { sha256 } from './engine/signer/hmac.ts'
import { seedFromPkcs8 } from './engine/signer/pem.ts'
import { type SignInput, sign } from './engine/signer/sign.ts'

const vectors = loadVectors(packageRoot)
const all: SignatureVector[] = [...vectors.valid, ...vectors.invalid]

describe('signature vectors', () => {
  test.each(all)('$id: every stage is reproduced', ({ input, expect: expected }) => {
    const made = sign(inputOf(input))
    expect({
      'data-to-sign': toHex(made.dataToSign),
      'data-to-sign-sha256': toHex(sha256(made.dataToSign)),
      signature: made.signature,
      header: made.header,
      ...(made.mac === undefined || made.macFirst20 === undefined
        ? {}
        : { mac: toHex(made.mac), 'mac-first-20-bytes': toHex(made.macFirst20) }),
    }).toEqual({ ...expected, 'data-to-sign': toHex(vectorBytes(expected['data-to-sign'])) })
  })

  test.each(vectors.invalid)('$id: what is received is not what is right', ({ received, expect: expected }) => {
    expect(received).not.toBe(expected.header)
  })

  test('the files for other languages hold the same vectors', () => {
    const read = (file: string) => readFileSync(join(packageRoot, file), 'utf8')
    const flat = flatVectors(vectors)
    expect(problemWith(flat, 'vectors')).toBeUndefined()
    expect(JSON.parse(read('fixtures/vectors.json'))).toEqual(JSON.parse(JSON.stringify(flat)))
    expect(read('fixtures/recipes/vectors.tsv')).toBe(vectorTable(vectors))
  })
})

function inputOf(input: SignatureVector['input']): SignInput {
  const { secret, 'private-key': privateKey = '' } = input
  return {
    scheme: input.scheme ?? defaultScheme,
    keyId: input['key-id'],
    key: secret === undefined ? { kind: 'ed25519', seed: seedFromPkcs8(privateKey) } : { kind: 'secret', secret },
    method: input.method,
    uri: input.path,
    body: vectorBytes(input.body),
    timestamp: String(input.timestamp),
    nonce: input.nonce,
  }
}
