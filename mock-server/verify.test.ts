import { createHash, createHmac, generateKeyPairSync, sign } from 'node:crypto'
import { beforeEach, describe, expect, test } from 'vitest'
import { createTestClient, ed25519Pair, type Signing, signedHeader } from './test-client.ts'

let client = createTestClient()
beforeEach(() => {
  client = createTestClient()
})
const accepted = { json: { result: { list: expect.anything() } } }
const refused = { json: { error: { code: 24879, message: 'Unauthorized' } } }

describe('an HMAC signature', () => {
  test('is accepted when made as the document says', async () => {
    expect(await client.list({ hmac: client.root })).toMatchObject(accepted)
  })

  test.each([
    '{"jsonrpc":"2.0", "id":1,\r\n"method":"solution/listSolutions","params":{}}\n',
    '{"params":{},"method":"solution/listSolutions","x":"żółć €","id":1,"jsonrpc":"2.0"}',
  ])('covers the bytes as sent: %j', async (body) => {
    const authorization = signedHeader(client.root, body, client.context.now())
    expect(await client.send({ body: Buffer.from(body), headers: { authorization } })).toMatchObject(accepted)
  })

  const wrong: [string, Signing][] = [
    ['over another method', { method: 'GET' }],
    ['over the method in lower case', { method: 'post' }],
    ['over another URI', { uri: '/api/' }],
    ['over another body', { body: '{}' }],
    ['without the final line feed', { data: (right) => right.slice(0, -1) }],
    ['with CRLF', { data: (right) => right.replaceAll('\n', '\r\n') }],
    ['with commas', { data: (right) => right.replaceAll(';', ',') }],
    ['with version 2', { version: '2' }],
    ['with timestamp 0', { timestamp: 0 }],
    ['of 19 bytes', { encode: (mac) => mac.subarray(0, 19).toString('base64') }],
    ['of 21 bytes', { encode: (mac) => mac.subarray(0, 21).toString('base64') }],
    ['of 32 bytes', { encode: (mac) => mac.toString('base64') }],
    ['of the last 20 bytes', { encode: (mac) => mac.subarray(12).toString('base64') }],
    ['in hex', { encode: (mac) => mac.subarray(0, 20).toString('hex') }],
    ['without padding', { encode: (mac) => mac.subarray(0, 20).toString('base64').replace('=', '') }],
    ['that is empty', { encode: () => '' }],
  ]
  test.each(wrong)('is refused %s', async (_, but) => {
    expect(await client.list({ hmac: client.root }, but)).toMatchObject(refused)
  })

  test('is refused with another secret, SHA-1 and an unknown key id', async () => {
    expect(await client.list({ hmac: { ...client.root, secret: 'x' } })).toMatchObject(refused)
    expect(await client.list({ hmac: { ...client.root, id: 'x' } })).toMatchObject(refused)
    const sha1 = createHmac('sha1', client.root.secret).digest('base64')
    expect(await client.list({ hmac: client.root }, { encode: () => sha1 })).toMatchObject(refused)
  })

  test('is refused with four or six fields', async () => {
    const right = client.headersFor({ hmac: client.root }, '{}').authorization ?? ''
    expect(await client.list({ header: `${right};` })).toMatchObject(refused)
    expect(await client.list({ header: right.slice(0, right.lastIndexOf(';')) })).toMatchObject(refused)
  })

  test('has a header nonce and timestamp that are the signed ones', async () => {
    const now = client.context.now()
    expect(
      await client.list(
        { hmac: client.root },
        {
          data: (right) => right.replace(String(now), String(now + 1)),
        },
      ),
    ).toMatchObject(refused)
    expect(
      await client.list(
        { hmac: client.root },
        {
          nonce: 'one',
          data: (right) => right.replace(';one;', ';two;'),
        },
      ),
    ).toMatchObject(refused)
  })
})

describe('an ED25519 signature', () => {
  async function register() {
    const { pem, privateKey } = ed25519Pair()
    const { id, secret } = (await client.createKey({ name: 'bob', scope: ['solution'], publicKey: pem })).json.result
    return { id: id as string, secret: secret as string, privateKey }
  }

  test('is accepted by the matching key only, whole, in BASE64', async () => {
    const bob = await register()
    const other = await register()
    expect(await client.list({ ecc: bob })).toMatchObject(accepted)
    expect(await client.list({ ecc: { ...bob, privateKey: other.privateKey } })).toMatchObject(refused)
    for (const encode of [
      (bytes: Buffer) => bytes.toString('hex'),
      (bytes: Buffer) => bytes.subarray(0, 63).toString('base64'),
      (bytes: Buffer) => bytes.toString('base64').replaceAll('=', ''),
    ]) {
      expect(await client.list({ ecc: bob }, { encode })).toMatchObject(refused)
    }
  })

  test('is refused over a hash of the data, and for a key without public key', async () => {
    const bob = await register()
    const hashed: Signing = { nonce: 'n' }
    const body = '{"jsonrpc":"2.0","id":7,"method":"solution/listSolutions","params":{}}'
    const data = `${client.context.now()};n;POST\n/api\n${body}\n`
    const digest = createHash('sha512').update(data).digest()
    hashed.encode = () => sign(null, digest, bob.privateKey).toString('base64')
    expect(await client.list({ ecc: bob }, hashed)).toMatchObject(refused)
    expect(await client.list({ ecc: { id: client.root.id, privateKey: bob.privateKey } })).toMatchObject(refused)
  })

  test('is refused when S is not below L', async () => {
    const bob = await register()
    const order = 2n ** 252n + 27742317777372353535851937790883648493n
    const raise = (bytes: Buffer) => {
      let s = BigInt(`0x${Buffer.from(bytes.subarray(32)).reverse().toString('hex')}`) + order
      const raised = Buffer.from(bytes)
      for (let index = 32; index < 64; index++, s >>= 8n) raised[index] = Number(s & 0xffn)
      return raised.toString('base64')
    }
    expect(await client.list({ ecc: bob }, { encode: raise })).toMatchObject(refused)
  })

  test('is the only means of a key with a public key', async () => {
    const bob = await register()
    expect(await client.list({ hmac: { id: bob.id, secret: bob.secret } })).toMatchObject(refused)
    expect(await client.list({ basic: bob })).toMatchObject(refused)
    expect((await client.grant(['solution'], bob)).json.error).toMatchObject({ code: 24876 })
  })
})

describe('nonce and timestamp', () => {
  test('a nonce is good once, by a wrong signature too, but not by an unknown key', async () => {
    expect(await client.list({ hmac: { ...client.root, id: 'nobody' } }, { nonce: 'a' })).toMatchObject(refused)
    expect(await client.list({ hmac: client.root }, { nonce: 'a' })).toMatchObject(accepted)
    expect(await client.list({ hmac: client.root }, { nonce: 'a' })).toMatchObject(refused)
    expect(await client.list({ hmac: client.root }, { nonce: 'b', body: '' })).toMatchObject(refused)
    expect(await client.list({ hmac: client.root }, { nonce: 'b' })).toMatchObject(refused)
    client.clock.advance(20 * 60_000)
    expect(await client.list({ hmac: client.root }, { nonce: 'a' })).toMatchObject(accepted)
  })

  test('a timestamp may be off by less than ten minutes', async () => {
    const now = client.context.now()
    const at = (timestamp: number | string) => client.list({ hmac: client.root }, { timestamp })
    expect(await at(now - 599_999)).toMatchObject(accepted)
    expect(await at(now + 599_999)).toMatchObject(accepted)
    expect(await at(now - 600_000)).toMatchObject(refused)
    expect(await at(now + 600_000)).toMatchObject(refused)
    expect(await at(Math.floor(now / 1000))).toMatchObject(refused)
    expect(await at(`${now}.0`)).toMatchObject(refused)
  })

  test('the padded and unpadded pair is taken where the profile says so', async () => {
    const but: Signing = {
      nonce: 'q83vEjRWeJCrze8',
      data: (right) => right.replace(';q83vEjRWeJCrze8;', ';q83vEjRWeJCrze8=;'),
    }
    expect(await client.list({ hmac: client.root }, but)).toMatchObject(refused)
    client = createTestClient({ profile: { noncePadding: 'accepted' } })
    expect(await client.list({ hmac: client.root }, but)).toMatchObject(accepted)
  })

  test('as many nonces are kept as the bound allows, the oldest forgotten and counted', async () => {
    client = createTestClient({ bounds: { nonces: 4 } })
    for (const nonce of ['a', 'b', 'c', 'd', 'e']) await client.list({ hmac: client.root }, { nonce })
    const { nonces } = client.context.state
    const now = client.context.now()
    expect(['a', 'b', 'c', 'd', 'e'].filter((nonce) => nonces.has(nonce, now))).toEqual(['c', 'd', 'e'])
    expect(nonces).toMatchObject({ size: 3, forgotten: 2 })
  })
})

describe('public keys', () => {
  const spki = (type: 'rsa' | 'ec' | 'x25519' | 'ed448') =>
    type === 'rsa'
      ? generateKeyPairSync('rsa', { modulusLength: 1024 }).publicKey
      : type === 'ec'
        ? generateKeyPairSync('ec', { namedCurve: 'P-256' }).publicKey
        : type === 'x25519'
          ? generateKeyPairSync('x25519').publicKey
          : generateKeyPairSync('ed448').publicKey
  const prefix = Buffer.from('302a300506032b6570032100', 'hex')
  const pemOf = (point: Buffer) =>
    `-----BEGIN PUBLIC KEY-----\n${Buffer.concat([prefix, point]).toString('base64')}\n-----END PUBLIC KEY-----`
  const create = async (publicKey: unknown) => (await client.createKey({ name: 'k', scope: [], publicKey })).json

  test('LF, CRLF, with and without a final line feed are taken', async () => {
    const { pem } = ed25519Pair()
    for (const form of [pem, pem.trimEnd(), pem.replaceAll('\n', '\r\n')]) {
      expect(await create(form)).toMatchObject({ result: { id: expect.any(String) } })
    }
  })

  test.each(['rsa', 'ec', 'x25519', 'ed448'] as const)('%s is refused', async (type) => {
    expect(await create(spki(type).export({ type: 'spki', format: 'pem' }))).toMatchObject({ error: { code: -32602 } })
  })

  test('a private key, a truncated one, small order and junk are refused', async () => {
    const { pem, privateKey } = ed25519Pair()
    const smallOrder = [
      '00'.repeat(32),
      `01${'00'.repeat(31)}`,
      `ec${'ff'.repeat(30)}7f`,
      `${'00'.repeat(31)}80`,
      `ee${'ff'.repeat(30)}7f`,
      '26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05',
      'c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a',
    ]
    const bad = [
      privateKey.export({ type: 'pkcs8', format: 'pem' }),
      privateKey.export({ type: 'pkcs8', format: 'pem' }).toString().replaceAll('PRIVATE', 'PUBLIC'),
      pem.replace(/(.{8})\n-----END/, '\n-----END'),
      `junk\n${pem}`,
      ...smallOrder.map((hex) => pemOf(Buffer.from(hex, 'hex'))),
      '',
      'ed25519',
      7,
    ]
    for (const publicKey of bad) expect(await create(publicKey)).toMatchObject({ error: { code: -32602 } })
  })
})
