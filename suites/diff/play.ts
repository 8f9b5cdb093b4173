/** Plays one session of mixed calls to a server, and records each answer. */
import type { SafetyClass } from '../engine/language/fixture-types.ts'
import { redactValue } from '../engine/redact.ts'
import { type Random, seededRandom, shuffled } from '../engine/signer/random.ts'
import type { Instance } from '../engine/target.ts'
import { createCaller, type Reply } from '../facts/caller.ts'
import { createMemory, type SessionCall } from './memory.ts'
import { plainCalls } from './plain-calls.ts'
import { tokenCalls } from './token-calls.ts'

/** How one call was answered: what is compared. */
export interface PlayedCall {
  call: string
  outcome: Reply['outcome']
  status: number | null
  code: number | string | null
  /** Members of the result with their types; null without a result. */
  shape: string | null
}

interface PlannedCall {
  call: SessionCall
  position: number
}

/** The same calls for the same seed: every kind once before any comes again. */
export function planSession(
  seed: number,
  calls: number,
  allow: readonly SafetyClass[],
  hasSecret: boolean,
): PlannedCall[] {
  const random = seededRandom(seed)
  const mayGrant = hasSecret && allow.includes('sessions')
  const kinds = [
    ...plainCalls.filter(({ name }) => hasSecret || !name.startsWith('Basic')),
    ...(mayGrant ? tokenCalls : []),
  ]
  const planned: PlannedCall[] = []
  while (planned.length < calls)
    for (const call of shuffled(kinds, random)) planned.push({ call, position: random.below(1000) })
  return planned.slice(0, calls)
}

/** Plays the calls one after another. Secrets that an answer repeats are shortened. */
export async function playSession(
  instance: Instance,
  planned: readonly PlannedCall[],
  random: Random,
): Promise<PlayedCall[]> {
  const caller = createCaller(instance, random)
  const memory = createMemory()
  const played: PlayedCall[] = []
  for (const { call, position } of planned) {
    const { outcome, status, code, result } = await call.make(caller, memory, position)
    played.push({ call: call.name, outcome, status, code, shape: outcome === 'accepted' ? shapeOf(result) : null })
  }
  return redactValue(played, caller.redactor)
}

/** `{ accessToken: string, … }`, in the order of names. */
function shapeOf(value: unknown): string {
  if (Array.isArray(value)) return 'array'
  if (typeof value !== 'object' || value === null) return value === null ? 'null' : typeof value
  const members = Object.entries(value).map(
    ([name, member]) => `${name}: ${Array.isArray(member) ? 'array' : typeof member}`,
  )
  return `{ ${members.sort().join(', ')} }`
}
