import type { ServerContext } from './context.ts'

/** Counts calls by the second of the server's clock; true while there are few enough. */
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
