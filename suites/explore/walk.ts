/** Random sequences over the same calls, drawn with fast-check: grants, refreshes and uses in any order, of any credential ever seen. */
import { type Arbitrary, array, constantFrom, nat, record, sample } from 'fast-check'
import { readDeviations } from '../engine/language/deviations.ts'
import type { Explorer } from './explorer.ts'
import { apikeyScope, type Caller, freshName, ownAddress } from './keyring.ts'
import { applyLaws } from './laws.ts'
import {
  type Auth,
  atOnce,
  basic,
  type CallStep,
  ecc,
  grant,
  hmac,
  list,
  madeBy,
  namesIn,
  none,
  refresh,
  token,
} from './step.ts'
import { deviate, rightCall } from './table.ts'

/** How often each kind of action is drawn. */
const weights = { grant: 1, use: 3, refresh: 2, key: 1, deviate: 2, elsewhere: 1, burst: 1, wait: 1, session: 1 }

type Kind = keyof typeof weights

const kinds = (Object.keys(weights) as Kind[]).flatMap((kind) => Array<Kind>(weights[kind]).fill(kind))

/** An action as numbers; their meaning depends on the state when it is done. */
const action = record({ kind: constantFrom(...kinds), who: nat(), what: nat(), how: nat() })

type Action = typeof action extends Arbitrary<infer One> ? One : never

/** Sequences of a seed: the same seed gives the same ones. */
export function sequences(seed: number, count: number): Action[][] {
  return sample(array(action, { minLength: 6, maxLength: 30 }), { seed, numRuns: count })
}

/** Walks until the budget ends, or until `most` sequences are done. */
export async function walk(caller: Caller, seed: number, isOver: () => boolean, most: number): Promise<void> {
  const { x } = caller
  for (let round = 0, done = 0; done < most; round++)
    for (const actions of sequences(seed + round, 20)) {
      const script = `walk/${x.log.length}`
      x.script = script
      for (const one of actions) {
        if (isOver()) return
        const before = x.log.length
        await act(caller, one)
        await applyLaws(
          caller,
          x.log.slice(before).flatMap(({ step }) => [...madeBy(step), ...namesIn(step)]),
        )
        x.script = script
      }
      done += 1
      if (done >= most) return
    }
}

const pick = <Item>(items: readonly Item[], at: number): Item | undefined => items[at % Math.max(1, items.length)]

/** Picks one of all pairs, newer ones more often. */
function anyPair(x: Explorer, at: number): string | undefined {
  const all = x.pairNames
  return pick(at % 4 === 0 ? all : all.slice(-12), Math.floor(at / 4))
}

const wordSets: readonly (readonly string[])[] = [
  ['solution'],
  ['context'],
  ['solution', 'context'],
  ['solution', 'expiresIn:15000'],
  ['thread'],
  ['solution', 'expiresIn:2000'],
  ['solution', 'own-address'],
  ['context', 'stream'],
]

async function act(caller: Caller, { kind, who, what, how }: Action): Promise<void> {
  const { x, keyring } = caller
  const connection = how % 5 === 0 ? ('new' as const) : how % 5
  if (!keyring.grants && kind !== 'key' && kind !== 'deviate') return
  const pair = anyPair(x, what)
  switch (kind) {
    case 'grant':
    case 'session': {
      const key = pick([...keyring.secret, ...keyring.narrow], who) ?? 'root'
      const words = (pick(wordSets, what) ?? []).flatMap((word) => (word === 'own-address' ? ownAddress(x) : word))
      const as = freshName(x)
      const named = kind === 'session' ? [`session:${as}-$unique`] : []
      const apikey = how % 3 === 0 ? (apikeyScope(x) ?? []) : []
      await x.call(grant(key, [...words, ...named, ...apikey], { as, connection }))
      return
    }
    case 'use':
      if (pair !== undefined) await x.call(list(token(pair), { connection }))
      return
    case 'elsewhere': {
      const address = pick(x.addresses.slice(1), who)
      if (pair !== undefined && address !== undefined)
        await x.call(list(token(pair), { connection, from: address.name }))
      return
    }
    case 'refresh':
      if (pair !== undefined) await x.call(refresh(pair, { as: freshName(x), connection }))
      return
    case 'key':
      await x.call(list(anyKey(caller, who, how), { connection }))
      return
    case 'deviate':
      await deviation(caller, who, what, how)
      return
    case 'burst': {
      if (pair === undefined || !x.lines.has(pair)) return
      const at = freshName(x, 'burst')
      const calls: CallStep[] = [
        list(token(pair)),
        refresh(pair, { as: `${at}a` }),
        list(token(pair)),
        refresh(pair, { as: `${at}b` }),
      ]
      await x.burst(atOnce(calls, how % 2 === 0 ? 'warm' : 'new'))
      return
    }
    case 'wait':
      await x.wait(x.clock.controlled ? (what % 8) * 400 : what % 60)
  }
}

function anyKey({ keyring }: Caller, who: number, how: number): Auth {
  const key = pick([...keyring.secret, ...keyring.ecc, ...keyring.narrow, ...keyring.narrowEcc], who) ?? 'root'
  const isEcc = keyring.ecc.includes(key) || keyring.narrowEcc.includes(key)
  if (how % 11 === 0) return none
  return isEcc ? (how % 4 === 0 ? basic(key) : ecc(key)) : how % 2 === 0 ? basic(key) : hmac(key)
}

/** Any operation on any part of any right call. */
async function deviation(caller: Caller, who: number, what: number, how: number): Promise<void> {
  const { fields, changesOf } = readDeviations()
  const way = pick(['basic', 'hmac', 'ecc', 'token', 'grant', 'refresh'], who) ?? 'basic'
  const field = pick(
    fields.filter(({ auth }) => auth.includes(way)),
    what,
  )
  const change = field === undefined ? undefined : pick(changesOf(field), how)
  const pair = way === 'token' || way === 'refresh' ? anyPair(caller.x, what + how) : undefined
  const right =
    pair === undefined ? await rightCall(caller, way, how) : way === 'token' ? list(token(pair)) : refresh(pair)
  if (change !== undefined && right !== undefined) await deviate(caller, right, change)
}
