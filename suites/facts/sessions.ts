/** Part 2: what a re-used session name does, and how sessions are counted. Counting fills the limit of a user. */
import { sessionLimit } from '../engine/document.ts'
import type { Profile } from '../targets/bundled.ts'
import type { Caller } from './caller.ts'
import { type Probe, type ProbeResult, resultOf, tokenProbe, word } from './fact.ts'
import { grant, type Pair, works } from './granted.ts'
import { sessionWord } from './key-maker.ts'

/** The pause between two grants, which gives every session another time. In ms. */
const betweenMs = 5

async function open(caller: Caller, name: string | null): Promise<Pair | null> {
  await caller.instance.clock.sleep(betweenMs)
  return grant(caller, ['solution', ...(name === null ? [] : [sessionWord(caller, name)])])
}

async function reusedName(caller: Caller): Promise<ProbeResult> {
  const first = await open(caller, 'again')
  const second = await open(caller, 'again')
  if (first === null || second === null) return { facts: [] }
  const isReplaced = !(await works(caller, first.access))
  const value = isReplaced ? 'replaces the session' : 'leaves it alive'
  return resultOf(
    { reusedSessionName: isReplaced ? 'replaces' : 'adds' },
    word(
      'sessions/reused-name',
      'a session name used again',
      value,
      `the older token ${isReplaced ? 'was refused' : 'worked'}`,
    ),
  )
}

/** With `--allow limits`: whether the two grants of one name are two sessions. */
async function joinedName(caller: Caller, known: Partial<Profile>): Promise<ProbeResult> {
  if (known.reusedSessionName !== 'adds') return { facts: [] }
  await fill(caller, sessionLimit, 'before')
  const first = await open(caller, 'joined')
  await open(caller, 'joined')
  await fill(caller, sessionLimit - 1, 'joins')
  if (first === null) return { facts: [] }
  const joins = await works(caller, first.access)
  return resultOf(
    { reusedSessionName: joins ? 'joins' : 'adds' },
    word(
      'sessions/reused-name',
      'two grants of one name',
      joins ? 'one session' : 'two sessions',
      `${sessionLimit - 1} sessions later the first ${joins ? 'lives' : 'is gone'}`,
    ),
  )
}

async function fill(caller: Caller, count: number, name: string | null): Promise<void> {
  for (let number = 0; number < count; number += 1) await open(caller, name === null ? null : `${name}-${number}`)
}

async function counting(caller: Caller): Promise<ProbeResult> {
  const named = await open(caller, 'counted')
  await fill(caller, sessionLimit + 1, null)
  if (named === null) return { facts: [] }
  const isCounted = !(await works(caller, named.access))
  return resultOf(
    { unnamedCountAsSessions: isCounted },
    word(
      'sessions/counting',
      'what counts as a session',
      isCounted ? 'every grant' : 'named ones only',
      `after ${sessionLimit + 1} grants without a name the named session ${isCounted ? 'was gone' : 'lived'}`,
    ),
  )
}

async function oldest(caller: Caller): Promise<ProbeResult> {
  const first = await open(caller, 'first')
  const second = await open(caller, 'second')
  if (first === null || second === null) return { facts: [] }
  await fill(caller, sessionLimit - 2, 'others')
  await caller.instance.clock.sleep(betweenMs)
  await works(caller, first.access)
  await open(caller, 'beyond')
  const firstLives = await works(caller, first.access)
  const secondLives = await works(caller, second.access)
  if (firstLives === secondLives) return { facts: [] }
  return resultOf(
    { oldestSession: firstLives ? 'longest-unused' : 'first-created' },
    word(
      'sessions/age',
      'the session that makes room',
      firstLives ? 'the longest unused' : 'the first created',
      'the first of 16 was used just before the 17th',
    ),
  )
}

export const sessionProbes: readonly Probe[] = [
  tokenProbe('re-used session names', { calls: 3, refusals: 1, grants: 2 }, reusedName),
]

export const limitProbes: readonly Probe[] = [
  tokenProbe('oldest session', { calls: 20, refusals: 1, grants: 17 }, oldest, 'limits'),
  tokenProbe('counting of sessions', { calls: 19, refusals: 0, grants: 18 }, counting, 'limits'),
  tokenProbe('sessions of one name', { calls: 34, refusals: 0, grants: 33 }, joinedName, 'limits'),
]
