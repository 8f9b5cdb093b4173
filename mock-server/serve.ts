import { type MockServer, type StartOptions, startMockServer } from './start.ts'

/** What `serve` needs of the process that it runs in. */
export interface ServeEdge {
  print(line: string): void
  complain(line: string): void
  /** Calls back at SIGTERM or SIGINT. */
  onStop(stop: () => void): void
}

/**
 * Runs the reference server until it is told to stop; resolves with the exit code. The first line printed is
 * `{"url","apiKeyId","apiKeySecret"}`. 2: it cannot listen.
 */
export async function serve(options: StartOptions, edge: ServeEdge = processEdge): Promise<0 | 2> {
  let server: MockServer
  try {
    server = await startMockServer(options)
  } catch (error) {
    edge.complain(listenProblem(error, options))
    return 2
  }
  const { url, rootKey } = server
  edge.print(JSON.stringify({ url, apiKeyId: rootKey.id, apiKeySecret: rootKey.secret }))
  await new Promise<void>((resolve) => edge.onStop(resolve))
  await server.close()
  return 0
}

function listenProblem(error: unknown, { host = '127.0.0.1', port = 0 }: StartOptions): string {
  const code = error instanceof Error && 'code' in error ? String(error.code) : ''
  const place = `"${host}:${port}"`
  switch (code) {
    case 'EADDRINUSE':
      return `Cannot listen on ${place}: the port is taken, choose another one or 0 for any free one`
    case 'EACCES':
      return `Cannot listen on ${place}: not allowed, choose a port above 1023`
    case 'EADDRNOTAVAIL':
    case 'ENOTFOUND':
      return `Cannot listen on ${place}: this machine has no such address`
    default:
      return `Cannot start the server on ${place}: ${error instanceof Error ? error.message : String(error)}`
  }
}

const processEdge: ServeEdge = {
  print: (line) => process.stdout.write(`${line}\n`),
  complain: (line) => process.stderr.write(`${line}\n`),
  onStop(stop) {
    process.once('SIGTERM', stop)
    process.once('SIGINT', stop)
  },
}
