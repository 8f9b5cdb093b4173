/** Names for the connections of a sequence that is only seen if its calls share them. */
import type { CallStep, Connection, Step } from './step.ts'

/** The connection of steps that name none. */
const unnamed: Connection = 0

const numbers = ['one', 'two', 'three']

/** Calls from two addresses share no connection. */
const connectionOf = ({ connection = unnamed, from = 'first-address' }: CallStep): string => `${connection} ${from}`

/** `one`, `two`, … in the order of the steps; a call on a new connection shares none. */
export function connectionsIn(steps: readonly Step[]): (step: CallStep) => string | undefined {
  const used = steps.flatMap((step) => (step.do === 'call' && step.connection !== 'new' ? [connectionOf(step)] : []))
  const names = new Map([...new Set(used)].map((connection, at) => [connection, numbers[at] ?? `number-${at + 1}`]))
  return (step) => names.get(connectionOf(step))
}

/** Where it does not matter which calls share a connection. */
export const noneShared = (): undefined => undefined
