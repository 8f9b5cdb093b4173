import { expect, test } from 'vitest'
import type { ServerOptions } from '../targets/bundled.ts'
import { compareCreators, compareWithoutPublicKey, createKeys } from './create-keys.ts'
import { type Auth, basic, create, hmac } from './step.ts'
import { brokenBy, foundIn } from './test-findings.ts'

/** The public keys that the model sends when it may create some keys. */
async function publicKeysSent(newKeys: number, accepts: (pem: string) => boolean): Promise<string[]> {
  const sent: string[] = []
  const around: NonNullable<ServerOptions['around']> = (inner) => (request) => {
    const { method, params } = JSON.parse(request.body.toString()) as { method: string; params: { publicKey?: string } }
    const pem = method === 'manager/createApiKey' ? params.publicKey : undefined
    if (pem === undefined) return inner(request)
    sent.push(pem)
    return accepts(pem) ? inner(request) : inner({ ...request, headers: {} })
  }
  const { found } = await foundIn({ around }, ({ x }) => createKeys(x, { newKeys, hasTokens: false }))
  expect(found).toEqual([])
  return sent
}

const endsWithLineFeed = (pem: string): boolean => pem.endsWith('\n')

test('some public keys end with a line feed, which is open; a server that refuses them gets as many keys without', async () => {
  const all = await publicKeysSent(4, () => true)
  expect(all.some(endsWithLineFeed)).toBe(true)
  expect(all.every(endsWithLineFeed)).toBe(false)
  const sent = await publicKeysSent(4, (pem) => !endsWithLineFeed(pem))
  expect(sent.filter((pem) => !endsWithLineFeed(pem)).length).toBe(all.length)
})

const noPublicKeys = { rules: { publicKey: () => undefined } }
const fullAfterOne = { rules: { keysCounted: (all: readonly unknown[]) => (all.length > 1 ? 10 : 0) } }
test.each<[string, Omit<ServerOptions, 'clock'>, readonly Auth[], string[]]>([
  ['a server that takes no public key', noPublicKeys, [basic('root'), basic('root')], ['keys/public-key']],
  ['one refusal, which may be due to a limit of rates', noPublicKeys, [basic('root')], []],
  ['a server without a free place', fullAfterOne, [basic('root'), hmac('root')], []],
])('%s breaks what it breaks', async (_what, server, ways, broken) => {
  const found = await brokenBy(server, async ({ x }) => {
    x.setSignatureClock(0, true)
    // As on a target that is not fresh: it is unknown how many places are free.
    x.setTerms({ fresh: false })
    x.names.set('own', x.makeKeyPair())
    for (const [at, auth] of ways.entries())
      await x.call(create(auth, { name: `key-${at}`, scope: ['solution'], publicKey: '$own.publicKey' }))
    await compareCreators(x, 0)
    await compareWithoutPublicKey(x, 0)
  })
  expect(found).toEqual(broken)
})
