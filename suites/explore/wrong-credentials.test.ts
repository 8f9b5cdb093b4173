import { expect, test } from 'vitest'
import type { ServerOptions } from '../targets/bundled.ts'
import { basic, create } from './calls.ts'
import { keyringOf } from './keyring.ts'
import { wrongKinds } from './kinds-of-keys.ts'
import { keyPairMaker } from './open.ts'
import type { Caller } from './table.ts'
import { brokenBy } from './test-findings.ts'
import { noCredentials } from './wrong-credentials.ts'

const rootKey = { id: 'root', secret: 'root-secret-of-a-test' }
const ofRoot = `Basic ${btoa(`${rootKey.id}:${rootKey.secret}`)}`

/** Takes some calls for those of the root key. */
const trusting = (
  isTrusted: (authorization: string | undefined, body: string) => boolean,
): Omit<ServerOptions, 'clock'> => ({
  rootKey,
  around: (handle) => (request) => {
    const { headers } = request
    const authorization = isTrusted(headers.authorization as string | undefined, String(request.body))
      ? ofRoot
      : headers.authorization
    return handle({ ...request, headers: { ...headers, ...(authorization === undefined ? {} : { authorization }) } })
  },
})

/** Takes the credentials of a key from the params, if there is no header. */
const readingParams: Omit<ServerOptions, 'clock'> = {
  rootKey,
  around: (handle) => (request) => {
    const { params, ...call } = JSON.parse(String(request.body)) as {
      method: string
      params: { [name: string]: unknown }
    }
    const { apiKeyId, apiKeySecret, ...rest } = params
    const isGrant = call.method === 'manager/auth'
    if (
      isGrant ||
      request.headers.authorization !== undefined ||
      apiKeyId !== rootKey.id ||
      apiKeySecret !== rootKey.secret
    )
      return handle(request)
    const body = Buffer.from(JSON.stringify({ ...call, params: rest }))
    return handle({ ...request, body, headers: { ...request.headers, authorization: ofRoot } })
  },
}

test('the credentials of a key among the params authorize nothing', async () => {
  expect(new Set(await brokenBy(readingParams, noCredentials))).toEqual(new Set(['authorization/required']))
})

test('the name of the open method elsewhere in a body authorizes nothing', async () => {
  const server = trusting((authorization, body) => authorization === undefined && !isGrant(body) && isNamed(body))
  expect(new Set(await brokenBy(server, noCredentials))).toEqual(new Set(['authorization/required']))
})

const isGrant = (body: string): boolean => (JSON.parse(body) as { method: string }).method === 'manager/auth'
const isNamed = (body: string): boolean => body.includes('"manager/auth"')

const withPublicKey = async ({ x, ...caller }: Caller): Promise<void> => {
  x.setSignatureClock(0, true)
  const { seed, publicKeyPem: publicKey } = keyPairMaker(x.options.values)()
  x.names.set('ecc-a-own', { seed, publicKey })
  const scope = ['apikey', 'solution', 'context']
  await x.call(create(basic('root'), { name: 'signer', scope, publicKey: '$ecc-a-own.publicKey' }, { as: 'ecc-a' }))
  await wrongKinds({ ...caller, x, keyring: keyringOf(x, { grants: true, keys: true, limits: true }) }, 1)
}

test('the secret of a key with a public key proves nothing behind a word in another case', async () => {
  const server = trusting((authorization = '') => /^(basic|BASIC) /.test(authorization))
  expect(await brokenBy(server, withPublicKey)).toContain('basic/public-key-refused')
})

test('the reference server breaks nothing', async () => {
  expect(await brokenBy({}, noCredentials)).toEqual([])
  expect(await brokenBy({}, withPublicKey)).toEqual([])
})
