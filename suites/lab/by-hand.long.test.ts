/**
 * Mistakes made by hand with node:crypto, as clients make them and public bug reports tell them: nothing here is shared with the table that
 * is searched.
 */
import { createHash, createHmac, createPrivateKey, sign as signWith } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import type { SigningKey } from '../engine/signer/sign.ts'
import { isProof, onlyInProof, partUnlessProof } from '../self/proof-form.ts'
import { type DiagnoseInput, diagnose } from './diagnose.ts'
import { judgeOwnData } from './verify.ts'

const keyId = 'b047c1d2e3f405162738495a6b7c8d9e'
const secret = '5f2b7c9a0d1e4f60718293a4b5c6d7e8'
const time = '1795154904754'
const nonce = '+CLqKvRgaK/NpT0fZw9x8g=='
const url = 'https://service.example/base/api?verbose=1'
const sent =
  ' {"jsonrpc": "2.0","id":2,"method":"manager/createApiKey","params":{"scope":["apikey"],"name":"Zoë & <co>"}} '
const json = JSON.parse(sent)

const bytes = (text: string | Uint8Array): Buffer => Buffer.from(text as string)

const data = (signed: { [part in 'body' | 'method' | 'uri' | 'at' | 'once']?: string | Uint8Array } = {}): Buffer => {
  const { body = sent, method = 'POST', uri = '/api', at = time, once = nonce } = signed
  const parts = [`${at};`, once, `;${method}\n${uri}\n`, body, '\n']
  return Buffer.concat(parts.map(bytes))
}
const dataOf = (body: string | Uint8Array, at = time): Buffer => data({ body, at })
const mac = (bytes: Uint8Array | string, key: string | Uint8Array = secret, hash = 'sha256') =>
  createHmac(hash, key).update(bytes).digest()
const hmac = (bytes: Uint8Array | string, key: string | Uint8Array = secret, hash = 'sha256') =>
  mac(bytes, key, hash).subarray(0, 20).toString('base64')
const header = (signature: string, at = time, once = nonce) => `svc-hmac-sha256 ${keyId};1;${at};${once};${signature}`
const text = data().toString()
const escaped = (raw: string, marks: RegExp) =>
  raw.replace(marks, (mark) => `\\u${mark.charCodeAt(0).toString(16).padStart(4, '0')}`)
const pythonDump = JSON.stringify(json, null, 1)
  .replace(/\n */g, ' ')
  .replace(/([{[]) | ([}\]])/g, '$1$2')
const pythonText =
  "{'jsonrpc': '2.0', 'id': 2, 'method': 'manager/createApiKey', 'params': {'scope': ['apikey'], 'name': 'Zoë & <co>'}}"
const pythonBytes = `b' ${sent.trim().replace('ë', '\\xc3\\xab')} '`
const reordered = { method: json.method, jsonrpc: json.jsonrpc, params: json.params, id: json.id }

const byHand: [id: string, header: string][] = [
  ['data/with-query', header(hmac(data({ uri: '/api?verbose=1' })))],
  ['data/with-base-path', header(hmac(data({ uri: '/base/api' })))],
  ['data/with-body-python-escapes', header(hmac(data({ body: escaped(pythonDump, /[^\0-\x7f]/g) })))],
  ['data/with-body-go-escapes', header(hmac(data({ body: escaped(JSON.stringify(json), /[<>&]/g) })))],
  ['data/with-body-as-json-text', header(hmac(data({ body: JSON.stringify(sent) })))],
  ['fields/timestamp-in-seconds', header(hmac(data({ at: '1795154904' })), '1795154904')],
  ['data/with-timestamp-in-milliseconds', header(hmac(data({ at: '1795154904000' })), '1795154904')],
  ['data/with-nonce-without-padding', header(hmac(data({ once: nonce.replaceAll('=', '') })))],
  ['data/with-padded-nonce', header(hmac(data()), time, nonce.replaceAll('=', ''))],
  ['key/hex-decoded', header(hmac(data(), Buffer.from(secret, 'hex')))],
  ['key/base64-decoded', header(hmac(data(), Buffer.from(secret, 'base64')))],
  ['key/id-as-secret', header(hmac(data(), keyId))],
  ['key/another-key', header(hmac(data(), 'the-old-secret'))],
  ['signature/untruncated', header(mac(data()).toString('base64'))],
  ['signature/cut-hex-text', header(mac(data()).toString('hex').slice(0, 20))],
  ['signature/cut-hex', header(Buffer.from(mac(data()).toString('hex').slice(0, 20)).toString('base64'))],
  ['data/with-body-printed-by-python', header(hmac(data({ body: pythonText })))],
  ['data/with-body-python-bytes', header(hmac(data({ body: pythonBytes })))],
  ['data/without-body-member', header(hmac(data({ body: JSON.stringify({ ...json, id: undefined }) })))],
  ['data/with-another-member-order', header(hmac(data({ body: JSON.stringify(reordered) })))],
  ['data/with-another-id', header(hmac(data({ body: JSON.stringify({ ...json, id: 1 }) })))],
  ['data/with-nonce-as-python-bytes', header(hmac(data({ once: `b'${nonce}'` })))],
  ['data/with-timestamp-as-float', header(hmac(data({ at: `${time}.0` })))],
  ['data/with-another-timestamp', header(hmac(data({ at: `${Number(time) - 7}` })))],
  ['data/with-another-timestamp', header(hmac(data({ at: '1795162104754' })))],
  ['data/with-tripled-newline', header(hmac(`${text}\n\n`))],
  ['signature/hmac-over-hex-hash', header(hmac(createHash('sha256').update(data()).digest('hex')))],
  ['signature/printed-object', header('[object Promise]')],
  ['signature/python-bytes', header(`b'${hmac(data())}'`)],
  ['fields/other-version', header(hmac(data())).replace(';1;', ';2;')],
  ['fields/in-another-order', `svc-hmac-sha256 ${keyId};${time};${nonce};1;${hmac(data())}`],
  ['fields/without-scheme', header(hmac(data())).replace('svc-hmac-sha256 ', '')],
]

const ask = (refused: string, more: Partial<DiagnoseInput> = {}): DiagnoseInput => ({
  header: refused,
  key: { kind: 'secret', secret },
  scheme: 'svc-hmac-sha256',
  method: 'POST',
  uri: '/api',
  url,
  body: bytes(sent),
  otherKeys: [{ name: 'old', key: { kind: 'secret', secret: 'the-old-secret' } }],
  ...more,
})
/** A request with this body. */
const asking = (body: string | Uint8Array, signature: string, more: Partial<DiagnoseInput> = {}): DiagnoseInput =>
  ask(header(signature), { body: bytes(body), ...more })

const idsOf = (input: DiagnoseInput): string[] =>
  diagnose(input)
    .mistakes.map(({ id }) => id)
    .sort()
/** The mistakes in a MAC over these data. */
const idsOver = (body: string | Uint8Array, over: string | Uint8Array): string[] => idsOf(asking(body, hmac(over)))
const isValid = (body: string | Uint8Array): boolean => diagnose(asking(body, hmac(dataOf(body)))).valid
const spaced = (text: string): string => text.replaceAll(':', ': ').replaceAll(',', ', ')
const titlesOf = (input: DiagnoseInput): string => {
  const { mistakes } = diagnose(input)
  return mistakes.map(({ title, fix }) => `${title}. ${fix}`).join('\n')
}
const lamp = 'orchard-lamp-7731'
const plain = '{"jsonrpc":"2.0","id":1,"method":"solution/listSolutions","params":{}}'
const withParams = (params: string): string => plain.replace('{}', params)

describe('by hand, with a secret', () => {
  test('the header before any mistake is right', () => {
    expect(diagnose(ask(header(hmac(data())))).valid).toBe(true)
  })

  test.each(partUnlessProof(byHand, 8))('%s', (id, refused) => {
    expect(idsOf(ask(refused))).toEqual([id])
  })

  test('three at once, and the whole MAC in hex', () => {
    const wrong = text.slice(0, -1).replace('POST', 'post').replace('/api', 'api')
    const ofData = ['data/with-lowercase-method', 'data/with-path-without-slash', 'data/without-final-newline']
    const ids = [...ofData, 'signature/in-hex', 'signature/untruncated']
    expect(idsOf(ask(header(mac(wrong).toString('hex'))))).toEqual(ids)
  })

  test('four at once are not found', () => {
    const wrong = text.slice(0, -1).replace('POST', 'post').replace('/api', 'api').replace(time, '1795154904')
    expect(diagnose(ask(header(hmac(wrong))))).toMatchObject({ valid: false, explained: false })
  })
})

// Ed25519 is slow on a busy machine.
describe('by hand, with a private key', () => {
  const seed = Buffer.from('9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60', 'hex')
  const derOf = (bytes: Buffer) => Buffer.concat([Buffer.from('302e020100300506032b657004220420', 'hex'), bytes])
  const privateKey = (bytes: Buffer) => createPrivateKey({ key: derOf(bytes), format: 'der', type: 'pkcs8' })
  const sign = (bytes: Buffer | string, by = seed) => signWith(null, Buffer.from(bytes), privateKey(by))
  const hash = (name: string, bytes: Buffer) => createHash(name).update(bytes).digest()
  const key: SigningKey = { kind: 'ed25519', seed }
  const attached = (over: Buffer): string => Buffer.concat([sign(over), over]).toString('base64')
  const ecc: [id: string, signature: string][] = [
    ['data/without-final-newline', sign(text.slice(0, -1)).toString('base64')],
    ['data/with-body-python-escapes', sign(data({ body: escaped(pythonDump, /[^\0-\x7f]/g) })).toString('base64')],
    ['signature/in-hex', sign(data()).toString('hex')],
    ['signature/ed25519-cut-to-20-bytes', sign(data()).subarray(0, 20).toString('base64')],
    ['signature/hmac-with-seed', hmac(data(), seed)],
    ['signature/hmac-with-secret', hmac(data(), 'the-old-secret')],
    ['data/with-body-alone', sign(sent).toString('base64')],
    ['data/with-timestamp-body', sign(time + sent).toString('base64')],
    ['signature/attached', attached(data())],
    ['data/without-final-newline,signature/attached', attached(data().subarray(0, -1))],
    ['data/with-other-data,signature/attached', attached(bytes('something else'))],
    ['data/with-other-nonce,signature/attached', attached(data({ once: 'n' }))],
    ['key/der-as-seed', sign(data(), derOf(seed).subarray(0, 32)).toString('base64')],
    ['key/expanded-as-seed', sign(data(), hash('sha512', seed).subarray(0, 32)).toString('base64')],
  ]

  test.each(partUnlessProof(ecc, 3))('%s', (id, signature) => {
    expect(idsOf(ask(header(signature), { key })).join()).toBe(id)
  })

  test.skipIf(!isProof)(onlyInProof('data alone are no attached signature'), () =>
    expect(idsOf(ask(header(data().toString('base64')), { key }))).not.toContain('signature/attached'),
  )

  test('signed rightly', () => expect(diagnose(ask(header(sign(data()).toString('base64')), { key })).valid).toBe(true))

  test.skipIf(!isProof)(onlyInProof('another private key'), () => {
    const other = sign(data(), Buffer.alloc(32, 7)).toString('base64')
    expect(diagnose(ask(header(other), { key }))).toMatchObject({ explained: false, mistakes: [] })
  })
})

describe('secrets that an environment changed', () => {
  const secret = 'c7Vq#92$xK-lm0'
  const changed: [id: string, right: string, used: string | Uint8Array][] = [
    ['key/cut-at-hash', secret, 'c7Vq'],
    ['key/cut-at-dollar', secret, 'c7Vq#92'],
    ['key/variable-dropped', secret, 'c7Vq#92-lm0'],
    ['key/mark-escaped', secret, 'c7Vq\\u002392$xK-lm0'],
    ['key/mark-escaped', secret, 'c7Vq\\u002392\\u0024xK\\u002dlm0'],
    ['key/html-escaped', 'a&b-7731', 'a&amp;b-7731'],
    ...[...' ;&|<>()'].map((mark): [string, string, string] => ['key/cut-at-word-end', `ab7${mark}cd-99`, 'ab7']),
    ['key/backslash-dropped', 'ab7\\cd\\\\99', 'ab7cd\\99'],
    ['key/dollar-doubled', 'ab7$cd-99', 'ab7$$cd-99'],
    ['key/dollar-undoubled', 'ab7$$cd-99', 'ab7$cd-99'],
    ['key/plus-as-space', 'a+b/c=77', 'a b/c=77'],
    ['key/without-prefix', `name_${secret}`, secret],
    ['key/without-prefixes', `sk_live_${lamp}`, lamp],
    ['key/without-prefix-base64-decoded', 'name_b3JjaGFyZA==', 'orchard'],
    ['key/without-prefix-base64-decoded', `name_${secret}`, Buffer.from(secret, 'base64')],
    ['key/base64-decoded-leniently', secret, Buffer.from(secret, 'base64')],
    ['key/cut-to-8', secret, 'c7Vq#92$'],
    ['key/cut-to-8', lamp, 'orchard-'],
  ]

  const given: [id: string, given: string, used: string][] = [
    ['key/with-cr', lamp, `${lamp}\r`],
    ['key/with-cr-lf', lamp, `${lamp}\r\n`],
    ['key/given-with-line-end', `${lamp}\n`, lamp],
    ['key/given-with-line-end', `${lamp}\r`, lamp],
    ['key/given-in-quotes', `"${lamp}"`, lamp],
    ['key/given-in-quotes', `'${lamp}'\n`, lamp],
    ['key/quoted', lamp, `"${lamp}"`],
    ['key/trimmed', ` ${lamp} `, lamp],
  ]

  test.each([...changed, ...given])('%s of %j', (id, right, used) => {
    const key = { kind: 'secret' as const, secret: right }
    expect(idsOf(asking(plain, hmac(dataOf(plain), used), { key }))).toEqual([id])
    expect(diagnose(asking(plain, hmac(dataOf(plain), right), { key })).valid).toBe(true)
  })

  test.each(partUnlessProof([...changed, ...given], 2))('%s of %j, beside a missing line feed', (id, right, used) => {
    const key = { kind: 'secret' as const, secret: right }
    const ids = idsOf(asking(plain, hmac(dataOf(plain).subarray(0, -1), used), { key }))
    expect(ids).toEqual([id, 'data/without-final-newline'].sort())
  })
})

describe('schemes of other services', () => {
  const habits: [id: string, habit: string, data: (body: string) => string][] = [
    ['data/with-body-alone', 'webhooks', (body) => body],
    ['data/with-timestamp-dot-body', 'webhooks', (body) => `${time}.${body}`],
    ['data/with-timestamp-body', 'exchanges', (body) => `${time}${body}`],
    ['data/with-labelled-timestamp-body', 'webhooks', (body) => `t=${time}.${body}`],
    ['data/with-uri-timestamp-body', 'exchanges', (body) => `/api${time}${body}`],
    ['data/with-timestamp-method-uri-body', 'exchanges', (body) => `${time}POST/api${body}`],
    ['data/with-versioned-timestamp-body', 'webhooks', (body) => `v0:${time}:${body}`],
    ['data/with-nonce-timestamp-body', 'webhooks', (body) => `${nonce}.${time}.${body}`],
  ]

  test.each(habits)('%s', (id, habit, data) => {
    const input = asking(plain, hmac(data(plain)))
    expect(idsOf(input)).toEqual([id])
    expect(titlesOf(input)).toContain(habit)
    expect(titlesOf(input)).toContain('Sign <timestamp>;<nonce>;<METHOD> LF <URI> LF <body> LF and nothing else')
  })

  test.each(partUnlessProof(habits, 2))('%s, over a body with spaces', (id, _habit, data) => {
    expect(idsOver(plain, data(spaced(plain)))).toEqual([id, 'data/with-body-spaced'].sort())
  })

  test('the whole MAC in hex, as most webhooks send it', () => {
    const whole = mac(`${time}.${plain}`).toString('hex')
    const ids = ['data/with-timestamp-dot-body', 'signature/in-hex', 'signature/untruncated']
    expect(idsOf(asking(plain, whole))).toEqual(ids)
  })
})

describe('numbers that parsing changed', () => {
  const sent = withParams('{"a":0.0,"b":1.50,"n":1234567890123456789,"s":"1.50"}')
  const loose = sent.replaceAll(':', ' : ')
  const byJavaScript = withParams('{"a":0,"b":1.5,"n":1234567890123456800,"s":"1.50"}')
  const byPython = withParams('{"a":0.0,"b":1.5,"n":1234567890123456789,"s":"1.50"}')
  const changed = ['data/with-body-numbers']
  const compact = ['data/with-body-compact', ...changed]
  const big = '1234567890123456789 became'
  const written = (number: string): string => sent.replace('1234567890123456789', number)
  const byJava = '1.2345678E7'
  const withN = (number: string): string => withParams(`{"n":${number}}`)
  const exponents = withParams('{"a":1000.0,"b":1e-07,"c":1e+16}')
  const numbers: [what: string, body: string, signed: string, ids: string[], changes: string][] = [
    ['JavaScript', sent, byJavaScript, changed, `0.0 became 0, 1.50 became 1.5, ${big} 1234567890123456800`],
    ['Python', sent, byPython, changed, '1.50 became 1.5'],
    ['one number', withParams('{"b":1.50}'), withParams('{"b":1.5}'), changed, '1.50 became 1.5'],
    ['JavaScript, white space taken out', loose, byJavaScript, compact, '0.0 became 0'],
    ['json.dumps of Python', sent, spaced(byPython), [...changed, 'data/with-body-spaced'], '1.50 became 1.5'],
    ['white space alone', loose, sent, ['data/with-body-compact'], ''],
    ['exponents by Python', withParams('{"a":1e3,"b":1E-7,"c":1e16}'), exponents, changed, '1e3 became 1000.0'],
    ['Python, as a double', sent, written('1.2345678901234568e+18'), changed, `${big} 1.2345678901234568e+18`],
    ['Java, as a double', sent, written('1.2345678901234568E18'), changed, `${big} 1.2345678901234568E18`],
    ['Java, with the rest written again', withN(' 12345678'), withN(byJava), compact, `12345678 became ${byJava}`],
  ]

  test.each(numbers)('%s', (_, body, signed, ids, changes) => {
    const input = asking(body, hmac(dataOf(signed)))
    expect(idsOf(input)).toEqual(ids)
    expect(titlesOf(input)).toContain(changes)
    expect(isValid(body)).toBe(true)
  })

  test('a body with ordinary numbers is not told about them', () => {
    const body = spaced(withParams('{"a":0,"b":1.5}'))
    expect(idsOver(body, dataOf(body.replaceAll(' ', '')))).toEqual(['data/with-body-compact'])
  })
})

describe('text', () => {
  const night = 'Zoë — night'
  const params = `{"name":"${night}","a":false,"b":null}`
  const body = withParams(params)
  const bom = '\ufeff'
  const cut = (text: string): Buffer => Buffer.from(text, 'latin1')
  /** Python: str(dict).replace("'", '"') */
  const printed = (json: string): string => spaced(json).replace('false', 'False').replace('null', 'None')
  const written: { [id: string]: (text: string) => string | Uint8Array } = {
    'data/with-body-cut-to-8-bits': (text) => cut(text),
    'data/with-body-latin-1-question-marks': (text) => cut(text.replaceAll('—', '?')),
    'data/with-body-question-marks': (text) => text.replaceAll(/[ë—]/g, '?'),
    'data/with-body-windows-1252': (text) => cut(text.replaceAll('—', '\x97')),
    'data/with-body-printed-by-python-quoted': (text) => printed(JSON.stringify(JSON.parse(text))),
    'data/with-body-bom': (text) => bom + text,
    'data/with-tripled-newline': (text) => `${text}\n\n`,
    'data/with-doubled-newline': (text) => `${text}\n`,
  }

  test.each(Object.keys(written))('%s', (id) => {
    const write = written[id] ?? ((text) => text)
    expect(idsOver(body, dataOf(write(body)))).toEqual([id])
    expect(isValid(body)).toBe(true)
  })

  test('the printed form of a dict, where the sent body has spaces', () => {
    expect(idsOver(spaced(body), dataOf(printed(body)))).toEqual(['data/with-body-printed-by-python-quoted'])
  })

  const value = JSON.parse(body)
  const { id, jsonrpc, method } = value
  const ordered = { id, jsonrpc, method, params: { a: false, b: null, name: night } }
  const spellings: { [id: string]: [sent: string, signed: string] } = {
    'data/with-body-compact': [JSON.stringify(value, null, 1), body],
    'data/with-body-spaced': [body, spaced(body)],
    'data/with-body-indented': [body, JSON.stringify(value, null, 2)],
    'data/with-body-indented-by-4': [body, JSON.stringify(value, null, 4)],
    'data/with-body-indented-by-tabs': [body, JSON.stringify(value, null, '\t')],
    'data/with-body-sorted': [body, JSON.stringify(ordered)],
    'data/with-body-php-escapes': [body, body.replaceAll('/', '\\/').replace('ë', '\\u00eb').replace('—', '\\u2014')],
    'data/with-body-ascii': [body, body.replace('ë', '\\u00eb').replace('—', '\\u2014')],
  }
  const iso = new Date(Number(time)).toISOString().slice(0, -1)
  const times = {
    'data/with-iso-timestamp': `${iso}Z`,
    'data/with-iso-timestamp-and-offset': `${iso}+00:00`,
    'data/with-iso-timestamp-without-zone': iso,
    'data/with-iso-timestamp-in-seconds': `${iso.slice(0, 19)}Z`,
  }

  test.each(Object.entries(spellings))('%s', (id, [sent, signed]) => {
    expect(idsOver(sent, dataOf(signed))).toEqual([id])
  })

  test.each(Object.entries(times))('%s', (id, at) => {
    expect(idsOver(body, dataOf(body, at))).toEqual([id])
  })

  test.each([
    ['iso-8859-1', 'Zoë', cut('Zoë')],
    ['windows-1252', night, Buffer.from('Zo\xeb \x97 night', 'latin1')],
  ])('a body that is signed in UTF-8 and sent in %s', (name, text, letters) => {
    const [before = '', after = ''] = withParams('{"name":"|"}').split('|')
    const sent = Buffer.concat([bytes(before), letters, bytes(after)])
    expect(idsOver(sent, dataOf(before + text + after))).toEqual([`data/with-body-utf8-sent-in-${name}`])
    expect(isValid(sent)).toBe(true)
    const twice = bytes(bytes(before + text + after).toString('latin1'))
    expect(idsOver(before + text + after, dataOf(twice))).toEqual(['data/with-body-utf8-twice'])
  })

  const odd = plain.replace(':', ' : ')
  test.each([
    [bom + plain, plain, ['data/without-body-bom']],
    [bom + plain, bom + plain, []],
    [` ${odd}\n`, odd, ['data/with-body-trimmed']],
    [bom + body, spaced(body), ['data/without-body-bom', 'data/with-body-spaced']],
    [bom + spaced(body), body, ['data/without-body-bom', 'data/with-body-compact']],
    [bom + body, cut(body), ['data/without-body-bom', 'data/with-body-cut-to-8-bits']],
  ])('a byte order mark that is sent and not signed is named first: %j, %j', (sent, signed, ids) => {
    expect(diagnose(asking(sent, hmac(dataOf(signed)))).mistakes.map(({ id }) => id)).toEqual(ids)
  })
})

describe('own data', () => {
  const body = withParams('{"a":false,"b":null}')
  const said = (sent: string, signed: string): string =>
    judgeOwnData(asking(sent, hmac(dataOf('x')), { callersData: dataOf(signed) }))?.sentences.join('\n') ?? ''
  const python = '{"jsonrpc": "2.0", "id": 1, "method": "solution/listSolutions", "params": {"a": False, "b": None}}'

  test('the first difference in content is pointed at, not a space', () => {
    expect(said(body, python)).toContain(
      'Your data to sign differ in content at line 3, byte 81: expected "f" (66), found "F" (46) ("False" for "false")',
    )
    expect(said(body, python)).toContain('White space differs from line 3, byte 12 on')
  })

  test.each([
    ['white space alone', body, body.replaceAll(':', ': '), 'byte 12: expected """ (22), found a space (20)'],
    ['content alone', body, body.replace('false', 'False'), 'byte 73: expected "f" (66), found "F" (46)'],
    ['a space in a text', withParams('{"a":"b c"}'), withParams('{"a":"bc"}'), 'byte 75'],
    ['a byte order mark, by its name', `\ufeff${body}`, body, 'byte 1: expected a byte order mark (ef bb bf)'],
  ])('%s', (_, sent, signed, where) => expect(said(sent, signed)).toContain(`differ at line 3, ${where}`))
})

test('the line feeds that curl -d @file drops are named', () => {
  const file = `${JSON.stringify(JSON.parse(plain), null, 3)}\n`
  const sent = file.replaceAll('\n', '')
  const input = asking(sent, hmac(dataOf(file)), { bodyFile: bytes(file) })
  expect(idsOf(input)).toEqual(['data/with-body-before-curl'])
  expect(titlesOf(input)).toContain('--data-binary')
  const without = asking(sent, hmac(dataOf(file).subarray(0, -1)), { bodyFile: bytes(file) })
  expect(idsOf(without).sort()).toEqual(['data/with-body-before-curl', 'data/without-final-newline'])
  expect(diagnose(asking(sent, hmac(dataOf(sent)), { bodyFile: bytes(file) })).valid).toBe(true)
})
