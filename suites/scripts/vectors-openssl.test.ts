/**
 * Every expected value of fixtures/vectors, made anew with the openssl program alone. After a change of a vector this test
 * prints the right values: `npx vitest run --config suites/vitest.config.ts suites/scripts/vectors-openssl`.
 */
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { packageRoot } from '../engine/fixture/package-root.ts'
import { loadVectors, type SignatureVector, vectorBytes } from '../engine/fixture/vectors.ts'

const folder = mkdtempSync(join(tmpdir(), 'svc-vectors-'))
afterAll(() => rmSync(folder, { recursive: true }))

// LibreSSL answers to the same name but has neither -rawin nor -macopt hexkey with every key.
const version = spawnSync('openssl', ['version']).stdout?.toString() ?? ''
const missing = version.startsWith('OpenSSL 3') ? '' : ' (NOT CHECKED: needs OpenSSL 3 in the path)'

describe.skipIf(missing !== '')(`expected values by OpenSSL${missing}`, () => {
  const { valid, invalid } = loadVectors(packageRoot)
  test.each<SignatureVector>([...valid, ...invalid])('$id', ({ input, expect: expected }) => {
    const data = Buffer.concat([
      Buffer.from(`${input.timestamp};${input.nonce};${input.method.toUpperCase()}\n${input.path}\n`),
      vectorBytes(input.body),
      Buffer.from('\n'),
    ])
    const stages: { [stage: string]: string } = {
      'data-to-sign': data.toString('base64'),
      'data-to-sign-sha256': openssl(['dgst', '-sha256', '-binary'], data).toString('hex'),
    }
    let signature: Buffer
    if (input.secret === undefined) {
      signature = openssl([
        'pkeyutl',
        '-sign',
        '-inkey',
        file('key.pem', input['private-key'] ?? ''),
        '-rawin',
        '-in',
        file('data', data),
      ])
      expect(openssl(['pkey', '-in', join(folder, 'key.pem'), '-pubout']).toString()).toBe(input['public-key'])
    } else {
      const hexKey = Buffer.from(input.secret).toString('hex')
      const mac = openssl(['dgst', '-sha256', '-mac', 'HMAC', '-macopt', `hexkey:${hexKey}`, '-binary'], data)
      signature = mac.subarray(0, 20)
      stages.mac = mac.toString('hex')
      stages['mac-first-20-bytes'] = signature.toString('hex')
    }
    stages.signature = openssl(['base64', '-A'], signature).toString()
    stages.header = `${input.scheme ?? 'svc-hmac-sha256'} ${input['key-id']};1;${input.timestamp};${input.nonce};${stages.signature}`
    const written = Buffer.from(vectorBytes(expected['data-to-sign'])).toString('base64')
    expect({ ...expected, 'data-to-sign': written }).toEqual(stages)
  })
})

function openssl(args: string[], input?: Buffer): Buffer {
  const { status, stdout, stderr } = spawnSync('openssl', args, input === undefined ? {} : { input })
  if (status !== 0) throw new Error(`openssl ${args[0]} failed: ${stderr.toString()}`)
  return stdout
}

function file(name: string, content: string | Buffer): string {
  const path = join(folder, name)
  writeFileSync(path, content)
  return path
}
