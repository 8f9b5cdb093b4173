/** The full table: every operation on every part of every kind of call. Enumerated, not drawn. */
import { countBy } from '../engine/group.ts'
import type { Operations } from '../engine/language/deviations.ts'
import { levelOf } from '../engine/model/judge.ts'
import { type Random, shuffled } from '../engine/signer/random.ts'
import type { Explorer } from './explorer.ts'
import { apikeyScope, type Caller, mayTryCreation, pairOf } from './keyring.ts'
import {
  type Auth,
  basic,
  type CallStep,
  type Change,
  changed,
  create,
  ecc,
  grant,
  hmac,
  list,
  refresh,
  token,
} from './step.ts'

interface Cell {
  /** `table/<way>/<part>`: what baselines and reports name. */
  readonly id: string
  readonly way: string
  readonly change: Change
  /** How often the part was changed before this operation. */
  readonly turn: number
  /** The call creates a key; otherwise its method changes from turn to turn. */
  readonly creates?: boolean
  /** The key that makes the call, counted from 0 among those of its kind; otherwise it changes from turn to turn. */
  readonly user?: number
  /** Its calls grant nothing, so they may be made while sessions are watched. */
  readonly isHarmless: boolean
  /** The other kind of signature tries it first, so that few budgets reach it. */
  readonly isDeferred: boolean
  /** It breaks a sentence that the document only implies. */
  readonly isImplied: boolean
}

/** Added to the turn of an operation that is tried with the other kind of signature first. */
const deferredTurns = 200

/** Added to the turn of a change that is repeated on manager/createApiKey, because a server may check that method in other code. */
const creationTurns = 100

/** Added to the turn of a creation that breaks an implied sentence: a server that takes it has one place less for those that break a must. */
const impliedTurns = 400

/** Parts of which every change is repeated on manager/createApiKey, and with every key; of others only the first operations are. */
const alwaysRepeated = ['mac', 'signature-bytes', 'mistake']

/** Added to the turn of a change that is repeated with every key, because a server may check one kind of key in other code. */
const everyKeyTurns = 50

/** Parts of which the first operations are repeated with every key. */
const ofEveryKey = ['signed-method', 'signed-uri', 'basic-secret', 'param apiKeySecret']

/** How many keys of a kind make such calls. */
const usersOf: { readonly [way: string]: number } = { hmac: 4, ecc: 3, basic: 4, grant: 4 }

/** Whether the credentials are changed, not what is called. */
const isOfCredentials = (field: string): boolean => !/^(body|member|param)\b/.test(field)

const waysToCreate = ['basic', 'hmac', 'ecc', 'token']

/**
 * One cell for each operation on each part, ordered so that every part is tried once before any is tried twice. HMAC and ECC sign the same
 * data, so after the first operations each operation is tried with one of them, in turns, and with the other at the end.
 */
export function cells(
  { fields, first, changesOf, breaks }: Pick<Operations, 'fields' | 'first' | 'changesOf' | 'breaks'>,
  random: Random,
): Cell[] {
  const rank = ({ operation = '' }: Change): number =>
    first.includes(operation) ? first.indexOf(operation) : first.length
  const parts = fields.flatMap((field) => {
    const ordered = shuffled(changesOf(field), random).sort((one, other) => rank(one) - rank(other))
    const isShared = field.auth.includes('hmac') && field.auth.includes('ecc')
    return field.auth.flatMap((way) => {
      const turns = new Map<string, number>()
      return ordered.map((change, at): Cell => {
        const part = partName(field.field, change)
        const isLater = isShared && rank(change) === first.length && isLeftToOtherKind(change, way, at)
        const count = turns.get(`${part} ${isLater}`) ?? 0
        turns.set(`${part} ${isLater}`, count + 1)
        return {
          id: `table/${way}/${part}`,
          way,
          change,
          turn: isLater ? deferredTurns + count : count,
          isHarmless: ['basic', 'hmac', 'ecc'].includes(way),
          isDeferred: isLater,
          isImplied: levelOf(breaks(change, way) ?? '') === 'implied',
        }
      })
    })
  })
  const onCreation = parts
    .filter(({ way, change }) => waysToCreate.includes(way) && isOfCredentials(change.field))
    .filter(({ change }) => rank(change) < first.length || alwaysRepeated.includes(change.field))
    .flatMap((cell): Cell[] => {
      const created: Cell = { ...cell, turn: cell.turn + creationTurns, creates: true }
      return isOfEveryCreator(cell) ? ofUsers(created) : [created]
    })
  const withEveryKey = parts
    .filter(
      ({ change }) =>
        alwaysRepeated.includes(change.field) || (ofEveryKey.includes(change.field) && rank(change) < first.length),
    )
    .flatMap((cell) => ofUsers({ ...cell, turn: cell.turn + everyKeyTurns }))
  return [...parts, ...withEveryKey, ...onCreation].map(lateIfForgiven).sort((one, other) => one.turn - other.turn)
}

const lateIfForgiven = (cell: Cell): Cell =>
  cell.isImplied && (cell.creates === true || cell.way.startsWith('create'))
    ? { ...cell, turn: cell.turn + impliedTurns }
    : cell

/** Whether a wrong creation is tried with every key: for one of them a part of the right HMAC may be enough. */
const isOfEveryCreator = ({ way, change }: Cell): boolean =>
  way === 'hmac' && change.field === 'mistake' && change.operation?.startsWith('signature/') === true

/** The same call of each key of its kind. */
const ofUsers = (cell: Cell): Cell[] =>
  Array.from({ length: usersOf[cell.way] ?? 0 }, (_, user): Cell => ({ ...cell, user }))

/**
 * Whether an operation is tried with the other kind of signature first. Mistakes of signers are left to ECC, because the scripted cases make
 * them with HMACs. Mistakes in the secret are tried here too: they depend on whether it is hex, in which root and created keys may differ.
 */
function isLeftToOtherKind({ field, operation = '' }: Change, way: string, at: number): boolean {
  if (field !== 'mistake') return (at % 2 === 0) === (way === 'ecc')
  return way === 'hmac' && !operation.startsWith('key/')
}

/** A mistake of the signer's table belongs to the part of the signature that it is about. */
const partName = (field: string, { operation = '' }: Change): string =>
  field === 'mistake' ? `mistake-${operation.split('/')[0]}` : field.replaceAll(' ', '-')

/** The number of wrong calls of one kind after which the right one is repeated. */
const controlEvery = 6

/** How many right calls to try if the change has no effect on the first, as lower case has none on digits. */
const rightCallsTried = 3

/** Makes the calls of one cell. @returns whether the model could judge them */
async function callCell(caller: Caller, cell: Cell): Promise<boolean> {
  const { id, way, change, creates = false, isImplied, user } = cell
  const { turns } = caller
  caller.x.script = id
  const isForgiven = caller.forgiven.has(JSON.stringify(change))
  if (isForgiven && creates) return false
  for (let tried = 0; tried < rightCallsTried; tried++) {
    const turn = turns.get(id) ?? 0
    turns.set(id, turn + 1)
    const howOften = creates ? 'always' : isImplied || isForgiven ? 'never' : 'at times'
    const right = user === undefined ? await rightCall(caller, way, turn, howOften) : rightCallOf(caller, cell)
    if (right === undefined) return false
    const shown = await deviate(caller, right, change)
    if (shown !== 'open') return shown === 'judged'
  }
  return false
}

/**
 * Sends the wrong call and the right one: if the right one is refused too, nothing is proved.
 *
 * @returns open: the change may change nothing; unproved: the right call may be refused, too
 */
export async function deviate(
  caller: Caller,
  right: CallStep,
  change: Change,
): Promise<'judged' | 'open' | 'unproved'> {
  const { x, sinceControl } = caller
  const wrong = changed(right, change)
  const formed = change.field === 'sent-body' ? { ...right, body: change.operation ?? '' } : right
  const kind = JSON.stringify([right.call, right.auth, right.params, formed.body, right.from])
  const since = sinceControl.get(kind)
  const changes = right.call === 'manager/createApiKey' || right.params.grantType === 'refresh_token'
  if (!changes && (since === undefined || since >= controlEvery)) {
    if (x.foresee(wrong)?.is !== 'refused') return 'open'
    if (formed !== right && x.foresee(formed)?.is === 'refused') return 'unproved'
    if ((await x.call(formed))?.answer.kind !== 'accepted') return 'unproved'
    sinceControl.set(kind, 0)
  }
  const seen = await x.call(wrong, 'refused')
  if (seen === null) return 'open'
  sinceControl.set(kind, (sinceControl.get(kind) ?? 0) + 1)
  if (seen.answer.kind === 'accepted') caller.forgiven.add(JSON.stringify(change))
  if (seen.answer.kind === 'broken') await x.call({ ...formed, connection: 'new' })
  return 'judged'
}

/** Every fifth right call with one kind of authorization is a creation, as long as a place is free. */
const creationEvery = 5

/**
 * A right call with one kind of authorization; key, method and connection change from turn to turn.
 *
 * @param creates whether it is a creation in every turn, in no turn, or in some while a place is free
 */
export async function rightCall(
  caller: Caller,
  way: string,
  turn: number,
  creates: 'always' | 'at times' | 'never' = 'at times',
): Promise<CallStep | undefined> {
  const { x, keyring } = caller
  const connection = turn % 7 === 3 ? { connection: 'new' as const } : turn % 4 === 2 ? { connection: 1 } : {}
  const nonce = nonceKinds[turn % nonceKinds.length]
  const more = nonce === undefined || (way !== 'hmac' && way !== 'ecc') ? connection : { ...connection, nonce }
  switch (way) {
    case 'grant': {
      const who = pick(keyring.secret, turn)
      return who === undefined || !keyring.grants ? undefined : grant(who, ['solution'], more)
    }
    case 'refresh': {
      const pair = await pairOf(x, kindOf(keyring, Math.floor(turn / 8)))
      return pair === undefined ? undefined : refresh(pair, more)
    }
    case 'create':
    case 'create-with-public-key': {
      if (!mayTryCreation(caller)) return undefined
      const publicKey = way === 'create' ? {} : { publicKey: '$spare.publicKey' }
      return create(
        basic(pick(keyring.secret, turn) ?? 'root'),
        { name: 'deviation-$unique', scope: ['solution'], ...publicKey },
        more,
      )
    }
    default: {
      const mayCreate = mayTryCreation(caller)
      if (creates === 'always' && !mayCreate) return undefined
      const isCreation = mayCreate && (creates === 'always' || (creates === 'at times' && turn % creationEvery === 1))
      const auth = await authOf(caller, way, turn, isCreation)
      if (auth === undefined) return undefined
      return isCreation ? creation(auth, more) : list(auth, more)
    }
  }
}

/** A right call of one of the keys: a listing, a creation, or a grant; undefined if there are fewer keys, or no place for another one. */
function rightCallOf(
  caller: Caller,
  { way, user = 0, creates = false }: Pick<Cell, 'way' | 'user' | 'creates'>,
): CallStep | undefined {
  const { keyring } = caller
  if (creates) {
    const maker = (way === 'ecc' ? keyring.ecc : keyring.secret)[user]
    return maker === undefined || !mayTryCreation(caller) ? undefined : creation(authBy(way, maker))
  }
  const listing = keyring.narrow.filter((one) => one === 'solution-key')
  const who =
    way === 'ecc'
      ? [...keyring.ecc, ...keyring.narrowEcc.slice(0, 1)][user]
      : [...keyring.secret.slice(0, 3), ...listing, ...keyring.secret.slice(3)][user]
  if (who === undefined) return undefined
  if (way === 'grant') return keyring.grants ? grant(who, ['solution']) : undefined
  return list(authBy(way, who))
}

const authBy = (way: string, who: string): Auth => (way === 'ecc' ? ecc(who) : way === 'basic' ? basic(who) : hmac(who))

const creation = (auth: Auth, more: Partial<CallStep> = {}): CallStep =>
  create(auth, { name: 'deviation-$unique', scope: ['solution'] }, more)

const nonceKinds = [undefined, 'digits', undefined, 'letters', 'padded', undefined, 'marks'] as const

async function authOf({ x, keyring }: Caller, way: string, turn: number, creates: boolean): Promise<Auth | undefined> {
  if (way === 'ecc') {
    const who = pick(keyring.ecc, turn)
    return who === undefined ? undefined : ecc(who)
  }
  if (way === 'token') {
    const kind = kindOf(keyring, turn)
    const words = creates ? apikeyScope(x) : []
    if (words === undefined) return undefined
    const pair = await pairOf(x, { ...kind, scope: [...kind.scope, ...words] })
    return pair === undefined ? undefined : token(pair)
  }
  const who = pick(
    creates ? keyring.secret : [...keyring.secret, ...keyring.narrow.filter((one) => one === 'solution-key')],
    turn,
  )
  return who === undefined ? undefined : authBy(way, who)
}

const pick = <Item>(items: readonly Item[], turn: number): Item | undefined => items[turn % Math.max(1, items.length)]

type PairKind = Parameters<typeof pairOf>[1]

const kinds: readonly Omit<PairKind, 'who'>[] = [
  { scope: ['solution'] },
  { scope: ['solution'], generation: 1 },
  { scope: ['solution', 'expiresIn:15000'] },
  { scope: ['solution', 'context'], generation: 2 },
  { scope: ['solution', 'session:'] },
  { scope: ['solution'], generation: 3 },
  { scope: ['solution', 'ipAddr:'] },
  { scope: ['solution', 'session:', 'expiresIn:15000'], generation: 1 },
  { scope: ['solution', 'context', 'ipAddr:'], generation: 2 },
]

/** A kind of pair for each turn: of every key, of every generation. */
function kindOf(keyring: Caller['keyring'], turn: number): PairKind {
  const who = keyring.secret[turn % keyring.secret.length] ?? 'root'
  return { who, ...(kinds[(turn * 5 + Math.floor(turn / 3)) % kinds.length] ?? { scope: ['solution'] }) }
}

/** @param left the cells whose calls are still to be made */
export function openTable(left: Cell[]) {
  const counts = countBy(left, ({ id }) => id)
  /** Of each part of a call how many cells were asked, and how many there are. */
  const parts = new Map([...counts].sort().map(([id, all]) => [id, { asked: 0, all }]))
  return { left, asked: 0, parts, all: left.length }
}

interface Portion {
  /** The maximum number of calls. */
  readonly most?: number
  readonly only?: (cell: Cell) => boolean
  /** A time on the target's clock. */
  readonly until?: number
  isOver(): boolean
}

/** Makes the calls of some of the remaining cells. */
export async function callCells(caller: Caller, table: ReturnType<typeof openTable>, portion: Portion): Promise<void> {
  const { most = Number.POSITIVE_INFINITY, only = () => true, until = Number.POSITIVE_INFINITY, isOver } = portion
  const { clock } = caller.x
  const begun = new Set<Cell>()
  let asked = 0
  const ask = async (cells: readonly Cell[], who: Caller): Promise<void> => {
    for (const cell of cells) {
      if (asked >= most || isOver() || clock.now() > until) return
      if (begun.has(cell)) continue
      begun.add(cell)
      if (await callCell(who, cell)) asked += 1
      table.asked += 1
      const part = table.parts.get(cell.id)
      if (part !== undefined) part.asked += 1
    }
  }
  const wanted = table.left.filter(only)
  const lanes = lanesFor(caller.x)
  for (let from = 0; from < wanted.length && asked < most && !isOver(); from += bandOfCells) {
    const band = wanted.slice(from, from + bandOfCells)
    // What is granted changes what others meet, so such calls are made alone.
    const harmless = band.filter((cell) => cell.isHarmless)
    const beside = lanes > 1 ? Array.from({ length: lanes }, (_, at) => ask(harmless, inLane(caller, at + 1))) : []
    // Where the target is gone, each lane finds it out: none goes on alone.
    for (const lane of await Promise.allSettled(beside)) if (lane.status === 'rejected') throw lane.reason
    await ask(band, caller)
  }
  table.left = table.left.filter((cell) => !begun.has(cell))
}

/** Of so many cells those that may be asked together come first, so that the order of all is nearly kept. */
const bandOfCells = 100

/** How many calls are under way at once: as many as it takes to make and judge one while the others wait for their answers. */
function lanesFor({ answerMs, clock, options: { instance } }: Explorer): number {
  if (clock.controlled) return 1
  return Math.max(
    1,
    Math.min(mostLanes, instance.settings.concurrency ?? mostLanes, 1 + Math.ceil(answerMs() / laneMs)),
  )
}

const mostLanes = 4
/** About as long as a call is made and judged. */
const laneMs = 0.5

/** Makes calls beside those of other lanes. */
function inLane(caller: Caller, lane: number): Caller {
  const { x } = caller
  const own: Explorer = {
    ...x,
    call: (step, only) => {
      x.script = own.script
      return x.call(step, only, lane)
    },
  }
  return { ...caller, x: own }
}
