import http from 'node:http'
import https from 'node:https'
import { throughProxy } from './proxy.ts'

/** How a server is reached. */
export interface Route {
  baseUrl: string
  tls?: Tls | undefined
  /** The URL of a proxy; null: none. */
  proxy?: string | null | undefined
}

/** Texts of PEM files. */
export interface Tls {
  ca?: string
  cert?: string
  key?: string
  /** Take any certificate. */
  insecure?: boolean
}

/** @returns makes agents of node:http for this route */
export function agentMaker({ baseUrl, tls = {}, proxy = null }: Route): (options: http.AgentOptions) => http.Agent {
  const isSecure = baseUrl.startsWith('https:')
  const { insecure = false, ...pem } = tls
  const secured = isSecure ? { ...pem, rejectUnauthorized: !insecure } : {}
  const Agent = isSecure ? https.Agent : http.Agent
  return (options) => {
    const agent = throughProxy(new Agent({ ...secured, ...options }), proxy)
    if (options.keepAlive === true) noteCarriers(agent)
    return agent
  }
}

/** Connections that carried an answer; the next call may find them closed. */
const carriers = new WeakSet<object>()

/** Node does not report that a connection was used before if the call had to queue for it. */
function noteCarriers(agent: http.Agent): void {
  agent.on('free', (socket: object) => void carriers.add(socket))
}

/** Whether a request went over a connection that had carried an answer. */
export const isOnCarrier = (request: http.ClientRequest | undefined): boolean =>
  typeof request?.socket === 'object' && request.socket !== null && carriers.has(request.socket)
