import { expect, test } from 'vitest'
import { seededRandom } from '../engine/random.ts'
import { ed25519KeyPair } from '../engine/signer/pem.ts'
import { fillKeyring } from './fill-keyring.ts'
import { foundIn } from './test-findings.ts'

const values = seededRandom(1)
const makeKeyPair = () => {
  const seed = values.bytes(32)
  return { seed, publicKeyPem: ed25519KeyPair(seed).publicKeyPem }
}

/** The public keys that the model sends when it may create some keys. */
async function publicKeysSent(newKeys: number, accepts: (pem: string) => boolean): Promise<string[]> {
  const sent: string[] = []
  const around: NonNullable<Parameters<typeof foundIn>[0]['around']> = (inner) => (request) => {
    const { method, params } = JSON.parse(request.body.toString()) as { method: string; params: { publicKey?: string } }
    const pem = method === 'manager/createApiKey' ? params.publicKey : undefined
    if (pem === undefined) return inner(request)
    sent.push(pem)
    return accepts(pem) ? inner(request) : inner({ ...request, headers: {} })
  }
  const { found } = await foundIn({ around }, ({ x, pairs }) =>
    fillKeyring(x, pairs, { newKeys, hasTokens: false, makeKeyPair }),
  )
  expect(found).toEqual([])
  return sent
}

const endsWithLineFeed = (pem: string): boolean => pem.endsWith('\n')

test('some public keys end with a line feed, which is open', async () => {
  const sent = await publicKeysSent(4, () => true)
  expect(sent.some(endsWithLineFeed)).toBe(true)
  expect(sent.every(endsWithLineFeed)).toBe(false)
})

test('a server that refuses them is not accused, and gets as many keys without', async () => {
  const sent = await publicKeysSent(4, (pem) => !endsWithLineFeed(pem))
  const accepted = sent.filter((pem) => !endsWithLineFeed(pem))
  expect(sent.length).toBeGreaterThan(accepted.length)
  expect(accepted.length).toBe((await publicKeysSent(4, () => true)).length)
})
