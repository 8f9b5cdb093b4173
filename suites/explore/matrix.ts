/** Combinations: every pair of values of the dimensions of fixtures/matrix.yaml. Each row is a short sequence with its control. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { packageRoot } from '../engine/language/package-root.ts'
import { readYaml } from '../engine/language/yaml-source.ts'
import { type Random, seededRandom, shuffled } from '../engine/signer/random.ts'
import type { Seen } from './explorer-types.ts'
import { apikeyScope, type Caller, expectRefused, freshName, granted, ownAddress } from './keyring.ts'
import {
  basic,
  type CallStep,
  type Change,
  changed,
  create,
  ecc,
  grant,
  hmac,
  list,
  none,
  refresh,
  token,
} from './step.ts'

export function readMatrix(): Matrix {
  const path = join(packageRoot, 'fixtures', 'matrix.yaml')
  return readYaml(readFileSync(path, 'utf8'), path).value as Matrix
}

/** What the rows of a matrix showed about its pairs. */
export interface MatrixCoverage {
  /** Every pair. */
  readonly all: readonly string[]
  /** Pairs that a judged acceptance or refusal covered. */
  readonly covered: ReadonlySet<string>
  /** Why the other pairs are not covered. */
  readonly reasons: ReadonlyMap<string, string>
}

interface MatrixOptions {
  readonly caller: Caller
  readonly seed: number
  readonly matrix: Matrix
  /** Rows by the beginnings of their ids; null: all. */
  readonly only: readonly string[] | null
  isOver(): boolean
}

/** Whether a list of beginnings of ids names an id; null names all. */
export const isNamedBy = (only: readonly string[] | null, id: string): boolean =>
  only?.some((name) => id === name || id.startsWith(`${name}/`)) ?? true

/** How many rows hold each pair: if one cannot be judged, the next may be. */
export const rowsOfPair = 3

/** Makes the calls of the rows. Row numbers depend only on the seed, not on the answers of the target. */
export async function callMatrix({ caller, seed, matrix, only, isOver }: MatrixOptions): Promise<MatrixCoverage> {
  const { rows, impossible } = coveringArray(matrix, seededRandom(seed), rowsOfPair)
  const covered = new Set<string>()
  const reasons = new Map<string, string>()
  let at = 0
  for (const row of rows) {
    if (isOver()) break
    at += 1
    const id = `matrix/${at}`
    if (!isNamedBy(only, id) || (only === null && pairsOf(row).every((pair) => covered.has(pair)))) continue
    caller.x.script = id
    const why = await callRow(caller, row)
    for (const pair of pairsOf(row)) {
      if (why === null) covered.add(pair)
      else reasons.set(pair, why)
    }
  }
  const all = allPairs(matrix.dimensions)
  for (const pair of all) if (covered.has(pair)) reasons.delete(pair)
  return { all, covered, reasons: new Map([...reasons, ...impossible]) }
}

/** @returns why the row proves nothing; null if its answer was judged, with its control */
async function callRow(caller: Caller, row: Row): Promise<string | null> {
  const { x } = caller
  const pairs = await pairsFor(caller, row)
  const right = rightStep(caller, row, pairs)
  if (typeof right === 'string') return right
  await before(caller, row)
  const step = deviating(caller, row, right, pairs)
  if (typeof step === 'string') return step
  if (step === right || x.foresee(step)?.is === 'accepted') return callRight(caller, step)
  const hasEffect = right.method === 'manager/createApiKey' || right.params.grantType === 'refresh_token'
  if (!hasEffect && (await x.call(right))?.answer.kind !== 'accepted') return 'its control was not accepted'
  const wrong = await expectRefused(x, step)
  if (wrong === null) return whyOpen(caller, step)
  if (!hasEffect) await x.call({ ...right })
  return null
}

/** Places for keys are scarce, so only creations that must be refused are requested. */
async function callRight(caller: Caller, right: CallStep): Promise<string | null> {
  const isCreation = right.method === 'manager/createApiKey'
  const ask = (): Promise<Seen | null> => caller.x.call(right, isCreation ? 'refused' : undefined)
  const first = await ask()
  if (first === null) return isCreation ? 'a right creation takes a place for a key' : 'it cannot be made'
  if (first.verdict.is !== 'open') return null
  // The first answer shows that a body of this length is accepted, so the second can be judged.
  const isGone = right.params.grantType === 'refresh_token'
  const second = first.answer.kind === 'accepted' && !isGone && !isCreation ? await ask() : null
  return second === null || second.verdict.is === 'open' ? `open: ${first.verdict.requirement}` : null
}

function whyOpen({ x }: Caller, step: CallStep): string {
  const verdict = x.foresee(step)
  return verdict === null ? 'it cannot be made' : `open: ${verdict.requirement}`
}

/** The pairs of a row: every generation of one chain, the newest last. */
async function pairsFor({ x, keyring }: Caller, row: Row): Promise<string[]> {
  const who = row.key ?? 'root'
  if (row.generation === 'no token' || !keyring.grants || x.names.get(who) === undefined) return []
  const scope = [
    row.key === 'context-key' ? 'context' : 'solution',
    ...(row.method === 'create' ? (apikeyScope(x) ?? []) : []),
    ...restrictions(x, row),
  ]
  const first = await granted(x, { who, scope })
  if (first === undefined) return []
  const names = [first]
  for (let turn = 0; turn < Number(row.generation); turn++) {
    const next = freshName(x)
    await x.call(refresh(names.at(-1) ?? first, { as: next }))
    if (!x.lines.has(next)) break
    names.push(next)
  }
  return names
}

/** Scope words beside those of API areas. */
const restrictions = (x: Caller['x'], row: Row): string[] => [
  ...(row.session === 'named' ? ['session:'] : []),
  ...(row.address === 'ours' ? ownAddress(x) : []),
  ...(row.address === 'another' ? ['ipAddr:203.0.113.9'] : []),
  ...(row.lifetime === 'none' ? [] : [`expiresIn:${row.lifetime}`]),
]

const forms: { readonly [body: string]: number | string | undefined } = {
  compact: undefined,
  indented: 'indented',
  'members-reversed': 'members-reversed',
  'letter-escaped': 'letter-escaped',
  '2 KiB': 2048,
  '20 KiB': 20_480,
  '66 KiB': 67_584,
}

/** The right call of a row, or why it cannot be made here. */
function rightStep({ x, keyring }: Caller, row: Row, pairs: readonly string[]): CallStep | string {
  const { key: who = 'root', way = 'basic', method } = row
  if (x.names.get(who) === undefined) return `there is no key "${who}" here`
  const connection =
    row.connection === 'new' ? { connection: 'new' as const } : row.connection === 'other' ? { connection: 7 } : {}
  const form = forms[row.body ?? '']
  const more = { ...connection, ...(form === undefined ? {} : { form }) }
  const newest = pairs.at(-1)
  if (method === 'grant') return keyring.grants ? grant(who, grantedScope(x, row), more) : 'no tokens may be granted'
  const needsToken = method === 'refresh' || way === 'token'
  if (needsToken && newest === undefined) return 'the token that it needs was not granted'
  if (method === 'refresh') return refresh(newest ?? '', more)
  const auth =
    way === 'basic' ? basic(who) : way === 'hmac' ? hmac(who) : way === 'ecc' ? ecc(who) : token(newest ?? '')
  if (method === 'list') return list(auth, more)
  return keyring.keys && x.state().created <= 9
    ? create(auth, { name: 'matrix-$unique', scope: ['solution'] }, more)
    : 'no place for a key is left'
}

function grantedScope(x: Caller['x'], row: Row): string[] {
  const area = row.key === 'context-key' ? 'context' : 'solution'
  const name = freshName(x)
  return [area, ...restrictions(x, row)].map((word) => (word === 'session:' ? `session:${name}-$unique` : word))
}

/** The call of a row: right, or wrong in one way. A text says why it cannot be made. */
function deviating(caller: Caller, row: Row, right: CallStep, pairs: readonly string[]): CallStep | string {
  const { x } = caller
  switch (row.deviation) {
    case 'none':
    case undefined:
      return right
    case 'old-pair':
      return pairs.length < 2 ? 'the pair could not be refreshed' : withOldPair(right, pairs)
    case 'other-address': {
      const other = x.addresses[1]?.name
      return other === undefined ? 'there is no second address' : { ...right, from: other }
    }
    default: {
      const change = changeOf(row.deviation, row, right, caller)
      return change === undefined ? 'it cannot be made' : { ...right, change }
    }
  }
}

function withOldPair(right: CallStep, pairs: readonly string[]): CallStep {
  const old = pairs[0] ?? ''
  if (right.auth.kind === 'token') return { ...right, auth: token(old) }
  return { ...right, params: { ...right.params, refreshToken: `$${old}.refreshToken` } }
}

const operations: { readonly [deviation: string]: string } = {
  cut: 'first-three-quarters',
  lengthened: 'letter-appended',
  altered: 'inside-changed',
  'late-altered': 'late-changed',
  'other-case': 'case-swapped',
  padded: 'space-appended',
}

/** The part that carries the proof in each kind of call. */
function partOf({ auth, params }: CallStep): string {
  if (auth.kind === 'basic') return 'basic-secret'
  if (auth.kind === 'hmac' || auth.kind === 'ecc') return 'signature'
  if (auth.kind === 'token') return 'token'
  return params.grantType === 'refresh_token' ? 'param refreshToken' : 'param apiKeySecret'
}

function changeOf(deviation: string, row: Row, right: CallStep, { keyring }: Caller): Change | undefined {
  const field = partOf(right)
  const operation = operations[deviation]
  if (operation !== undefined) return { field, operation }
  if (deviation === 'other-body') return { field: 'sent-body', operation: 'another-id' }
  const other = keyring.secret.find((who) => who !== row.key)
  return other === undefined ? undefined : { field, place: `$${other}.secret` }
}

/** What happens directly before the call. */
async function before({ x, keyring }: Caller, row: Row): Promise<void> {
  const who = keyring.secret[0] ?? 'root'
  const wrong = changed(list(hmac(who)), { field: 'signature', operation: 'inside-changed' })
  switch (row.before) {
    case 'wrong-try':
      await expectRefused(x, wrong)
      break
    case 'nine-wrong-tries':
      for (let at = 0; at < 9; at++)
        await expectRefused(x, changed(list(basic(who)), { field: 'basic-secret', operation: 'late-changed' }))
      await x.call(list(basic(who)))
      break
    case 'another-key':
      await x.call(list(basic(keyring.secret.at(-1) ?? who)))
      break
    case 'another-refresh': {
      const name = keyring.grants ? await granted(x, { who, scope: ['solution'] }) : undefined
      if (name !== undefined) await x.call(refresh(name, { as: freshName(x) }))
      break
    }
    case 'no-authorization':
      await expectRefused(x, list(none))
      break
    default:
  }
}

type Dimensions = { readonly [name: string]: readonly string[] }
export type Row = { readonly [name: string]: string }

/** A combination of values that no row has. */
interface Impossible {
  readonly why: string
  /** Values by dimension: a row that has one of each, in any of these, is impossible. */
  readonly where: readonly Dimensions[]
}

export interface Matrix {
  readonly dimensions: Dimensions
  readonly impossible: readonly Impossible[]
}

/** `method=list & way=basic`, the smaller name first. */
export function pairsOf(row: Row): string[] {
  const items: string[] = []
  for (const name in row) items.push(`${name}=${row[name]}`)
  items.sort()
  const pairs: string[] = []
  for (let at = 0; at < items.length; at++)
    for (let other = at + 1; other < items.length; other++) pairs.push(`${items[at]} & ${items[other]}`)
  return pairs
}

/** Every pair of values of two dimensions. */
export function allPairs(dimensions: Dimensions): string[] {
  const names = Object.keys(dimensions)
  return names.flatMap((one, at) =>
    names
      .slice(at + 1)
      .flatMap((other) =>
        (dimensions[one] ?? []).flatMap((a) =>
          (dimensions[other] ?? []).flatMap((b) => pairsOf({ [one]: a, [other]: b })),
        ),
      ),
  )
}

/** How many random rows compete for each place. */
const candidates = 16
/** How many random rows are drawn for a pair before it counts as impossible. */
const draws = 400

interface CoveringArray {
  /** Drawn one by one, because a small budget needs few of them. */
  readonly rows: Iterable<Row>
  /** The pairs that are in no row, each with the reason; whole when the rows have ended. */
  readonly impossible: ReadonlyMap<string, string>
}

/**
 * The first rows hold every pair once; further ones hold it again beside other values.
 *
 * @param times how many rows hold each pair
 */
export function coveringArray(matrix: Matrix, random: Random, times = 1): CoveringArray {
  const impossible = new Map<string, string>()
  return { rows: drawRows(matrix, random, times, impossible), impossible }
}

function* drawRows(
  matrix: Matrix,
  random: Random,
  times: number,
  impossible: Map<string, string>,
): Generator<Row, void> {
  const reasonAgainst = reasonsOf(matrix)
  for (let time = 0; time < times; time++) {
    const open = new Set(allPairs(matrix.dimensions).filter((pair) => !impossible.has(pair)))
    while (open.size > 0) {
      const [wanted = ''] = open
      const pair = valuesOf(wanted)
      const direct = reasonAgainst(pair)
      const best = direct ?? bestRow(matrix, random, { pair, open, reasonAgainst })
      for (const done of typeof best === 'string' ? [wanted] : pairsOf(best)) open.delete(done)
      if (typeof best === 'string') impossible.set(wanted, best)
      else yield best
    }
  }
}

/** Why a row, or a part of one, is impossible; with a dimension, only as far as its value is a reason. */
type ReasonAgainst = (row: Row, dimension?: string) => string | undefined

function reasonsOf({ impossible, dimensions }: Matrix): ReasonAgainst {
  const all = impossible.flatMap(({ why, where }) =>
    where.map((values) => ({
      why,
      where: Object.entries(values).map(([name, some]) => [name, new Set(some)] as const),
    })),
  )
  const names = Object.keys(dimensions)
  const ofDimension = new Map(
    names.map((name) => [name, all.filter(({ where }) => where.some(([one]) => one === name))]),
  )
  return (row, dimension) => {
    const some = dimension === undefined ? all : ofDimension.get(dimension)
    return some?.find(({ where }) => where.every(([name, values]) => values.has(row[name] ?? '')))?.why
  }
}

interface Drawn {
  readonly pair: Row
  /** The pairs that no row has yet. */
  readonly open: ReadonlySet<string>
  readonly reasonAgainst: ReasonAgainst
}

/** Of the possible rows with this pair the one that covers most open pairs, or the reason why no row is possible. */
function bestRow(matrix: Matrix, random: Random, { pair, open, reasonAgainst }: Drawn): Row | string {
  let best: Row | undefined
  let gained = -1
  let why = ''
  for (let drawn = 0, possible = 0; drawn < draws && possible < candidates; drawn++) {
    const row = randomRow(matrix, random, pair, reasonAgainst)
    const reason = reasonAgainst(row)
    why = reason ?? why
    if (reason !== undefined) continue
    possible += 1
    let gain = 0
    for (const one of pairsOf(row)) if (open.has(one)) gain += 1
    if (gain > gained) [best, gained] = [row, gain]
  }
  return best ?? `every row with it is impossible: ${why}`
}

const valuesOf = (pair: string): Row =>
  Object.fromEntries(pair.split(' & ').map((item) => item.split('=') as [string, string]))

/** Draws one dimension after the other in a random order, and avoids values that the row so far makes impossible. */
function randomRow(matrix: Matrix, random: Random, pair: Row, reasonAgainst: ReasonAgainst): Row {
  const row = { ...pair }
  const names = Object.keys(matrix.dimensions).filter((name) => pair[name] === undefined)
  for (const name of shuffled(names, random)) {
    for (const value of shuffled(matrix.dimensions[name] ?? [], random)) {
      row[name] = value
      if (reasonAgainst(row, name) === undefined) break
    }
  }
  return row
}
