import { describe, expect, test } from 'vitest'
import { type MadeUpCall, madeUpTarget } from '../../self/made-up-target.ts'
import { parseScenario } from '../language/parse.ts'
import { seededRandom } from '../signer/random.ts'
import { alterWords, base64, basicWords } from './call.ts'
import { startRun } from './conversation.ts'
import { runCase } from './run-case.ts'
import { noFacts } from './target-facts.ts'

describe('alter', () => {
  const samples = [
    '9fff45b75c225d6559de671259b44366',
    'aZ4-_xY',
    'eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2ln',
    '1111',
    'UPPER',
    'lower',
  ]

  describe('words that spoil a secret', () => {
    test.each(Object.keys(alterWords))('%s changes every secret', (word) => {
      for (const sample of samples) expect(alterWords[word]?.(sample)).not.toBe(sample)
    })

    test('a changed character keeps the length and the ends, so that no encoding can hide it', () => {
      for (const word of ['lower-case-letter-changed', 'upper-case-letter-changed', 'digit-changed']) {
        const token = 'eyJhbGciOiJIUzI1NiJ9abcDEF0123456789'
        const altered = alterWords[word]?.(token) ?? ''
        expect(altered).toHaveLength(token.length)
        expect([...altered].filter((character, index) => character !== token[index])).toHaveLength(1)
        expect(altered.slice(-2)).toBe(token.slice(-2))
      }
    })
  })

  test('a JWT without its signature keeps its claims and says that it has none', () => {
    const [head = '', ...rest] = (
      alterWords['without-signature']?.('eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2ln') ?? ''
    ).split('.')
    expect(JSON.parse(atob(head))).toEqual({ alg: 'none', typ: 'JWT' })
    expect(rest).toEqual(['eyJzdWIiOiIxIn0', ''])
  })

  test('invalid Basic headers', () => {
    const right = Buffer.from('id:secret').toString('base64')
    for (const word of Object.keys(basicWords)) expect(basicWords[word]?.('id', 'secret')).not.toBe(right)
    expect(Buffer.from(basicWords['without-colon']?.('id', 'secret') ?? '', 'base64').toString()).toBe('idsecret')
  })

  test('a secret of a megabyte can be sent', () => {
    expect(base64('x'.repeat(2 ** 20))).toHaveLength(Math.ceil(2 ** 20 / 3) * 4)
  })
})

describe('prepare changed', () => {
  const corpus = { requirements: [], questions: [], testKeys: [], schemas: {}, scenarios: [] }

  /** The calls that steps make, and the problem of their case. */
  async function madeBy(...steps: string[]): Promise<{ calls: MadeUpCall[]; problem: unknown; verdict: string }> {
    const calls: MadeUpCall[] = []
    const target = madeUpTarget({
      answer: (call) => {
        calls.push(call)
        return call.authorization?.startsWith('Basic ') === true ? { result: {} } : { status: 401 }
      },
    })
    const run = startRun({ target, corpus, facts: noFacts(), random: seededRandom(1), unique: 'test' })
    const text = `scenario: x\nsteps:\n${steps.map((step) => `  - ${step}\n`).join('')}`
    const scenario = parseScenario(text, 'fixtures/scenarios/a/x.yaml')
    const [testCase] = scenario.cases
    if (testCase === undefined) throw new Error('no case')
    const { problem, verdict } = await runCase(run, scenario, testCase)
    return { calls, problem, verdict }
  }

  test('several parts of a call are changed', async () => {
    const { calls } = await madeBy(
      '{ call: solution/listSolutions, auth: { basic: root }, alter: { basic-word: lower-case, basic-secret: { value: other }, param name: { value: [1] } }, expect: refused }',
    )
    expect(calls).toMatchObject([{ authorization: `basic ${btoa('root:other')}`, params: { name: [1] } }])
  })

  test('a change with no effect makes the case not testable, and is named', async () => {
    const { calls, problem, verdict } = await madeBy(
      '{ call: solution/listSolutions, auth: { basic: root }, alter: { basic-word: { value: Basic } }, expect: refused }',
    )
    expect(calls).toEqual([])
    expect({ verdict, problem }).toMatchObject({
      verdict: 'not-testable',
      problem: { reason: 'Cannot change this call: "basic-word" stays as it is' },
    })
  })

  test('a nonce of a kind, and the signature that was sent', async () => {
    const { calls } = await madeBy(
      '{ call: solution/listSolutions, auth: { hmac: root }, nonce: marks, keep: { header: sent.header, signature: sent.signature } }',
      '{ call: solution/listSolutions, auth: { hmac: root }, alter: { signature: { value: $signature } } }',
      '{ call: solution/listSolutions, auth: { header: $header } }',
    )
    const [first = '', second = '', third] = calls.map(({ authorization }) => authorization)
    expect(first.split(';')[3]).toMatch(/\/{4}\+{4}$/)
    expect(second.split(';')[4]).toBe(first.split(';')[4])
    expect(third).toBe(first)
  })
})
