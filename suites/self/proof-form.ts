/** `npm run proof` runs some tests in their whole form; `npm test` runs a part of them, so that nobody waits for it. */
export const isProof = process.env.SVC_PROOF !== undefined

/** All items in a proof; otherwise `count` of them, spread evenly over the list. */
export function partUnlessProof<T>(items: readonly T[], count: number): T[] {
  if (isProof || count >= items.length) return [...items]
  return Array.from({ length: count }, (_, index) => items[Math.floor((index * items.length) / count)] as T)
}
