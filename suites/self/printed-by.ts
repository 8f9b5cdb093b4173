import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { type AddressInfo, createServer, type Server } from 'node:net'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { setTimeout } from 'node:timers/promises'
import { packageRoot } from '../engine/language/package-root.ts'

/**
 * Collects what a process prints: stdout, then stderr. Each is a text of its own, because a part of one may come in the middle of a word of
 * the other; and the decoder of the stream keeps a character together that two parts share.
 *
 * @returns what was printed so far
 */
export function printedBy({ stdout, stderr }: { stdout: Readable; stderr: Readable }): () => string {
  const texts = [stdout, stderr].map(textOf)
  return () => texts.map((text) => text()).join('')
}

/** Collects the text of a stream. @returns what has come so far */
export function textOf(stream: Readable): () => string {
  let text = ''
  stream.setEncoding('utf8').on('data', (part: string) => {
    text += part
  })
  return () => text
}

/** The built command line, as a user starts it. */
export const builtBin = join(packageRoot, 'dist', 'suites', 'bin.js')

interface StartOptions {
  cwd?: string
  /** Beside the environment of this process. */
  env?: NodeJS.ProcessEnv
}

export const startBuilt = (args: readonly string[], { cwd, env }: StartOptions = {}) =>
  spawn(process.execPath, [builtBin, ...args], {
    cwd,
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })

/** What a command printed, and how it ended; no code where a signal ended it. */
interface Ended {
  code: number | null
  stdout: string
  stderr: string
}

/** Starts the built command line and waits for its end. */
export async function runBuilt(args: readonly string[], options?: StartOptions): Promise<Ended> {
  const child = startBuilt(args, options)
  const [stdout, stderr] = [textOf(child.stdout), textOf(child.stderr)]
  const [code] = (await once(child, 'close')) as [number | null]
  return { code, stdout: stdout(), stderr: stderr() }
}

/** How an interrupted run ended. */
interface InterruptedRun {
  exitCode: number | null
  /** From the signal to the end of the process. */
  tookMs: number
  printed: string
  /** Whether it ended before the signal. */
  wasOver: boolean
}

/** A run that printed its verdict so soon after the signal was over; the report is printed at once. */
const reportMs = 500

/** Starts a bundled run of the built command line and sends SIGINT this many ms after its first line. */
export async function interruptRun(afterMs: number): Promise<InterruptedRun> {
  const child = startBuilt(['run'])
  const soFar = printedBy(child)
  const begun = new Promise<void>((resolve) => {
    child.stderr.on('data', () => {
      if (soFar().includes('Testing the bundled server')) resolve()
    })
  })
  const closed = once(child, 'close')
  await Promise.race([begun, closed])
  await Promise.race([setTimeout(afterMs), closed])
  const wasEnded = child.exitCode !== null
  const sentMs = performance.now()
  child.kill('SIGINT')
  const [code, signal] = (await closed) as [number | null, string | null]
  const tookMs = performance.now() - sentMs
  const printed = soFar()
  return {
    exitCode: code,
    tookMs,
    printed: signal === null ? printed : `${printed}\n(ended by ${signal})`,
    wasOver: wasEnded || (code === 0 && tookMs < reportMs && printed.includes('Verdict:')),
  }
}

/** Free ports from below those that the system hands out (32768 and up), where the connections of other tests come and go. */
export async function freePorts(count: number): Promise<number[]> {
  const held: Server[] = []
  for (let port = 20_000 + (process.pid % 10_000); held.length < count; port += 1) {
    const server = createServer()
    const free = await new Promise((resolve) => {
      server.once('error', () => resolve(false)).listen(port, '127.0.0.1', () => resolve(true))
    })
    if (free) held.push(server)
  }
  const ports = held.map((server) => (server.address() as AddressInfo).port)
  await Promise.all(held.map((server) => new Promise((resolve) => server.close(resolve))))
  return ports
}
