import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import {
  accepted,
  afterGrants,
  at,
  basicHeader,
  body,
  createCall,
  grantCall,
  hmacHeader,
  judged,
  listBody,
  listWith,
  lost,
  newState,
  pairAnswer,
  refreshCall,
  refused,
  rootKey,
  rootSecret,
  startMs,
  tokenHeader,
  tokensOf,
} from '../../self/made-up-calls.ts'
import { packageRoot } from '../language/package-root.ts'
import { readYaml } from '../language/yaml-source.ts'
import { contradicts, levelOf } from './judge.ts'
import { learn } from './learn.ts'
import { shape } from './shape.ts'
import type { Answer, State } from './state.ts'

const verdictOf = (authorization: string | undefined, text = listBody): string =>
  judged(newState(), listWith(authorization, text), at(0)).is

test('every level is that of spec/requirements.yaml', () => {
  const path = join(packageRoot, 'spec', 'requirements.yaml')
  const requirements = readYaml(readFileSync(path, 'utf8'), path).value as { id: string; level: string }[]
  for (const { id, level } of requirements) expect({ id, level: levelOf(id) }).toEqual({ id, level })
})

describe('a call of a key', () => {
  test('with its own credentials must be accepted', () => {
    expect(verdictOf(basicHeader())).toBe('accepted')
    expect(verdictOf(hmacHeader())).toBe('accepted')
  })

  test.each([
    ['without authorization', undefined, 'authorization/required'],
    ['with another secret', basicHeader(rootKey.id, `${rootSecret}x`), 'basic/credentials'],
    ['with the secret in another case', basicHeader(rootKey.id, rootSecret.toUpperCase()), 'basic/credentials'],
    ['of an unknown key', basicHeader('nobody'), 'basic/key-id'],
    ['signed with another secret', hmacHeader(listBody, { secret: 'x' }), 'signatures/hmac'],
    ['signed for another body', hmacHeader(body('solution/listSolutions', {}, 2)), 'signatures/hmac'],
    ['with a second version', hmacHeader().replace(';1;', ';2;'), 'signatures/version'],
    ['with too few fields', hmacHeader().replace(/;[^;]*$/, ''), 'signatures/header-fields'],
  ])('%s must be kept out', (_title, header, requirement) => {
    expect(judged(newState(), listWith(header), at(0))).toMatchObject({ is: 'refused', requirement })
  })

  test('a secret with a NUL behind it is the same HMAC key, so its signature is right', () => {
    expect(verdictOf(hmacHeader(listBody, { secret: `${rootSecret}\0` }))).toBe('accepted')
    expect(verdictOf(basicHeader(rootKey.id, `${rootSecret}\0`))).toBe('refused')
  })

  test('a secret changed into itself is right', () => {
    expect(verdictOf(basicHeader(rootKey.id, rootSecret.normalize('NFC')))).toBe('accepted')
  })

  test.each([
    [
      'a nonce that was used',
      (state: State) => learn(state, listWith(hmacHeader(listBody, { nonce: 'repeated-nonce' })), accepted(), at(0)),
      hmacHeader(listBody, { nonce: 'repeated-nonce' }),
    ],
    [
      'a timestamp of another hour',
      (state: State) => state,
      hmacHeader(listBody, { timestamp: String(startMs - 3_600_000) }),
    ],
    ['a scheme word in another case', (state: State) => state, hmacHeader().replace('svc-hmac', 'SVC-HMAC')],
    ['base64 without padding', (state: State) => state, hmacHeader().replace(/=+$/, '')],
    ['a long body', (state: State) => state, hmacHeader()],
  ])('%s is open', (title, prepare, header) => {
    const text = title === 'a long body' ? `${listBody}${' '.repeat(2000)}` : listBody
    const signed = title === 'a long body' ? hmacHeader(text) : header
    expect(judged(prepare(newState()), listWith(signed, text), at(0)).is).toBe('open')
  })

  test('an accepted Basic call shows that a size of body is accepted', () => {
    const text = `${listBody}${' '.repeat(20_000)}`
    const taken = learn(newState(), listWith(basicHeader(), text), accepted(), at(0))
    expect(judged(taken, listWith(hmacHeader(text), text), at(10)).is).toBe('accepted')
  })

  test('one reason to refuse beats what is unknown', () => {
    const text = `${listBody}${' '.repeat(2000)}`
    expect(judged(newState(), listWith(undefined, text), at(0)).is).toBe('refused')
  })

  test('a broken answer accepts nobody, and is wrong for a right call', () => {
    const wrong = judged(newState(), listWith(undefined), at(0))
    const right = judged(newState(), listWith(basicHeader()), at(0))
    const broken = { kind: 'broken', reason: 'HTTP 500' } as const
    expect(contradicts(wrong, broken)).toBe(false)
    expect(contradicts(right, broken)).toBe(true)
    expect(contradicts(right, { kind: 'unread' })).toBe(false)
  })
})

describe('tokens', () => {
  const state = afterGrants(newState(), ['p'], ['solution'])

  test('a token works until it is refreshed; then both old tokens are dead', () => {
    expect(judged(state, listWith(tokenHeader('p')), at(100)).is).toBe('accepted')
    const next = learn(state, refreshCall(tokensOf('p').refresh), pairAnswer('q', ['solution'], at(200)), at(200))
    expect(judged(next, listWith(tokenHeader('p')), at(300))).toMatchObject({
      is: 'refused',
      requirement: 'refresh/revokes-access',
    })
    expect(judged(next, refreshCall(tokensOf('p').refresh), at(300))).toMatchObject({
      is: 'refused',
      requirement: 'refresh/revokes-refresh',
    })
    expect(judged(next, listWith(tokenHeader('q')), at(300)).is).toBe('accepted')
  })

  test('presenting a used refresh token makes the newer pair unknown, until it is accepted again', () => {
    const next = learn(state, refreshCall(tokensOf('p').refresh), pairAnswer('q', ['solution'], at(200)), at(200))
    const tried = learn(next, refreshCall(tokensOf('p').refresh), refused, at(300))
    expect(judged(tried, listWith(tokenHeader('q')), at(400)).is).toBe('open')
    const seen = learn(tried, listWith(tokenHeader('q')), accepted(), at(400))
    expect(judged(seen, listWith(tokenHeader('q')), at(500)).is).toBe('accepted')
  })

  test('a refresh token beside the credentials of a grant refreshes nothing', () => {
    const beside = grantCall(['solution'], { refreshToken: tokensOf('p').refresh })
    expect(judged(state, beside, at(100)).is).toBe('open')
    const next = learn(state, beside, pairAnswer('q', ['solution'], at(100)), at(100))
    // Whether a second grant ends the first pair is open; a refresh would certainly end it.
    expect(judged(next, listWith(tokenHeader('p')), at(200)).is).toBe('open')
    expect(judged(next, listWith(tokenHeader('q')), at(200)).is).toBe('accepted')
  })

  test('another spelling of a token is open; if it was accepted, the real token may be revoked', () => {
    const spelt = tokensOf('p').refresh.toUpperCase()
    expect(judged(state, refreshCall(spelt), at(100)).is).toBe('open')
    const taken = learn(state, refreshCall(spelt), pairAnswer('q', ['solution'], at(100)), at(100))
    expect(judged(taken, listWith(tokenHeader('p')), at(200)).is).toBe('open')
    expect(judged(state, listWith(`${tokenHeader('p')}.`), at(100)).is).toBe('open')
    expect(judged(state, listWith(tokenHeader('p').slice(0, -8)), at(100)).is).toBe('refused')
  })

  test('a revoked token is dead in every spelling', () => {
    const next = learn(state, refreshCall(tokensOf('p').refresh), pairAnswer('q', ['solution'], at(200)), at(200))
    expect(judged(next, listWith(tokenHeader('p').replace('p-access', 'P-ACCESS')), at(300)).is).toBe('refused')
  })

  test('a lost answer of a refresh leaves both pairs unknown', () => {
    const next = learn(state, refreshCall(tokensOf('p').refresh), { kind: 'broken', reason: 'gone' }, at(200))
    expect(judged(next, listWith(tokenHeader('p')), at(300)).is).toBe('open')
  })

  test('a grant whose answer was lost counts where live tokens are limited', () => {
    const granted = afterGrants(newState({ liveTokens: 1 }), ['p', 'q'], ['solution'])
    const two = { ...granted, sessions: granted.sessions.filter(({ reading }) => reading.unnamed === 'none') }
    const afterTwo = (last: Answer) => judged(learn(two, grantCall(['solution']), last, at(100)), useOfP, at(200)).is
    const useOfP = listWith(tokenHeader('p'))
    expect(judged(two, useOfP, at(200)).is).toBe('accepted')
    expect(afterTwo(refused)).toBe('accepted')
    expect(afterTwo(lost)).toBe('open')
    const refreshOfQ = refreshCall(tokensOf('q').refresh)
    expect(judged(learn(two, refreshOfQ, lost, at(100)), useOfP, at(200)).is).toBe('open')
  })

  test('nothing is judged close to the reported time', () => {
    const lived = learn(
      newState(),
      grantCall(['solution', 'expiresIn:3000']),
      pairAnswer('e', ['solution'], at(0), 3000),
      at(0),
    )
    expect(judged(lived, listWith(tokenHeader('e')), at(1500)).is).toBe('accepted')
    expect(judged(lived, listWith(tokenHeader('e')), at(2500)).is).toBe('open')
    expect(judged(lived, listWith(tokenHeader('e')), at(4500))).toMatchObject({
      is: 'refused',
      requirement: 'expires-in/enforced',
    })
    expect(judged(lived, refreshCall(tokensOf('e').refresh), at(4500)).is).toBe('accepted')
  })

  test('the clock of tokens is derived from expiresIn, so the time of the server does not matter', () => {
    const ahead = 40_000_000
    const shifted = { from: at(0).from + ahead, to: at(0).to + ahead }
    const answer = pairAnswer('e', ['solution'], shifted, 3000)
    expect(shape(newState(), grantCall(['solution', 'expiresIn:3000']), answer, at(0))).toEqual([])
    const lived = learn(newState(), grantCall(['solution', 'expiresIn:3000']), answer, at(0))
    const wrong = pairAnswer('f', ['solution'], shifted, 14_000)
    expect(shape(lived, grantCall(['solution', 'expiresIn:9000']), wrong, at(0))).toMatchObject([
      { requirement: 'expires-in/reported' },
    ])
  })

  test('a long NUMBER may be shortened, but never kept longer, nor give less than a smaller one', () => {
    const long = grantCall(['solution', 'expiresIn:9000000'])
    expect(shape(state, long, pairAnswer('l', ['solution'], at(9), 60_000), at(9))).toEqual([])
    expect(shape(state, long, pairAnswer('l', ['solution'], at(9), 9_100_000), at(9))).toHaveLength(1)
    expect(shape(state, long, pairAnswer('l', ['solution'], at(9), 1000), at(9))).toHaveLength(1)
  })

  test('a nonce that is no BASE64 of 16 bytes may be refused', () => {
    const signedWith = (nonce: string) => judged(newState(), listWith(hmacHeader(listBody, { nonce })), at(0)).is
    expect(signedWith('AAAAAAAAAAAAAAAAAAAAAA==')).toBe('accepted')
    expect(signedWith('123456789012345678')).toBe('open')
  })

  test('a session name that is long or has other characters may be refused', () => {
    const long = { ...state, terms: { ...state.terms, longSessionNames: true } }
    const named = (name: string, where = state) => judged(where, grantCall(['solution', `session:${name}`]), at(9)).is
    expect(named('plain1')).toBe('accepted')
    expect(named('a-plain-one')).toBe('open')
    expect(named('a-plain-one', long)).toBe('accepted')
    expect([named('Plain1', long), named('-1', long)]).toEqual(['open', 'open'])
  })

  test('a NUMBER above the lifetime of the refresh token may give less than a smaller one', () => {
    const beyond = grantCall(['solution', `expiresIn:${8 * 86_400_000}`])
    expect(shape(state, beyond, pairAnswer('l', ['solution'], at(9), 1000), at(9))).toEqual([])
  })

  test('only 90 % of the refresh lifetime are relied on', () => {
    const short = learn(state, grantCall(['solution']), pairAnswer('s', ['solution'], at(0), 5000, 10_000), at(0))
    expect(judged(short, refreshCall(tokensOf('s').refresh), at(8000)).is).toBe('accepted')
    expect(judged(short, refreshCall(tokensOf('s').refresh), at(9500)).is).toBe('open')
    expect(judged(short, refreshCall(tokensOf('s').refresh), at(12_500)).is).toBe('refused')
  })

  test('a few newer tokens may have ended one without a session, unless others were outlived before', () => {
    const newest = (terms: object) => {
      const two = afterGrants(newState(terms), ['n0', 'n1'], ['solution'])
      // Shows that a grant without a session does not end the one before.
      const shown = learn(two, listWith(tokenHeader('n0')), accepted({ list: [] }), at(20))
      return judged(afterGrants(shown, ['n2', 'n3'], ['solution'], 30), listWith(tokenHeader('n0')), at(40)).is
    }
    expect(newest({})).toBe('open')
    expect(newest({ liveTokens: 15 })).toBe('accepted')
  })

  test('many newer tokens may have ended one', () => {
    const names = Array.from({ length: 20 }, (_, index) => `n${index}`)
    expect(judged(afterGrants(newState(), names, ['solution']), listWith(tokenHeader('n0')), at(50)).is).toBe('open')
  })
})

describe('scopes and addresses', () => {
  test('a token is limited to its areas', () => {
    const state = afterGrants(newState(), ['p'], ['context'])
    expect(judged(state, listWith(tokenHeader('p')), at(9))).toMatchObject({
      is: 'refused',
      requirement: 'scopes/context',
    })
    const create = createCall({ name: 'k', scope: ['solution'] }, tokenHeader('p'))
    expect(judged(state, create, at(9))).toMatchObject({ is: 'refused', requirement: 'scopes/context' })
  })

  test('that a refresh adds no scope is only implied; that a token is limited to the scope it is said to have is a must', () => {
    const state = afterGrants(newState(), ['p'], ['context'])
    const after = (said: readonly string[]): State =>
      learn(state, refreshCall(tokensOf('p').refresh), pairAnswer('q', said, at(20)), at(20))
    const widened = judged(after(['context', 'solution']), listWith(tokenHeader('q')), at(30))
    expect(widened).toMatchObject({ is: 'refused', requirement: 'refresh/scopes-kept', level: 'implied' })
    const kept = judged(after(['context']), listWith(tokenHeader('q')), at(30))
    expect(kept).toMatchObject({ is: 'refused', requirement: 'scopes/context', level: 'must' })
  })

  test('what an empty scope or an unknown word opens is open', () => {
    for (const scope of [[], ['*'], ['Solution'], ['solution:*']])
      expect(judged(afterGrants(newState(), ['p'], scope), listWith(tokenHeader('p')), at(9)).is).toBe('open')
  })

  test('a bound token works from its address only', () => {
    const state = afterGrants(newState(), ['p'], ['solution', 'ipAddr:127.0.0.1'])
    expect(judged(state, listWith(tokenHeader('p')), at(9)).is).toBe('accepted')
    expect(judged(state, listWith(tokenHeader('p'), listBody, '127.0.0.11'), at(9)).is).toBe('refused')
  })
})
