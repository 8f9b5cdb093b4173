import type { Wire } from '../../explore/wire.ts'

/** Tells before each call how many were made, with this one. */
export function countedWire(wire: Wire, called: (calls: number) => void): Wire {
  let calls = 0
  return {
    ...wire,
    send: (request) => {
      calls += 1
      called(calls)
      return wire.send(request)
    },
  }
}
