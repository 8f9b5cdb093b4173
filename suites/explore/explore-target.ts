/** The order of an exploration: every part is asked before any is asked twice, quiet things first, what fills a limit last. */
import type { Random } from '../engine/random.ts'
import { addresses } from './address-chains.ts'
import { refreshBesideUse, refreshRace, sessionRace } from './bursts.ts'
import { basic, create } from './calls.ts'
import { beginExpiry, endExpiry, useWhileWaiting } from './expiry.ts'
import { type Candidate, type Explorer, TargetGone } from './explorer-types.ts'
import { keyLimit } from './key-limit.ts'
import { lifetimes } from './lifetimes.ts'
import { longBodies } from './long-bodies.ts'
import { materials } from './materials.ts'
import { apikeyScope, createPeople, type PairKind, type People, pairOf, peopleOf } from './people.ts'
import { greet, learnSignatures, learnTokens, tryAddress } from './preflight.ts'
import { refreshChain, usedTwice } from './refresh-chains.ts'
import { connections, rightCalls, wrongTries } from './repeated-calls.ts'
import { narrowKeys, scopeLimits } from './scope-chains.ts'
import { manySessions, sessionReadings, sessionStorm } from './session-storms.ts'
import { checkLiving, letInEveryKey, retryDead } from './still-standing.ts'
import { type Asker, askCell, type Cell, cells, crossPlaces, deviate, rightCall } from './table.ts'
import { letTimePass } from './time-passing.ts'
import { writtenAgain } from './written-bodies.ts'
import { ownPlaces, replays, wrongKinds } from './wrong-credentials.ts'

export interface Plan {
  readonly sessions: boolean
  readonly keys: boolean
  readonly limits: boolean
  /** A token prefix that the user names. */
  readonly tokenPrefix: string | undefined
  readonly random: Random
  makeKeyPair(): { seed: Uint8Array; publicKeyPem: string }
  /** Called with each finding, at a moment when more may be asked. */
  onFinding(candidate: Candidate): Promise<void>
  /** Random sequences, until the budget ends. */
  walk(asker: Asker, isOver: () => boolean): Promise<void>
  /** Combinations; see matrix.ts. */
  combine(asker: Asker, isOver: () => boolean): Promise<void>
}

export interface Explored {
  readonly letIn: boolean
  readonly gone: string | null
  readonly cells: { readonly asked: number; readonly all: number }
  readonly calls: number
  /** Calls and milliseconds by script, for those who tune it. */
  readonly spent: ReadonlyMap<string, { calls: number; ms: number }>
}

export async function exploreTarget(x: Explorer, plan: Plan): Promise<Explored> {
  const spent = new Map<string, { calls: number; ms: number }>()
  const found: Candidate[] = []
  x.report = (candidate) => void found.push(candidate)
  const settle = async (): Promise<void> => {
    for (const candidate of found.splice(0)) await plan.onFinding(candidate)
  }
  const result = { letIn: false, gone: null as string | null, cells: { asked: 0, all: 0 } }
  const stage = async (name: string, run: () => Promise<unknown>): Promise<void> => {
    const [calls, from] = [x.calls(), x.options.wire.now()]
    if (!x.isOver({ calls: 0, ms: -lateMs })) await run()
    await settle()
    const before = spent.get(name) ?? { calls: 0, ms: 0 }
    spent.set(name, { calls: before.calls + x.calls() - calls, ms: before.ms + x.options.wire.now() - from })
  }
  try {
    await stage('preflight', async () => {
      result.letIn = await greet(x)
    })
    if (result.letIn) result.cells = await allStages(x, plan, stage)
  } catch (error) {
    if (!(error instanceof TargetGone)) throw error
    result.gone = error.message
    await settle().catch(() => {})
  }
  return { ...result, calls: x.calls(), spent }
}

/** The last stages may end so late; they are short. */
const lateMs = 4000

type Stage = (name: string, run: () => Promise<unknown>) => Promise<void>

/** The table is asked first up to this part of all calls. */
const tableShare = 0.45

/** The cells of the table that are left. */
interface Table {
  left: Cell[]
  asked: number
}

async function allStages(x: Explorer, plan: Plan, stage: Stage): Promise<Explored['cells']> {
  const pairs = new Map<string, string>()
  let people: People = peopleOf(x, { grants: false, keys: plan.keys, limits: plan.limits })
  await stage('preflight', async () => {
    const first = people.secret[0]
    if (plan.sessions && first !== undefined) await learnTokens(x, first, plan.tokenPrefix)
    await learnSignatures(x)
    const { seed, publicKeyPem } = plan.makeKeyPair()
    x.names.set('spare', { seed, publicKey: publicKeyPem })
    if (plan.keys) await createPeople(x, pairs, plan.makeKeyPair)
    people = peopleOf(x, { grants: plan.sessions && peopleHaveSecrets(x), keys: plan.keys, limits: plan.limits })
    await reachAddresses(x, people)
  })
  const asker: Asker = { x, people, pairs, sinceControl: new Map(), turns: new Map(), asked: new Set() }
  const all = cells(x.options.operations.fields, x.options.operations.changesOf, plan.random)
  const table: Table = { left: all, asked: 0 }
  await stage('table', () => askCells(asker, table, 120, () => true))
  if (people.grants) await sessionStages(asker, plan, stage, table)
  // A small budget asks every part of a call before it asks for sequences.
  const share = Math.floor(x.options.maxCalls * tableShare)
  await stage('table', async () => {
    while (table.left.length > 0 && x.calls() < share && !x.isOver(reserved))
      await askCells(asker, table, 50, () => true)
  })
  await tableStages(asker, plan, stage, table)
  await lastStages(asker, plan, stage)
  return { asked: table.asked, all: all.length }
}

const peopleHaveSecrets = (x: Explorer): boolean =>
  peopleOf(x, { grants: true, keys: true, limits: true }).secret.length > 0

async function reachAddresses(x: Explorer, people: People): Promise<void> {
  const who = people.secret[0] ?? people.ecc[0] ?? 'root'
  const [first, ...others] = x.addresses
  const reached = first === undefined ? [] : [first]
  for (const address of others) if (await tryAddress(x, address.name, who)) reached.push(address)
  x.addresses = reached
}

/** Asks some of the cells that are left. */
async function askCells(
  asker: Asker,
  table: Table,
  most: number,
  only: (cell: Cell) => boolean,
  until = Number.POSITIVE_INFINITY,
): Promise<void> {
  const { x } = asker
  const kept: Cell[] = []
  let asked = 0
  for (const [index, cell] of table.left.entries()) {
    if (asked >= most || x.isOver(reserved) || x.options.wire.now() > until) {
      kept.push(...table.left.slice(index))
      break
    }
    if (!only(cell)) {
      kept.push(cell)
      continue
    }
    if (await askCell(asker, cell)) asked += 1
    table.asked += 1
  }
  table.left = kept
}

/** What is kept for the last stages. */
const reserved = { calls: 400, ms: 2500 }

/** Cells that grant nothing, so that they may be asked while sessions are watched. */
const grantsNothing = ({ way }: Cell): boolean => way === 'basic' || way === 'hmac' || way === 'ecc'

async function sessionStages(asker: Asker, plan: Plan, stage: Stage, table: Table): Promise<void> {
  const { x, people } = asker
  const { wire } = x.options
  const meanwhile = async (ms: number): Promise<void> => {
    const until = wire.now() + ms
    const script = x.script
    if (!wire.controlled) await askCells(asker, table, Number.POSITIVE_INFINITY, grantsNothing, until)
    x.script = script
    if (wire.now() < until) await x.wait(until - wire.now())
  }
  const [first = 'root', second = first, third = second] = people.secret
  if (!plan.limits) return
  await stage('sessions', () => sessionReadings(asker, [first, second], meanwhile))
  await stage('sessions', () => sessionStorm(asker, third, meanwhile))
  await stage('sessions', () => sessionStorm(asker, first, meanwhile))
  await stage('sessions', () => manySessions(asker, second, x.options.maxCalls < smallBudget ? 24 : 62))
}

async function tableStages(asker: Asker, plan: Plan, stage: Stage, table: Table): Promise<void> {
  const { x, people } = asker
  const pick = (count: number): number => plan.random.below(Math.max(1, count))
  const expiring = people.grants ? await expiryBegun(asker, stage) : undefined
  const users = x.options.maxCalls < smallBudget ? people.secret.slice(0, 2) : people.secret
  await stage('kinds', () => wrongKinds(asker))
  await stage('kinds', () => narrowKeys(asker))
  await stage('places', () => ownPlaces(asker))
  await stage('replays', () => replays(asker))
  await stage('bodies', () => writtenAgain(asker))
  if (people.grants) {
    for (const [at, who] of users.entries()) {
      await stage('chains', () => refreshChain(asker, chainKind(asker, who, at), at < 2 ? 4 : 3))
      await stage('chains', () => usedTwice(asker, { who, scope: ['solution'] }))
      if (expiring !== undefined) await stage('expiry', () => useWhileWaiting(x, expiring.pairs))
      await stage('scopes', () => scopeLimits(asker, who, at === 0))
      await stage('living', () => checkLiving(asker, pick))
    }
    for (const who of users.slice(0, 2)) await stage('addresses', () => addresses(asker, who))
    await stage('lifetimes', () => lifetimes(asker, users[0] ?? 'root'))
    await stage('races', () => races(asker))
    await stage('places', () => places(asker))
  }
  await stage('connections', () => connections(asker))
  await stage('long bodies', () => longBodies(asker))
  await stage('right calls', () => rightCalls(asker, 24))
  await stage('living', () => letInEveryKey(asker))
  while (table.left.length > 0 && !x.isOver(reserved)) {
    await stage('table', () => askCells(asker, table, 150, () => true))
    await stage('living', () => checkLiving(asker, pick))
    if (expiring !== undefined && expiring.pairs.length > 0 && x.options.wire.now() > expiring.due) {
      const { pairs } = expiring
      await stage('expiry', () => endExpiry(asker, pairs))
      expiring.pairs = []
    }
  }
  if (expiring === undefined || expiring.pairs.length === 0) return
  for (let turn = 0; turn < 2 && x.options.wire.controlled; turn++) {
    await x.wait(850)
    await stage('expiry', () => useWhileWaiting(x, expiring.pairs))
  }
  const wait = expiring.due - x.options.wire.now()
  if (wait > 0) await x.wait(wait)
  await stage('expiry', () => endExpiry(asker, expiring.pairs))
}

async function expiryBegun(asker: Asker, stage: Stage): Promise<{ due: number; pairs: string[] }> {
  let begun = { due: 0, pairs: [] as string[] }
  await stage('expiry', async () => {
    begun = await beginExpiry(asker)
  })
  return begun
}

/** Below this, two keys stand for all. */
const smallBudget = 6000

/** Lines of every kind: plain, with apikey, bound to a session, an address or a lifetime. */
function chainKind({ x }: Asker, who: string, at: number): PairKind {
  const own = x.addresses[0]?.seen ?? ''
  const kinds = [
    ['solution'],
    ['solution', ...(apikeyScope(x) ?? [])],
    ['solution', 'session:'],
    ['solution', 'expiresIn:15000'],
    ['solution', 'context', `ipAddr:${own}`],
  ]
  return { who, scope: kinds[at % kinds.length] ?? ['solution'] }
}

async function races(asker: Asker): Promise<void> {
  const [first = 'root', second = first] = asker.people.secret
  for (let round = 0; round < 5; round++) {
    for (const on of ['warm', 'new'] as const) await refreshRace(asker, round % 2 === 0 ? first : second, on, 8)
    for (const on of ['warm', 'new'] as const) await refreshBesideUse(asker, round % 2 === 0 ? second : first, on)
  }
}

/** Every credential at every other's place. */
async function places(asker: Asker): Promise<void> {
  const { x, people } = asker
  x.script = 'places'
  const pair = await pairOf(x, asker.pairs, { who: people.secret[0] ?? 'root', scope: ['solution'] })
  const other = await pairOf(x, asker.pairs, { who: people.secret[1] ?? 'root', scope: ['solution'] })
  if (pair === undefined || other === undefined) return
  let turn = 0
  for (const { way, change } of crossPlaces(people, pair, other)) {
    const right = await rightCall(asker, way, turn++)
    if (right !== undefined) await deviate(asker, right, change)
  }
}

async function lastStages(asker: Asker, plan: Plan, stage: Stage): Promise<void> {
  const { x, people } = asker
  const pick = (count: number): number => plan.random.below(Math.max(1, count))
  const isOver = (): boolean => x.isOver(reserved)
  await stage('materials', () => materials(asker))
  await stage('living', () => letInEveryKey(asker))
  await stage('dead again', () => retryDead(x, 150, pick))
  await stage('matrix', () => plan.combine(asker, isOver))
  await stage('walk', () => plan.walk(asker, isOver))
  if (plan.limits && people.grants)
    for (const on of ['warm', 'new'] as const)
      await stage('session races', () => sessionRace(asker, people.secret[3] ?? people.secret[0] ?? 'root', on, 24))
  await stage('creation', () => rightCreation(asker))
  await stage('key limit', () => keyLimit(asker))
  await stage('tries', () => wrongTries(asker, people.secret.at(-1) ?? 'root', 14))
  await stage('dead again', () => retryDead(x, 200, pick))
  await stage('time', () => letTimePass(asker, pick))
  await stage('living', () => checkLiving(asker, pick))
}

/** The control of every refused creation: a right one is accepted still. */
async function rightCreation({ x, people }: Asker): Promise<void> {
  x.script = 'right-creation'
  if (people.keys && x.state().created <= 9)
    await x.call(create(basic('root'), { name: 'right-$unique', scope: ['solution'] }, { as: 'right-one' }))
}
