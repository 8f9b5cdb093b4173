import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { allItems, type Item, skipItem } from '../engine/conversation/cases.ts'
import { noFacts } from '../engine/conversation/target-facts.ts'
import { SuiteError } from '../engine/errors.ts'
import type { Corpus, Need } from '../engine/language/fixture-types.ts'
import { bareSettings, type TargetSettings } from '../engine/target.ts'
import { madeUpCorpus } from '../self/made-up-report.ts'
import { capabilities } from '../self/made-up-target.ts'
import { whyNotRun } from './capabilities.ts'
import { openCorpus } from './corpus-cache.ts'
import { openKeysOfTarget } from './keys.ts'
import { readRunOptions } from './options.ts'
import { planRun } from './plan.ts'

const corpus = await openCorpus()
const cleanup = { method: 'manager/deleteApiKey', params: { id: '$id' } }
const near = 'http://192.0.2.1'

type Flags = Parameters<typeof readRunOptions>[0]

const optionsOf = (flags: Flags) =>
  readRunOptions({ url: near, keyId: 'root', keySecret: 's', ...flags }, { XDG_STATE_HOME: '/nowhere' })

/** The plan for a lasting server, where everything is allowed. */
const planOf = (...given: Parameters<typeof plannedOf>) => plannedOf(...given).plan

function plannedOf(flags: Flags = {}, settings: Partial<TargetSettings> = {}, all: Corpus = corpus) {
  const options = optionsOf({ allow: 'sessions,keys,limits', ...flags })
  const { target } = options
  if (target === null) throw new Error('no target')
  const own = { ...target.settings, secondAddress: '127.0.0.2', ...settings }
  return planRun({ ...options, target: { ...target, settings: own } }, all)
}

test('the plan of the bundled server has every case, and takes no time on its virtual clock', () => {
  const { plan, reported } = planRun(readRunOptions({}, {}), corpus)
  expect(plan).toMatchObject({ cases: reported, total: reported, notSelected: 0, seconds: 0, cannot: [] })
})

test('of a case that runs alone the calls at once are counted apart, and a case that cannot run does nothing', () => {
  const { work } = plannedOf()
  expect(work.get('sessions/race')).toEqual({ beside: 0, alone: 4, atOnce: 200, waitMs: 0 })
  expect(work.get('expires-in/enforced')).toEqual({ beside: 6, alone: 0, atOnce: 0, waitMs: 6000 })
  expect(work.get('keys/can-be-deleted')).toEqual({ beside: 0, alone: 0, atOnce: 0, waitMs: 0 })
})

test('never more keys than the ten that are possible, and two places stay free where none may be filled', () => {
  expect(planOf().creates[0]).toBe('API keys up to the limit of ten')
  const scenarios = corpus.scenarios.filter(({ needs }) => !needs.includes('limits'))
  expect(planOf({}, {}, { ...corpus, scenarios }).creates[0]).toBe('7 API keys')
  const removed = /^\d+ API keys, at most 10 at once, removed through the cleanup method$/
  expect(planOf({}, { cleanup }).creates[0]).toMatch(removed)
})

test('keys of earlier runs take places, which the plan says', () => {
  const stateFolder = mkdtempSync(join(tmpdir(), 'svc-plan-'))
  const creates = (earlier: number, allow = 'sessions,keys'): string[] => {
    const keys = Array.from({ length: earlier }, (_, index) => ({ id: `k${index}`, name: 'n' }))
    const { target, ...options } = readRunOptions({ url: near, keyId: 'root', keySecret: 's', allow }, {})
    if (target === null) throw new Error('no target')
    openKeysOfTarget({ ...target, stateFolder }).close(keys)
    return planRun({ ...options, target: { ...target, stateFolder } }, corpus).plan.creates
  }
  const listed = 'of earlier runs are recorded there: "svc-conformance keys" lists them'
  const stay = expect.stringContaining('these keys stay there')
  expect(creates(0)[0]).toBe('7 API keys')
  expect(creates(5).slice(0, 2)).toEqual([`only 3 API keys, because 5 API keys ${listed}`, stay])
  expect(creates(10)[0]).toBe(`no API key, because 10 API keys ${listed}`)
  expect(creates(10)).not.toContainEqual(stay)
  expect(creates(10).join()).not.toContain('if the target takes keys')
  const all = 'sessions,keys,limits'
  expect(creates(8, all).slice(0, 2)).toEqual([`only 2 API keys, because 8 API keys ${listed}`, stay])
  expect(creates(10, all)[0]).toBe(`no API key, because 10 API keys ${listed}`)
})

test('a case that fills the places for keys opens a few sessions, and fills none', () => {
  const sessions = expect.stringContaining('sessions up to the limit of 16')
  expect(planOf({ only: ['limits/every-way'] }).creates).not.toContainEqual(sessions)
  expect(planOf({ only: ['sessions/seventeenth'] }).creates).toContainEqual(sessions)
  const disposable = planOf({ only: ['sessions/seventeenth'], disposable: true })
  expect(disposable.creates).toContain('sessions up to the limit of 16')
})

test('a shared server is told that token pairs may cost sessions, and refused grants are not counted', () => {
  const pairs = (flags: Flags): string | undefined =>
    planOf({ only: ['refresh/same-call-again'], ...flags }).creates.find((line) => line.includes('token pair'))
  expect(pairs({ allow: 'sessions' })).toBe(
    'about 2 token pairs, which stay valid until they expire and may push out sessions of the same user',
  )
  expect(pairs({ disposable: true })).toBe('about 2 token pairs, which stay valid until they expire')
})

test('refused calls are counted by call: those of a list, and what a tally leaves over', () => {
  const refused = (only: string): number => planOf({ only: [only] }).refusals
  for (const scenario of corpus.scenarios.filter(({ steps }) => steps.some((step) => 'tally' in step)))
    expect(refused(scenario.id)).toBeLessThanOrEqual(planOf({ only: [scenario.id] }).calls)
  expect(refused('sessions/at-most-sixteen')).toBeGreaterThanOrEqual(84)
})

test('the test keys of the selected cases are created', () => {
  const keys = ['1 API key', 'up to 1 more if the target takes keys that it should refuse']
  expect(planOf({ only: ['refresh'] }).creates).toEqual(expect.arrayContaining(keys))
})

test('where keys stay, the plan names what would change that', () => {
  const advice = expect.stringContaining('"cleanup" in a target file names a method that removes them')
  expect(planOf().creates).toContainEqual(advice)
  expect(planOf({ disposable: true }).creates).not.toContainEqual(advice)
})

test('the time follows from the calls, from how many are made at once, and from a rate', () => {
  const seconds = (flags: Flags): number => planOf(flags).seconds
  expect(seconds({ url: 'http://127.0.0.1:1' })).toBeLessThan(seconds({}) / 2)
  expect(seconds({ concurrency: '16' })).toBeLessThan(seconds({ concurrency: '1' }))
  expect(seconds({ concurrency: '16', rate: '1' })).toBeGreaterThan(planOf().calls)
  // Measured where a call takes 0.1 s, see the README: 8 s for the cases that leave nothing, 52 s for those of a disposable run.
  const asked = (flags: Flags): number => planRun(optionsOf(flags), corpus).plan.seconds
  // On the loopback the longest wait decides: 6 s.
  const onLoopback = asked({ disposable: true, url: 'http://127.0.0.1:1' })
  const planned = [asked({}), asked({ disposable: true }), onLoopback]
  for (const [at, took] of [8, 52, 6.1].entries())
    expect(Math.abs(Math.log2((planned[at] ?? 0) / took)), `${planned[at]}`).toBeLessThan(0.5)
})

const nothingLeft = 'Nothing is selected: --skip leaves nothing of what --only selects (basic)'
test.each<[Flags, string]>([
  [{ only: ['signature'] }, 'matches "--only signature", did you mean "signatures"?'],
  [{ only: ['basic', 'grant'] }, 'matches "--only grant", did you mean "grants"?'],
  [{ only: ['signatures/hmac-acceptd'] }, 'did you mean "signatures/hmac-accepted"?'],
  [{ only: ['zzz/zzz'] }, 'matches "--only zzz/zzz"; "svc-conformance list" shows them'],
  [{ skip: ['bsic=none yet'] }, 'matches "--skip bsic", did you mean "basic"?'],
  [{ only: ['basic'], skip: ['basic=none'] }, nothingLeft],
  [{ only: ['test-keys/bob'], shard: '3/3' }, 'there are fewer than 3 shards in what --only selects (test-keys/bob)'],
])('%j is an error', (flags, sentence) => {
  expect(() => planRun(readRunOptions(flags, {}), corpus)).toThrow(SuiteError)
  expect(() => planRun(readRunOptions(flags, {}), corpus)).toThrow(sentence)
})

test('a plan of what failed holds that alone, and gives no verdict on the whole document', () => {
  const again = ['basic/secret-of-another', 'no/longer-there']
  const { selected, isPartial } = planRun(readRunOptions({}, {}), corpus, again)
  expect(selected.map(({ key }) => key)).toEqual(['basic/secret-of-another'])
  expect(isPartial).toBe(true)
  expect(planRun(readRunOptions({}, {}), corpus).selected).toHaveLength(allItems(corpus).length)
})

test('the cases about every answer are counted with those that are chosen, where one of these makes a call', () => {
  const counted = (allow: string) => {
    const { plan, reported } = plannedOf({ only: ['refresh/same-call-again'], allow })
    return [plan.cases, reported]
  }
  expect(counted('sessions')).toEqual([4, 4])
  expect(counted('keys')).toEqual([0, 1])
})

function caseThatNeeds(...needs: Need[]): Item {
  const [scenario] = madeUpCorpus({ requirements: [], scenarios: [['a/b', [], needs]] }).scenarios
  const [testCase] = scenario?.cases ?? []
  if (scenario === undefined || testCase === undefined) throw new Error('no case')
  return { kind: 'case', key: 'a/b', scenario, testCase }
}

test('a case that needs a second address says why that does not count', () => {
  const settings = { ...bareSettings, secondAddress: '127.0.0.2' }
  const because = { kind: 'same-address', address: '127.0.0.2' } as const
  const facts = { ...noFacts(), secondAddressProblem: because }
  const reason = whyNotRun(caseThatNeeds('second-address'), { ...capabilities, settings, facts })
  expect(reason).toEqual({ kind: 'needs-second-address', because })
})

test.each<[Need[], string]>([
  [['sessions', 'probe:inbox'], 'not-applicable'],
  [['probe:solution-context'], 'not-applicable'],
  [['probe:store'], 'not-testable'],
  [['sessions'], 'not-testable'],
  [[], 'runs'],
])('where inbox and context are absent, a case that needs %j: %s', (needs, verdict) => {
  const item = caseThatNeeds(...needs)
  const settings = { ...bareSettings, absent: ['inbox', 'context'] }
  const reason = whyNotRun(item, { ...capabilities, settings, allow: [] })
  expect(reason === undefined ? 'runs' : skipItem(item, reason).verdict).toBe(verdict)
})
