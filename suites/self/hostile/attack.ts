import type { Server } from 'node:net'

/** What a process did under attack. */
export interface Ran {
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
  /** Signals to send, each with its ms after the start. */
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
  /** Kebab-case, unique. */
  id: string
  about: string
  /** The right exit codes. */
  exits: readonly number[]
  /** What the output must contain. */
  says?: RegExp
  /** What the output must not contain. */
  saysNot?: RegExp
  /** Longest time in ms; 20 s unless given. */
  withinMs?: number
  setUp(folder: string): Promise<Setup>
}

/** The most memory that a run may take, in MiB. */
export const mostMiB = 400

/** The port that a server listens on, on 127.0.0.1. */
export function listen(server: Server): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen(0, '127.0.0.1', () => {
      const address = server.address()
      resolve(typeof address === 'object' && address !== null ? address.port : 0)
    })
  })
}
