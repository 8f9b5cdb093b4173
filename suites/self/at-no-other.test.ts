/** A defect is reported at the requirement that it breaks, and at no other. */
import { expect, test } from 'vitest'
import { allItems, answersTo } from '../engine/conversation/cases.ts'
import { openCorpus } from '../run/corpus-cache.ts'
import { runAll } from '../run/run.ts'
import type { ServerOptions } from '../targets/bundled.ts'
import { lastingServer, partUnlessProof } from './proof-form.ts'
import { serverNamed } from './server-named.ts'

const corpus = await openCorpus()

/** The first calls with a created key are refused, as where another process creates it. */
function keysLate(calls: number): ServerOptions {
  /** Each id once for each call that is still refused. */
  const toRefuse: string[] = []
  const refusal = '{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"no"}}'
  const around: ServerOptions['around'] = (handle) => async (request) => {
    const header = request.headers.authorization ?? ''
    const text = `${request.body} ${header} ${Buffer.from(header.split(' ')[1] ?? '', 'base64')}`
    const at = toRefuse.findIndex((id) => text.includes(id))
    if (at >= 0 && toRefuse.splice(at, 1)) return { status: 401, headers: {}, body: refusal }
    const answer = await handle(request)
    const { result } = JSON.parse(answer.body)
    if (text.includes('createApiKey') && result !== undefined) toRefuse.push(...Array(calls).fill(result.id))
    return answer
  }
  return { around }
}

type Rules = NonNullable<ServerOptions['rules']>

const refreshExpired: Rules['refreshExpired'] = ({ refreshExpiryMs }, nowMs) => nowMs > refreshExpiryMs + 2000
const ofLongLife = { profile: { refreshLifeMs: 6000 }, rules: { refreshExpired } }
const ofGrants = 'sessions refresh grants addresses expires-in'
const ofSessions = 'sessions refresh/session-kept'
const oldest = 'sessions/oldest-removed'
const noneRemoved = `sessions/at-most-sixteen ${oldest}`
/** What fails there, and nothing else; in which cases, and in which order of them. */
const servers: [what: string, server: ServerOptions | string, only: string, breaks: string, seed?: number][] = [
  ['old access tokens die late', 'old-access-token-works-for-two-seconds', 'refresh tokens', 'refresh/revokes-access'],
  ['a refresh token outlives its own expiry by two seconds', ofLongLife, 'refresh tokens', 'refresh/own-expiry'],
  ['a new key works one call late', keysLate(1), 'keys/created grants basic', 'keys/created-key-works'],
  ['a new key works four calls late', keysLate(4), 'keys/created grants basic', 'keys/created-key-works'],
  ['the seventeenth session is refused', 'seventeenth-session-refused', ofGrants, 'sessions/next-works', 4],
  ['any number of sessions is kept', { rules: { sessionLimit: () => 1000 } }, ofSessions, noneRemoved],
  ['a refresh counts as a session', { rules: { refreshOpensSession: () => true } }, ofSessions, oldest],
]

test.each(partUnlessProof(servers, 1))('%s', async (_what, named, only, breaks, seed = 3) => {
  const items = allItems(corpus).filter((item) => only.split(' ').some((id) => answersTo(item, id)))
  const server = typeof named === 'string' ? await serverNamed(named) : named
  const outcomes = await runAll({ target: lastingServer(server), corpus, items, seed })
  const failed = outcomes.flatMap(({ requirements }) =>
    Object.entries(requirements).flatMap(([id, verdict]) => (verdict === 'failed' || verdict === 'warned' ? [id] : [])),
  )
  expect([...new Set(failed)].sort()).toEqual(breaks.split(' '))
})
