/** The cells of the table, some at a time. */
import { type Asker, askCell, type Cell } from './table.ts'

/** The cells of the table that are left. */
export interface Table {
  left: Cell[]
  asked: number
  /** Parts of calls of which a cell was asked. */
  readonly fields: Set<string>
  /** How many there are in all. */
  readonly size: { readonly cells: number; readonly fields: number }
}

export const openTable = (left: Cell[]): Table => ({
  left,
  asked: 0,
  fields: new Set(),
  size: { cells: left.length, fields: new Set(left.map(({ id }) => id)).size },
})

interface Portion {
  /** Calls that found something to ask, at most. */
  readonly most?: number
  readonly only?: (cell: Cell) => boolean
  /** A moment on the target's clock. */
  readonly until?: number
  isOver(): boolean
}

/** Asks some of the cells that are left. */
export async function askCells(asker: Asker, table: Table, portion: Portion): Promise<void> {
  const { most = Number.POSITIVE_INFINITY, only = () => true, until = Number.POSITIVE_INFINITY, isOver } = portion
  const { wire } = asker.x.options
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
    if (await askCell(asker, cell)) asked += 1
    table.asked += 1
    table.fields.add(cell.id)
  }
  table.left = kept
}

/** Cells that grant nothing, so that they may be asked while sessions are watched. */
export const grantsNothing = ({ way }: Cell): boolean => way === 'basic' || way === 'hmac' || way === 'ecc'
