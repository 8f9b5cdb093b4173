/** A finding in traffic as a scenario: the reference server passes it, and a server with that defect fails it. */
import { describe, expect, test } from 'vitest'
import { openCorpus } from '../run/corpus-cache.ts'
import { isBroken, tryScenario } from '../run/explore.ts'
import type { ServerOptions } from '../targets/bundled.ts'
import type { Observed } from '../watch/records.ts'
import { basicHeader, body, rootKey } from './made-up-calls.ts'
import { asked, granted, judgedTraffic, listed, pairNamed, renewed, signedCall, withToken } from './made-up-traffic.ts'

const corpus = await openCorpus()

type Rules = NonNullable<ServerOptions['rules']>

const spaced = body('solution/listSolutions').replaceAll(':', ': ').replaceAll(',', ', ')
const sessions = Array.from({ length: 18 }, (_, at) => granted(3000 * at, `s${at}`, ['solution', `session:s${at}`]))
const atOnce = [renewed(100, 'a', 'b', { took: 50 }), renewed(110, 'a', 'c', { took: 50 })]

const shown: [name: string, id: string, calls: Observed[], broken: Rules][] = [
  [
    'a revoked token',
    'refresh/revokes-access/let-in',
    [granted(0, 'a'), renewed(100, 'a', 'b'), withToken(200, 'a', { result: listed })],
    { revokedTokenWorks: () => true },
  ],
  [
    'a refresh token used twice',
    'refresh/revokes-refresh/let-in',
    [granted(0, 'a'), renewed(100, 'a', 'b'), renewed(200, 'a', 'c')],
    { revokedByRefresh: () => ['access'], revokedTokenWorks: () => true },
  ],
  [
    'a scope that does not open the method',
    'scopes/context/let-in',
    [granted(0, 'a', ['context']), withToken(100, 'a', { result: listed })],
    { scopeOpens: () => true },
  ],
  [
    'no authorization',
    'authorization/required/let-in',
    [asked(0, { result: listed })],
    { authorizationRequired: () => false },
  ],
  [
    'a refresh token as access token',
    'tokens/refresh-is-no-access/let-in',
    [granted(0, 'a'), asked(100, { authorization: `Bearer ${pairNamed('a').refreshToken}`, result: listed })],
    { tokenKindTaken: () => true },
  ],
  [
    'a wrong secret',
    'basic/credentials/let-in',
    [granted(0, 'a'), asked(100, { authorization: basicHeader(rootKey.id, 'another-secret'), result: listed })],
    { secretMatches: () => true },
  ],
  [
    'a signature over another body, whose mistake has a name',
    'signatures/hmac/let-in',
    [granted(0, 'a'), signedCall(100, { signedText: spaced, result: listed })],
    { macTextMatches: () => true },
  ],
  [
    'an answer with another id',
    'envelope/id-echo/shape',
    [
      granted(0, 'a'),
      withToken(10, 'a', { answer: { status: 200, headers: {}, body: '{"jsonrpc":"2.0","id":2,"result":{}}' } }),
    ],
    { echoedId: () => 'another' },
  ],
  [
    'a session that newer ones removed',
    'sessions/oldest-removed/let-in',
    [...sessions, withToken(60_000, 's0', { result: listed })],
    { removedSessionWorks: () => true },
  ],
  [
    'a token that is refreshed twice at once',
    'refresh/revokes-refresh/history',
    [granted(0, 'a'), ...atOnce],
    { revokedTokenWorks: () => true },
  ],
  [
    'a token that outlives its expiresIn',
    'expires-in/enforced/let-in',
    [
      granted(0, 'a', ['solution', 'expiresIn:1000'], {
        result: { ...pairNamed('a'), accessTokenExpiry: asked(1000).startedMs },
      }),
      withToken(60_000, 'a', { result: listed }),
    ],
    { accessExpired: () => false },
  ],
]

describe('a finding in traffic can be asked again', () => {
  test.each(shown)('%s', async (_name, id, calls, rules) => {
    const { found, ids } = judgedTraffic(calls, { requirements: corpus.requirements })
    expect(ids).toEqual([`found/${id}`])
    const [{ requirement = '', fixture = '' } = {}] = found
    const verdictOn = (broken: Rules) =>
      tryScenario(fixture ?? 'none', requirement, corpus, { settings: {}, create: () => ({ rules: broken }) })
    expect([await verdictOn({}), isBroken(await verdictOn(rules))], fixture ?? '').toEqual(['passed', true])
  })

  test('but not where only this server, or only its clients, can show it', () => {
    const forAddress = (name: string, address: string) => granted(0, name, ['solution', `ipAddr:${address}`])
    const used = (atMs: number, name: string) => withToken(atMs, name, { result: listed, connection: 7 })
    const ofAddresses = [forAddress('a', '192.0.2.1'), forAddress('b', '192.0.2.2'), used(20, 'a'), used(30, 'b')]
    const ofNobody = [granted(0, 'a'), signedCall(100, { secret: 'another', result: listed })]
    const told = (calls: Observed[]) =>
      judgedTraffic(calls, { requirements: corpus.requirements }).found.map(({ id, fixture }) => [id, fixture])
    expect(told(ofAddresses)).toEqual([['found/addresses/bound/let-in', null]])
    expect(told(ofNobody)).toEqual([['found/signatures/hmac/let-in', null]])
  })

  test('and tells nothing of the traffic but words of scope', () => {
    const calls = [granted(0, 'a', ['context', 'session:private']), withToken(100, 'a', { result: listed })]
    const [{ fixture } = { fixture: '' }] = judgedTraffic(calls, { requirements: corpus.requirements }).found
    expect(fixture).toMatch(/scope: \[ context, session:/)
    expect(fixture).not.toMatch(/private|access-token|refresh-token|secret-/)
  })
})
