import { describe, expect, test } from 'vitest'
import { parseScenario } from '../language/parse.ts'
import { aloneReasons, type Claims, claimsOf, noClaims } from './claims.ts'

function claims(needs: string, ...steps: string[]): Claims {
  const text = `scenario: made up\n${needs === '' ? '' : `needs: [${needs}]\n`}steps:\n${steps.map((step) => `  - ${step}\n`).join('')}`
  const scenario = parseScenario(text, 'fixtures/scenarios/made-up/one.yaml')
  const testCase = { name: null, slug: null, values: {} }
  return claimsOf({ kind: 'case', key: scenario.id, scenario, testCase })
}

const plain = '{ call: solution/listSolutions, auth: { basic: root }, observe: errors/shape }'
const grant = '{ grant: root, scope: [solution], observe: errors/shape }'
const nothing = noClaims

describe('the claims of a case follow from its needs and steps', () => {
  test.each<[string, Claims, Partial<Claims>]>([
    ['an ordinary call', claims('', plain), {}],
    ['a grant', claims('sessions', grant), { grants: 1, users: ['root'] }],
    ['a grant in rounds', claims('sessions', grant.replace('{', '{ repeat: 3,')), { grants: 3, users: ['root'] }],
    [
      'a session',
      claims('sessions', grant.replace('solution', 'solution, "session:one"')),
      { grants: 1, named: 1, users: ['root'] },
    ],
    ['how sessions count', claims('', plain.replace('errors/shape', 'sessions/counting')), { observesCounting: true }],
    ['a grant that must be refused', claims('sessions', '{ grant: root, scope: [], expect: refused }'), {}],
    ['a refresh', claims('sessions', '{ refresh: $pair, observe: errors/shape }'), {}],
    ['a wait', claims('', '{ wait: 2s }'), { waits: true }],
    ['keys', claims('keys', plain), { makesKeys: true }],
    ['the limit of sessions', claims('sessions, limits', plain), { fills: 'sessions' }],
    ['the limit of keys', claims('sessions, keys, limits', plain), { makesKeys: true, fills: 'keys' }],
    ['a row of calls', claims('', plain.replace('{', '{ repeat: 40,')), { isLong: true }],
    ['a race', claims('', plain.replace('{', '{ parallel: 4,')), { races: true }],
  ])('%s', (_name, made, wanted) => {
    expect(made).toEqual({ ...nothing, ...wanted })
  })
})

test('a case says why it runs alone', () => {
  expect(aloneReasons(nothing)).toEqual([])
  expect(aloneReasons({ ...nothing, grants: 3, waits: true })).toEqual([])
  expect(aloneReasons({ ...nothing, makesKeys: true, fills: 'keys', races: true })).toEqual(['fills-keys', 'race'])
  expect(aloneReasons({ ...nothing, makesKeys: true })).toEqual(['makes-keys'])
  expect(aloneReasons({ ...nothing, fills: 'sessions' })).toEqual(['fills-sessions'])
})
