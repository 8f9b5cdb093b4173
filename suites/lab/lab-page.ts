import { createServer, type Server } from 'node:http'
import { builtPage } from '../page/build-page.ts'

/** The whole page as text. */
export function labPage(): Promise<string> {
  // Reading the vectors takes time that only the build needs.
  return builtPage('suites/lab/lab-page.html', async () => (await import('./build-lab.ts')).buildLab())
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
