/** The session tests of an exploration, and what ends while they wait. */
import { callCells, grantsNothing } from './call-cells.ts'
import { endBeside, endLatePairs, type LatePair, usedBeforeExpiry } from './expiry.ts'
import { confusableNames } from './session-names.ts'
import { manySessions, mostSessions, sessionReadings, sessionStorm } from './session-storms.ts'
import { isOver, type Stages } from './stages.ts'

/** The share of all calls that may be made during the pauses of the session tests. */
const restShare = 0.06

/** The session tests. During their pauses only calls that grant no token are made, because a grant may count as a session. */
export async function sessionStages(all: Stages): Promise<void> {
  const { caller, plan, stage, table, sizes } = all
  const { x, keyring } = caller
  const { wire } = x.options
  const meanwhile = async (ms: number): Promise<void> => {
    const until = wire.now() + ms
    const { script } = x
    if (!wire.controlled)
      await callCells(caller, table, {
        only: grantsNothing,
        until,
        isOver: () => x.calls() > pauseCallLimit || isOver(all),
      })
    x.script = script
    if (wire.now() < until) await x.wait(until - wire.now())
  }
  // A fast server could answer the whole table during the pauses.
  const pauseCallLimit = x.calls() + Math.floor(x.options.maxCalls * restShare)
  const [first = 'root', second = first, third = second] = keyring.secret
  if (!plan.limits || !keyring.grants) return
  await stage('sessions', () => sessionReadings(caller, [first, second, third], meanwhile), 3900)
  // Which grants count as sessions is known now, and no user has many of them yet.
  let late: LatePair[] = []
  const beginLatePairs = async (): Promise<void> => {
    late = await endBeside(caller, [third, second], meanwhile)
  }
  await stage('expiry beside valid pairs', beginLatePairs, 2500)
  const thenEnd = async (who: string, made: Promise<void>): Promise<void> => {
    await made
    await endLatePairs(caller, late, who)
  }
  for (const [at, who] of [second, first].slice(0, sizes.storms).entries())
    await stage('session storms', () => thenEnd(who, sessionStorm(caller, who, mostSessions + at, meanwhile)), 9000)
  // A key of our own: no case made sessions of it, so that each of its first is watched.
  const many = (): Promise<void> => thenEnd(third, manySessions(caller, third, sizes.manySessions, meanwhile))
  await stage('many sessions', many, 6500)
  await stage('expiry of used tokens', () => usedBeforeExpiry(caller, [first, third], meanwhile), 4400)
  if (sizes.confusableNames) await stage('similar session names', () => confusableNames(caller, third, meanwhile), 6500)
}
