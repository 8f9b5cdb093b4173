import http from 'node:http'
import https from 'node:https'
import { isIP, type Socket } from 'node:net'
import { type ConnectionOptions, connect as connectSecurely } from 'node:tls'

type Done = (error: Error | null, socket?: Socket) => void

/** Makes every connection of an agent go through a proxy, by CONNECT: the proxy passes bytes on and sees no call. */
export function throughProxy<A extends http.Agent>(agent: A, proxy: string | null): A {
  if (proxy === null) return agent
  const secure = agent instanceof https.Agent
  return Object.assign(agent, {
    createConnection: (options: ConnectionOptions, done: Done): void => {
      openTunnel(proxy, options).then(
        (socket) => (secure ? encrypt(socket, options, done) : done(null, socket)),
        (error: Error) => done(error),
      )
    },
  })
}

function openTunnel(proxy: string, { host = '', port = 443 }: ConnectionOptions): Promise<Socket> {
  const { protocol, username, password } = new URL(proxy)
  const transport = protocol === 'https:' ? https : http
  const credentials = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`
  const authority = `${isIP(host) === 6 ? `[${host}]` : host}:${port}`
  return new Promise((resolve, reject) => {
    const request = transport.request(new URL(proxy), {
      method: 'CONNECT',
      path: authority,
      agent: false,
      headers: {
        host: authority,
        ...(username === '' ? {} : { 'proxy-authorization': `Basic ${Buffer.from(credentials).toString('base64')}` }),
      },
    })
    request.once('connect', ({ statusCode = 0 }, socket) => {
      if (statusCode === 200) return resolve(socket)
      socket.destroy()
      reject(refusedBy(proxy, statusCode))
    })
    request.once('response', ({ statusCode = 0 }) => {
      request.destroy()
      reject(refusedBy(proxy, statusCode))
    })
    request.once('error', (error: NodeJS.ErrnoException) =>
      reject(proxyError(`the proxy ${hostOf(proxy)} could not be reached (${error.code ?? error.message})`)),
    )
    request.end()
  })
}

/** The code of an error that a proxy is the reason for. */
export const proxyErrorCode = 'SVC_PROXY'

/** @param isAway the proxy could not reach the target */
const proxyError = (message: string, isAway = false): Error =>
  Object.assign(new Error(message), { code: proxyErrorCode, isAway })

/** Without the credentials. */
const hostOf = (proxy: string): string => new URL(proxy).host

/** Many proxies open connections to the port of https alone. */
function refusedBy(proxy: string, status: number): Error {
  const advice =
    status === 403 || status === 405
      ? '; it may allow CONNECT to port 443 only. NO_PROXY names hosts that are reached without it'
      : ''
  const message = `the proxy ${hostOf(proxy)} answered HTTP ${status} instead of opening a connection${advice}`
  return proxyError(message, [502, 503, 504].includes(status))
}

function encrypt(socket: Socket, options: ConnectionOptions, done: Done): void {
  const { host = '' } = options
  const encrypted = connectSecurely({ ...options, socket, ...(isIP(host) === 0 ? { servername: host } : {}) })
  encrypted.once('secureConnect', () => done(null, encrypted))
  encrypted.once('error', done)
}
