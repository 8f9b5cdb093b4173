import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { utf8 } from '../../engine/signer/bytes.ts'
import { ed25519KeyPair } from '../../engine/signer/pem.ts'
import type { RunFlags } from './flags.ts'
import { readRunOptions, type TargetOptions } from './options.ts'

const folder = mkdtempSync(join(tmpdir(), 'svc-run-options-'))
const url = 'https://service.example'
const key = { keyId: 'id-1', keySecret: 'secret-1' }

function file(name: string, text: string): string {
  const path = join(folder, name)
  writeFileSync(path, text)
  return path
}

function targetOf(flags: RunFlags, env: { [name: string]: string } = {}): TargetOptions {
  const { target } = readRunOptions(flags, env)
  if (target === null) throw new Error('expected a target')
  return target
}

describe('who wins', () => {
  const target = file(
    'all.yaml',
    `url: https://from-file.example/base/
root: { id: file-id, secret: file-secret }
scheme: file-scheme
tokenPrefix: FileToken
signedUri: /signed
scopeNames: { apikey: apiKey }
allow: [sessions, keys]
testKeys: test-keys.json
secondAddress: 127.0.0.2
clientAddress: 127.0.0.1
probes: { context: { method: context/list, scope: ['solution:*'] }, disable: { method: manager/updateApiKey, params: { id: $id } } }
solutions: [A, B]
cleanup: { method: manager/deleteApiKey, params: { id: $id } }
requestTimeoutMs: 5000
maxAnswerBytes: 1000
concurrency: 2
absent: [inbox]
rate: 20
headers: { x-tenant: a, x-api-key: header-secret }
tls: { insecure: true }
`,
  )

  test('the target file alone is enough', () => {
    expect(readRunOptions({ target }, { XDG_STATE_HOME: '/state', HTTPS_PROXY: 'proxy.example:3128' })).toEqual({
      target: {
        url: 'https://from-file.example/base',
        root: { id: 'file-id', kind: 'secret', secret: 'file-secret' },
        settings: {
          scheme: 'file-scheme',
          tokenPrefix: 'FileToken',
          signedUri: '/signed',
          scopeNames: { apikey: 'apiKey' },
          headers: { 'x-tenant': 'a', 'x-api-key': 'header-secret' },
          probes: {
            context: { method: 'context/list', params: {}, scope: ['solution:*'] },
            disable: { method: 'manager/updateApiKey', params: { id: '$id' } },
          },
          solutions: ['A', 'B'],
          cleanup: { method: 'manager/deleteApiKey', params: { id: '$id' } },
          secondAddress: '127.0.0.2',
          clientAddress: '127.0.0.1',
          absent: ['inbox'],
          concurrency: 2,
          rate: 20,
          maxWaitMs: 10_000,
        },
        requestTimeoutMs: 5000,
        maxAnswerBytes: 1000,
        proxy: 'http://proxy.example:3128',
        tls: { insecure: true },
        disposable: false,
        allow: ['sessions', 'keys'],
        keys: {
          owner: { url: 'https://from-file.example/base', rootId: 'file-id' },
          folder: join('/state', 'svc-conformance'),
          testKeysFile: join(folder, 'test-keys.json'),
          mayCreate: true,
          fresh: false,
        },
      },
      selection: {
        only: [],
        rowsAlone: false,
        skip: [],
        shard: null,
        failed: null,
        fixtures: null,
        seed: null,
        watch: false,
      },
      limits: { waitSeconds: 0, timeoutSeconds: null, bail: null },
      reporting: {
        known: null,
        updateKnown: false,
        strict: false,
        set: 'current',
        observations: false,
        reports: [{ format: 'text', file: null }],
        trace: false,
        again: `npx svc-conformance run --url https://from-file.example/base --target ${target} --allow sessions,keys`,
      },
      explore: null,
      plan: false,
      inputs: [{ what: 'the target file', file: target }],
    })
  })

  const env = {
    SVC_URL: 'http://from-env.example',
    SVC_KEY_ID: 'env-id',
    SVC_KEY_SECRET: 'env-secret',
    SVC_SCHEME: 'env-scheme',
    SVC_ALLOW: 'limits',
  }

  test('the environment wins over the target file', () => {
    const { url: seen, root, settings, allow } = targetOf({ target }, env)
    expect([seen, root, settings.scheme, allow]).toEqual([
      'http://from-env.example',
      { id: 'env-id', kind: 'secret', secret: 'env-secret' },
      'env-scheme',
      ['limits'],
    ])
  })

  test('flags win over both', () => {
    const flags = {
      target,
      url,
      ...key,
      scheme: 'flag-scheme',
      tokenPrefix: '',
      allow: 'keys, sessions',
      rate: '5',
      wait: '3',
    }
    const { url: seen, root, settings, allow } = targetOf(flags, env)
    const { waitSeconds } = readRunOptions(flags, env).limits
    expect([
      seen,
      root,
      settings.scheme,
      settings.tokenPrefix,
      allow,
      settings.rate,
      settings.maxWaitMs,
      waitSeconds,
    ]).toEqual([
      url,
      { id: 'id-1', kind: 'secret', secret: 'secret-1' },
      'flag-scheme',
      '',
      ['sessions', 'keys'],
      5,
      3000,
      3,
    ])
  })

  test('a variable that is set to nothing is not given', () => {
    expect(targetOf({ target }, { SVC_URL: '', SVC_KEY_ID: '', SVC_KEY_SECRET: '' }).root).toMatchObject({
      id: 'file-id',
    })
  })

  test('a private key wins over a secret that a later place names', () => {
    const privateKey = file('key.pem', ed25519KeyPair(utf8('an Ed25519 seed of 32 bytes ....')).privateKeyPem)
    expect(targetOf({ target, privateKey }, env).root).toMatchObject({ id: 'env-id', kind: 'ed25519' })
  })

  test('a secret in a file loses its last line break only', () => {
    const keySecretFile = file('secret.txt', ' s e c r e t \n')
    expect(targetOf({ url, keyId: 'i', keySecretFile }).root).toMatchObject({ secret: ' s e c r e t ' })
  })
})

test('--disposable opens every class', () => {
  const { target, reporting } = readRunOptions({ url, ...key, disposable: true }, {})
  const { again } = reporting
  expect(target?.allow).toEqual(['sessions', 'keys', 'limits'])
  expect(again).toBe('npx svc-conformance run --url https://service.example --disposable')
})

test('the command that repeats a run names the same own fixtures', () => {
  const { again } = readRunOptions({ url, ...key, fixtures: 'my own/found' }, {}).reporting
  expect(again).toBe("npx svc-conformance run --url https://service.example --fixtures 'my own/found'")
})

test('the command that repeats a run holds no secret', () => {
  const { again } = readRunOptions({ url, ...key, keyId: 'id-1' }, {}).reporting
  expect(again).not.toContain('secret-1')
})

test('everything has a value without flags, environment and file', () => {
  expect(readRunOptions({}, {}).target).toBeNull()
  expect(targetOf({ url, ...key })).toMatchObject({
    allow: [],
    settings: { scheme: 'svc-hmac-sha256', signedUri: '/api', rate: 0 },
  })
})

test.each([
  ['localhost:8080', 'http://localhost:8080'],
  ['127.0.0.1:8080/base/', 'http://127.0.0.1:8080/base'],
  ['[::1]:8080', 'http://[::1]:8080'],
])('a host on this machine is reached by http: %s', (given, meant) => {
  expect(targetOf({ ...key, url: given }).url).toBe(meant)
})

test('what runs, how long, and by which set', () => {
  const { selection, limits, reporting } = readRunOptions(
    {
      url,
      ...key,
      seed: '7',
      bail: '2',
      failed: 'r.json',
      fixtures: 'own',
      watch: true,
      observations: true,
      set: 'current',
    },
    {},
  )
  expect([selection.seed, selection.failed, selection.fixtures, selection.watch]).toEqual([7, 'r.json', 'own', true])
  expect([limits.bail, reporting.observations, reporting.set]).toEqual([2, true, 'current'])
})

test('reports, skips and shards are read', () => {
  const { reporting, selection } = readRunOptions(
    { report: ['text', 'json=a=b.json', 'html=r.html'], skip: ['tokens=it is slow = really'], shard: '2/4' },
    {},
  )
  expect(reporting.reports).toEqual([
    { format: 'text', file: null },
    { format: 'json', file: 'a=b.json' },
    { format: 'html', file: 'r.html' },
  ])
  expect(selection.skip).toEqual([{ id: 'tokens', reason: 'it is slow = really' }])
  expect(selection.shard).toEqual({ index: 2, count: 4 })
})

describe('the calls of the model', () => {
  const read = (flags: Parameters<typeof readRunOptions>[0], url = 'http://127.0.0.1:1') =>
    readRunOptions({ url, keyId: 'id', keySecret: 'secret', ...flags }, {}).explore

  test('none on a live server without a flag, and none where only a part runs', () => {
    expect(read({})).toBeNull()
    expect(read({ disposable: true, only: ['basic'] })).toBeNull()
    expect(read({ disposable: true, explore: false })).toBeNull()
  })

  test('16000 calls on the loopback, 1000 elsewhere, or as many as are wanted', () => {
    expect(read({ disposable: true })).toEqual({ calls: 16000, only: null })
    expect(read({ explore: true }, 'https://service.example')).toEqual({ calls: 1000, only: null })
    expect(read({ explore: true, exploreCalls: '70' })).toEqual({ calls: 70, only: null })
  })

  test('rows of the table or the matrix that --only names, and then no cases', () => {
    const flags = { url: 'http://127.0.0.1:1', keyId: 'id', keySecret: 'secret', only: ['table/basic/basic-secret'] }
    const { explore, selection } = readRunOptions(flags, {})
    expect(explore).toEqual({ calls: 16000, only: ['table/basic/basic-secret'] })
    expect(selection).toMatchObject({ only: [], rowsAlone: true })
  })

  test.each([
    ['--explore', { explore: true }],
    ['--explore-calls', { exploreCalls: '10' }],
    ['--only matrix/12', { only: ['basic', 'matrix/12'] }],
  ])('%s needs a URL', (flag, flags) => {
    expect(() => readRunOptions(flags, {})).toThrow(`"${flag}" needs "--url"`)
  })
})

test.each(['/', '//', '?', '/?', '/#', '#'])('a base URL may end with "%s"', (end) => {
  expect(targetOf({ url: `${url}${end}`, ...key }).url).toBe(url)
  expect(targetOf({ url: `${url}/v1${end}`, ...key }).url).toBe(`${url}/v1`)
})
