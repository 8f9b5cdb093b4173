import { generateKeyPairSync } from 'node:crypto'
import { linkSync, mkdirSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import { SuiteError } from '../engine/errors.ts'
import { utf8 } from '../engine/signer/bytes.ts'
import { ed25519KeyPair } from '../engine/signer/pem.ts'
import { openFolder } from '../self/temporary.ts'
import { demandOwnFiles, readRunOptions, type TargetOptions } from './options.ts'

type Typed = Parameters<typeof readRunOptions>[0]

const { folder, at: place, write: file } = openFolder()
const url = 'https://service.example'
const key = { keyId: 'id-1', keySecret: 'secret-1' }

/** What is read for a run against a server, with its key. */
const readFor = (flags: Typed = {}, env = {}) => readRunOptions({ url, ...key, ...flags }, env)

function targetOf(flags: Typed, env: { [name: string]: string } = {}): TargetOptions {
  const { target } = readRunOptions(flags, env)
  if (target === null) throw new Error('expected a target')
  return target
}

describe('who wins', () => {
  const text = `url: https://from-file.example/base/
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
`
  const target = file('all.yaml', text)
  const ofFile = { id: 'file-id', kind: 'secret', secret: 'file-secret' }

  test('the target file alone is enough', () => {
    const env = { XDG_STATE_HOME: '/state', HTTPS_PROXY: 'proxy.example:3128' }
    const { url, root, testKeys, allow, requestTimeoutMs, maxAnswerBytes, tls, ...settings } = parse(text)
    const context = { ...settings.probes.context, params: {} }
    expect(targetOf({ target }, env)).toMatchObject({
      settings: { ...settings, probes: { ...settings.probes, context }, maxWaitMs: 10_000 },
      ...{ url: url.slice(0, -1), root: ofFile, allow, requestTimeoutMs, maxAnswerBytes, tls },
      proxy: 'http://proxy.example:3128',
      disposable: false,
      stateFolder: join('/state', 'svc-conformance'),
      testKeysFile: place(testKeys),
      inputs: [{ what: 'the target file', file: target }],
      doubts: [],
    })
    const again = `npx svc-conformance run --url https://from-file.example/base --target ${target}`
    expect(readRunOptions({ target }, env).again).toBe(`${again} --allow sessions,keys`)
  })

  const env = {
    SVC_URL: 'http://from-env.example',
    SVC_KEY_ID: 'env-id',
    SVC_KEY_SECRET: 'env-secret',
    SVC_SCHEME: 'env-scheme',
    SVC_ALLOW: 'limits',
  }
  const ofEnv = { id: 'env-id', kind: 'secret', secret: 'env-secret' }
  const flags = { target, url, ...key, scheme: 'flag-scheme', allow: 'keys, sessions' }
  const privateKey = file('key.pem', ed25519KeyPair(utf8('an Ed25519 seed of 32 bytes ....')).privateKeyPem)
  const ofSpaces = file('secret.txt', ' s e c r e t \n')
  const withSpaces = { root: { secret: ' s e c r e t ' } }
  const unset = { SVC_URL: '', SVC_KEY_ID: '', SVC_KEY_SECRET: '' }
  const inEnv = { url: env.SVC_URL, root: ofEnv, settings: { scheme: 'env-scheme' }, allow: ['limits'] }
  const ofFlags = { settings: { scheme: 'flag-scheme' }, allow: ['sessions', 'keys'] }
  const inFlags = { url, root: { id: 'id-1', secret: 'secret-1' }, ...ofFlags }
  test.each<[string, Typed, { [name: string]: string }, object]>([
    ['the environment wins over the target file', { target }, env, inEnv],
    ['flags win over both', flags, env, inFlags],
    ['a variable that is set to nothing is not given', { target }, unset, { root: ofFile }],
    ['a private key wins over a later secret', { target, privateKey }, env, { root: { kind: 'ed25519' } }],
    ['a secret in a file loses its last line break', { target, keySecretFile: ofSpaces }, {}, withSpaces],
  ])('%s', (_who, given, variables, wanted) => {
    expect(targetOf(given, variables)).toMatchObject(wanted)
  })
})

describe('what was added to a secret is said, and nothing is taken away', () => {
  const used = 'give it without, unless the secret has it'
  test.each([
    ['orchard-lamp-7731\n', 'ends with a line feed'],
    ['orchard-lamp-7731\r', 'ends with a carriage return'],
    ['orchard-lamp-7731\r\n', 'ends with a carriage return and a line feed'],
    ['"orchard-lamp-7731"', 'stands in quotes'],
    ["'orchard-lamp-7731'", 'stands in quotes'],
    ['“orchard-lamp-7731”', 'stands in quotes'],
    ['\ufefforchard-lamp-7731', 'begins with a byte order mark'],
    [' orchard-lamp-7731', 'begins or ends with white space'],
  ])('%j in the environment', (secret, what) => {
    const { root, doubts } = targetOf({ url }, { SVC_KEY_ID: 'key-7', SVC_KEY_SECRET: secret })
    expect(root).toEqual({ id: 'key-7', kind: 'secret', secret })
    expect(doubts).toEqual([`SVC_KEY_SECRET ${what}, and is used as it is: ${used}`])
  })

  test('in the key id, too', () => {
    const { root, doubts } = targetOf({ url }, { SVC_KEY_ID: '"key-7"', SVC_KEY_SECRET: 'orchard-lamp-7731' })
    expect(root.id).toBe('"key-7"')
    expect(doubts).toEqual(['The key id stands in quotes, and is used as it is: give it without, unless the id has it'])
  })

  test.each(['orchard-lamp-7731', 'or"chard', '"orchard', 'two words', '"'])('nothing about %j', (keySecret) => {
    expect(targetOf({ url, keyId: 'key-7', keySecret }).doubts).toEqual([])
  })

  test('a file in quotes is named, as in the command that repeats the run; its last line feed is no part of the secret', () => {
    const keySecretFile = file('quoted.txt', '"orchard-lamp-7731"\n')
    const { target, again } = readRunOptions({ url, keyId: 'key-7', keySecretFile }, {})
    expect(target?.doubts).toEqual([`"${keySecretFile}" stands in quotes, and is used as it is: ${used}`])
    expect(again).toContain(` --key-id key-7 --key-secret-file ${keySecretFile}`)
  })
})

test.each<[Typed, string]>([
  [{ disposable: true }, '--key-id id-1 --disposable'],
  [{ fixtures: 'my own/found' }, "--fixtures 'my own/found' --key-id id-1"],
  [{ rate: '5', concurrency: '2' }, '--key-id id-1 --rate 5 --concurrency 2'],
])('the command that repeats a run with %j has no secret', (flags, part) => {
  const { target, again } = readFor(flags)
  expect(target?.allow).toEqual(flags.disposable ? ['sessions', 'keys', 'limits'] : [])
  expect(again).toBe(`npx svc-conformance run --url https://service.example ${part}`)
})

test('everything has a value without flags, environment and file', () => {
  const selection = { only: [], rowsAlone: false, skip: [], shard: null, failed: null, fixtures: null, set: 'current' }
  const judging = { known: null, updateKnown: false, strict: false, observations: false, trace: false, explore: null }
  const time = { seed: null, watch: false, wait: null, timeout: null, bail: null, plan: false }
  const report = [{ format: 'text', file: null }]
  expect(readRunOptions({}, {})).toMatchObject({ target: null, ...selection, ...judging, ...time, report })
  const settings = { scheme: 'svc-hmac-sha256', signedUri: '/api', rate: 0 }
  expect(readFor().target).toMatchObject({ allow: [], settings })
})

test.each([
  ['localhost:8080', 'http://localhost:8080'],
  ['127.0.0.1:8080/base/', 'http://127.0.0.1:8080/base'],
  ['[::1]:8080', 'http://[::1]:8080'],
])('a host on this machine is reached by http: %s', (given, meant) => {
  expect(targetOf({ ...key, url: given }).url).toBe(meant)
})

test('what runs, how long, and by which set', () => {
  const flags = { failed: 'r.json', fixtures: 'own', watch: true, observations: true, set: 'current' }
  expect(readFor({ ...flags, seed: '7', bail: '2' })).toMatchObject({ ...flags, seed: 7, bail: 2 })
})

test('the command that repeats the run keeps what decides what is run and how it is judged, that of a case what matters to it', () => {
  const judging = { set: '1.0', known: 'known.yaml', strict: true, wait: '90' }
  const calls = { skip: ['basic=none yet', 'limits=full'], explore: false, exploreCalls: '7' }
  const { again, againForCase } = readFor({ ...judging, ...calls, bail: '1', trace: true })
  const ofCase = `npx svc-conformance run --url ${url} --key-id id-1 --wait 90 --set 1.0 --known known.yaml --strict`
  expect(againForCase).toBe(ofCase)
  expect(again).toBe(`${ofCase} --skip 'basic=none yet' --skip limits=full --no-explore --explore-calls 7`)
  expect(readFor({ explore: true }).again).toBe(`npx svc-conformance run --url ${url} --key-id id-1 --explore`)
})

test('reports, skips and shards are read', () => {
  const asked = { report: ['text', 'json=a=b.json', 'html=r.html'], skip: ['tokens=it is slow = really'], shard: '2/4' }
  const { report, skip, shard } = readRunOptions(asked, {})
  const files = report.map(({ format, file }) => `${format} ${file}`)
  expect(files).toEqual(['text null', 'json a=b.json', 'html r.html'])
  expect(skip).toEqual([{ id: 'tokens', reason: 'it is slow = really' }])
  expect(shard).toEqual({ index: 2, count: 4 })
})

describe('the calls of the model', () => {
  const here = { url: 'http://127.0.0.1:1', ...key }
  const row = 'table/basic/basic-secret'
  test.each<[string, Typed, { calls: number; only: string[] | null } | null]>([
    ['none on a live server without a flag', {}, null],
    ['none where only a part runs', { disposable: true, only: ['basic'] }, null],
    ['none where they are not wanted', { disposable: true, explore: false }, null],
    ['16000 on the loopback', { disposable: true }, { calls: 16_000, only: null }],
    ['1000 elsewhere', { explore: true, url }, { calls: 1000, only: null }],
    ['as many as are wanted', { explore: true, exploreCalls: '70' }, { calls: 70, only: null }],
    ['rows of the table or the matrix that --only names', { only: [row] }, { calls: 16_000, only: [row] }],
  ])('%s', (_what, flags, calls) => {
    expect(readRunOptions({ ...here, ...flags }, {}).explore).toEqual(calls)
  })

  test('where --only names rows, no cases run', () => {
    expect(readRunOptions({ ...here, only: [row] }, {})).toMatchObject({ only: [], rowsAlone: true })
  })

  test('a number of calls that nothing makes is said', () => {
    const doubtsOf = (more: Typed) => targetOf({ ...here, exploreCalls: '70', ...more }).doubts
    for (const idle of [{}, { disposable: true, only: ['basic'] }, { noExplore: true }])
      expect(doubtsOf(idle), JSON.stringify(idle)).toEqual([expect.stringContaining('"--explore-calls" has no effect')])
    for (const used of [{ explore: true }, { disposable: true }]) expect(doubtsOf(used)).toEqual([])
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

const pkcs8 = {
  modulusLength: 1024,
  publicKeyEncoding: { type: 'spki', format: 'pem' },
  privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
} as const
function refusalOf(act: () => unknown): string | undefined {
  try {
    act()
  } catch (error) {
    if (error instanceof SuiteError && error.exitCode === 2) return error.message
    throw error
  }
  return undefined
}

const refusal = (flags: Typed, env: { [name: string]: string } = {}) => refusalOf(() => readRunOptions(flags, env))

describe('wrong usage', () => {
  const linked = file('linked.out', '')
  const link = place('link.out')
  symlinkSync(linked, link)
  // To what is not there yet, through each other and through a folder.
  mkdirSync(place('sub'))
  symlinkSync(place('sub'), place('to-sub'))
  symlinkSync('../new.out', place('sub', 'ahead.out'))
  symlinkSync('to-sub/ahead.out', place('further.out'))
  const nameless = file('nameless.yaml', 'allow: [keys]\n')
  const emptySecret = file('empty.txt', '\n')
  const notAKey = file('not-a-key.pem', 'hello\n')
  const rsaKey = file('rsa.pem', String(generateKeyPairSync('rsa', pkcs8).privateKey))
  const withUser = 'Remove the user and password from the URL: the key is given by SVC_KEY_ID and SVC_KEY_SECRET'
  const keyFlags = '"--key-secret", "--key-secret-file", "--private-key"'
  const anotherFile = 'give "text" or "json" a file, as in "--report json=FILE"'
  const noPem = 'expected a PEM that begins with "-----BEGIN PRIVATE KEY-----"'
  const ofAnotherKind = 'expected an Ed25519 private key in PKCS#8, got another kind of key'
  const withKey = (privateKey: string): Typed => ({ url, keyId: 'a', privateKey })
  const samePlaces = ['further.out', 'to-sub/ahead.out', 'to-sub/../new.out', 'sub/../sub/ahead.out']
  const bothInto = (one: string, other: string): [Typed, string] => [
    { report: [`json=${one}`, `html=${other}`] },
    `Only one report fits into "${other}": give "json" or "html" another file`,
  ]
  const keyPlaces = 'set SVC_KEY_ID and SVC_KEY_SECRET, or "root" in a target file'
  test.each<[Typed, string]>([
    [{ url }, `Name the API key to use at "https://service.example": ${keyPlaces}`],
    [{ url, keyId: 'a' }, `Give the secret of the API key to use at "https://service.example": ${keyPlaces}`],
    [{ keyId: 'a' }, 'Name the target: "--key-id" needs "--url"'],
    [
      { url: 'a.example', ...key },
      'Cannot use the URL "a.example": begin it with "https://", as in "https://a.example"',
    ],
    [{ url: 'https://u:hush@a.example', ...key }, withUser],
    [{ url: 'https://a.example/?x=1', ...key }, 'Remove "?x=1" from the URL: it is the part before "/api"'],
    [{ url, ...key, keySecretFile: 'x' }, `Give the key once: only one of ${keyFlags}`],
    [{ url, ...key, allow: 'session' }, 'Unknown value "session" for "--allow", did you mean "sessions"?'],
    [{ report: ['jsn=x'] }, 'Unknown value "jsn" for "--report", did you mean "json"?'],
    [{ report: ['text', 'json'] }, `Only one report fits on stdout: ${anotherFile}`],
    [{ report: ['json='] }, 'Name the file of "--report json=", as in "--report json=report.json"'],
    [{ skip: ['tokens'] }, 'Give a reason: "--skip tokens=why it is left out"'],
    [{ shard: '3/2' }, 'Cannot use "3/2" for "--shard": expected I/N with I from 1 to N, such as "1/4"'],
    [{ url, ...key, rate: 'fast' }, 'Cannot use "fast" for "--rate": expected a number, 0 or more'],
    [{ rate: '5' }, 'Name the target: "--rate" needs "--url"'],
    [{ allow: 'keys' }, 'Name the target: "--allow" needs "--url"'],
    [{ seed: '-1' }, 'Cannot use "-1" for "--seed": expected a whole number below 4294967296'],
    [{ bail: '0' }, 'Cannot use "0" for "--bail": expected a whole number, 1 or more'],
    [{ watch: true }, 'Name the target: "--watch" waits for a server to come back, and needs "--url"'],
    [{ timeout: '0' }, 'Cannot use "0" for "--timeout": expected a number of seconds above 0'],
    [{ timeout: '5s' }, 'Cannot use "5s" for "--timeout": expected a number of seconds above 0'],
    [{ url, ...key, scheme: '' }, 'Cannot use "" for "--scheme": expected one word, such as "svc-hmac-sha256"'],
    [{ url, ...key, scheme: 'a b' }, 'Cannot use "a b" for "--scheme": expected one word, such as "svc-hmac-sha256"'],
    bothInto('a.out', './a.out'),
    bothInto(linked, link),
    ...samePlaces.map((name) => bothInto(place('new.out'), `${folder}/${name}`)),
    [{ target: nameless }, `Name the target: "${nameless}" has no "url", and there is no "--url" or SVC_URL`],
    [{ updateKnown: true }, 'Name the baseline to write: "--update-known" needs "--known FILE"'],
    [{ target: 'nope.yaml' }, 'Cannot read the target file "nope.yaml": there is no such file'],
    [withKey(notAKey), `Cannot use the private key "${notAKey}": ${noPem}`],
    [{ url, keyId: 'a', keySecretFile: emptySecret }, `Cannot use the key secret "${emptySecret}": the file is empty`],
    [withKey(rsaKey), `Cannot use the private key "${rsaKey}": ${ofAnotherKind}`],
  ])('%j', (flags, message) => {
    expect(refusal(flags)).toBe(message)
  })

  test('an unknown set, and a scheme of two words in the environment', () => {
    expect(refusal({ set: '0.9' })).toContain('Unknown value "0.9" for "--set"')
    expect(refusal({ url, ...key }, { SVC_SCHEME: 'a b' })).toContain('Cannot use "a b" for "SVC_SCHEME"')
  })

  test('a shard on a shared URL', () => {
    const said = 'give each shard its own instance and say so with "--disposable"'
    expect(refusal({ url, ...key, shard: '1/2' })).toContain(said)
    expect(readFor({ shard: '1/2', disposable: true }).shard).toEqual({ index: 1, count: 2 })
  })

  test('in the target file', () => {
    expect(refusal({ target: file('one.yaml', 'rate: -1\n') })).toContain('this is not a number of calls a second')
  })
})

describe('files that are read and written', () => {
  file('target.yaml', 'url: http://a.example\nroot: { id: i, secret: s }\ntestKeys: kept.jsonl\n')
  file('known.yaml', '[]\n')
  symlinkSync(place('target.yaml'), place('link'))
  linkSync(place('known.yaml'), place('hard-link'))
  symlinkSync(folder, place('folder-link'))

  function ownFilesRefusal(report: string): string {
    const flags = { target: place('target.yaml'), known: place('known.yaml'), report: [`json=${report}`] }
    return refusalOf(() => demandOwnFiles(readRunOptions(flags, {}))) ?? 'taken'
  }

  test.each([
    ['target.yaml', 'the target file'],
    ['link', 'the target file'],
    ['known.yaml', 'the baseline'],
    ['hard-link', 'the baseline'],
    ['kept.jsonl', 'the kept test keys'],
    ['folder-link/kept.jsonl', 'the kept test keys'],
  ])('a report in place of %s is refused before the first request', (name, what) => {
    const sentence = `Cannot write the report "${place(name)}": it is ${what}; name another file`
    expect(ownFilesRefusal(place(name))).toBe(sentence)
  })

  test('a report with its own path is accepted', () => {
    expect(ownFilesRefusal(place('report.json'))).toBe('taken')
  })
})

describe('the proxy', () => {
  const HTTPS_PROXY = 'http://proxy.example:3128'

  test.each([
    ['https://a.example', { HTTPS_PROXY }, HTTPS_PROXY],
    ['https://a.example', { https_proxy: HTTPS_PROXY }, HTTPS_PROXY],
    ['https://a.example', { HTTPS_PROXY: 'proxy.example:3128' }, HTTPS_PROXY],
    ['http://a.example', { HTTPS_PROXY }, null],
    ['http://a.example', { HTTP_PROXY: HTTPS_PROXY }, HTTPS_PROXY],
    ['https://127.0.0.1:8443', { HTTPS_PROXY }, null],
    ['https://localhost', { HTTPS_PROXY }, null],
    ['https://a.example', { HTTPS_PROXY, NO_PROXY: '*' }, null],
    ['https://a.example', { HTTPS_PROXY, NO_PROXY: 'b.example, a.example' }, null],
    ['https://deep.a.example', { HTTPS_PROXY, no_proxy: '.a.example' }, null],
    ['https://deep.a.example', { HTTPS_PROXY, NO_PROXY: '*.a.example' }, null],
    ['https://nota.example', { HTTPS_PROXY, NO_PROXY: 'a.example' }, HTTPS_PROXY],
    ['https://a.example:8443', { HTTPS_PROXY, NO_PROXY: 'a.example:8443' }, null],
    ['https://a.example:8443', { HTTPS_PROXY, NO_PROXY: 'a.example:443' }, HTTPS_PROXY],
    ['https://a.example', {}, null],
    ['https://a.example', { HTTPS_PROXY: '' }, null],
  ])('%s with %j goes through %s', (url, env, proxy) => {
    expect(targetOf({ url, ...key }, env).proxy).toBe(proxy)
  })

  test('a proxy that is no URL', () => {
    expect(refusal({ url, ...key }, { HTTPS_PROXY: 'socks5://x' })).toBe(
      'Cannot use the proxy of HTTPS_PROXY: expected a URL such as "http://proxy.example:3128"',
    )
  })
})
