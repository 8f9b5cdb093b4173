/** Mistakes made by hand with node:crypto, as a client would make them: nothing here is shared with the table that is searched. */
import { createHash, createHmac, createPrivateKey, sign as signWith } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import type { SigningKey } from '../engine/signer/sign.ts'
import { isProof, onlyInProof, partUnlessProof } from '../self/proof-form.ts'
import { type DiagnoseInput, diagnose } from './diagnose.ts'

const keyId = 'b047c1d2e3f405162738495a6b7c8d9e'
const secret = '5f2b7c9a0d1e4f60718293a4b5c6d7e8'
const time = '1795154904754'
const nonce = '+CLqKvRgaK/NpT0fZw9x8g=='
const url = 'https://service.example/base/api?verbose=1'
const sent =
  ' {"jsonrpc": "2.0","id":2,"method":"manager/createApiKey","params":{"scope":["apikey"],"name":"Zoë & <co>"}} '
const json = JSON.parse(sent)

interface Signed {
  body?: string | Buffer
  method?: string
  uri?: string
  at?: string
  once?: string | Buffer
}
const data = ({ body = sent, method = 'POST', uri = '/api', at = time, once = nonce }: Signed = {}): Buffer => {
  const parts = [`${at};`, once, `;${method}\n${uri}\n`, body, '\n']
  return Buffer.concat(parts.map((part) => Buffer.from(part as string)))
}
const mac = (bytes: Buffer | string, key: string | Buffer = secret, hash = 'sha256') =>
  createHmac(hash, key).update(bytes).digest()
const hmac = (bytes: Buffer | string, key: string | Buffer = secret, hash = 'sha256') =>
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

const sorted =
  '{"id":2,"jsonrpc":"2.0","method":"manager/createApiKey","params":{"name":"Zoë & <co>","scope":["apikey"]}}'
const reordered = { method: json.method, jsonrpc: json.jsonrpc, params: json.params, id: json.id }
const plainHash = createHash('sha256').update(secret).update(data()).digest()

const byHand: [id: string, header: string][] = [
  ['data/without-final-newline', header(hmac(text.slice(0, -1)))],
  ['data/with-doubled-newline', header(hmac(`${text}\n`))],
  ['data/with-crlf', header(hmac(text.replace('POST\n/api\n', 'POST\r\n/api\r\n').replace(/\n$/, '\r\n')))],
  ['data/with-lowercase-method', header(hmac(data({ method: 'post' })))],
  ['data/without-method', header(hmac(text.replace('POST\n', '')))],
  ['data/with-full-url', header(hmac(data({ uri: url })))],
  ['data/with-path-without-slash', header(hmac(data({ uri: 'api' })))],
  ['data/with-query', header(hmac(data({ uri: '/api?verbose=1' })))],
  ['data/with-base-path', header(hmac(data({ uri: '/base/api' })))],
  ['data/with-body-compact', header(hmac(data({ body: JSON.stringify(json) })))],
  ['data/with-body-spaced', header(hmac(data({ body: pythonDump })))],
  ['data/with-body-python-escapes', header(hmac(data({ body: escaped(pythonDump, /[^\0-\x7f]/g) })))],
  ['data/with-body-go-escapes', header(hmac(data({ body: escaped(JSON.stringify(json), /[<>&]/g) })))],
  ['data/with-body-sorted', header(hmac(data({ body: sorted })))],
  ['data/with-body-trimmed', header(hmac(data({ body: sent.trim() })))],
  ['data/with-body-latin-1', header(hmac(data({ body: Buffer.from(sent, 'latin1') })))],
  ['data/with-body-bom', header(hmac(data({ body: `\ufeff${sent}` })))],
  ['data/with-empty-body', header(hmac(data({ body: '' })))],
  ['data/with-body-as-json-text', header(hmac(data({ body: JSON.stringify(sent) })))],
  ['data/with-body-utf8-twice', header(hmac(data({ body: Buffer.from(Buffer.from(sent).toString('latin1')) })))],
  ['data/with-timestamp-in-seconds', header(hmac(data({ at: '1795154904' })))],
  ['fields/timestamp-in-seconds', header(hmac(data({ at: '1795154904' })), '1795154904')],
  ['data/with-timestamp-in-milliseconds', header(hmac(data({ at: '1795154904000' })), '1795154904')],
  ['data/with-timestamp-in-microseconds', header(hmac(data({ at: `${time}000` })))],
  ['data/with-nonce-without-padding', header(hmac(data({ once: nonce.replaceAll('=', '') })))],
  ['data/with-padded-nonce', header(hmac(data()), time, nonce.replaceAll('=', ''))],
  ['data/with-decoded-nonce', header(hmac(data({ once: Buffer.from(nonce, 'base64') })))],
  ['data/with-commas', header(hmac(text.replace(';', ',').replace(';', ',')))],
  ['data/with-colons', header(hmac(text.replace(';', ':').replace(';', ':')))],
  ['data/with-nonce-first', header(hmac(text.replace(`${time};${nonce}`, `${nonce};${time}`)))],
  ['signature/sha1', header(hmac(data(), secret, 'sha1'))],
  ['signature/sha512', header(hmac(data(), secret, 'sha512'))],
  ['signature/arguments-swapped', header(hmac(secret, data()))],
  ['key/hex-decoded', header(hmac(data(), Buffer.from(secret, 'hex')))],
  ['key/base64-decoded', header(hmac(data(), Buffer.from(secret, 'base64')))],
  ['key/id-as-secret', header(hmac(data(), keyId))],
  ['key/another-key', header(hmac(data(), 'the-old-secret'))],
  ['signature/untruncated', header(mac(data()).toString('base64'))],
  ['signature/last-20-bytes', header(mac(data()).subarray(12).toString('base64'))],
  ['signature/cut-hex-text', header(mac(data()).toString('hex').slice(0, 20))],
  ['signature/cut-hex', header(Buffer.from(mac(data()).toString('hex').slice(0, 20)).toString('base64'))],
  ['signature/in-hex', header(mac(data()).subarray(0, 20).toString('hex'))],
  ['signature/unpadded', header(hmac(data()).replace('=', ''))],
  ['signature/plain-hash', header(plainHash.subarray(0, 20).toString('base64'))],
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
  ['fields/with-commas', header(hmac(data())).replaceAll(';', ',')],
  ['fields/one-too-few', header(hmac(data())).replace(';1;', ';')],
  ['fields/other-version', header(hmac(data())).replace(';1;', ';2;')],
  ['fields/in-another-order', `svc-hmac-sha256 ${keyId};${time};${nonce};1;${hmac(data())}`],
  ['fields/without-scheme', header(hmac(data())).replace('svc-hmac-sha256 ', '')],
  ['fields/other-scheme', header(hmac(data())).replace('svc', 'SVC')],
]

const ask = (refused: string, key: SigningKey = { kind: 'secret', secret }): DiagnoseInput => ({
  header: refused,
  key,
  scheme: 'svc-hmac-sha256',
  method: 'POST',
  uri: '/api',
  url,
  body: Buffer.from(sent),
  otherKeys: [{ name: 'old', key: { kind: 'secret', secret: 'the-old-secret' } }],
})

const found = (input: DiagnoseInput) => diagnose(input).mistakes.map(({ id }) => id)

describe('by hand, with a secret', () => {
  test('the header before any mistake is right', () => {
    expect(diagnose(ask(header(hmac(data())))).valid).toBe(true)
  })

  test.each(partUnlessProof(byHand, 10))('%s', (id, refused) => {
    expect(found(ask(refused))).toEqual([id])
  })

  test('base64url, with a nonce whose signature shows it', () => {
    for (let count = 0; ; count++) {
      const once = `nonce-${count}`
      const right = hmac(data({ once }))
      if (!/[+/]/.test(right)) continue
      const refused = header(right.replaceAll('+', '-').replaceAll('/', '_'), time, once)
      expect(found(ask(refused))).toEqual(['signature/base64url'])
      return
    }
  })

  test('three at once, and the whole MAC in hex', () => {
    const wrong = text.slice(0, -1).replace('POST', 'post').replace('/api', 'api')
    const ofData = ['data/with-lowercase-method', 'data/with-path-without-slash', 'data/without-final-newline']
    const ids = [...ofData, 'signature/in-hex', 'signature/untruncated']
    expect(found(ask(header(mac(wrong).toString('hex')))).sort()).toEqual(ids)
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
  const ecc: [id: string, signature: string][] = [
    ['data/without-final-newline', sign(text.slice(0, -1)).toString('base64')],
    ['data/with-body-python-escapes', sign(data({ body: escaped(pythonDump, /[^\0-\x7f]/g) })).toString('base64')],
    ['signature/over-hash', sign(hash('sha256', data())).toString('base64')],
    ['signature/over-sha512', sign(hash('sha512', data())).toString('base64')],
    ['signature/in-hex', sign(data()).toString('hex')],
    ['signature/ed25519-cut-to-20-bytes', sign(data()).subarray(0, 20).toString('base64')],
    ['signature/hmac-with-seed', hmac(data(), seed)],
    ['signature/hmac-with-secret', hmac(data(), 'the-old-secret')],
    ['key/der-as-seed', sign(data(), derOf(seed).subarray(0, 32)).toString('base64')],
    ['key/expanded-as-seed', sign(data(), hash('sha512', seed).subarray(0, 32)).toString('base64')],
  ]

  test.each(partUnlessProof(ecc, 3))('%s', (id, signature) => {
    expect(found(ask(header(signature), { kind: 'ed25519', seed }))).toEqual([id])
  })

  test('ECC where HMAC is due', () => {
    expect(found(ask(header(sign(data()).toString('base64'))))).toEqual(['signature/ecc-for-hmac'])
  })

  test.skipIf(!isProof)(onlyInProof('another private key'), () => {
    const other = sign(data(), Buffer.alloc(32, 7)).toString('base64')
    expect(diagnose(ask(header(other), { kind: 'ed25519', seed }))).toMatchObject({ explained: false, mistakes: [] })
  })
})
