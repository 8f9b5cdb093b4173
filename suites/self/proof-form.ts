import { type bundledTarget, lastingTarget } from '../targets/bundled.ts'

/** `npm run proof` runs some tests in their whole form; `npm test` runs a part of them, because the whole takes too long. */
export const isProof = process.env.SVC_PROOF !== undefined

/** One server for all cases of a run; outside of a proof it is called without sockets. */
export const lastingServer: typeof bundledTarget = (server, settings) => lastingTarget(server, settings, isProof)

/** The name of a test or a group that only a proof runs, as in `test.skipIf(!isProof)(onlyInProof('…'), …)`. */
export const onlyInProof = (name: string): string => (isProof ? name : `${name} (NOT RUN: npm run proof does)`)

/**
 * All items in a proof; otherwise every `every`-th of them, from the index `first` on. If each of several servers has another `first`, every
 * server and every item has its turn.
 */
export function turnUnlessProof<T>(items: readonly T[], every: number, first: number): T[] {
  return items.filter((_, index) => isProof || index % every === first % every)
}

/** All items in a proof; otherwise `count` of them, spread evenly over the list from the index `first` on. */
export function partUnlessProof<T>(items: readonly T[], count: number, first = 0): T[] {
  if (isProof || count >= items.length) return [...items]
  const from = items.slice(first)
  return Array.from({ length: count }, (_, index) => from[Math.floor((index * from.length) / count)] as T)
}
