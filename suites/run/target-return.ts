/** Waits until a server that is being fixed was away and is back, for `--watch`. */
import { setTimeout } from 'node:timers/promises'
import { isUnavailable } from '../engine/conversation/target-facts.ts'
import type { Instance } from '../engine/target.ts'
import { listens, type UrlTargetOptions, urlTarget } from '../targets/url.ts'

const lookEveryMs = 250
const patienceMs = 2000

/** Resolves with true when a server has gone away and come back, and with false when the signal is aborted before. */
export async function targetReturned(target: UrlTargetOptions, signal: AbortSignal): Promise<boolean> {
  const instance = await urlTarget(target).open()
  const isThere = presenceOf(instance)
  try {
    for (let wasAway = false; !signal.aborted; ) {
      const isHere = await isThere()
      if (isHere && wasAway) return true
      wasAway ||= !isHere
      await setTimeout(lookEveryMs, undefined, { signal }).catch(() => {})
    }
    return false
  } finally {
    await instance.close()
  }
}

/**
 * Tells whether the server answers. A proxy in front of it accepts connections while the server is away; so a connection is enough only
 * where no answer was ever seen.
 */
function presenceOf(instance: Instance): () => Promise<boolean> {
  let hasAnswered = false
  return async () => {
    const answer = await instance.send({
      method: 'GET',
      path: '/api',
      headers: Object.entries(instance.settings.headers),
      body: new Uint8Array(),
      connection: 'fresh',
      raw: true,
      timeoutMs: patienceMs,
    })
    if (answer.kind !== 'none' && isUnavailable(answer.status)) return false
    if (answer.kind === 'none') return !hasAnswered && !answer.refusedConnection && (await listens(instance.baseUrl))
    hasAnswered = true
    return true
  }
}
