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

/** Each mutant shows its wrong behaviour, twice with a reset between; the reference server does not. */
export function testWitnesses(witnesses: { [id: string]: Witness }): void {
  for (const [id, witness] of Object.entries(witnesses)) {
    const mutant = rows.get(id)
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
