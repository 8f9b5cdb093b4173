/** What `watch` says at the end, and below each call: nothing that reads as a proof, and for each finding the call that shows it. */
import { expect, test } from 'vitest'
import { junitProblems } from '../self/junit-rules.ts'
import { basicHeader, body, rootSecret } from '../self/made-up-calls.ts'
import { madeUpCorpus, madeUpMeta } from '../self/made-up-report.ts'
import {
  asked,
  granted,
  judgedTraffic,
  listed,
  pairNamed,
  renewed,
  root,
  signedCall,
  terms,
  withToken,
} from '../self/made-up-traffic.ts'
import { openJudging } from './judging.ts'
import type { Observed } from './records.ts'
import { buildWatchReport, watchRenderers } from './report.ts'

const corpus = madeUpCorpus({ requirements: [], scenarios: [] })

function told(calls: readonly Observed[], { strict = false } = {}) {
  const { version, target } = madeUpMeta
  const meta = { version, target, again: 'npx svc-conformance watch' }
  const outcome = judgedTraffic(calls, { keys: [root] })
  const nothing = { started: new Date(), known: [], trace: false, others: 0, lacks: [] }
  const report = buildWatchReport({ corpus, outcome, meta, strict, ...nothing })
  const { text, html, markdown, badge } = watchRenderers
  // Lines as long as they are.
  const plain = text(report, { colour: false }).replace(/\n +(?=[a-z])/g, ' ')
  return { report, text: plain, html: html(report), markdown: markdown(report), badge: JSON.parse(badge(report)) }
}

const right = [granted(0, 'a'), withToken(100, 'a', { result: listed }), withToken(200, 'a', { result: listed })]
const refusedAt = (atMs: number) => renewed(atMs, 'a', 'c', { result: undefined })
const reused = (afterMs: number) => [granted(0, 'a'), renewed(1000, 'a', 'b'), refusedAt(1005 + afterMs)]
const elsewhere = (calls: Observed[]) => calls.map((call) => ({ ...call, address: '192.0.2.7' }))

test('a server of which nothing wrong was seen is not proved to conform', () => {
  const { report, text, html, markdown, badge } = told(right)
  expect([report.verdict, report.exitCode]).toEqual(['conforms', 0])
  expect(text).toContain('\nServer: nothing wrong seen in 3 calls\nVerdict: nothing wrong seen (exit code 0)\n')
  expect(html).toContain('<p class="verdict fill not-testable">nothing wrong seen ')
  expect(badge).toMatchObject({ message: 'nothing wrong seen', color: 'blue' })
  for (const one of [text, html, markdown]) expect(one).not.toMatch(/\bconforms\b|✓/)
})

test('exit code 1 is said to come from a client', () => {
  const { report, text, html, markdown, badge } = told(reused(3000))
  expect([report.verdict, report.exitCode]).toEqual(['conforms', 1])
  expect(text).toContain(`
Server: nothing wrong seen in 3 calls
Verdict: a client does not conform (exit code 1)
  Client root-id: does not conform
`)
  expect(html).toContain('<p class="verdict fill failed">a client does not conform <span class="exit">exit code 1<')
  expect(badge).toMatchObject({ message: 'a client does not conform', color: 'red' })
  for (const one of [text, html, markdown]) expect(one).not.toMatch(/\bconforms\b|✓/)
})

test('exit code 1 is said to come from --strict', () => {
  const calls = elsewhere(reused(51))
  expect(told(calls).text).toContain('\nServer: nothing wrong seen in 3 calls\nVerdict: warnings only (exit code 0)\n')
  const { text } = told(calls, { strict: true })
  expect(text).toContain('\nVerdict: warnings, which --strict makes fail (exit code 1)\n')
})

test('JUnit and CTRF tell the server and each client apart', () => {
  const calls = [...reused(3000), asked(9000, { result: listed })]
  const { report } = told(calls)
  const { junit, ctrf } = watchRenderers
  expect(junitProblems(junit(report))).toEqual([])
  const client = 'key root-id from 127.0.0.1'
  expect(junit(report).match(/(?<=<testsuite name=")[^"]+/g)).toEqual(['server', client])
  const { tests, summary } = JSON.parse(ctrf(report)).results as {
    tests: { name: string; status: string; suite: string[] }[]
    summary: object
  }
  const failed = tests.filter(({ status }) => status === 'failed').map(({ name, suite }) => `${suite}: ${name}`)
  const ofClient = ['old-pair-gone', 'newest-used'].map((name) => `${client}: refresh/${name}`)
  expect(failed).toEqual(['server: found/authorization/required/let-in', ...ofClient])
  expect(summary).toMatchObject({ tests: tests.length, failed: 3, passed: tests.length - 3 })
})

test('a server that does not conform is said to', () => {
  const { text, badge } = told([granted(0, 'a'), asked(100, { result: listed })])
  expect(text).toContain('\nServer: does not conform\nVerdict: does not conform (exit code 1)\n')
  expect(text).toContain('was accepted (call 2 at 22:13:20.100)\n')
  expect(badge.color).toBe('red')
})

test('a warning about the server is something that was seen', () => {
  const taken = asked(100, { authorization: `Bearer ${pairNamed('a').refreshToken}`, result: listed })
  const { text } = told([granted(0, 'a'), taken])
  expect(text).toContain('\nServer: warnings only in 2 calls\nVerdict: warnings only (exit code 0)\n')
  expect(text).not.toMatch(/nothing wrong seen in|No answer of the server contradicts/)
})

test('it says of how many calls the answer is open, and of none where none is', () => {
  const unknown = asked(300, { authorization: 'Bearer of-before-012345' })
  const looked = asked(400, { httpMethod: 'GET', text: '' })
  const saying = (calls: Observed[]): string | undefined =>
    told(calls).report.conclusion.find((line) => line.includes('the answer to') || line.includes('decides'))
  expect(saying(right)).toBe('The document decides the answer to all 3 calls, or its form')
  expect(saying(right.slice(0, 1))).toBe('The document decides the answer to the call, or its form')
  const ofFour = 'Of 4 calls the document decides the answer to 3, or its form'
  expect(saying([...right, unknown])).toBe(`${ofFour}; one is open, because what it rests on was not seen`)
  expect(saying([...right, looked])).toBe(`${ofFour}; 1 is not judged, because the document shows POST alone`)
  expect(saying([unknown, asked(310, { authorization: 'Bearer of-before-012345' })])).toBe(
    'Of 2 calls the document decides the answer to 0, or its form; 2 are open, because what they rest on was not seen',
  )
})

test('a request with another method than POST is not judged, and is no refused call', async () => {
  const lines: string[] = []
  const options = { terms, keys: [], requirements: [], save: null, trace: false }
  const judging = openJudging(options, (some) => lines.push(...some))
  const refused = { status: 404, headers: [], body: 'Not found', bodyBytes: 9 }
  const own = { headers: [], body: '', answer: refused, remoteAddress: '127.0.0.1', because: undefined }
  for (const httpMethod of ['GET', 'OPTIONS'])
    judging.end({ ...asked(0, { httpMethod, took: 7 }), ...own, bodyBytes: 0 })
  const outcome = await judging.finish()
  const notJudged = 'none  404 7 ms  not judged: the document shows POST alone'
  expect(lines).toEqual(['GET', 'OPTIONS'].map((method) => expect.stringContaining(`  ${method}  ${notJudged}`)))
  expect(outcome).toMatchObject({ refused: 0, open: [], notPosts: 2 })
})

/** The checks of clients that did not pass. */
const wrongChecks = ({ clients }: ReturnType<typeof told>['report']) =>
  clients.flatMap(({ checks }) => checks).filter(({ verdict }) => verdict !== 'passed')

test.each([51, 3000])(
  'a refresh token that is used again %s ms after its answer is told once, as an old token',
  (ms) => {
    const { report, text } = told(reused(ms))
    expect(wrongChecks(report).map(({ id }) => id)).toEqual(['refresh/old-pair-gone', 'refresh/newest-used'])
    expect(text.match(/^[✗!] .*/gm)).toEqual(['✗ refresh/old-pair-gone (key root-id from 127.0.0.1)'])
    expect(text).toContain('\n  Also     refresh/newest-used: A refresh sends a refresh token that was replaced.')
  },
)

test('checks of other areas are told apart, even of one call', () => {
  const calls = [asked(0, { httpMethod: 'PUT', text: '{"jsonrpc":"1.0","method":"list","params":{}}' })]
  const more = [granted(0, 'a'), renewed(100, 'a', 'b'), withToken(200, 'a'), withToken(300, 'a')]
  const wrongOf = (text: string) => text.match(/^[✗!] \S+|^ {2}Also +\S+/gm)
  expect(wrongOf(told(more).text)).toEqual(['✗ refresh/old-pair-gone', '  Also     refresh/newest-used:'])
  const secret = asked(50, { target: `/api?token=${pairNamed('a').accessToken}` })
  expect(wrongOf(told([granted(0, 'a'), secret]).text)).toEqual(['✗ request/post-json', '! secrets/not-in-url'])
  expect(wrongOf(told(calls).text)).toEqual(['✗ request/post-json', '  Also     request/envelope:'])
})

const again = /A token is refreshed again 51 ms after its refresh was answered/
test.each([
  ['overlap', reused(-3), /Two refreshes of one token are under way at once/],
  ['come from another machine', elsewhere(reused(51)), again],
  ['are of a client that makes calls at once', [...reused(51), withToken(1001, 'a')], again],
])('two refreshes that %s are no certain use of an old token', (_, calls, says) => {
  const message = expect.stringMatching(says)
  expect(wrongChecks(told(calls).report)).toMatchObject([{ id: 'refresh/single-flight', message }])
})

test('a finding about a client names its call, quotes the sentence and shows what was received', () => {
  const spaced = body('solution/listSolutions').replaceAll(':', ': ').replaceAll(',', ', ')
  const wronglySigned = [1234, 2000].map((atMs) => signedCall(atMs, { signedText: spaced }))
  const calls = [asked(0, { authorization: basicHeader(), result: listed }), ...wronglySigned]
  const { report, text, html } = told(calls)
  expect(text).toContain('✗ signature/body-as-sent (key root-id from 127.0.0.1)')
  expect(text).toContain('\n  DOCUMENT requestData = UPPERCASE(HTTP method) + LF + URI + LF + request body exactly')
  expect(text).toContain('interface part 5.1')
  expect(text).toContain('\n  Call     2 at 22:13:21.234; also 3\n')
  expect(text).toMatch(/\n {2}> Authorization: svc-hmac-sha256 (root|…);1;1700000001234;[^;]+;[^;]*…\n/)
  for (const one of [text, html, JSON.stringify(report)]) expect(one).not.toContain(rootSecret)
  const [check] = wrongChecks(report)
  const second = { number: 2, started: '2023-11-14T22:13:21.234Z' }
  expect(check?.evidence).toMatchObject({ source: 'interface part 5.1', calls: [second], wrong: [2, 3] })
})
