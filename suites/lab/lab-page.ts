import { readFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import { join } from 'node:path'
import { packageRoot } from '../engine/language/package-root.ts'
import { buildPage, builtPage, pageStyle, withData } from '../page/build-page.ts'

/** The whole page as text. */
export const labPage = (): Promise<string> => builtPage('suites/lab/lab-page.html', buildLab)

/** The lab page with the vectors in it. Its script is bundled from this folder and the very modules of `diagnose`. */
export async function buildLab(): Promise<string> {
  // Reading the vectors takes time that only the build needs.
  const { parseRequirements } = await import('../engine/language/corpus.ts')
  const { flatVectors, loadVectors } = await import('../engine/language/vectors.ts')
  const style = pageStyle('suites/lab/lab.css')
  const page = await buildPage({ template: 'suites/lab/lab.html', style, script: 'suites/lab/page.ts' })
  const file = 'spec/requirements.yaml'
  const requirements = parseRequirements(readFileSync(join(packageRoot, file), 'utf8'), file)
  return withData(page, {
    vectors: flatVectors(loadVectors(packageRoot)).vectors,
    sentences: Object.fromEntries(requirements.map(({ id, text }) => [id, text])),
  })
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
