import { describe } from 'vitest'
import {
  accessWorks,
  basic,
  type Client,
  grantPair,
  lineOfPairs,
  listingBody,
  listOn,
  post,
  testWitnesses,
  works,
} from '../test-witness.ts'

const grantParams = (c: Client) => ({
  grantType: 'api_key_credentials',
  apiKeyId: c.root.id,
  apiKeySecret: c.root.secret,
  scope: ['solution'] as unknown,
})

const auth = async (c: Client, params: object) => works(await c.call('manager/auth', { ...grantParams(c), ...params }))

/** The text with its first two different neighbours swapped. */
function swapped(text: string): string {
  const index = [...text].findIndex((letter, place) => letter !== text[place + 1])
  return text.slice(0, index) + text[index + 1] + text[index] + text.slice(index + 2)
}

describe('third set: credentials', () => {
  testWitnesses({
    'basic-refused-after-tokens-of-key-were-refreshed': async (c) => {
      await lineOfPairs(c, 1)
      return !works(await c.list({ basic: c.root }))
    },
    'basic-calls-in-flight-merged-by-key-id': async (c) => {
      const secrets = [c.root.secret, 'wrong']
      const answers = await Promise.all(secrets.map((secret) => c.list({ basic: { id: c.root.id, secret } })))
      return answers.every(works)
    },
    'colons-in-front-of-secret-skipped-in-basic': async (c) =>
      works(await post(c, listingBody, basic(c.root.id, `:${c.root.secret}`))),
    'swapped-letters-of-secret-accepted-in-basic': async (c) =>
      works(await c.list({ basic: { id: c.root.id, secret: swapped(c.root.secret) } })),
    'grant-finds-key-by-secret-alone': (c) => auth(c, { apiKeyId: 'nobody' }),
    'scope-as-object-accepted-in-grant': (c) => auth(c, { scope: { 0: 'solution' } }),
    'oauth-name-of-grant-type-accepted': (c) => auth(c, { grantType: 'client_credentials' }),
    'grant-adds-to-scopes-of-earlier-grants-of-key': async (c) => {
      await grantPair(c)
      return accessWorks(c, await grantPair(c, ['context']))
    },
    'empty-scope-left-out-of-result': async (c) => (await grantPair(c, ['expiresIn:5000'])).scope === undefined,
    'grant-refused-without-header-behind-basic-call-on-connection': async (c) => {
      const body = listingBody
        .replace('solution/listSolutions', 'manager/auth')
        .replace('{}', JSON.stringify(grantParams(c)))
      const first = works(await post(c, body, undefined, 1))
      await listOn(c, 1, { basic: c.root })
      return first && !works(await post(c, body, undefined, 1))
    },
  })
})
