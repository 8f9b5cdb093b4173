import { describe, expect, test } from 'vitest'
import { fromHex, utf8 } from '../engine/signer/bytes.ts'
import { signDraft } from '../engine/signer/draft.ts'
import { publicKeyOfSeed } from '../engine/signer/ed25519.ts'
import { type KnownMistake, mistakeById, mistakes } from '../engine/signer/mistakes.ts'
import { draftOf, type SignInput, sign } from '../engine/signer/sign.ts'
import { partUnlessProof } from '../self/proof-form.ts'
import { type DiagnoseInput, diagnose } from './diagnose.ts'

const seed = fromHex('9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60') ?? utf8('')
const url = 'https://service.example:8443/base/api?trace=1'
// In this body, every style of writing JSON gives different bytes; it has white space around it and characters beyond Latin-1.
const body = utf8(' {"method": "x/y", "id":1, "a":"<é>\\u0041 /"}\r\n ')
// The nonce has both marks of base64 and its padding.
const request: Omit<SignInput, 'key'> = {
  scheme: 'svc-hmac-sha256',
  keyId: 'hmac-key-1',
  method: 'POST',
  uri: '/api?x=1',
  body,
  timestamp: '1702555410352',
  nonce: '+/+/q83vEjRWeJCrze8SNA==',
}
const secret: SignInput = { ...request, url, key: { kind: 'secret', secret: ' 00112233445566778899aabbccddeeéé ' } }
const hexSecret: SignInput = { ...request, url, key: { kind: 'secret', secret: '00112233445566778899AABBCCDDEEff' } }
const ecc: SignInput = { ...request, url, key: { kind: 'ed25519', seed } }
const unsorted = utf8('{"jsonrpc":"2.0","id":1,"method":"m","params":{"b":"é","a":1}}')
const bare: SignInput = { ...secret, uri: '/api', body: unsorted }

const idsOf = (input: SignInput, header: string): string[] =>
  diagnose(asked(input, header)).mistakes.map(({ id }) => id)

function asked(input: SignInput, header: string): DiagnoseInput {
  const { key, scheme, keyId, method, uri, body: sent } = input
  return { header, key, scheme, keyId, method, uri, body: sent, url }
}

function made(input: SignInput, ...wrong: KnownMistake[]): string | null {
  let draft: ReturnType<typeof draftOf> | null = draftOf(input)
  for (const mistake of wrong) draft = draft === null ? null : mistake.apply(draft)
  return draft === null ? null : signDraft(draft).header
}

/** The first of the requests in which a mistake makes a difference. */
function possible(mistake: KnownMistake, inputs: SignInput[]) {
  const cases = inputs.map((input) => ({ id: mistake.id, input, header: made(input, mistake) ?? made(input) ?? '' }))
  return cases.filter(({ input, header }) => header !== made(input)).slice(0, 1)
}

const onPurposeOnly = (id: string) =>
  /one-bit-flipped|small-order-r|-scheme$|with-body-reserialised|hmac-with-key-id-as/.test(id)

// Ed25519 is slow on a busy machine.
describe('one mistake', () => {
  const cases = mistakes
    .filter(({ id }) => !onPurposeOnly(id) || id === 'fields/other-scheme')
    .flatMap((mistake, at) => [
      ...possible(mistake, [secret, hexSecret, bare]),
      // The data are the same with both kinds of key, and Ed25519 takes its time: a third of them is enough.
      ...(mistake.stage === 'data' && at % 3 > 0 ? [] : possible(mistake, [ecc])),
    ])

  test('at least 100 of them can be made by hand', () => {
    expect(new Set(cases.map(({ id }) => id)).size).toBeGreaterThanOrEqual(100)
  })

  // Enough of them for every stage of signing and both kinds of key.
  test.each(partUnlessProof(cases, 12))('$id is named', ({ id, input, header }) => {
    const found = diagnose(asked(input, header))
    expect(found.explained && !found.valid).toBe(true)
    expect([...found.mistakes, ...found.alternatives].map((mistake) => mistake.id)).toContain(id)
    expect(found.mistakes.length).toBe(1)
  })

  test('most are found with the public key alone', () => {
    const publicKey = { kind: 'ed25519-public' as const, publicKey: publicKeyOfSeed(seed) }
    const ofSignature = ['over-hash', 'prehashed', 'in-hex', 'high-s', 'hmac-with-public-pem']
    for (const word of ['data/without-final-newline', ...ofSignature.map((name) => `signature/${name}`)]) {
      const header = made(ecc, mistakeById(word) as KnownMistake) ?? ''
      expect(diagnose({ ...asked(ecc, header), key: publicKey }).mistakes.map(({ id }) => id)).toEqual([word])
    }
  })
})

const named = (word: string) => mistakeById(word) as KnownMistake
const pairs: [SignInput, string, string][] = [
  [bare, 'data/without-final-newline', 'signature/in-hex'],
  [bare, 'data/with-lowercase-method', 'data/with-full-url'],
  [bare, 'data/with-crlf', 'signature/untruncated'],
  [bare, 'data/with-body-spaced', 'key/base64-encoded'],
  [bare, 'data/with-body-sorted', 'data/with-body-spaced'],
  [bare, 'data/without-timestamp', 'data/without-nonce'],
  [bare, 'data/with-timestamp-in-seconds', 'data/with-decoded-nonce'],
  [bare, 'data/with-commas', 'signature/sha512'],
  [bare, 'key/id-as-secret', 'signature/arguments-swapped'],
  [bare, 'key/with-newline', 'data/with-doubled-newline'],
  [bare, 'signature/sha1', 'signature/unpadded'],
  [bare, 'signature/last-20-bytes', 'signature/in-upper-case-hex'],
  [bare, 'data/with-nonce-without-padding', 'fields/with-commas'],
  [bare, 'signature/untruncated', 'fields/one-too-few'],
  [ecc, 'data/without-final-newline', 'signature/in-hex'],
  [ecc, 'data/with-lowercase-method', 'data/with-full-url'],
  [ecc, 'data/with-body-compact', 'signature/over-hash'],
  [ecc, 'key/seed-hashed', 'data/with-crlf'],
  [ecc, 'data/with-crlf', 'signature/hmac-with-seed'],
  [ecc, 'signature/prehashed', 'signature/unpadded'],
]

test.each(partUnlessProof(pairs, 4))('two mistakes at once: %$ with $1 and $2', (input, first, second) => {
  const header = made(input, named(first), named(second)) ?? ''
  expect(idsOf(input, header).sort()).toEqual([first, second].sort())
})

test('a damaged signature is distinguished from a wrong one', () => {
  const { header, signature } = sign(bare)
  const changed = `${signature.slice(0, 5)}x${signature.slice(6)}`
  for (const damaged of [signature.slice(0, 11), signature.slice(2), changed])
    expect(idsOf(bare, header.replace(signature, damaged))).toEqual(['signature/damaged'])
})

test('by its length: an ED25519 signature for a secret, and the reverse', () => {
  expect(idsOf(secret, sign({ ...ecc, keyId: secret.keyId }).header)).toEqual(['signature/ecc-for-hmac'])
  expect(idsOf(ecc, sign({ ...secret, keyId: ecc.keyId }).header)).toEqual(['signature/hmac-for-ecc'])
})
