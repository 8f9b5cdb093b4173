/** All readings of the open questions about sessions together. What did not change keeps its identity, so that it is computed once. */

import type { Touch } from './session-age.ts'
import { liveness, type Member, observeSession, type SessionTable, touchSession } from './sessions.ts'
import type { Span } from './span.ts'

type Tables = readonly SessionTable[]
export type Said = ReadonlySet<'live' | 'dead' | 'unknown'>

interface Remembered {
  readonly said: Map<number, Said>
  /** When a line was used or refreshed last. */
  readonly touched: Map<string, number>
}

const memory = new WeakMap<Tables, Remembered>()

function remembered(tables: Tables): Remembered {
  const known = memory.get(tables) ?? { said: new Map(), touched: new Map() }
  memory.set(tables, known)
  return known
}

/** What the tables say about the session of a line: one word if all readings agree. */
export function saidOf(tables: Tables, member: Member): Said {
  const { said } = remembered(tables)
  const known = said.get(member.line)
  if (known !== undefined) return known
  const words: Said = new Set(tables.map((table) => liveness(table, member)))
  said.set(member.line, words)
  return words
}

/** The tables that an answer does not contradict; empty if it contradicts every reading. */
export function observeAll(tables: Tables, member: Member, seen: 'live' | 'dead'): Tables {
  const said = saidOf(tables, member)
  if (said.size === 1 && said.has(seen)) return tables
  return kept(
    tables,
    tables.flatMap((table) => observeSession(table, member, seen) ?? []),
  )
}

/** Ages are compared with a slack of more than a second, so that this much does not count. */
const unnoticedMs = 50

/** A session was used or refreshed; in readings that count age this way it is younger now. */
export function touchAll(tables: Tables, member: Member, how: Touch, when: Span): Tables {
  const { said, touched } = remembered(tables)
  const name = `${how} ${member.line}`
  const last = touched.get(name)
  if (last !== undefined && when.to - last < unnoticedMs) return tables
  const next = kept(
    tables,
    tables.map((table) => touchSession(table, member, how, when)),
  )
  // Ages do not decide which sessions live, so earlier answers still hold.
  const recent = [...touched].filter(([, at]) => when.to - at < unnoticedMs)
  memory.set(next, { said, touched: new Map(recent).set(name, when.to) })
  return next
}

const kept = (before: Tables, after: Tables): Tables =>
  after.length === before.length && after.every((table, at) => table === before[at]) ? before : after
