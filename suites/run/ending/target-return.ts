import { setTimeout } from 'node:timers/promises'
import { listens } from '../../targets/listens.ts'

const lookEveryMs = 250

/** Resolves with true when a server has gone away and come back, and with false when the signal is aborted before. */
export async function targetReturned(url: string, signal: AbortSignal): Promise<boolean> {
  const { hostname, port, protocol } = new URL(url)
  const host = hostname.replace(/^\[|\]$/g, '')
  const number = Number(port) || (protocol === 'https:' ? 443 : 80)
  for (let wasAway = false; !signal.aborted; ) {
    const isThere = await listens(host, number)
    if (isThere && wasAway) return true
    wasAway ||= !isThere
    await setTimeout(lookEveryMs, undefined, { signal }).catch(() => {})
  }
  return false
}
