import { expect, test } from 'vitest'
import { madeUpReport, problemOf } from '../self/made-up-report.ts'
import { runRenderers } from './formats.ts'
import { renderHtml } from './html.ts'
import type { CaseReport, Report } from './report.ts'
import { renderPlan } from './tell.ts'

const report = madeUpReport()
const { text: renderText, markdown: renderMarkdown } = runRenderers()
/** The report as text, with these parts in place of its own. */
const told = (change: Partial<Report>, look: Partial<Parameters<typeof renderText>[1]> = {}): string =>
  renderText({ ...report, ...change }, { colour: false, ...look })

const text = told({})

test('a failure shows its sentence, step, received answer, hint, bytes and the command that repeats it', () => {
  expect(text).toContain(`✗ signatures/hmac-accepted/all-in-one-line
  A request signed with HMAC is accepted: all in one line

  MUST  signatures/hmac: The signature is BASE64 of the first 20 bytes of HMAC-SHA256(secret, dataToSign)
        spec/interface.md#signatures-hmac

  At    solution/listSolutions (fixtures/scenarios/signatures/hmac-accepted.yaml:9:5)
  But   expected the call to be accepted, it was refused
  Hint  The server accepts this call when all 32 bytes of the MAC are sent. Compare the signature with the
        first 20 bytes of the MAC, no more and no less

  > POST /api
  > authorization: svc-hmac-sha256 b047…;1;1795154904754;tCLqKvRgaK/NpT0f;tS4e…
  > {"jsonrpc":"2.0","id":2,"method":"solution/listSolutions","params":{}}
  < HTTP 200
  < {"jsonrpc":"2.0","id":2,"error":{"code":24879,"message":"Unauthorized"}}

  Again npx svc-conformance run --url http://127.0.0.1:9111 --only signatures/hmac-accepted/all-in-one-line --trace
`)
})

test.each([
  [0, 'Token granted for the scope "context session:one"'],
  [1, 'Token granted for the scope "context session:one"; its pair was refreshed once'],
  [3, 'Token granted for the scope "context session:one"; its pair was refreshed 3 times'],
])('a failure with a token that was refreshed %i times shows what it was granted for', (refreshes, line) => {
  const [testCase] = report.cases.filter(({ problem }) => problem?.hint !== undefined)
  const problem = { ...testCase?.problem, token: { scope: 'context session:one', refreshes } }
  expect(told({ findings: [], cases: [{ ...testCase, problem } as CaseReport] })).toContain(`  ${line}\n`)
})

test('cases that are blocked by one cause are reported once', () => {
  expect(text.match(/The control was refused/g)).toHaveLength(1)
  expect(text).toContain(
    '  Also  2 more cases, most likely for the same cause:\n        tokens/three\n        tokens/two\n',
  )
})

test('a run that was ended begins with that, then tells failures, what is left, and how to run it all again', () => {
  const testCase = { ...(report.cases[0] as CaseReport), verdict: 'not-run' as const }
  const facts = { kind: 'not-run', because: { kind: 'interrupted', during: 'run' } } as const
  const problem = { ...problemOf(facts), message: 'not run: the run was interrupted' } as CaseReport['problem']
  const notRun = ['a/one', 'a/two'].map((key) => ({ ...testCase, key, problem, blockedBy: null }))
  const failed = report.cases.filter(({ verdict }) => verdict === 'failed').slice(0, 1)
  const meta = { ...report.meta, stopped: 'the run was interrupted' }
  const conclusion = ['Ended after 1 of 3 cases']
  const summary = { ...report.summary, notRun: 2 }
  const said = told({ meta, conclusion, summary, cases: [...failed, ...notRun], findings: [], stale: [] })
  const parts = [conclusion[0], `✗ ${failed[0]?.key}`, 'Left on the target', `\n\nAgain ${meta.again}\n`, 'Verdict:']
  expect(parts.map((part) => said.indexOf(part ?? '')).every((at, index, all) => at > (all[index - 1] ?? 0))).toBe(true)
  for (const part of ['a/one', 'Requirements', 'Open questions', 'Musts']) expect(said).not.toContain(part)
  expect(renderHtml({ ...report, meta, summary })).toContain(`>${meta.again}<`)
})

test('is as wide as the terminal, but never wider than a reader likes', () => {
  const longest = (columns: number): number => {
    const lines = told({}, { columns }).split('\n')
    return Math.max(...lines.filter((line) => /^ +(MUST|IMPLIED|But|Hint|-) /.test(line)).map(({ length }) => length))
  }
  expect(longest(80)).toBeLessThanOrEqual(80)
  expect(longest(80)).toBeGreaterThan(60)
  expect(longest(300)).toBeLessThanOrEqual(110)
})

test('an observation names what was tried for each answer', () => {
  const answers = [
    { answer: 'accepted', cases: ['a/b/one', 'a/b/two'], asked: ['one', 'two'] },
    { answer: 'refused', cases: ['a/b/null'], asked: ['null'] },
    { answer: `accepted; result ${'x'.repeat(200)}`, cases: ['a/b/none'], asked: ['none'] },
  ]
  const observations = [{ question: 'a/b', answer: '', answers, text: '', reference: '' }]
  const said = told({ observations }, { observations: true })
  expect(said).toContain('  - a/b\n      accepted: one; two\n      refused: null\n      accepted; result xxx')
  expect(said).toContain('xxx…: none\n')
  const alone = [{ answer: 'accepted', cases: ['a/some-key'], asked: ['some key'] }]
  const short = { question: 'a/b', answer: '', answers: alone, text: '', reference: '' }
  expect(told({ observations: [short] }, { observations: true })).toContain('  - a/b\n      accepted\n')
  for (const text of [renderMarkdown({ ...report, observations }), renderHtml({ ...report, observations })])
    expect(text.replaceAll(/<[^>]+>/g, ' ')).toMatch(/accepted: one; two[\s-]+refused: null/)
})

test('lists what is known, stale, not testable, observed and left, and ends with the verdict and what would change it', () => {
  for (const part of [
    "Your server's clock is 5 min ahead",
    '! keys/warned',
    'IMPLIED keys/public-key-material',
    '~ keys/known: Ids come from a counter (https://tracker.example/7)',
    '✗ signatures/accepted',
    'name one as secondAddress in the target file',
    'No method would change a key',
    'Open questions: 1 observed, never judged; --observations prints the answers',
    '2 API keys that the run could not remove',
    'Verdict: does not conform (exit code 1)',
  ])
    expect(text).toContain(part)
  expect(text.trimEnd().split('\n').at(-1)).toMatch(/Needs a second address: .* addresses\/bound/)
})

test('what --only leaves out is one line; a requirement with selected cases is named', () => {
  const reasons = [{ kind: 'not-selected' as const, by: 'only' as const }]
  const [begun = '', ...others] = report.requirements.map(({ id }) => id)
  const requirements = report.requirements.map((one) => ({
    ...one,
    verdict: 'not-testable' as const,
    reasons,
    cases: one.id === begun ? report.cases.slice(0, 1).map(({ key }) => key) : [],
  }))
  const said = told({ requirements })
  expect(said).toContain(`Not proved by the selected cases alone: ${begun}\n`)
  expect(said).toContain(`Not selected by --only: ${others.length} requirements\n`)
  expect(said.split('Not selected by --only')).toHaveLength(2)
})

test('names what failed next to the verdict', () => {
  const end = text.slice(text.indexOf('Verdict:'))
  expect(end).toContain(`Verdict: does not conform (exit code 1)
  ✗ basic/hostile (basic/credentials)
  ✗ signatures/hmac-accepted/all-in-one-line (signatures/hmac)
  ✗ found/tokens/authorize/pair-is-current
  ■ tokens/one, and 2 more cases like it
  ! keys/warned (keys/public-key-material)
`)
})

test('tells cases that only observe from those that judged', () => {
  const observing = report.cases.map((one) => (one.key === 'signatures/accepted' ? { ...one, proves: [] } : one))
  expect(text).toMatch(/cases in .* s: 4 passed, 2 failed, /)
  expect(told({ cases: observing })).toMatch(/cases in .* s: 3 passed, 1 observed, 2 failed, /)
  expect(renderHtml({ ...report, cases: observing })).toContain('✓ passed 3, observed 1<')
})

test('of what is left on an instance that may be filled it gives the number of keys, and otherwise the list', () => {
  const left = ['API key 1a2b ("bob-x")', 'API key 3c4d ("erin-x")', '(name the method that removes them)']
  expect(told({ left })).toContain('Left on the target\n  - API key 1a2b ("bob-x")\n')
  const meta = { ...report.meta, again: `${report.meta.again} --disposable --wait 3` }
  const said = told({ left, meta })
  expect(said).toContain(
    '\nLeft on the target: 2 API keys, as --disposable permits; a JSON report names each (--report json=FILE)\n',
  )
  for (const format of [said, renderMarkdown({ ...report, left, meta }), renderHtml({ ...report, left, meta })]) {
    expect(format).toContain('2 API keys, as ')
    expect(format).not.toContain('1a2b')
  }
})

test('lists what a failure blocks below it', () => {
  const cases = report.cases.map((one) => (one.verdict === 'blocked' ? { ...one, blockedBy: 'basic/hostile' } : one))
  const said = told({ cases })
  expect(said).toMatch(/Again .*basic\/hostile --trace\n\n {2}Blocks 3 cases:\n/)
  expect(said).toContain('✗ basic/hostile (basic/credentials); it blocks 3 cases\n')
})

test('names next to the verdict what else is broken where it is told with another failure', () => {
  const cases = report.cases.map((one) => (one.key !== 'keys/warned' ? one : { ...one, verdict: 'failed' as const }))
  const requirements = report.requirements.map((one) =>
    one.id === 'basic/credentials' ? { ...one, consequences: ['keys/public-key-material'] } : one,
  )
  const said = told({ findings: [], cases, requirements })
  expect(said).toContain('✗ basic/hostile (basic/credentials), and 1 more case like it (keys/public-key-material)\n')
})

test('a warning that a failure explains comes after it', () => {
  const failure = report.cases.find((one) => one.problem?.hint !== undefined) as CaseReport
  const warning = { ...failure, key: 'limits/every-way', verdict: 'warned' as const }
  const said = told({ findings: [], cases: [warning, failure] })
  expect(said).toContain('  Also  1 more case, most likely for the same cause:\n        limits/every-way (warned)\n')
  expect(said).not.toContain('! limits/every-way')
})

test('repeats nothing except sentences that several blocks are about', () => {
  const own = text.split('\n').filter((line) => line.length > 30 && !/^ *([<>] |MUST|IMPLIED|spec\/)/.test(line))
  expect(own.filter((line, index) => own.indexOf(line) !== index)).toEqual([])
})

test('a finding shows its sentence, its steps, whether it repeats, and a drawing of simultaneous calls', () => {
  expect(text).toContain(`✗ found/tokens/authorize/pair-is-current
  An access token was accepted after the refresh that ended it

  MUST  tokens/authorize: An access token in the Authorization header authorizes a call
        spec/interface.md#tokens-authorize

  1.    connection 1: root grants a token: accepted
  2.    connection 1: root refreshes it: accepted
  3.    connection 2: the old access token: accepted, and had to be refused
  Found by the model. Repeated 3 times, seen 3 times
        The same call was refused before. What came between:
        - A grant to root for the scope "<b>" as pair2: accepted
        - 2 other calls with root

  connection 1  ├──────────────────1───────────────────┤
  connection 2                                                ├───2────┤
  1  manager/auth refresh: accepted (0.0 to 4.2 ms)
  2  solution/listSolutions: accepted (5.0 to 6.0 ms)

  > POST /api`)
  expect(text).toContain('    title: An old access token is dead after its refresh\n    steps:\n')
})

test('several findings of one requirement are reported once, and those that a failed case shows with that case', () => {
  const [finding] = report.findings as [Report['findings'][number]]
  const another = { ...finding, id: 'found/tokens/authorize/another' }
  const shown = { ...finding, id: 'found/signatures/hmac/refused', requirement: 'signatures/hmac' }
  const said = told({ findings: [finding, another, shown] })
  expect(said).toContain(':\n        found/tokens/authorize/another\n')
  expect(said).toContain(':\n        found/signatures/hmac/refused\n')
  expect(said).toContain('✗ found/tokens/authorize/pair-is-current, and 1 more finding like it')
  expect(said).toContain('✗ signatures/hmac-accepted/all-in-one-line (signatures/hmac), and 1 finding like it')
  expect(said.split('Found by the model.')).toHaveLength(2)
})

test('a finding comes after the cases of its level; a warned case does not hide a finding that fails the run', () => {
  const [finding] = report.findings as [Report['findings'][number]]
  const id = 'found/keys/public-key-material/let-in'
  const implied = { ...finding, id, requirement: 'keys/public-key-material', level: 'implied' as const }
  const said = told({ findings: [finding, implied] })
  const places = ['✗ basic/hostile', `✗ ${finding.id}`, '■ tokens/one', '! keys/warned', id]
  expect(places.map((place) => said.indexOf(place)).every((at, index, all) => at > (all[index - 1] ?? 0))).toBe(true)
  expect(said.slice(said.indexOf('Verdict:'))).toMatch(/! keys\/warned .*, and 1 finding like it\n/)
  const must = told({ findings: [{ ...implied, level: 'must' }] })
  expect(must).toContain(`✗ ${id}\n`)
})

test('a finding has the scenario that asks for it again, and the command that runs only that', () => {
  const [finding] = report.findings as [Report['findings'][number]]
  const again = (change: Partial<typeof finding>, meta: Partial<Report['meta']> = {}) =>
    /Again (.* --only found.*)\n/.exec(
      told({ cases: [], findings: [{ ...finding, ...change }], meta: { ...report.meta, ...meta } }),
    )?.[1]
  const run = 'npx svc-conformance run --url http://127.0.0.1:9111'
  const only = '--fixtures DIR --only found/tokens-authorize-pair-is-current'
  expect(told({}).replaceAll(/\s+/g, ' ')).toContain(
    'DIR/scenarios/found/tokens-authorize-pair-is-current.yaml, with "language: 1" in DIR/language.yaml:',
  )
  expect(again({})).toBe(`${run} ${only} --trace`)
  expect(again({}, { again: `${run} --disposable` })).toBe(`${run} --disposable ${only} --trace`)
  // A report of explore repeats the exploration with another command.
  const explored = { again: 'npx svc-conformance explore --url x --seed 1', target: 'http://127.0.0.1:9111' }
  expect(again({}, { ...explored, allow: ['sessions'] })).toBe(`${run} --allow sessions ${only} --trace`)
  const fixture = 'scenario: A key\nneeds: [ sessions, keys ]\n'
  expect(again({ level: 'implied', fixture })).toBe(`${run} ${only} --strict --trace # on a fresh instance`)
  expect(again({ fixture: null })).toBeUndefined()
})

test('has no colour by default, and no text from a server colours the terminal', () => {
  expect(text).not.toContain('\u001b')
  expect(told({}, { colour: true })).toContain('\u001b[31m✗ signatures')
  expect(told({}, { colour: true })).not.toContain('\u0000')
})

test('a plan lists what will be created, and what cannot run, by area', () => {
  const many = [...Array(9)].map((_, index) => `a/${index}`)
  const plan = {
    cases: 9,
    total: 33,
    notSelected: 1,
    calls: 40,
    refusals: 12,
    perhapsRefused: 3,
    seconds: 3,
    creates: ['5 API keys', 'about 7 token pairs'],
    cannot: [
      { reason: 'requesting access tokens needs --allow sessions', cases: 20, requirements: [...many, 'b/c'] },
      { reason: 'creating API keys needs --allow keys', cases: 2, requirements: ['a/b', 'a/c'] },
      { reason: 'it needs two solutions', cases: 1, requirements: [] },
    ],
  }
  expect(
    renderPlan(plan, { ids: false }),
  ).toBe(`Plan: 9 of 33 cases, about 40 calls in about 3 s, at least 12 of them refused, and 3 more may be refused
The refusals may look like an attack in the log of the server
1 case is not selected

Creates:
  - 5 API keys
  - about 7 token pairs

Cannot run 23 cases:
  - requesting access tokens needs --allow sessions
      20 cases: 10 requirements of a (9), b (1)
  - creating API keys needs --allow keys
      2 cases: a/b, a/c
  - it needs two solutions
      1 case: only observed
`)
  const model = { calls: 1000, seconds: 110, keys: 3 }
  expect(renderPlan({ ...plan, model, cannot: [] }, { ids: false }).replaceAll(/\s+/g, ' ')).toContain(
    'Then the model makes at most 1000 calls in about 100 s at 110 ms each, most of them with a mistake, and more to repeat what it finds; it creates at most 3',
  )
  expect(renderPlan(plan, { ids: true })).toContain('20 cases: a/0, a/1')
  expect(renderPlan({ ...plan, total: 1, seconds: 600 }, { ids: true })).toMatch(
    /^Plan: 9 of 1 case, about 40 calls in about 10 min, /,
  )
})
