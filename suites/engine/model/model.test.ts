import { createHmac, sign } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import {
  accepted,
  after,
  afterGrants,
  at,
  basicHeader,
  body,
  createCall,
  type Event,
  grantCall,
  granted,
  hmacHeader,
  judged,
  listBody,
  listWith,
  lost,
  newState,
  pairAnswer,
  refreshCall,
  refreshed,
  refused,
  rootKey,
  rootSecret,
  ruling,
  startMs,
  tokenHeader,
  tokensOf,
  use,
  verdict,
} from '../../self/made-up-calls.ts'
import { membersOf, parseJson } from '../json.ts'
import { packageRoot } from '../language/package-root.ts'
import { readYaml } from '../language/yaml-source.ts'
import { ed25519KeyPair } from '../signer/pem.ts'
import { contradicts, levelOf } from './judge.ts'
import { mayStemFrom, shape } from './learn.ts'
import { readBody } from './read-call.ts'
import type { Span } from './sessions.ts'
import type { Answer, Call, State } from './state.ts'

const noBreakSpace = '\u00a0'

const verdictOf = (authorization: string | undefined, text = listBody) =>
  verdict(newState(), listWith(authorization, text))

const createWithToken = createCall({ name: 'k', scope: ['solution'] }, tokenHeader('p'))

/** The requirements that an answer breaks. */
const breaks = (state: State, call: Call, answer: Answer, ms = 0): string[] =>
  shape(state, call, answer, at(ms)).map(({ requirement }) => requirement)

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
])('a token for %s from the address "%s" is %s', (address, from, is) => {
  const state = afterGrants(newState(), ['pair'], ['solution', `ipAddr:${address}`])
  expect(verdict(state, listWith(tokenHeader('pair'), listBody, from), 2000)).toBe(is)
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
    for (const secret of ['another', rootSecret]) {
      const text = right.replace('"scope"', `"${name}":"${secret}","scope"`)
      expect(verdict(newState(), { ...grant, body: text })).toBe('open')
    }
  })
})

test('bodies that differ in their ids alone are each read as they stand', () => {
  const rests = [
    '"method":"a/b","params":{"id":5}}',
    '"method":"a/b","id":7}',
    '"Method":"a/b"}',
    '"method":"a/b"',
    '"params":[1]}',
  ]
  const ids = ['1', '007', '0', '12.5', '1e3', '123456789012345', '1234567890123456789', '"1"', '-1']
  for (const rest of rests)
    for (const id of [...ids, ...ids]) {
      const body = `{"jsonrpc":"2.0","id":${id},${rest}`
      // The reader keeps the latest one.
      const { id: read, members, json, bytes } = readBody(body)
      const value: unknown = parseJson(body)
      expect([json, read, bytes], body).toEqual([value !== undefined, membersOf(value).id, body.length])
      if (!rest.startsWith('"Method')) expect(members ?? undefined, body).toEqual(value)
    }
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
    const { body: right, ...grant } = grantCall(['solution'])
    const verdictOn = (text: string) => verdict(newState(), { ...grant, body: text })
    expect(verdictOn(folded(name, name.toUpperCase(), right))).toBe('open')
    expect(verdictOn(folded(name, name.toUpperCase(), right.replace(rootSecret, `${rootSecret}x`)))).toBe('refused')
    expect(verdictOn(folded(name, `${name}s`, right))).toBe('refused')
  })
})

describe('a call of a key', () => {
  const withNul = `${rootSecret}\0`
  const longBody = `${listBody}${' '.repeat(2000)}`
  const [signed, other] = [hmacHeader(), hmacHeader(listBody, { nonce: 'AAECAwQFBgcICQ==' })]
  const signedWith = (nonce: string): string => hmacHeader(listBody, { nonce })
  const ofAnotherBody = hmacHeader(body('solution/listSolutions', {}, 2))
  test.each<[what: string, ruling: string, header: string | undefined, text?: string]>([
    ['without authorization', 'refused: authorization/required', undefined],
    ['with another secret', 'refused: basic/credentials', basicHeader(rootKey.id, `${rootSecret}x`)],
    ['with its secret in capitals', 'refused: basic/credentials', basicHeader(rootKey.id, rootSecret.toUpperCase())],
    ['of an unknown key', 'refused: basic/key-id', basicHeader('nobody')],
    ['signed with another secret', 'refused: signatures/hmac', hmacHeader(listBody, { secret: 'x' })],
    ['signed for another body', 'refused: signatures/hmac', ofAnotherBody],
    ['with a second version', 'refused: signatures/version', signed.replace(';1;', ';2;')],
    ['with too few fields', 'refused: signatures/header-fields', signed.replace(/;[^;]*$/, '')],
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
  ])('%s: %s', (_what, says, header, text) => {
    expect(ruling(newState(), listWith(header, text))).toMatch(new RegExp(`^${says}(:| \\()`))
  })

  test('a nonce that was used is open', () => {
    const used = listWith(hmacHeader(listBody, { nonce: 'repeated-nonce' }))
    expect(verdict(after(newState(), [used, accepted(), 0]), used)).toBe('open')
  })

  test('an accepted Basic call shows that a size of body is accepted', () => {
    const text = `${listBody}${' '.repeat(20_000)}`
    const taken = after(newState(), [listWith(basicHeader(), text), accepted(), 0])
    expect(verdict(taken, listWith(hmacHeader(text), text), 10)).toBe('accepted')
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

  const refresh = (name: string): Call => refreshCall(tokensOf(name).refresh)
  const beside = grantCall(['solution'], { refreshToken: tokensOf('p').refresh })
  const spelt = refreshCall(tokensOf('p').refresh.toUpperCase())
  const newPair = (name: string, ms: number): Answer => pairAnswer(name, ['solution'], at(ms))
  const renewed = refreshed('p', 'q', 200)
  const reused: Event = [refresh('p'), refused, 300]
  const words = ['solution', 'apiKey']
  const apiKey = grantCall(['apiKey'])
  const create = (scope: string[]): Call => createCall({ name: 'c', scope })
  const both: Event = [createCall({ name: 'b', scope: words }), accepted({ id: 'b', secret: 's' }), 50]
  const letIn: Event = [use('p'), accepted({ list: [] }), 400]
  const short = granted('e', ['solution', 'expiresIn:3000'], { lifeMs: 3000 })
  const shortRefresh = granted('s', ['solution'], { lifeMs: 5000, refreshMs: 10_000 })

  test.each<[what: string, before: Event[], call: Call, ms: number, says: string]>([
    ['a token works', [], use('p'), 100, 'accepted'],
    ['until it is refreshed', [renewed], use('p'), 300, 'refused: refresh/revokes-access'],
    ['so does a refresh token', [renewed], refresh('p'), 300, 'refused: refresh/revokes-refresh'],
    ['nothing follows from one that is let in', [renewed, letIn, letIn], use('p'), 500, 'open'],
    ['and its refresh may be refused', [renewed, letIn, letIn], refresh('p'), 500, 'open'],
    ['a word granted beside others may be refused alone', [granted('w', words)], apiKey, 100, 'open'],
    ['but not beside them', [granted('w', words)], grantCall([...words, 'context']), 100, 'accepted'],
    ['nor alone where it was granted alone', [granted('w', ['apiKey'])], apiKey, 100, 'accepted'],
    ['two words show nothing of one', [granted('w', ['apikey', 'apiKey'])], apiKey, 100, 'open'],
    ['so it is in the scope of a new key', [both], create(['apiKey']), 100, 'open'],
    ['where a sure word stands beside it', [both], create(['solution', 'apiKey']), 100, 'accepted'],
    ['the new token works', [renewed], use('q'), 300, 'accepted'],
    ['a used refresh token may end the newer pair', [renewed, reused], use('q'), 400, 'open'],
    ['until that is accepted', [renewed, reused, [use('q'), accepted(), 400]], use('q'), 500, 'accepted'],
    ['a refresh whose answer was lost may have ended it', [[refresh('p'), lost, 200]], use('p'), 300, 'open'],
    ['what a refresh token beside the credentials of a grant does is open', [], beside, 100, 'open'],
    // Whether a second grant ends the first pair is open; a refresh would certainly end it.
    ['it refreshes nothing', [[beside, newPair('q', 100), 100]], use('p'), 200, 'open'],
    ['and the grant gives a pair', [[beside, newPair('q', 100), 100]], use('q'), 200, 'accepted'],
    ['another spelling is open', [], listWith(`${tokenHeader('p')}.`), 100, 'open'],
    ['so is a no-break space behind it', [], listWith(tokenHeader('p') + noBreakSpace), 100, 'open'],
    ['so is that of a refresh token', [], spelt, 100, 'open'],
    ['which may have ended the pair', [[spelt, newPair('q', 100), 100]], use('p'), 200, 'open'],
    ['a part of a token is no token', [], listWith(tokenHeader('p').slice(0, -8)), 100, 'refused'],
    ['nor is a revoked one in any spelling', [renewed], listWith('Bearer P-access-token-0123456789'), 300, 'refused'],
    ['a token works before its end', [short], use('e'), 1500, 'accepted'],
    ['close to it everything is open', [short], use('e'), 2500, 'open'],
    ['then it is dead', [short], use('e'), 4500, 'refused: expires-in/enforced'],
    ['and its refresh token is not', [short], refresh('e'), 4500, 'accepted'],
    ['90 % of the refresh lifetime are relied on', [shortRefresh], refresh('s'), 8000, 'accepted'],
    ['and no more', [shortRefresh], refresh('s'), 9500, 'open'],
    ['then it has ended', [shortRefresh], refresh('s'), 12_500, 'refused'],
  ])('%s', (_what, before, call, ms, says) => {
    expect(ruling(after(state, ...before), call, ms)).toContain(says)
  })

  test('a grant whose answer was lost counts where live tokens are limited', () => {
    const both = afterGrants(newState({ liveTokens: 1 }), ['p', 'q'], ['solution'])
    const two = { ...both, sessions: both.sessions.filter(({ reading }) => reading.unnamed === 'none') }
    const useAfter = (...events: Event[]) => verdict(after(two, ...events), use('p'), 200)
    expect(useAfter()).toBe('accepted')
    expect(useAfter([grantCall(['solution']), refused, 100])).toBe('accepted')
    expect(useAfter([grantCall(['solution']), lost, 100])).toBe('open')
    expect(useAfter([refresh('q'), lost, 100])).toBe('open')
  })

  const expiring = (lifeMs: number): Call => grantCall(['solution', `expiresIn:${lifeMs}`])

  test('the clock of tokens is derived from expiresIn, so the time of the server does not matter', () => {
    const shifted = { from: at(0).from + 40_000_000, to: at(0).to + 40_000_000 }
    const right = pairAnswer('e', ['solution'], shifted, 3000)
    expect(breaks(newState(), expiring(3000), right)).toEqual([])
    const lived = after(newState(), [expiring(3000), right, 0])
    const late = pairAnswer('f', ['solution'], shifted, 14_000)
    expect(breaks(lived, expiring(9000), late)).toEqual(['expires-in/reported'])
  })

  test('of a server that ignores expiresIn only what was measured is said: how far two expiries are apart', () => {
    const fifteenMinutes = (name: string) => pairAnswer(name, ['solution'], at(0), 900_000)
    expect(breaks(newState(), expiring(3000), fifteenMinutes('e'))).toEqual([])
    const lived = after(newState(), [expiring(3000), fifteenMinutes('e'), 0])
    const [{ message } = { message: '' }] = shape(lived, expiring(9000), fifteenMinutes('f'), at(0))
    const told = /^expiresIn:9000 gave an expiry (\d+) ms earlier than that of expiresIn:3000 leads to expect$/
    const byMs = Number(told.exec(message)?.[1])
    expect(6000 - byMs).toBeGreaterThanOrEqual(0)
    expect(6000 - byMs).toBeLessThanOrEqual(2100)
  })

  /** Grants for two lifetimes, that give these; then a refresh of the second pair. In ms. */
  const lifetimes = (asked: [number, number], got: [number, number], callMs = 2): Event[] => {
    const during = (ms: number): Span => ({ from: at(ms).from, to: at(ms).from + callMs })
    const made = (name: string, which: 0 | 1, when: Span) => pairAnswer(name, ['solution'], when, got[which])
    return [
      [expiring(asked[0]), made('e', 0, during(0)), during(0)],
      [expiring(asked[1]), made('f', 1, during(100)), during(100)],
      [refresh('f'), made('g', 1, during(200)), during(200)],
    ]
  }
  const plain = (got: number, lifeMs: number): Event[] => [
    granted('e', ['solution', 'expiresIn:3000'], { lifeMs: got }),
    granted('p', ['solution'], { ms: 100, lifeMs }),
  ]

  test.each<[what: string, before: Event[], call: Call, says: string]>([
    ['another token dies in time', plain(3000, 30_000), use('p'), 'refused: tokens/expire'],
    ['it may live where expiresIn is ignored', plain(900_000, 900_000), use('p'), 'open'],
    ['two lifetimes are kept', lifetimes([3000, 15_000], [3000, 15_000]), use('g'), 'refused: tokens/expire'],
    ['expiresIn is ignored', lifetimes([3000, 15_000], [900_000, 900_000]), use('g'), 'open'],
    ['slow calls hide it', lifetimes([3000, 4500], [900_000, 900_000], 2000), use('g'), 'open'],
    ['one lifetime was granted twice', lifetimes([3000, 3000], [3000, 3000]), use('g'), 'open'],
  ])('a minute after grants with and without expiresIn: %s', (_what, before, call, says) => {
    expect(ruling(after(newState(), ...before), call, 60_000)).toContain(says)
  })

  const eightDays = 8 * 86_400_000
  test.each([
    ['may be shortened', 9_000_000, 60_000, 0],
    ['may not be kept longer', 9_000_000, 9_100_000, 1],
    ['may not give less than a smaller one', 9_000_000, 1000, 1],
    ['may do so above the lifetime of the refresh token', eightDays, 1000, 0],
  ])('a long NUMBER %s', (_what, asked, lifeMs, count) => {
    expect(breaks(state, expiring(asked), pairAnswer('l', ['solution'], at(9), lifeMs), 9)).toHaveLength(count)
  })

  const long = { ...state, terms: { ...state.terms, longSessionNames: true } }
  test.each([
    ['plain1', 'accepted', 'accepted'],
    ['a-plain-one', 'open', 'accepted'],
    ['Plain1', 'open', 'open'],
    ['-1', 'open', 'open'],
  ])('the name of a session "%s" is %s, and %s where long ones were accepted', (name, is, isWhereLong) => {
    const named = grantCall(['solution', `session:${name}`])
    expect([verdict(state, named, 9), verdict(long, named, 9)]).toEqual([is, isWhereLong])
  })

  test('a few newer tokens may have ended one without a session, unless older ones worked beside newer ones before', () => {
    const newest = (terms: object) => {
      const two = afterGrants(newState(terms), ['n0', 'n1'], ['solution'])
      // Shows that a grant without a session does not end the one before.
      const shown = after(two, [use('n0'), accepted(), 20])
      return verdict(afterGrants(shown, ['n2', 'n3'], ['solution'], 30), use('n0'), 40)
    }
    expect(newest({})).toBe('open')
    expect(newest({ liveTokens: 15 })).toBe('accepted')
  })

  test('no limit ended a token while an older one works, where tokens work beside newer ones', () => {
    const youngerAfter = (terms: object, shown: readonly Parameters<typeof after>[1][] = []) => {
      const many = Array.from({ length: 50 }, (_, index) => `n${index}`)
      const state = after(afterGrants(newState(terms), many, ['solution']), ...shown)
      return ['n1', 'n0'].map((name) => verdict(state, use(name), 4000))
    }
    const works: Parameters<typeof after>[1] = [use('n1'), accepted(), 3000]
    expect(youngerAfter({ liveTokens: 15 })).toEqual(['open', 'open'])
    expect(youngerAfter({ liveTokens: 15 }, [works])).toEqual(['accepted', 'open'])
    expect(youngerAfter({}, [works])).toEqual(['open', 'open'])
  })

  test('many newer tokens may have ended one', () => {
    const names = Array.from({ length: 20 }, (_, index) => `n${index}`)
    expect(verdict(afterGrants(newState(), names, ['solution']), use('n0'), 50)).toBe('open')
  })
})

describe('scopes', () => {
  const probes = new Map(['context', 'thread'].map((area) => [`${area}/list`, area]))
  const calling = (method: string): Call => listWith(tokenHeader('p'), body(method))
  test.each<[scope: string[], call: Call, says: string]>([
    [['context'], use('p'), 'refused: scopes/context'],
    [['context'], createWithToken, 'refused: scopes/context'],
    // What an empty scope or an unknown word opens is open.
    [[], use('p'), 'open'],
    [['*'], use('p'), 'open'],
    [['Solution'], use('p'), 'open'],
    [['solution:*'], use('p'), 'open'],
    // The word for a solution may open contexts, and no other area beside one.
    [['solution', 'solution:a'], calling('context/list'), 'open'],
    [['solution', 'solution:*'], calling('context/list'), 'open'],
    [['solution', 'solution:a'], calling('thread/list'), 'refused'],
    [['solution', 'solution:*'], calling('thread/list'), 'refused'],
    [['solution:a'], calling('thread/list'), 'open'],
    [['solution:*'], calling('thread/list'), 'open'],
    [['solution'], calling('context/list'), 'refused'],
    // So is what a token may do that names no area, for the creation of keys too.
    [['solution:*'], createWithToken, 'open'],
    [['solution:a'], createWithToken, 'open'],
    [['session:s'], createWithToken, 'open'],
    [['solution', 'solution:*'], createWithToken, 'refused'],
    // Whether there is such a method is open.
    [['context'], calling('context/listContexts'), 'open'],
    [['solution'], calling('context/listContexts'), 'refused'],
  ])('a token of the scope %j is limited to its areas: %j is %s', (scope, call, says) => {
    expect(ruling(afterGrants(newState({ probes }), ['p'], scope), call, 9)).toContain(says)
  })

  test.each([
    [['context', 'solution'], 'refused: refresh/scopes-kept (implied)'],
    [['context'], 'refused: scopes/context (must)'],
  ])('a refresh adds no scope, which is implied; the scope that it names is a must: %j', (said, says) => {
    const state = after(afterGrants(newState(), ['p'], ['context']), refreshed('p', 'q', 20, said))
    expect(ruling(state, use('q'), 30)).toBe(says)
  })
})

describe('keys', () => {
  const secretOf = (id: string): string => `${id}-secret-0123456789`
  const key = (id: string) => accepted({ id, secret: secretOf(id) })
  const basicOf = (id: string) => listWith(basicHeader(id, secretOf(id)))
  const created = (id: string, params: object, ms = 0, by = rootKey): Event => [
    createCall({ name: 'n', scope: ['solution'], ...params }, basicHeader(by.id, by.secret)),
    key(id),
    ms,
  ]
  const own = (id: string) => ({ apiKeyId: id, apiKeySecret: secretOf(id) })
  /** The state after a grant to a key of this scope. */
  const ofNarrow = (scope: string[], granting: string[]): State =>
    after(newState(), created('k', { scope }), granted('p', granting, { ms: 1, params: own('k') }))
  const made = (count: number): State =>
    after(newState(), ...Array.from({ length: count }, (_, n) => created(`k${n}`, { name: `n${n}` }, n)))
  const plain = createCall({ name: 'n', scope: ['solution'] })

  test('a grant beside the refresh token of a narrow key is judged by its own key', () => {
    const beside = grantCall(['solution'], { refreshToken: tokensOf('p').refresh })
    expect(breaks(ofNarrow(['context'], ['context']), beside, pairAnswer('q', ['solution'], at(2)), 2)).toEqual([])
  })

  test.each([
    [['solution'], [], createWithToken, 'refused: scopes/within-key (implied)'],
    [['solution'], [], use('p'), 'open'],
    [['context'], ['session:s'], use('p'), 'refused: scopes/within-key (implied)'],
  ])('a token without an area does not exceed the scope of its key: %j, %j, %j', (scope, granting, call, says) => {
    expect(ruling(ofNarrow(scope, granting), call, 9)).toContain(says)
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
    const state = after(newState(), created('k', { scope }))
    expect(breaks(state, grantCall([word], own('k')), pairAnswer('p', [word], at(1)), 1)).toHaveLength(count)
  })

  test('a name of a key is open if it is long, until one as long was accepted, and if it was offered before', () => {
    const [long, short] = ['fourteen-signs', 'twelve-signs'].map((name) => createCall({ name, scope: ['solution'] }))
    const verdictOn = (call = plain, ...before: Event[]) => verdict(after(newState(), ...before), call, 2)
    expect([verdictOn(long), verdictOn(short)]).toEqual(['open', 'accepted'])
    expect(verdictOn(long, created('k', { name: 'sixteen-letters-' }))).toBe('accepted')
    expect(verdictOn(short, [short ?? plain, refused, 1])).toBe('open')
    // A filter in front of a server may take two hyphens for a comment.
    expect(verdictOn(createCall({ name: 'n--1', scope: ['solution'] }))).toBe('open')
  })

  test('what becomes of the keys that an ended key created is open, however many keys lie between', () => {
    const by = (id: string) => ({ ...rootKey, id, secret: secretOf(id) })
    const state = after(
      newState(),
      created('a', { name: 'a', scope: ['apikey'] }),
      created('b', { name: 'b' }, 1, by('a')),
      created('c', { name: 'c' }, 1, by('b')),
      created('d', { name: 'd' }, 2),
    )
    const stems = (name: string, from: string) => {
      const made = state.keys.get(name)
      return made !== undefined && mayStemFrom(state, made, from)
    }
    expect(['b', 'c', 'd', rootKey.id].map((name) => stems(name, 'a'))).toEqual([true, true, false, false])
    expect(stems('c', 'b')).toBe(true)
    expect(stems('b', 'c')).toBe(false)
  })

  const publicKeyOf = (byte: number) => ed25519KeyPair(new Uint8Array(32).fill(byte)).publicKeyPem

  test('a secret is not given to two keys; which one a key with a public key gets is open', () => {
    const answer = (id: string) => accepted({ id, secret: 'a-secret-0123456789' })
    const ecc = createCall({ name: 'e', scope: ['solution'], publicKey: publicKeyOf(7) })
    const withEcc = after(newState(), [ecc, answer('e'), 0])
    expect(breaks(withEcc, ecc, answer('f'), 1)).toEqual([])
    expect(breaks(withEcc, plain, answer('n'), 1)).toEqual([])
    expect(breaks(after(withEcc, [plain, answer('n'), 1]), plain, answer('m'), 2)).toEqual(['keys/unique-secrets'])
  })

  test('a public key of null may be refused, or make a key with a secret', () => {
    expect(verdict(newState(), createCall({ name: 'n', scope: ['solution'], publicKey: null }))).toBe('open')
    const state = after(newState(), created('k', { publicKey: null }))
    expect(verdict(state, basicOf('k'), 1)).toBe('open')
    expect(verdict(state, listWith(basicHeader('k', 'another-secret-01234')), 1)).toBe('refused')
  })

  test('nine have a place; the answers to the tenth and the eleventh creation are open', () => {
    expect([8, 9, 10].map((count) => verdict(made(count), plain, 99))).toEqual(['accepted', 'open', 'open'])
  })

  test('eleven that work at once are a finding', () => {
    const used = Array.from({ length: 10 }, (_, n): Event => [basicOf(`k${n}`), accepted(), 100])
    expect(shape(after(made(11), ...used), basicOf('k10'), accepted(), at(101))).toMatchObject([
      { requirement: 'limits/ten-keys', level: 'must' },
    ])
  })

  test('a key with a public key works with ECC signatures only', () => {
    const state = after(newState(), created('e', { publicKey: publicKeyOf(3) }))
    expect(ruling(state, basicOf('e'), 1)).toContain('refused: basic/public-key-refused')
  })

  test('after wrong attempts a refusal is open, because a server may lock a key', () => {
    const wrong = listWith(basicHeader(rootKey.id, 'wrong'))
    const tried = after(newState(), ...[1, 2, 3, 4].map((ms): Event => [wrong, refused, ms]))
    const right = listWith(basicHeader())
    expect(verdict(tried, right, 9)).toBe('open')
    expect(verdict(after(tried, [right, accepted(), 10]), right, 11)).toBe('accepted')
  })

  test('that the right params make one is implied, until an accepted call has shown it', () => {
    expect(ruling(newState(), plain)).toContain('(implied)')
    expect(ruling(made(1), createCall({ name: 'm', scope: ['solution'] }), 1)).toContain('(must)')
  })

  test.each([
    ['no name', { scope: ['solution'] }, 'refused'],
    ['a scope that is no list', { name: 'n', scope: 'solution' }, 'refused'],
    ['a text that is no public key', { name: 'n', scope: ['solution'], publicKey: 'x' }, 'refused'],
    ['a foreign param', { name: 'n', scope: ['solution'], more: 1 }, 'open'],
    ['a scope word that no example shows', { name: 'n', scope: ['thread'] }, 'open'],
    ['an odd name', { name: 'a.b c', scope: ['solution'] }, 'open'],
  ])('params with %s', (_title, params, is) => {
    expect(verdict(newState(), createCall(params))).toBe(is)
  })
})

test.each([
  ['{', 'refused'],
  ['[]', 'open'],
  [listBody.replace('"2.0"', '"1.0"'), 'open'],
  // Integers to JavaScript, and not to parsers that tell numbers apart by their spelling, as those of Go and Python do.
  [listBody.replace('"id":1', '"id":1.0'), 'open'],
  [listBody.replace('"id":1', '"id":1e0'), 'open'],
  [listBody.replace('"id":1', '"id":"1"'), 'open'],
  [listBody.replace('{}', '"x"'), 'refused'],
  [listBody.replace('{', '{"id":2,'), 'open'],
  [body('nosuch/method'), 'refused'],
  [body('context/listContexts'), 'open'],
])('the envelope: %s', (text, is) => {
  expect(verdictOf(basicHeader(), text)).toBe(is)
})

/** The answer to a grant, with another value in one member. */
function pairWith(name: string, value: unknown): Answer {
  const right = pairAnswer('a', ['solution'], at(0))
  return accepted({ ...(right.kind === 'accepted' ? (right.result as object) : {}), [name]: value })
}

test.each([
  ['accessTokenExpiry', 900_000, 'accessTokenExpiry is 900000, expected an integer of 13 digits'],
  ['refreshTokenExpiry', 'in a week', 'refreshTokenExpiry is a string, expected an integer of 13 digits'],
  ['accessToken', undefined, 'accessToken is missing, expected a string'],
  ['tokenType', 'bearer', 'tokenType is a string, expected "Bearer"'],
  ['scope', 'solution', 'scope is a string, expected an array of strings'],
])('a wrong %s is named with what is expected, and a text is not shown', (name, value, message) => {
  expect(shape(newState(), grantCall(['solution']), pairWith(name, value), at(0))).toMatchObject([{ message }])
})

test('a refresh must not return an access token that has already expired', () => {
  const state = afterGrants(newState(), ['a'], ['solution'])
  const renewedFor = (lifeMs: number) =>
    shape(state, refreshCall(tokensOf('a').refresh), pairAnswer('b', ['solution'], at(20_000), lifeMs), at(20_000))
  expect(renewedFor(-5000)).toMatchObject([{ requirement: 'refresh/new-pair', level: 'must' }])
  // The clock of the server is known to about a second.
  expect(renewedFor(-1500)).toEqual([])
})

describe.each([null, undefined, 7, ''])('a grant with %j instead of', (missing) => {
  const { access, refresh } = tokensOf('a')
  const without = (name: string): State =>
    after(afterGrants(newState(), [], ['solution']), [grantCall(['solution']), pairWith(name, missing), 0])

  test('a refresh token gives an access token that works, and no refresh', () => {
    const state = without('refreshToken')
    expect(verdict(state, use('a'), 1)).toBe('accepted')
    expect(verdict(state, listWith(`Bearer x${access}`), 1)).toBe('refused')
    for (const text of ['', refresh]) expect(verdict(state, refreshCall(text), 1)).toBe('refused')
  })

  test('an access token gives a refresh token that works, and no access', () => {
    const state = without('accessToken')
    expect(verdict(state, refreshCall(refresh), 1)).toBe('accepted')
    for (const text of ['', access]) expect(verdict(state, listWith(`Bearer ${text}`), 1)).toBe('refused')
    expect(verdict(after(state, refreshed('a', 'b', 2)), refreshCall(refresh), 3)).toBe('refused')
  })
})

describe('a pair refreshed from a token that was not seen', () => {
  const state = after(afterGrants(newState(), ['mine'], ['solution']), refreshed('unseen', 'a', 10))

  const ofKeys = (unnamed: 'each' | 'none'): State['sessions'] =>
    state.sessions.filter(({ reading }) => reading.user === 'one key' && reading.unnamed === unnamed)

  test('shares its key with no other such pair', () => {
    const names = Array.from({ length: 17 }, (_, n) => `r${n}`)
    const start: State = { ...newState(), sessions: ofKeys('each') }
    const many = after(start, ...names.map((name, n) => refreshed(`unseen ${n}`, name, n * 3000)))
    expect(verdict(many, use('r0'), 60_000)).toBe('open')
    const own = names.map((name, n) => granted(name, ['solution'], { ms: n * 3000 }))
    expect(verdict(after(afterGrants(start, [], ['solution']), ...own), use('r0'), 60_000)).toBe('refused')
  })

  test('may have the key of a pair that has the same token', () => {
    const again = pairAnswer('mine', ['solution'], at(20))
    expect(breaks(state, refreshCall(tokensOf('other').refresh), again, 20)).toEqual([])
    expect(breaks(state, grantCall(['solution'], { apiKeyId: 'other' }), again, 20)).toEqual(['tokens/authorize'])
    expect(breaks(state, grantCall(['solution']), pairAnswer('a', ['solution'], at(20)), 20)).toEqual([])
  })

  test.each([
    [['reuse'] as const, 'open'],
    [[], 'accepted'],
  ])('may be of the key whose pairs end because a refresh token was used again: %j', (withdraws, is) => {
    const terms = { ...state.terms, withdraws: new Set(withdraws) }
    const reused: Event = [refreshCall(tokensOf('a').refresh), refused, 30]
    const before = after({ ...state, terms, sessions: ofKeys('none') }, refreshed('a', 'b', 20), reused)
    expect(verdict(before, use('mine'), 40)).toBe(is)
  })
})

describe('a signature of a key', () => {
  const [, timestamp, nonce] = /;1;(\d+);([^;]+);/.exec(hmacHeader()) ?? []
  const data = Buffer.from(`${timestamp};${nonce};POST\n/api\n${listBody}\n`)
  const mac = createHmac('sha256', rootSecret).update(data).digest()
  const withSignature = (id: string, signature: string): Call =>
    listWith(`svc-hmac-sha256 ${id};1;${timestamp};${nonce};${signature}`)

  test.each([
    ['21 bytes', mac.subarray(0, 21)],
    ['19 bytes', mac.subarray(0, 19)],
    ['all bytes', mac],
    ['the last 20 bytes', mac.subarray(-20)],
    ['a byte behind the first 20', Buffer.concat([mac.subarray(0, 20), Buffer.of(0)])],
  ])('%s of the MAC break the rule about its length', (_title, part) => {
    const call = withSignature(rootKey.id, part.toString('base64'))
    expect(ruling(newState(), call)).toContain('refused: signatures/hmac-length')
  })

  test('white space around the id of its key may be a spelling of it; around other fields it is refused', () => {
    const signature = mac.subarray(0, 20).toString('base64')
    for (const id of [`${rootKey.id} `, ` ${rootKey.id}`])
      expect(ruling(newState(), withSignature(id, signature))).toContain('open')
    const spaced = withSignature(rootKey.id, ` ${signature}`)
    expect(ruling(newState(), spaced)).toContain('refused: signatures/header-exact')
  })

  const { publicKeyPem: publicKey, privateKeyPem } = ed25519KeyPair(new Uint8Array(32).fill(9))
  test.each([
    [rootKey.id, mac.subarray(0, 20)],
    ['e', sign(null, data, privateKeyPem)],
  ])('its padding is open, and any other text of the same bytes is refused: key %s', (id, bytes) => {
    const ecc = createCall({ name: 'e', scope: ['solution'], publicKey })
    const state = after(newState(), [ecc, accepted({ id: 'e', secret: 's' }), 0])
    const text = bytes.toString('base64')
    const bare = text.replace(/=+$/, '')
    // Its last two or four bits stand for nothing.
    const stray = `${bare.slice(0, -1)}${String.fromCharCode(bare.charCodeAt(bare.length - 1) + 1)}`
    const verdictOn = (signature: string) => verdict(state, withSignature(id, signature), 5)
    expect(verdictOn(text)).toBe('accepted')
    for (const padded of [bare, `${text}=`, `${bare}===`]) expect(verdictOn(padded)).toBe('open')
    for (const changed of [stray, `${stray}=`]) expect(verdictOn(changed)).toBe('refused')
  })
})

test('a body in chunks is open until one was accepted, and a wrong secret is refused either way', () => {
  const [right, wrong, signed] = [basicHeader(), basicHeader(undefined, 'wrong'), hmacHeader()].map((header) => ({
    ...listWith(header),
    inChunks: true,
  })) as [Call, Call, Call]
  expect([right, wrong].map((call) => verdict(newState(), call))).toEqual(['open', 'refused'])
  const shown = after(newState(), [right, accepted(), 0])
  expect([right, wrong, signed].map((call) => verdict(shown, call, 10))).toEqual(['accepted', 'refused', 'accepted'])
})

const grant = grantCall(['solution'])
test.each([
  ['with a token: no method says what it would need', listWith(tokenHeader('pair')), 'envelope/malformed-answered'],
  ['a grant, which needs no authorization', grant, 'envelope/malformed-answered'],
  ['no reader finds a grant in it', listWith(undefined), 'authorization/required'],
])('a body that is JSON only to a forgiving reader: %s', (_what, call, requirement) => {
  const state = afterGrants(newState(), ['pair'], ['solution'])
  expect(ruling(state, { ...call, body: `${call.body}\0` }, 2000)).toContain(`refused: ${requirement} (`)
})

test.each([
  ['nothing more', [{}], 'accepted'],
  ['a scope', [{ scope: ['context'] }], 'open'],
  ['a scope, and then with nothing more', [{ scope: ['context'] }, {}], 'open'],
])('a pair that was refreshed with %s', (_what, refreshes: readonly object[], is) => {
  const events = refreshes.map((more, index): Event => {
    const [{ body: text, ...call }, answer, ms] = refreshed(`p${index}`, `p${index + 1}`, 1000 * (index + 1))
    const request = JSON.parse(text)
    return [{ ...call, body: JSON.stringify({ ...request, params: { ...request.params, ...more } }) }, answer, ms]
  })
  const state = after(afterGrants(newState(), ['p0'], ['solution']), ...events)
  expect(verdict(state, use(`p${events.length}`), 5000)).toBe(is)
})
