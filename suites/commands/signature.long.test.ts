import { spawnSync } from 'node:child_process'
import { createHmac } from 'node:crypto'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { packageRoot } from '../engine/language/package-root.ts'
import { loadVectors, vectorBytes } from '../engine/language/vectors.ts'
import { utf8, visibleLines } from '../engine/signer/bytes.ts'
import { ed25519KeyPair } from '../engine/signer/pem.ts'
import { sign } from '../engine/signer/sign.ts'
import { diagnose } from '../lab/diagnose.ts'
import { verify } from '../lab/verify.ts'
import { call, captureCli, captured } from '../self/captured-cli.ts'
import { openFolder } from '../self/temporary.ts'
import { readCheck, signInputOf } from './signature.ts'

type SignatureVector = ReturnType<typeof loadVectors>['valid'][number]

/** The request of docs/lab.md, and its right header. */
const body = '{"jsonrpc":"2.0","id":0,"method":"solution/listSolutions","params":{}}'
const right = 'svc-hmac-sha256 hmac-key-1;1;1702555410352;q83vEjRWeJCrze8=;CEbcdnZhURk3xA0+RaC+UusqNCQ='
const data = `1702555410352;q83vEjRWeJCrze8=;POST\n/api\n${body}`

const { at: inFolder, write: file } = openFolder()
const pair = ed25519KeyPair(utf8('an Ed25519 seed of 32 bytes ....'))
const secretFile = file('secret', 'not-a-secret-0001\n')
const publicKeyFile = file('public.pem', pair.publicKeyPem)
const bodyFile = file('body', body)

captureCli()
beforeEach(() => {
  for (const [name, value] of [
    ['SECRET', 'not-a-secret-0001'],
    ['OTHER', 'other'],
    ['EMPTY', ''],
  ] as const)
    vi.stubEnv(name, value)
})
afterEach(() => void vi.unstubAllEnvs())

const secret = ['--secret-env', 'SECRET']
const ofEnvironment = { flag: '--secret-env' as const, name: 'SECRET' }
const ofFile = { flag: '--secret-file' as const, name: secretFile }
const fresh = { timestamp: '1702555410352', nonce: 'q83vEjRWeJCrze8=' }
const other = ['--secret-env', 'OTHER']
const withBody = ['--body', body]
const signing = ['sign', '--key-id', 'hmac-key-1', '--timestamp', '1702555410352', '--nonce', 'q83vEjRWeJCrze8=']

/** What a command prints, results or complaints. */
async function printed(...argv: string[]): Promise<string> {
  captured.out = ''
  captured.complaints = ''
  await call(...argv)
  return captured.out + captured.complaints
}

const checked = (command: string, header: string, ...argv: string[]): Promise<string> =>
  printed(command, `--header=${header}`, ...argv)

/** What `--json` prints. */
const asJson = async (...argv: Parameters<typeof checked>) => JSON.parse(await checked(...argv, '--json'))

const diagnosed = async (header: string, ...argv: string[]): Promise<string[]> =>
  (await asJson('diagnose', header, ...argv)).mistakes.map(({ id }: { id: string }) => id)

/** The header of a request that was signed with a mistake. */
const signedWrongly = (mistake: Parameters<typeof sign>[1], ofBody = body): string =>
  sign(signInputOf({ keyId: 'hmac-key-1', secrets: [ofFile], body: ofBody, ...fresh }), mistake).header

describe('sign', () => {
  test('the stages as JSON', async () => {
    expect(JSON.parse(await printed(...signing, ...secret, ...withBody, '--json'))).toEqual({
      dataToSign: `${data}\n`,
      dataToSignHex: Buffer.from(`${data}\n`).toString('hex'),
      mac: '0846dc767661511937c40d3e45a0be52eb2a34244fe1a342e75cf2e0dec53da5',
      macFirst20: '0846dc767661511937c40d3e45a0be52eb2a3424',
      signature: 'CEbcdnZhURk3xA0+RaC+UusqNCQ=',
      header: right,
    })
  })

  test('body from stdin or a file, secret from a file, private key', async () => {
    const typed = { keyId: 'hmac-key-1', secrets: [ofFile], ...fresh }
    expect(sign(signInputOf(typed, () => utf8(body))).header).toBe(right)
    expect(() => signInputOf(typed, () => null)).toThrow('Give the body: "--body TEXT", "--body-file FILE" or stdin')
    const fromFiles = [...signing, '--secret-file', secretFile, '--body-file', bodyFile]
    expect(await printed(...fromFiles)).toContain(`Authorization: ${right}`)
    const privateKey = file('private.pem', pair.privateKeyPem)
    expect(await printed(...signing, '--private-key', privateKey, ...withBody, '--json')).not.toContain('"mac"')
  })

  const p = publicKeyFile
  const notPrivate = 'expected a PEM labelled "PRIVATE KEY", got "PUBLIC KEY"'
  const oneKey = 'Give one key to sign with: only one of'
  test.each([
    [[...secret, '--timestamp', 'now'], 'Cannot use "now" for "--timestamp": expected milliseconds since 1970'],
    [[...secret, '--nonce', 'a;b'], 'Cannot use "a;b" for "--nonce": it must not be empty or hold a semicolon'],
    [['--secret-env', 'EMPTY'], 'Set the environment variable "EMPTY" to the secret: it is not set'],
    [[], 'Give the key: "--secret-env NAME"'],
    [[...secret, '--body-file', 'b'], 'Give "--body" or "--body-file", not both'],
    [['--secret-file', 'none'], 'Cannot read the secret "none": there is no such file'],
    [[...secret, '--secret-file', 'b'], `${oneKey} "--secret-env SECRET", "--secret-file b"`],
    [['--private-key', p, ...secret], `${oneKey} "--private-key ${p}", "--secret-env S`],
    [['--secret-file', p], `Cannot use the secret "${p}": it holds a PEM; give the file with "--private-key"`],
    [['--secret-file', file('end', '\n')], `Cannot use the secret "${inFolder('end')}": the file is empty`],
    [['--private-key', p], `Cannot use the private key "${p}": ${notPrivate}`],
  ])('%j', async (wrong, message) => {
    expect(await printed(...signing, ...withBody, ...wrong)).toContain(message)
  })

  const noShell = process.platform === 'win32' ? ' (NOT RUN: needs sh)' : ''
  test.skipIf(noShell !== '')(`a shell reads the curl line with the right words${noShell}`, async () => {
    const lineOf = async (...argv: string[]): Promise<string> => {
      const text = await printed(...signing, ...secret, '--url', `http://h/it's`, ...argv)
      return text.trimEnd().split('\n').at(-1)?.trim() ?? ''
    }
    const text = `{"a":"it's $HOME \\n"}`
    const echo = (await lineOf('--body', text)).replace(/^curl/, 'printf %s\\\\n')
    const { stdout } = spawnSync('sh', ['-c', echo])
    expect(stdout.toString().split('\n').slice(-3)).toEqual(['--data-raw', text, ''])
    expect(stdout.toString()).toContain(`\nhttp://h/it's/api\n`)
    const piped = /^printf %s AP8= \| openssl base64 -d -A \| curl .* --data-binary @-$/
    expect(await lineOf('--body-file', file('bytes', Uint8Array.of(0, 255)))).toMatch(piped)
  })
})

test('visible bytes: line ends, tabs and what is not UTF-8', () => {
  expect(visibleLines(utf8('a\r\n\tb\n'))).toEqual(['a␍␊', '␉b␊'])
  expect(visibleLines(utf8('a\n\n'))).toEqual(['a␊', '␊'])
  expect(visibleLines('a\nb')).toEqual(['a␊', 'b'])
  expect(visibleLines(Uint8Array.of(0x61, 0xff, 0x1b))).toEqual(['a\\xff\\x1b'])
})

describe('verify', () => {
  const vectors = loadVectors(packageRoot)
  const asked = ({ input }: SignatureVector, header: string) => {
    // The line feed that ends a secret's file is dropped again.
    const key =
      input.secret === undefined
        ? { publicKey: file('key', input['public-key'] ?? '') }
        : { secrets: [{ ...ofFile, name: file('key', `${input.secret}\n`) }] }
    const { scheme = 'svc-hmac-sha256', 'key-id': keyId, method, path: uri } = input
    return { ...readCheck({ header, body: '', ...key, scheme, keyId, method, uri }), body: vectorBytes(input.body) }
  }

  test.each(vectors.valid)('$id is valid', (vector) => {
    expect(verify(asked(vector, vector.expect.header))).toMatchObject({ valid: true })
  })

  test.each(vectors.invalid)('$id fails at one stage, and is diagnosed', (vector) => {
    const input = asked(vector, vector.received)
    const { valid, stages } = verify(input)
    expect(valid).toBe(false)
    expect(stages.filter(({ ok }) => !ok).map(({ name }) => name)).toEqual([vector['fails-at']])
    if (vector.contains === undefined) return
    const { mistakes, alternatives } = diagnose(input)
    expect([...mistakes, ...alternatives].map(({ id }) => id)).toContain(vector.contains)
  })

  test('points at the first byte in which the own data differ', async () => {
    const own = ['--data-to-sign-file', file('own', data)]
    const { stages } = await asJson('verify', right, ...secret, ...withBody, ...own)
    const difference = { expected: 'LF (0a) at line 3, byte 71', received: 'the end of the data' }
    expect(stages).toContainEqual({ name: 'data-to-sign', ok: false, ...difference })
  })

  test('for people', async () => {
    const text = (header: string) => checked('verify', header, ...secret, ...withBody)
    const stages = ['scheme', 'fields', 'version', 'timestamp', 'nonce', 'encoding', 'length', 'signature']
    expect(await text(right)).toBe(`${stages.map((stage) => `✓ ${stage}\n`).join('')}\nValid: every stage is right\n`)
    const wrong = (stage: string, expected: string, received: string) =>
      `✗ ${stage}\n    expected  ${expected}\n    received  ${received}\n`
    expect(await text(right.replace('CEbc', 'CEbd'))).toContain(
      wrong('signature', 'CEbcdnZhURk3xA0+RaC+UusqNCQ=', 'CEbddnZhURk3xA0+RaC+UusqNCQ='),
    )
    // The received text is shown if the header has no scheme word.
    expect(await text('foo')).toContain(`${wrong('scheme', 'svc-hmac-sha256', 'foo')}✗ fields`)
    expect(await text('')).toContain(wrong('scheme', 'svc-hmac-sha256', '(empty)'))
  })

  test('takes a public key or the first secret', async () => {
    const one = `Give one key to verify with: only one of "--public-key ${publicKeyFile}", "--secret-env OTHER"`
    expect(await checked('verify', right, ...other, '--public-key', publicKeyFile, ...withBody)).toContain(one)
    expect((await asJson('verify', right, ...secret, ...other, ...withBody)).valid).toBe(true)
    expect((await asJson('verify', right, '--secret-file', secretFile, ...other, ...withBody)).valid).toBe(true)
    expect((await asJson('verify', right, ...other, '--secret-file', secretFile, ...withBody)).valid).toBe(false)
  })
})

describe('diagnose', () => {
  const wrong = signedWrongly({ data: 'without-final-newline' })

  test('the mistake, the sentence and the fix', async () => {
    const mistake = {
      id: 'data/without-final-newline',
      title: 'The data to sign lacks the line feed after the body',
      requirement: 'signatures/request-line-feeds',
      fix: 'End method, URI and body with exactly one LF each',
    }
    const found = { valid: false, explained: true, mistakes: [mistake], ruledOut: [] }
    expect(await asJson('diagnose', wrong, ...secret, ...withBody)).toEqual(found)
  })

  test('another secret', async () => {
    const text = await checked('diagnose', wrong, ...other, ...withBody, '--verbose')
    expect(text).toContain('Next  Write the data that your code signs to a file')
    expect(text).toContain('Then  Give the URL')
    expect(text).toMatch(/Ruled out, alone and together with others \(\d+\):\n {2}data\/without-final-newline/)
    const { ruledOut } = await asJson('diagnose', wrong, ...other, ...withBody)
    expect(ruledOut).toContain('data/without-final-newline')
    expect(await diagnosed(right, ...other, ...secret, ...withBody)).toEqual(['key/another-key'])
  })

  test('an empty body is named first', async () => {
    expect(await checked('diagnose', wrong, ...other, '--body', '')).toContain('Next  The body given here is empty.')
  })

  test('another nonce, time or body in the own data is named', async () => {
    const mine = `1702555419999;another-nonce;POST\n/api\n${body.replace('"id":0', '"id":77')}\n`
    const own = ['--data-to-sign-file', file('own', mine)]
    const signature = createHmac('sha256', 'not-a-secret-0001').update(mine).digest().subarray(0, 20)
    const named = (text: string) => diagnosed(right.replace(/;[^;]+$/, `;${text}`), ...secret, ...withBody, ...own)
    const differences = ['data/with-other-timestamp', 'data/with-other-nonce', 'data/with-other-body']
    expect(await named(signature.toString('base64'))).toEqual(differences)
    expect(await named(signature.toString('hex'))).toEqual([...differences, 'signature/in-hex'])
    expect(await named(Buffer.alloc(20, 7).toString('base64'))).toEqual([])
  })

  const differ = 'Your data to sign differ at line 3, byte 71: expected LF (0a), found the end of the data'
  test.each([
    [data, secret, `${differ}; the signature is made over your data`],
    [`${data}\n`, secret, 'Your data to sign are right; the signature is not made over your data with this key'],
    [`${data}\n`, other, 'Next  Your data are right, so look at the key'],
  ])('the sentences about the own data: %#', async (mine, key, sentence) => {
    const own = ['--data-to-sign-file', file('own', mine)]
    expect(await checked('diagnose', wrong, ...key, ...withBody, ...own)).toContain(sentence)
  })

  test('a curl line brings request and body along', async () => {
    const mine = `${body.slice(0, -1)},"x":"it's"}`
    const text = await printed(...signing, ...secret, '--body', mine, '--url', 'https://service.example/base')
    const curl = text.trimEnd().split('\n').at(-1) ?? ''
    const line = file('line', curl.replace(/svc-hmac[^']+/, signedWrongly({ data: 'with-crlf' }, mine)))
    const input = readCheck({ header: `@${line}`, secrets: [ofEnvironment] })
    expect(new TextDecoder().decode(input.body)).toBe(mine)
    expect(input.url).toBe('https://service.example/base/api')
    expect(diagnose(input).mistakes.map(({ id }) => id)).toEqual(['data/with-crlf'])
  })

  test.each([
    ['http://h:1', 'http://h:1/api'],
    ['http://h:1/', 'http://h:1/api'],
    ['http://h:1/base?a=b', 'http://h:1/base/api?a=b'],
    ['http://h:1/base/api?a=b', 'http://h:1/base/api?a=b'],
  ])('--url %s is the base URL or the URL that was called', (url, called) => {
    expect(readCheck({ header: right, body, url, publicKey: publicKeyFile }).url).toBe(called)
  })

  test('curl -d @file drops line ends; --data-binary @file and --body-file do not', async () => {
    const lines = `{\n   "jsonrpc":"2.0",\n   "id":0\n}\n`
    const [ended, several] = [file('ended', `${body}\n`), file('several', lines)]
    const curl = (how: string, header: string) => `curl ${how} -H 'Authorization: ${header}' http://h/api`
    expect((await asJson('diagnose', curl(`-d @${ended}`, right), ...secret)).valid).toBe(true)
    const signed = signedWrongly({}, lines)
    for (const more of [[], ['--body-file', several]])
      expect(await checked('diagnose', curl(`-d @${several}`, signed), ...secret, ...more)).toMatch(
        /data\/with-body-before-curl\n[\s\S]*curl --data-binary @FILE/,
      )
    expect((await asJson('diagnose', curl(`--data-binary @${several}`, signed), ...secret)).valid).toBe(true)
  })

  const start = `curl -H 'Authorization: ${right}' http://h/api`
  const unreadable = 'Cannot read "--header": it is not a header, a curl line or an HTTP/1.1 request'
  const notClosed = (quote: string, at: number) =>
    `Cannot read "--header": the quote ${quote} at character ${at} of the curl line is not closed; paste the whole line`
  test.each([
    ["requests.post(url, headers={'Authorization': x})", unreadable],
    ['curl http://h/api', 'Cannot find an Authorization header in "--header"'],
    [`${start} --data-raw '{"id`, notClosed("'", start.length + 13)],
    [`${start} --data-raw $'{"a":"it\\'s`, notClosed("'", start.length + 13)],
    [`${start} -d "{\\"id\\"`, notClosed('"', start.length + 5)],
    [`It's this:\n${start} \\\r\n -d '{`, notClosed("'", start.length + 20)],
    [`curl -H 'Authorization: ${right}`, notClosed("'", 9)],
  ])('%s is refused', async (header, message) => {
    expect(await checked('diagnose', header, ...secret)).toContain(message)
  })

  test.each([
    [`${start} --data-raw '{"a":"it'\\''s"}' | jq '.`],
    [`It's this:\n  ${start} -d '{}x'\nit's all`],
    [`POST /api HTTP/1.1\nAuthorization: ${right}\n\nit's\ncurl '`],
    [`${start} -d "it's" -d $'it\\'s' -d \\' -d '$HOME' -d "\\""`],
  ])('a whole curl line is taken: %s', (header) => {
    expect(readCheck({ header, publicKey: publicKeyFile }).body.length).toBeGreaterThan(2)
  })

  test('a part that is not in the text is said, and what a script has on standard input is not taken for it', async () => {
    const header = `${start} -d "$BODY"`
    const typed = { header, secrets: [ofEnvironment] }
    for (const stdin of [null, utf8('')])
      expect(() => readCheck(typed, () => stdin)).toThrow(
        'Cannot take the body from "--header": it is computed where the call is made, so its value is not in this text; give the body as it was sent with "--body-file FILE"',
      )
    for (const input of [readCheck({ ...typed, body }), readCheck(typed, () => utf8(body))])
      expect(verify(input).valid).toBe(true)
    const unknown = header.replace(right, '$AUTH').replaceAll("'", '"')
    expect(await checked('diagnose', unknown, ...secret, ...withBody)).toContain(
      'Cannot take the Authorization header from "--header": it is computed where the call is made',
    )
    const get = `curl -G -H 'Authorization: ${right}' http://h/api -d '${body}'`
    expect(() => readCheck({ ...typed, header: get }, () => null)).toThrow('curl -G puts it into the URL')
    expect(verify(readCheck({ ...typed, header: get, body })).valid).toBe(false)
  })
})
