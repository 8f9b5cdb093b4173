/** What each check says of a journal that was made by hand; signatures have a test of their own. */
import { expect, test } from 'vitest'
import {
  call,
  type Entry,
  elsewhere,
  grant,
  journal,
  judged,
  key,
  refresh,
  refused,
  signed,
  start,
  startAt,
} from '../../self/made-up-journal.ts'
import type { Start } from '../journal.ts'
import { checks } from '../judge.ts'
import { callChecks } from './calls.ts'
import { grantChecks } from './grants.ts'
import { refreshChecks } from './refresh.ts'
import { signatureChecks } from './signatures.ts'

/** `passed`, `not exercised`, or a part of the first finding; and what the client did. */
type Row = [
  says: string,
  entries: Entry[],
  ...rest: Parameters<typeof journal> extends [unknown, ...infer R] ? R : never,
]

const pass = 'passed'
const none = 'not exercised'
const times = <T>(count: number, make: (index: number) => T): T[] => Array.from({ length: count }, (_, at) => make(at))
const workers = { parallel: 4 }
const two = { parallel: 2 }
const hmac = { auth: 'hmac' } as const
const first = grant(0, 'a')
const method = 'manager/createApiKey'

const right = { jsonrpc: '2.0', id: 1, method: 'solution/listSolutions', params: {} }
const body = (says: string, value: unknown): Row => [
  says,
  [{ at: 0, body: typeof value === 'string' ? value : JSON.stringify(value) }],
]
const one = (says: string, entry: Partial<Entry>): Row => [says, [{ at: 0, ...entry }]]
const params = (says: string, value: object): Row => one(says, { method: 'manager/auth', params: value })
const rightParams = { grantType: 'api_key_credentials', scope: [], apiKeyId: 'a', apiKeySecret: 'b' }
const keys = [{ kind: 'public', id: 'key-1', publicKey: new Uint8Array(32) }] as const
const basic = `Basic ${Buffer.from('key-1:x').toString('base64')}`

const paramsWithScope = { grantType: 'refresh_token', refreshToken: 'refresh-token-a', scope: null }
const withScope = [first, refresh(9, 'a', 'b', { params: paramsWithScope })]
const withBasic = grant(0, 'a', { authorization: 'Basic eDp5' })
const inUrl = `/api?secret=${encodeURIComponent(key.secret)}`

const renewed = [first, call(10, 'a'), refresh(1100, 'a', 'b')]
const expired = [first, call(1100, 'a', refused)]
const grants = (count: number) => times(count, (at) => grant(at * 10, `p${at}`))
const throttledGrant = grant(0, 'x', { status: 429, error: 0, answerHeaders: { 'retry-after': '1' } })
const late = [first, call(500, 'a', { ...refused, took: 1000 }), refresh(1100, 'a', 'b')]
const tooLate = [first, call(500, 'a', { ...refused, took: 2000 }), refresh(1100, 'a', 'b')]
const race = [first, refresh(1100, 'a', 'b', { took: 50 }), refresh(1110, 'a', null, { took: 60 })]
const refreshed = [first, refresh(1100, 'a', 'b', { took: 100 })]
const lost = [first, refresh(1100, 'a', 'b', { lost: true })]
const refusal = [first, refresh(1100, 'a', null)]
/** Calls that are refused for good, with a refresh after each. */
const loop = (count: number, fromMs = 0) =>
  [...'abcdefg']
    .slice(0, count)
    .flatMap((name, at, names) => [
      call(fromMs + at * 100 + 10, name, { ...refused, faults: ['refuse'] }),
      refresh(fromMs + at * 100 + 20, name, names[at + 1] ?? String.fromCharCode(name.charCodeAt(0) + 1)),
    ])

const scope = ['solution', 'expiresIn:60000', 'ipAddr:127.0.0.1', 'session:s']
const asking = (requested: string[]) => [grant(0, 'a', { scope: requested })]
const asked = (says: string, requested: string[], scoped = scope): Row => [says, asking(requested), { scope: scoped }]
const tooLong = grant(0, 'a', { scope: ['expiresIn:9999999999999'], error: 24878, stage: 'scope/expires-in' })
const narrow = grant(0, 'a', { granted: [], faults: ['narrow-grant'] })
const tries = (count: number) => times(count, (at) => call(at + 10, 'a', { error: 24878, stage: 'scope/area' }))
const short = grant(0, 'a', { lifeMs: 100, faults: ['shorten-lifetime'] })
const tooOld = (count: number) => times(count, (at) => call(at * 10 + 200, 'a', refused))
const starts = [start(), startAt(1000)]
const twice = (says: string, before: Entry[], after: Entry[]): Row => [says, [...before, ...after], {}, { starts }]
const creation = (at: number): Entry => ({ at, method, params: {}, result: { id: 'k', secret: 's' } })

const wait = { status: 429, error: 0, answerHeaders: { 'retry-after': '1' } }
/** RFC 9110 §10.2.3: a date says the same. */
const date = { ...wait, answerHeaders: { 'retry-after': 'Thu, 01 Jan 2026 00:00:02 GMT' } }
const throttled = [first, call(10, 'a', wait)]
const faulted = (fault: string) => [first, refresh(1100, 'a', 'b', { faults: [fault] })]
const refusedWith = (status: number) => [first, refresh(1100, 'a', null, { ...wait, status })]
const unanswered = signed(0, 'n1', { lost: true })
const sameAgain = { ...unanswered, at: 100, lost: false }
const newKey = (at: number, isLost: boolean) => signed(at, `n${at}`, { method, params: { name: 'k' }, lost: isLost })
const oneKey = { ...hmac, method, calls: 1 }
const skewed = { ...hmac, clockOffsetMs: 1_200_000 }
const stage = 'signature/timestamp'
const wrongClock = (at: number) => signed(at, `n${at}`, { error: 24879, stage })
const header = (text: string): string => text.replace(/;1;(\d{10})\d{3};/, ';1;$1;')

const target = (says: string, to: string): Row => [says, [first, call(9, 'a', { target: to })]]
const redirected = [first, call(9, 'a', { status: 307, faults: ['redirect'] })]
const followed = (says: string, entry: Entry): Row => [says, redirected, {}, elsewhere([entry])]
const foreign = call(9, 'a', { faults: ['wrong-id'] })
const malformed = [first, call(9, 'a', { faults: ['malformed'] })]
const ended = (says: string, ok: number, error: number, ending: Start['ended'] = { kind: 'exit', code: 0 }): Row => [
  says,
  malformed,
  {},
  { starts: [start({ ok, error, ended: ending })] },
]

const rows: { [check: string]: Row[] } = {
  'request/post-json': [
    one(pass, {}),
    one(pass, { contentType: 'Application/JSON; charset=utf-8' }),
    [none, []],
    one(none, { httpMethod: 'OPTIONS' }),
    // Neither a call nor a mistake: the client checks whether the server is up, or reads its Date.
    one(none, { httpMethod: 'HEAD', target: '/', body: '' }),
    one(none, { httpMethod: 'GET', body: '' }),
    one('method is GET', { httpMethod: 'GET', body: '', authorization: 'Basic eDp5' }),
    one('method is GET', { httpMethod: 'GET', body: '', target: '/api?method=a/b' }),
    one('method is GET', { httpMethod: 'GET' }),
    one('goes to "/api/"', { target: '/api/' }),
    one('goes to "/api?a=1"', { target: '/api?a=1' }),
    one('Send application/json', { contentType: 'text/json' }),
    one('The body is not JSON', { body: '{' }),
  ],
  'request/envelope': [
    body(pass, right),
    body(pass, ' { "params" : { } , "method":"a/b", "id": -3, "jsonrpc":"2.0", "more": 1 } '),
    body(pass, JSON.stringify(right).replace('1', '1.0')),
    body(none, '{'),
    body('jsonrpc is 2', { ...right, jsonrpc: 2 }),
    body('method is "listSolutions"', { ...right, method: 'listSolutions' }),
  ],
  'keys/public-key-signs-only': [
    ['Basic', [{ at: 0, authorization: basic }], { auth: 'ecc' }, { keys }],
    ['A token is requested', [first], {}, { keys }],
    [none, [{ at: 0, authorization: basic }, grant(9, 'a')]],
  ],
  'grants/no-authorization': [[pass, [first]], one(none, {}), ['Leave it out', [withBasic]]],
  'grants/params': [
    params(pass, rightParams),
    params(pass, { ...rightParams, more: 1 }),
    params(pass, { grantType: 'refresh_token', refreshToken: 'x' }),
    params('apiKeyId', { ...rightParams, apiKeyId: 7 }),
    params('refreshToken', { grantType: 'refresh_token' }),
  ],
  'refresh/no-scope': [
    [pass, renewed],
    [none, [first]],
    ['sends "scope"', withScope],
  ],
  'refresh/old-pair-gone': [
    [pass, [...renewed, call(1200, 'b')]],
    [none, renewed],
    ['The refresh token of a pair', [...renewed, refresh(1200, 'a', null)]],
    // It was under way.
    [pass, [...renewed, call(1300, 'a', refused), call(1600, 'b')], workers],
    ['The access token', [...renewed, call(1400, 'a', refused), call(1600, 'b')], workers],
    [pass, [...renewed, call(1400, 'a', refused), call(1600, 'b')], { ...workers, lagMs: 200 }],
    // The new pair was never delivered.
    [none, [...lost, refresh(1200, 'a', null)]],
    [none, [first, refresh(1100, 'a', 'b', { faults: ['malformed'] }), refresh(1200, 'a', null)]],
  ],
  'refresh/newest-used': [
    [pass, [...renewed, call(1200, 'b')]],
    [none, renewed],
    ['still send an older access token', [...renewed, call(1200, 'a', refused)]],
    ['that was replaced', [...renewed, call(1200, 'b'), refresh(2300, 'a', null)]],
    [pass, [...renewed, refresh(2300, 'b', 'c'), call(2400, 'c')]],
    [pass, [...renewed, grant(1200, 'x'), call(1300, 'x'), call(1400, 'b')]],
  ],
  'refresh/not-a-new-grant': [
    [pass, [...expired, refresh(1110, 'a', 'b')]],
    [none, [first, call(10, 'a')]],
    ['instead of a refresh', [...expired, grant(1110, 'b')]],
    // The refresh was tried, and refused or lost, so only a grant is left.
    [pass, [...expired, refresh(1110, 'a', null), grant(1120, 'b')]],
    [pass, [...expired, refresh(1110, 'a', 'b', { lost: true }), grant(1120, 'c')]],
    // The first two grants, and one at each start, do no harm.
    [none, grants(2)],
    ['grant 3 of one start', grants(3)],
    [none, grants(3), {}, { starts: [start(), startAt(5), startAt(15)] }],
    [none, grants(5), {}, { starts: null }],
    [none, [throttledGrant, ...grants(2)]],
    // Each of them follows a refresh that did not work.
    [pass, [...refusal, grant(1110, 'b'), refresh(2300, 'b', null), grant(2310, 'c')]],
  ],
  'refresh/late-loser-keeps-the-newer-pair': [
    [pass, [...late, call(1600, 'b')], two],
    ['a new grant is requested', [...late, grant(1600, 'c')], two],
    [pass, [...late, refresh(1600, 'b', 'c')], two],
    // What happened to the newer pair later does not matter.
    ['a new grant is requested', [...late, grant(1600, 'c'), call(1700, 'b'), refresh(2200, 'b', 'd')], two],
    // The newer pair had expired when the refusal came, or in the meantime.
    [none, [...tooLate, grant(2600, 'c')], two],
    [pass, [...late, grant(2600, 'c')], two],
    [none, [first, call(1050, 'a', refused), refresh(1100, 'a', 'b')], two],
    ['a new grant is requested', [...race, grant(1200, 'c')], two],
    [pass, [...race, call(1200, 'b')], two],
  ],
  'refresh/no-expired-token-sent': [
    [pass, [...expired, refresh(1110, 'a', 'b'), call(1120, 'b')]],
    [none, [first, call(10, 'a')]],
    ['sent again after it was refused', [...expired, call(1200, 'a', refused)]],
    [pass, [...expired, call(1200, 'a', refused)], workers],
    ['sent again', [...expired, call(1400, 'a', refused)], workers],
    // Refused for a reason other than its age.
    [none, [grant(0, 'a', { lifeMs: 5000 }), call(10, 'a', refused), call(20, 'a', refused)]],
  ],
  'refresh/single-flight': [
    [pass, [...refreshed, call(1210, 'b')], workers],
    [none, refreshed],
    ['under way at once', [...refreshed, refresh(1150, 'a', null)], workers],
    ['again 100 ms after its refresh was answered', [...refreshed, refresh(1300, 'a', null)], workers],
    ['before its first call', [...refreshed, refresh(1210, 'b', 'c')], workers],
    [pass, [...refreshed, call(1210, 'b'), refresh(1220, 'b', 'c')], workers],
    // A timer that overflows fires at once: one finding, not one for each refresh.
    [
      '20 refreshes before the first call of their pairs, more often than once in 3 ms',
      [first, ...times(21, (at) => refresh(100 + at * 2, at === 0 ? 'a' : `p${at}`, `p${at + 1}`, { took: 1 }))],
    ],
    // An idle client may refresh ahead of the expiry.
    [pass, [...refreshed, refresh(2000, 'b', 'c')], workers],
    // Repeated after a lost answer, and not immediately.
    [pass, [first, refresh(1100, 'a', 'b', { lost: true, took: 20 }), refresh(1130, 'a', null)], workers],
  ],
  'refresh/lost-answer': [
    [pass, [...lost, grant(1200, 'c')]],
    [pass, [...lost, refresh(1200, 'a', null), grant(1300, 'c')]],
    ['2 times', [...lost, refresh(1200, 'a', null), refresh(1300, 'a', null)]],
    ['no grant follows', [...lost, call(1200, 'a', refused)]],
    // The client may give up its last call; if more calls follow, it must recover.
    [pass, lost, { calls: 1 }],
    ['no grant follows', lost],
    [none, [first, refresh(1100, 'a', 'b')]],
    ['no grant follows', [...faulted('wrong-id'), call(1200, 'a', refused)]],
    ['no grant follows', [...faulted('malformed'), call(1200, 'a', refused)]],
    [none, [...refusedWith(429), refresh(2200, 'a', 'b')]],
    [none, [...refusedWith(503), refresh(2200, 'a', 'b')]],
  ],
  'refresh/no-loop-after-refusal': [
    [pass, [...refusal, grant(1200, 'b')]],
    [pass, [...refusal, refresh(1200, 'a', null), grant(1300, 'b')]],
    ['2 more times', [...refusal, refresh(1200, 'a', null), refresh(1300, 'a', null)]],
    [none, [first, call(10, 'a')]],
    // Four refreshes without an accepted call are let pass.
    [pass, [first, ...loop(4)]],
    ['refresh 5 without an accepted call', [first, ...loop(5)]],
    [pass, [first, ...loop(3), call(350, 'd'), ...loop(2, 400)]],
  ],
  'scopes/lifetime': [
    asked(pass, [...scope].reverse()),
    asked(none, ['solution'], ['solution']),
    asked('"expiresIn:60000"', ['solution']),
    ['longer than that of the refresh token', [tooLong], { scope: [] }],
  ],
  'scopes/address-and-session': [
    asked(pass, scope),
    asked(none, ['solution', 'session:mine'], ['solution']),
    asked('"session:s"', ['ipAddr:127.0.0.1', 'session:S']),
  ],
  'scopes/least': [
    asked(pass, scope),
    asked(pass, ['Solution', 'session:mine'], ['solution']),
    asked('"solution:7"', ['solution', 'solution:7'], ['solution']),
    one(none, {}),
  ],
  'scopes/granted-is-read': [
    [pass, [narrow, ...tries(2)]],
    ['3 calls are refused for their scope', [narrow, ...tries(3)]],
    [none, [first, call(9, 'a')]],
    [pass, [short, ...tooOld(1), refresh(300, 'a', 'b')]],
    [pass, [short, ...tooOld(2), refresh(300, 'a', 'b')]],
    ['3 times after its expiry', [short, ...tooOld(3)]],
    [none, [short, call(9, 'a')]],
  ],
  'limits/keys-and-sessions-reused': [
    twice(pass, [first], [grant(1100, 'b')]),
    twice(pass, [grant(0, 'a', { scope: ['session:1'] })], [grant(1100, 'b', { scope: ['session:1'] })]),
    twice('"session:2"', [grant(0, 'a', { scope: ['session:1'] })], [grant(1100, 'b', { scope: ['session:2'] })]),
    [none, [first]],
    twice('creates an API key', [creation(0)], [creation(1100)]),
    twice(pass, [creation(0)], [{ at: 1100 }]),
  ],
  'retry/after-is-kept': [
    [pass, [...throttled, call(1020, 'a')]],
    [pass, [...throttled, call(996, 'a')]],
    [pass, throttled],
    ['came after 975 ms', [...throttled, call(990, 'a')]],
    [none, [...throttled, call(20, 'a')], two],
    [none, [first]],
    [pass, [first, call(10, 'a', date), call(1990, 'a')]],
    ['after 1885 ms', [first, call(10, 'a', date), call(1900, 'a')]],
    ['Retry-After names 1000 ms', [grant(0, 'a', { ...wait, status: 503 }), grant(500, 'a')]],
  ],
  'retry/signed-anew': [
    [pass, [unanswered, signed(100, 'n2')], hmac],
    ['with its old signature', [unanswered, sameAgain], hmac],
    ['or nonce', [unanswered, signed(100, 'n1')], hmac],
    [pass, [unanswered, signed(50, 'n2'), signed(60, 'n2')], hmac],
    [none, [signed(0, 'n1'), signed(9, 'n2')], hmac],
  ],
  'nonce/unique': [
    [pass, [signed(0, 'n1'), signed(9, 'n2')], hmac],
    ['the same nonce', [signed(0, 'n1'), signed(9, 'n1')], hmac],
    [pass, [unanswered, sameAgain, signed(200, 'n2')], hmac],
    [none, [unanswered], hmac],
  ],
  'retry/create-key-not-repeated': [
    [pass, [newKey(0, true)], oneKey],
    ['sent again', [newKey(0, true), newKey(9, false)], oneKey],
    [none, [newKey(0, false)], oneKey],
    [none, [newKey(0, true), newKey(9, false)], hmac],
  ],
  'clock/skew-survived': [
    [pass, [wrongClock(0), signed(9, 'n')], skewed],
    ['2 calls are refused', [wrongClock(0), wrongClock(9), signed(20, 'n')], skewed],
    ['no further call is made', [wrongClock(0)], skewed],
    [none, [wrongClock(0)], { ...skewed, calls: 1 }],
    [none, [0, 9, 20].map((at) => signed(at, `n${at}`, { error: 24879, stage, header })), hmac],
    [none, [signed(9, 'n')], hmac],
  ],
  'secrets/not-in-url': [target(pass, '/api'), target('The URL contains', inUrl), one(none, {})],
  'secrets/not-after-redirect': [
    [pass, redirected],
    [none, [first]],
    followed(pass, { at: 20, httpMethod: 'GET' }),
    followed('A header with a secret', { at: 20, headers: [['Cookie', 't=access-token-a']] }),
  ],
  'secrets/refresh-token-only-to-auth': [
    [pass, [first, refresh(1100, 'a', 'b')]],
    one(none, {}),
    ['sent with a call', [first, call(9, 'a', { headers: [['X-Refresh', 'refresh-token-a']] })]],
  ],
  'answers/error-in-200': [
    [pass, [first, call(9, 'a', { ...refused, faults: ['refuse'] })]],
    [none, [first]],
  ],
  'answers/foreign-id-rejected': [
    [pass, [first, foreign]],
    ['from an answer with another id', [grant(0, 'a', { faults: ['wrong-id'] }), call(9, 'a')]],
  ],
  'answers/malformed-survived': [
    [none, [first, foreign]],
    ended('makes no further call', 2, 2),
    [pass, [...malformed, call(20, 'a')], {}, { starts: [start({ ok: 2, error: 2 })] }],
    ended('ended with exit code 1', 1, 0, { kind: 'exit', code: 1 }),
    ended('reported only 1 of its 4 calls', 1, 0),
    ended('ended by SIGABRT', 0, 0, { kind: 'signal', signal: 'SIGABRT' }),
  ],
}

test('every check has rows here, or in the test of signatures', () => {
  const all = [...callChecks, ...grantChecks, ...refreshChecks, ...signatureChecks].map(({ id }) => id)
  expect(all.filter((id) => !id.startsWith('signature/')).toSorted()).toEqual(Object.keys(rows).toSorted())
  // One whose area is in no order of the report would be left out of it.
  expect(checks.map(({ id }) => id).toSorted()).toEqual(all.toSorted())
})

test.each(Object.entries(rows))('%s', (check, ofCheck) => {
  for (const [index, [says, entries, ...rest]] of ofCheck.entries())
    expect(judged(check, journal(entries, ...rest)), `row ${index + 1}`).toContain(says)
})
