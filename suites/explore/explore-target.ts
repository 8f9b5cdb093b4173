/** The order of an exploration: every part is changed once before any is changed twice; calls that fill a limit come last. */

import { type Budget, sizesFor } from './budget.ts'
import { openTable, type Table } from './call-cells.ts'
import { type Candidate, type Explorer, TargetGone } from './explorer-types.ts'
import { fillKeyring } from './fill-keyring.ts'
import { type Keyring, keyringOf } from './keyring.ts'
import { isNamedBy } from './matrix.ts'
import type { Plan } from './plan.ts'
import {
  findWorkingAuthorization,
  learnAddresses,
  learnLiveTokens,
  learnSignatures,
  learnSolution,
  learnTokens,
} from './preflight.ts'
import { sessionStages } from './session-stages.ts'
import { outlastSessions } from './session-storms.ts'
import {
  callsAtEnd,
  chosenRows,
  closingStages,
  firstTurns,
  isOver,
  keyStages,
  lastStages,
  type Stages,
  tokenStages,
  wideStages,
} from './stages.ts'
import { expectEveryKeyAccepted } from './still-valid.ts'
import { type Caller, cells } from './table.ts'
import { learnWithdrawals } from './withdrawals.ts'

interface AskedOfTarget {
  readonly rootAccepted: boolean
  readonly gone: string | null
  readonly cells: { readonly asked: number; readonly all: number }
  /** How many cells were called, for each part of each kind of call. */
  readonly parts: readonly { readonly case: string; readonly asked: number; readonly all: number }[]
  readonly calls: number
  /** The kinds of sequences that calls or time cut short or left out. */
  readonly skipped: readonly string[]
  /** Calls and milliseconds by script, for those who tune it. */
  readonly spent: ReadonlyMap<string, { calls: number; ms: number }>
}

/** An exploration in two parts, so that others may use the target between them. */
interface TargetExploration {
  /** The stages that do not disturb later users. */
  ask(): Promise<void>
  /** The stages that fill a limit, may lock a key or move the clock by hours. */
  finish(): Promise<AskedOfTarget>
}

export function exploreTarget(x: Explorer, plan: Plan): TargetExploration {
  const spent = new Map<string, { calls: number; ms: number }>()
  const found: Candidate[] = []
  x.report = (candidate) => void found.push(candidate)
  const settle = async (): Promise<void> => {
    for (const candidate of found.splice(0)) await plan.onFinding(candidate)
  }
  const result = { rootAccepted: false, gone: null as string | null }
  let all: Stages | undefined
  const skipped = new Set<string>()
  const mustSkip = (pausesMs: number): boolean => {
    if (all === undefined || all.isEnding) return x.isOver({ calls: 0, ms: -lateMs })
    const isTooShort =
      pausesMs > 0 && !x.options.wire.controlled && x.isOver({ calls: 0, ms: pausesMs + all.sizes.sequencesMs })
    return isTooShort || isOver(all)
  }
  const stage = async (name: string, run: () => Promise<unknown>, pausesMs = 0): Promise<void> => {
    const [calls, from] = [x.calls(), x.options.wire.now()]
    if (mustSkip(pausesMs)) return void skipped.add(name)
    await run()
    if (!countedApart.has(name) && x.isOver({ calls: 0, ms: Number.NEGATIVE_INFINITY })) skipped.add(name)
    await settle()
    const before = spent.get(name) ?? { calls: 0, ms: 0 }
    spent.set(name, { calls: before.calls + x.calls() - calls, ms: before.ms + x.options.wire.now() - from })
  }
  const unlessGone = async (run: () => Promise<void>): Promise<void> => {
    try {
      await run()
    } catch (error) {
      if (!(error instanceof TargetGone)) throw error
      result.gone = error.message
      await settle().catch(() => {})
    }
  }
  return {
    ask: () =>
      unlessGone(async () => {
        await stage('preflight', async () => {
          result.rootAccepted = await findWorkingAuthorization(x)
        })
        if (!result.rootAccepted) return
        all = await openStages(x, plan, stage)
        await quietStages(all)
      }),
    finish: async () => {
      await unlessGone(async () => {
        if (all !== undefined && result.gone === null && plan.only === null) await lastStages(all)
      })
      return {
        ...result,
        ...countsOf(all),
        calls: x.calls(),
        skipped: [...skipped],
        spent,
      }
    },
  }
}

/** Stages of which the report counts how much was made. */
const countedApart = new Set(['table', 'matrix', 'random walks'])

/** How late the last stages may end; they are short. */
const lateMs = 4000

async function openStages(x: Explorer, plan: Plan, stage: Stages['stage']): Promise<Stages> {
  const pairs = new Map<string, string>()
  let keyring: Keyring = keyringOf(x, { grants: false, keys: plan.keys, limits: plan.limits })
  await stage('preflight', async () => {
    keyring = await learnTarget(x, plan, pairs)
  })
  const caller: Caller = { x, keyring, pairs, sinceControl: new Map(), turns: new Map(), asked: new Set() }
  const table: Table = openTable(cells(x.options.operations, plan.random).filter(({ id }) => isNamedBy(plan.only, id)))
  const sizes = sizesFor(budgetOf(x))
  x.reserve(callsAtEnd(caller, sizes, plan))
  return {
    caller,
    plan,
    sizes,
    isEnding: false,
    table,
    stage,
    expiring: { due: 0, pairs: [], replaced: [] },
  }
}

async function quietStages(all: Stages): Promise<void> {
  if (all.plan.only !== null) return chosenRows(all)
  await firstTurns(all)
  await sessionStages(all)
  await tokenStages(all)
  await keyStages(all)
  await wideStages(all)
  all.isEnding = true
  all.caller.x.reserve(0)
  await closingStages(all)
}

function countsOf(all: Stages | undefined): Pick<AskedOfTarget, 'cells' | 'parts'> {
  if (all === undefined) return { cells: { asked: 0, all: 0 }, parts: [] }
  const { asked, parts, all: size } = all.table
  return { cells: { asked, all: size }, parts: [...parts].map(([name, count]) => ({ case: name, ...count })) }
}

/** How many of the last calls show how long one takes. */
const recentCalls = 20

/** What is left to spend, as far as the calls until now show. */
function budgetOf({ log, calls, options: { maxCalls, timeLeftMs, wire } }: Explorer): Budget {
  const budget = { maxCalls, made: calls(), timeLeftMs: timeLeftMs(), waits: !wire.controlled }
  // A clock that is moved does not show how long calls take.
  if (wire.controlled) return { ...budget, callMs: 0 }
  const recent = log.flatMap(({ seen }) => seen).slice(-recentCalls)
  const tookMs = recent.reduce((sum, { span }) => sum + span.to - span.from, 0)
  return { ...budget, callMs: tookMs / Math.max(1, recent.length) }
}

/** Learns the words and clocks of the target and our addresses, and creates keys. */
async function learnTarget(x: Explorer, plan: Plan, pairs: Map<string, string>): Promise<Keyring> {
  const before = keyringOf(x, { grants: false, keys: plan.keys, limits: plan.limits })
  const first = before.secret[0]
  const hasTokens = plan.sessions && first !== undefined && (await learnTokens(x, first, plan.tokenPrefix))
  if (hasTokens) await learnLiveTokens(x, first, sizesFor(budgetOf(x)).otherTokens)
  await learnSignatures(x)
  await learnAddresses(x, first ?? 'root', hasTokens)
  if (hasTokens) await learnWithdrawals(x, first, plan.keys)
  const { seed, publicKeyPem } = plan.makeKeyPair()
  x.names.set('spare', { seed, publicKey: publicKeyPem })
  if (plan.keys) await fillKeyring(x, pairs, { ...plan, hasTokens })
  // The token of this key created others, in a session.
  if (plan.limits && sizesFor(budgetOf(x)).storms > 0 && x.names.has('by-token')) await outlastSessions(x, 'by-token')
  const keyring = keyringOf(x, { grants: plan.sessions && hasSecretKeys(x), keys: plan.keys, limits: plan.limits })
  if (keyring.grants)
    for (const who of keyring.secret.slice(0, sizesFor(budgetOf(x)).users)) await learnSolution(x, who)
  await expectEveryKeyAccepted(x, keyring)
  return keyring
}

const hasSecretKeys = (x: Explorer): boolean =>
  keyringOf(x, { grants: true, keys: true, limits: true }).secret.length > 0
