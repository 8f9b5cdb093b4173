/** A report with something of everything, for the tests of the formats. */

import type { CaseOutcome } from '../engine/judge/problem.ts'
import type { Requirement } from '../engine/language/fixture-types.ts'
import { buildReport } from '../report/build.ts'
import type { Report } from '../report/report.ts'
import { madeUpCase, madeUpCorpus, madeUpMeta } from './made-up.ts'

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
    problem: {
      requirements: [],
      step: 'addresses/bound',
      kind: 'as-declared' as const,
      reason: 'Needs a second address: name one as secondAddress in the target file',
      exchanges: [],
    },
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

const finding = {
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
    findings: [finding],
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
      creates: ['5 API keys'],
      cannot: [],
    },
    options: { strict: change.strict ?? false, partial: null },
  })
}
