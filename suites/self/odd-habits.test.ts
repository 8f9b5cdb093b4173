/** Servers that conform, and have habits that a run must not mistake for defects. */
import { expect, test } from 'vitest'
import { allItems, answersTo } from '../engine/conversation/cases.ts'
import { openCorpus } from '../run/corpus-cache.ts'
import { runAll } from '../run/run.ts'
import { lastingTarget, loadIndependentVariants, type ServerOptions } from '../targets/bundled.ts'
import { partUnlessProof } from './proof-form.ts'

const corpus = await openCorpus()

interface Habit {
  name: string
  server: ServerOptions
  only: string[]
  /** Verdicts that may occur. */
  verdicts: string[]
}

/** A proxy whose clock is ahead by this many milliseconds writes the Date header, from the given answer on. */
const behindProxy = (aheadMs: number, from = 0): ServerOptions => ({
  around: (handle) => {
    let answers = 0
    return async (request) => {
      const answer = await handle(request)
      answers += 1
      if (answers < from) return answer
      const ahead = new Date(Date.parse(answer.headers.date ?? '') + aheadMs).toUTCString()
      return { ...answer, headers: { ...answer.headers, date: ahead } }
    }
  },
})

/** A grant with the same params gives the same pair, until a pair is refreshed. */
const repeatingGrants: ServerOptions = {
  around: (handle) => {
    const granted = new Map<string, string>()
    return async (request) => {
      const { id, method, params } = JSON.parse(String(request.body)) as { id: number; method: string; params: object }
      const isGrant = method === 'manager/auth' && 'apiKeyId' in params
      if (method === 'manager/auth' && !isGrant) granted.clear()
      const known = isGrant ? granted.get(JSON.stringify(params)) : undefined
      const answer = await handle(request)
      if (known !== undefined) return { ...answer, body: JSON.stringify({ ...JSON.parse(known), id }) }
      if (isGrant && answer.body.includes('"result"')) granted.set(JSON.stringify(params), answer.body)
      return answer
    }
  },
}

const variants = await loadIndependentVariants()

function variant(id: string): ServerOptions {
  const found = variants.find((one) => one.id === id)
  if (found === undefined) throw new Error(`There is no variant "${id}"`)
  const { profile, create } = found
  return { ...(profile === undefined ? {} : { profile }), ...create?.() }
}

const habits: readonly Habit[] = [
  {
    name: 'a proxy in front of it writes the Date header, two seconds ahead',
    server: behindProxy(2000),
    only: ['expires-in', 'tokens', 'refresh/after-access-expiry'],
    verdicts: ['passed'],
  },
  {
    name: 'a proxy in front of it writes the Date header, three hours behind',
    server: behindProxy(-3 * 3_600_000),
    only: ['signatures/hmac', 'signatures/ecc', 'keys/public-key', 'expires-in', 'refresh/own-expiry', 'tokens'],
    verdicts: ['passed', 'not-testable'],
  },
  {
    name: 'a proxy in front of it writes the Date header, ninety seconds ahead',
    server: behindProxy(90_000),
    only: ['signatures/hmac-accepted', 'expires-in', 'tokens', 'refresh/after-access-expiry'],
    verdicts: ['passed'],
  },
  {
    name: 'the clock of the proxy is set back by an hour during the run',
    server: { ...behindProxy(-3_600_000, 40), profile: { timeWindowMs: 2 * 3_600_000 } },
    only: ['signatures/hmac', 'expires-in', 'refresh/own-expiry', 'tokens'],
    verdicts: ['passed', 'not-testable'],
  },
  {
    name: 'it gives the same pair again to the same grant',
    server: repeatingGrants,
    only: ['refresh/pair-differs', 'refresh/result', 'refresh/others-stand', 'refresh/revokes-access'],
    verdicts: ['passed'],
  },
  {
    name: 'it hangs up on every refusal',
    server: {
      around: (handle) => async (request) => {
        const answer = await handle(request)
        return answer.body.includes('"error"') ? { ...answer, hangUp: true } : answer
      },
    },
    only: ['authorization', 'basic', 'signatures/hmac', 'grants/authorization-header'],
    verdicts: ['passed'],
  },
  {
    name: 'it grants solution:ID to no key with solution:*',
    server: { profile: { solutionIdFromAny: false } },
    only: ['scopes/solution-id', 'scopes/solution-any'],
    verdicts: ['passed'],
  },
  {
    name: 'it takes twelve connections at once',
    server: { bounds: { connections: 12 } },
    only: ['refresh/race', 'refresh/new-pair', 'sessions/race', 'basic'],
    verdicts: ['passed', 'blocked'],
  },
  {
    name: 'it keeps three pairs of a key outside sessions',
    server: variant('three-live-pairs-of-a-key-outside-sessions'),
    only: ['refresh/race'],
    verdicts: ['passed'],
  },
  {
    name: 'it takes session names of at most eight small letters and digits',
    server: variant('session-names-of-8-small-letters-and-digits-that-add'),
    only: [
      'sessions',
      'refresh',
      'grants/result-of-every-kind',
      'expires-in',
      'addresses',
      'scopes',
      'tokens',
      'limits',
    ],
    verdicts: ['passed', 'not-testable'],
  },
]

test.each(partUnlessProof(habits, 5))('$name', async ({ server, only, verdicts }) => {
  const items = allItems(corpus).filter((item) => only.some((id) => answersTo(item, id)))
  const outcomes = await runAll({ target: lastingTarget(server), corpus, items })
  const odd = outcomes.filter(
    ({ verdict, problem }) => !verdicts.includes(verdict) || (problem !== null && problem.kind === 'not-run'),
  )
  expect(odd.map(({ key, verdict, problem }) => `${key}: ${verdict} (${problem?.kind})`)).toEqual([])
  expect(outcomes.filter(({ verdict }) => verdict === 'passed').length).toBeGreaterThan(outcomes.length / 2)
})

test('a given token word that does not work is one failure, of tokens/authorize', async () => {
  const only = ['tokens', 'refresh/new-pair', 'basic']
  const items = allItems(corpus).filter((item) => only.some((id) => answersTo(item, id)))
  const target = lastingTarget({ profile: { tokenPrefix: 'X-Access' } }, { tokenPrefix: 'Bearer' })
  const outcomes = await runAll({ target, corpus, items })
  const failed = outcomes.filter(({ verdict }) => verdict === 'failed' || verdict === 'warned')
  expect(failed.map(({ key }) => key)).toEqual(['tokens/accepted'])
  expect(outcomes.some(({ verdict, problem }) => verdict === 'blocked' && problem?.kind === 'no-token-word')).toBe(true)
})
