/**
 * One exploration of a target, from its settings to its findings, stage by stage: every part is changed once before any is changed twice, what disturbs nothing comes first, and what fills
 * a limit, may lock a key or moves the clock by hours comes last.
 */

import { readDeviations } from '../engine/language/deviations.ts'
import type { Requirement } from '../engine/language/fixture-types.ts'
import { areApart, type Member } from '../engine/model/sessions.ts'
import { memberOf } from '../engine/model/state.ts'
import { type Random, seededRandom } from '../engine/signer/random.ts'
import type { Explored } from '../report/report.ts'
import { type Sizes, sizesFor } from './budget.ts'
import { compareWithoutPublicKey, createKeys } from './create-keys.ts'
import { type Explorer, openExplorer, TargetGone } from './explorer.ts'
import { collectFindings, type Found } from './findings.ts'
import { type Caller, callerOf, expectAccepted, expectRefused, keyringOf } from './keyring.ts'
import { callMatrix, isNamedBy, noCoverage } from './matrix.ts'
import {
  findWorkingAuthorization,
  learnAddresses,
  learnAges,
  learnLiveTokens,
  learnSignatures,
  learnSolution,
  learnTokens,
  learnWithdrawals,
} from './preflight.ts'
import { readWorlds } from './read-worlds.ts'
import { basic, type Candidate, ecc, hmac, list, refresh, solutionKeys, token } from './step.ts'
import { callCells, cells, openTable } from './table.ts'
import { takeTurns } from './take-turns.ts'
import { walk } from './walk.ts'
import { combinations, listOf, pausesOf, type Values } from './world-steps.ts'
import { valuesOf } from './world-values.ts'
import { runWorld } from './worlds.ts'

type Wishes = NonNullable<Parameters<typeof callerOf>[2]>

type ExplorerOptions = Parameters<typeof openExplorer>[0]

export interface ExploreOptions extends Wishes, Omit<ExplorerOptions, 'values' | 'timeLeftMs' | 'onCall'> {
  /** Called before each call, with its number, and with how many there will probably be; repetitions count. */
  onCall?(calls: number, likely: number): void
  readonly allow: { readonly sessions: boolean; readonly keys: boolean; readonly limits: boolean }
  /** How many keys the model may create; no limit by default. */
  readonly newKeys?: number
  /** Id prefixes of the only table and matrix rows to run; null or absent runs all. */
  readonly only?: readonly string[] | null
  readonly seed: number
  /**
   * Makes what no other exploration of the target may have used: nonces, names and key pairs. By default the seed makes them, as suits a
   * target that lives no longer than its exploration.
   */
  readonly values?: Random
  readonly seconds: number
  /** How many random sequences at most. */
  readonly walks: number
  readonly requirements: readonly Requirement[]
  /** Returns the time on a monotonic clock, from which the end is computed; by default, on the clock of this machine. In ms. */
  monotonicMs?(): number
  say(line: string): void
  /** Called with each finding as soon as it is shortened. */
  onFinding?(found: Found): void
}

export type Exploration = Awaited<ReturnType<ReturnType<typeof openExploration>['finish']>>

export async function explore(options: ExploreOptions): Promise<Exploration> {
  const exploration = openExploration(options)
  await exploration.ask()
  return exploration.finish()
}

/** The values that the stages share. */
type Stages = Awaited<ReturnType<typeof openStages>>

/** Runs one stage, then handles its findings. Skips it if too little is left. @param pausesMs how long it waits */
type Stage = (name: string, run: () => Promise<unknown>, pausesMs?: number) => Promise<void>

/** An exploration in two parts, so that others may use the target between them. */
export function openExploration(options: ExploreOptions) {
  const { instance, requirements, say, onFinding } = options
  const random = seededRandom(options.seed)
  const { values = random, monotonicMs = () => performance.now() } = options
  const startedMs = monotonicMs()
  const elapsed = (): number => monotonicMs() - startedMs
  let all: Stages | undefined
  const timeLeftMs = (): number => options.seconds * 1000 - elapsed()
  const x = openExplorer({
    ...options,
    values,
    timeLeftMs,
    onCall: (calls) => options.onCall?.(calls, all === undefined ? options.maxCalls : likelyCalls(all, calls)),
  })
  const { clock } = x
  const findings = collectFindings(x, requirements)
  const begun = new Set<string>()
  const contradictions: Candidate[] = []
  x.report = (candidate) => void contradictions.push(candidate)
  /** Shortens what a stage found, and reports what is new. */
  const settle = async (): Promise<void> => {
    for (const candidate of contradictions.splice(0)) {
      const before = findings.found.at(-1)
      await findings.take(candidate)
      const found = findings.found.at(-1)
      if (found === before || found === undefined) continue
      say(`${found.requirement}: ${found.message}`)
      onFinding?.(found)
    }
  }
  let rootAccepted = false
  let gone: string | null = null
  const skipped = new Set<string>()
  const mustSkip = (pausesMs: number): boolean => {
    if (all === undefined || all.isEnding) return x.isOver({ calls: 0, ms: -lateMs })
    const isTooShort = pausesMs > 0 && !clock.controlled && x.isOver({ calls: 0, ms: pausesMs + all.sizes.sequencesMs })
    return isTooShort || isOver(all)
  }
  const stage: Stage = async (name, run, pausesMs = 0) => {
    if (mustSkip(pausesMs)) return void skipped.add(name)
    begun.add(name)
    x.script = name
    await run()
    if (!countedApart.has(name) && x.isOver({ calls: 0, ms: Number.NEGATIVE_INFINITY })) skipped.add(name)
    await settle()
  }
  const unlessGone = async (run: () => Promise<void>): Promise<void> => {
    try {
      await run()
    } catch (error) {
      if (!(error instanceof TargetGone)) throw error
      gone = error.message
      await settle().catch(() => {})
    }
  }
  return {
    /** Runs the stages that do not disturb later users. */
    ask: (): Promise<void> =>
      unlessGone(async () => {
        await stage('preflight', async () => {
          rootAccepted = await findWorkingAuthorization(x)
        })
        if (!rootAccepted) return
        all = await openStages(x, options, random, stage)
        await quietStages(all)
      }),
    /** Notes that others used the target meanwhile. */
    giveWay: x.giveWay,
    /** Runs the stages that may lock a key or fill a limit, then returns the findings. */
    finish: async () => {
      await unlessGone(async () => {
        if (all !== undefined && gone === null && onlyOf(options) === null) await lastStages(all)
      })
      await instance.close()
      const { asked = 0, parts = [], all: cells = 0 } = all?.table ?? {}
      const matrix = all?.coverage ?? noCoverage()
      return {
        findings: findings.found as readonly Found[],
        explored: {
          calls: x.calls(),
          repeated: x.repeated(),
          changes: { asked, all: cells },
          pairs: { covered: matrix.covered.size, all: matrix.all.length },
          parts: [...parts].map(([name, count]) => ({ case: name, ...count })),
          skipped: [...skipped],
          unproved: [
            ...(rootAccepted || gone !== null || x.isOver({ calls: 0, ms: 0 }) ? [] : [refusedRoot]),
            ...(options.allow.sessions && rootAccepted && x.addresses[0]?.seen === '' ? [unknownAddress] : []),
          ],
        } satisfies Required<Explored>,
        /** The pairs of values of the matrix. */
        matrix,
        rootAccepted,
        gone,
        seconds: elapsed() / 1000,
        /** The stages that were begun; one that is also among `explored.skipped` was cut short. */
        begun: begun as ReadonlySet<string>,
      }
    },
  }
}

const unknownAddress =
  'addresses/bound: which address of ours the target sees is not known, as behind a proxy; set clientAddress in the target file'

const refusedRoot = 'anything: when it began, the initial key was refused in every way, as a locked key is'

const onlyOf = ({ only = null }: ExploreOptions): readonly string[] | null => only

/** Stages of which the report counts how much was made. */
const countedApart = new Set(['table', 'matrix', 'random walks'])

/** How late the last stages may end; they are short. */
const lateMs = 4000

async function openStages(x: Explorer, options: ExploreOptions, random: Random, stage: Stage) {
  const caller = callerOf(x, { ...options.allow, grants: false }, options)
  await stage('preflight', async () => {
    caller.keyring = await learnTarget(caller, options)
  })
  const sizes = sizesFor(budgetOf(x))
  x.reserve(callsAtEnd(caller, sizes))
  return {
    caller,
    options,
    /** Draws a number below another. */
    pick: (count: number): number => random.below(Math.max(1, count)),
    sizes,
    coverage: noCoverage(),
    /** How many parts of the worlds are still to run before the rest of the table. */
    partsLeft: partsBefore,
    /** The last stages may use what is reserved for them. */
    isEnding: false,
    table: openTable(cells(readDeviations(), random).filter(({ id }) => isNamedBy(onlyOf(options), id))),
    stage,
  }
}

/** What is left to spend, as far as the calls until now show. */
function budgetOf({
  calls,
  callMs,
  clock,
  options: { maxCalls, timeLeftMs },
}: Explorer): Parameters<typeof sizesFor>[0] {
  const budget = { maxCalls, made: calls(), timeLeftMs: timeLeftMs(), waits: !clock.controlled }
  // A clock that is moved does not show how long calls take.
  return { ...budget, callMs: clock.controlled ? 0 : callMs() }
}

/** Learns the words and clocks of the target and our addresses, and creates keys. */
async function learnTarget(caller: Caller, { allow, newKeys = everyKey }: ExploreOptions): Promise<Caller['keyring']> {
  const { x, keyring: before } = caller
  const [first] = before.secret
  const hasTokens = allow.sessions && first !== undefined && (await learnTokens(x, first))
  if (hasTokens) await learnLiveTokens(x, first, sizesFor(budgetOf(x)).otherTokens)
  await learnSignatures(x)
  await learnAddresses(x, first ?? 'root', hasTokens)
  if (hasTokens) await learnWithdrawals(x, first, allow.keys)
  x.names.set('spare', x.makeKeyPair())
  if (allow.keys) await createKeys(x, { newKeys, hasTokens })
  for (const who of solutionKeys.secret.slice(1)) await x.call(list(basic(who)))
  const hasSecretKeys = keyringOf(x, { ...allow, grants: true }).secret.length > 0
  const keyring = keyringOf(x, { ...allow, grants: allow.sessions && hasSecretKeys })
  const sizes = sizesFor(budgetOf(x))
  // The token of this key created others, in a session.
  if (sizes.storms > 0 && x.names.has('by-token'))
    await runWorld({ ...caller, keyring }, 'sessions outlasted', {
      sizes,
      values: { who: 'by-token' },
      isOver: () => false,
    })
  if (keyring.grants) for (const who of keyring.secret.slice(0, sizes.users)) await learnSolution(x, who)
  await everyKeyWorks({ ...caller, keyring })
  return keyring
}

/** More than may be created. */
const everyKey = 10

/** Calls kept back for the stage that moves the clock by hours, and for keys in the places of those that are deleted. */
const clockStageCalls = 440
const otherKeysCalls = 330

/** Whether the keys of the exploration may be replaced by others, once nothing needs them. */
const mayReplaceKeys = ({ keyring, waysToEndKeys: ways }: Caller): boolean =>
  keyring.keys && keyring.limits && ways.some(({ requirement }) => requirement === 'keys/can-be-deleted')

/** How many calls the last stages need. */
function callsAtEnd(caller: Caller, { reserved }: Sizes): number {
  if (reserved === 0) return 0
  const { controlled } = caller.x.clock
  return reserved + (controlled ? clockStageCalls : 0) + (mayReplaceKeys(caller) ? otherKeysCalls : 0)
}

/** Whether only what is reserved for the last stages is left. @param calls how many more are reserved */
const isOver = ({ caller: { x }, sizes, isEnding }: Stages, calls = 0): boolean =>
  isEnding ? x.isOver({ calls: 0, ms: -lateMs }) : x.isOver({ calls, ms: sizes.reservedMs })

/**
 * The worlds of a part of fixtures/worlds/order.yaml, or a single one: each as a stage of its name. Of those that count the sessions of different
 * keys, one goes on while another waits.
 */
async function worlds(all: Stages, part: string): Promise<void> {
  const { caller } = all
  const { clock } = caller.x
  for (const names of neighbours(readWorlds().order.get(part) ?? [part])) {
    const jobs = names.flatMap((name) => jobsOf(all, name))
    if (jobs.length > 1 && !clock.controlled)
      await takeTurns(
        withFellows(caller.x, jobs),
        () => clock.now(),
        (untilMs) => meanwhile(all, untilMs - clock.now()),
      )
    else for (const job of jobs) await job.run((ms) => meanwhile(all, ms))
  }
}

/** Worlds that count sessions and follow one another are put together. */
function neighbours(names: readonly string[]): string[][] {
  const counts = (name = ''): boolean => readWorlds().worlds.get(name)?.counts !== undefined
  const groups: string[][] = []
  for (const name of names) {
    const last = groups.at(-1)
    if (counts(name) && counts(last?.[0])) last?.push(name)
    else groups.push([name])
  }
  return groups
}

type Job = Parameters<typeof takeTurns>[0][number]

/** A world as one job, or each of its combinations, where each counts the sessions of a key of its own. */
function jobsOf(all: Stages, name: string): Job[] {
  const { caller, sizes } = all
  const { counts = [], each = {} } = readWorlds().worlds.get(name) ?? {}
  const jobOf = (values: Values, only?: number): Job => ({
    needs: listOf(counts, values, sizes.column).map(String),
    run: (wait) => all.stage(name, () => world(all, name, { wait, only }), pausesOf(name, sizes.column)),
  })
  const values = new Map(valuesOf(caller, sizes))
  if (!counts.some((key) => each[key.slice(1)] !== undefined)) return [jobOf(values)]
  return [...combinations(Object.entries(each), values, sizes.column)].map(jobOf)
}

/** Jobs that also need the keys that may be the same user as theirs, as far as the target is known. */
function withFellows(x: Explorer, jobs: readonly Job[]): Job[] {
  const all = [...new Set(jobs.flatMap(({ needs }) => needs))]
  const state = x.state()
  const memberOfKey = (who: string): Member =>
    memberOf(state, { key: x.names.get(who)?.id ?? who, line: -1, scope: ['session:any'] })
  const isFellow = (one: string, other: string): boolean =>
    !areApart(state.sessions, [memberOfKey(one), memberOfKey(other)])
  return jobs.map((job) => ({
    ...job,
    needs: all.filter((one) => job.needs.some((key) => key === one || isFellow(key, one))),
  }))
}

type OfWorld = Pick<Parameters<typeof runWorld>[2], 'values' | 'wait' | 'only'>

const world = (all: Stages, name: string, more: OfWorld = {}): Promise<string[]> =>
  runWorld(all.caller, name, {
    sizes: all.sizes,
    isOver: () => isOver(all),
    wait: (ms) => meanwhile(all, ms),
    ...more,
  })

/** How many calls are made beside the table before all of it was asked, for each of its ways. */
const callsBeside = 0.6

/**
 * During a pause only calls are made that grant no token, because a grant may count as a session; and of the table only what the budget reaches,
 * so that the rest of it loses no calls to them. Each pause gets as many calls as a near target answers in it, so that a seed makes the same calls on
 * every machine; a slow one makes the rest of them after the pauses.
 */
async function meanwhile(all: Stages, ms: number): Promise<void> {
  const { x } = all.caller
  const { clock } = x
  const until = clock.now() + ms
  const most = x.calls() + Math.floor(ms / callOfPauseMs)
  const isLate = (): boolean => x.calls() > most || isOver(all, all.sizes.sequenceCalls)
  if (!clock.controlled)
    await callCells(all.caller, all.table, {
      only: ({ isHarmless, isDeferred }) => isHarmless && (pausesReachAll(all) || !isDeferred),
      until,
      isOver: isLate,
    })
  if (clock.now() < until) await x.wait(until - clock.now())
}

/** Whether there are pauses, and calls for the whole table. */
const pausesReachAll = ({ caller: { x }, table }: Stages): boolean =>
  !x.clock.controlled && x.options.maxCalls >= (1 + callsBeside) * table.all

/** What a call takes on a quiet machine, the model's work included. */
const callOfPauseMs = 1.2

async function quietStages(all: Stages): Promise<void> {
  const { caller, sizes, table, stage, options } = all
  if (onlyOf(options) !== null) return chosenRows(all)
  await worlds(all, 'first')
  all.partsLeft -= 1
  await stage('table', () =>
    callCells(caller, table, {
      only: ({ turn, isHarmless }) => turn < sizes.firstTurns && !(pausesReachAll(all) && isHarmless),
      isOver: () => isOver(all),
    }),
  )
  await stage('ages of sessions', () => ages(all))
  for (const name of ['sessions', 'tokens', 'scopes']) {
    await worlds(all, name)
    all.partsLeft -= 1
    await stage('what must still be valid', () => someStillWork(caller, all.pick))
  }
  await worlds(all, 'races')
  all.partsLeft -= 1
  await worlds(all, 'keys')
  await stage('what must still be valid', () => everyKeyWorks(caller))
  await wideStages(all)
  all.isEnding = true
  caller.x.reserve(0)
  await worlds(all, 'public key material')
  await runLater(all, 'all')
  await stage('revoked tokens again', () => deadStayDead(caller, sizes.revokedTries, all.pick))
  await worlds(all, 'session races')
  await worlds(all, 'keys of one scope')
  await stage('what must still be valid', () => everyKeyWorks(caller))
}

/** Where pauses cost time, learns how long those between sessions must be. */
async function ages({ caller, sizes }: Stages): Promise<void> {
  const { x, keyring } = caller
  const who = new Map(valuesOf(caller, sizes)).get('narrowSecond')
  if (x.clock.controlled || !keyring.grants || !keyring.limits || sizes.storms === 0) return
  if (typeof who === 'string') await learnAges(x, who)
}

/** The rows of the table and of the matrix that the user names. */
async function chosenRows(all: Stages): Promise<void> {
  const { caller, options, table, stage } = all
  // For the proof of races.
  if (isNamedBy(onlyOf(options), 'races'))
    for (const name of ['races', 'session races', ...(options.fillsKeys === false ? [] : ['key limit'])])
      await worlds(all, name)
  await stage('table', () => callCells(caller, table, { isOver: () => isOver(all) }))
  await stage('matrix', () => combine(all, () => isOver(all)))
}

/** The matrix, then the rest of the table. */
async function wideStages(all: Stages): Promise<void> {
  const { caller, options, stage, table, sizes } = all
  const { x, later } = caller
  all.partsLeft = 0
  const mayGoOn = (): boolean =>
    !isOver(all, sizes.walkCalls + later.reduce((sum, { pairs }) => sum + pairs * callsOfLater, 0))
  const endOfMatrix = x.calls() + sizes.matrixCalls
  await stage('matrix', () => combine(all, () => x.calls() >= endOfMatrix || !mayGoOn()))
  while (table.left.length > 0 && mayGoOn()) {
    await stage('table', () => callCells(caller, table, { most: 150, isOver: () => !mayGoOn() }))
    await stage('what must still be valid', () => someStillWork(caller, all.pick))
    await runLater(all, 'due')
  }
  await runLater(all, 'awaited')
  // The rest of the matrix shows more than walks do.
  await stage('matrix', () => combine(all, () => isOver(all, sizes.walkCalls)))
  await stage('random walks', () => walk(caller, options.seed, () => isOver(all), options.walks))
}

/** The rows of the matrix that are still to be asked, until enough are. */
const combine = ({ options, ...all }: Stages, isEnough: () => boolean): Promise<void> =>
  callMatrix({ ...all, seed: options.seed, only: onlyOf(options), isOver: isEnough })

/** How many calls a world makes with each of its pairs in its later steps. */
const callsOfLater = 5

/** What worlds left for later. @param which what is due, what will be, once it is, or all of it, since the end has come */
async function runLater(all: Stages, which: 'due' | 'awaited' | 'all'): Promise<void> {
  const { later, x } = all.caller
  const { clock } = x
  later.sort((one, other) => one.due - other.due)
  for (let [next] = later; next !== undefined; [next] = later) {
    const ms = next.due - clock.now()
    if (which === 'awaited' && ms > 0 && ms < Number.POSITIVE_INFINITY) await x.wait(ms)
    if (which !== 'all' && clock.now() < next.due) return
    later.shift()
    await all.stage(next.name, next.run)
  }
}

/** The stages that fill a limit, may lock a key or move the clock by hours. */
async function lastStages(all: Stages): Promise<void> {
  const { caller, options, stage, sizes, pick } = all
  const { x } = caller
  if (options.fillsKeys !== false) await worlds(all, 'key limit')
  await worlds(all, 'many wrong tries')
  await stage('revoked tokens again', () => deadStayDead(caller, sizes.revokedTries, pick))
  await stage('hours later', () => letTimePass(all))
  await stage('what must still be valid', () => someStillWork(caller, pick))
  await worlds(all, 'ended keys')
  // Keys in the places of those that are deleted take every place, so only where limits may be reached.
  if (!mayReplaceKeys(caller)) return
  await worlds(all, 'keys in other places')
  const from = x.log.length
  await worlds(all, 'many public keys')
  await compareWithoutPublicKey(x, from)
  await worlds(all, 'own keys removed')
}

/** How many parts of the worlds run before the rest of the table: first, sessions, tokens, scopes, races and keys. */
const partsBefore = 6

/** How many calls there will be: fewer than the budget where a target grants nothing, which leaves the worlds little to do. */
function likelyCalls(
  { caller, options: { maxCalls }, table, sizes, partsLeft, isEnding }: Stages,
  made: number,
): number {
  const ofWorlds = (sizes.sequenceCalls * partsLeft) / partsBefore
  const ofTable = isEnding ? 0 : table.left.length + sizes.matrixCalls + sizes.walkCalls
  return Math.min(maxCalls, Math.round(made + ofWorlds + ofTable + callsAtEnd(caller, sizes)))
}

const hourMs = 3_600_000

/** Moves the clock by hours, days and more. */
async function letTimePass(all: Stages): Promise<void> {
  const { caller, pick } = all
  const { x, keyring } = caller
  if (!x.clock.controlled || !keyring.grants) return
  for (const name of readWorlds().order.get('time') ?? []) await world(all, name)
  for (const hours of [61 / 60, 5, 26, 8 * 24, 40 * 24, 100 * 24, 400 * 24]) {
    const time = hours * hourMs
    const longest = Math.min(2 * time, Math.floor(0.8 * (x.state().refreshLifetimeMs ?? 0)))
    const who = keyring.secret[pick(keyring.secret.length)] ?? 'root'
    const long = longest > time ? [`expiresIn:${longest}`] : []
    await world(all, 'hours later', { values: { who, time, long } })
    await deadStayDead(caller, 12, pick)
    await someStillWork(caller, pick)
    // A server may count only the keys of the last hour, or day.
    if (hours < 27 && x.state().created > 9) await world(all, 'one key more')
    if (hours > 27) await everyKeyWorks(caller)
  }
  await world(all, 'sessions after ended ones')
}

// The stages that ask again what must still be so.

/** Every key is still accepted, with the authorization that works for it. */
async function everyKeyWorks({ x, keyring }: Caller): Promise<void> {
  x.script = 'still-living'
  for (const who of [
    ...keyring.secret,
    ...keyring.narrow.filter((one) => one === 'solution-key'),
    ...keyring.untried,
  ]) {
    await expectAccepted(x, list(basic(who)))
    await expectAccepted(x, list(hmac(who)))
  }
  for (const who of [...keyring.ecc, ...keyring.narrowEcc]) await expectAccepted(x, list(ecc(who)))
}

/** Some keys and some of the latest pairs still work. @param pick draws a number below another */
async function someStillWork({ x, keyring }: Caller, pick: (count: number) => number): Promise<void> {
  x.script = 'still-living'
  const who = keyring.secret[pick(keyring.secret.length)] ?? 'root'
  await expectAccepted(x, list(pick(2) === 0 ? basic(who) : hmac(who)))
  const eccKey = keyring.ecc[pick(Math.max(1, keyring.ecc.length))]
  if (eccKey !== undefined && pick(3) === 0) await expectAccepted(x, list(ecc(eccKey)))
  const recent = x.pairNames.slice(-30)
  for (let at = 0; at < 2; at++) {
    const name = recent[pick(Math.max(1, recent.length))]
    if (name !== undefined) await expectAccepted(x, list(token(name)))
  }
}

/** Revoked, removed and expired tokens stay so. */
async function deadStayDead({ x }: Caller, most: number, pick: (count: number) => number): Promise<void> {
  x.script = 'dead-again'
  const all = x.pairNames
  const chosen = all.length <= most ? all : Array.from({ length: most }, () => all[pick(all.length)] ?? '')
  for (const name of chosen) if (x.names.has(name)) await expectRefused(x, list(token(name)))
  for (const name of chosen.slice(0, Math.ceil(most / 3))) if (x.names.has(name)) await expectRefused(x, refresh(name))
}
