/** The signature vectors of fixtures/, whose values were made with OpenSSL and without this code. */
import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { identify } from './caller.ts'
import { createHandler } from './handler.ts'
import { rules } from './rules.ts'

interface Vector {
  id: string
  valid: boolean
  scheme: string
  keyId: string
  secret?: string
  publicKey?: string
  method: string
  uri: string
  bodyBase64: string
  timestamp: number
  /** What is right. */
  header: string
  /** What came, where the vector is not valid. */
  received?: string
}

const file = new URL('../fixtures/vectors.json', import.meta.url)
const { vectors } = JSON.parse(readFileSync(file, 'utf8')) as { vectors: Vector[] }

/** Where a server with the key of the vector, and a clock at its timestamp, stops a request with this header. */
function stoppedAt(vector: Vector, header: string): string {
  const { keyId, secret, publicKey, method, uri, bodyBase64, timestamp, scheme } = vector
  const { context } = createHandler({
    clock: 'virtual',
    now: timestamp,
    profile: { scheme, nonceMaxLength: 1024 },
    // Vectors are for any URI; the interface signs /api.
    rules: { dataToSign: (parts) => rules.dataToSign({ ...parts, uri: parts.target }) },
    rootKey: {
      id: keyId,
      ...(secret === undefined ? {} : { secret }),
      ...(publicKey === undefined ? {} : { publicKey }),
    },
  })
  const found = identify(context, {
    method,
    target: uri,
    headers: { authorization: header },
    body: Buffer.from(bodyBase64, 'base64'),
    remoteAddress: '127.0.0.1',
  })
  return found.ok ? 'nowhere' : found.refusal.stage
}

describe('vectors', () => {
  test.each(vectors)('$id: the right header is accepted', (vector) => {
    expect(stoppedAt(vector, vector.header)).toBe('nowhere')
  })

  test.each(vectors.filter(({ valid }) => !valid))('$id: the received header is refused', (vector) => {
    expect(stoppedAt(vector, vector.received ?? '')).toMatch(/^(signature|key|authorization)\//)
  })
})
