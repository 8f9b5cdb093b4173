import { createHmac, sign } from 'node:crypto'
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
import { ed25519KeyPair } from '../signer/pem.ts'
import { contradicts, levelOf } from './judge.ts'
import { learn, mayStemFrom, shape } from './learn.ts'
import type { Answer, Call, State } from './state.ts'

const noBreakSpace = '\u00a0'

const verdictOf = (authorization: string | undefined, text = listBody): string =>
  judged(newState(), listWith(authorization, text), at(0)).is

test('every level is that of spec/requirements.yaml', () => {
  const path = join(packageRoot, 'spec', 'requirements.yaml')
  const requirements = readYaml(readFileSync(path, 'utf8'), path).value as { id: string; level: string }[]
  for (const { id, level } of requirements) expect({ id, level: levelOf(id) }).toEqual({ id, level })
})

test.each([
  ['0.0.0.0', '', 'refused'],
  ['203.0.113.1', '127.0.0.1', 'refused'],
  ['127.0.0.1', '127.0.0.1', 'accepted'],
  ['127.0.0.1', '127.0.0.11', 'refused'],
  // Behind something that translates addresses, it may be ours.
  ['203.0.113.1', '', 'open'],
])('a token for %s from the address "%s" is %s', (address, from, verdict) => {
  const state = afterGrants(newState(), ['pair'], ['solution', `ipAddr:${address}`])
  expect(judged(state, listWith(tokenHeader('pair'), listBody, from), at(2000)).is).toBe(verdict)
})

describe('a member that is written twice', () => {
  const twice = (members: string): string => `{"jsonrpc":"2.0","id":1,${members}}`

  test.each([
    '"method":"solution/listSolutions","method":"solution/noSuchOperation","params":{}',
    '"method":"solution/noSuchOperation","method":"solution/listSolutions","params":{}',
    '"method":"solution/listSolutions","METHOD":"solution/noSuchOperation","params":{}',
    '"method":"solution/listSolutions","method":7,"params":{}',
    '"method":"solution/listSolutions","params":{},"params":7',
  ])('leaves a right call open, and none with a wrong secret: %s', (members) => {
    expect(verdictOf(basicHeader(), twice(members))).toBe('open')
    expect(verdictOf(basicHeader(rootKey.id, 'another'), twice(members))).toBe('refused')
  })

  test.each(['apiKeySecret', 'APIKEYSECRET'])('leaves a grant open, whichever is right: %s', (name) => {
    const { body: right, ...grant } = grantCall(['solution'])
    for (const secret of ['another', rootSecret])
      expect(
        judged(newState(), { ...grant, body: right.replace('"scope"', `"${name}":"${secret}","scope"`) }, at(0)).is,
      ).toBe('open')
  })
})

describe('names of members in another letter case', () => {
  const folded = (from: string, to: string, text: string): string => text.replace(`"${from}"`, `"${to}"`)

  test.each(['METHOD', 'Params', 'ID'])('leave a right call open: %s', (name) => {
    const text = folded(name.toLowerCase(), name, listBody)
    expect(verdictOf(basicHeader(), text)).toBe('open')
    expect(verdictOf(hmacHeader(text), text)).toBe('open')
    expect(verdictOf(undefined, text)).toBe('refused')
  })

  test.each(['grantType', 'apiKeySecret'])('leave a right grant open, and no wrong one: %s', (name) => {
    const grant = grantCall(['solution'])
    const verdict = (text: string) =>
      judged(newState(), { ...grant, body: folded(name, name.toUpperCase(), text) }, at(0)).is
    expect(verdict(grant.body)).toBe('open')
    expect(verdict(grant.body.replace(rootSecret, `${rootSecret}x`))).toBe('refused')
    expect(judged(newState(), { ...grant, body: folded(name, `${name}s`, grant.body) }, at(0)).is).toBe('refused')
  })
})

describe('a call of a key', () => {
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

  const withNul = `${rootSecret}\0`
  const longBody = `${listBody}${' '.repeat(2000)}`
  const [signed, other] = [hmacHeader(), hmacHeader(listBody, { nonce: 'AAECAwQFBgcICQ==' })]
  const signedWith = (nonce: string): string => hmacHeader(listBody, { nonce })
  test.each<[what: string, verdict: string, header: string | undefined, text?: string]>([
    ['its own Basic credentials', 'accepted', basicHeader()],
    ['its own signature', 'accepted', signed],
    ['a secret with a NUL behind it is the same HMAC key', 'accepted', hmacHeader(listBody, { secret: withNul })],
    ['it is another secret of Basic', 'refused', basicHeader(rootKey.id, withNul)],
    ['a secret changed into itself is right', 'accepted', basicHeader(rootKey.id, rootSecret.normalize('NFC'))],
    ['another hour', 'open', hmacHeader(listBody, { timestamp: String(startMs - 3_600_000) })],
    ['a scheme word in another case', 'open', signed.replace('svc-hmac', 'SVC-HMAC')],
    ['base64 without padding', 'open', signed.replace(/=+$/, '')],
    ['base64 with too much padding', 'open', `${signed}=`],
    ['Basic credentials with too much padding', 'open', `${basicHeader()}=`],
    ['a no-break space behind Basic credentials', 'open', basicHeader() + noBreakSpace],
    ['a no-break space before Basic credentials', 'open', noBreakSpace + basicHeader()],
    ['a no-break space behind a signature', 'open', signed + noBreakSpace],
    ['a no-break space before a signature', 'open', noBreakSpace + signed],
    ['a wrong secret with a no-break space behind it', 'refused', basicHeader(undefined, 'wrong') + noBreakSpace],
    ['a nonce that is BASE64 of 16 bytes', 'accepted', signedWith('AAAAAAAAAAAAAAAAAAAAAA==')],
    ['a nonce that is not', 'open', signedWith('123456789012345678')],
    ['a header nonce without padding, as the sample of the document shows it', 'open', other.replace('CQ==;', 'CQ;')],
    ['another header nonce', 'refused', other.replace('AAEC', 'AAED')],
    // BASE64 does not pad so.
    ['a nonce of 12 bytes with padding', 'open', signedWith('AAECAwQFBgcICQoL=').replace('oL=;', 'oL;')],
    ['with more of it', 'open', signedWith('AAECAwQFBgcICQoL==').replace('oL==;', 'oL;')],
    ['a nonce of 8 bytes and a half', 'open', signedWith('AAECAwQFBgcIC=').replace('IC=;', 'IC;')],
    ['a timestamp with leading zeros', 'open', signed.replace(`;${startMs};`, `;00${startMs};`)],
    ['a timestamp with a letter behind it', 'refused', signed.replace(`;${startMs};`, `;${startMs}x;`)],
    ['a timestamp with a fraction', 'refused', signed.replace(`;${startMs};`, `;${startMs}.0;`)],
    ['a long body', 'open', hmacHeader(longBody), longBody],
    ['one reason to refuse beats what is unknown', 'refused', undefined, longBody],
  ])('%s: %s', (_what, verdict, header, text) => {
    expect(verdictOf(header, text)).toBe(verdict)
  })

  test('a nonce that was used is open', () => {
    const used = listWith(hmacHeader(listBody, { nonce: 'repeated-nonce' }))
    expect(judged(learn(newState(), used, accepted(), at(0)), used, at(0)).is).toBe('open')
  })

  test('an accepted Basic call shows that a size of body is accepted', () => {
    const text = `${listBody}${' '.repeat(20_000)}`
    const taken = learn(newState(), listWith(basicHeader(), text), accepted(), at(0))
    expect(judged(taken, listWith(hmacHeader(text), text), at(10)).is).toBe('accepted')
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

  const use = (name: string): Call => listWith(tokenHeader(name))
  const refresh = (name: string): Call => refreshCall(tokensOf(name).refresh)
  const beside = grantCall(['solution'], { refreshToken: tokensOf('p').refresh })
  const spelt = refreshCall(tokensOf('p').refresh.toUpperCase())
  /** A call and its answer, so many ms after the start. */
  type Event = [call: Call, answer: Answer, ms: number]
  const newPair = (name: string, ms: number): Answer => pairAnswer(name, ['solution'], at(ms))
  const refreshed: Event = [refresh('p'), newPair('q', 200), 200]
  const reused: Event = [refresh('p'), refused, 300]
  const short: Event = [grantCall(['solution', 'expiresIn:3000']), pairAnswer('e', ['solution'], at(0), 3000), 0]
  const shortRefresh: Event = [grantCall(['solution']), pairAnswer('s', ['solution'], at(0), 5000, 10_000), 0]

  test.each<[what: string, before: Event[], call: Call, ms: number, verdict: string]>([
    ['a token works', [], use('p'), 100, 'accepted'],
    ['until it is refreshed', [refreshed], use('p'), 300, 'refused by refresh/revokes-access'],
    ['so does a refresh token', [refreshed], refresh('p'), 300, 'refused by refresh/revokes-refresh'],
    ['the new token works', [refreshed], use('q'), 300, 'accepted'],
    ['a used refresh token may end the newer pair', [refreshed, reused], use('q'), 400, 'open'],
    ['until that is accepted', [refreshed, reused, [use('q'), accepted(), 400]], use('q'), 500, 'accepted'],
    ['a refresh whose answer was lost may have ended it', [[refresh('p'), lost, 200]], use('p'), 300, 'open'],
    ['what a refresh token beside the credentials of a grant does is open', [], beside, 100, 'open'],
    // Whether a second grant ends the first pair is open; a refresh would certainly end it.
    ['it refreshes nothing', [[beside, newPair('q', 100), 100]], use('p'), 200, 'open'],
    ['and the grant gives a pair', [[beside, newPair('q', 100), 100]], use('q'), 200, 'accepted'],
    ['another spelling is open', [], listWith(`${tokenHeader('p')}.`), 100, 'open'],
    ['so is a no-break space behind it', [], listWith(tokenHeader('p') + noBreakSpace), 100, 'open'],
    ['so is that of a refresh token', [], spelt, 100, 'open'],
    ['which may have ended the pair', [[spelt, newPair('q', 100), 100]], use('p'), 200, 'open'],
    ['a part of a token is none', [], listWith(tokenHeader('p').slice(0, -8)), 100, 'refused'],
    ['nor is a revoked one in any spelling', [refreshed], listWith('Bearer P-access-token-0123456789'), 300, 'refused'],
    ['a token works before its end', [short], use('e'), 1500, 'accepted'],
    ['close to it everything is open', [short], use('e'), 2500, 'open'],
    ['then it is dead', [short], use('e'), 4500, 'refused by expires-in/enforced'],
    ['and its refresh token is not', [short], refresh('e'), 4500, 'accepted'],
    ['90 % of the refresh lifetime are relied on', [shortRefresh], refresh('s'), 8000, 'accepted'],
    ['and no more', [shortRefresh], refresh('s'), 9500, 'open'],
    ['then it has ended', [shortRefresh], refresh('s'), 12_500, 'refused'],
  ])('%s', (_what, before, call, ms, verdict) => {
    const after = before.reduce((known, [call, answer, ms]) => learn(known, call, answer, at(ms)), state)
    const { is, requirement } = judged(after, call, at(ms))
    expect(`${is} by ${requirement}`).toContain(verdict)
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

  test('of a server that ignores expiresIn only what was measured is said: how far two expiries are apart', () => {
    const fifteenMinutes = (token: string, when: ReturnType<typeof at>) =>
      pairAnswer(token, ['solution'], when, 900_000)
    const first = fifteenMinutes('e', at(0))
    expect(shape(newState(), grantCall(['solution', 'expiresIn:3000']), first, at(0))).toEqual([])
    const lived = learn(newState(), grantCall(['solution', 'expiresIn:3000']), first, at(0))
    const [wrong] = shape(lived, grantCall(['solution', 'expiresIn:9000']), fifteenMinutes('f', at(0)), at(0))
    const byMs = Number(
      /^expiresIn:9000 gave an expiry (\d+) ms earlier than that of expiresIn:3000 leads to expect$/.exec(
        wrong?.message ?? '',
      )?.[1],
    )
    expect(6000 - byMs).toBeGreaterThanOrEqual(0)
    expect(6000 - byMs).toBeLessThanOrEqual(2100)
  })

  test('of a server that ignores expiresIn no other token is taken for expired', () => {
    const granted = (scope: string[], token: string, lifeMs: number, when: number, before = newState()) =>
      learn(before, grantCall(scope), pairAnswer(token, ['solution'], at(when), lifeMs), at(when))
    const ignoring = granted(['solution', 'expiresIn:3000'], 'e', 900_000, 0)
    const plain = granted(['solution'], 'p', 900_000, 100, ignoring)
    expect(judged(plain, listWith(tokenHeader('p')), at(60_000)).is).toBe('open')
    const right = granted(['solution'], 'p', 30_000, 100, granted(['solution', 'expiresIn:3000'], 'e', 3000, 0))
    expect(judged(right, listWith(tokenHeader('p')), at(60_000))).toMatchObject({
      is: 'refused',
      requirement: 'tokens/expire',
    })
  })

  describe('a refreshed token that is said to live as long as expiresIn asked', () => {
    /** Grants two lifetimes, the second after 100 ms, refreshes the second pair after 200 ms, and uses its token a minute later. */
    const verdictAfter = (asked: readonly [number, number], got: readonly [number, number], callMs = 2) => {
      const during = (ms: number) => ({ from: at(ms).from, to: at(ms).from + callMs })
      const grant = (before: State, token: string, which: 0 | 1) => {
        const span = during(100 * which)
        return learn(
          before,
          grantCall(['solution', `expiresIn:${asked[which]}`]),
          pairAnswer(token, ['solution'], span, got[which]),
          span,
        )
      }
      const two = grant(grant(newState(), 'e', 0), 'f', 1)
      const span = during(200)
      const refreshed = learn(
        two,
        refreshCall(tokensOf('f').refresh),
        pairAnswer('g', ['solution'], span, got[1]),
        span,
      )
      return judged(refreshed, listWith(tokenHeader('g')), at(60_000))
    }

    test('ends then, where two lifetimes were granted as asked', () =>
      expect(verdictAfter([3000, 15_000], [3000, 15_000])).toMatchObject({
        is: 'refused',
        requirement: 'tokens/expire',
      }))

    test.each([
      ['where expiresIn is ignored', [3000, 15_000], [900_000, 900_000], 2],
      [
        'where expiresIn is ignored, and slow calls hide how little two lifetimes differ',
        [3000, 4500],
        [900_000, 900_000],
        2000,
      ],
      ['where one lifetime was granted twice', [3000, 3000], [3000, 3000], 2],
    ] as const)('may live on %s', (_where, asked, got, callMs) =>
      expect(verdictAfter(asked, got, callMs).is).toBe('open'),
    )
  })

  test('a long NUMBER may be shortened, but never kept longer, nor give less than a smaller one', () => {
    const long = grantCall(['solution', 'expiresIn:9000000'])
    expect(shape(state, long, pairAnswer('l', ['solution'], at(9), 60_000), at(9))).toEqual([])
    expect(shape(state, long, pairAnswer('l', ['solution'], at(9), 9_100_000), at(9))).toHaveLength(1)
    expect(shape(state, long, pairAnswer('l', ['solution'], at(9), 1000), at(9))).toHaveLength(1)
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

  test('the word for a solution may open contexts, and no other area beside one', () => {
    const verdictOn = (scope: readonly string[], method: string): string => {
      const { terms, ...state } = afterGrants(newState(), ['p'], scope)
      const probes = new Map([
        ['context/list', 'context'],
        ['thread/list', 'thread'],
      ])
      return judged({ ...state, terms: { ...terms, probes } }, listWith(tokenHeader('p'), body(method)), at(9)).is
    }
    for (const word of ['solution:a', 'solution:*']) {
      expect(verdictOn(['solution', word], 'context/list')).toBe('open')
      expect(verdictOn(['solution', word], 'thread/list')).toBe('refused')
      expect(verdictOn([word], 'thread/list')).toBe('open')
    }
    expect(verdictOn(['solution'], 'context/list')).toBe('refused')
  })

  test('what a token may do that names no area is open, for the creation of keys too', () => {
    const create = createCall({ name: 'k', scope: ['solution'] }, tokenHeader('p'))
    const verdictOn = (scope: readonly string[]): string =>
      judged(afterGrants(newState(), ['p'], scope), create, at(9)).is
    expect(['solution:*', 'solution:a', 'session:s'].map((word) => verdictOn([word]))).toEqual(['open', 'open', 'open'])
    expect(verdictOn(['solution', 'solution:*'])).toBe('refused')
  })
})

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
    const ecc = createCall({ name: 'e', scope: ['solution'], publicKey: publicKeyPem })
    const state = learn(newState(), ecc, key('e'), at(0))
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
    expect(verdictOf(basicHeader(), text)).toBe(is)
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

const resultOf = (answer: Answer): object => (answer.kind === 'accepted' ? (answer.result as object) : {})

test.each([
  ['accessTokenExpiry', 900_000, 'accessTokenExpiry is 900000, expected an integer of 13 digits'],
  ['refreshTokenExpiry', 'in a week', 'refreshTokenExpiry is a string, expected an integer of 13 digits'],
  ['accessToken', undefined, 'accessToken is missing, expected a string'],
  ['tokenType', 'bearer', 'tokenType is a string, expected "Bearer"'],
  ['scope', 'solution', 'scope is a string, expected an array of strings'],
])('a wrong %s is named with what is expected, and a text is not shown', (name, value, message) => {
  const result = { ...resultOf(pairAnswer('a', ['solution'], at(0))), [name]: value }
  expect(shape(newState(), grantCall(['solution']), accepted(result), at(0))).toMatchObject([{ message }])
})

describe.each([null, undefined, 7, ''])('a grant with %j instead of', (missing) => {
  const { access, refresh } = tokensOf('a')
  const without = (name: string): State => {
    const result = { ...resultOf(pairAnswer('a', ['solution'], at(0))), [name]: missing }
    return learn(afterGrants(newState(), [], ['solution']), grantCall(['solution']), accepted(result), at(0))
  }

  test('a refresh token gives an access token that works, and no refresh', () => {
    const state = without('refreshToken')
    expect(judged(state, listWith(tokenHeader('a')), at(1)).is).toBe('accepted')
    expect(judged(state, listWith(`Bearer x${access}`), at(1)).is).toBe('refused')
    for (const text of ['', refresh]) expect(judged(state, refreshCall(text), at(1)).is).toBe('refused')
  })

  test('an access token gives a refresh token that works, and no access', () => {
    const state = without('accessToken')
    expect(judged(state, refreshCall(refresh), at(1)).is).toBe('accepted')
    for (const text of ['', access]) expect(judged(state, listWith(`Bearer ${text}`), at(1)).is).toBe('refused')
    const renewed = learn(state, refreshCall(refresh), pairAnswer('b', ['solution'], at(2)), at(2))
    expect(judged(renewed, refreshCall(refresh), at(3)).is).toBe('refused')
  })
})

describe('a pair refreshed from a token that was not seen', () => {
  const renewed = (before: State, from: string, to: string, ms: number): State =>
    learn(before, refreshCall(tokensOf(from).refresh), pairAnswer(to, ['solution'], at(ms)), at(ms))
  const state = renewed(afterGrants(newState(), ['mine'], ['solution']), 'unseen', 'a', 10)

  const ofKeys = (unnamed: 'each' | 'none'): State['sessions'] =>
    state.sessions.filter(({ reading }) => reading.user === 'one key' && reading.unnamed === unnamed)

  test('shares its key with no other such pair', () => {
    const names = Array.from({ length: 17 }, (_, n) => `r${n}`)
    const start: State = { ...newState(), sessions: ofKeys('each') }
    const many = names.reduce((before, name, n) => renewed(before, `unseen ${n}`, name, n * 3000), start)
    expect(judged(many, listWith(tokenHeader('r0')), at(60_000)).is).toBe('open')
    const own = afterGrants(start, [], ['solution'])
    const granted = names.reduce(
      (before, name, n) =>
        learn(before, grantCall(['solution']), pairAnswer(name, ['solution'], at(n * 3000)), at(n * 3000)),
      own,
    )
    expect(judged(granted, listWith(tokenHeader('r0')), at(60_000)).is).toBe('refused')
  })

  test('may have the key of a pair that has the same token', () => {
    const again = pairAnswer('mine', ['solution'], at(20))
    expect(shape(state, refreshCall(tokensOf('other').refresh), again, at(20))).toEqual([])
    const ofOther = grantCall(['solution'], { apiKeyId: 'other' })
    expect(shape(state, ofOther, again, at(20))).toMatchObject([{ requirement: 'tokens/authorize' }])
    expect(shape(state, grantCall(['solution']), pairAnswer('a', ['solution'], at(20)), at(20))).toEqual([])
  })

  test('may be of the key whose pairs end because a refresh token was used again', () => {
    const mine = (withdraws: readonly 'reuse'[]): string => {
      const terms = { ...state.terms, withdraws: new Set(withdraws) }
      const before = renewed({ ...state, terms, sessions: ofKeys('none') }, 'a', 'b', 20)
      const reused = learn(before, refreshCall(tokensOf('a').refresh), refused, at(30))
      return judged(reused, listWith(tokenHeader('mine')), at(40)).is
    }
    expect(mine(['reuse'])).toBe('open')
    expect(mine([])).toBe('accepted')
  })
})

describe('a signature of a key', () => {
  test.each([
    ['21 bytes', (mac: Buffer) => mac.subarray(0, 21)],
    ['19 bytes', (mac: Buffer) => mac.subarray(0, 19)],
    ['all bytes', (mac: Buffer) => mac],
    ['the last 20 bytes', (mac: Buffer) => mac.subarray(-20)],
    ['a byte behind the first 20', (mac: Buffer) => Buffer.concat([mac.subarray(0, 20), Buffer.of(0)])],
  ])('%s of the MAC break the rule about its length', (_title, part) => {
    const header = hmacHeader()
    const [, timestamp, nonce] = /;1;(\d+);([^;]+);/.exec(header) ?? []
    const mac = createHmac('sha256', rootSecret).update(`${timestamp};${nonce};POST\n/api\n${listBody}\n`).digest()
    const sent = header.replace(/[^;]+$/, part(mac).toString('base64'))
    const verdict = judged(newState(), listWith(sent), at(0))
    expect(verdict).toMatchObject({ is: 'refused', requirement: 'signatures/hmac-length' })
  })

  test('how much padding it has is open for both kinds of key; another text of the same bytes is none', () => {
    const { publicKeyPem: publicKey, privateKeyPem } = ed25519KeyPair(new Uint8Array(32).fill(9))
    const ecc = createCall({ name: 'e', scope: ['solution'], publicKey })
    const state = learn(newState(), ecc, accepted({ id: 'e', secret: 's' }), at(0))
    const [, timestamp, nonce] = /;1;(\d+);([^;]+);/.exec(hmacHeader()) ?? []
    const data = Buffer.from(`${timestamp};${nonce};POST\n/api\n${listBody}\n`)
    const signed = (id: string, signature: string) =>
      judged(state, listWith(hmacHeader().replace(/ .*/, ` ${id};1;${timestamp};${nonce};${signature}`)), at(5)).is
    const mac = createHmac('sha256', rootSecret).update(data).digest().subarray(0, 20)
    for (const [id, bytes] of [
      [rootKey.id, mac],
      ['e', sign(null, data, privateKeyPem)],
    ] as const) {
      const text = bytes.toString('base64')
      const bare = text.replace(/=+$/, '')
      // Its last two or four bits stand for nothing.
      const stray = `${bare.slice(0, -1)}${String.fromCharCode(bare.charCodeAt(bare.length - 1) + 1)}`
      expect([text, bare, `${text}=`, `${bare}===`, stray, `${stray}=`].map((each) => signed(id, each))).toEqual([
        'accepted',
        'open',
        'open',
        'open',
        'refused',
        'refused',
      ])
    }
  })
})

test('a body in chunks is open until one was accepted, and a wrong secret is refused either way', () => {
  const right = { ...listWith(basicHeader()), inChunks: true }
  const wrong = { ...listWith(basicHeader(undefined, 'wrong')), inChunks: true }
  expect([right, wrong].map((call) => judged(newState(), call, at(0)).is)).toEqual(['open', 'refused'])
  const shown = learn(newState(), right, accepted(), at(0))
  const signed = { ...listWith(hmacHeader()), inChunks: true }
  expect([right, wrong, signed].map((call) => judged(shown, call, at(10)).is)).toEqual([
    'accepted',
    'refused',
    'accepted',
  ])
})

describe('a body that is JSON only to a forgiving reader', () => {
  const state = afterGrants(newState(), ['pair'], ['solution'])
  const malformed = { is: 'refused', requirement: 'envelope/malformed-answered', level: 'implied' }

  test('is malformed, and does not say which method a token would need', () =>
    expect(judged(state, listWith(tokenHeader('pair'), `${listBody}\0`), at(2000))).toMatchObject(malformed))

  test('may be a grant, which needs no authorization', () => {
    const { body: text, ...call } = grantCall(['solution'])
    expect(judged(state, { ...call, body: `${text}\0` }, at(2000))).toMatchObject(malformed)
  })

  test('needs authorization where no reader finds a grant in it', () =>
    expect(judged(state, listWith(undefined, `${listBody}\0`), at(2000))).toMatchObject({
      is: 'refused',
      requirement: 'authorization/required',
    }))
})

test.each([
  ['solution', 'refused'],
  // Whether there is such a method is open.
  ['context', 'open'],
])('a method of the Context API that the document does not show, for a token of the scope %s: %s', (scope, is) => {
  const state = afterGrants(newState(), ['pair'], [scope])
  const call = listWith(tokenHeader('pair'), body('context/listContexts', {}))
  expect(judged(state, call, at(2000)).is).toBe(is)
})

test.each([
  ['nothing more', [{}], 'accepted'],
  ['a scope', [{ scope: ['context'] }], 'open'],
  ['a scope, and then with nothing more', [{ scope: ['context'] }, {}], 'open'],
])('a pair that was refreshed with %s', (_what, refreshes: readonly object[], verdict) => {
  let state = afterGrants(newState(), ['p'], ['solution'])
  let name = 'p'
  for (const [index, more] of refreshes.entries()) {
    const { body: text, ...call } = refreshCall(tokensOf(name).refresh)
    const request = JSON.parse(text)
    const when = at(1000 * (index + 1))
    name = `r${index}`
    const changed = { ...call, body: JSON.stringify({ ...request, params: { ...request.params, ...more } }) }
    state = learn(state, changed, pairAnswer(name, ['solution'], when), when)
  }
  expect(judged(state, listWith(tokenHeader(name)), at(5000)).is).toBe(verdict)
})
