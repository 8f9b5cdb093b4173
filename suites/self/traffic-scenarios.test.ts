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

const use = (atMs: number, name: string, more: object = { result: listed }) => withToken(atMs, name, more)
const listing = (authorization: string) => asked(100, { authorization, result: listed })
const wrongId = { answer: { status: 200, headers: {}, body: '{"jsonrpc":"2.0","id":2,"result":{}}' } }
const short = { result: { ...pairNamed('a'), accessTokenExpiry: asked(1000).startedMs } }
const first = granted(0, 'a')
const second = renewed(100, 'a', 'b')
const [yes, no] = [() => true, () => false]
const refreshesWork: Rules = { revokedByRefresh: () => ['access'], revokedTokenWorks: yes }
// Over another body: a mistake that has a name.
const wronglySigned = signedCall(100, { signedText: spaced, result: listed })
const withRefreshToken = listing(`Bearer ${pairNamed('a').refreshToken}`)
const expiring = granted(0, 'a', ['solution', 'expiresIn:1000'], short)
/** By the fact that is found: the calls that show it, and the server that would answer so. */
const shown: { [id: string]: [broken: Rules, ...calls: Observed[]] } = {
  'refresh/revokes-access/let-in': [{ revokedTokenWorks: yes }, first, second, use(200, 'a')],
  'refresh/revokes-refresh/let-in': [refreshesWork, first, second, renewed(200, 'a', 'c')],
  'scopes/context/let-in': [{ scopeOpens: yes }, granted(0, 'a', ['context']), use(100, 'a')],
  'authorization/required/let-in': [{ authorizationRequired: no }, asked(0, { result: listed })],
  'tokens/refresh-is-no-access/let-in': [{ tokenKindTaken: yes }, first, withRefreshToken],
  'basic/credentials/let-in': [{ secretMatches: yes }, first, listing(basicHeader(rootKey.id, 'another-secret'))],
  'signatures/hmac/let-in': [{ macTextMatches: yes }, first, wronglySigned],
  'envelope/id-echo/shape': [{ echoedId: () => 'another' }, first, use(10, 'a', wrongId)],
  'sessions/oldest-removed/let-in': [{ removedSessionWorks: yes }, ...sessions, use(60_000, 's0')],
  // A token that is refreshed twice at once.
  'refresh/revokes-refresh/history': [{ revokedTokenWorks: yes }, first, ...atOnce],
  'expires-in/enforced/let-in': [{ accessExpired: no }, expiring, use(60_000, 'a')],
}

describe('a finding in traffic can be asked again', () => {
  test.each(Object.entries(shown))('%s', async (id, [rules, ...calls]) => {
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
