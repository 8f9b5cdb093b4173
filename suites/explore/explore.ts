/** One exploration of a target, from its settings to its findings. */

import { readDeviations } from '../engine/language/deviations.ts'
import type { Requirement } from '../engine/language/fixture-types.ts'
import { type Random, seededRandom } from '../engine/signer/random.ts'
import type { Instance } from '../engine/target.ts'
import type { Candidate, ExplorerOptions } from './explorer-types.ts'
import { collectFindings, type Findings, type Found } from './findings.ts'
import { waysToEndKeys } from './keyring.ts'
import { allPairs, callMatrix, type MatrixCoverage, readMatrix } from './matrix.ts'
import { type KnownKey, keyPairMaker, openExplorer } from './open.ts'
import { exploreTarget } from './stages.ts'
import { walk } from './walk.ts'

export interface ExploreOptions extends Pick<ExplorerOptions, 'emit' | 'createdKeys' | 'onCall'> {
  readonly instance: Instance
  readonly allow: { readonly sessions: boolean; readonly keys: boolean; readonly limits: boolean }
  /** Nothing was created on the target before, and nobody else uses it. */
  readonly fresh: boolean
  readonly loopback: boolean
  /** Existing keys: the test keys of a run. */
  readonly knownKeys?: readonly KnownKey[]
  /** How many keys were created on the target before; 0 by default. */
  readonly created?: number
  /** How many wrong tries others made shortly before; 0 by default. */
  readonly triesBefore?: number
  /** How many keys the model may create; no limit by default. */
  readonly newKeys?: number
  /** Id prefixes of the only table and matrix rows to run; null or absent runs all. */
  readonly only?: readonly string[] | null
  /** Whether the last places for keys may be filled; true unless given. */
  readonly fillsKeys?: boolean
  readonly seed: number
  /**
   * Makes what no other exploration of the target may have used: nonces, names and key pairs. By default the seed makes them, as suits a
   * target that lives no longer than its exploration.
   */
  readonly values?: Random
  readonly maxCalls: number
  readonly seconds: number
  /** How many random sequences at most. */
  readonly walks: number
  readonly requirements: readonly Requirement[]
  say(line: string): void
  /** Called with each finding as soon as it is shortened. */
  onFinding?(found: Found): void
}

export interface Exploration {
  readonly findings: readonly Found[]
  readonly calls: number
  /** How many cells of the table were called. */
  readonly asked: number
  readonly cells: number
  /** How many cells were called, for each part of each kind of call. */
  readonly parts: readonly { readonly case: string; readonly asked: number; readonly all: number }[]
  /** Calls to repeat findings. */
  readonly repeated: number
  /** The pairs of values of the matrix. */
  readonly matrix: MatrixCoverage
  readonly rootAccepted: boolean
  readonly gone: string | null
  readonly created: number
  readonly seconds: number
  /** The kinds of sequences that calls or time cut short or left out. */
  readonly skipped: readonly string[]
  /** Calls and milliseconds by stage, for those who tune it. */
  readonly spent: ReadonlyMap<string, { calls: number; ms: number }>
}

/** An exploration in two parts, so that others may use the target between them. */
interface OpenExploration {
  /** Runs the stages that do not disturb later users. */
  ask(): Promise<void>
  /** Notes that others used the target meanwhile. */
  giveWay(): void
  /** Runs the stages that may lock a key or fill a limit, then returns the findings. */
  finish(): Promise<Exploration>
}

export async function explore(options: ExploreOptions): Promise<Exploration> {
  const exploration = openExploration(options)
  await exploration.ask()
  return exploration.finish()
}

export function openExploration(options: ExploreOptions): OpenExploration {
  const { seed, instance, allow, newKeys = everyKey, fillsKeys = true, only = null } = options
  const random = seededRandom(seed)
  const { values = random } = options
  const startedMs = performance.now()
  const elapsed = (): number => performance.now() - startedMs
  const timeLeftMs = (): number => options.seconds * 1000 - elapsed()
  const x = openExplorer({ ...options, operations: readDeviations(), values, timeLeftMs })
  const findings = collectFindings(x, options.requirements)
  const matrix = readMatrix()
  let coverage: MatrixCoverage = { all: allPairs(matrix.dimensions), covered: new Set(), reasons: new Map() }
  const target = exploreTarget(x, {
    ...allow,
    newKeys,
    fillsKeys,
    waysToEndKeys: fillsKeys ? waysToEndKeys(instance.settings) : [],
    only,
    tokenPrefix: instance.settings.tokenPrefix,
    random,
    makeKeyPair: keyPairMaker(values),
    onFinding: (candidate) => reportFinding(findings, candidate, options),
    walk: (caller, isOver) => walk(caller, seed, isOver, options.walks),
    combine: async (caller, isOver) => {
      coverage = await callMatrix({ caller, seed, matrix, only, isOver })
    },
  })
  return {
    ask: target.ask,
    giveWay: x.giveWay,
    finish: async () => {
      const { cells, calls, ...explored } = await target.finish()
      await instance.close()
      return {
        ...explored,
        findings: findings.found,
        calls,
        asked: cells.asked,
        cells: cells.all,
        repeated: x.repeated(),
        matrix: coverage,
        created: x.state().created,
        seconds: elapsed() / 1000,
      }
    },
  }
}

const everyKey = 10

/** Shortens a finding, and reports it if it is new. */
async function reportFinding(
  findings: Findings,
  candidate: Candidate,
  { say, onFinding }: Pick<ExploreOptions, 'say' | 'onFinding'>,
): Promise<void> {
  const before = findings.found.at(-1)
  await findings.take(candidate)
  const found = findings.found.at(-1)
  if (found === before || found === undefined) return
  say(`${found.requirement}: ${found.message}`)
  onFinding?.(found)
}
