import type { Caller } from './caller.ts'
import { aNumber, aText, demandFields, type Fields, oneOf, optional } from './checks.ts'
import type { ServerContext, ServerOptions } from './context.ts'
import type { MockAnswer, MockRequest } from './http-server.ts'
import { methods, type Params } from './methods.ts'
import type { Outcome } from './refusal.ts'
import type { Means, TokenPair } from './state.ts'
import { pairsOf } from './token-state.ts'

/** The outcome of one JSON-RPC request. Members that could not be read are undefined. */
export interface RpcOutcome {
  id: unknown
  /** The id as it was sent, where it is an integer that a number does not hold exactly. */
  idText?: string | undefined
  /** As sent. */
  method: string | undefined
  params: Params | undefined
  caller: Caller | undefined
  outcome: Outcome<unknown>
  /** Answered without a body. */
  silent: boolean
}

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

/** 8 MiB: enough for 1,000 ordinary calls, too little for 1,000 bodies of a megabyte under `explain`. */
const defaultBytes = 8 * 1024 * 1024

/** Creates a journal of the last calls, within both bounds. A size of 0 keeps no call. */
export function createJournal(context: ServerContext, bounds: ServerOptions['journal'] = {}) {
  const { size = 1000, bytes = defaultBytes } = bounds
  let all: Entry[] = []
  /** Entries before this one were dropped. */
  let first = 0
  let heldBytes = 0
  let total = 0
  function drop(): void {
    const oldest = all[first]
    if (oldest !== undefined) heldBytes -= bytesOf(oldest)
    first += 1
    if (first <= size) return
    all = all.slice(first)
    first = 0
  }
  function entries(filter: JournalFilter = {}): JournalEntry[] {
    demandFields('filter', filter, filterFields)
    const wanted = Object.entries(filter)
    return all
      .slice(first)
      .filter((entry) => wanted.every(([name, value]) => entry[name as keyof JournalFilter] === value))
      .map(withoutAbsent)
  }
  return {
    entries,
    count: (filter?: JournalFilter) => entries(filter).length,
    lineage: () => lineage(context),
    get dropped() {
      return total - (all.length - first)
    },
    clear() {
      all = []
      first = heldBytes = total = 0
    },
    /** Records the call; adds the stage of a refusal to the notes of the answer. */
    record(request: MockRequest, answer: MockAnswer, outcome: RpcOutcome | { stage: string }, faults?: string[]): void {
      if (size === 0) return
      total += 1
      const entry = entryOf(context, request, outcome, { number: total, status: answer.status, faults })
      all.push(entry)
      heldBytes += bytesOf(entry)
      while (all.length - first > size || (heldBytes > bytes && all.length - first > 1)) drop()
      if (entry.stage !== undefined) answer.notes = { ...answer.notes, stage: entry.stage }
    },
  }
}

/** Every member is there, so that all entries have one shape. */
type Entry = { [member in keyof Required<JournalEntry>]: JournalEntry[member] | undefined }

/** A copy for the reader, without the members that do not apply. */
function withoutAbsent(entry: Entry): JournalEntry {
  return Object.fromEntries(Object.entries(entry).filter(([, value]) => value !== undefined)) as unknown as JournalEntry
}

/** The size of an entry without the computed data: names, numbers and cut texts. */
const entryBytes = 1024

const bytesOf = ({ computed }: Entry): number =>
  computed === undefined ? entryBytes : entryBytes + 2 * computed.dataToSign.length

function entryOf(
  context: ServerContext,
  request: MockRequest,
  outcome: RpcOutcome | { stage: string },
  { number, status, faults }: Pick<Entry, 'number' | 'status' | 'faults'>,
): Entry {
  const call = 'stage' in outcome ? undefined : outcome
  const refusal = call?.outcome.ok === false ? call.outcome.refusal : undefined
  const presented = call?.caller ?? presentedIn(context, call?.params)
  return {
    number,
    timeMs: context.now(),
    httpMethod: request.method,
    path: pathOf(request.target),
    remoteAddress: request.remoteAddress,
    status,
    verdict: call?.outcome.ok ? 'accepted' : faults && call === undefined ? 'faulted' : 'refused',
    stage: 'stage' in outcome ? outcome.stage : refusal?.stage,
    method: call?.method === undefined ? undefined : (methods.get(call.method)?.name ?? bounded(call.method)),
    grantType: typeof call?.params?.grantType === 'string' ? bounded(call.params.grantType) : undefined,
    keyId: presented?.key?.id,
    means: call?.caller?.means,
    pair: presented?.pair?.id,
    issued: call?.outcome.ok && call.caller === undefined ? issuedIn(context, call.outcome.value) : undefined,
    faults,
    computed: refusal?.computed,
  }
}

/** Most calls have one path: one text for all of them. */
const usualPath = '/api'

function pathOf(target: string): string {
  if (target === usualPath) return usualPath
  const end = target.indexOf('?')
  return bounded(end < 0 ? target : target.slice(0, end))
}

/** manager/auth has no caller; the key or the refresh token is in its params. */
function presentedIn({ state }: ServerContext, { apiKeyId, refreshToken }: Params = {}) {
  const pair = typeof refreshToken === 'string' ? state.tokens.get(refreshToken)?.pair : undefined
  return { pair, key: pair?.key ?? (typeof apiKeyId === 'string' ? state.keys.get(apiKeyId) : undefined) }
}

/** The pair that a result of manager/auth holds. */
function issuedIn({ state }: ServerContext, value: unknown): string | undefined {
  if (typeof value !== 'object' || value === null || !('accessToken' in value)) return undefined
  return state.tokens.get(String(value.accessToken))?.pair.id
}

function lineage(context: ServerContext): LineageEntry[] {
  return pairsOf(context).map((pair) => ({
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
const filterFields: Fields = {
  method: optional(aText),
  grantType: optional(aText),
  verdict: optional(oneOf(['accepted', 'refused', 'faulted'])),
  stage: optional(aText),
  keyId: optional(aText),
  means: optional(oneOf(['hmac', 'ecc', 'basic', 'grant', 'token'])),
  status: optional(aNumber),
  pair: optional(aText),
}

/** Cuts text from a caller. */
function bounded(text: string): string {
  return text.length > 200 ? `${text.slice(0, 200)}…` : text
}
