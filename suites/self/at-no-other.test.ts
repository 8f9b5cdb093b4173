/** A defect is reported at the requirement that it breaks, and at no other. */
import { expect, test } from 'vitest'
import { allItems, answersTo } from '../engine/conversation/cases.ts'
import { openCorpus } from '../run/corpus-cache.ts'
import { runAll } from '../run/run.ts'
import type { ServerOptions } from '../targets/bundled.ts'
import { lastingServer, partUnlessProof } from './proof-form.ts'
import { serverNamed } from './server-named.ts'

const corpus = await openCorpus()

const keyWorksAfterMs = 150

/** A created key is refused at first, as where another process creates it. */
function keysLate(): ServerOptions {
  const made = new Map<string, number>()
  const refusal = '{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"no"}}'
  const around: ServerOptions['around'] = (handle) => async (request) => {
    const header = request.headers.authorization ?? ''
    const text = `${request.body} ${header} ${Buffer.from(header.split(' ')[1] ?? '', 'base64')}`
    for (const [id, at] of made)
      if (text.includes(id) && Date.now() - at < keyWorksAfterMs) return { status: 401, headers: {}, body: refusal }
    const answer = await handle(request)
    const { result } = JSON.parse(answer.body)
    if (text.includes('createApiKey') && result !== undefined) made.set(result.id, Date.now())
    return answer
  }
  return { around }
}

interface Broken {
  server: ServerOptions
  only: string[]
  /** What fails, and nothing else. */
  breaks: string[]
  /** The order of the cases. */
  seed?: number
}

const servers: { readonly [name: string]: Broken } = {
  'old access tokens die two seconds late': {
    server: await serverNamed('old-access-token-works-for-two-seconds'),
    only: ['refresh', 'tokens'],
    breaks: ['refresh/revokes-access'],
  },
  'a refresh token outlives its own expiry by two seconds': {
    server: {
      profile: { refreshLifeMs: 6000 },
      rules: { refreshExpired: ({ refreshExpiryMs }, nowMs) => nowMs > refreshExpiryMs + 2000 },
    },
    only: ['refresh', 'tokens'],
    breaks: ['refresh/own-expiry'],
  },
  'a new key works 150 ms late': {
    server: keysLate(),
    only: ['keys/created', 'grants', 'basic'],
    breaks: ['keys/created-key-works'],
  },
  'the seventeenth session is refused': {
    server: await serverNamed('seventeenth-session-refused'),
    only: ['sessions', 'refresh', 'grants', 'addresses', 'expires-in'],
    breaks: ['sessions/next-works'],
    seed: 4,
  },
  'any number of sessions is kept': {
    server: { rules: { sessionLimit: () => 1000 } },
    only: ['sessions', 'refresh/session-kept'],
    breaks: ['sessions/at-most-sixteen', 'sessions/oldest-removed'],
  },
  'a refresh counts as a session': {
    server: { rules: { refreshOpensSession: () => true } },
    only: ['sessions', 'refresh/session-kept'],
    breaks: ['sessions/oldest-removed'],
  },
}

test.each(partUnlessProof(Object.entries(servers), 1))('%s', async (_name, { server, only, breaks, seed = 3 }) => {
  const items = allItems(corpus).filter((item) => only.some((id) => answersTo(item, id)))
  const outcomes = await runAll({ target: lastingServer(server), corpus, items, seed })
  const failed = outcomes.flatMap(({ requirements }) =>
    Object.entries(requirements).flatMap(([id, verdict]) => (verdict === 'failed' || verdict === 'warned' ? [id] : [])),
  )
  expect([...new Set(failed)].sort()).toEqual(breaks)
})
