import { expect, it } from 'vitest'
import {
  type Answer,
  type Auth,
  createTestClient,
  ed25519Pair,
  type Signing,
  signedHeader,
} from '../../mock-server/test-client.ts'
import { brokenServers } from './table.ts'

export type Client = ReturnType<typeof createTestClient>

/** Makes a few calls, and returns whether the server misbehaved. */
type Witness = (client: Client) => Promise<boolean>

const rows = new Map((await brokenServers()).map((row) => [row.id, row]))

/** Rows that became one with another, which their witnesses show as well. */
const merged: { [id: string]: string } = {
  'empty-mac-accepted': 'empty-mac-taken',
  'letter-case-of-mac-ignored': 'case-of-the-mac-ignored',
  'hmac-sha1-accepted': 'sha1-taken-too',
  'mac-with-key-id-as-secret-accepted': 'key-id-as-secret-taken-too',
  'signature-checked-once-per-key-and-millisecond': 'mac-checked-once-per-key-and-timestamp',
  'hmac-with-public-key-text-accepted': 'hmac-with-the-pem-for-public-keys',
  'ecc-signature-of-digest-accepted': 'ecc-over-a-hash-taken-too',
  'ecc-signature-of-data-in-base64-accepted': 'ecc-over-base64-taken-too',
  'any-public-key-verifies-for-secret-key': 'ecc-of-any-key-for-secret-keys',
  'ecc-scalar-reduced-before-check': 'high-s-taken',
  'bytes-behind-ecc-signature-ignored': 'ecc-first-64-bytes-verified',
  'uri-with-trailing-slash-accepted': 'trailing-slash-signed-too',
  'white-space-around-body-not-covered': 'trimmed-body-expected',
  'body-composed-to-nfc-before-verification': 'body-signed-in-composed-form',
  'signature-once-accepted-fits-any-body': 'mac-once-right-stays-right',
  'nonce-before-timestamp-accepted': 'nonce-before-timestamp-signed-too',
  'comma-separates-fields-too': 'commas-separate-fields-too',
  'header-without-version-accepted': 'version-may-be-left-out',
  'order-of-members-in-signed-body-ignored': 'sorted-body-signed-too',
  'created-key-unused-for-thirty-days-ends': 'unused-key-expires-after-thirty-days',
  'disabled-key-works-again-when-it-is-deleted': 'disabled-key-works-again-once-deleted',
  'disabled-key-signs-with-ecc': 'ecc-of-a-disabled-key-taken',
  'deleted-key-signs-with-ecc': 'ecc-of-a-deleted-key-taken',
  'scope-of-narrow-public-key-not-checked': 'ecc-has-every-scope',
  'ecc-refused-on-key-creation': 'ecc-creates-no-keys',
  'solution-any-scope-creates-keys': 'scope-of-all-solutions-creates-keys',
  'keys-with-public-key-not-counted': 'keys-with-a-public-key-not-counted',
  'no-key-limit-for-ecc-callers': 'keys-created-by-ecc-without-a-limit',
  'keys-of-one-name-counted-once': 'keys-of-same-name-counted-once',
  'refused-creation-ends-newest-key': 'newest-key-lost-to-a-refusal',
  'new-key-replaces-key-of-same-name': 'key-lost-to-a-namesake',
  'pretty-printed-body-refused': 'json-in-one-line-demanded',
  'id-wraps-at-32-bits': 'id-cut-to-32-bits',
  'negative-id-loses-its-sign': 'id-without-its-sign',
  'basic-credentials-in-plain-text-accepted': 'basic-plain-text-taken',
  'unknown-scheme-lets-in': 'unknown-scheme-taken',
  'token-in-auth-member-of-body-taken': 'token-as-member-of-request-taken',
  'letter-case-of-secret-ignored-in-basic': 'basic-secret-in-any-case',
  'method-name-in-a-list-accepted': 'method-taken-out-of-an-array',
  'unknown-solution-method-answered-with-empty-result': 'unknown-operation-of-a-known-group-answered',
  'text-behind-json-ignored': 'text-after-the-json-ignored',
  'comma-before-closing-brace-accepted': 'trailing-comma-taken',
  'scope-of-key-cut-at-three-entries': 'fourth-scope-of-key-and-later-dropped',
  'private-key-taken-for-public-key': 'private-key-taken-as-public',
}

/** Each mutant shows its wrong behaviour, twice with a reset between; the reference server does not. */
export function testWitnesses(witnesses: { [id: string]: Witness }): void {
  for (const [id, witness] of Object.entries(witnesses)) {
    const mutant = rows.get(merged[id] ?? id)
    it(id, async () => {
      expect(mutant, 'a row').toBeDefined()
      expect(await witness(createTestClient())).toBe(false)
      const broken = createTestClient(mutant?.create())
      expect(await witness(broken)).toBe(true)
      broken.reset()
      expect(await witness(broken)).toBe(true)
    })
  }
}

export const works = ({ json }: Answer): boolean => json?.result !== undefined

/** The results of `count` calls, made one after the other. */
export async function inTurn<T>(count: number, call: (index: number) => Promise<T>): Promise<T[]> {
  const results: T[] = []
  for (let index = 0; index < count; index++) results.push(await call(index))
  return results
}

export const listingBody = JSON.stringify({ jsonrpc: '2.0', id: 7, method: 'solution/listSolutions', params: {} })

export const post = (client: Client, body: string, authorization?: string, connection?: number) =>
  client.send({
    body: Buffer.from(body),
    headers: authorization === undefined ? {} : { authorization },
    ...(connection === undefined ? {} : { connection }),
  })

/** A listing on a numbered connection. */
export const listOn = (client: Client, connection: number, auth: Auth, id = 7) => {
  const body = listingBody.replace('"id":7', `"id":${id}`)
  return client.send({ body: Buffer.from(body), headers: client.headersFor(auth, body), connection })
}

/** Whether a listing signed by the root key, or another key without public key, is accepted. */
export const signs = async (client: Client, but: Signing, key: { id: string; secret: string } = client.root) =>
  works(await client.list({ hmac: key }, but))

/** Whether a listing is accepted whose header was changed after it was made. */
export const signsWithHeader = async (client: Client, change: (header: string) => string) =>
  works(await post(client, listingBody, change(signedHeader(client.root, listingBody, client.clock.now()))))

export const basic = (id: string, secret: string): string =>
  `Basic ${Buffer.from(`${id}:${secret}`).toString('base64')}`

export const creation = { name: 'key', scope: ['apikey', 'solution', 'context'] }

export async function makeKey(
  client: Client,
  params: object = {},
  auth?: Auth,
): Promise<{ id: string; secret: string }> {
  const answer = await client.createKey({ ...creation, ...params }, auth)
  return answer.json?.result ?? {}
}

export async function makeEccKey(client: Client, params: object = {}) {
  const { pem, privateKey } = ed25519Pair()
  const { id, secret } = await makeKey(client, { publicKey: pem, ...params })
  return { id, secret, pem, privateKey, auth: { ecc: { id, privateKey } } }
}

export interface Pair {
  accessToken: string
  accessTokenExpiry: number
  refreshToken: string
  refreshTokenExpiry: number
  tokenType: string
  scope: string[]
}

/** The result of a grant; fields are missing when it was refused. */
export async function grantPair(
  client: Client,
  scope: string[] = ['solution'],
  key: { id: string; secret: string } = client.root,
): Promise<Pair> {
  return (await client.grant(scope, key)).json?.result ?? {}
}

export async function refreshPair(client: Client, { refreshToken }: Pair): Promise<Pair> {
  return (await client.refresh(refreshToken)).json?.result ?? {}
}

/** A pair and those of the refreshes after it, with some time before each. */
export async function lineOfPairs(client: Client, refreshes: number, scope?: string[], waitMs = 0): Promise<Pair[]> {
  let pair = await grantPair(client, scope)
  const pairs = [pair]
  for (let count = 0; count < refreshes; count++) {
    client.clock.advance(waitMs)
    pair = await refreshPair(client, pair)
    pairs.push(pair)
  }
  return pairs
}

/** The pairs of sessions with different names. */
export const openSessions = (client: Client, count: number, key?: { id: string; secret: string }): Promise<Pair[]> =>
  inTurn(count, (index) => grantPair(client, ['solution', `session:s${index}`], key))

export const accessWorks = async (client: Client, pair: Pair | undefined, from?: string): Promise<boolean> =>
  works(await client.list({ token: pair?.accessToken ?? '' }, { from }))
export const refreshWorks = async (client: Client, pair: Pair | undefined): Promise<boolean> =>
  works(await client.refresh(pair?.refreshToken ?? ''))
export const createsKey = async (client: Client, auth: Auth) => works(await client.createKey(creation, auth))
