import { type ChildProcess, spawn } from 'node:child_process'
import { generateKeyPairSync } from 'node:crypto'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { availableParallelism, tmpdir } from 'node:os'
import { join } from 'node:path'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { defaultScheme } from '../engine/document.ts'
import { type Fault, type MockServer, type Profile, startMockServer } from '../targets/bundled.ts'
import type { Ending, Exchange, Journal, JournalKey, Start } from './journal.ts'
import { elsewhere, type Scenario } from './scenarios.ts'

/** A key pair; clients read its private key from a file. */
interface PrivateKeyFile {
  path: string
  publicKeyPem: string
  publicKey: Uint8Array
  seed: Uint8Array
  remove(): void
}

/** Makes an ED25519 key pair and writes its private half (PKCS #8, PEM) to a fresh temporary folder. */
export function makePrivateKeyFile(): PrivateKeyFile {
  const { publicKey, privateKey } = generateKeyPairSync('ed25519')
  const folder = mkdtempSync(join(tmpdir(), 'svc-client-'))
  const path = join(folder, 'private-key.pem')
  writeFileSync(path, privateKey.export({ type: 'pkcs8', format: 'pem' }), { mode: 0o600 })
  const { x = '', d = '' } = privateKey.export({ format: 'jwk' })
  return {
    path,
    publicKeyPem: publicKey.export({ type: 'spki', format: 'pem' }).toString(),
    publicKey: Buffer.from(x, 'base64url'),
    seed: Buffer.from(d, 'base64url'),
    remove: () => rmSync(folder, { recursive: true, force: true }),
  }
}

/** A server whose every exchange is recorded, and the other origin that it redirects to. */
interface JudgedServer {
  url: string
  key: JournalKey
  exchanges(): readonly Exchange[]
  elsewhere(): readonly Exchange[]
  close(): Promise<void>
}

/** The word before a token, as the server expects it. */
export const tokenPrefix = 'Bearer'

const recordedBytes = 8 * 1024 * 1024

/** As lenient as the document allows: the checks judge requests, and a client that can continue shows more of its behaviour. */
export const lenientProfile: Partial<Profile> = {
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

/** @param onRequest called when a request has arrived completely */
async function startJudgedServer(
  scenario: Scenario,
  privateKey: PrivateKeyFile,
  onRequest: () => void,
): Promise<JudgedServer> {
  const isEcc = scenario.auth === 'ecc'
  const redirects = scenario.faults.some(({ fault }) => fault === 'redirect')
  const server = await startMockServer({
    profile: { ...lenientProfile, ...scenario.server.profile },
    recording: { bytes: recordedBytes },
    around: (handle) => (request) => {
      onRequest()
      return handle(request)
    },
    ...(isEcc ? { rootKey: { publicKey: privateKey.publicKeyPem } } : {}),
  })
  const other = redirects ? await startElsewhere() : undefined
  for (const fault of scenario.faults) server.faults.add(withLocation(fault, other?.url))
  const { id, secret } = server.rootKey
  return {
    url: server.url,
    key: isEcc
      ? { kind: 'public', id, publicKey: privateKey.publicKey, seed: privateKey.seed }
      : { kind: 'secret', id, secret },
    exchanges: () => server.recording?.exchanges() ?? [],
    elsewhere: () => other?.recording?.exchanges() ?? [],
    close: async () => {
      await Promise.all([server.close(), other?.close()])
    },
  }
}

/** Another origin is another port; every request there is answered with 404. */
function startElsewhere(): Promise<MockServer> {
  return startMockServer({ recording: { bytes: recordedBytes }, profile: { basePath: '/elsewhere' } })
}

function withLocation(fault: Fault, otherUrl: string | undefined): Fault {
  if (fault.fault !== 'redirect' || otherUrl === undefined) return fault
  return { ...fault, location: fault.location.replace(elsewhere, new URL(otherUrl).origin) }
}

interface CommandOptions {
  /** For the shell. */
  command: string
  /** Added to our own environment, whose SVC_ variables are left out. */
  env: { readonly [name: string]: string }
  timeoutSeconds: number
  now(): number
  /** Kills the command when it resolves with the reason. */
  stop: Promise<Ending>
  onLine?: () => void
}

/** `not-started`: the shell found no such command, or may not run it. */
type CommandResult = { kind: 'ran'; start: Start } | { kind: 'not-started'; stderr: string }

const stderrBound = 4000
/** A longer line is neither `ok` nor `error`. */
const lineBound = 1000
/** How long output is still read after the end, if a child of the command keeps it open. In ms. */
const drainMs = 200
/** The exit codes of a POSIX shell that cannot run a command. */
const cannotRun = [126, 127]

/** Runs a command in its own process group until it ends, and kills the group with it. Never rejects. */
export async function runCommand(options: CommandOptions): Promise<CommandResult> {
  const fromMs = options.now()
  const child = spawn(options.command, {
    shell: true,
    detached: process.platform !== 'win32',
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...withoutOurs(process.env), ...options.env },
  })
  const lines = countLines(child, options.onLine)
  const stderr = keepEnd(child)
  const ended = await endOf(child, options)
  killGroup(child)
  const { ok, error } = lines()
  const start: Start = { fromMs, toMs: options.now(), ok, error, ended, stderr: stderr() }
  const neverRan = ended.kind === 'exit' && cannotRun.includes(ended.code) && ok + error === 0
  return neverRan ? { kind: 'not-started', stderr: stderr() } : { kind: 'ran', start }
}

/** Removes the user's own SVC_ variables: they must not reach the judged client. */
function withoutOurs(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(env).filter(([name]) => !name.startsWith('SVC_')))
}

function countLines(child: ChildProcess, onLine: (() => void) | undefined): () => { ok: number; error: number } {
  const count = { ok: 0, error: 0 }
  let rest = ''
  const take = (line: string): void => {
    const word = line.trim()
    if (word !== 'ok' && word !== 'error') return
    count[word] += 1
    onLine?.()
  }
  child.stdout?.setEncoding('utf8').on('data', (text: string) => {
    const lines = (rest + text).split('\n')
    rest = (lines.pop() ?? '').slice(0, lineBound)
    lines.forEach(take)
  })
  return () => {
    take(rest)
    rest = ''
    return count
  }
}

function keepEnd(child: ChildProcess): () => string {
  let end = ''
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    end = (end + text).slice(-stderrBound)
  })
  return () => end
}

function endOf(child: ChildProcess, { timeoutSeconds, stop }: CommandOptions): Promise<Ending> {
  return new Promise((resolve) => {
    const finish = (ending: Ending): void => {
      clearTimeout(timer)
      resolve(ending)
    }
    const timer = setTimeout(() => finish({ kind: 'timeout', seconds: timeoutSeconds }), timeoutSeconds * 1000)
    stop.then(finish)
    child.on('error', () => finish({ kind: 'exit', code: 127 }))
    child.on('close', (code, signal) => finish(endingOf(code, signal)))
    child.on('exit', (code, signal) => setTimeout(() => finish(endingOf(code, signal)), drainMs).unref())
  })
}

function endingOf(code: number | null, signal: string | null): Ending {
  return code === null ? { kind: 'signal', signal: signal ?? 'an unknown signal' } : { kind: 'exit', code }
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

interface ScenarioOptions {
  command: string
  timeoutSeconds: number
  privateKey: PrivateKeyFile
  /** Resolves when the whole run is to end. */
  interrupted: Promise<unknown>
  /** Called once the client has made its first request, printed its first line, or ended. */
  onAwake(): void
}

type ScenarioResult = { kind: 'journal'; journal: Journal } | { kind: 'not-started'; stderr: string }

/** More requests than any client needs for a few calls. */
const mostRequests = 1000

/** Starts a server, runs the client against it as often as the scenario says, and returns the journal. */
async function runScenario(scenario: Scenario, options: ScenarioOptions): Promise<ScenarioResult> {
  const runaway = watchRequests(options.onAwake)
  const server = await startJudgedServer(scenario, options.privateKey, runaway.onRequest)
  const stop = Promise.race([runaway.stop, options.interrupted.then((): Ending => ({ kind: 'interrupted' }))])
  const starts: Start[] = []
  try {
    while (starts.length < scenario.starts) {
      const result = await runCommand({
        command: options.command,
        env: environmentOf(scenario, server, options.privateKey),
        timeoutSeconds: options.timeoutSeconds,
        now: preciseNow,
        stop,
        onLine: options.onAwake,
      })
      options.onAwake()
      if (result.kind === 'not-started') return result
      starts.push(result.start)
      if (result.start.ended.kind !== 'exit') break
    }
    return { kind: 'journal', journal: journalOf(scenario, server, starts) }
  } finally {
    await server.close()
  }
}

function watchRequests(onAwake: () => void): { onRequest: () => void; stop: Promise<Ending> } {
  let count = 0
  let resolveStop: (ending: Ending) => void = () => {}
  const stop = new Promise<Ending>((resolve) => {
    resolveStop = resolve
  })
  const onRequest = (): void => {
    count += 1
    if (count === 1) onAwake()
    if (count > mostRequests) resolveStop({ kind: 'runaway', requests: mostRequests })
  }
  return { onRequest, stop }
}

/** What the client finds in its environment; the names are fixed. */
function environmentOf(
  scenario: Scenario,
  { url, key }: Pick<JudgedServer, 'url' | 'key'>,
  privateKey: Pick<PrivateKeyFile, 'path'>,
): { [name: string]: string } {
  return {
    SVC_URL: url,
    SVC_KEY_ID: key.id,
    ...(key.kind === 'secret' ? { SVC_KEY_SECRET: key.secret } : { SVC_PRIVATE_KEY_FILE: privateKey.path }),
    SVC_SCHEME: defaultScheme,
    SVC_TOKEN_PREFIX: tokenPrefix,
    SVC_SCENARIO: scenario.id,
    SVC_AUTH: scenario.auth,
    SVC_SCOPE: scenario.scope.join(','),
    SVC_METHOD: scenario.method,
    SVC_CALLS: String(scenario.calls),
    SVC_PARALLEL: String(scenario.parallel),
    SVC_PAUSE_MS: String(scenario.pauseMs),
  }
}

function journalOf(scenario: Scenario, server: JudgedServer, starts: readonly Start[]): Journal {
  const { auth, scope, method, calls, parallel } = scenario
  const clockOffsetMs = scenario.server.profile?.clockOffsetMs ?? 0
  return {
    scenario: scenario.id,
    // The lag is known when all scenarios have ended.
    setting: { auth, scope, method, calls, parallel, scheme: defaultScheme, tokenPrefix, clockOffsetMs, lagMs: 0 },
    keys: [server.key],
    exchanges: [...server.exchanges()],
    elsewhere: [...server.elsewhere()],
    starts,
  }
}

/** On the same clock as the recording of the server. */
function preciseNow(): number {
  return performance.timeOrigin + performance.now()
}

interface ScenarioRunOptions {
  command: string
  scenarios: readonly Scenario[]
  timeoutSeconds: number
  /** Ends the run when it is aborted. */
  signal: AbortSignal
  onDone?: (done: number, total: number) => void
}

type RunResult =
  | { kind: 'journals'; journals: Journal[]; interrupted: boolean }
  /** The command cannot be started; the message of the shell. */
  | { kind: 'not-started'; stderr: string }

/** Starts of clients are staggered: a start needs much of a core, and many at once would delay timed clients. */
const startsPerCore = 2
/** The longest time that a client that does nothing delays the others. In ms. */
const longestStartMs = 1500

const lagResolutionMs = 20
/** A machine that answers within this time does not lag. */
const usualLagMs = 100

/** @param longestNs the longest time between two ticks of a timer */
function lagOf(longestNs: number): number {
  const lagMs = longestNs / 1e6 - lagResolutionMs
  return lagMs > usualLagMs ? Math.round(lagMs) : 0
}

const withLag = (journal: Journal, lagMs: number): Journal => ({ ...journal, setting: { ...journal.setting, lagMs } })

/** Runs every scenario, all at the same time. */
export async function runScenarios(options: ScenarioRunOptions): Promise<RunResult> {
  const privateKey = makePrivateKeyFile()
  const ended = new AbortController()
  const signal = AbortSignal.any([options.signal, ended.signal])
  const interrupted = signal.aborted ? Promise.resolve() : once(signal, 'abort')
  const gate = createGate(availableParallelism() * startsPerCore)
  const delay = monitorEventLoopDelay({ resolution: lagResolutionMs })
  delay.enable()
  let done = 0
  const runOne = async (scenario: Scenario): Promise<ScenarioResult | null> => {
    const leave = await gate.enter()
    if (signal.aborted) {
      leave()
      return null
    }
    const late = setTimeout(leave, longestStartMs)
    const { command, timeoutSeconds } = options
    const result = await runScenario(scenario, { command, timeoutSeconds, privateKey, interrupted, onAwake: leave })
    clearTimeout(late)
    leave()
    done += 1
    options.onDone?.(done, options.scenarios.length)
    // The others would not start either.
    if (result.kind === 'not-started') ended.abort()
    return result
  }
  try {
    const results = await Promise.all(options.scenarios.map(runOne))
    const notStarted = results.find((result) => result?.kind === 'not-started')
    if (notStarted?.kind === 'not-started') return notStarted
    const lagMs = lagOf(delay.max)
    const journals = results.flatMap((result) => (result?.kind === 'journal' ? [withLag(result.journal, lagMs)] : []))
    return { kind: 'journals', journals, interrupted: options.signal.aborted }
  } finally {
    delay.disable()
    privateKey.remove()
  }
}

/** Lets at most this many in at the same time; leaving twice has no effect. */
function createGate(places: number): { enter(): Promise<() => void> } {
  let free = places
  const waiting: (() => void)[] = []
  const leaveOnce = (): (() => void) => {
    let inside = true
    return () => {
      if (!inside) return
      inside = false
      const next = waiting.shift()
      if (next === undefined) free += 1
      else next()
    }
  }
  return {
    async enter() {
      if (free > 0) free -= 1
      else await new Promise<void>((resolve) => waiting.push(resolve))
      return leaveOnce()
    },
  }
}
