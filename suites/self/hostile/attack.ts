import { spawn } from 'node:child_process'
import { existsSync, mkdtempSync, openSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Random, seededRandom } from '../../engine/signer/random.ts'
import { builtBin } from '../printed-by.ts'
import { type HostileServer, spoiltServer, tcpServer } from './servers.ts'

/** What a process did under attack. */
interface Ran {
  exitCode: number | null
  stdout: string
  stderr: string
  durationMs: number
  /** Peak resident memory in MiB; 0 where the machine does not tell. */
  peakMiB: number
}

/** The settings with which an attack starts the command line. */
export interface Setup {
  args: string[]
  env?: { [name: string]: string }
  /** Where stdout goes instead of a pipe, such as `/dev/full`. */
  stdoutFile?: string
  /** The text on stdin, with its ms after the start; empty unless given. */
  stdin?: { text: string; afterMs: number }
  /** Signals to send, each with its ms after the first text on stderr. */
  signals?: { signal: NodeJS.Signals; afterMs: number }[]
  /** Whether to stop reading stdout after the first bytes. */
  closesStdout?: boolean
  /** Path of another command line to start than that of this checkout. */
  bin?: string
  /** Checks what must hold besides the exit code and the output. @returns what is wrong */
  check?: (ran: Ran) => Promise<string | undefined> | string | undefined
  cleanUp?: () => Promise<void> | void
}

/** One attack on the built command line. */
export interface Attack {
  about: string
  /** The right exit codes; 1 or 3 unless given, because the server is not usable. */
  exits?: readonly number[]
  /** What the output must contain. */
  says?: RegExp
  /** What the output must not contain. */
  saysNot?: RegExp
  /** Longest time in ms; 20 s unless given. */
  withinMs?: number
  setUp(folder: string): Promise<Setup>
}

/** Attacks by their id. */
export type Attacks = { readonly [id: string]: Attack }

/** Attacks that must end with one of these exit codes, unless they say otherwise. */
export const endingWith = (exits: readonly number[], attacks: Attacks): Attacks =>
  Object.fromEntries(Object.entries(attacks).map(([id, attack]) => [id, { exits, ...attack }]))

/** The most memory that a run may take, in MiB. */
const mostMiB = 400

export interface Finding {
  ran: Ran
  /** What is wrong; empty if the suite survived the attack. */
  problems: string[]
}

const usualLimitMs = 20_000

/** Output beyond this is counted and not kept. In bytes. */
const mostKept = 8 * 1024 * 1024

/**
 * Runs one attack against the built command line in a separate folder.
 *
 * @param patience by how much to multiply the time that the attack allows, on a machine that does much else
 */
export async function runAttack(attack: Attack, patience = 1): Promise<Finding> {
  const folder = mkdtempSync(join(tmpdir(), 'svc-hostile-'))
  const setup = await attack.setUp(folder)
  try {
    const ran = await runProcess(setup, folder, (attack.withinMs ?? usualLimitMs) * patience)
    const own = await setup.check?.(ran)
    return { ran, problems: [...problemsWith(attack, ran), ...(own === undefined ? [] : [own])] }
  } finally {
    await setup.cleanUp?.()
    rmSync(folder, { recursive: true, force: true })
  }
}

function problemsWith(attack: Attack, ran: Ran): string[] {
  const { exits = [1, 3] } = attack
  const output = ran.stdout + ran.stderr
  const rules: [boolean, string][] = [
    [ran.exitCode === null, `still ran after ${Math.round(ran.durationMs)} ms`],
    [
      ran.exitCode !== null && !exits.includes(ran.exitCode),
      `exit code ${ran.exitCode}, expected ${exits.join(' or ')}`,
    ],
    [/^\s+at .+:\d+:\d+\)?$/m.test(output), 'prints a stack trace'],
    [/defect of svc-conformance|double callback/.test(output), 'blames itself or prints text of a dependency'],
    [rawControl.test(output), 'prints control or format characters of the server'],
    [/^\s*(::\w+|##vso\[|##teamcity\[)/m.test(output), 'prints a command for a CI log'],
    [ran.peakMiB > mostMiB, `takes ${ran.peakMiB} MiB`],
    [output.length > 5_000_000, `prints ${output.length} characters`],
    [attack.says !== undefined && !attack.says.test(output), `does not say ${String(attack.says)}`],
    [attack.saysNot?.test(output) ?? false, `says ${String(attack.saysNot)}`],
  ]
  return rules.filter(([isWrong]) => isWrong).map(([, problem]) => problem)
}

/** Anything that a terminal acts on, except line feeds. */
const rawControl =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what must not be there
  /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u200b-\u200f\u202a-\u202e\u2066-\u2069\ufeff]/

function runProcess(setup: Setup, cwd: string, limitMs: number): Promise<Ran> {
  const startedMs = performance.now()
  const out = setup.stdoutFile === undefined ? 'pipe' : openSync(setup.stdoutFile, 'w')
  const child = spawn(process.execPath, [setup.bin ?? builtBin, ...setup.args], {
    cwd,
    env: {
      PATH: process.env.PATH ?? '',
      HOME: cwd,
      XDG_STATE_HOME: join(cwd, 'state'),
      NO_COLOR: '1',
      COLUMNS: '120',
      SVC_KEY_ID: 'root-id',
      SVC_KEY_SECRET: 'a-root-secret-that-no-report-may-show',
      ...setup.env,
    },
    stdio: [setup.stdin === undefined ? 'ignore' : 'pipe', out, 'pipe'],
  })
  const ran: Ran = { exitCode: null, stdout: '', stderr: '', durationMs: 0, peakMiB: 0 }
  for (const name of ['stdout', 'stderr'] as const)
    child[name]?.setEncoding('utf8').on('data', (text: string) => {
      if (ran[name].length < mostKept) ran[name] += text
      if (name === 'stdout' && setup.closesStdout) child.stdout?.destroy()
    })
  const watch = setInterval(() => {
    ran.peakMiB = Math.max(ran.peakMiB, peakOf(child.pid))
  }, 25)
  const timers = [setTimeout(() => child.kill('SIGKILL'), limitMs)]
  // Once it prints, it has started and listens to signals, however busy the machine is.
  child.stderr?.once('data', () => {
    timers.push(...(setup.signals ?? []).map(({ signal, afterMs }) => setTimeout(() => child.kill(signal), afterMs)))
  })
  if (setup.stdin !== undefined) {
    const { text, afterMs } = setup.stdin
    child.stdin?.on('error', () => {})
    timers.push(setTimeout(() => child.stdin?.end(text), afterMs))
  }
  return new Promise((resolve) => {
    child.on('close', (code, signal) => {
      clearInterval(watch)
      for (const timer of timers) clearTimeout(timer)
      const killed = signal === 'SIGKILL' && !setup.signals?.some((one) => one.signal === 'SIGKILL')
      ran.exitCode = killed ? null : (code ?? -1)
      ran.durationMs = performance.now() - startedMs
      resolve(ran)
    })
  })
}

/** Linux keeps the peak of a process; elsewhere nothing is measured. */
function peakOf(pid: number | undefined): number {
  try {
    const [, kib = '0'] = /VmHWM:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? []
    return Math.round(Number(kib) / 1024)
  } catch {
    return 0
  }
}

/** One byte in this many is flipped: rarely, so that a run takes long, or in nearly every message. */
const rates = [100_000, 20_000, 4000, 400]

const reports = { json: 'report.json', html: 'report.html', junit: 'junit.xml', markdown: 'summary.md' }

const longestReportBytes = 5_000_000

const timeoutSeconds = 40

/** The last calls end shortly after the time is up. */
const lastCallMs = 1000

/** A busy machine takes its time to start a process and to write reports. */
const busyMs = 15_000

/** Runs the suite against the reference server through a proxy that flips bytes. */
export function flipBytes({ seed }: { seed: number }): Promise<Finding> {
  const rate = rates[seed % rates.length] ?? 1000
  return runAttack({
    about: `one byte of ${rate} is flipped on the way`,
    exits: [0, 1, 3],
    withinMs: timeoutSeconds * 1000 + busyMs,
    setUp: async (folder) => {
      const server = await spoiltServer(() => {})
      const proxy = await flippingProxy(Number(new URL(server.url).port), seed, rate)
      const file = join(folder, 'target.yaml')
      // After a flipped length nothing more arrives.
      writeFileSync(file, `url: ${proxy.url}\nrequestTimeoutMs: 300\n`)
      return {
        args: [
          ...['run', '--target', file, '--disposable', '--no-explore', '--seed', String(seed)],
          ...['--timeout', String(timeoutSeconds)],
          ...['--report', 'text'],
          ...Object.entries(reports).flatMap(([format, name]) => ['--report', `${format}=${join(folder, name)}`]),
        ],
        check: () => {
          const files = Object.values(reports).map((name) => join(folder, name))
          const long = files.filter((file) => existsSync(file) && statSync(file).size > longestReportBytes)
          if (long.length > 0) return `writes more than ${longestReportBytes} bytes: ${long.join(', ')}`
          const calledForMs = proxy.calledForMs()
          return calledForMs <= timeoutSeconds * 1000 + lastCallMs
            ? undefined
            : `makes calls for ${Math.round(calledForMs)} ms, with --timeout ${timeoutSeconds}`
        },
        cleanUp: () => {
          proxy.close()
          server.close()
        },
      }
    },
  })
}

interface FlippingProxy extends HostileServer {
  /** The time from the first connection to the last byte from the caller, in ms. */
  calledForMs(): number
}

/**
 * Starts a proxy of plain TCP that flips bits on the way to a server and back. What it flips follows from the seed and from the number of
 * the connection.
 *
 * @param oneOf one byte in this many is flipped, on average
 */
async function flippingProxy(targetPort: number, seed: number, oneOf: number): Promise<FlippingProxy> {
  let connections = 0
  let firstMs = 0
  let lastMs = 0
  const server = await tcpServer((near, keep) => {
    connections += 1
    if (connections === 1) firstMs = performance.now()
    near.on('data', () => {
      lastMs = performance.now()
    })
    const far = connect(targetPort, '127.0.0.1')
    keep(far)
    const pipe = (from: Socket, to: Socket, random: Random): void => {
      from.on('data', (bytes) => to.write(flipped(bytes, random, oneOf)))
      from.on('end', () => to.end())
      from.on('error', () => to.destroy())
    }
    pipe(near, far, seededRandom(seed + 2 * connections))
    pipe(far, near, seededRandom(seed + 2 * connections + 1))
  })
  return { ...server, calledForMs: () => lastMs - firstMs }
}

function flipped(bytes: Buffer, random: Random, oneOf: number): Buffer {
  const changed = Buffer.from(bytes)
  for (let at = 0; at < changed.length; at += 1) {
    if (random.below(oneOf) === 0) changed[at] = (changed[at] ?? 0) ^ (1 << random.below(8))
  }
  return changed
}

/** Starts a server for an attack, and the command line with its URL; both end together. */
export const against =
  (
    start: () => HostileServer | Promise<HostileServer>,
    args: (url: string, folder: string) => string[],
    more: Partial<Setup> = {},
  ) =>
  async (folder: string): Promise<Setup> => {
    const { url, close } = await start()
    return { args: args(url, folder), cleanUp: close, ...more }
  }

/** The arguments of a run against a URL. */
export const runs =
  (...more: string[]) =>
  (url: string): string[] => ['run', '--url', url, ...more]

/** The arguments of a run that may create keys and removes them. @param more further lines of its target file */
export function runsThatCleanUp(url: string, folder: string, more = ''): string[] {
  const cleanup = 'cleanup: { method: manager/deleteApiKey, params: { id: $id } }'
  const file = join(folder, 'target.yaml')
  writeFileSync(file, [`url: ${url}`, 'allow: [sessions, keys]', cleanup, more, ''].join('\n'))
  return ['run', '--target', file, '--only', 'test-keys']
}

/** The flags of a run of some scenarios only. */
export const onlyOf = (...ids: string[]): string[] => ids.flatMap((id) => ['--only', id])
