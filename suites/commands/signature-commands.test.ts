import { Command } from 'commander'
import { describe, expect, test } from 'vitest'
import { packageRoot } from '../engine/language/package-root.ts'
import { loadVectors, type SignatureVector, vectorBytes } from '../engine/language/vectors.ts'
import { utf8 } from '../engine/signer/bytes.ts'
import { ed25519KeyPair } from '../engine/signer/pem.ts'
import { sign } from '../engine/signer/sign.ts'
import { diagnose } from '../lab/diagnose.ts'
import { verify } from '../lab/verify.ts'
import { around, body, check, env, flags, fresh, right } from '../self/made-up-signature.ts'
import {
  addCheckFlags,
  type CheckFlags,
  readCheck,
  signInputOf,
  signJson,
  signText,
  verifyInputOf,
  verifyText,
} from './signature.ts'

const pair = ed25519KeyPair(utf8('an Ed25519 seed of 32 bytes ....'))
const inFile = (name: string) => ({ flag: 'secret-file' as const, name })

describe('sign', () => {
  test('the stages as JSON', () => {
    expect(signJson(sign(signInputOf(flags, around(), fresh)))).toEqual({
      dataToSign: `1702555410352;q83vEjRWeJCrze8=;POST\n/api\n${body}\n`,
      dataToSignHex: Buffer.from(`1702555410352;q83vEjRWeJCrze8=;POST\n/api\n${body}\n`).toString('hex'),
      mac: '0846dc767661511937c40d3e45a0be52eb2a34244fe1a342e75cf2e0dec53da5',
      macFirst20: '0846dc767661511937c40d3e45a0be52eb2a3424',
      signature: 'CEbcdnZhURk3xA0+RaC+UusqNCQ=',
      header: right,
    })
  })

  test('the stages for people, with the first 20 bytes marked', () => {
    const input = signInputOf(flags, around(), fresh)
    const text = signText(input, sign(input), 'http://h:1')
    expect(text).toContain('  1702555410352;q83vEjRWeJCrze8=;POST␊\n  /api␊\n')
    expect(text).toContain('[0846dc767661511937c40d3e45a0be52eb2a3424] 4fe1a342e75cf2e0dec53da5')
    expect(text).toContain(`curl -sS -X POST 'http://h:1/api'`)
  })

  test('body from stdin or a file, secret from a file, private key', () => {
    const { body: _, secrets: __, ...bare } = flags
    const outside = around({ b: body, s: 'not-a-secret-0001\n', k: pair.privateKeyPem }, body)
    expect(sign(signInputOf({ ...bare, secrets: [inFile('s')] }, outside, fresh)).header).toBe(right)
    expect(sign(signInputOf({ ...bare, bodyFile: 'b', secrets: [inFile('s')] }, outside, fresh)).header).toBe(right)
    expect(signJson(sign(signInputOf({ ...bare, privateKey: 'k' }, outside, fresh)))).not.toHaveProperty('mac')
  })

  test.each([
    [{ timestamp: 'now' }, 'Cannot use "now" for "--timestamp": expected milliseconds since 1970'],
    [{ nonce: 'a;b' }, 'Cannot use "a;b" for "--nonce": it must not be empty or hold a semicolon'],
    [{ secrets: [env('EMPTY')] }, 'Set the environment variable "EMPTY" to the secret: it is not set'],
    [{ secrets: [] }, 'Give the key: "--secret-env NAME"'],
    [{ bodyFile: 'b' }, 'Give "--body" or "--body-file", not both'],
    [{ secrets: [inFile('none')] }, 'Cannot read the secret "none": there is no such file'],
    [
      { secrets: [env('SECRET'), inFile('b')] },
      'Give one key to sign with: only one of "--secret-env SECRET", "--secret-file b"',
    ],
    [{ privateKey: 'p' }, 'Give one key to sign with: only one of "--private-key p", "--secret-env SECRET"'],
    [{ secrets: [inFile('p')] }, 'Cannot use the secret "p": it holds a PEM; give the file with "--private-key"'],
    [{ secrets: [inFile('e')] }, 'Cannot use the secret "e": the file is empty'],
    [
      { secrets: [], privateKey: 'p' },
      'Cannot use the private key "p": expected a PEM labelled "PRIVATE KEY", got "PUBLIC KEY"',
    ],
  ])('%j', (wrong, message) => {
    const outside = around({ b: body, p: pair.publicKeyPem, e: '\n' })
    expect(() => signInputOf({ ...flags, ...wrong }, outside, fresh)).toThrow(message)
  })

  test('no body at a terminal', () => {
    const { body: _, ...bare } = flags
    expect(() => signInputOf(bare, around(), fresh)).toThrow(
      'Give the body: "--body TEXT", "--body-file FILE" or stdin',
    )
  })
})

describe('verify', () => {
  const vectors = loadVectors(packageRoot)
  const asked = ({ input }: SignatureVector, header: string) => {
    const { secret, 'public-key': publicKey = '' } = input
    const key = secret === undefined ? { publicKey: 'p' } : { secrets: [inFile('s')] }
    const { scheme = 'svc-hmac-sha256', 'key-id': keyId, method, path: uri } = input
    // The line feed that ends a secret's file is dropped again.
    const outside = around({ p: publicKey, s: `${secret}\n` })
    const read = readCheck({ header, body: '', ...key, scheme, keyId, method, uri }, outside)
    return { ...read, body: vectorBytes(input.body) }
  }

  test.each(vectors.valid)('$id is valid', (vector) => {
    expect(verify(asked(vector, vector.expect.header))).toMatchObject({ valid: true })
  })

  test.each(vectors.invalid)('$id fails at one stage', (vector) => {
    const { valid, stages } = verify(asked(vector, vector.received))
    expect(valid).toBe(false)
    expect(stages.filter(({ ok }) => !ok).map(({ name }) => name)).toEqual([vector['fails-at']])
  })

  test.each(vectors.invalid.filter(({ contains }) => contains !== undefined))('$id is diagnosed', (vector) => {
    const { mistakes, alternatives } = diagnose(asked(vector, vector.received))
    expect([...mistakes, ...alternatives].map(({ id }) => id)).toContain(vector.contains)
  })

  test('points at the first byte in which the own data differ', () => {
    const mine = `1702555410352;q83vEjRWeJCrze8=;POST\n/api\n${body}`
    const { stages } = verify(check({ header: right, body, dataToSignFile: 'mine' }, around({ mine })))
    expect(stages.find(({ name }) => name === 'data-to-sign')).toEqual({
      name: 'data-to-sign',
      ok: false,
      expected: 'LF (0a) at line 3, byte 71',
      received: 'the end of the data',
    })
  })

  test('for people', () => {
    expect(verifyText(verify(check({ header: right, body })), right)).toBe(
      '✓ scheme\n✓ fields\n✓ version\n✓ timestamp\n✓ nonce\n✓ encoding\n✓ length\n✓ signature\n\nValid: every stage is right\n',
    )
    expect(verifyText(verify(check({ header: right.replace('CEbc', 'CEbd'), body })), right)).toContain(
      '✗ signature\n    expected  CEbcdnZhURk3xA0+RaC+UusqNCQ=\n    received  CEbddnZhURk3xA0+RaC+UusqNCQ=\n',
    )
  })
})

test('the received text is shown if the header has no scheme word', () => {
  const shown = (header: string) => verifyText(verify(check({ header, body })), header)
  expect(shown('foo')).toContain('✗ scheme\n    expected  svc-hmac-sha256\n    received  foo\n✗ fields')
  expect(shown('')).toContain('✗ scheme\n    expected  svc-hmac-sha256\n    received  (empty)\n')
})

describe('a curl line', () => {
  const start = `curl -H 'Authorization: ${right}' http://h/api`
  test.each([
    [
      `${start} --data-raw '{"id`,
      `the quote ' at character ${start.length + 13} of the curl line is not closed; paste the whole line`,
    ],
    [
      `${start} --data-raw $'{"a":"it\\'s`,
      `the quote ' at character ${start.length + 13} of the curl line is not closed`,
    ],
    [`${start} -d "{\\"id\\"`, `the quote " at character ${start.length + 5} of the curl line is not closed`],
    [
      `It's this:\n${start} \\\r\n -d '{`,
      `the quote ' at character ${start.length + 20} of the curl line is not closed`,
    ],
    [`curl -H 'Authorization: ${right}`, `the quote ' at character 9 of the curl line is not closed`],
  ])('that was cut off is refused: %s', (header, message) => {
    expect(() => check({ header })).toThrow(`Cannot read "--header": ${message}`)
  })

  test.each([
    [`${start} --data-raw '{"a":"it'\\''s"}' | jq '.`],
    [`It's this:\n  ${start} -d '{}x'\nit's all`],
    [`POST /api HTTP/1.1\nAuthorization: ${right}\n\nit's\ncurl '`],
    [`${start} -d "it's" -d $'it\\'s' -d \\' -d '$HOME' -d "\\""`],
  ])('that is whole is taken: %s', (header) => {
    expect(check({ header }).body.length).toBeGreaterThan(2)
  })
})

test('a part that is not in the text is said, and what a script has on standard input is not taken for it', () => {
  const line = `curl -H 'Authorization: ${right}' http://h/api -d "$BODY"`
  for (const stdin of [null, ''])
    expect(() => check({ header: line }, around({}, stdin))).toThrow(
      'Cannot take the body from "--header": it is computed where the call is made, so its value is not in this text; give the body as it was sent with "--body-file FILE"',
    )
  for (const given of [check({ header: line, body }), check({ header: line }, around({}, body))])
    expect(verify(given).valid).toBe(true)
  expect(() => check({ header: line.replace(right, '$AUTH').replaceAll("'", '"'), body })).toThrow(
    'Cannot take the Authorization header from "--header": it is computed where the call is made',
  )
  const get = `curl -G -H 'Authorization: ${right}' http://h/api -d '${body}'`
  expect(() => check({ header: get })).toThrow('curl -G puts it into the URL')
  expect(verify(check({ header: get, body })).valid).toBe(false)
})

describe('keys', () => {
  const parsed = (...argv: string[]) =>
    addCheckFlags(new Command().exitOverride())
      .parse(['--header', right, '--body', body, ...argv], { from: 'user' })
      .opts<CheckFlags>()
  const named = ({ key, otherKeys = [] }: ReturnType<typeof readCheck>) =>
    [key, ...otherKeys.map((other) => other.key)].map((one) =>
      one.kind === 'secret' ? new TextDecoder().decode(utf8OrBytes(one.secret)) : one.kind,
    )
  const utf8OrBytes = (secret: string | Uint8Array) => (typeof secret === 'string' ? utf8(secret) : secret)
  const outside = around({ f: 'from-file', p: pair.publicKeyPem })

  test.each([
    [
      ['--secret-file', 'f', '--secret-env', 'OTHER', '--secret-env', 'SECRET'],
      ['from-file', 'other', 'not-a-secret-0001'],
    ],
    [
      ['--secret-env', 'OTHER', '--secret-file', 'f'],
      ['other', 'from-file'],
    ],
  ])('the first secret is the right one: %j', (argv, secrets) => {
    expect(named(readCheck(parsed(...argv), outside))).toEqual(secrets)
  })

  test('verify takes a public key or a secret', () => {
    const both = parsed('--secret-env', 'OTHER', '--public-key', 'p')
    expect(() => verifyInputOf(both, outside)).toThrow(
      'Give one key to verify with: only one of "--public-key p", "--secret-env OTHER"',
    )
    expect(named(readCheck(both, outside))).toEqual(['ed25519-public', 'other'])
    const twoSecrets = parsed('--secret-env', 'SECRET', '--secret-env', 'OTHER')
    expect(verify(verifyInputOf(twoSecrets, outside)).valid).toBe(true)
  })
})
