import { profileFromWords } from './profile-file.ts'
import { createRandom } from './random.ts'
import { type MockServer, type StartOptions, startMockServer } from './start.ts'

export interface ServeOptions extends StartOptions {
  /** Words of the command line, under the switches of `profile`: `random`, `switch=value`, the path of a JSON file. */
  profileWords?: readonly string[]
}

/** What `serve` needs from its process. */
export interface ServeEdge {
  print(line: string): void
  complain(line: string): void
  /** Calls back at SIGTERM or SIGINT. */
  onStop(stop: () => void): void
}

/**
 * Runs the reference server until it is stopped; resolves with the exit code. The first line printed is
 * `{"url","apiKeyId","apiKeySecret"}`, with `controlUrl` and `controlToken` where the control port is open. A random profile goes to
 * stderr, with all its switches. 2: it cannot start, and one line says why.
 */
export async function serve(options: ServeOptions, edge: ServeEdge = processEdge): Promise<0 | 2> {
  let server: MockServer
  try {
    const { profileWords = [], ...rest } = options
    const random = createRandom(options.seed === undefined ? undefined : `profile ${options.seed}`)
    const words = profileFromWords(profileWords, () => random(4).readUInt32LE() / 2 ** 32)
    server = await startMockServer({ ...rest, profile: { ...words, ...options.profile } })
  } catch (error) {
    edge.complain(startProblem(error, options))
    return 2
  }
  const { url, rootKey, control, profile } = server
  edge.print(
    JSON.stringify({
      url,
      apiKeyId: rootKey.id,
      apiKeySecret: rootKey.secret,
      ...(control ? { controlUrl: control.url, controlToken: control.token } : {}),
    }),
  )
  if (options.profileWords?.includes('random')) edge.complain(`Profile: ${JSON.stringify(profile)}`)
  await new Promise<void>((resolve) => edge.onStop(resolve))
  await server.stop()
  return 0
}

function startProblem(error: unknown, { host = '127.0.0.1', port = 0 }: ServeOptions): string {
  const code = error instanceof Error && 'code' in error ? String(error.code) : ''
  const place = placeOf(error) ?? `${host}:${port}`
  switch (code) {
    case 'EADDRINUSE':
      return `Cannot listen on "${place}": the port is taken, choose another one or 0 for any free one`
    case 'EACCES':
      return `Cannot listen on "${place}": not allowed, choose a port above 1023`
    case 'EADDRNOTAVAIL':
    case 'ENOTFOUND':
      return `Cannot listen on "${place}": this machine has no such address`
    default:
      return error instanceof Error ? error.message : String(error)
  }
}

/** The error of node:net names the place; the control port may be the one that is taken. */
function placeOf(error: unknown): string | undefined {
  if (!(error instanceof Error && 'address' in error && 'port' in error)) return undefined
  return `${String(error.address)}:${String(error.port)}`
}

const processEdge: ServeEdge = {
  print: (line) => process.stdout.write(`${line}\n`),
  complain: (line) => process.stderr.write(`${line}\n`),
  onStop(stop) {
    process.once('SIGTERM', stop)
    process.once('SIGINT', stop)
  },
}
