/** Part 2: what a re-used session name does, and how sessions are counted. Counting fills the limit of a user. */
import type { Profile } from '../targets/bundled.ts'
import type { Asker } from './asker.ts'
import { type Finding, type Probe, word } from './fact.ts'
import { grant, type Pair, works } from './granted.ts'

const sessionLimit = 16
/** So that no two sessions are of one moment. */
const betweenMs = 5

async function open(asker: Asker, name: string | null): Promise<Pair | null> {
  await asker.instance.clock.sleep(betweenMs)
  return grant(asker, ['solution', ...(name === null ? [] : [`session:${asker.unique}-${name}`])])
}

async function reusedName(asker: Asker): Promise<Finding> {
  const first = await open(asker, 'again')
  const second = await open(asker, 'again')
  if (first === null || second === null) return { facts: [] }
  const isReplaced = !(await works(asker, first.access))
  const value = isReplaced ? 'replaces the session' : 'leaves it alive'
  return {
    facts: [
      word(
        'sessions/reused-name',
        'a session name used again',
        value,
        `the older token ${isReplaced ? 'was refused' : 'worked'}`,
      ),
    ],
    switches: { reusedSessionName: isReplaced ? 'replaces' : 'adds' },
  }
}

/** With `--allow limits`: whether the two grants of one name are two sessions. */
async function joinedName(asker: Asker, known: Partial<Profile>): Promise<Finding> {
  if (known.reusedSessionName !== 'adds') return { facts: [] }
  await fill(asker, sessionLimit, 'before')
  const first = await open(asker, 'joined')
  await open(asker, 'joined')
  await fill(asker, sessionLimit - 1, 'joins')
  if (first === null) return { facts: [] }
  const joins = await works(asker, first.access)
  return {
    facts: [
      word(
        'sessions/reused-name',
        'two grants of one name',
        joins ? 'one session' : 'two sessions',
        `${sessionLimit - 1} sessions later the first ${joins ? 'lives' : 'is gone'}`,
      ),
    ],
    switches: { reusedSessionName: joins ? 'joins' : 'adds' },
  }
}

async function fill(asker: Asker, count: number, name: string | null): Promise<void> {
  for (let number = 0; number < count; number += 1) await open(asker, name === null ? null : `${name}-${number}`)
}

async function counting(asker: Asker): Promise<Finding> {
  const named = await open(asker, 'counted')
  await fill(asker, sessionLimit + 1, null)
  if (named === null) return { facts: [] }
  const isCounted = !(await works(asker, named.access))
  return {
    facts: [
      word(
        'sessions/counting',
        'what counts as a session',
        isCounted ? 'every grant' : 'named ones only',
        `after ${sessionLimit + 1} grants without a name the named session ${isCounted ? 'was gone' : 'lived'}`,
      ),
    ],
    switches: { unnamedCountAsSessions: isCounted },
  }
}

async function oldest(asker: Asker): Promise<Finding> {
  const first = await open(asker, 'first')
  const second = await open(asker, 'second')
  if (first === null || second === null) return { facts: [] }
  await fill(asker, sessionLimit - 2, 'others')
  await asker.instance.clock.sleep(betweenMs)
  await works(asker, first.access)
  await open(asker, 'beyond')
  const firstLives = await works(asker, first.access)
  const secondLives = await works(asker, second.access)
  if (firstLives === secondLives) return { facts: [] }
  return {
    facts: [
      word(
        'sessions/age',
        'the session that makes room',
        firstLives ? 'the longest unused' : 'the first created',
        'the first of 16 was used just before the 17th',
      ),
    ],
    switches: { oldestSession: firstLives ? 'longest-unused' : 'first-created' },
  }
}

export const sessionProbes: readonly Probe[] = [
  {
    name: 're-used session names',
    needs: ['sessions'],
    needsSecret: true,
    cost: { calls: 3, refusals: 1, grants: 2 },
    run: reusedName,
  },
]

export const limitProbes: readonly Probe[] = [
  {
    name: 'oldest session',
    needs: ['sessions', 'limits'],
    needsSecret: true,
    cost: { calls: 20, refusals: 1, grants: 17 },
    run: oldest,
  },
  {
    name: 'counting of sessions',
    needs: ['sessions', 'limits'],
    needsSecret: true,
    cost: { calls: 19, refusals: 0, grants: 18 },
    run: counting,
  },
  {
    name: 'sessions of one name',
    needs: ['sessions', 'limits'],
    needsSecret: true,
    cost: { calls: 34, refusals: 0, grants: 33 },
    run: joinedName,
  },
]
