import type { ServerContext } from './context.ts'
import type { MockAnswer, MockRequest } from './http-server.ts'
import { methods } from './methods/index.ts'
import { demandKnownNames, demandWord } from './profile.ts'
import type { RpcOutcome } from './rpc.ts'
import type { Means, TokenPair } from './state.ts'

/** One call, redacted: no secret, no token, no params. */
export interface JournalEntry {
  /** Counts from 1. */
  number: number
  timeMs: number
  httpMethod: string
  path: string
  remoteAddress: string
  status: number
  /** The result of the call; `faulted` if a fault answered before the call had an effect. */
  verdict: 'accepted' | 'refused' | 'faulted'
  /** Where a refused call was stopped, such as `signature/mac`. */
  stage?: string
  method?: string
  grantType?: string
  keyId?: string
  means?: Means
  /** The pair whose token was presented. */
  pair?: string
  /** The pair that was issued. */
  issued?: string
  /** The deliberate faults that applied to this call. */
  faults?: string[]
  /** What the server computed for a refused signature; only with `explain`. */
  computed?: { dataToSign: string; signature?: string }
}

/** Where a pair of tokens came from and how it ended. */
export interface LineageEntry
  extends Pick<TokenPair, 'generation' | 'scope' | 'issuedMs' | 'accessExpiryMs' | 'refreshExpiryMs'> {
  pair: string
  /** All pairs of one grant share it. */
  family: string
  /** The pair that was refreshed; null for a grant. */
  parent: string | null
  keyId: string
  session: string | null
  revokedMs: number | null
}

export type JournalFilter = Partial<
  Pick<JournalEntry, 'method' | 'grantType' | 'verdict' | 'stage' | 'keyId' | 'means' | 'status' | 'pair'>
>

export interface Journal {
  /** The matching calls that are still held, oldest first. */
  entries(filter?: JournalFilter): JournalEntry[]
  /** How many of the held calls match: `journal.count({ method: 'manager/auth', grantType: 'refresh_token' })`. */
  count(filter?: JournalFilter): number
  /** The pairs that the server still knows, oldest first. */
  lineage(): LineageEntry[]
  /** Calls that were dropped because the journal is bounded. */
  readonly dropped: number
  clear(): void
}

/** The interface of the journal for the handler. */
interface JournalWriter extends Journal {
  /** Records the call; adds the stage of a refusal to the notes of the answer. */
  record(request: MockRequest, answer: MockAnswer, outcome: RpcOutcome | { stage: string }, faults?: string[]): void
}

/** How much a journal holds: calls, and bytes of all of them together. */
interface JournalBounds {
  size: number
  bytes: number
}

/** 8 MiB: enough for 1,000 ordinary calls, too little for 1,000 bodies of a megabyte under `explain`. */
export const defaultJournalBounds: JournalBounds = { size: 1000, bytes: 8 * 1024 * 1024 }

/** Creates a journal of the last calls, within both bounds. A size of 0 keeps no call. */
export function createJournal(context: ServerContext, { size, bytes }: JournalBounds): JournalWriter {
  const ring = createRing(size, bytes)
  let total = 0
  function entries(filter: JournalFilter = {}): JournalEntry[] {
    checkFilter(filter)
    const wanted = Object.entries(filter)
    return ring
      .held()
      .filter((place) => wanted.every(([name, value]) => place[name as keyof JournalFilter] === value))
      .map(entryIn)
  }
  return {
    entries,
    count: (filter) => entries(filter).length,
    lineage: () => lineage(context),
    get dropped() {
      return total - ring.count()
    },
    clear() {
      ring.clear()
      total = 0
    },
    record(request, answer, outcome, faults) {
      if (size === 0) return
      total += 1
      const place = ring.next()
      note(place, context, request, { number: total, status: answer.status, outcome, faults })
      ring.keep(place)
      if (place.stage !== undefined) answer.notes = { ...answer.notes, stage: place.stage }
    },
  }
}

/** An entry in its place: every member is there, so that the places can be used again and again. */
type Place = { [member in keyof Required<JournalEntry>]: JournalEntry[member] | undefined }

const emptyPlace = (): Place => ({
  number: 0,
  timeMs: 0,
  httpMethod: '',
  path: '',
  remoteAddress: '',
  status: 0,
  verdict: 'refused',
  stage: undefined,
  method: undefined,
  grantType: undefined,
  keyId: undefined,
  means: undefined,
  pair: undefined,
  issued: undefined,
  faults: undefined,
  computed: undefined,
})

/** A copy for the reader, without the members that do not apply. */
function entryIn(place: Place): JournalEntry {
  return Object.fromEntries(Object.entries(place).filter(([, value]) => value !== undefined)) as unknown as JournalEntry
}

/** The size of an entry without the computed data: names, numbers and cut texts. */
const entryBytes = 1024

const bytesOf = ({ computed }: Place): number =>
  computed === undefined ? entryBytes : entryBytes + 2 * computed.dataToSign.length

/**
 * A ring of the newest entries; the oldest are dropped when places or bytes run out. A new object for each call would outlive the next
 * garbage collection, and calls wait while it is moved.
 */
function createRing(size: number, mostBytes: number) {
  let places: Place[] = []
  let first = 0
  let count = 0
  let held = 0
  function dropOldest(): void {
    const oldest = places[first]
    if (oldest !== undefined) {
      held -= bytesOf(oldest)
      oldest.computed = undefined
    }
    first = (first + 1) % size
    count -= 1
  }
  return {
    count: () => count,
    held: () => [...places.slice(first), ...places.slice(0, first)].slice(0, count),
    clear() {
      places = []
      first = 0
      count = 0
      held = 0
    },
    /** The place for the next entry; it may hold an old one. */
    next(): Place {
      if (count === size) dropOldest()
      const at = (first + count) % size
      places[at] ??= emptyPlace()
      count += 1
      return places[at]
    },
    /** Call it when the entry is in its place. */
    keep(place: Place) {
      held += bytesOf(place)
      while (held > mostBytes && count > 1) dropOldest()
    },
  }
}

interface Recorded {
  number: number
  status: number
  outcome: RpcOutcome | { stage: string }
  faults: string[] | undefined
}

function note(
  place: Place,
  context: ServerContext,
  request: MockRequest,
  { number, status, outcome, faults }: Recorded,
): void {
  place.stage = place.method = place.grantType = place.keyId = place.means = undefined
  place.pair = place.issued = place.computed = undefined
  place.number = number
  place.timeMs = context.now()
  place.httpMethod = request.method
  place.path = pathOf(request.target)
  place.remoteAddress = request.remoteAddress
  place.status = status
  place.verdict = faults ? 'faulted' : 'refused'
  place.faults = faults
  if ('stage' in outcome) {
    place.stage = outcome.stage
    return
  }
  const { method, params, caller } = outcome
  if (method !== undefined) place.method = methods.get(method)?.name ?? bounded(method)
  if (typeof params?.grantType === 'string') place.grantType = bounded(params.grantType)
  if (caller) {
    place.keyId = caller.key.id
    place.means = caller.means
    place.pair = caller.pair?.id
  } else if (params) nameGrant(context, place, params)
  if (outcome.outcome.ok) {
    place.verdict = 'accepted'
    nameIssued(context, place, outcome.outcome.value)
    return
  }
  const { refusal } = outcome.outcome
  place.verdict = 'refused'
  place.stage = refusal.stage
  place.computed = refusal.computed
}

/** Most calls have one path: one text for all of them. */
const usualPath = '/api'

function pathOf(target: string): string {
  if (target === usualPath) return usualPath
  const end = target.indexOf('?')
  return bounded(end < 0 ? target : target.slice(0, end))
}

/** manager/auth has no caller; the key or the refresh token is in its params. */
function nameGrant({ state }: ServerContext, place: Place, params: { readonly [name: string]: unknown }): void {
  const key = typeof params.apiKeyId === 'string' ? state.keys.get(params.apiKeyId) : undefined
  const pair = typeof params.refreshToken === 'string' ? state.tokens.get(params.refreshToken)?.pair : undefined
  if (key) place.keyId = key.id
  if (pair) {
    place.keyId = pair.key.id
    place.pair = pair.id
  }
}

function nameIssued({ state }: ServerContext, place: Place, value: unknown): void {
  if (place.grantType === undefined || typeof value !== 'object' || value === null || !('accessToken' in value)) return
  const issued = state.tokens.get(String(value.accessToken))
  if (issued) place.issued = issued.pair.id
}

function lineage({ state }: ServerContext): LineageEntry[] {
  const pairs = new Set<TokenPair>()
  for (const { pair } of state.tokens.values()) pairs.add(pair)
  return [...pairs].map((pair) => ({
    pair: pair.id,
    family: pair.family.id,
    parent: pair.parent ?? null,
    generation: pair.generation,
    keyId: pair.key.id,
    scope: pair.scope,
    session: pair.session?.name ?? null,
    issuedMs: pair.issuedMs,
    accessExpiryMs: pair.accessExpiryMs,
    refreshExpiryMs: pair.refreshExpiryMs,
    revokedMs: pair.revokedMs ?? null,
  }))
}

/** What the calls of a journal can be filtered by. */
export const journalFilterNames = ['method', 'grantType', 'verdict', 'stage', 'keyId', 'means', 'status', 'pair']

function checkFilter(filter: JournalFilter): void {
  demandKnownNames('filter', filter, journalFilterNames)
  if (filter.verdict !== undefined)
    demandWord('the filter "verdict"', filter.verdict, ['accepted', 'refused', 'faulted'])
  if (filter.means !== undefined)
    demandWord('the filter "means"', filter.means, ['hmac', 'ecc', 'basic', 'grant', 'token'])
}

/** Cuts text from a caller. */
function bounded(text: string): string {
  return text.length > 200 ? `${text.slice(0, 200)}…` : text
}
