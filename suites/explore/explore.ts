/**
 * One exploration of a target, from its settings to its findings, stage by stage: every part is changed once before any is changed twice, what disturbs nothing comes first, and what fills
 * a limit, may lock a key or moves the clock by hours comes last.
 */
import { readDeviations } from '../engine/language/deviations.ts'
import type { Requirement } from '../engine/language/fixture-types.ts'
import { type Random, seededRandom } from '../engine/signer/random.ts'
import type { Instance } from '../engine/target.ts'
import { type Budget, type Sizes, sizesFor } from './budget.ts'
import { compareWithoutPublicKey, createKeys } from './create-keys.ts'
import { type Candidate, type Explorer, type ExplorerOptions, TargetGone } from './explorer-types.ts'
import { collectFindings, type Found } from './findings.ts'
import { type Caller, type Keyring, keyringOf, waysToEndKeys } from './keyring.ts'
import { deadStayDead, everyKeyWorks, someStillWork } from './laws.ts'
import { allPairs, callMatrix, isNamedBy, type Matrix, type MatrixCoverage, readMatrix } from './matrix.ts'
import { type KnownKey, keyPairMaker, openExplorer } from './open.ts'
import {
  findWorkingAuthorization,
  learnAddresses,
  learnLiveTokens,
  learnSignatures,
  learnSolution,
  learnTokens,
  learnWithdrawals,
} from './preflight.ts'
import { callCells, cells, grantsNothing, openTable, type Table } from './table.ts'
import { walk } from './walk.ts'
import { runWorld } from './worlds.ts'

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

/** The values that the stages share. */
interface Stages {
  readonly caller: Caller
  readonly options: ExploreOptions
  readonly random: Random
  readonly matrix: Matrix
  readonly sizes: Sizes
  readonly table: Table
  /** The pairs of the matrix, as far as they are covered. */
  coverage: MatrixCoverage
  /** Pairs that expire soon, and when all of them have expired. */
  expiring: { readonly due: number; readonly pairs: readonly string[] }
  /** The last stages may use what is reserved for them. */
  isEnding: boolean
  /** Runs one stage, then handles its findings. Skips it if too little is left. @param pausesMs how long it waits */
  stage(name: string, run: () => Promise<unknown>, pausesMs?: number): Promise<void>
}

export function openExploration(options: ExploreOptions): OpenExploration {
  const { instance, requirements, say, onFinding } = options
  const random = seededRandom(options.seed)
  const { values = random } = options
  const startedMs = performance.now()
  const elapsed = (): number => performance.now() - startedMs
  const timeLeftMs = (): number => options.seconds * 1000 - elapsed()
  const x = openExplorer({ ...options, operations: readDeviations(), values, timeLeftMs })
  const findings = collectFindings(x, requirements)
  const spent = new Map<string, { calls: number; ms: number }>()
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
  let all: Stages | undefined
  const skipped = new Set<string>()
  const mustSkip = (pausesMs: number): boolean => {
    if (all === undefined || all.isEnding) return x.isOver({ calls: 0, ms: -lateMs })
    const isTooShort =
      pausesMs > 0 && !x.options.clock.controlled && x.isOver({ calls: 0, ms: pausesMs + all.sizes.sequencesMs })
    return isTooShort || isOver(all)
  }
  const stage = async (name: string, run: () => Promise<unknown>, pausesMs = 0): Promise<void> => {
    const [calls, from] = [x.calls(), x.options.clock.now()]
    if (mustSkip(pausesMs)) return void skipped.add(name)
    await run()
    if (!countedApart.has(name) && x.isOver({ calls: 0, ms: Number.NEGATIVE_INFINITY })) skipped.add(name)
    await settle()
    const before = spent.get(name) ?? { calls: 0, ms: 0 }
    spent.set(name, { calls: before.calls + x.calls() - calls, ms: before.ms + x.options.clock.now() - from })
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
    ask: () =>
      unlessGone(async () => {
        await stage('preflight', async () => {
          rootAccepted = await findWorkingAuthorization(x)
        })
        if (!rootAccepted) return
        all = await openStages(x, options, { random, makeKeyPair: keyPairMaker(values), stage })
        await quietStages(all)
      }),
    giveWay: x.giveWay,
    finish: async () => {
      await unlessGone(async () => {
        if (all !== undefined && gone === null && onlyOf(options) === null) await lastStages(all)
      })
      await instance.close()
      const { asked = 0, parts = [], all: cells = 0 } = all?.table ?? {}
      return {
        findings: findings.found,
        calls: x.calls(),
        asked,
        cells,
        parts: [...parts].map(([name, count]) => ({ case: name, ...count })),
        repeated: x.repeated(),
        matrix: all?.coverage ?? noCoverage(readMatrix()),
        rootAccepted,
        gone,
        created: x.state().created,
        seconds: elapsed() / 1000,
        skipped: [...skipped],
        spent,
      }
    },
  }
}

const onlyOf = ({ only = null }: ExploreOptions): readonly string[] | null => only
const noCoverage = ({ dimensions }: Matrix): MatrixCoverage => ({
  all: allPairs(dimensions),
  covered: new Set(),
  reasons: new Map(),
})

/** Stages of which the report counts how much was made. */
const countedApart = new Set(['table', 'matrix', 'random walks'])

/** How late the last stages may end; they are short. */
const lateMs = 4000

async function openStages(
  x: Explorer,
  options: ExploreOptions,
  { random, makeKeyPair, stage }: Pick<Stages, 'random' | 'stage'> & Pick<Caller, 'makeKeyPair'>,
): Promise<Stages> {
  const { allow, instance, fillsKeys = true } = options
  const memory = {
    pairs: new Map(),
    sinceControl: new Map(),
    turns: new Map(),
    tried: new Set<string>(),
    waysToEndKeys: fillsKeys ? waysToEndKeys(instance.settings) : [],
    makeKeyPair,
  }
  let keyring = keyringOf(x, { ...allow, grants: false })
  await stage('preflight', async () => {
    keyring = await learnTarget({ x, keyring, ...memory }, options)
  })
  const caller: Caller = { x, keyring, ...memory }
  const sizes = sizesFor(budgetOf(x))
  x.reserve(callsAtEnd(caller, sizes))
  const matrix = readMatrix()
  return {
    caller,
    options,
    random,
    sizes,
    matrix,
    coverage: noCoverage(matrix),
    isEnding: false,
    table: openTable(cells(x.options.operations, random).filter(({ id }) => isNamedBy(onlyOf(options), id))),
    stage,
    expiring: { due: 0, pairs: [] },
  }
}

/** How many of the last calls show how long one takes. */
const recentCalls = 20

/** What is left to spend, as far as the calls until now show. */
function budgetOf({ log, calls, options: { maxCalls, timeLeftMs, clock } }: Explorer): Budget {
  const budget = { maxCalls, made: calls(), timeLeftMs: timeLeftMs(), waits: !clock.controlled }
  // A clock that is moved does not show how long calls take.
  if (clock.controlled) return { ...budget, callMs: 0 }
  const recent = log.flatMap(({ seen }) => seen).slice(-recentCalls)
  const tookMs = recent.reduce((sum, { span }) => sum + span.to - span.from, 0)
  return { ...budget, callMs: tookMs / Math.max(1, recent.length) }
}

/** Learns the words and clocks of the target and our addresses, and creates keys. */
async function learnTarget(caller: Caller, { allow, instance, newKeys = everyKey }: ExploreOptions): Promise<Keyring> {
  const { x, keyring: before } = caller
  const [first] = before.secret
  const hasTokens =
    allow.sessions && first !== undefined && (await learnTokens(x, first, instance.settings.tokenPrefix))
  if (hasTokens) await learnLiveTokens(x, first, sizesFor(budgetOf(x)).otherTokens)
  await learnSignatures(x)
  await learnAddresses(x, first ?? 'root', hasTokens)
  if (hasTokens) await learnWithdrawals(x, first, allow.keys)
  const { seed, publicKeyPem } = caller.makeKeyPair()
  x.names.set('spare', { seed, publicKey: publicKeyPem })
  if (allow.keys) await createKeys(x, caller.pairs, { newKeys, hasTokens, makeKeyPair: caller.makeKeyPair })
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
  const { controlled } = caller.x.options.clock
  return reserved + (controlled ? clockStageCalls : 0) + (mayReplaceKeys(caller) ? otherKeysCalls : 0)
}

/** Whether only what is reserved for the last stages is left. @param calls how many more are reserved */
const isOver = ({ caller: { x }, sizes, isEnding }: Stages, calls = 0): boolean =>
  isEnding ? x.isOver({ calls: 0, ms: -lateMs }) : x.isOver({ calls, ms: sizes.reservedMs })

const pickOf =
  ({ random }: Stages) =>
  (count: number): number =>
    random.below(Math.max(1, count))

/** One world as a stage of its name. */
const worlds = async (all: Stages, ...names: readonly string[]): Promise<void> => {
  for (const name of names) await all.stage(name, () => world(all, name))
}

const world = (
  all: Stages,
  name: string,
  values: { readonly [name: string]: unknown } = {},
  wait?: Wait,
): Promise<string[]> =>
  runWorld(all.caller, name, {
    sizes: all.sizes,
    values,
    isOver: () => isOver(all),
    ...(wait === undefined ? {} : { wait }),
  })

type Wait = (ms: number) => Promise<void>

async function quietStages(all: Stages): Promise<void> {
  if (onlyOf(all.options) !== null) return chosenRows(all)
  const { caller, sizes, table, stage } = all
  await worlds(all, 'missing credentials', 'credentials among the params', 'the open method elsewhere')
  await stage('table', () =>
    callCells(caller, table, { only: ({ turn }) => turn < sizes.firstTurns, isOver: () => isOver(all) }),
  )
  await sessionStages(all)
  await tokenStages(all)
  await keyStages(all)
  await wideStages(all)
  all.isEnding = true
  caller.x.reserve(0)
  await closingStages(all)
}

/** The rows of the table and of the matrix that the user names. */
async function chosenRows(all: Stages): Promise<void> {
  const { caller, options, table, stage } = all
  if (isNamedBy(onlyOf(options), 'races')) await onlyRaces(all)
  await stage('table', () => callCells(caller, table, { isOver: () => isOver(all) }))
  await stage('matrix', () => combine(all, () => isOver(all)))
}

/** For the proof of races: each of them, one after another. */
async function onlyRaces(all: Stages): Promise<void> {
  const { options, stage, caller } = all
  await worlds(all, ...races)
  const who = caller.keyring.secret.at(-1) ?? 'root'
  if (caller.keyring.limits) await stage('session races', () => world(all, 'session races', { who }))
  if (options.fillsKeys !== false) await worlds(all, 'key limit')
}

const races = [
  'wrong beside right',
  'wrong grants beside right',
  'tokens beside others',
  'grants of two keys',
  'grants of one key',
  'pairs at once',
  'refreshes at once',
  'refresh beside use',
]

/** The share of all calls that may be made during the pauses of the session tests. */
const restShare = 0.06

/** The session tests. During their pauses only calls that grant no token are made, because a grant may count as a session. */
async function sessionStages(all: Stages): Promise<void> {
  const { caller, stage, table, sizes } = all
  const { x, keyring } = caller
  const { clock } = x.options
  // A fast server could answer the whole table during the pauses.
  const pauseCallLimit = x.calls() + Math.floor(x.options.maxCalls * restShare)
  const meanwhile: Wait = async (ms) => {
    const until = clock.now() + ms
    const isLate = (): boolean => x.calls() > pauseCallLimit || isOver(all)
    if (!clock.controlled) await callCells(caller, table, { only: grantsNothing, until, isOver: isLate })
    if (clock.now() < until) await x.wait(until - clock.now())
  }
  const [first = 'root', second = first, third = second] = keyring.secret
  if (!keyring.limits || !keyring.grants) return
  await stage('sessions', () => world(all, 'sessions', {}, meanwhile), 3900)
  // Which grants count as sessions is known now, and no user has many of them yet.
  const late = new Map<string, string[]>()
  const beside = async (): Promise<void> => {
    for (const who of new Set([third, second]))
      late.set(who, await world(all, 'expiry beside valid pairs', { who }, meanwhile))
  }
  await stage('expiry beside valid pairs', beside, 5000)
  const storm = (name: string, who: string, before: number): Promise<string[]> =>
    world(all, name, { who, before, late_pairs: late.get(who) ?? [] }, meanwhile)
  for (const [at, who] of [second, first].slice(0, sizes.storms).entries())
    await stage('session storms', () => storm('session storms', who, sessionsBefore + at), 9000)
  // A key of our own: no case made sessions of it, so that each of its first is watched.
  await stage('many sessions', () => storm('many sessions', third, 0), 6500)
  await stage('sixteen sessions', () => world(all, 'sixteen sessions', { who: third }, meanwhile), 2600)
  await stage('expiry of used tokens', () => world(all, 'expiry of used tokens', {}, meanwhile), 4400)
  if (sizes.confusableNames)
    await stage('similar session names', () => world(all, 'similar session names', { who: third }, meanwhile), 6500)
}

/** With two brief ones, as many as a user may have. */
const sessionsBefore = 14

/** Sequences of tokens. */
async function tokenStages(all: Stages): Promise<void> {
  const { caller, stage } = all
  const { clock } = caller.x.options
  if (!caller.keyring.grants) return
  await worlds(
    all,
    'missing params',
    'kinds of pairs',
    'restrictions after refreshes',
    'refreshes from another address',
    'wrong secrets in grants',
  )
  await worlds(all, 'wrong grants with a header', 'own credentials in other places', 'tokens in the body')
  await stage('expiry', async () => {
    const pairs = await world(all, 'expiry')
    all.expiring = { due: clock.now() + certainlyOverMs, pairs }
  })
  await worlds(all, 'refresh chains', 'refresh tokens used twice', 'many refreshes')
  await stage('expiry', () => world(all, 'use while waiting', { pairs: all.expiring.pairs }))
  await worlds(all, 'scopes', 'areas after refreshes')
  await stage('what must still be valid', () => someStillWork(caller, pickOf(all)))
  await worlds(all, 'session names', 'tokens of one solution', 'beginnings of solutions')
  await worlds(all, 'addresses', 'our address', 'our other addresses', 'lifetimes', 'lifetimes beside other words')
  await worlds(all, ...races)
  await worlds(all, 'credentials of others in other places')
}

/** The longest lifetime of a world of expiry, and how long after a reported expiry the model is certain of it. */
const certainlyOverMs = 3000 + 3000

/** Sequences without tokens. */
async function keyStages(all: Stages): Promise<void> {
  const { caller, stage } = all
  await worlds(all, 'every key', 'narrow keys', 'wrong creations', 'secrets of other keys')
  await worlds(
    all,
    'headers used again',
    'spellings of bodies',
    'spellings of creations',
    'bodies in chunks',
    'wrong secrets in chunks',
  )
  await worlds(
    all,
    'connections',
    'many wrong calls on a connection',
    'long bodies',
    'letters in two reads',
    'wrong bodies',
  )
  await worlds(all, 'after refusals', 'many right calls', 'many uses of a token', 'zeros in signatures')
  await stage('what must still be valid', () => everyKeyWorks(caller))
}

/** The matrix, then the rest of the table. */
async function wideStages(all: Stages): Promise<void> {
  const { caller, options, stage, table, sizes } = all
  const { x } = caller
  const mayGoOn = (): boolean => !isOver(all, sizes.walkCalls + all.expiring.pairs.length * callsOfExpired)
  const endOfMatrix = x.calls() + sizes.matrixCalls
  await stage('matrix', () => combine(all, () => x.calls() >= endOfMatrix || !mayGoOn()))
  while (table.left.length > 0 && mayGoOn()) {
    await stage('table', () => callCells(caller, table, { most: 150, isOver: () => !mayGoOn() }))
    await stage('what must still be valid', () => someStillWork(caller, pickOf(all)))
    await expire(all, false)
  }
  await expire(all, true)
  // The rest of the matrix shows more than walks do.
  await stage('matrix', () => combine(all, () => isOver(all, sizes.walkCalls)))
  await stage('random walks', () => walk(caller, options.seed, () => isOver(all), options.walks))
}

/** The rows of the matrix, until enough are asked. */
async function combine(all: Stages, isEnough: () => boolean): Promise<void> {
  const { caller, options, matrix } = all
  all.coverage = await callMatrix({ caller, seed: options.seed, matrix, only: onlyOf(options), isOver: isEnough })
}

/** How many calls show that a pair has expired. */
const callsOfExpired = 6

/** Checks that expired pairs are refused. @param waits waits until they have expired; otherwise does nothing before */
async function expire(all: Stages, waits: boolean): Promise<void> {
  const { caller, stage } = all
  const { clock } = caller.x.options
  const { pairs, due } = all.expiring
  if (pairs.length === 0) return
  if (waits && clock.controlled)
    for (let turn = 0; turn < 2; turn++) {
      await caller.x.wait(850)
      await stage('expiry', () => world(all, 'use while waiting', { pairs }))
    }
  if (waits && clock.now() < due) await caller.x.wait(due - clock.now())
  if (clock.now() < due) return
  all.expiring = { due, pairs: [] }
  await stage('expiry', () => world(all, 'after expiry', { pairs }))
}

/** The stages before the limits: key material, revoked tokens, session races and a right creation. */
async function closingStages(all: Stages): Promise<void> {
  const { caller, options, stage, sizes } = all
  const { keyring } = caller
  await worlds(all, 'public key material')
  await stage('revoked tokens again', () => deadStayDead(caller, sizes.revokedTries, pickOf(all)))
  // A key with few sessions, because a user at the limit has no free session to race for.
  const who = keyring.narrow.find((one) => one === 'solution-key') ?? keyring.secret[3] ?? keyring.secret[0] ?? 'root'
  if (caller.keyring.limits) await stage('session races', () => world(all, 'session races', { who }))
  // If the key-limit stage runs, its burst shows that a right creation is accepted.
  if (options.fillsKeys === false && caller.x.state().created < 9) await worlds(all, 'right creation')
  await worlds(all, 'keys of one scope')
  await stage('what must still be valid', () => everyKeyWorks(caller))
}

/** The stages that fill a limit, may lock a key or move the clock by hours. */
async function lastStages(all: Stages): Promise<void> {
  const { caller, options, stage, sizes } = all
  const { x } = caller
  const pick = pickOf(all)
  if (options.fillsKeys !== false) await worlds(all, 'key limit')
  await worlds(all, 'many wrong tries')
  await stage('revoked tokens again', () => deadStayDead(caller, sizes.revokedTries, pick))
  await stage('hours later', () => letTimePass(all))
  await stage('what must still be valid', () => someStillWork(caller, pick))
  await worlds(all, 'ended keys')
  // Keys in the places of those that are deleted take every place, so only where limits may be reached.
  if (!mayReplaceKeys(caller)) return
  await worlds(all, 'own keys removed', 'keys of rare scopes', 'own keys removed')
  const from = x.log.length
  await worlds(all, 'many public keys')
  await compareWithoutPublicKey(x, from)
  await worlds(all, 'own keys removed')
}

const hourMs = 3_600_000

/** Moves the clock by hours, days and more. */
async function letTimePass(all: Stages): Promise<void> {
  const { caller } = all
  const { x, keyring } = caller
  if (!x.options.clock.controlled || !keyring.grants) return
  for (const name of ['long lifetimes', 'used for minutes', 'refreshed later', 'sessions of days'])
    await world(all, name)
  const pick = pickOf(all)
  for (const hours of [61 / 60, 5, 26, 8 * 24, 40 * 24, 100 * 24, 400 * 24]) {
    const time = hours * hourMs
    const longest = Math.min(2 * time, Math.floor(0.8 * (x.state().refreshLifetimeMs ?? 0)))
    const who = keyring.secret[pick(keyring.secret.length)] ?? 'root'
    await world(all, 'hours later', { who, time, long: longest > time ? [`expiresIn:${longest}`] : [] })
    await deadStayDead(caller, 12, pick)
    await someStillWork(caller, pick)
    // A server may count only the keys of the last hour, or day.
    if (hours < 27 && x.state().created > 9) await world(all, 'one key more')
    if (hours > 27) await everyKeyWorks(caller)
  }
  await world(all, 'sessions after ended ones')
}
