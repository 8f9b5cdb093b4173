/** Makes the calls of the table, some cells at a time. */
import { type Caller, type Cell, callCell } from './table.ts'

/** The cells whose calls are still to be made. */
export interface Table {
  left: Cell[]
  asked: number
  /** Of each part of a call how many cells were asked, and how many there are. */
  readonly parts: Map<string, { asked: number; readonly all: number }>
  /** The number of all cells. */
  readonly all: number
}

export function openTable(left: Cell[]): Table {
  const counts = new Map<string, number>()
  for (const { id } of left) counts.set(id, (counts.get(id) ?? 0) + 1)
  const parts = new Map([...counts].sort().map(([id, all]) => [id, { asked: 0, all }]))
  return { left, asked: 0, parts, all: left.length }
}

interface Portion {
  /** The maximum number of calls. */
  readonly most?: number
  readonly only?: (cell: Cell) => boolean
  /** A time on the target's clock. */
  readonly until?: number
  isOver(): boolean
}

/** Makes the calls of some of the remaining cells. */
export async function callCells(caller: Caller, table: Table, portion: Portion): Promise<void> {
  const { most = Number.POSITIVE_INFINITY, only = () => true, until = Number.POSITIVE_INFINITY, isOver } = portion
  const { wire } = caller.x.options
  const kept: Cell[] = []
  let asked = 0
  for (const [index, cell] of table.left.entries()) {
    if (asked >= most || isOver() || wire.now() > until) {
      kept.push(...table.left.slice(index))
      break
    }
    if (!only(cell)) {
      kept.push(cell)
      continue
    }
    if (await callCell(caller, cell)) asked += 1
    table.asked += 1
    const part = table.parts.get(cell.id)
    if (part !== undefined) part.asked += 1
  }
  table.left = kept
}

/** Cells that grant nothing, so their calls may be made while sessions are watched. */
export const grantsNothing = ({ way }: Cell): boolean => way === 'basic' || way === 'hmac' || way === 'ecc'
