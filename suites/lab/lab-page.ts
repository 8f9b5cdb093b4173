/** The lab page as `npm run build` leaves it beside this file; where there was no build it is bundled on the spot. */
import { existsSync, readFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'

const built = new URL('lab.html', import.meta.url)

/** The whole page as text. */
export async function labPage(): Promise<string> {
  // The source folder holds only the template of the page.
  if (!import.meta.url.endsWith('.ts') && existsSync(built)) return readFileSync(built, 'utf8')
  const { buildLab } = await import('./build-lab.ts')
  return buildLab()
}

/** Serves the page on 127.0.0.1, every path alike, until the server is closed. Rejects where the port is taken. */
export function serveLab(page: string, port: number): Promise<Server> {
  const bytes = Buffer.from(page)
  const server = createServer((request, response) => {
    const found = request.url === '/' && (request.method === 'GET' || request.method === 'HEAD')
    const body = found ? bytes : Buffer.from('Not found\n')
    response.writeHead(found ? 200 : 404, {
      'content-type': found ? 'text/html; charset=utf-8' : 'text/plain; charset=utf-8',
      'content-length': body.length,
      'cache-control': 'no-store',
      'x-content-type-options': 'nosniff',
      'referrer-policy': 'no-referrer',
    })
    response.end(request.method === 'HEAD' ? undefined : body)
  })
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, '127.0.0.1', () => resolve(server))
  })
}
