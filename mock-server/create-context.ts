import { createSecretKey } from 'node:crypto'
import { demandKnownNames, demandWord } from './checks.ts'
import { createClock, createRandom, type MockClock, type RandomBytes } from './clock.ts'
import type { ServerContext, ServerOptions } from './context.ts'
import { readPublicKey } from './encoding.ts'
import { createProfile, defaultBounds, readProfile } from './profile.ts'
import { rules } from './rules.ts'
import { type ApiKey, createState, type Solution, type State } from './state.ts'

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

const optionNames = [
  'clock',
  'now',
  'seed',
  'rootKey',
  'profile',
  'rules',
  'around',
  'bounds',
  'journal',
  'recording',
  'explain',
  'cors',
  'port',
  'host',
  'control',
]

/** Names of the options that are objects, each with the names of its members. */
const nested: { readonly [option: string]: readonly string[] } = {
  rootKey: ['id', 'secret', 'publicKey'],
  rules: Object.keys(rules),
  bounds: Object.keys(defaultBounds),
  journal: ['size', 'bytes'],
  recording: ['bytes'],
}

/** Checks options that may come from plain JavaScript. Throws a TypeError that names the mistake and what would be right. */
function checkOptions(options: { readonly [name: string]: unknown }): void {
  demandKnownNames('option', options, optionNames)
  const { clock, profile } = options
  if (clock !== undefined && (typeof clock !== 'object' || clock === null))
    demandWord('the option "clock"', clock, ['real', 'virtual'])
  if (profile !== undefined) readProfile(profile)
  for (const [option, names] of Object.entries(nested)) {
    const value = options[option]
    if (value === undefined) continue
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
