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
    request.once('connect', ({ statusCode }, socket) => {
      if (statusCode === 200) return resolve(socket)
      socket.destroy()
      reject(new Error(`the proxy answered HTTP ${statusCode} instead of opening a connection`))
    })
    request.once('response', ({ statusCode }) => {
      request.destroy()
      reject(new Error(`the proxy answered HTTP ${statusCode} instead of opening a connection`))
    })
    request.once('error', (error: NodeJS.ErrnoException) =>
      reject(new Error(`the proxy could not be reached (${error.code ?? error.message})`, { cause: error })),
    )
    request.end()
  })
}

function encrypt(socket: Socket, options: ConnectionOptions, done: Done): void {
  const { host = '' } = options
  const encrypted = connectSecurely({ ...options, socket, ...(isIP(host) === 0 ? { servername: host } : {}) })
  encrypted.once('secureConnect', () => done(null, encrypted))
  encrypted.once('error', done)
}
