/**
 * Connections that are opened in advance, so that a call that needs a new one need not wait. Each carries only one call, so nothing is sent
 * twice.
 */
import type http from 'node:http'
import type net from 'node:net'

interface SpareConnections {
  /** Allows opening connections in advance: the target answers others while one is idle. */
  allow(): void
  close(): void
}

/** A server may close an idle connection. */
const longestIdleMs = 1500
/** Enough for simultaneous grants of several users, refreshes and creations. */
const mostSpares = 8

interface Spare {
  socket: net.Socket
  openedAtMs: number
  /** It was closed, or received unexpected data. */
  onEnd(): void
}

const signsOfAnEnd = ['error', 'end', 'close', 'data'] as const

type Connect = (options: unknown, callback?: unknown) => net.Socket | undefined

/** Makes an agent use connections that were opened in advance. */
export function openSpares(agent: http.Agent, now: () => number = () => performance.now()): SpareConnections {
  const withConnect = agent as unknown as { createConnection: Connect }
  const connect: Connect = withConnect.createConnection.bind(agent)
  let isAllowed = false
  let spares: Spare[] = []
  const drop = (spare: Spare): void => {
    spares = spares.filter((other) => other !== spare)
    spare.socket.destroy()
  }
  const open = (options: unknown): void => {
    const socket = connect(options)
    if (socket === undefined) return
    const spare: Spare = { socket, openedAtMs: now(), onEnd: () => drop(spare) }
    spares.push(spare)
    for (const sign of signsOfAnEnd) socket.on(sign, spare.onEnd)
    socket.unref()
    setTimeout(() => spares.includes(spare) && drop(spare), longestIdleMs).unref()
  }
  const take = (): net.Socket | undefined => {
    const spare = spares.shift()
    if (spare === undefined) return undefined
    const { socket, openedAtMs, onEnd } = spare
    for (const sign of signsOfAnEnd) socket.off(sign, onEnd)
    socket.ref()
    if (now() - openedAtMs <= longestIdleMs) return socket
    socket.destroy()
    return take()
  }
  withConnect.createConnection = (options, callback) => {
    const spare = take()
    if (isAllowed && spares.length < mostSpares) setImmediate(() => isAllowed && open(options))
    return spare ?? connect(options, callback)
  }
  return {
    allow() {
      isAllowed = true
    },
    close() {
      isAllowed = false
      for (const spare of [...spares]) drop(spare)
    },
  }
}
