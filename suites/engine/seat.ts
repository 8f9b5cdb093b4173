import type { Corpus } from './fixture/model.ts'
import type { Knowledge } from './knowledge.ts'
import { type CreatedKey, type Ledger, openLedger } from './ledger.ts'
import type { Random } from './random.ts'
import { createRedactor, type Redactor } from './report/redact.ts'
import { type Ed25519KeyPair, seedFromPkcs8 } from './signer/pem.ts'
import type { Credential } from './steps/authorize.ts'
import { createPace, type Line, type Pace } from './steps/send.ts'
import type { Instance, RootKey, Target } from './target.ts'

/** One run: what is asked, of whom, and what is known by now. */
export interface Run {
  target: Target
  corpus: Corpus
  knowledge: Knowledge
  random: Random
  pace: Pace
  /** Tells the names of created keys and sessions apart from those of other runs. */
  unique: string
  /** Print exchanges as they were, secrets included. */
  trace: boolean
  /** Members of the cast whose keys an earlier run left on the target. */
  keptCast: readonly CreatedKey[]
  /** Whether the time for the whole run has passed. */
  timeIsUp: () => boolean
  /** Set when going on makes no sense: the target went away, locked us out, or the time is up. */
  stopped: Stop | null
  /** Ways in which the root key was accepted before, to notice a lock-out. */
  acceptedControls: Set<'basic' | 'hmac'>
  /** In a row. */
  refusedConnections: number
  /** Calls without any answer, in a row. */
  unanswered: number
  /** What was found out about refused right signatures, per kind of key. */
  diagnoses: Map<string, Promise<string | undefined>>
  /** Shared by every row on a lasting target. */
  lastingSeat: Seat | null
  /** One key pair per member: making them anew for every row would cost more than most rows. */
  castPairs: Map<string, Ed25519KeyPair>
  openLedger: () => Ledger
}

export interface Stop {
  /** Exit 3: the target cannot be used any more; otherwise the remaining rows are blocked. */
  kind: 'gone' | 'locked-out' | 'time'
  message: string
}

/** A place on one instance: a row sits here alone (bundled), or all rows one after another (lasting). */
export interface Seat extends Line {
  instance: Instance
  run: Run
  ledger: Ledger
  cast: Map<string, Credential>
  /** Knows everything that must not appear in a report. */
  redactor: Redactor
  nextId: number
  calls: number
  /** When tokens that were granted here end, as their grants reported it. In ms since 1970, on the server's clock. */
  tokenExpiries: Map<string, number>
}

export interface RunOptions {
  target: Target
  corpus: Corpus
  knowledge: Knowledge
  random: Random
  unique: string
  trace?: boolean
  keptCast?: readonly CreatedKey[]
  timeIsUp?: () => boolean
  openLedger?: () => Ledger
}

export function startRun(options: RunOptions): Run {
  return {
    ...options,
    trace: options.trace ?? false,
    keptCast: options.keptCast ?? [],
    timeIsUp: options.timeIsUp ?? (() => false),
    pace: createPace(),
    stopped: null,
    acceptedControls: new Set(),
    refusedConnections: 0,
    unanswered: 0,
    diagnoses: new Map(),
    lastingSeat: null,
    castPairs: new Map(),
    openLedger: options.openLedger ?? (() => openLedger()),
  }
}

/** Takes a seat: the shared one on a lasting target, else one on a fresh instance that the caller must leave. */
export async function takeSeat(run: Run): Promise<Seat> {
  if (run.lastingSeat !== null) return run.lastingSeat
  const instance = await run.target.open()
  const ledger = run.openLedger()
  const seat: Seat = {
    instance,
    run,
    // Every instance of the bundled server begins at the same virtual moment, so what was learned is copied, not shared.
    knowledge: run.target.lasting ? run.knowledge : structuredClone(run.knowledge),
    pace: run.target.lasting ? run.pace : createPace(),
    ledger,
    cast: new Map([['root', credentialOfRoot(instance.root)]]),
    redactor: createRedactor(secretsOf(instance)),
    nextId: 1,
    calls: 0,
    tokenExpiries: new Map(),
  }
  for (const key of run.keptCast) {
    if (key.member !== undefined) seat.cast.set(key.member, credentialOfKey(key))
    for (const secret of [key.secret, key.privateKey]) if (secret !== undefined) seat.redactor.add(secret)
    if (!ledger.keys.some(({ id }) => id === key.id)) ledger.created(key)
  }
  if (run.target.lasting) run.lastingSeat = seat
  return seat
}

const secretHeader = /auth|key|token|secret|cookie|password/i

/** What a user entrusts to the suite: the root key, and headers that a gateway before the server may want. */
function secretsOf({ root, settings }: Instance): string[] {
  const headers = Object.entries(settings.headers).filter(([name]) => secretHeader.test(name))
  return [root.kind === 'secret' ? root.secret : root.privateKey, ...headers.map(([, value]) => value)]
}

/** Closes the instance of a seat, except the lasting one (see endRun). */
export async function leaveSeat(seat: Seat): Promise<void> {
  if (!seat.run.target.lasting) await seat.instance.close()
}

export async function endRun(run: Run): Promise<void> {
  await run.lastingSeat?.instance.close()
  run.lastingSeat = null
  await run.target.close?.()
}

function credentialOfRoot(root: RootKey): Credential {
  return root.kind === 'secret'
    ? { id: root.id, secret: root.secret }
    : { id: root.id, seed: seedFromPkcs8(root.privateKey) }
}

export function credentialOfKey(key: CreatedKey): Credential {
  return key.privateKey === undefined
    ? { id: key.id, ...(key.secret === undefined ? {} : { secret: key.secret }) }
    : {
        id: key.id,
        seed: seedFromPkcs8(key.privateKey),
        ...(key.secret === undefined ? {} : { secret: key.secret }),
      }
}

/** Who `root` is where a secret is needed: a root key with a public key is stood in for by erin. */
export function secretRoot(root: RootKey): string {
  return root.kind === 'secret' ? 'root' : 'erin'
}

export function requirementLevel(corpus: Corpus, id: string): 'must' | 'implied' {
  return corpus.requirements.find((requirement) => requirement.id === id)?.level ?? 'must'
}
