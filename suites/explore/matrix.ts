/** Combinations: every pair of values of the dimensions of fixtures/matrix.yaml. Each row is a short sequence with its control. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { packageRoot } from '../engine/fixture/package-root.ts'
import { readYaml } from '../engine/fixture/yaml-source.ts'
import type { Random } from '../engine/random.ts'
import { keptOut } from './ask-only.ts'
import { basic, changed, create, ecc, grant, hmac, list, none, refresh, token } from './calls.ts'
import { coveringArray, type Dimensions, pairsOf, type Row } from './covering.ts'
import { apikeyScope, freshName, granted } from './people.ts'
import type { CallStep, Change } from './step.ts'
import type { Asker } from './table.ts'

export function readMatrix(path = join(packageRoot, 'fixtures', 'matrix.yaml')): Dimensions {
  return readYaml(readFileSync(path, 'utf8'), path).value as Dimensions
}

export interface MatrixCoverage {
  /** Pairs that a judged acceptance or refusal covered. */
  readonly covered: ReadonlySet<string>
  /** Why a row said nothing, by pair. */
  readonly reasons: ReadonlyMap<string, string>
}

export interface MatrixAsked {
  readonly asker: Asker
  readonly random: Random
  readonly dimensions: Dimensions
  /** Rows by the beginnings of their ids; null: all. */
  readonly only: readonly string[] | null
  isOver(): boolean
}

/** Whether a list of beginnings of ids names an id; null names all. */
export const isNamedBy = (only: readonly string[] | null, id: string): boolean =>
  only?.some((name) => id === name || id.startsWith(`${name}/`)) ?? true

/** Asks the rows. Their numbers are stable, since a release draws them from one seed. */
export async function askMatrix({ asker, random, dimensions, only, isOver }: MatrixAsked): Promise<MatrixCoverage> {
  const covered = new Set<string>()
  const reasons = new Map<string, string>()
  for (const [at, row] of coveringArray(dimensions, random).entries()) {
    if (isOver()) break
    const id = `matrix/${at + 1}`
    if (!isNamedBy(only, id)) continue
    asker.x.script = id
    const why = await askRow(asker, row)
    for (const pair of pairsOf(row)) {
      if (why === null) covered.add(pair)
      else reasons.set(pair, why)
    }
  }
  return { covered, reasons }
}

/** @returns why the row says nothing; null where its answer was judged, with its control */
async function askRow(asker: Asker, row: Row): Promise<string | null> {
  const { x } = asker
  const pairs = await pairsFor(asker, row)
  const right = rightStep(asker, row, pairs)
  if (right === undefined) return 'no such call: key, way and method do not go together, or no place for a key is left'
  await before(asker, row)
  const change = changeOf(row, right, asker)
  const step =
    row.deviation === 'old-pair' ? withOldPair(right, pairs) : change === undefined ? right : { ...right, change }
  if (step === right) return askRight(asker, right)
  if (x.foresee(right)?.is === 'refused') return (await keptOut(x, right)) === null ? 'it cannot be made' : null
  const isEffect = right.method === 'manager/createApiKey' || right.params.grantType === 'refresh_token'
  if (!isEffect && (await x.call(right))?.answer.kind !== 'accepted') return 'its control was not accepted'
  if ((await keptOut(x, step)) === null) return 'the change makes another spelling of a right call, which is open'
  if (!isEffect) await x.call({ ...right })
  return null
}

/** A place for a key is precious: creations are asked only where they must be refused. */
async function askRight({ x }: Asker, right: CallStep): Promise<string | null> {
  const seen = await x.call(right, right.method === 'manager/createApiKey' ? 'refused' : undefined)
  if (seen === null) return 'a right creation would take a place for a key'
  return seen.verdict.is === 'open' ? `open: ${seen.verdict.requirement}` : null
}

/** The pairs of a row: every generation of one chain, the newest last. */
async function pairsFor({ x, people }: Asker, row: Row): Promise<string[]> {
  const needs =
    row.way === 'token' || row.way === 'refreshed-token' || row.method === 'refresh' || row.deviation === 'old-pair'
  const who = row.key ?? 'root'
  if (!needs || !people.grants || x.names.get(who) === undefined) return []
  const scope = [
    row.key === 'context-key' ? 'context' : 'solution',
    ...(row.method === 'create' ? (apikeyScope(x) ?? []) : []),
  ]
  const own = x.addresses[0]?.seen ?? ''
  if (row.session === 'named') scope.push('session:')
  if (row.address === 'ours') scope.push(`ipAddr:${own}`)
  if (row.address === 'another') scope.push('ipAddr:203.0.113.9')
  if (row.lifetime !== 'none') scope.push(`expiresIn:${row.lifetime}`)
  const first = await granted(x, { who, scope })
  if (first === undefined) return []
  const names = [first]
  const least = row.deviation === 'old-pair' || row.way === 'refreshed-token' ? 1 : 0
  for (let turn = 0; turn < Math.max(least, Number(row.generation)); turn++) {
    const next = freshName(x)
    await x.call(refresh(names.at(-1) ?? first, { as: next }))
    if (!x.lines.has(next)) break
    names.push(next)
  }
  return names
}

const forms: { readonly [body: string]: number | string | undefined } = {
  compact: undefined,
  indented: 'indented',
  'members-reversed': 'members-reversed',
  'letter-escaped': 'letter-escaped',
  '2 KiB': 2048,
  '20 KiB': 20_480,
  '66 KiB': 67_584,
}

function rightStep({ x, people }: Asker, row: Row, pairs: readonly string[]): CallStep | undefined {
  const { key: who = 'root', way = 'basic', method } = row
  const value = x.names.get(who)
  if (value === undefined) return undefined
  const connection =
    row.connection === 'new' ? { connection: 'new' as const } : row.connection === 'other' ? { connection: 7 } : {}
  const form = forms[row.body ?? ''] === undefined ? {} : { form: forms[row.body ?? ''] as string | number }
  const more = { ...connection, ...form }
  const newest = pairs.at(-1)
  if (method === 'grant') return people.grants ? grant(who, ['solution'], more) : undefined
  if (method === 'refresh') return newest === undefined ? undefined : refresh(newest, more)
  if (way === 'ecc' && value.seed === undefined) return undefined
  if (way.endsWith('token') && newest === undefined) return undefined
  const auth =
    way === 'basic' ? basic(who) : way === 'hmac' ? hmac(who) : way === 'ecc' ? ecc(who) : token(newest ?? '')
  if (method === 'list') return list(auth, more)
  return people.keys && x.state().created <= 9
    ? create(auth, { name: 'matrix-$unique', scope: ['solution'] }, more)
    : undefined
}

function withOldPair(right: CallStep, pairs: readonly string[]): CallStep {
  const old = pairs[0] ?? ''
  if (right.auth.kind === 'token') return { ...right, auth: token(old) }
  return right.params.grantType === 'refresh_token'
    ? { ...right, params: { ...right.params, refreshToken: `$${old}.refreshToken` } }
    : right
}

const operations: { readonly [deviation: string]: string } = {
  cut: 'first-three-quarters',
  lengthened: 'letter-behind',
  altered: 'inside-changed',
  'late-altered': 'late-changed',
  'other-case': 'case-swapped',
  padded: 'space-behind',
}

/** The part that carries the proof in each kind of call. */
function partOf({ auth, params }: CallStep): string {
  if (auth.kind === 'basic') return 'basic-secret'
  if (auth.kind === 'hmac' || auth.kind === 'ecc') return 'signature'
  if (auth.kind === 'token') return 'token'
  return params.grantType === 'refresh_token' ? 'param refreshToken' : 'param apiKeySecret'
}

function changeOf(row: Row, right: CallStep, { x, people }: Asker): Change | undefined {
  const { deviation = 'none' } = row
  const field = partOf(right)
  const operation = operations[deviation]
  if (operation !== undefined) return { field, operation }
  if (deviation === 'another-credential') {
    const other = people.secret.find((who) => who !== row.key)
    return other === undefined ? undefined : { field, place: `$${other}.secret` }
  }
  if (
    deviation !== 'other-body' ||
    right.auth.kind === 'basic' ||
    right.auth.kind === 'token' ||
    right.auth.kind === 'none'
  )
    return undefined
  void x
  return { field: 'sent-body', operation: 'another-id' }
}

/** What happened right before. */
async function before({ x, people, pairs }: Asker, row: Row): Promise<void> {
  const who = people.secret[0] ?? 'root'
  const wrong = changed(list(hmac(who)), { field: 'signature', operation: 'inside-changed' })
  switch (row.before) {
    case 'wrong-try':
      await keptOut(x, wrong)
      break
    case 'nine-wrong-tries':
      for (let at = 0; at < 9; at++)
        await keptOut(x, changed(list(basic(who)), { field: 'basic-secret', operation: 'late-changed' }))
      await x.call(list(basic(who)))
      break
    case 'another-key':
      await x.call(list(basic(people.secret.at(-1) ?? who)))
      break
    case 'another-refresh': {
      const name = people.grants ? await granted(x, { who, scope: ['solution'] }) : undefined
      if (name !== undefined) await x.call(refresh(name, { as: freshName(x) }))
      void pairs
      break
    }
    case 'no-authorization':
      await keptOut(x, list(none))
      break
    default:
  }
}
