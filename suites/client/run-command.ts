import { type ChildProcess, spawn } from 'node:child_process'
import type { Ending, Start } from './journal.ts'

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
