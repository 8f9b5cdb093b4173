import type { ServerContext } from './context.ts'

/** Counts calls in each second of the server's clock; true while the limit is not reached. */
export function createRateLimit({ profile, now }: ServerContext): () => boolean {
  if (profile.callsPerSecond === 0) return () => true
  let second = 0
  let calls = 0
  return () => {
    const current = Math.floor(now() / 1000)
    if (current !== second) {
      second = current
      calls = 0
    }
    calls += 1
    return calls <= profile.callsPerSecond
  }
}
