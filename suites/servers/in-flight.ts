/** Calls that are in flight together, and decisions that are torn apart from their effects. */

import { setTimeout as sleep } from 'node:timers/promises'
import type { MockAnswer } from '../../mock-server/http-server.ts'
import type { Rules } from '../../mock-server/rules.ts'
import { meets } from './around.ts'
import type { Call } from './call.ts'
import type { Around, Change } from './rows.ts'

/** Waits until calls that were sent together have all arrived. */
export const meet = (): Promise<void> => sleep(3)

/** Calls for which `joins` holds wait for each other, so that what it noted is that of the last one. */
export const meeting = (joins: (call: Call) => boolean): Around =>
  meets((call, next) => (joins(call) ? meet().then(() => next()) : next()))

/** Calls that are in flight together are a batch, which ends when the last of them has been answered. */
export function batches<Batch>(joins: (call: Call) => boolean, begin: () => Batch) {
  let current: Batch | undefined
  let size = 0
  const around = meets(async (call, next) => {
    if (!joins(call)) return next()
    current ??= begin()
    size += 1
    await meet()
    return Promise.resolve(next()).finally(() => {
      size -= 1
      if (size === 0) current = undefined
    })
  })
  return { around, current: () => current }
}

/** Calls that are in flight together and have the same key get the answer of the first one, each with its own id. */
export const mergeInFlight =
  (keyOf: (call: Call) => string | undefined): Around =>
  (handle, context) => {
    const flights = new Map<string, Promise<MockAnswer>>()
    return meets((call, next) => {
      const key = keyOf(call)
      if (key === undefined) return next()
      const flight = flights.get(key)
      if (flight !== undefined) return flight.then((answer) => call.answered(answer))
      const started = meet()
        .then(() => next())
        .finally(() => flights.delete(key))
      flights.set(key, started)
      return started
    })(handle, context)
  }

type Effect = Parameters<Rules['beforeEffect']>[0]

export type Wait = () => Promise<void>

export const twoMs: Wait = () => new Promise((resolve) => setTimeout(resolve, 2))

/** Calls that were sent together through sockets meet. */
export const tenMs: Wait = () => new Promise((resolve) => setTimeout(resolve, 10))

export const oneTurn: Wait = () => new Promise((resolve) => setImmediate(resolve))

/** Shorter than the way of a call through a socket: only calls made inside one process meet in this window. */
export const someMicrotasks: Wait = async () => {
  for (let turn = 0; turn < 4; turn++) await undefined
}

/** The server waits between a decision and its effect. */
export const tornApart = (wanted: Effect, wait: Wait): Change => ({
  beforeEffect: (effect) => (effect === wanted ? wait() : undefined),
})

/** Separates a decision from its effect, so that calls within a few milliseconds all succeed. */
export const race =
  (wanted: Effect): Rules['beforeEffect'] =>
  (effect) =>
    effect === wanted ? new Promise((resolve) => setTimeout(resolve, 20)) : undefined
