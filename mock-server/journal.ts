import type { ServerContext } from './context.ts'
import type { MockAnswer, MockRequest } from './http.ts'
import { demandKnownNames, demandWord } from './known-names.ts'
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
    return ring.held().filter((entry) => wanted.every(([name, value]) => entry[name as keyof JournalFilter] === value))
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
      const entry = entryOf(context, total, request, { status: answer.status, outcome, faults })
      ring.push(entry)
      if (entry.stage !== undefined) answer.notes = { ...answer.notes, stage: entry.stage }
    },
  }
}

/** The size of an entry without the computed data: names, numbers and cut texts. */
const entryBytes = 1024

const bytesOf = ({ computed }: JournalEntry): number =>
  computed === undefined ? entryBytes : entryBytes + 2 * computed.dataToSign.length

/** A ring of the newest entries; the oldest are dropped when places or bytes run out. */
function createRing(size: number, mostBytes: number) {
  let places: (JournalEntry | undefined)[] = []
  let first = 0
  let count = 0
  let held = 0
  function dropOldest(): void {
    const oldest = places[first]
    if (oldest !== undefined) held -= bytesOf(oldest)
    places[first] = undefined
    first = (first + 1) % size
    count -= 1
  }
  return {
    count: () => count,
    held: () => [...places.slice(first), ...places.slice(0, first)].filter((entry) => entry !== undefined),
    clear() {
      places = []
      first = 0
      count = 0
      held = 0
    },
    push(entry: JournalEntry) {
      if (count === size) dropOldest()
      places[(first + count) % size] = entry
      count += 1
      held += bytesOf(entry)
      while (held > mostBytes && count > 1) dropOldest()
    },
  }
}

interface Recorded {
  status: number
  outcome: RpcOutcome | { stage: string }
  faults: string[] | undefined
}

function entryOf(
  context: ServerContext,
  number: number,
  request: MockRequest,
  { status, outcome, faults }: Recorded,
): JournalEntry {
  const entry: JournalEntry = {
    number,
    timeMs: context.now(),
    httpMethod: request.method,
    path: bounded(request.target.split('?', 1)[0] ?? ''),
    remoteAddress: request.remoteAddress,
    status,
    verdict: 'refused',
  }
  if (faults) {
    entry.verdict = 'faulted'
    entry.faults = faults
  }
  if ('stage' in outcome) {
    entry.stage = outcome.stage
    return entry
  }
  const { method, params, caller } = outcome
  if (method !== undefined) entry.method = bounded(method)
  if (typeof params?.grantType === 'string') entry.grantType = bounded(params.grantType)
  if (caller) {
    entry.keyId = caller.key.id
    entry.means = caller.means
    if (caller.pair) entry.pair = caller.pair.id
  } else if (params) nameGrant(context, entry, params)
  if (outcome.outcome.ok) {
    entry.verdict = 'accepted'
    nameIssued(context, entry, outcome.outcome.value)
    return entry
  }
  const { refusal } = outcome.outcome
  entry.verdict = 'refused'
  entry.stage = refusal.stage
  if (refusal.computed) entry.computed = refusal.computed
  return entry
}

/** manager/auth has no caller; the key or the refresh token is in its params. */
function nameGrant({ state }: ServerContext, entry: JournalEntry, params: { readonly [name: string]: unknown }): void {
  const key = typeof params.apiKeyId === 'string' ? state.keys.get(params.apiKeyId) : undefined
  const pair = typeof params.refreshToken === 'string' ? state.tokens.get(params.refreshToken)?.pair : undefined
  if (key) entry.keyId = key.id
  if (pair) {
    entry.keyId = pair.key.id
    entry.pair = pair.id
  }
}

function nameIssued({ state }: ServerContext, entry: JournalEntry, value: unknown): void {
  if (entry.grantType === undefined || typeof value !== 'object' || value === null || !('accessToken' in value)) return
  const issued = state.tokens.get(String(value.accessToken))
  if (issued) entry.issued = issued.pair.id
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

const filterNames = ['method', 'grantType', 'verdict', 'stage', 'keyId', 'means', 'status', 'pair']

function checkFilter(filter: JournalFilter): void {
  demandKnownNames('filter', filter, filterNames)
  if (filter.verdict !== undefined)
    demandWord('the filter "verdict"', filter.verdict, ['accepted', 'refused', 'faulted'])
  if (filter.means !== undefined)
    demandWord('the filter "means"', filter.means, ['hmac', 'ecc', 'basic', 'grant', 'token'])
}

/** Cuts text from a caller. */
function bounded(text: string): string {
  return text.length > 200 ? `${text.slice(0, 200)}…` : text
}
