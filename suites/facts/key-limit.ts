/** Part 8: the ten places for keys, and whose sessions are counted together. Fills limits. */
import { keyLimit, sessionLimit } from '../engine/document.ts'
import type { Profile } from '../targets/bundled.ts'
import { type Caller, type Reply, signed } from './caller.ts'
import { describeReply } from './compare-replies.ts'
import {
  amount,
  type Fact,
  type KeyProbe,
  type KeyProbeOptions,
  keyProbe,
  type ProbeResult,
  resultOf,
  word,
} from './fact.ts'
import { grant, pairOf, requestGrant, works } from './granted.ts'
import { type KeyMaker, nameOf, ordinaryScope, sessionWord } from './key-maker.ts'

/** One more than fit. */
const beyondTheLimit = keyLimit + 1
/** Two, because the effect of one could be that of the initial key. */
const refusedOnPurpose = 2

async function placesForKeys(caller: Caller, maker: KeyMaker, { fresh }: KeyProbeOptions): Promise<ProbeResult> {
  const last = await fillPlaces(caller, maker)
  const fit = maker.created.keys.length - (last.outcome === 'accepted' ? 1 : 0)
  const counted = maker.countedBeforeLast()
  const eleventh = await eleventhKey(caller, maker, last)
  const facts: Fact[] = [
    word('keys/limit-exceeded', 'a key beyond the limit', eleventh, describeReply(last)),
    // Elsewhere the number of earlier keys is unknown.
    ...(fresh
      ? [amount('keys/limit-exceeded', 'keys that fit', { value: fit, unit: 'keys' }, 'created until one was refused')]
      : []),
  ]
  const freed = last.outcome === 'refused' ? await freedPlace(caller, maker) : null
  if (freed !== null) facts.push(freed)
  if (!fresh || last.outcome !== 'refused') return resultOf(switchFor(eleventh), ...facts)
  const counting = countingOf(fit, counted)
  if (counting === null) return resultOf(switchFor(eleventh), ...facts)
  const evidence = `${fit} keys fit on a fresh instance, after ${counted} creations that were refused or removed`
  facts.push(
    word('keys/limit-counts-initial', 'the initial key is one of the ten', counting.initial, evidence),
    word('keys/limit-counts-refused', 'refused and removed keys take places', counting.refused, evidence),
  )
  return resultOf({ ...switchFor(eleventh), initialKeyCounts: counting.initial }, ...facts)
}

/** Finds out whether refused creations take places. Done before the places are full, because a refusal then has two reasons. */
export async function beRefused(caller: Caller, maker: KeyMaker): Promise<void> {
  for (let number = 0; number < refusedOnPurpose; number += 1)
    await maker.create({ name: nameOf(caller, `wrong-${number}`), scope: 'no list' })
}

/** Creates keys until one is refused, or until one beyond the limit was created. @returns the last answer */
async function fillPlaces(caller: Caller, maker: KeyMaker): Promise<Reply> {
  for (let number = 0; ; number += 1) {
    const { reply, key } = await maker.create({ name: nameOf(caller, `fill-${number}`), scope: ordinaryScope })
    if (key === null || maker.created.keys.length >= beyondTheLimit) return reply
  }
}

/** Checks whether the oldest known key still works. */
async function eleventhKey(caller: Caller, maker: KeyMaker, last: Reply): Promise<string> {
  if (last.outcome !== 'accepted') return 'refused'
  const [oldest] = maker.created.keys
  if (oldest?.secret === undefined) return 'created'
  const auth = signed(caller, { keyId: oldest.id, secret: oldest.secret })
  if (await caller.accepts({ auth })) return 'created'
  maker.created.removed(oldest.id)
  return 'the oldest key is removed'
}

const switchFor = (eleventh: string): Partial<Profile> =>
  eleventh === 'refused' ? { eleventhKey: 'refused' } : eleventh === 'created' ? {} : { eleventhKey: 'oldest-removed' }

/** Whether removing a key frees its place, where the target file names a method for it. */
async function freedPlace(caller: Caller, maker: KeyMaker): Promise<Fact | null> {
  const before = maker.created.keys.length
  if (!(await maker.removeAll()) || maker.created.keys.length === before) return null
  const { reply, key } = await maker.create({ name: nameOf(caller, 'freed'), scope: ['solution'] })
  return word('keys/limit-frees', 'removing a key frees its place', key !== null, describeReply(reply))
}

/**
 * @param fit how many keys were there at once
 * @param counted how many creations were refused or removed before the last of them
 * @returns null where this fits no reading
 */
function countingOf(fit: number, counted: number): { initial: boolean; refused: boolean } | null {
  if (counted < refusedOnPurpose) return null
  if (fit === keyLimit) return { initial: false, refused: false }
  if (fit === keyLimit - 1) return { initial: true, refused: false }
  const free = keyLimit - fit - counted
  return free === 0 || free === 1 ? { initial: free === 1, refused: true } : null
}

/** The sessions of a second key push out one of the root key, or do not. */
async function sessionUser(caller: Caller, maker: KeyMaker): Promise<ProbeResult> {
  const { key } = await maker.create({ name: nameOf(caller, 'user'), scope: ['solution'] })
  const session = (what: string): string[] => ['solution', sessionWord(caller, what)]
  const mine = await grant(caller, session('of-root'))
  if (key === null || key.secret === null || mine === null) return { facts: [] }
  const { id, secret } = key
  let opened = 0
  for (let number = 0; number < sessionLimit; number += 1) {
    if (pairOf(await requestGrant(caller, session(`of-other-${number}`), { id, secret })) !== null) opened += 1
  }
  if (opened < sessionLimit) return { facts: [] }
  const isAlive = await works(caller, mine.access)
  return resultOf(
    { sessionUser: isAlive ? 'one-key' : 'all-keys' },
    word(
      'sessions/user',
      'whose sessions are counted together',
      isAlive ? 'those of one key' : 'those of all keys',
      `after ${sessionLimit} sessions of another key that of the root key ${isAlive ? 'lived' : 'was gone'}`,
    ),
  )
}

export const keyLimitProbes: readonly KeyProbe[] = [
  keyProbe('whose sessions are counted', { calls: 19, refusals: 0, grants: 17, keys: 1 }, sessionUser, {
    needs: ['sessions', 'keys', 'limits'],
    needsSecret: true,
  }),
  keyProbe('places for keys', { calls: 16, refusals: 3, keys: 0 }, placesForKeys, { needs: ['keys', 'limits'] }),
]
