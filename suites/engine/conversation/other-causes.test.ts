import { describe, expect, test } from 'vitest'
import { problemText } from '../../report/problem-text.ts'
import { type MadeUpCall, madeUpTarget } from '../../self/made-up-target.ts'
import type { Attempt } from '../judge/judge-case.ts'
import type { CaseOutcome } from '../judge/problem.ts'
import type { Scenario } from '../language/fixture-types.ts'
import { parseScenario } from '../language/parse.ts'
import { seededRandom } from '../signer/random.ts'
import type { Target } from '../target.ts'
import { type Conversation, type CreatedKeysEntry, type Run, startRun } from './conversation.ts'
import { placesUsedBefore } from './other-causes.ts'
import { runCase } from './run-case.ts'
import { noFacts } from './target-facts.ts'

describe('watch target', () => {
  const corpus = { requirements: [], questions: [], testKeys: [], schemas: {}, scenarios: [] }

  const runOf = (target: Target): Run =>
    startRun({ target, corpus, facts: noFacts(), random: seededRandom(1), unique: 'test' })

  async function ask(run: Run, step: string): Promise<CaseOutcome> {
    const text = `scenario: made up\nproves: [made/up]\nsteps:\n  - ${step}\n`
    const scenario = parseScenario(text, 'fixtures/scenarios/a/b.yaml')
    const [testCase] = scenario.cases
    if (testCase === undefined) throw new Error('no case')
    return runCase(run, scenario, testCase)
  }

  const right = '{ call: solution/listSolutions, auth: { basic: root }, expect: accepted }'
  const granted = '{ call: manager/auth, auth: none, params: {}, expect: accepted }'

  test.each([502, 503, 504])('a target for which a proxy answers %i from some call on is gone', async (status) => {
    let isAway = false
    const run = runOf(madeUpTarget({ answer: () => (isAway ? { status } : { result: {} }) }))
    expect((await ask(run, right)).verdict).toBe('passed')
    isAway = true
    expect((await ask(run, granted)).verdict).toBe('blocked')
    expect(run.stopping.reason?.kind).toBe('gone')
  })

  test('a target that answers one kind of call with 502 is not gone', async () => {
    const answer = ({ method }: MadeUpCall) => (method === 'manager/auth' ? { status: 502 } : { result: {} })
    const run = runOf(madeUpTarget({ answer }))
    expect((await ask(run, granted)).verdict).toBe('failed')
    expect(run.stopping.reason).toBeNull()
  })
})

describe('full target', () => {
  const create = 'manager/createApiKey'

  const scenario = parseScenario(
    `scenario: A key is created
proves: [keys/create-result]
needs: [keys]
steps:
  - { call: manager/createApiKey, auth: { basic: root }, params: { name: judged, scope: [solution] }, expect: accepted }
`,
    'fixtures/scenarios/made-up/created.yaml',
  )

  /** Runs the case on a target that creates keys of these names only. */
  function runOn({
    fresh,
    takes,
    known = true,
  }: {
    fresh: boolean
    takes: (name: string) => boolean
    known?: boolean
  }) {
    const target = madeUpTarget({
      fresh,
      answer: ({ params }) => (takes(String(params.name)) ? { result: { id: 'new', secret: 's' } } : { status: 403 }),
    })
    const corpus = { requirements: [], questions: [], testKeys: [], schemas: {}, scenarios: [scenario] }
    const run = startRun({
      target,
      corpus,
      facts: noFacts(),
      random: seededRandom(1),
      unique: 'test',
      keptTestKeys: known ? [{ id: 'earlier', name: 'earlier', secret: 'earlier-secret' }] : [],
    })
    const [testCase] = scenario.cases
    if (testCase === undefined) throw new Error('no case')
    return runCase(run, scenario, testCase)
  }

  test('if another creation is refused too, the target is full and nothing is judged', async () => {
    const { verdict, problem } = await runOn({ fresh: false, takes: () => false })
    expect(verdict).toBe('not-testable')
    expect(problemText(problem)).toContain('most likely because it has its ten')
  })

  test('if another creation is accepted, the refused one failed', async () => {
    expect((await runOn({ fresh: false, takes: (name) => name.startsWith('full-') })).verdict).toBe('failed')
  })

  test('a fresh target that created some keys and creates no more may count refused creations', async () => {
    const { verdict, problem } = await runOn({ fresh: true, takes: () => false })
    expect(verdict).toBe('not-testable')
    expect(problemText(problem)).toContain('may count refused creations')
  })

  test('a fresh target that never created a key is broken, another one may be full', async () => {
    const { verdict, problem } = await runOn({ fresh: true, takes: () => false, known: false })
    expect(verdict).toBe('failed')
    expect(problem?.hint).toEqual({ kind: 'perhaps-not-fresh' })
    expect((await runOn({ fresh: false, takes: () => false, known: false })).verdict).toBe('not-testable')
  })

  test.each<[string, string, boolean, number, boolean]>([
    ['a wrong count', 'wrong-count', true, 3, true],
    ['keys that are refused without a JSON-RPC error', 'call-not-answered', true, 3, true],
    ['another failure', 'not-refused', true, 3, false],
    ['a new instance', 'wrong-count', false, 3, false],
    ['no earlier creation that may count', 'wrong-count', true, 0, false],
  ])('whether used places explain that too few keys work: %s', (_what, kind, lasting, perhapsCounted, explains) => {
    const needs = { needs: ['keys', 'limits', 'fresh-instance'] } as unknown as Scenario
    const attempt = { stops: [{ kind: 'broke', problem: { kind } }] } as unknown as Attempt
    const talk = { run: { target: { lasting } } } as unknown as Conversation
    expect(placesUsedBefore(talk, needs, attempt, perhapsCounted)?.verdict).toBe(explains ? 'not-testable' : undefined)
  })

  test('an earlier creation that was not answered may have used a place', async () => {
    const few = parseScenario(
      `scenario: Keys work
proves: [limits/ten-can-be-made]
needs: [keys, limits, fresh-instance]
given:
  - { call: manager/createApiKey, auth: { basic: root }, params: { name: one, scope: [solution] } }
steps:
  - { for: $created, call: solution/listSolutions, auth: { key: $it }, tally: { accepted: at-least 8 } }
`,
      'fixtures/scenarios/made-up/few.yaml',
    )
    const answer = ({ method }: { method: string }) => ({ result: method === create ? { id: 'new', secret: 's' } : [] })
    const verdictAfter = async (earlierKeys: readonly CreatedKeysEntry[]): Promise<string> => {
      const corpus = { requirements: [], questions: [], testKeys: [], schemas: {}, scenarios: [few] }
      const target = { ...madeUpTarget({ fresh: true, answer }), lasting: true }
      const run = startRun({ target, corpus, facts: noFacts(), random: seededRandom(1), unique: 'test', earlierKeys })
      const [testCase] = few.cases
      if (testCase === undefined) throw new Error('no case')
      return (await runCase(run, few, testCase)).verdict
    }
    expect(await verdictAfter([])).toBe('failed')
    expect(await verdictAfter([{ intend: 'lost' }])).toBe('not-testable')
    expect(await verdictAfter([{ notCreated: 'refused' }])).toBe('not-testable')
  })
})
