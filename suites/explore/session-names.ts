/** Names of sessions: names that come again with another scope, and names that a server may take for one another or for no name. */

import { grant, list, refresh, token } from './calls.ts'
import { creation, expectAccepted, expectRefused } from './expect-calls.ts'
import type { Explorer } from './explorer-types.ts'
import { apikeyScope, freshName, wordsOf } from './keyring.ts'
import { type Meanwhile, mostSessions, pauseMs, replaceAllSessions, useAll } from './session-storms.ts'
import type { Caller } from './table.ts'

/** Scopes of two grants of one session: the first opens more than the second. */
const widerAndNarrower = (apikeyWords: readonly string[]): (readonly [readonly string[], readonly string[]])[] => [
  [['solution', ...apikeyWords], ['context']],
  [['solution'], ['solution', 'ipAddr:']],
  [['solution', ...apikeyWords], ['solution']],
  [
    ['solution', 'context', 'solution:*'],
    ['context', 'solution:'],
  ],
  [
    ['solution', 'ipAddr:'],
    ['thread', 'ipAddr:'],
  ],
  [['solution', 'expiresIn:15000'], ['store']],
]

/**
 * Uses the name of a session twice. Whether the second grant joins, replaces or adds a session is open; in each reading its token has the
 * scope, the address and the lifetime that it asked for. The wide and the narrow grant take turns in being the first.
 *
 * @param users keys that grant; the second grant is made by the same key, and once by another
 * @param most how many scopes to try
 */
export async function sameNameTwice(caller: Caller, users: readonly string[], most: number): Promise<void> {
  const { x } = caller
  const [who = 'root', other] = users
  x.script = 'session-names/twice'
  const all = widerAndNarrower(apikeyScope(x) ?? []).slice(0, most)
  for (const [wide, narrow] of all) {
    await grantTwice(caller, [who, wide], [who, narrow])
    await grantTwice(caller, [who, narrow], [who, wide])
  }
  if (other === undefined) return
  for (const [wide, narrow] of all.slice(0, 2)) {
    await grantTwice(caller, [who, wide], [other, narrow])
    await grantTwice(caller, [other, narrow], [who, wide])
  }
}

type SessionGrant = readonly [who: string, scope: readonly string[]]

async function grantTwice(caller: Caller, ...grants: readonly [SessionGrant, SessionGrant]): Promise<void> {
  const { x } = caller
  const session = `${freshName(x, 'twice')}-$unique`
  const pairs: string[] = []
  for (const [who, scope] of grants) {
    const as = freshName(x)
    await x.call(grant(who, wordsOf(x, who, [...scope, 'session:'], session), { as }))
    if (x.lines.has(as)) pairs.push(as)
    await tryEffects(caller, as)
  }
  // A refresh of the earlier pair changes nothing in the later one, and the reverse.
  for (const pair of pairs) {
    const next = freshName(x)
    await x.call(refresh(pair, { as: next }))
    await tryEffects(caller, next)
    for (const one of pairs) if (one !== pair) await tryEffects(caller, one)
  }
}

/** What an access token opens and what it does not, as far as the model knows: a listing from each address, and a creation. */
async function tryEffects({ x, keyring }: Caller, pair: string): Promise<void> {
  if (!x.lines.has(pair)) return
  for (const { name: from } of x.addresses.slice(0, 2)) {
    await expectAccepted(x, list(token(pair), { from }))
    await expectRefused(x, list(token(pair), { from }))
  }
  if (keyring.keys && x.state().created <= 9) await expectRefused(x, creation(token(pair)))
}

/**
 * Names that a careless server takes for one another or for no name: the same letters, the beginning of another, the same number, words for
 * nothing, and members of objects. As many as a user may have.
 */
export const confusable: readonly string[] = [
  '0',
  'null',
  'listen-$unique',
  'silent-$unique',
  'false',
  '00',
  '100',
  'undefined',
  '1e2',
  '-1',
  'constructor',
  '0x64',
  'silent-$unique-',
  '__proto__',
  'true',
  'toString',
]

/** Names with letters beyond ASCII, a colon, a space or marks; which of them are granted is open. */
const odd: readonly string[] = [
  '\u00e4one-$unique',
  '\u6771two-$unique',
  '\ud83d\udd11three-$unique',
  'part:one-$unique',
  'part:two-$unique',
  'a b-$unique',
  'a+b-$unique',
  '*$unique',
  '%61-$unique',
  'x/y-$unique',
]

/**
 * sessions/sixteen-live, sessions/oldest-removed: sessions with such names are there side by side, and newer ones remove them. Those names
 * that cannot be new for each run are free: sixteen sessions of the key must have been created before, and remove them again afterwards.
 */
export async function confusableNames(caller: Caller, who: string, meanwhile: Meanwhile): Promise<void> {
  const { x } = caller
  const script = `session-names/${who}`
  x.script = script
  const storm = freshName(x, 'c')
  await replaceAllSessions(x, who, `${storm}-first`, mostSessions)
  await meanwhile(pauseMs)
  x.script = script
  for (const [turn, names] of [confusable, odd].entries()) {
    const made = await sessionsNamed(x, who, names)
    await useAll(x, made)
    await meanwhile(pauseMs)
    x.script = script
    await replaceAllSessions(x, who, `${storm}-last${turn}`, mostSessions)
    for (const gone of made) {
      await expectRefused(x, list(token(gone)))
      await expectRefused(x, refresh(gone))
    }
    await meanwhile(pauseMs)
    x.script = script
  }
}

async function sessionsNamed(x: Explorer, who: string, names: readonly string[]): Promise<string[]> {
  const made: string[] = []
  for (const name of names) {
    const as = freshName(x)
    await x.call(grant(who, ['solution', `session:${name}`], { as }))
    if (x.lines.has(as)) made.push(as)
  }
  return made
}
