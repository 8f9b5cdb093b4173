/** One exploration of a target, from its settings to its findings. */
import type { Requirement } from '../engine/fixture/model.ts'
import { seededRandom } from '../engine/random.ts'
import type { RootKey, TargetSettings } from '../engine/target.ts'
import { readDeviations } from './deviations.ts'
import { exploreTarget } from './explore-target.ts'
import { collectFindings, type Found } from './findings.ts'
import { askMatrix, readMatrix } from './matrix.ts'
import { type KnownKey, keyPairMaker, openExplorer } from './open.ts'
import { walk } from './walk.ts'
import type { Wire } from './wire.ts'

export interface ExploreOptions {
  readonly wire: Wire
  readonly root: RootKey
  readonly settings: TargetSettings
  readonly allow: { readonly sessions: boolean; readonly keys: boolean; readonly limits: boolean }
  /** Nothing was created on the target before, and nobody else uses it. */
  readonly fresh: boolean
  readonly loopback: boolean
  /** Keys that are there already: the test keys of a run. */
  readonly knownKeys?: readonly KnownKey[]
  readonly seed: number
  readonly maxCalls: number
  readonly seconds: number
  /** How many random sequences at most. */
  readonly walks: number
  readonly requirements: readonly Requirement[]
  say(line: string): void
  /** Called with each finding as soon as it was made shorter. */
  onFinding?(found: Found): void
}

export interface Exploration {
  readonly findings: readonly Found[]
  readonly calls: number
  /** Cells of the table that were asked. */
  readonly asked: number
  readonly cells: number
  /** Parts of calls of which a cell was asked, and how many there are. */
  readonly fields: { readonly asked: number; readonly all: number }
  /** Calls that were made to repeat findings. */
  readonly repeated: number
  readonly pairs: number
  readonly letIn: boolean
  readonly gone: string | null
  readonly created: number
  readonly seconds: number
  /** Calls and milliseconds by stage, for those who tune it. */
  readonly spent: ReadonlyMap<string, { calls: number; ms: number }>
}

export async function explore(options: ExploreOptions): Promise<Exploration> {
  const { seed, wire, allow } = options
  const random = seededRandom(seed)
  const startedMs = performance.now()
  const elapsed = (): number => performance.now() - startedMs
  const x = openExplorer({
    ...options,
    operations: readDeviations(),
    random,
    timeLeftMs: () => options.seconds * 1000 - elapsed(),
  })
  const findings = collectFindings(x, options.requirements)
  let pairs = 0
  const explored = await exploreTarget(x, {
    ...allow,
    tokenPrefix: options.settings.tokenPrefix,
    random,
    makeKeyPair: keyPairMaker(random),
    onFinding: async (candidate) => {
      const before = findings.found.length
      await findings.take(candidate)
      const found = findings.found.at(-1)
      if (findings.found.length <= before || found === undefined) return
      options.say(`${found.requirement}: ${found.message}`)
      options.onFinding?.(found)
    },
    walk: (asker, isOver) => walk(asker, seed, isOver, async () => {}, options.walks),
    combine: async (asker, isOver) => {
      pairs = (await askMatrix(asker, random, readMatrix(), isOver)).size
    },
  })
  wire.close()
  return {
    findings: findings.found,
    calls: x.calls(),
    asked: explored.cells.asked,
    cells: explored.cells.all,
    fields: explored.fields,
    repeated: x.repeated(),
    pairs,
    letIn: explored.letIn,
    gone: explored.gone,
    created: x.state().created,
    seconds: elapsed() / 1000,
    spent: explored.spent,
  }
}
