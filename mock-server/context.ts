import { createHmac, createSecretKey, randomBytes } from 'node:crypto'
import { demandKnownNames, demandWord } from './checks.ts'
import { readPublicKey } from './encoding.ts'
import type { Handle } from './http-server.ts'
import { type Bounds, createProfile, defaultBounds, type Profile, readProfile } from './profile.ts'
import { type Rules, rules } from './rules.ts'
import { type ApiKey, createState, type Solution, type State } from './state.ts'

/** The time of one server: milliseconds since 1970-01-01T00:00:00Z. */
export interface MockClock {
  now(): number
  /** Moves the clock forward by `ms`. A negative value is a RangeError: expired things would come back to life. */
  advance(ms: number): void
  /** Sets the clock to the time `ms`, also backwards. */
  set(ms: number): void
  /** Stops the clock, or lets it run again from its current time. */
  freeze(frozen?: boolean): void
  /** True while only `advance` and `set` move the clock. */
  readonly frozen: boolean
}

/**
 * A clock that starts at `startMs`. A frozen one stands still until moved; a running one follows `source`.
 * Without `startMs` it starts at the source's time.
 */
export function createClock(options: { startMs?: number; frozen?: boolean; source?: () => number } = {}): MockClock {
  const source = options.source ?? Date.now
  let frozen = options.frozen ?? false
  let standing = options.startMs ?? source()
  let offset = standing - source()
  const now = () => (frozen ? standing : source() + offset)
  const set = (ms: number) => {
    if (!Number.isFinite(ms)) throw new RangeError(`Give the clock a finite number of milliseconds, not ${ms}`)
    standing = ms
    offset = ms - source()
  }
  return {
    now,
    set,
    advance(ms) {
      if (!(ms >= 0)) throw new RangeError(`Advance the clock by 0 ms or more, not ${ms}`)
      set(now() + ms)
    },
    freeze(next = true) {
      set(now())
      frozen = next
    },
    get frozen() {
      return frozen
    },
  }
}

/** Gives `size` fresh bytes. */
type RandomBytes = (size: number) => Buffer

/** Unpredictable bytes, or with a seed the same sequence each time. Never use a seed outside tests. */
export function createRandom(seed: string | undefined): RandomBytes {
  if (seed === undefined) return fromPool
  let counter = 0
  return (size) => {
    const blocks: Buffer[] = []
    for (let made = 0; made < size; made += 32) {
      counter += 1
      blocks.push(createHmac('sha256', `mock-server seed ${seed}`).update(String(counter)).digest())
    }
    return Buffer.concat(blocks).subarray(0, size)
  }
}

let pool = Buffer.alloc(0)

/** One request to the system serves many servers and tokens, because a large request costs no more than a small one. */
function fromPool(size: number): Buffer {
  if (size > pool.length) pool = randomBytes(Math.max(size, 4096))
  const bytes = pool.subarray(0, size)
  pool = pool.subarray(size)
  return bytes
}

/** The whole state of one server; servers share nothing. */
export interface ServerContext {
  readonly rules: Rules
  readonly profile: Profile
  readonly bounds: Bounds
  readonly clock: MockClock
  readonly explain: boolean
  /** The server's own time in ms: the clock and the offset of the profile. */
  now(): number
  state: State
  random: RandomBytes
  root: ApiKey
  /** Returns to the state at the start: same root key, same seed; the clock stays. */
  reset(): void
}

/** The initial key; missing values are generated. */
export interface RootKeyOptions {
  id?: string
  secret?: string
  /** ED25519, SPKI PEM: then the root key takes ECC signatures only. */
  publicKey?: string
}

export interface ServerOptions {
  /** `real` (default) follows the machine; `virtual` stands still until it is moved. */
  clock?: 'real' | 'virtual' | MockClock
  /** Where the clock starts, in ms since 1970. A virtual one starts at 2026-01-01T00:00:00Z by default. */
  now?: number
  /** The same seed gives the same ids, secrets and tokens. Never outside tests. */
  seed?: string | number
  rootKey?: RootKeyOptions
  /** Choices where the document is silent. */
  profile?: Partial<Profile>
  /** Decisions replaced, for a deliberately broken server. */
  rules?: Partial<Rules>
  /** Wraps the whole handler, as a proxy in front of the server would. */
  around?: (handle: Handle, context: ServerContext) => Handle
  bounds?: Partial<Bounds>
  /** How much the journal holds: 1,000 calls by default (0 for none), and 8 MiB. */
  journal?: { size?: number; bytes?: number }
  /** Keeps every exchange byte by byte, secrets included, up to this many bytes; off by default. */
  recording?: { bytes: number }
  /** Names the stage that refused a call in the header `x-refused-at`, and records in the journal what was computed for its signature. */
  explain?: boolean
  /** Origins of browser clients that may call, `*` for any; none by default. */
  cors?: readonly string[]
}

/** 2026-01-01T00:00:00Z: a virtual clock starts at a fixed time, which makes answers repeatable. */
const virtualStartMs = Date.UTC(2026, 0, 1)

/** Throws a TypeError for an unknown option, or a root public key that is not an ED25519 public key. */
export function createContext(options: ServerOptions = {}): ServerContext {
  checkOptions({ ...options })
  const clock = clockOf(options)
  const profile = createProfile(options.profile)
  const bounds = { ...defaultBounds, ...options.bounds }
  const seed = options.seed === undefined ? undefined : String(options.seed)
  const given = { ...options.rootKey }
  const table = options.rules ? { ...rules, ...options.rules } : rules
  const context: ServerContext = {
    rules: table,
    profile,
    bounds,
    clock,
    explain: options.explain ?? false,
    now: () => clock.now() + profile.clockOffsetMs,
    ...begin(),
    reset() {
      Object.assign(context, begin())
    },
  }
  function begin(): { state: State; random: RandomBytes; root: ApiKey } {
    const state = createState(bounds)
    const random = createRandom(seed)
    const nowMs = clock.now() + profile.clockOffsetMs
    // Drawn even if given, so that a seed gives the same sequence after a reset.
    const [freshId, freshSecret] = [random(16).toString('hex'), random(16).toString('hex')]
    given.id ??= freshId
    given.secret ??= freshSecret
    const { id, secret } = given
    const root = makeKey({ id, secret, name: 'root', scope: table.initialKeyScope(), createdMs: nowMs, initial: true })
    if (given.publicKey !== undefined) givePublicKey(root, given.publicKey)
    state.keys.set(root.id, root)
    for (const name of ['First solution', 'Second solution']) {
      const solution: Solution = { id: random(16).toString('hex'), created: nowMs, name }
      state.solutions.set(solution.id, solution)
    }
    return { state, random, root }
  }
  return context
}

function givePublicKey(root: ApiKey, publicKey: string): void {
  const verifyKey = readPublicKey(publicKey)
  if (!verifyKey) throw new TypeError('Give the root key an ED25519 public key in PEM form')
  root.publicKey = publicKey
  root.verifyKey = verifyKey
}

function clockOf(options: ServerOptions): MockClock {
  if (typeof options.clock === 'object') return options.clock
  const frozen = options.clock === 'virtual'
  const startMs = options.now ?? (frozen ? virtualStartMs : undefined)
  return createClock(startMs === undefined ? { frozen } : { frozen, startMs })
}

/** Every option of a server and of its sockets, with the names of its members where these are checked. */
const optionMembers: { readonly [O in keyof ServerOptions | 'port' | 'host' | 'control']-?: readonly string[] | null } =
  {
    clock: null,
    now: null,
    seed: null,
    rootKey: ['id', 'secret', 'publicKey'],
    profile: null,
    rules: Object.keys(rules),
    around: null,
    bounds: Object.keys(defaultBounds),
    journal: ['size', 'bytes'],
    recording: ['bytes'],
    explain: null,
    cors: null,
    port: null,
    host: null,
    control: null,
  }

/** Checks options that may come from plain JavaScript. Throws a TypeError that names the mistake and what would be right. */
function checkOptions(options: { readonly [name: string]: unknown }): void {
  demandKnownNames('option', options, Object.keys(optionMembers))
  const { clock, profile } = options
  if (clock !== undefined && (typeof clock !== 'object' || clock === null))
    demandWord('the option "clock"', clock, ['real', 'virtual'])
  if (profile !== undefined) readProfile(profile)
  for (const [option, names] of Object.entries(optionMembers)) {
    const value = options[option]
    if (value === undefined || names === null) continue
    if (typeof value !== 'object' || value === null) throw new TypeError(`Give the option "${option}" an object`)
    demandKnownNames('member', value, names, { of: ` of the option "${option}"` })
  }
}

/** A key that is active; public keys are put in by the caller. */
export function makeKey(
  fields: Pick<ApiKey, 'id' | 'secret' | 'name' | 'scope' | 'createdMs'> & { initial?: boolean },
): ApiKey {
  return {
    ...fields,
    initial: fields.initial ?? false,
    macKey: createSecretKey(fields.secret, 'utf8'),
    enabled: true,
    deleted: false,
  }
}
