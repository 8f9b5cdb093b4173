/** Watches a client: runs it once for each scenario against a server of its own, or serves whoever calls, and returns what arrived. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { availableParallelism, tmpdir } from 'node:os'
import { join } from 'node:path'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { setTimeout as sleep } from 'node:timers/promises'
import { defaultScheme } from '../engine/document.ts'
import { portError, SuiteError } from '../engine/errors.ts'
import { publicKeyOfSeed } from '../engine/signer/ed25519.ts'
import { ed25519KeyPair } from '../engine/signer/pem.ts'
import { systemRandom } from '../engine/signer/random.ts'
import { type MockServer, type Profile, startMockServer } from '../targets/bundled.ts'
import { type Journal, type JournalKey, type Start, unknownSetting } from './journal.ts'
import { elsewhere, type Scenario } from './scenarios.ts'

/** As lenient as the document allows: the checks judge requests, and a client that can continue shows more of its behaviour. */
const lenientProfile: Partial<Profile> = {
  strictEnvelope: false,
  idTypes: 'any',
  extraParams: 'ignored',
  scopeOnRefresh: 'ignored',
  authHeaderOnGrant: 'ignored',
  scopeCase: 'any',
  noncePadding: 'accepted',
  unpaddedSignatures: 'accepted',
  nonceReuse: 'accepted',
  schemeCase: 'any',
  nonceMaxLength: 1024,
  // Two processes of a client with the same session name must not end each other's tokens.
  reusedSessionName: 'joins',
}

/** The words before a signature and a token, as the server expects them. */
const prefixes = { scheme: defaultScheme, tokenPrefix: 'Bearer' }

/** What a client needs to connect; the names are fixed. */
function connectionOf(url: string, key: JournalKey, { path }: PrivateKeyFile): { [name: string]: string } {
  return {
    SVC_URL: url,
    SVC_KEY_ID: key.id,
    ...(key.kind === 'secret' ? { SVC_KEY_SECRET: key.secret } : { SVC_PRIVATE_KEY_FILE: path }),
    SVC_SCHEME: prefixes.scheme,
    SVC_TOKEN_PREFIX: prefixes.tokenPrefix,
  }
}

type PrivateKeyFile = ReturnType<typeof makePrivateKeyFile>

/** Makes an ED25519 key pair and writes its private half (PKCS #8, PEM) to a fresh temporary folder, from which clients read it. */
function makePrivateKeyFile() {
  const pair = ed25519KeyPair(systemRandom.bytes(32))
  const folder = mkdtempSync(join(tmpdir(), 'svc-client-'))
  const path = join(folder, 'private-key.pem')
  writeFileSync(path, pair.privateKeyPem, { mode: 0o600 })
  const remove = (): void => rmSync(folder, { recursive: true, force: true })
  return { ...pair, path, publicKey: publicKeyOfSeed(pair.seed), remove }
}

interface ListenOptions {
  port: number
  /** Missing parts are generated. */
  key: { id?: string; secret?: string }
}

/**
 * Serves calls until the signal comes. @param announce prints the environment for clients, as `NAME=value` lines
 *
 * @throws SuiteError (`usage`) where the port is taken
 */
export async function listen(
  { port, key: rootKey }: ListenOptions,
  signal: AbortSignal,
  announce: (lines: readonly string[]) => void,
): Promise<Journal> {
  const privateKey = makePrivateKeyFile()
  const { path, publicKey, seed, publicKeyPem } = privateKey
  try {
    const recording = { bytes: 64 * 1024 * 1024 }
    const server = await startMockServer({ port, rootKey, profile: lenientProfile, recording }).catch((cause) => {
      throw portError(port, cause)
    })
    const signing = await server.makeKey({ publicKey: publicKeyPem })
    const key: JournalKey = { kind: 'secret', id: server.rootKey.id, secret: server.rootKey.secret }
    announce([
      ...Object.entries(connectionOf(server.url, key, privateKey)).map(([name, value]) => `${name}=${value}`),
      `# with SVC_AUTH=ecc: SVC_KEY_ID=${signing.id} SVC_PRIVATE_KEY_FILE=${path}`,
    ])
    if (!signal.aborted) await once(signal, 'abort')
    await server.stop(1000)
    return {
      scenario: 'listen',
      setting: { ...unknownSetting, ...prefixes },
      keys: [key, { kind: 'public', id: signing.id, publicKey, seed }],
      exchanges: exchangesOf(server),
      elsewhere: [],
      starts: null,
    }
  } finally {
    privateKey.remove()
  }
}

const exchangesOf = (server: MockServer | undefined): Journal['exchanges'] => [
  ...(server?.recording?.exchanges() ?? []),
]

interface RunOptions {
  /** For the shell. */
  command: string
  timeoutSeconds: number
  /** Ends the run, or one command; journals of scenarios that have not begun are left out. */
  signal: AbortSignal
}

/** Starts of clients are staggered: a start needs much of a core, and many at once would delay timed clients. */
const startsPerCore = 2
/** The longest time that a client that does nothing delays the others. In ms. */
const longestStartMs = 1500

const lagResolutionMs = 20
/** A machine that answers within this time does not lag. */
const usualLagMs = 100

/**
 * Runs every scenario, all at the same time.
 *
 * @throws SuiteError (`command`, exit code 3) where the command cannot be started
 */
export async function runScenarios(
  scenarios: readonly Scenario[],
  options: RunOptions,
  onDone: (done: number) => void = () => {},
): Promise<Journal[]> {
  const privateKey = makePrivateKeyFile()
  const failed = new AbortController()
  const signal = AbortSignal.any([options.signal, failed.signal])
  const delay = monitorEventLoopDelay({ resolution: lagResolutionMs })
  delay.enable()
  const running: Promise<Journal>[] = []
  let done = 0
  const waiting = scenarios.values()
  const startOneByOne = async (): Promise<void> => {
    for (const scenario of waiting) {
      if (signal.aborted) return
      const awake = new Promise<void>((onAwake) => {
        running.push(runScenario(scenario, { ...options, signal }, privateKey, onAwake).finally(() => onDone(++done)))
      })
      await Promise.race([awake, running.at(-1), sleep(longestStartMs, undefined, { ref: false })])
    }
  }
  try {
    await Promise.all(Array.from({ length: availableParallelism() * startsPerCore }, startOneByOne))
    const journals = await Promise.all(running)
    const longestMs = delay.max / 1e6 - lagResolutionMs
    const lagMs = longestMs > usualLagMs ? Math.round(longestMs) : 0
    return journals.map((journal) => ({ ...journal, setting: { ...journal.setting, lagMs } }))
  } finally {
    // Where one command cannot be started, the others cannot either.
    failed.abort()
    await Promise.allSettled(running)
    delay.disable()
    privateKey.remove()
  }
}

const recording = { bytes: 8 * 1024 * 1024 }
/** More requests than any client needs for a few calls. */
const mostRequests = 1000

/**
 * Starts a server, runs the client against it as often as the scenario says, and returns the journal.
 *
 * @param onAwake called once the client has made its first request or printed its first line, and again later
 */
async function runScenario(
  scenario: Scenario,
  { command, timeoutSeconds, signal }: RunOptions,
  privateKey: PrivateKeyFile,
  onAwake: () => void,
): Promise<Journal> {
  const { auth, scope, method, calls, parallel, profile, faults } = scenario
  const { publicKey, seed, publicKeyPem } = privateKey
  const runaway = new AbortController()
  let requests = 0
  const server = await startMockServer({
    profile: { ...lenientProfile, ...profile },
    recording,
    around: (handle) => (request) => {
      onAwake()
      requests += 1
      if (requests > mostRequests) runaway.abort()
      return handle(request)
    },
    ...(auth === 'ecc' ? { rootKey: { publicKey: publicKeyPem } } : {}),
  })
  // Another origin is another port; every request there is answered with 404.
  const other = faults.some(({ fault }) => fault === 'redirect')
    ? await startMockServer({ recording, profile: { basePath: '/elsewhere' } })
    : undefined
  for (const fault of faults)
    server.faults.add(
      fault.fault === 'redirect' && other !== undefined
        ? { ...fault, location: fault.location.replace(elsewhere, new URL(other.url).origin) }
        : fault,
    )
  const { id, secret } = server.rootKey
  const key: JournalKey = auth === 'ecc' ? { kind: 'public', id, publicKey, seed } : { kind: 'secret', id, secret }
  const env = {
    ...connectionOf(server.url, key, privateKey),
    SVC_SCENARIO: scenario.id,
    SVC_AUTH: auth,
    SVC_SCOPE: scope.join(','),
    SVC_METHOD: method,
    SVC_CALLS: String(calls),
    SVC_PARALLEL: String(parallel),
    SVC_PAUSE_MS: String(scenario.pauseMs),
  }
  const stop = AbortSignal.any([signal, runaway.signal])
  const starts: Start[] = []
  try {
    while (starts.length < scenario.starts) {
      const start = await runCommand({ command, env, timeoutSeconds, signal: stop, onLine: onAwake })
      const isRunaway = start.ended.kind === 'interrupted' && runaway.signal.aborted
      starts.push(isRunaway ? { ...start, ended: { kind: 'runaway', requests: mostRequests } } : start)
      if (start.ended.kind !== 'exit') break
    }
    const clockOffsetMs = profile.clockOffsetMs ?? 0
    return {
      scenario: scenario.id,
      // The lag is known when all scenarios have ended.
      setting: { auth, scope, method, calls, parallel, ...prefixes, clockOffsetMs, lagMs: 0 },
      keys: [key],
      exchanges: exchangesOf(server),
      elsewhere: exchangesOf(other),
      starts,
    }
  } finally {
    await Promise.all([server.close(), other?.close()])
  }
}

interface CommandOptions extends RunOptions {
  /** Added to our own environment, whose SVC_ variables are left out. */
  env: { readonly [name: string]: string }
  onLine: () => void
}

const stderrBound = 4000
/** A longer line is neither `ok` nor `error`. */
const lineBound = 1000
/** How long output is still read after the end, if a child of the command keeps it open. In ms. */
const drainMs = 200

/**
 * Runs a command in its own process group until it ends, and kills the group with it.
 *
 * @throws SuiteError (`command`) where the shell found no such command, or may not run it
 */
async function runCommand(options: CommandOptions): Promise<Start> {
  const { command, env, onLine } = options
  const fromMs = preciseNow()
  // The user's own SVC_ variables must not reach the judged client.
  const ours = Object.entries(process.env).filter(([name]) => !name.startsWith('SVC_'))
  const child = spawn(command, {
    shell: true,
    detached: process.platform !== 'win32',
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...Object.fromEntries(ours), ...env },
  })
  const count = { ok: 0, error: 0 }
  const take = (line: string): void => {
    const word = line.trim()
    if (word !== 'ok' && word !== 'error') return
    count[word] += 1
    onLine()
  }
  let rest = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    const lines = (rest + text).split('\n')
    rest = (lines.pop() ?? '').slice(0, lineBound)
    lines.forEach(take)
  })
  let stderr = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr = (stderr + text).slice(-stderrBound)
  })
  const ended = await endOf(child, options)
  killGroup(child)
  take(rest)
  // The exit codes of a POSIX shell that cannot run a command.
  if (ended.kind === 'exit' && [126, 127].includes(ended.code) && count.ok + count.error === 0) {
    const detail = stderr.trim() === '' ? 'the shell says nothing' : `the shell says "${stderr.trim()}"`
    throw new SuiteError('command', `Cannot start the command "${command}": ${detail}`)
  }
  return { fromMs, toMs: preciseNow(), ...count, ended, stderr }
}

/** On the same clock as the recording of the server. */
const preciseNow = (): number => performance.timeOrigin + performance.now()

function endOf(child: ChildProcess, { timeoutSeconds, signal: stop }: CommandOptions): Promise<Start['ended']> {
  return new Promise((resolve) => {
    const finish = (ending: Start['ended']): void => {
      clearTimeout(timer)
      resolve(ending)
    }
    const exited = (code: number | null, signal: string | null): void =>
      finish(code === null ? { kind: 'signal', signal: signal ?? 'an unknown signal' } : { kind: 'exit', code })
    const timer = setTimeout(() => finish({ kind: 'timeout', seconds: timeoutSeconds }), timeoutSeconds * 1000)
    child.on('error', () => exited(127, null))
    child.on('close', exited)
    child.on('exit', (code, signal) => setTimeout(exited, drainMs, code, signal).unref())
    stop.addEventListener('abort', () => finish({ kind: 'interrupted' }))
    if (stop.aborted) finish({ kind: 'interrupted' })
  })
}

/** Ends processes that the command left running. */
function killGroup(child: ChildProcess): void {
  child.stdout?.destroy()
  child.stderr?.destroy()
  if (child.pid === undefined) return
  try {
    process.kill(process.platform === 'win32' ? child.pid : -child.pid, 'SIGKILL')
  } catch {
    // The group has ended already.
  }
}
