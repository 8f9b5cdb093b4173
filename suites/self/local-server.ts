/** For tests: servers of a few lines in this process, which are called through a socket. */
import http from 'node:http'
import type { AddressInfo, Server } from 'node:net'

/** Lets a server listen on a free port. */
export async function listening(server: Server, host = '127.0.0.1') {
  await new Promise<void>((resolve, reject) => server.once('error', reject).listen(0, host, resolve))
  const { port } = server.address() as AddressInfo
  const close = (): void => {
    server.close()
    if (server instanceof http.Server) server.closeAllConnections()
  }
  return { url: `http://${host.includes(':') ? `[${host}]` : host}:${port}`, port, close }
}

export async function bodyOf(request: http.IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks)
}
