import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Handle } from './http.ts'

/** A handler that express, connect and node:http can mount. Its type needs no types of express. */
export type MountableApp = (request: IncomingMessage, response: ServerResponse) => void

/**
 * The express edge: the reference server to mount in another server. It takes every path below its mount point; mount it before any body
 * parser, since a signature covers the bytes as sent. express is loaded only here, so that a server without it starts quickly.
 */
export async function createApp(handle: Handle, options: { maxBodyBytes: number }): Promise<MountableApp> {
  const { default: express } = await import('express')
  const app = express()
  app.disable('x-powered-by')
  app.disable('etag')
  app.use(express.raw({ type: () => true, limit: options.maxBodyBytes, inflate: false }))
  app.use(async (request, response) => {
    const answer = await handle({
      method: request.method,
      target: request.originalUrl,
      headers: request.headers as { [name: string]: string | undefined },
      body: Buffer.isBuffer(request.body) ? request.body : Buffer.alloc(0),
      remoteAddress: request.socket.remoteAddress ?? '',
    })
    if (answer.hangUp) {
      response.destroy()
      return
    }
    response.status(answer.status).set(answer.headers).end(answer.body)
  })
  return app
}
