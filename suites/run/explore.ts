import {
  type CreatedKey,
  type CreatedKeysEntry,
  openCreatedKeys,
  type RunListener,
} from '../engine/conversation/conversation.ts'
import { keyLimit, sparePlaces } from '../engine/document.ts'
import type { StopReason } from '../engine/judge/problem.ts'
import { lintErrors, readScenario } from '../engine/language/corpus.ts'
import { readDeviations } from '../engine/language/deviations.ts'
import type { Corpus, SafetyClass } from '../engine/language/fixture-types.ts'
import { lintContext } from '../engine/language/lint.ts'
import { systemRandom } from '../engine/signer/random.ts'
import type { TargetSettings } from '../engine/target.ts'
import { type Exploration, type ExploreOptions, explore, openExploration } from '../explore/explore.ts'
import { drawAhead } from '../explore/matrix.ts'
import { openTarget } from '../explore/open.ts'
import { readWorlds } from '../explore/read-worlds.ts'
import { solutionKeys } from '../explore/step.ts'
import { isShownAgain } from '../report/report.ts'
import { lastingTarget, type ServerOptions } from '../targets/bundled.ts'
import { openCorpus } from './corpus-cache.ts'
import { type Ending, endedInstance } from './ending.ts'
import { workAtTarget } from './keys.ts'
import type { TargetOptions } from './options.ts'
import { modelCosts } from './plan.ts'
import { runAll, runPreflight } from './run.ts'

type Effort = Omit<ExploreOptions, 'instance' | 'loopback' | 'created'>

/**
 * Explores a server, and removes the API keys that this created, also after Ctrl-C.
 *
 * @param target null: the bundled server
 * @param effort which calls to make, and how long
 * @throws SuiteError (`unreachable`, exit code 3; `interrupted`, exit code 130; `usage` if the record of keys cannot be used)
 */
export async function exploreTarget(target: TargetOptions | null, effort: Effort) {
  const asked = { ...effort, say: (found: string) => effort.say(`Found: ${found}`) }
  if (target === null)
    return { exploration: await explore({ ...asked, ...(await openTarget(null)) }), stopped: null, left: [] }
  let stopped = null as StopReason | null
  const { result, left } = await workAtTarget(target, effort, async (held) => {
    held.ending.onEnd((reason) => {
      stopped = reason
    })
    // Without an accepted key every answer would look like a finding.
    await runPreflight({
      target: held.target,
      corpus: await openCorpus(),
      allow: [],
      random: systemRandom,
      unique: 'first',
      ending: held.ending,
    })
    await held.removeLeftovers()
    const recorded = held.open()
    const created = recorded.keys.length + recorded.unanswered.length
    const opened = await openTarget(target)
    const instance = endedInstance(opened.instance, held.ending)
    return explore({ ...asked, ...opened, instance, created, createdKeys: recorded }).finally(instance.close)
  })
  return { exploration: result, stopped, left }
}

/** A fixed seed: two runs of one release make the same calls. `explore` uses other seeds. */
export const seedOfRelease = 20_260_101
/** Without `--timeout`, the model stops before it has made all of its calls only if they take twice the announced time, those that repeat findings included. */
const timesAnnounced = 2
/**
 * How much of that time is kept for the last stages and for repeating findings: a `share` of it, but not more than `mostMs`. They get `leastMs`
 * in any case, even if the model then takes longer than twice the announced time.
 */
const overtime = { share: 1 / 8, leastMs: 8000, mostMs: 30_000 }
const walks = 20
/** The part of the time that `--timeout` leaves; the rest is for the cases that fill the places for keys. */
const timeShare = 0.5

/** The cases make hundreds of wrong tries, most of them on the root key. */
const triesOfCases = 100

/** What the cases left, and what the run allows. */
interface AfterCases {
  readonly allow: readonly SafetyClass[]
  readonly calls: number
  /** Everything recorded about created keys. */
  readonly entries: readonly CreatedKeysEntry[]
  readonly testKeys: readonly CreatedKey[]
  /** Only this run uses the target, and places for keys are free, because the cases that fill them come later. */
  readonly hasPlaces: boolean
  /** A case lost a race of sessions, and what it left may stay. */
  readonly hasSurplusSessions?: boolean
  /** Id prefixes of the only table and matrix rows to run; null runs all. */
  readonly only: readonly string[] | null
}

/** What the model may do after the cases, with the test keys that they left. */
export function afterCases({ allow, entries, testKeys, hasPlaces, ...after }: AfterCases) {
  const { keys, unanswered, perhapsCounted } = openCreatedKeys(() => {}, entries)
  const created = keys.length + unanswered.length
  const untried = hasPlaces ? keys.find(isUntried) : undefined
  const isLax = keys.some(({ member, scope }) => member === undefined && scope === undefined)
  return {
    allow: {
      sessions: allow.includes('sessions'),
      keys: hasPlaces && allow.includes('keys'),
      limits: allow.includes('limits'),
    },
    // Removed keys and refused creations may count.
    fresh: hasPlaces && perhapsCounted === 0,
    created,
    triesBefore: triesOfCases,
    hasSurplusSessions: after.hasSurplusSessions ?? false,
    newKeys: Math.max(0, Math.min(modelCosts.newKeys, keyLimit - created - sparePlaces)),
    fillsKeys: false,
    // A target that accepted a wrong creation in a case would accept those of the model, too. They would fill the places that the race for keys needs.
    triesCreations: !isLax,
    only: after.only,
    knownKeys: [...testKeys, ...narrowKeys(keys.filter((key) => key !== untried))],
    untried,
    seed: seedOfRelease,
    maxCalls: after.calls,
    walks,
  } satisfies Partial<ExploreOptions>
}

/**
 * Keys of cases that may only list solutions: of those with a secret one for calls, and others for sessions, which the model counts for each key at
 * the same time.
 */
function narrowKeys(keys: readonly CreatedKey[]): CreatedKey[] {
  const narrow = keys.filter(({ member, scope }) => member === undefined && scope?.join() === 'solution')
  const signers = narrow.filter(({ privateKey }) => privateKey !== undefined)
  const others = narrow.filter(({ privateKey, secret }) => privateKey === undefined && secret !== undefined)
  return [...others.slice(0, solutionKeys.secret.length), ...signers.slice(0, solutionKeys.ecc.length)]
}

/** The case whose key must outlive the access token that created it. No case makes a wrong call with this key, disables it or removes it. */
const isUntried = ({ step, scope, secret }: CreatedKey): boolean =>
  step?.caseKey === 'keys/apikey-scope' && scope !== undefined && secret !== undefined

/** How long the model may go on, and how long beyond that for what it repeats. @param leftMs what the run has left; undefined: no limit */
export function timeOfModel(calls: number, url: string, leftMs = Number.POSITIVE_INFINITY) {
  const mostMs = Math.min(timesAnnounced * calls * modelCosts.callMs(url), timeShare * leftMs)
  const keptMs = Math.min(overtime.share * mostMs, overtime.mostMs)
  return { seconds: (mostMs - keptMs) / 1000, overtimeMs: Math.max(keptMs, overtime.leastMs) }
}

/** Reads and draws what the model begins with; it need not do it again. */
export function prepareModel(): void {
  readDeviations()
  readWorlds()
  drawAhead(seedOfRelease)
}

/** Progress is told no more often. In ms. */
const tellEveryMs = 50

/** Lets the model make calls that no case makes. @param onKey called with each key that it creates */
export async function openModelOfRun(
  { corpus, say, listener }: { corpus: Corpus; say: (line: string) => void; listener: RunListener },
  target: TargetOptions,
  after: AfterCases & { readonly ending: Ending },
  onKey: (key: CreatedKey) => void,
) {
  const { ending } = after
  const opened = await openTarget(target)
  const time = timeOfModel(after.calls, target.url, ending.leftMs())
  const endsMs = performance.now() + time.seconds * 1000 + time.overtimeMs
  const ended = endedInstance(opened.instance, ending)
  // A throttled call waits no longer than the model may go on.
  const leftMs = (): number => Math.min(endsMs - performance.now(), ending.leftMs() ?? Number.POSITIVE_INFINITY)
  const instance = { ...ended, clock: { ...ended.clock, leftMs } }
  let toldMs = Number.NEGATIVE_INFINITY
  const exploration = openExploration({
    ...opened,
    instance,
    onCall: (calls, likely) => {
      if (performance.now() - toldMs < tellEveryMs) return
      toldMs = performance.now()
      const most = Math.max(calls, after.calls)
      // Findings are seldom repeated up to the last moment.
      const leftMs = Math.max(0, endsMs - time.overtimeMs / 2 - performance.now())
      listener({ kind: 'model-called', calls, most, likely: Math.max(calls, likely), leftMs })
    },
    ...afterCases(after),
    ...time,
    requirements: corpus.requirements,
    say: (line) => say(`The model found: ${line}`),
    createdKeys: openCreatedKeys((entry) => {
      if ('created' in entry) onKey(entry.created)
    }),
  })
  return {
    ask: exploration.ask,
    giveWay: exploration.giveWay,
    finish: async (): Promise<Exploration> => {
      try {
        const explored = await exploration.finish()
        for (const { message, requirement, reproduced } of explored.findings.filter((one) => !isShownAgain(one)))
          say(
            `Not counted, as ${reproduced.tries} further tries did not show it again: ${message} (${requirement}); explore reports it`,
          )
        return { ...explored, findings: explored.findings.filter(isShownAgain) }
      } finally {
        await instance.close()
      }
    },
  }
}

/** A server of this process, and what a target file would say of it. */
interface TriedServer {
  readonly settings: Partial<TargetSettings>
  create(): Omit<ServerOptions, 'clock'>
}

const referenceServer: TriedServer = { settings: {}, create: () => ({}) }

/**
 * Runs one scenario on a new instance of a server: the bundled one, or another server of this process.
 *
 * @param text a scenario of one case
 * @param requirement one that it proves
 * @returns the verdict on the requirement, or the problem where the case gave none
 * @throws SuiteError (`fixture`) for a scenario that is not right
 */
export async function tryScenario(
  text: string,
  requirement: string,
  corpus: Corpus,
  { settings, create }: TriedServer = referenceServer,
): Promise<string> {
  const read = readScenario(text, 'fixtures/scenarios/found/one.yaml')
  const [error] = lintErrors(read, lintContext(corpus))
  if (error !== undefined) throw error
  const target = lastingTarget(create(), settings)
  const outcomes = await runAll({ target, corpus: { ...corpus, scenarios: [read.scenario] } })
  const outcome = outcomes.find(({ id }) => id === read.scenario.id)
  if (outcome === undefined) return 'not run'
  const verdict = outcome.requirements[requirement] ?? outcome.verdict
  const isClear = ['passed', 'failed', 'warned'].includes(verdict)
  return isClear ? verdict : `${verdict}: ${JSON.stringify(outcome.problem).slice(0, 300)}`
}

export const isBroken = (verdict: string): boolean => verdict === 'failed' || verdict === 'warned'
