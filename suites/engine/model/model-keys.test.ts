import { describe, expect, test } from 'vitest'
import {
  accepted,
  at,
  basicHeader,
  body,
  createCall,
  grantCall,
  judged,
  listBody,
  listWith,
  newState,
  pairAnswer,
  refused,
  rootKey,
  tokenHeader,
  tokensOf,
} from '../../self/made-up-calls.ts'
import { ed25519KeyPair } from '../signer/pem.ts'
import { learn, mayStemFrom } from './learn.ts'
import { shape } from './shape.ts'
import type { State } from './state.ts'

describe('keys', () => {
  const key = (id: string) => accepted({ id, secret: `${id}-secret-0123456789` })
  const made = (count: number): State =>
    Array.from({ length: count }, (_, n) => n).reduce(
      (state, n) => learn(state, createCall({ name: `n${n}`, scope: ['solution'] }), key(`k${n}`), at(n)),
      newState(),
    )

  test('a grant beside the refresh token of a narrow key is judged by its own key', () => {
    const narrow = learn(newState(), createCall({ name: 'n', scope: ['context'] }), key('k'), at(0))
    const own = { apiKeyId: 'k', apiKeySecret: 'k-secret-0123456789' }
    const granted = learn(narrow, grantCall(['context'], own), pairAnswer('p', ['context'], at(1)), at(1))
    const beside = grantCall(['solution'], { refreshToken: tokensOf('p').refresh })
    expect(shape(granted, beside, pairAnswer('q', ['solution'], at(2)), at(2))).toEqual([])
  })

  test('a token without an area does not exceed the scope of its key, as far as it is implied', () => {
    const narrow = learn(newState(), createCall({ name: 'n', scope: ['solution'] }), key('k'), at(0))
    const own = { apiKeyId: 'k', apiKeySecret: 'k-secret-0123456789' }
    const granted = learn(narrow, grantCall([], own), pairAnswer('p', [], at(1)), at(1))
    const create = createCall({ name: 'x', scope: ['solution'] }, tokenHeader('p'))
    expect(judged(granted, create, at(9))).toMatchObject({
      is: 'refused',
      requirement: 'scopes/within-key',
      level: 'implied',
    })
    expect(judged(granted, listWith(tokenHeader('p')), at(9)).is).toBe('open')
    const ofContexts = learn(newState(), createCall({ name: 'n', scope: ['context'] }), key('k'), at(0))
    const other = learn(ofContexts, grantCall(['session:s'], own), pairAnswer('p', ['session:s'], at(1)), at(1))
    expect(judged(other, listWith(tokenHeader('p')), at(9))).toMatchObject({ requirement: 'scopes/within-key' })
  })

  test.each([
    [['solution:*'], 'solution', 0],
    [['solution:a'], 'solution', 0],
    [['context'], 'solution', 1],
    [['solution:a'], 'solution:*', 1],
    [['solution:a', 'solution:b'], 'solution:*', 1],
    [['solution:a', 'context'], 'solution:*', 0],
    [['solution:a', 'solution:*'], 'solution:*', 0],
    [[], 'solution:*', 0],
  ])('a key with the scope %j that is granted %s breaks %i rules', (scope, word, count) => {
    const state = learn(newState(), createCall({ name: 'n', scope }), key('k'), at(0))
    const call = grantCall([word], { apiKeyId: 'k', apiKeySecret: 'k-secret-0123456789' })
    expect(shape(state, call, pairAnswer('p', [word], at(1)), at(1))).toHaveLength(count)
  })

  test('a name of a key is open if it is long, until one as long was accepted, and if it was offered before', () => {
    const long = createCall({ name: 'fourteen-signs', scope: ['solution'] })
    const short = createCall({ name: 'twelve-signs', scope: ['solution'] })
    const first = newState()
    expect([judged(first, long, at(0)).is, judged(first, short, at(0)).is]).toEqual(['open', 'accepted'])
    const longTaken = learn(first, createCall({ name: 'sixteen-letters-', scope: ['solution'] }), key('k'), at(0))
    expect(judged(longTaken, long, at(1)).is).toBe('accepted')
    expect(judged(learn(longTaken, short, refused, at(1)), short, at(2)).is).toBe('open')
  })

  test('what becomes of the keys that an ended key created is open, whatever number of keys lies between', () => {
    const asked = (by: string, name: string) =>
      createCall({ name, scope: ['solution'] }, basicHeader(by, `${by}-secret-0123456789`))
    let state = learn(newState(), createCall({ name: 'a', scope: ['apikey'] }), key('a'), at(0))
    for (const [by, name] of [
      ['a', 'b'],
      ['b', 'c'],
    ] as const)
      state = learn(state, asked(by, name), key(name), at(1))
    state = learn(state, createCall({ name: 'd', scope: ['solution'] }), key('d'), at(2))
    const stems = (name: string, from: string) => {
      const made = state.keys.get(name)
      return made !== undefined && mayStemFrom(state, made, from)
    }
    expect(['b', 'c', 'd', rootKey.id].map((name) => stems(name, 'a'))).toEqual([true, true, false, false])
    expect(stems('c', 'b')).toBe(true)
    expect(stems('b', 'c')).toBe(false)
  })

  test('a secret is not given to two keys; which one a key with a public key gets is open', () => {
    const answer = (id: string) => accepted({ id, secret: 'a-secret-0123456789' })
    const { publicKeyPem: publicKey } = ed25519KeyPair(new Uint8Array(32).fill(7))
    const ecc = createCall({ name: 'e', scope: ['solution'], publicKey })
    const plain = createCall({ name: 'n', scope: ['solution'] })
    const withEcc = learn(newState(), ecc, answer('e'), at(0))
    expect(shape(withEcc, ecc, answer('f'), at(1))).toEqual([])
    expect(shape(withEcc, plain, answer('n'), at(1))).toEqual([])
    const withPlain = learn(withEcc, plain, answer('n'), at(1))
    expect(shape(withPlain, plain, answer('m'), at(2))).toMatchObject([{ requirement: 'keys/unique-secrets' }])
  })

  test('a public key of null may be refused, or make a key with a secret', () => {
    const call = createCall({ name: 'n', scope: ['solution'], publicKey: null })
    expect(judged(newState(), call, at(0)).is).toBe('open')
    const state = learn(newState(), call, key('k'), at(0))
    expect(judged(state, listWith(basicHeader('k', 'k-secret-0123456789')), at(1)).is).toBe('open')
    expect(judged(state, listWith(basicHeader('k', 'another-secret-01234')), at(1)).is).toBe('refused')
  })

  test('nine have a place; the answers to the tenth and the eleventh creation are open', () => {
    expect(judged(made(8), createCall({ name: 'n', scope: ['solution'] }), at(99)).is).toBe('accepted')
    // A filter in front of a server may take two hyphens for a comment.
    expect(judged(made(8), createCall({ name: 'n--1', scope: ['solution'] }), at(99)).is).toBe('open')
    expect(judged(made(9), createCall({ name: 'n', scope: ['solution'] }), at(99)).is).toBe('open')
  })

  test('eleven that work at once are a finding', () => {
    let state = made(11)
    for (let n = 0; n < 10; n++)
      state = learn(state, listWith(basicHeader(`k${n}`, `k${n}-secret-0123456789`)), accepted(), at(100))
    const eleventh = listWith(basicHeader('k10', 'k10-secret-0123456789'))
    expect(shape(state, eleventh, accepted(), at(101))).toMatchObject([
      { requirement: 'limits/ten-keys', level: 'must' },
    ])
  })

  test('a key with a public key works with ECC signatures only', () => {
    const { publicKeyPem } = ed25519KeyPair(new Uint8Array(32).fill(3))
    const state = learn(
      newState(),
      createCall({ name: 'e', scope: ['solution'], publicKey: publicKeyPem }),
      key('e'),
      at(0),
    )
    expect(judged(state, listWith(basicHeader('e', 'e-secret-0123456789')), at(1))).toMatchObject({
      is: 'refused',
      requirement: 'basic/public-key-refused',
    })
  })

  test('after wrong attempts a refusal is open, because a server may lock a key', () => {
    const wrong = listWith(basicHeader(rootKey.id, 'wrong'))
    const tried = [1, 2, 3, 4].reduce((state, n) => learn(state, wrong, refused, at(n)), newState())
    expect(judged(tried, listWith(basicHeader()), at(9)).is).toBe('open')
    expect(judged(learn(tried, listWith(basicHeader()), accepted(), at(10)), listWith(basicHeader()), at(11)).is).toBe(
      'accepted',
    )
  })

  test.each([
    ['no name', { scope: ['solution'] }, 'refused'],
    ['a scope that is no list', { name: 'n', scope: 'solution' }, 'refused'],
    ['a text that is no public key', { name: 'n', scope: ['solution'], publicKey: 'x' }, 'refused'],
    ['a foreign param', { name: 'n', scope: ['solution'], more: 1 }, 'open'],
    ['a scope word that no example shows', { name: 'n', scope: ['thread'] }, 'open'],
    ['an odd name', { name: 'a.b c', scope: ['solution'] }, 'open'],
  ])('params with %s', (_title, params, is) => {
    expect(judged(newState(), createCall(params), at(0)).is).toBe(is)
  })
})

describe('the envelope', () => {
  test.each([
    ['{', 'refused'],
    ['[]', 'open'],
    [body('solution/listSolutions').replace('"2.0"', '"1.0"'), 'open'],
    // Integers to JavaScript, and not to parsers that tell numbers apart by their spelling, as those of Go and Python do.
    [body('solution/listSolutions').replace('"id":1', '"id":1.0'), 'open'],
    [body('solution/listSolutions').replace('"id":1', '"id":1e0'), 'open'],
    [body('solution/listSolutions').replace('"id":1', '"id":"1"'), 'open'],
    [body('solution/listSolutions').replace('{}', '"x"'), 'refused'],
    [body('solution/listSolutions').replace('{', '{"id":2,'), 'open'],
    [body('nosuch/method'), 'refused'],
    [body('context/listContexts'), 'open'],
  ])('%s', (text, is) => {
    expect(judged(newState(), listWith(basicHeader(), text), at(0)).is).toBe(is)
  })

  test('the id of an answer is compared as a number', () => {
    const text = listBody.replace('"id":1', '"id":1.0')
    expect(shape(newState(), listWith(basicHeader(), text), accepted(), at(0))).toEqual([])
  })

  test('an implied fact makes a refusal a warning until an accepted call has shown it', () => {
    const call = createCall({ name: 'n', scope: ['solution'] })
    expect(judged(newState(), call, at(0)).level).toBe('implied')
    const shown = learn(newState(), call, accepted({ id: 'k', secret: 'k-secret-0123456789' }), at(0))
    expect(judged(shown, createCall({ name: 'm', scope: ['solution'] }), at(1)).level).toBe('must')
  })
})
