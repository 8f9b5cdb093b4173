import {
  type CreatedKey,
  type CreatedKeysEntry,
  openCreatedKeys,
  type RunListener,
} from '../../engine/conversation/conversation.ts'
import { keyLimit } from '../../engine/document.ts'
import type { Corpus, SafetyClass } from '../../engine/language/fixture-types.ts'
import { isLoopback } from '../../engine/target.ts'
import { type Exploration, type ExploreOptions, openExploration } from '../../explore/explore.ts'
import { isShownAgain } from '../../explore/findings.ts'
import { openTarget } from '../../explore/open.ts'
import { type Ending, endedInstance } from '../ending.ts'
import type { TargetOptions } from '../options.ts'

/** A fixed seed: two runs of one release make the same calls. `explore` uses other seeds. */
export const seedOfRelease = 20_260_101
/** The calls bound what the model does. Only where they take longer than this on average does it stop before. In ms. */
const longestCallMs = { nearby: 8, elsewhere: 1000 }
const walks = 20
/** The part of the time that `--timeout` leaves; the rest is for the cases that fill the places for keys. */
const timeShare = 0.5

/** How many keys the model may create, and how many places stay free for wrong creations and for cases about the limit. */
export const mostNewKeys = 4
const placesLeft = 1
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
  /** Id prefixes of the only table and matrix rows to run; null runs all. */
  readonly only: readonly string[] | null
}

/** What the model may do after the cases, with the test keys that they left. */
export function afterCases({ allow, calls, entries, testKeys, hasPlaces, only }: AfterCases) {
  const { keys, unanswered, perhapsCounted } = openCreatedKeys(() => {}, entries)
  const created = keys.length + unanswered.length
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
    newKeys: Math.max(0, Math.min(mostNewKeys, keyLimit - created - placesLeft)),
    fillsKeys: false,
    only,
    knownKeys: [...testKeys, ...narrowKey(keys)],
    seed: seedOfRelease,
    maxCalls: calls,
    walks,
  } satisfies Partial<ExploreOptions>
}

/** A key of a case that may only list solutions. The model needs it when the cases took all places for keys. */
const narrowKey = (keys: readonly CreatedKey[]): CreatedKey[] =>
  keys
    .filter(({ member, secret, scope }) => member === undefined && secret !== undefined && scope?.join() === 'solution')
    .slice(0, 1)

/** The model among the cases of a run. */
interface ModelOfRun {
  ask(): Promise<void>
  giveWay(): void
  finish(): Promise<Exploration>
}

/** Lets the model make calls that no case makes. @param onKey called with each key that it creates */
export async function openModelOfRun(
  { corpus, say, listener }: { corpus: Corpus; say: (line: string) => void; listener: RunListener },
  target: TargetOptions,
  after: AfterCases & { readonly ending: Ending },
  onKey: (key: CreatedKey) => void,
): Promise<ModelOfRun> {
  const { ending } = after
  const opened = await openTarget(target)
  const instance = endedInstance(opened.instance, ending)
  const callMs = isLoopback(target.url) ? longestCallMs.nearby : longestCallMs.elsewhere
  const exploration = openExploration({
    ...opened,
    instance,
    onCall: (calls) => listener({ kind: 'model-called', calls, most: Math.max(calls, after.calls) }),
    ...afterCases(after),
    seconds: Math.min(after.calls * callMs, timeShare * (ending.leftMs() ?? Number.POSITIVE_INFINITY)) / 1000,
    requirements: corpus.requirements,
    say: (line) => say(`The model found: ${line}`),
    createdKeys: openCreatedKeys((entry) => {
      if ('created' in entry) onKey(entry.created)
    }),
  })
  return {
    ask: exploration.ask,
    giveWay: exploration.giveWay,
    finish: async () => {
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
