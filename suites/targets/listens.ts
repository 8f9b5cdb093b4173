import { connect } from 'node:net'

const connectTimeoutMs = 1000

/** Whether anything accepts connections at that address. */
export function listens(host: string, port: number): Promise<boolean> {
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
