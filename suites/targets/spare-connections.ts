/**
 * Connections that are opened in advance, so that a call that needs a new one need not wait. Each carries only one call, so nothing is sent
 * twice.
 */
import type http from 'node:http'
import type net from 'node:net'

interface SpareConnections {
  /** Opens connections in advance from now on: the target answers others while one is idle. */
  allow(): void
  close(): void
}

/** Some servers close a connection that brings no request for five seconds. */
const longestIdleMs = 3000
/** For each connection that is needed, because calls that waited for another one may all set out together. */
const openedForEach = 2

interface Spare {
  socket: net.Socket
  openedAtMs: number
}

/** The target closed a connection, or sent unexpected data. */
const signsOfAnEnd = ['error', 'end', 'close', 'data'] as const

type Connect = (options: unknown, callback?: unknown) => net.Socket | undefined

/**
 * Makes an agent use connections that were opened in advance. Longer than most functions, because its steps share the list of spares.
 *
 * @param most how many may be open at the same time
 */
export function openSpares(
  agent: http.Agent,
  most: () => number,
  now: () => number = () => performance.now(),
): SpareConnections {
  const withConnect = agent as unknown as { createConnection: Connect }
  const connect: Connect = withConnect.createConnection.bind(agent)
  let isAllowed = false
  let target: unknown
  let spares: Spare[] = []
  const drop = (spare: Spare): void => {
    spares = spares.filter((other) => other !== spare)
    spare.socket.destroy()
  }
  /** A target that closes one may take no more connections, so it gets back the places of all. */
  const stop = (): void => {
    isAllowed = false
    for (const spare of [...spares]) drop(spare)
  }
  const openOne = (): void => {
    const socket = connect(target)
    if (socket === undefined) return
    const spare: Spare = { socket, openedAtMs: now() }
    spares.push(spare)
    for (const sign of signsOfAnEnd) socket.on(sign, stop)
    socket.unref()
    setTimeout(() => spares.includes(spare) && drop(spare), longestIdleMs).unref()
  }
  const openMore = (): void => {
    for (let opened = 0; opened < openedForEach && isAllowed && spares.length < most(); opened += 1) openOne()
  }
  const take = (): net.Socket | undefined => {
    const spare = spares.shift()
    if (spare === undefined) return undefined
    const { socket, openedAtMs } = spare
    for (const sign of signsOfAnEnd) socket.off(sign, stop)
    socket.ref()
    if (now() - openedAtMs <= longestIdleMs) return socket
    socket.destroy()
    return take()
  }
  withConnect.createConnection = (options, callback) => {
    target = options
    setImmediate(openMore)
    return take() ?? connect(options, callback)
  }
  return {
    allow() {
      if (isAllowed) return
      isAllowed = true
      if (target !== undefined) openMore()
    },
    close: stop,
  }
}
