import type { PlayedCall } from './play.ts'

/** A call that two servers answer differently. */
export interface Difference {
  call: string
  /** What differs; `outcome` is the verdict. */
  in: ('outcome' | 'status' | 'code' | 'shape')[]
  a: PlayedCall
  b: PlayedCall
}

const compared = ['outcome', 'status', 'code', 'shape'] as const

/** The calls that were answered differently, in their order. */
export function compareSessions(first: readonly PlayedCall[], second: readonly PlayedCall[]): Difference[] {
  return first.flatMap((a, index) => {
    const b = second[index]
    if (b === undefined) return []
    const differs = compared.filter((name) => a[name] !== b[name])
    return differs.length === 0 ? [] : [{ call: a.call, in: differs, a, b }]
  })
}
