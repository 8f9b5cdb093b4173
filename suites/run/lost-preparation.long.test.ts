import { expect, test } from 'vitest'
import type { CaseOutcome } from '../engine/judge/problem.ts'
import { readScenario } from '../engine/language/corpus.ts'
import { problemText } from '../report/problem-text.ts'
import { lastingServer, partUnlessProof } from '../self/proof-form.ts'
import { serverNamed } from '../self/server-named.ts'
import type { ServerOptions } from '../targets/bundled.ts'
import { openCorpus } from './corpus-cache.ts'
import { runAll } from './run.ts'

const corpus = await openCorpus()

const made = (name: string, steps: string) =>
  readScenario(
    `scenario: made up\nproves: [tokens/authorize]\nneeds: [sessions]\n${steps}`,
    `fixtures/scenarios/made/${name}.yaml`,
  ).scenario

/** Runs one case against a server that all cases share, whose clock the waits move. */
async function ask(steps: string, server: ServerOptions = {}): Promise<CaseOutcome> {
  const scenarios = [made('up', steps)]
  const outcomes = await runAll({ target: lastingServer(server), corpus: { ...corpus, scenarios }, listens: true })
  const outcome = outcomes.find(({ id }) => id === 'made/up')
  if (outcome === undefined) throw new Error('the case did not run')
  return outcome
}

const grant = (scope: string, keep = 'pair'): string =>
  `  - { grant: root, scope: [solution${scope}], expect: accepted, keep: { ${keep}: result } }\n`
const use = '  - { call: solution/listSolutions, auth: { token: $pair.accessToken }, expect: accepted }\n'
const refresh = '  - { refresh: $pair, expect: accepted, keep: { new: result } }\n'
const sixteenMore = `  - wait: 2s
  - { repeat: 16, grant: root, scope: [solution, "session:more-$n-$unique"], expect: accepted }
`

const first = grant(', "session:first-$unique"')
const ofRemoved = '16 newer ones of its key were created since it was last used (sessions/oldest-removed)'
const ofExpired = 'its token had expired at least 5.0 s before (expires-in/enforced)'
const given = `given:\n${first}${use}${sixteenMore}${use}`
const refreshed = `${grant('')}${use}${refresh}`
const expiring = `${grant(', "expiresIn:5000"')}${use}  - wait: 10s\n`
const causes: [what: string, steps: string, kind: string, text: string][] = [
  ['its session was removed by newer ones', `steps:\n${first}${use}${sixteenMore}${use}`, 'session-removed', ofRemoved],
  ['it was removed during the preparation', `${given}steps:\n${use}`, 'session-removed', '(sessions/oldest-removed)'],
  ['its pair was refreshed', `steps:\n${refreshed}${use}`, 'pair-refreshed', 'new pair (refresh/revokes-access)'],
  ['its refresh token was used', `steps:\n${refreshed}${refresh}`, 'pair-refreshed', '(refresh/revokes-refresh)'],
  ['its token expired', `steps:\n${expiring}${use}`, 'token-expired', ofExpired],
]

test.each(causes)('a case whose preparation no longer holds is not testable: %s', async (_what, steps, kind, text) => {
  const { verdict, problem } = await ask(steps)
  expect(verdict).toBe('not-testable')
  expect(problem).toMatchObject({ kind: 'preparation-lost', because: { kind } })
  expect(problemText(problem)).toContain(text)
})

/** The session is the oldest of sixteen, or the second oldest of seventeen. */
const secondOfSeventeen = `${grant(', "session:oldest-$unique"', 'oldest')}  - wait: 2s
${grant(', "session:first-$unique"')}${use}${sixteenMore.replace('16', '15')}${use}`

const wrongly = [
  'fifteen-sessions-kept',
  'all-sessions-removed',
  'two-sessions-removed',
  'second-oldest-session-removed',
]
test.each(partUnlessProof(wrongly, 1))('a server that removes a wrong session is not excused: %s', async (id) => {
  expect((await ask(`steps:\n${secondOfSeventeen}`)).verdict).toBe('passed')
  expect((await ask(`steps:\n${secondOfSeventeen}`, await serverNamed(id))).verdict).toBe('failed')
})

test('also while other cases make calls', async () => {
  const busy = `steps:\n${'  - { call: solution/listSolutions, auth: { basic: root }, expect: accepted }\n'.repeat(100)}`
  const scenarios = [made('up', `steps:\n${grant('')}${use}${refresh}${use}`), made('busy', busy), made('too', busy)]
  const target = lastingServer({}, { concurrency: 8 })
  const outcomes = await runAll({ target, corpus: { ...corpus, scenarios }, listens: true })
  const verdicts = scenarios.map(({ id }) => outcomes.find((one) => one.id === id)?.verdict)
  expect(verdicts).toEqual(['not-testable', 'passed', 'passed'])
})

test('a failure names what may explain it, where the model finds it open', async () => {
  const four = `steps:\n${grant('')}${use}${grant('', 'two')}${grant('', 'three')}${grant('', 'four')}${use}`
  const { verdict, problem } = await ask(four, await serverNamed('three-live-pairs-of-a-key-outside-sessions'))
  expect(verdict).toBe('failed')
  expect(problemText(problem)).toMatch(
    /it was refused .*; what may explain it: 3 newer tokens of its key were issued, .* \(limits\/live-tokens\)$/,
  )
})
