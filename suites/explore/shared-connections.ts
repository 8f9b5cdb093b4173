/** Names for the connections of a sequence that is only seen if its calls share them. */
import type { Connection, Step } from './step.ts'

/** The connection of steps that name none. */
export const unnamed: Connection = 0

const numbers = ['one', 'two', 'three']

/** `one`, `two`, … in the order of the steps; a call on a new connection shares none. */
export function connectionsIn(steps: readonly Step[]): ReadonlyMap<Connection, string> {
  const used = steps.flatMap((step) => (step.do === 'call' ? [step.connection ?? unnamed] : []))
  const shared = [...new Set(used)].filter((connection) => connection !== 'new')
  return new Map(shared.map((connection, at) => [connection, numbers[at] ?? `number-${at + 1}`]))
}
