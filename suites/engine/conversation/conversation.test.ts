import { describe, expect, test } from 'vitest'
import { madeUpTarget } from '../../self/made-up-target.ts'
import { seededRandom } from '../signer/random.ts'
import { type CreatedKeysEntry, openConversation, openCreatedKeys, startRun } from './conversation.ts'
import { makeCall } from './send.ts'
import { noFacts } from './target-facts.ts'

describe('created keys', () => {
  test('a creation whose answer was lost is remembered as a possible key', () => {
    const createdKeys = openCreatedKeys()
    for (const name of ['a', 'b', 'c']) createdKeys.intend(name)
    createdKeys.created({ id: '1', name: 'a', secret: 's' })
    createdKeys.notCreated('b')
    expect(createdKeys.keys.map(({ id }) => id)).toEqual(['1'])
    expect(createdKeys.unanswered).toEqual(['c'])
  })

  test('what was written is what is read back, removed keys are gone', () => {
    const written: CreatedKeysEntry[] = []
    const createdKeys = openCreatedKeys((entry) => written.push(entry))
    createdKeys.intend('a')
    createdKeys.created({ id: '1', name: 'a' })
    createdKeys.intend('b')
    createdKeys.created({ id: '2', name: 'b' })
    createdKeys.removed('1')
    const again = openCreatedKeys(() => {}, JSON.parse(JSON.stringify(written)) as CreatedKeysEntry[])
    expect(again.keys).toEqual(createdKeys.keys)
    expect(again.keys.map(({ id }) => id)).toEqual(['2'])
  })

  test('the intent is written before the creation is known', () => {
    const written: CreatedKeysEntry[] = []
    openCreatedKeys((entry) => written.push(entry)).intend('a')
    expect(written).toEqual([{ intend: 'a' }])
  })
})

describe('secrets', () => {
  const corpus = { requirements: [], questions: [], testKeys: [], schemas: {}, scenarios: [] }
  const target = madeUpTarget({
    answer: () => ({ result: {} }),
    settings: { scheme: 'acme-hmac', tokenPrefix: 'AcmeToken' },
  })

  async function redactedAfter(header: string, params: unknown, text: string): Promise<string> {
    const facts = { ...noFacts(), tokenPrefix: 'jwt-token' }
    const run = startRun({ target, corpus, facts, random: seededRandom(1), unique: 'test' })
    const talk = await openConversation(run)
    await makeCall(talk, { method: 'solution/listSolutions', params, auth: { header } })
    return talk.redactor.text(text)
  }

  test.each([
    'Basic',
    'bearer',
    'Bearer ',
    'BEARER Bearer',
    'acme-hmac',
    'ACME-HMAC',
    'AcmeToken',
    'JWT-Token',
    'Bearer undefined',
  ])('a word for a kind of authorization is not a secret: %s', async (header) => {
    const text = '> Bearer Basic acme-hmac AcmeToken jwt-token undefined'
    expect(await redactedAfter(header, {}, text)).toBe(text)
    expect(await redactedAfter('', { apiKeySecret: header, refreshToken: header }, text)).toBe(text)
  })

  test('a text after such a word, or alone, is a secret', async () => {
    expect(await redactedAfter('Bearer token-0123456789', {}, 'x token-0123456789 y')).toBe('x toke… y')
    expect(await redactedAfter('token-0123456789', {}, 'x token-0123456789 y')).toBe('x toke… y')
  })
})
