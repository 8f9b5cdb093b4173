/**
 * Every expected value of fixtures/vectors, its hashes, MACs and signatures made by the openssl program alone. After a change of a
 * vector this test prints the right values: `npx vitest run --config suites/vitest.config.ts suites/self/fixtures-vectors`.
 */
import { spawnSync } from 'node:child_process'
import { createPublicKey, verify as nodeVerify } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, describe, expect, test } from 'vitest'
import { defaultScheme } from '../engine/document.ts'
import { packageRoot } from '../engine/language/package-root.ts'
import { problemWith } from '../engine/language/schemas.ts'
import { flatVectors, loadVectors, vectorBytes } from '../engine/language/vectors.ts'
import { toHex } from '../engine/signer/bytes.ts'
import { ed25519Verify } from '../engine/signer/ed25519.ts'
import { sha256 } from '../engine/signer/hmac.ts'
import { publicKeyToPem, seedFromPkcs8 } from '../engine/signer/pem.ts'
import { type SignInput, sign } from '../engine/signer/sign.ts'
import { createProfile, rules } from '../targets/bundled.ts'
import { shipped } from './sources.ts'
import { openFolder } from './temporary.ts'

type SignatureVector = ReturnType<typeof loadVectors>['valid'][number]

const { write: file } = openFolder()

// LibreSSL has the same name, but neither -rawin nor -macopt hexkey with every key.
const version = spawnSync('openssl', ['version']).stdout?.toString() ?? ''
const missing = version.startsWith('OpenSSL 3') ? '' : ' (NOT RUN: needs OpenSSL 3 in the path)'

describe.skipIf(missing !== '')(`expected values by OpenSSL${missing}`, () => {
  const { valid, invalid } = loadVectors(packageRoot)
  const vectors = [...valid, ...invalid]
  const dataOf = new Map(vectors.map((vector) => [vector, dataToSign(vector)]))
  const fileOf = new Map([...dataOf].map(([vector, data], at) => [vector, file(`data-${at}`, data)]))
  let hashes: Map<SignatureVector, string>
  const macs = new Map<SignatureVector, string>()

  // One process for all vectors of a key: to start one takes longer than to hash a thousand vectors.
  beforeAll(() => {
    hashes = digests([], vectors)
    for (const secret of new Set(vectors.flatMap(({ input }) => input.secret ?? []))) {
      const key = `hexkey:${Buffer.from(secret).toString('hex')}`
      const signed = vectors.filter(({ input }) => input.secret === secret)
      for (const [vector, mac] of digests(['-mac', 'HMAC', '-macopt', key], signed)) macs.set(vector, mac)
    }
  })

  const publicKeys = new Map<string, string>()
  function publicKeyOf(privateKey: string): string {
    const made =
      publicKeys.get(privateKey) ?? openssl(['pkey', '-in', file('key.pem', privateKey), '-pubout']).toString()
    publicKeys.set(privateKey, made)
    return made
  }

  function digests(how: string[], of: readonly SignatureVector[]): Map<SignatureVector, string> {
    const printed = openssl(['dgst', '-sha256', '-r', ...how, ...of.map((vector) => fileOf.get(vector) ?? '')])
    const lines = printed.toString().trimEnd().split('\n')
    return new Map(of.map((vector, at) => [vector, lines[at]?.split(' ')[0] ?? '']))
  }

  test.each(vectors)('$id', (vector) => {
    const { input, expect: expected } = vector
    const data = dataOf.get(vector)
    const stages: { [stage: string]: string | undefined } = {
      'data-to-sign': data?.toString('base64'),
      'data-to-sign-sha256': hashes.get(vector),
    }
    let signature: Buffer
    if (input.secret === undefined) {
      const key = file('key.pem', input['private-key'] ?? '')
      signature = openssl(['pkeyutl', '-sign', '-inkey', key, '-rawin', '-in', fileOf.get(vector) ?? ''])
      expect(publicKeyOf(input['private-key'] ?? '')).toBe(input['public-key'])
    } else {
      stages.mac = macs.get(vector)
      signature = Buffer.from(stages.mac ?? '', 'hex').subarray(0, 20)
      stages['mac-first-20-bytes'] = signature.toString('hex')
    }
    stages.signature = signature.toString('base64')
    stages.header = `${input.scheme ?? 'svc-hmac-sha256'} ${input['key-id']};1;${input.timestamp};${input.nonce};${stages.signature}`
    const written = Buffer.from(vectorBytes(expected['data-to-sign'])).toString('base64')
    expect({ ...expected, 'data-to-sign': written }).toEqual(stages)
  })
})

function dataToSign({ input }: SignatureVector): Buffer {
  return Buffer.concat([
    Buffer.from(`${input.timestamp};${input.nonce};${input.method.toUpperCase()}\n${input.path}\n`),
    vectorBytes(input.body),
    Buffer.from('\n'),
  ])
}

function openssl(args: string[]): Buffer {
  const { status, stdout, stderr } = spawnSync('openssl', args)
  if (status !== 0) throw new Error(`openssl ${args[0]} failed: ${stderr.toString()}`)
  return stdout
}

/** The public key, the message and the signature are in hex. */
type EdgeCase = { [name in 'id' | 'title' | 'publicKey' | 'message' | 'signature' | 'position']: string } & {
  verdicts: { [verifier: string]: boolean | string }
}

const { cases } = JSON.parse(shipped('suites/self/ed25519-edge-cases.json')) as { cases: EdgeCase[] }
const bytes = (hex: string): Buffer => Buffer.from(hex, 'hex')

test.each(cases)('$id: $title', ({ publicKey, message, signature, verdicts, position }) => {
  const pem = publicKeyToPem(bytes(publicKey))
  expect({
    'node:crypto': nodeVerify(null, bytes(message), createPublicKey(pem), bytes(signature)),
    'noble, strict': ed25519Verify(bytes(publicKey), bytes(message), bytes(signature)),
    'bundled server': byServer(pem, bytes(message), bytes(signature)),
  }).toEqual(verdicts)
  expect(position).toMatch(/^.{20,}\.$|^As above/)
})

test('the table has the cases that verifiers are known to differ in', () => {
  const ids = cases.map(({ id }) => id)
  for (const wanted of ['s-plus-l', 'r-neutral', 'r-not-canonical', 'key-neutral', 'key-order-8', 'key-mixed-order']) {
    expect(ids).toContain(wanted)
  }
  expect(cases.filter(({ verdicts }) => verdicts['node:crypto'] !== verdicts['noble, strict'])).not.toEqual([])
})

function byServer(pem: string, message: Buffer, signature: Buffer): string {
  const key = rules.publicKey(pem, createProfile())
  if (key === undefined) return 'key refused'
  return rules.eccVerifies(key, message, signature) ? 'accepted' : 'refused'
}

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

  test('the files for other languages hold the same vectors', () => {
    const read = (file: string) => readFileSync(join(packageRoot, file), 'utf8')
    const flat = flatVectors(vectors)
    expect(problemWith(flat, 'vectors')).toBeUndefined()
    expect(JSON.parse(read('fixtures/vectors.json'))).toEqual(JSON.parse(JSON.stringify(flat)))
    expect(read('fixtures/recipes/vectors.tsv')).toBe(tableOf(flat.vectors))
  })
})

/**
 * The valid vectors as a table for the recipes, without head line: kind, scheme, key id, secret or PKCS#8 in BASE64, method,
 * URI, body in BASE64 (`-` for an empty one), timestamp, nonce, expected header; separated by tabs, one vector per line.
 */
function tableOf(vectors: ReturnType<typeof flatVectors>['vectors']): string {
  const lines = vectors.flatMap((one) => {
    const key = one.secret ?? (one.privateKey ?? '').replace(/-----[A-Z ]+-----|\s/g, '')
    const request = [one.method, one.uri, one.bodyBase64 || '-', one.timestamp, one.nonce]
    return one.valid ? [[one.kind, one.scheme, one.keyId, key, ...request, one.header].join('\t')] : []
  })
  return `${lines.join('\n')}\n`
}

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
