/** Servers and users with odd habits and settings, which a run must not mistake for defects; and answers that must not stop it. */
import { expect, test } from 'vitest'
import { allItems, answersTo, type Item } from '../engine/conversation/cases.ts'
import type { CaseOutcome } from '../engine/judge/problem.ts'
import type { TargetSettings } from '../engine/target.ts'
import { problemText } from '../report/problem-text.ts'
import { openCorpus } from '../run/corpus-cache.ts'
import { runAll } from '../run/run.ts'
import { bundledSettings, bundledTarget, rules, type ServerOptions } from '../targets/bundled.ts'
import { type Answering, accepting, madeUpTarget } from './made-up-target.ts'
import { lastingServer, partUnlessProof, turnUnlessProof } from './proof-form.ts'
import { serverNamed } from './server-named.ts'

const corpus = await openCorpus()

/** The cases that these ids name, as `--only` does; all without any. */
const itemsOf = (...only: readonly string[]): Item[] =>
  allItems(corpus).filter((item) => only.length === 0 || only.some((id) => answersTo(item, id)))

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

const hangingUp: ServerOptions = {
  around: (handle) => async (request) => {
    const answer = await handle(request)
    return answer.body.includes('"error"') ? { ...answer, hangUp: true } : answer
  },
}

const hourBehind: ServerOptions = { ...behindProxy(-3_600_000, 40), profile: { timeWindowMs: 2 * 3_600_000 } }
const lifetimes = ['expires-in', 'tokens', 'refresh/after-access-expiry']
const refusals = ['authorization', 'basic', 'signatures/hmac', 'grants/authorization-header']
const clocks = ['signatures/hmac', 'signatures/ecc', 'keys/public-key', 'expires-in', 'refresh/own-expiry', 'tokens']
const pairs = ['refresh/pair-differs', 'refresh/result', 'refresh/others-stand', 'refresh/revokes-access']
const races = ['refresh/race', 'refresh/new-pair', 'sessions/race', 'basic']

/** `or`: other verdicts that a case may have. */
const habits: [name: string, server: ServerOptions, only: string[], or?: string][] = [
  ['a proxy in front of it writes the Date header, two seconds ahead', behindProxy(2000), lifetimes],
  ['a proxy writes it, three hours behind', behindProxy(-3 * 3_600_000), clocks, 'not-testable'],
  ['a proxy writes it, ninety seconds ahead', behindProxy(90_000), ['signatures/hmac-accepted', ...lifetimes]],
  ['the clock of the proxy is set back by an hour during the run', hourBehind, clocks, 'not-testable'],
  ['it gives the same pair again to the same grant', repeatingGrants, pairs],
  ['it hangs up on every refusal', hangingUp, refusals],
  ['it takes twelve connections at once', { bounds: { connections: 12 } }, races, 'blocked'],
]

test.each(partUnlessProof(habits, 1))('%s', async (_name, server, only, or = 'passed') => {
  const outcomes = await runAll({ target: lastingServer(server), corpus, items: itemsOf(...only) })
  const isOdd = ({ verdict, problem }: CaseOutcome) => !['passed', or].includes(verdict) || problem?.kind === 'not-run'
  const odd = outcomes.filter(isOdd)
  expect(odd.map(({ key, verdict, problem }) => `${key}: ${verdict} (${problem?.kind})`)).toEqual([])
  expect(outcomes.filter(({ verdict }) => verdict === 'passed').length).toBeGreaterThan(outcomes.length / 2)
})

test('a server that loses races is judged in all that the races did not spoil', async () => {
  const broken = await serverNamed('two-processes-keep-what-a-lost-race-left')
  const items = itemsOf('test-keys', 'limits', 'sessions/race')
  const target = lastingServer({ ...broken, profile: { sessionUser: 'all-keys' } })
  const outcomes = await runAll({ target, corpus, items })
  const verdicts = (id: string) => outcomes.flatMap(({ requirements }) => requirements[id] ?? [])
  expect(new Set(verdicts('sessions/at-most-sixteen'))).toEqual(new Set(['failed']))
  expect(new Set(verdicts('limits/ten-keys'))).toEqual(new Set(['failed', 'blocked']))
  expect(outcomes.find(({ key }) => key === 'limits/api-keys')?.problem).toMatchObject({
    kind: 'wrong-count',
    makers: [{ keys: 3 }, { title: 'thirty creations at once' }],
  })
  const unspoilt = ['ten-can-be-made', 'eleventh-refused', 'earlier-keys-kept'].map((name) => `limits/${name}`)
  for (const id of ['sessions/next-works', ...unspoilt])
    expect([id, new Set(verdicts(id))]).toEqual([id, new Set(['passed'])])
})

test('a member that is wrong in one kind of result breaks its own sentence, and no other', async () => {
  const target = bundledTarget(await serverNamed('no-token-type-for-a-lifetime'))
  const items = itemsOf('grants/result-of-every-kind/a-lifetime')
  const [outcome] = await runAll({ target, corpus, items })
  const verdicts = { 'grants/result-token-type': 'failed', 'grants/result-access-token': 'blocked' }
  expect(outcome?.requirements).toMatchObject(verdicts)
})

test('of the keys that a server should not have created, none must list solutions', async () => {
  const ofKeys = ['apikey-scope-of-keys', 'created-keys-last', 'created'].map((name) => `keys/${name}`)
  const items = itemsOf(...ofKeys, 'scopes/apikey-within-key')
  const server: ServerOptions = {
    rules: {
      scopeBeyondKey: () => 'left-out',
      scopeNeeded: (method) => method !== 'manager/createApiKey',
      // Such a key gets no more than its creator has.
      storedKey: (key) => (key.name.startsWith('beyond') ? { ...key, scope: ['context'] } : key),
    },
  }
  const outcomes = await runAll({ target: lastingServer(server, { cleanup: undefined }), corpus, items })
  const verdictOf = (id: string) => outcomes.find(({ key }) => key === id)?.verdict
  expect(verdictOf('keys/apikey-scope-of-keys')).toBe('warned')
  expect(verdictOf('keys/created-keys-last')).toBe('passed')
})

test('a given token word that does not work is one failure, of tokens/authorize', async () => {
  const items = itemsOf('tokens', 'refresh/new-pair', 'basic')
  const target = lastingServer({ profile: { tokenPrefix: 'X-Access' } }, { tokenPrefix: 'Bearer' })
  const outcomes = await runAll({ target, corpus, items })
  const failed = outcomes.filter(({ verdict }) => verdict === 'failed' || verdict === 'warned')
  expect(failed.map(({ key }) => key)).toEqual(['tokens/accepted'])
  expect(outcomes.some(({ verdict, problem }) => verdict === 'blocked' && problem?.kind === 'no-token-word')).toBe(true)
})

const changesNothing = /^Cannot change this call: .*(stays as it is|changes nothing here|cannot be made here)$/
const undeclared =
  /cleanup in the target file|secondAddress in the target file|clientAddress in the target file|probes\.|solutions in the target file|fewer than [0-9]+ places|no place is left|^no earlier call was answered with anything for the list /

/** A token reaches inbox methods only if it may also manage every Context. */
function inboxInCompany(): NonNullable<ServerOptions['around']> {
  const scopes = new Map<string, string[]>()
  return (handle) => async (request) => {
    const text = String(request.body)
    const granted = scopes.get(request.headers.authorization?.split(' ')[1] ?? '')
    const lacksCompany = granted !== undefined && !granted.includes('solution:*')
    const answer = await handle(
      lacksCompany ? { ...request, body: Buffer.from(text.replace('inbox/', 'no/')) } : request,
    )
    const { result } = JSON.parse(answer.body)
    if (typeof result?.accessToken === 'string') scopes.set(result.accessToken, result.scope)
    return answer
  }
}

const inbox = { method: 'inbox/listInboxes', params: {}, scope: ['solution:*'] }

const ofInbox = { ...bundledSettings([]).probes, inbox }
const nothingDeclared = {
  probes: {},
  solutions: [],
  cleanup: undefined,
  secondAddress: undefined,
  clientAddress: undefined,
}
/** A server that signs another URI than /api. */
const signing = (uri: string): ServerOptions => ({
  rules: { dataToSign: (parts) => rules.dataToSign({ ...parts, uri }) },
})
const rootKeyOf = (id: string, secret: string): ServerOptions => ({ rootKey: { id, secret } })
const withCapitals: ServerOptions = { profile: { scheme: 'X-SVC' } }
const inCompany = { around: inboxInCompany() }
const scopes = ['scopes', 'test-keys']
const ofSignatures = ['signatures', 'test-keys']
const noHeader = /HTTP headers do not take their characters$/

/** Conforming servers whose users have unusual words, keys and settings: a case that cannot run has one of these reasons. */
type Asked = [target: typeof bundledTarget, server: ServerOptions, settings?: Partial<TargetSettings>, only?: string[]]
const unusual: [name: string, reasons: RegExp, ...Asked][] = [
  ['a probe of inbox that needs another scope too', undeclared, lastingServer, inCompany, { probes: ofInbox }, scopes],
  ['a scheme word in capitals', changesNothing, bundledTarget, withCapitals, { scheme: 'X-SVC' }, ofSignatures],
  ['a signed URI that is the root', changesNothing, bundledTarget, signing('/'), { signedUri: '/' }, ofSignatures],
  ['one without its leading slash', changesNothing, bundledTarget, signing('api'), { signedUri: 'api' }, ofSignatures],
  ['an id and a secret of one letter', changesNothing, bundledTarget, rootKeyOf('a', 'b')],
  ['a secret beyond ASCII', noHeader, lastingServer, rootKeyOf('root', 'пароль-鍵-00001')],
  ['a target that declares nothing', undeclared, lastingServer, {}, nothingDeclared],
  ['a target that can disable keys and not delete them', undeclared, lastingServer, {}, { cleanup: undefined }],
]

test.each(unusual.map((one, at) => [at, ...one] as const))(
  '%s: %s',
  async (at, _name, reasons, target, server, settings = {}, only = []) => {
    // Outside of a proof each target gets another part of the cases.
    const items = turnUnlessProof(itemsOf(...only), 36, at)
    const outcomes = await runAll({ target: target(server, settings), corpus, items })
    const open = outcomes.filter(({ verdict }) => verdict !== 'passed')
    const wrong = open.filter(({ verdict }) => verdict !== 'not-testable')
    expect(wrong.map(({ key, verdict, problem }) => `${verdict} ${key}: ${problemText(problem)}`)).toEqual([])
    expect(open.map(({ problem }) => problemText(problem)).filter((message) => !reasons.test(message))).toEqual([])
    expect(open.length).toBeLessThan(outcomes.length / 4)
  },
)

/** With any value in a result, a case ends with a verdict: an exception would be a defect of the suite. */
const deep = JSON.parse(`${'['.repeat(100)}${']'.repeat(100)}`) as unknown
const strange: readonly [string, unknown][] = [
  ['null', null],
  ['a number', 7],
  ['a list', [1, 'two', null]],
  ['a list of lists of lists', deep],
  ['characters that no header takes', 'line\r\nfeed \u0000 鍵 🔑'],
  ['a reference', '$root.secret'],
  ['a time too far away', 1e300],
]

/** A server that accepts the root key, and grants and creates everything that is requested. */
const granting =
  (result: unknown): Answering =>
  ({ method, authorization = '' }) => {
    if (method !== 'solution/listSolutions') return { result }
    return authorization.length > 6 && !authorization.includes('junk') ? accepting() : { status: 401 }
  }
const tokens = ['accessToken', 'accessTokenExpiry', 'refreshToken', 'refreshTokenExpiry', 'tokenType', 'scope']
const everyMember = (value: unknown): object =>
  Object.fromEntries(['id', 'secret', ...tokens].map((name) => [name, value]))

// Outside of a proof each value gets another part of the cases.
test.each(
  strange.flatMap(([what, value], at) => [
    { what: `results that are ${what}`, result: value, at },
    { what: `members that are ${what}`, result: everyMember(value), at },
  ]),
)('$what', async ({ result, at }) => {
  const items = turnUnlessProof(itemsOf(), 28, at)
  const outcomes = await runAll({ target: madeUpTarget({ answer: granting(result) }), corpus, items })
  expect(outcomes.some(({ verdict }) => verdict === 'failed')).toBe(true)
})
