import { expect, test } from 'vitest'
import { madeUpTarget } from '../../self/made-up-target.ts'
import { seededRandom } from '../random.ts'
import { openCaller, startRun } from './caller.ts'
import { rememberSent } from './secrets.ts'
import { noFacts } from './target-facts.ts'

const corpus = { requirements: [], questions: [], testKeys: [], schemas: {}, scenarios: [] }
const target = madeUpTarget({
  answer: () => ({ result: {} }),
  settings: { scheme: 'acme-hmac', tokenPrefix: 'AcmeToken' },
})

async function redactedAfter(header: string, params: unknown, text: string): Promise<string> {
  const facts = { ...noFacts(), tokenPrefix: 'jwt-token' }
  const run = startRun({ target, corpus, facts, random: seededRandom(1), unique: 'test' })
  const caller = await openCaller(run)
  rememberSent(caller, header, params)
  return caller.redactor.text(text)
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
