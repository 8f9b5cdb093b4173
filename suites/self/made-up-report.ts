/** Made-up input for the tests of the reports, and for the picture in the README. */
import type { AnswerSummary, CaseOutcome, Problem, ProblemFacts } from '../engine/judge/problem.ts'
import type { Corpus, Need, Requirement } from '../engine/language/fixture-types.ts'
import { buildReport } from '../report/build.ts'
import type { Meta, Report } from '../report/report.ts'

export const madeUpMeta: Meta = {
  version: '0.1.0',
  target: 'http://127.0.0.1:9111',
  started: '2026-01-02T03:04:05.000Z',
  durationMs: 1234,
  seed: '42',
  node: 'v20.19.0',
  set: 'current',
  again: 'npx svc-conformance run --url http://127.0.0.1:9111',
  allow: ['sessions'],
  absent: [],
  clock: null,
  shard: null,
  stopped: null,
}

type PlaceOfProblem = Pick<Problem, 'requirements' | 'step' | 'exchanges' | 'inPreparation' | 'hint' | 'where'>

/** A problem at a call of solution/listSolutions, without its bytes. */
export const problemOf = (facts: ProblemFacts, more: Partial<PlaceOfProblem> = {}): Problem => ({
  ...facts,
  requirements: [],
  step: 'solution/listSolutions',
  exchanges: [],
  ...more,
})

/** A case with defaults for everything that is not given; its requirements have its verdict. */
export const madeUpCase = (testCase: Partial<CaseOutcome> & { key: string }): CaseOutcome => {
  const verdict = testCase.verdict ?? 'passed'
  const proves = testCase.proves ?? []
  return {
    id: testCase.key,
    case: null,
    title: `The claim of ${testCase.key}`,
    verdict,
    proves,
    requirements: Object.fromEntries(proves.map((id) => [id, verdict])),
    sides: {},
    problem:
      verdict === 'passed'
        ? null
        : problemOf({ kind: 'as-declared', reason: `${testCase.key} is ${verdict}` }, { requirements: proves }),
    observations: [],
    envelope: [],
    envelopeAnswers: 1,
    calls: 1,
    durationMs: 1,
    ...testCase,
  }
}

export const madeUpCorpus = (made: {
  requirements: Requirement[]
  scenarios: [id: string, proves: string[], needs?: Need[]][]
  questions?: string[]
}): Corpus => ({
  requirements: made.requirements,
  questions: (made.questions ?? []).map((id) => ({
    id,
    part: '1',
    question: `Question ${id}?`,
    readings: ['refused', 'accepted'],
    reference: 'refused',
  })),
  testKeys: [],
  schemas: {},
  scenarios: made.scenarios.map(([id, proves, needs]) => ({
    id,
    file: `fixtures/scenarios/${id}.yaml`,
    title: `The claim of ${id}`,
    proves,
    needs: needs ?? [],
    cases: [{ name: null, slug: null, values: {} }],
    given: [],
    steps: [],
  })),
})

/** A report with something of everything, for the tests of the formats. */

const must = (id: string, text: string): Requirement => ({ id, level: 'must', kind: 'shape', part: '5.1', text })

/** What a server might send to break a report: mark-up, quotes, control characters, half a surrogate pair. */
export const hostile = `<script>alert("1")</script> & 'a' \`b\` |c| ]]> \u0000\u001b[31m \ud800 ${'x'.repeat(3000)}`

const exchange = {
  request: [
    'POST /api',
    'authorization: svc-hmac-sha256 b047…;1;1795154904754;tCLqKvRgaK/NpT0f;tS4e…',
    '{"jsonrpc":"2.0","id":2,"method":"solution/listSolutions","params":{}}',
  ],
  answer: ['HTTP 200', '{"jsonrpc":"2.0","id":2,"error":{"code":24879,"message":"Unauthorized"}}'],
}

const outcomes: CaseOutcome[] = [
  madeUpCase({ key: 'signatures/accepted', title: 'A request signed right is accepted', proves: ['signatures/hmac'] }),
  madeUpCase({
    key: 'signatures/hmac-accepted/all-in-one-line',
    id: 'signatures/hmac-accepted',
    case: 'all in one line',
    title: 'A request signed with HMAC is accepted',
    verdict: 'failed',
    proves: ['signatures/hmac'],
    problem: {
      requirements: ['signatures/hmac'],
      step: 'solution/listSolutions',
      kind: 'wrong-outcome',
      expected: 'accepted',
      got: { outcome: 'refused', status: 200 },
      where: 'fixtures/scenarios/signatures/hmac-accepted.yaml:9:5',
      hint: { kind: 'server-mistake', mistake: 'signature/untruncated' },
      exchanges: [exchange],
    },
    observations: [{ question: 'envelope/error-id', answer: 'the id of the request' }],
  }),
  madeUpCase({ key: 'basic/hostile', title: hostile, verdict: 'failed', proves: ['basic/credentials'] }),
  ...['one', 'two', 'three'].map((name) => ({
    ...madeUpCase({ key: `tokens/${name}`, verdict: 'blocked', proves: ['tokens/authorize'] }),
    problem: {
      kind: 'as-declared' as const,
      reason: 'The control was refused',
      requirements: [],
      step: 'manager/auth',
      exchanges: [{ ...exchange, answer: ['HTTP 403', 'no␍␊', 'way'] }],
    },
  })),
  madeUpCase({ key: 'keys/warned', verdict: 'warned', proves: ['keys/public-key-material'] }),
  madeUpCase({ key: 'keys/known', verdict: 'failed', proves: ['keys/unique-ids'] }),
  {
    ...madeUpCase({ key: 'addresses/bound', verdict: 'not-testable', proves: ['addresses/bound'] }),
    problem: problemOf(
      { kind: 'as-declared', reason: 'Needs a second address: name one as secondAddress in the target file' },
      { step: 'addresses/bound' },
    ),
  },
]

const requirements: Requirement[] = [
  must('signatures/hmac', 'The signature is BASE64 of the first 20 bytes of HMAC-SHA256(secret, dataToSign)'),
  must('basic/credentials', 'Authorization: Basic BASE64(<api_key_id>:<api_key_secret>) authorizes a call'),
  must('tokens/authorize', 'An access token in the Authorization header authorizes a call'),
  { ...must('keys/public-key-material', 'publicKey is an ED25519 public key in PEM form'), level: 'implied' },
  must('keys/unique-ids', 'Key ids are unique'),
  must('addresses/bound', 'A token of scope ipAddr:ADDR works from ADDR and from no other'),
  { ...must('keys/scope-fixed', "A key's scope is fixed"), untestable: { reason: 'No method would change a key' } },
]

/** What the model found in the report, and any report with another requirement may have found. */
export const madeUpFinding = {
  id: 'found/tokens/authorize/pair-is-current',
  case: 'table/token/token',
  requirement: 'tokens/authorize',
  level: 'must' as const,
  message: 'An access token was accepted after the refresh that ended it',
  steps: [
    'connection 1: root grants a token: accepted',
    'connection 1: root refreshes it: accepted',
    'connection 2: the old access token: accepted, and had to be refused',
  ],
  reproduced: { failed: 3, tries: 3 },
  since: {
    from: 'The same call was refused before',
    calls: ['A grant to root for the scope "<b>" as pair2: accepted', '2 other calls with root'],
  },
  fixture: 'title: An old access token is dead after its refresh\nsteps:\n  - grant: root\n    keep: pair\n',
  exchanges: [exchange],
  history: [
    { connection: '1', startMs: 0, endMs: 4.2, call: 'manager/auth refresh', answer: 'accepted' },
    { connection: '2', startMs: 5, endMs: 6, call: 'solution/listSolutions', answer: 'accepted' },
  ],
}

export function madeUpReport(change: { strict?: boolean } = {}): Report {
  return buildReport({
    meta: { ...madeUpMeta, clock: { offsetMs: 300_000, sentence: "Your server's clock is 5 min ahead" } },
    outcomes,
    corpus: madeUpCorpus({
      requirements,
      scenarios: outcomes.map((outcome) => [outcome.key, outcome.proves]),
      questions: ['envelope/error-id'],
    }),
    findings: [madeUpFinding],
    known: [
      { scenario: 'keys/known', reason: 'Ids come from a counter', issue: 'https://tracker.example/7' },
      { scenario: 'signatures/accepted', reason: 'It failed once', issue: null },
    ],
    left: ['2 API keys that the run could not remove: b047…, 77aa…'],
    plan: {
      cases: 9,
      total: 10,
      notSelected: 0,
      seconds: 3,
      calls: 40,
      refusals: 12,
      perhapsRefused: 3,
      creates: ['5 API keys'],
      cannot: [],
    },
    options: { strict: change.strict ?? false, partial: null },
  })
}

/** The report of a run of nothing but these outcomes. @param more what differs, such as a corpus */
export const madeUpRun = (
  outcomes: readonly CaseOutcome[],
  more: Partial<Parameters<typeof buildReport>[0]> = {},
): Report =>
  buildReport({
    meta: madeUpMeta,
    outcomes,
    corpus: madeUpCorpus({ requirements: [], scenarios: [] }),
    known: [],
    options: { strict: false, partial: null },
    ...more,
  })

/** The same report of a server that was mended: signatures/hmac holds. */
export const mended = (report: Report): Report => ({
  ...report,
  requirements: report.requirements.map((one) =>
    one.id === 'signatures/hmac' ? { ...one, verdict: 'passed' as const } : one,
  ),
  cases: report.cases.map((one) =>
    one.id === 'signatures/hmac-accepted' ? { ...one, verdict: 'passed' as const, problem: null } : one,
  ),
})

const refused: AnswerSummary = { outcome: 'refused', status: 200, code: 7 }
const broken: AnswerSummary = { outcome: 'broken', reason: 'HTTP 500' }
const address = '127.0.0.2'

/** One problem of every kind; the compiler asks for those that are missing. */
export const madeUpProblems: { readonly [kind in ProblemFacts['kind']]: Extract<ProblemFacts, { kind: kind }> } = {
  'wrong-outcome': { kind: 'wrong-outcome', expected: 'refused', got: { outcome: 'accepted' } },
  'wrong-value': {
    kind: 'wrong-value',
    path: 'result.id',
    mismatch: { rule: 'equals', wanted: '"a"', got: '"b"' },
  },
  'wrong-count': { kind: 'wrong-count', side: 'accepted', wanted: 'at-most 16', calls: 17, counted: 17 },
  'token-unsendable': { kind: 'token-unsendable' },
  'wrong-jsonrpc': { kind: 'wrong-jsonrpc', got: '"1.0"' },
  'wrong-id': { kind: 'wrong-id', sent: '1', got: '2' },
  'wrong-result-type': { kind: 'wrong-result-type', method: 'manager/auth', got: '[]' },
  'call-not-answered': { kind: 'call-not-answered', calls: 3, got: broken },
  'envelope-of-answers': {
    kind: 'envelope-of-answers',
    departures: [{ kind: 'wrong-jsonrpc', got: '"1.0"' }],
    more: 2,
    count: 3,
    answers: 9,
  },
  'creation-result': { kind: 'creation-result', lacks: 'secret' },
  'effect-shown': { kind: 'effect-shown', effect: 'key', got: broken },
  'not-run': { kind: 'not-run', because: { kind: 'time' } },
  throttled: { kind: 'throttled', status: 429 },
  unread: { kind: 'unread', limitBytes: 1000 },
  'control-after-broken': { kind: 'control-after-broken', got: broken, control: refused },
  'effect-unknown': { kind: 'effect-unknown', effect: 'token', got: broken },
  'calls-dropped': { kind: 'calls-dropped', calls: 16, dropped: 2 },
  'clock-jumped': { kind: 'clock-jumped' },
  'too-late': { kind: 'too-late' },
  'junk-accepted': { kind: 'junk-accepted', method: 'manager/auth' },
  'open-to-all': { kind: 'open-to-all', method: 'manager/auth' },
  'value-missing': { kind: 'value-missing', reference: '$pair.accessToken' },
  'value-unusable': { kind: 'value-unusable', wanted: 'token', got: '7' },
  'expiry-not-a-timestamp': { kind: 'expiry-not-a-timestamp', digits: 10 },
  'not-a-time': { kind: 'not-a-time', got: '"soon"' },
  'not-a-duration': { kind: 'not-a-duration', got: 'a while' },
  'test-key-missing': {
    kind: 'test-key-missing',
    testKey: 'bob',
    tried: [{ way: 'basic', outcome: 'no-scope' }],
    fresh: false,
  },
  'not-a-test-key': { kind: 'not-a-test-key', testKey: 'bo' },
  'no-token': { kind: 'no-token', testKey: 'bob' },
  'no-token-word': { kind: 'no-token-word', because: { kind: 'not-found' } },
  'no-way-to-create': { kind: 'no-way-to-create' },
  'root-has-public-key': { kind: 'root-has-public-key' },
  'no-successful-answer': { kind: 'no-successful-answer' },
  'key-locked': { kind: 'key-locked', key: 'erin', refused: 8 },
  'no-room-for-sessions': { kind: 'no-room-for-sessions' },
  'limit-spoilt': { kind: 'limit-spoilt', what: 'keys', by: 'keys/at-most-ten' },
  'needs-permission': { kind: 'needs-permission', permission: 'keys' },
  'needs-fresh-instance': { kind: 'needs-fresh-instance' },
  'needs-second-address': { kind: 'needs-second-address', because: { kind: 'same-address', address } },
  'needs-client-address': { kind: 'needs-client-address' },
  'needs-clock-control': { kind: 'needs-clock-control' },
  'needs-cleanup': { kind: 'needs-cleanup' },
  'needs-solutions': { kind: 'needs-solutions' },
  'needs-probe': { kind: 'needs-probe', probe: 'inbox' },
  'area-absent': { kind: 'area-absent', area: 'inbox' },
  'few-places-for-keys': { kind: 'few-places-for-keys', places: 2 },
  'no-place-for-keys': { kind: 'no-place-for-keys', fresh: true, created: 8 },
  'places-perhaps-used': { kind: 'places-perhaps-used', count: 2 },
  'left-out': { kind: 'left-out', reason: 'a known outage' },
  'as-declared': { kind: 'as-declared', reason: 'the server may refuse this' },
  'empty-list': { kind: 'empty-list', list: '$created' },
  'clock-unknown': { kind: 'clock-unknown' },
  'wait-too-long': { kind: 'wait-too-long', waitMs: 60_000 },
  'lifetime-too-long': { kind: 'lifetime-too-long', requestedMs: 3_600_000, refreshLifeMs: 60_000 },
  'token-ended': { kind: 'token-ended' },
  'preparation-lost': {
    kind: 'preparation-lost',
    because: { kind: 'session-removed', requirement: 'sessions/oldest-removed', newer: 16 },
  },
  'cannot-be-sent': { kind: 'cannot-be-sent', reason: 'the scheme is in capitals already' },
  'test-key-kept': { kind: 'test-key-kept' },
  'test-key-made-before': { kind: 'test-key-made-before' },
  'no-call': { kind: 'no-call' },
  'nothing-judged': { kind: 'nothing-judged' },
}
