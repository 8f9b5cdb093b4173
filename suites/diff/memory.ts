import type { Caller } from '../facts/caller.ts'
import type { Pair } from '../facts/granted.ts'

/** What one server gave out in the course of a session; the same call uses the pair of each server. */
export interface Memory {
  pairs: Pair[]
  /** Pairs whose refresh token was used. */
  used: Pair[]
  lastNonce: string
}

export const createMemory = (): Memory => ({ pairs: [], used: [], lastNonce: '' })

/** The pair at a position that wraps around; null before the first grant. */
export function pairAt({ pairs }: Memory, position: number): Pair | null {
  return pairs[position % Math.max(1, pairs.length)] ?? null
}

/** A call of a session, and what it needs. */
export interface SessionCall {
  name: string
  needs: null | 'sessions'
  /** @param position picks a pair among those that were granted */
  make(caller: Caller, memory: Memory, position: number): ReturnType<Caller['call']>
}
