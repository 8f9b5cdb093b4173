import { generateKeyPairSync } from 'node:crypto'
import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { SuiteError } from '../../engine/errors.ts'
import type { RunFlags } from './flags.ts'
import { readRunOptions } from './options.ts'

const folder = mkdtempSync(join(tmpdir(), 'svc-run-options-'))
const url = 'https://service.example'
const pkcs8 = {
  modulusLength: 1024,
  publicKeyEncoding: { type: 'spki', format: 'pem' },
  privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
} as const
const key = { keyId: 'id-1', keySecret: 'secret-1' }

function file(name: string, text: string): string {
  const path = join(folder, name)
  writeFileSync(path, text)
  return path
}

function refusal(flags: RunFlags, env: { [name: string]: string } = {}): string {
  try {
    readRunOptions(flags, env)
  } catch (error) {
    if (error instanceof SuiteError && error.exitCode === 2) return error.message
    throw error
  }
  throw new Error('expected a refusal')
}

describe('wrong usage', () => {
  const nameless = file('nameless.yaml', 'allow: [keys]\n')
  const twice = file('twice.yaml', 'root: { id: a, secret: b, privateKeyFile: c }\n')
  const unknown = file('unknown.yaml', 'url: https://a.example\nalow: [keys]\n')
  const emptySecret = file('empty.txt', '\n')
  const notAKey = file('not-a-key.pem', 'hello\n')
  const rsaKey = file('rsa.pem', String(generateKeyPairSync('rsa', pkcs8).privateKey))
  test.each<[string, RunFlags, string]>([
    [
      'no key',
      { url },
      'Name the API key to use at "https://service.example": set SVC_KEY_ID and SVC_KEY_SECRET, or "root" in a target file',
    ],
    [
      'no secret',
      { url, keyId: 'a' },
      'Give the secret of the API key to use at "https://service.example": set SVC_KEY_ID and SVC_KEY_SECRET, or "root" in a target file',
    ],
    ['a key without a URL', { keyId: 'a' }, 'Name the target: "--key-id" needs "--url"'],
    [
      'no URL',
      { url: 'service.example', ...key },
      'Cannot use the URL "service.example": begin it with "https://", as in "https://service.example"',
    ],
    [
      'a URL with a password',
      { url: 'https://u:hush@a.example', ...key },
      'Remove the user and password from the URL: the key is given by SVC_KEY_ID and SVC_KEY_SECRET',
    ],
    [
      'a URL with a query',
      { url: 'https://a.example/?x=1', ...key },
      'Remove "?x=1" from the URL: it is the part before "/api"',
    ],
    [
      'two secrets',
      { url, ...key, keySecretFile: 'x' },
      'Give the key once: only one of "--key-secret", "--key-secret-file", "--private-key"',
    ],
    [
      'an unknown class',
      { url, ...key, allow: 'session' },
      'Unknown value "session" for "--allow", did you mean "sessions"?',
    ],
    ['an unknown format', { report: ['jsn=x'] }, 'Unknown value "jsn" for "--report", did you mean "json"?'],
    [
      'two reports on stdout',
      { report: ['text', 'json'] },
      'Only one report fits on stdout: give "text" or "json" a file, as in "--report json=FILE"',
    ],
    [
      'a report without a file name',
      { report: ['json='] },
      'Name the file of "--report json=", as in "--report json=report.json"',
    ],
    ['a skip without a reason', { skip: ['tokens'] }, 'Give a reason: "--skip tokens=why it is left out"'],
    [
      'a text that is no shard',
      { shard: '3/2' },
      'Cannot use "3/2" for "--shard": expected I/N with I from 1 to N, such as "1/4"',
    ],
    [
      'a text that is no rate',
      { url, ...key, rate: 'fast' },
      'Cannot use "fast" for "--rate": expected a number, 0 or more',
    ],
    ['a rate without a target', { rate: '5' }, 'Name the target: "--rate" needs "--url"'],
    ['a permission without a target', { allow: 'keys' }, 'Name the target: "--allow" needs "--url"'],
    ['no time at all', { timeout: '0' }, 'Cannot use "0" for "--timeout": expected a number of seconds above 0'],
    [
      'a time with its unit',
      { timeout: '5s' },
      'Cannot use "5s" for "--timeout": expected a number of seconds above 0',
    ],
    [
      'an empty scheme',
      { url, ...key, scheme: '' },
      'Cannot use "" for "--scheme": expected one word, such as "svc-hmac-sha256"',
    ],
    [
      'a scheme of two words',
      { url, ...key, scheme: 'a b' },
      'Cannot use "a b" for "--scheme": expected one word, such as "svc-hmac-sha256"',
    ],
    [
      'one file for two reports',
      { report: ['json=a.out', 'html=./a.out'] },
      'Only one report fits into "./a.out": give "json" or "html" another file',
    ],
    [
      'a target file that names no target',
      { target: nameless },
      `Name the target: "${nameless}" has no "url", and there is no "--url" or SVC_URL`,
    ],
    [
      'a baseline without a name',
      { updateKnown: true },
      'Name the baseline to write: "--update-known" needs "--known FILE"',
    ],
    [
      'a missing target file',
      { target: 'nope.yaml' },
      'Cannot read the target file "nope.yaml": there is no such file',
    ],
    [
      'a text that is no private key',
      { url, keyId: 'a', privateKey: notAKey },
      `Cannot use the private key "${notAKey}": expected a PEM that begins with "-----BEGIN PRIVATE KEY-----"`,
    ],
    [
      'an empty secret',
      { url, keyId: 'a', keySecretFile: emptySecret },
      `Cannot use the key secret "${emptySecret}": the file is empty`,
    ],
    [
      'a private key of another kind',
      { url, keyId: 'a', privateKey: rsaKey },
      `Cannot use the private key "${rsaKey}": expected an Ed25519 private key in PKCS#8, got another kind of key`,
    ],
    [
      'a secret and a private key in the file',
      { target: twice },
      `Cannot load ${twice}:1:27: a key has a secret or a private key, name one of "secret" and "privateKeyFile"`,
    ],
    [
      'an unknown key in the file',
      { target: unknown },
      `Cannot load ${unknown}:2:1: unknown key "alow", did you mean "allow"?`,
    ],
  ])('%s', (_, flags, message) => {
    expect(refusal(flags)).toBe(message)
  })

  test('a scheme of two words in the environment', () => {
    expect(refusal({ url, ...key }, { SVC_SCHEME: 'a b' })).toContain('Cannot use "a b" for "SVC_SCHEME"')
  })

  test('a shard on a shared URL', () => {
    expect(refusal({ url, ...key, shard: '1/2' })).toContain(
      'give each shard its own instance and say so with "--disposable"',
    )
    expect(readRunOptions({ url, ...key, shard: '1/2', disposable: true }, {}).selection.shard).toEqual({
      index: 1,
      count: 2,
    })
  })

  test.each([
    ['url: 7', 'this is not a base URL, http or https; calls go to {url}/api'],
    ['root: { secret: x }', 'missing key "id" in the key that the run uses: id with secret, or id with privateKeyFile'],
    ['allow: [session]', 'this is not a safety class, did you mean "sessions"?'],
    ['rate: -1', 'this is not a number of calls a second, 0 for no limit'],
    ['secondAddress: localhost', 'this is not an IPv4 address, such as 127.0.0.2'],
    ['clientAddress: 300.0.0.1', 'this is not an IPv4 address, such as 127.0.0.2'],
    ['headers: { "a b": c }', '"a b" is not a header name'],
    ['probes: { context: { params: {} } }', 'missing key "method" in a call: method, params'],
    ['requestTimeoutMs: 1.5', 'this is not a number of milliseconds, 1 or more'],
    ['tls: { insecur: true }', 'unknown key "insecur", did you mean "insecure"?'],
    ['- url', 'this is not a map of what is known about the target'],
  ])('in the target file: %s', (text, message) => {
    expect(refusal({ target: file('one.yaml', `${text}\n`) })).toContain(message)
  })
})

test.each([
  [{ seed: '-1' }, 'Cannot use "-1" for "--seed": expected a whole number below 4294967296'],
  [{ bail: '0' }, 'Cannot use "0" for "--bail": expected a whole number, 1 or more'],
  [{ watch: true }, 'Name the target: "--watch" waits for a server to come back, and needs "--url"'],
  [{ set: '0.9' }, 'Unknown value "0.9" for "--set"'],
])('%j is refused', (flags, message) => {
  expect(refusal(flags)).toContain(message)
})
