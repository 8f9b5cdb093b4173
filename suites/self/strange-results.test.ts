/** With any value in a result, a case ends with a verdict: an exception would be a defect of the suite. */
import { expect, test } from 'vitest'
import { allItems, type Item } from '../engine/conversation/cases.ts'
import { openCorpus } from '../run/corpus-cache.ts'
import { runAll } from '../run/run.ts'
import { type MadeUpCall, madeUpTarget } from './made-up-target.ts'
import { turnUnlessProof } from './proof-form.ts'

const corpus = await openCorpus()
const deep = JSON.parse(`${'['.repeat(100)}${']'.repeat(100)}`) as unknown
const strange: readonly [string, unknown][] = [
  ['null', null],
  ['a number', 7],
  ['a list', [1, 'two', null]],
  ['a list of lists of lists', deep],
  ['characters that no header takes', 'line\r\nfeed \u0000 鍵 🔑'],
  ['a reference', '$root.secret'],
  ['a time too far away', 1e300],
]

/** A server that accepts the root key, and grants and creates everything that is requested. */
function granting(result: unknown) {
  return ({ method, authorization = '' }: MadeUpCall) => {
    if (method !== 'solution/listSolutions') return { result }
    return authorization.length > 6 && !authorization.includes('junk') ? { result: {} } : { status: 401 }
  }
}

/** Outside of a proof each value gets another part of the cases. */
function partFor(value: unknown): Item[] {
  const at = strange.findIndex(([, one]) => one === value)
  return turnUnlessProof(allItems(corpus), 7, at)
}

test.each(strange)('results that are %s', async (_name, value) => {
  const outcomes = await runAll({ target: madeUpTarget({ answer: granting(value) }), corpus, items: partFor(value) })
  expect(outcomes.some(({ verdict }) => verdict === 'failed')).toBe(true)
})

test.each(strange)('members that are %s', async (_name, value) => {
  const names = [
    'id',
    'secret',
    'accessToken',
    'accessTokenExpiry',
    'refreshToken',
    'refreshTokenExpiry',
    'tokenType',
    'scope',
  ]
  const result = Object.fromEntries(names.map((name) => [name, value]))
  const outcomes = await runAll({ target: madeUpTarget({ answer: granting(result) }), corpus, items: partFor(value) })
  expect(outcomes.some(({ verdict }) => verdict === 'failed')).toBe(true)
})
