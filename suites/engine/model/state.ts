/** The state before the first call. */
import { layered } from './layered.ts'
import { everySessionTable } from './sessions.ts'
import type { Key, State, Terms } from './types.ts'

/** @param root the key that the user gives; it has full access where it is the initial key of the instance */
export function initialState(terms: Terms, root: Key): State {
  return {
    terms,
    root: root.id,
    keys: new Map([[root.id, root]]),
    created: 0,
    keyNames: layered(),
    working: new Set(),
    pairs: layered(),
    access: layered(),
    refresh: layered(),
    tokenLengths: new Set(),
    looks: layered(),
    lines: layered(),
    grants: new Map(),
    nonces: new Set(),
    sessionNames: layered(),
    sessions: everySessionTable(),
    tokenClock: null,
    signatureClock: 0,
    refreshLifetimeMs: null,
    shown: new Set(),
    sizes: new Map(),
    wrongTries: new Map(),
    lifetimes: [],
  }
}
