import { connect } from 'node:net'
import { setTimeout } from 'node:timers/promises'

const lookEveryMs = 250
const connectTimeoutMs = 1000

/** Resolves when a server that was there went away and came back; or with false when the signal is aborted before. */
export async function targetReturned(url: string, signal: AbortSignal): Promise<boolean> {
  const { hostname, port, protocol } = new URL(url)
  const host = hostname.replace(/^\[|\]$/g, '')
  const number = Number(port) || (protocol === 'https:' ? 443 : 80)
  for (let wasAway = false; !signal.aborted; ) {
    const isThere = await takesConnections(host, number)
    if (isThere && wasAway) return true
    wasAway ||= !isThere
    await setTimeout(lookEveryMs, undefined, { signal }).catch(() => {})
  }
  return false
}

function takesConnections(host: string, port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ host, port, timeout: connectTimeoutMs })
    const end = (found: boolean): void => {
      socket.destroy()
      resolve(found)
    }
    socket.once('connect', () => end(true))
    socket.once('timeout', () => end(false))
    socket.once('error', () => end(false))
  })
}
