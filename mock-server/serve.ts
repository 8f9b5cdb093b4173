import { profileFromWords } from './profile-file.ts'
import { createRandom } from './random.ts'
import { type MockServer, type StartOptions, startMockServer } from './start.ts'

export interface ServeOptions extends Omit<StartOptions, 'profile'> {
  /** Switches, or words of the command line: `random`, `switch=value`, the path of a JSON file. */
  profile?: StartOptions['profile'] | readonly string[]
}

/** What `serve` needs of the process that it runs in. */
export interface ServeEdge {
  print(line: string): void
  complain(line: string): void
  /** Calls back at SIGTERM or SIGINT. */
  onStop(stop: () => void): void
}

/**
 * Runs the reference server until it is told to stop; resolves with the exit code. The first line printed is
 * `{"url","apiKeyId","apiKeySecret"}`, with `controlUrl` and `controlToken` where the control port is open. A random profile goes to
 * stderr, with all its switches. 2: it cannot start, and one line says why.
 */
export async function serve(options: ServeOptions, edge: ServeEdge = processEdge): Promise<0 | 2> {
  let server: MockServer
  try {
    const { profile, ...rest } = options
    const random = createRandom(options.seed === undefined ? undefined : `profile ${options.seed}`)
    const switches = isWords(profile) ? profileFromWords(profile, () => random(4).readUInt32LE() / 2 ** 32) : profile
    server = await startMockServer(switches === undefined ? rest : { ...rest, profile: switches })
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
  if (isWords(options.profile) && options.profile.includes('random'))
    edge.complain(`Profile: ${JSON.stringify(profile)}`)
  await new Promise<void>((resolve) => edge.onStop(resolve))
  await server.stop()
  return 0
}

function isWords(profile: ServeOptions['profile']): profile is readonly string[] {
  return Array.isArray(profile)
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
