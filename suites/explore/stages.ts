/** The stages of an exploration: those that disturb nothing first, those that fill a limit last. */
import { addresses } from './address-chains.ts'
import { afterRefusals } from './after-refusals.ts'
import type { Sizes } from './budget.ts'
import { pairsAtOnce, refreshBesideUse, refreshRace, sessionRace, wrongBesideRight } from './bursts.ts'
import { callCells, type Table } from './call-cells.ts'
import { endKeys } from './ended-keys.ts'
import { beginExpiry, type Expiring, endExpiry, useWhileWaiting } from './expiry.ts'
import { keyLimit, rightCreation } from './key-limit.ts'
import { apikeyScope, type PairKind, pairOf } from './keyring.ts'
import { wrongKinds } from './kinds-of-keys.ts'
import { kindsOfPairs } from './kinds-of-pairs.ts'
import { lifetimes } from './lifetimes.ts'
import { longBodies } from './long-bodies.ts'
import { materials } from './materials.ts'
import { isNamedBy } from './matrix.ts'
import { oneSolutionOnly } from './one-solution.ts'
import { deletionOf, keysOfRareScopes, manyPublicKeys, removeOwnKeys } from './own-keys.ts'
import type { Plan } from './plan.ts'
import { manyRefreshes, refreshChain, usedTwice } from './refresh-chains.ts'
import { connections, missingParams, rightCalls, wrongBodies, wrongTries } from './repeated-calls.ts'
import { narrowKeys, scopeLimits } from './scope-chains.ts'
import { sameNameTwice } from './session-names.ts'
import { checkStillValid, expectEveryKeyAccepted, retryRevoked } from './still-valid.ts'
import { type Caller, crossPlaces, deviate, rightCall } from './table.ts'
import { letTimePass } from './time-passing.ts'
import { bodiesInChunks, writtenAgain } from './written-bodies.ts'
import {
  afterAnotherKey,
  keysOfOneScope,
  noCredentials,
  ownPlaces,
  replays,
  wrongCreations,
  wrongGrantsWithHeader,
  wrongSecrets,
} from './wrong-credentials.ts'

/** The values that the stages share. */
export interface Stages {
  readonly caller: Caller
  readonly plan: Plan
  readonly sizes: Sizes
  readonly table: Table
  /** Pairs that expire soon, and when all of them have expired. */
  expiring: Expiring
  /** The last stages may use what is reserved for them. */
  isEnding: boolean
  /** Runs one stage, then handles its findings. Skips it if too little is left. @param pausesMs how long it waits */
  stage(name: string, run: () => Promise<unknown>, pausesMs?: number): Promise<void>
}

/** Calls kept back for the stage that moves the clock by hours. */
const clockStageCalls = 440

/** Whether only what is reserved for the last stages is left. @param calls how many more are reserved */
export const isOver = ({ caller: { x }, sizes }: Stages, calls = 0): boolean =>
  x.isOver({ calls, ms: sizes.reservedMs })

/** Calls kept back for keys in the places of those that are deleted. */
const otherKeysCalls = 260

/** How many calls the last stages need. */
export function callsAtEnd({ x, keyring }: Pick<Caller, 'x' | 'keyring'>, { reserved }: Sizes, plan: Plan): number {
  if (reserved === 0) return 0
  const replaces = keyring.keys && keyring.limits && deletionOf(plan.waysToEndKeys) !== undefined
  return reserved + (x.options.wire.controlled ? clockStageCalls : 0) + (replaces ? otherKeysCalls : 0)
}

const pickOf =
  ({ plan }: Stages) =>
  (count: number): number =>
    plan.random.below(Math.max(1, count))

/** Every part of every kind of call, with the first operations. */
export async function firstTurns(all: Stages): Promise<void> {
  const { caller, sizes, table, stage } = all
  await stage('missing credentials', () => noCredentials(caller))
  await stage('table', () =>
    callCells(caller, table, { only: ({ turn }) => turn < sizes.firstTurns, isOver: () => isOver(all) }),
  )
}

/** The rows of the table and of the matrix that the user names. */
export async function chosenRows(all: Stages): Promise<void> {
  const { caller, plan, table, stage } = all
  if (isNamedBy(plan.only, 'races')) await onlyRaces(all)
  await stage('table', () => callCells(caller, table, { isOver: () => isOver(all) }))
  await stage('matrix', () => plan.combine(caller, () => isOver(all)))
}

/** For the proof of races: each of them, one after another. */
async function onlyRaces({ caller, plan, stage, sizes }: Stages): Promise<void> {
  const { keyring } = caller
  await stage('races', () => races(caller, sizes.raceRounds))
  if (plan.limits)
    for (const on of ['warm', 'new'] as const)
      await stage('session races', () => sessionRace(caller, keyring.secret.at(-1) ?? 'root', on, sizes.crowd))
  if (plan.fillsKeys) await stage('key limit', () => keyLimit(caller))
}

/** Sequences without tokens. */
export async function keyStages({ caller, stage, sizes }: Stages): Promise<void> {
  await stage('wrong kinds of credentials', () => wrongKinds(caller, sizes.users))
  await stage('narrow keys', () => narrowKeys(caller))
  await stage('wrong creations', () => wrongCreations(caller, Math.min(2, sizes.users)))
  await stage('secrets of other keys', () => afterAnotherKey(caller, Math.min(3, Math.max(2, sizes.users))))
  if (!caller.keyring.grants) await stage('own credentials in other places', () => ownPlaces(caller, sizes.users))
  await stage('headers used again', () => replays(caller, sizes.users))
  await stage('spellings of bodies', () => writtenAgain(caller, sizes.everyForm))
  await stage('bodies in chunks', () => bodiesInChunks(caller, Math.min(2, sizes.users)))
  await stage('connections', () => connections(caller))
  await stage('long bodies', () => longBodies(caller, sizes.longBodies))
  await stage('wrong bodies', () => wrongBodies(caller, 3))
  for (const [at, who] of caller.keyring.secret.slice(0, 2).entries())
    await stage('after refusals', () => afterRefusals(caller, who, at < sizes.afterRefusals))
  await stage('many right calls', () => rightCalls(caller, 24, sizes.uses))
  await stage('what must still be valid', () => expectEveryKeyAccepted(caller.x, caller.keyring))
}

/** Sequences of tokens. */
export async function tokenStages(all: Stages): Promise<void> {
  const { caller, stage, sizes } = all
  const { x, keyring } = caller
  if (!keyring.grants) return
  const users = keyring.secret.slice(0, sizes.users)
  await stage('missing params', () => missingParams(caller, Math.max(2, sizes.users)))
  await stage('kinds of pairs', () => kindsOfPairs(caller, users, sizes.pairKinds))
  for (const who of users.slice(0, 2))
    await stage('wrong secrets in grants', () => wrongSecrets(caller, who, sizes.grantScopes))
  await stage('wrong grants with a header', () => wrongGrantsWithHeader(caller, Math.min(2, sizes.users)))
  await stage('own credentials in other places', () => ownPlaces(caller, sizes.users))
  await stage('expiry', async () => {
    all.expiring = await beginExpiry(caller, users)
  })
  for (const [at, who] of users.entries()) {
    await stage('refresh chains', () => refreshChain(caller, chainKind(caller, who, at), at < 2 ? 4 : 3))
    await stage('refresh tokens used twice', () => usedTwice(caller, { who, scope: ['solution'] }))
    if (at === 0) await stage('many refreshes', () => manyRefreshes(caller, who, sizes.manyRefreshes))
    await stage('expiry', () => useWhileWaiting(x, all.expiring.pairs))
    await stage('scopes', () => scopeLimits(caller, who, at === 0))
    await stage('what must still be valid', () => checkStillValid(caller, pickOf(all)))
  }
  await stage('session names', () => sameNameTwice(caller, users, sizes.sameNames))
  for (const who of users.slice(0, 2)) await stage('tokens of one solution', () => oneSolutionOnly(caller, who))
  for (const who of users.slice(0, sizes.boundUsers)) await stage('addresses', () => addresses(caller, who))
  await stage('lifetimes', () => lifetimes(caller, users[0] ?? 'root'))
  await stage('races', () => races(caller, sizes.raceRounds))
  await stage('credentials of others in other places', () => places(caller, sizes.crossed))
}

/** The matrix, then the rest of the table. */
export async function wideStages(all: Stages): Promise<void> {
  const { caller, plan, stage, table, sizes } = all
  const { x } = caller
  const mayGoOn = (): boolean => !isOver(all, sizes.walkCalls + callsAtExpiry(all))
  const endOfMatrix = x.calls() + sizes.matrixCalls
  await stage('matrix', () => plan.combine(caller, () => x.calls() >= endOfMatrix || !mayGoOn()))
  while (table.left.length > 0 && mayGoOn()) {
    await stage('table', () => callCells(caller, table, { most: 150, isOver: () => !mayGoOn() }))
    await stage('what must still be valid', () => checkStillValid(caller, pickOf(all)))
    await expire(all, false)
  }
  await expire(all, true)
  // The rest of the matrix shows more than walks do.
  await stage('matrix', () => plan.combine(caller, () => isOver(all, sizes.walkCalls)))
  await stage('random walks', () => plan.walk(caller, () => isOver(all)))
}

/** How many calls show that the pairs that expire soon have expired. */
const callsAtExpiry = ({ expiring: { pairs, replaced } }: Stages): number => pairs.length * 10 + replaced.length * 2

/** Checks that expired pairs are refused. @param waits waits until they have expired; otherwise does nothing before */
async function expire(all: Stages, waits: boolean): Promise<void> {
  const { caller, stage } = all
  const { x } = caller
  const { wire } = x.options
  const { expiring } = all
  const { pairs, due } = expiring
  if (pairs.length === 0) return
  if (waits && wire.controlled)
    for (let turn = 0; turn < 2; turn++) {
      await x.wait(850)
      await stage('expiry', () => useWhileWaiting(x, pairs))
    }
  if (waits && wire.now() < due) await x.wait(due - wire.now())
  if (wire.now() < due) return
  all.expiring = { due, pairs: [], replaced: [] }
  await stage('expiry', () => endExpiry(caller, expiring))
}

/** The stages before the limits: key material, revoked tokens, session races and a right creation. */
export async function closingStages(all: Stages): Promise<void> {
  const { caller, plan, stage, sizes } = all
  const { keyring, x } = caller
  const pick = pickOf(all)
  await stage('public key material', () => materials(caller))
  await stage('revoked tokens again', () => retryRevoked(x, sizes.revokedTries, pick))
  // A key with few sessions, because a user at the limit has no free session to race for.
  const keyWithFewSessions =
    keyring.narrow.find((who) => who === 'solution-key') ?? keyring.secret[3] ?? keyring.secret[0] ?? 'root'
  if (plan.limits && keyring.grants)
    for (const on of ['warm', 'new'] as const)
      await stage('session races', () => sessionRace(caller, keyWithFewSessions, on, sizes.crowd))
  // If the key-limit stage runs, its burst shows that a right creation is accepted.
  if (!plan.fillsKeys) await stage('right creation', () => rightCreation(caller))
  await stage('keys of one scope', () => keysOfOneScope(caller))
  await stage('what must still be valid', () => expectEveryKeyAccepted(caller.x, caller.keyring))
}

/** The stages that fill a limit, may lock a key or move the clock by hours. */
export async function lastStages(all: Stages): Promise<void> {
  const { caller, plan, stage, sizes } = all
  const { keyring, x } = caller
  const pick = pickOf(all)
  if (plan.fillsKeys) await stage('key limit', () => keyLimit(caller))
  await stage('many wrong tries', () => wrongTries(caller, keyring.secret.at(-1) ?? 'root', 12))
  await stage('revoked tokens again', () => retryRevoked(x, sizes.revokedTries, pick))
  await stage('hours later', () => letTimePass(caller, pick))
  await stage('what must still be valid', () => checkStillValid(caller, pick))
  await stage('ended keys', () => endKeys(caller, plan.waysToEndKeys))
  await otherKeys(all)
}

/** Keys in the places of those that are deleted; they take every place, so only where limits may be reached. */
async function otherKeys({ caller, plan, stage }: Stages): Promise<void> {
  const deletion = deletionOf(plan.waysToEndKeys)
  if (deletion === undefined || !caller.keyring.keys || !caller.keyring.limits) return
  await stage('keys of rare scopes', () => keysOfRareScopes(caller, deletion))
  await stage('many public keys', () => manyPublicKeys(caller, deletion, plan))
  await stage('own keys removed', () => removeOwnKeys(caller.x, deletion))
}

/** Chains of every kind: plain, with apikey, bound to a session, an address or a lifetime. */
function chainKind({ x }: Caller, who: string, at: number): PairKind {
  const kinds = [
    ['solution'],
    ['solution', ...(apikeyScope(x) ?? [])],
    ['solution', 'session:'],
    ['solution', 'expiresIn:15000'],
    ['solution', 'context', 'ipAddr:'],
  ]
  return { who, scope: kinds[at % kinds.length] ?? ['solution'] }
}

async function races(caller: Caller, rounds: number): Promise<void> {
  const [first = 'root', second = first] = caller.keyring.secret
  for (const on of ['warm', 'new'] as const) {
    await wrongBesideRight(caller, second, on)
    await pairsAtOnce(caller, second, on)
  }
  for (let round = 0; round < rounds; round++) {
    for (const on of ['warm', 'new'] as const) {
      const generation = (on === 'warm') === (round % 2 === 0) ? 0 : 1
      await refreshRace(caller, { who: round % 2 === 0 ? first : second, on, count: 8, generation })
    }
    for (const on of ['warm', 'new'] as const) await refreshBesideUse(caller, round % 2 === 0 ? second : first, on)
  }
}

/** Sends every credential in place of every other. */
async function places(caller: Caller, credentials: number): Promise<void> {
  const { x, keyring } = caller
  x.script = 'places'
  const pair = await pairOf(x, caller.pairs, { who: keyring.secret[0] ?? 'root', scope: ['solution'] })
  const other = await pairOf(x, caller.pairs, { who: keyring.secret[1] ?? 'root', scope: ['solution'] })
  if (pair === undefined || other === undefined) return
  let turn = 0
  for (const { way, change } of crossPlaces(keyring, pair, other, credentials)) {
    const right = await rightCall(caller, way, turn++)
    if (right !== undefined) await deviate(caller, right, change)
  }
}
