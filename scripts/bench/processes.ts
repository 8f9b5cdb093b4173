import { type ChildProcess, spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

export interface Started {
  port: number
  /** All that the first line says. */
  line: string
  startMs: number
  process: ChildProcess
  /** CPU time of the process so far, in ms, as Linux counts it; 0 elsewhere. */
  cpuMs(): number
  stop(): Promise<void>
}

/** Starts a script of the build and waits for its first line: a port, or JSON with a URL. */
export async function startScript(path: string, args: string[], nodeArgs: string[] = []): Promise<Started> {
  const begun = performance.now()
  const child = spawn(process.execPath, [...nodeArgs, fileURLToPath(path), ...args], {
    stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
  })
  const line = await new Promise<string>((resolve, reject) => {
    let text = ''
    child.stdout?.on('data', (chunk: Buffer) => {
      text += chunk.toString()
      if (text.includes('\n')) resolve(text.split('\n', 1)[0] ?? '')
    })
    child.once('exit', (code) => reject(new Error(`${path} ended with ${code} before it was ready`)))
  })
  const port = line.startsWith('{') ? Number(new URL(JSON.parse(line).url).port) : Number(line)
  return {
    port,
    line,
    startMs: performance.now() - begun,
    process: child,
    cpuMs: () => cpuMsOf(child.pid),
    stop: () =>
      new Promise((resolve) => {
        child.removeAllListeners('exit')
        child.once('exit', () => resolve())
        child.kill('SIGTERM')
      }),
  }
}

/** Clock ticks of Linux take 10 ms. */
const tickMs = 10

function cpuMsOf(pid: number | undefined): number {
  if (process.platform !== 'linux' || pid === undefined) return 0
  // The name of the program is in parentheses and may hold spaces; user and system time are the 14th and the 15th field.
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1)?.split(' ') ?? []
  return (Number(fields[11]) + Number(fields[12])) * tickMs
}
