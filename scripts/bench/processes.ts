import { type ChildProcess, spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { builtBin } from '../../suites/self/printed-by.ts'

export interface Started {
  port: number
  /** All that the first line says. */
  line: string
  startMs: number
  process: ChildProcess
  /** CPU time of the process so far, in ms, as Linux counts it; 0 elsewhere. */
  cpuMs(): number
  /** Memory of the process now, in MB, as Linux counts it; 0 elsewhere. */
  memoryMb(): number
  stop(): Promise<void>
}

/** Starts a script of the build and waits for its first line: a port, or JSON with a URL. */
export async function startScript(path: string, args: string[], nodeArgs: string[] = []): Promise<Started> {
  const begun = performance.now()
  const child = spawn(process.execPath, [...nodeArgs, path, ...args], {
    stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
  })
  const line = await new Promise<string>((resolve, reject) => {
    let text = ''
    child.stdout?.on('data', (chunk: Buffer) => {
      // What follows is read and not kept.
      if (text.includes('\n')) return
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
    cpuMs: () => {
      // The name of the program is in parentheses and may hold spaces; user and system time are the 14th and the 15th field.
      const fields = toldOf(child, 'stat').split(') ').at(-1)?.split(' ') ?? []
      return (Number(fields[11] ?? 0) + Number(fields[12] ?? 0)) * tickMs
    },
    memoryMb: () => Number(/^VmRSS:\s+(\d+) kB/m.exec(toldOf(child, 'status'))?.[1] ?? 0) / 1024,
    stop: () =>
      new Promise((resolve) => {
        child.removeAllListeners('exit')
        child.once('exit', () => resolve())
        child.kill('SIGTERM')
      }),
  }
}

/** The key with which measured servers are called. */
export const benchKey = { id: 'bench', secret: 'not-a-secret-0001' }

/** Starts the reference server as users have it built, with the key of the benchmark. */
export const startServer = (...more: string[]): Promise<Started> =>
  startScript(builtBin, ['serve', '--key-id', benchKey.id, '--key-secret', benchKey.secret, ...more])

/** Clock ticks of Linux take 10 ms. */
const tickMs = 10

/** What Linux tells of a process; empty elsewhere. */
const toldOf = ({ pid }: ChildProcess, file: 'stat' | 'status'): string =>
  process.platform !== 'linux' || pid === undefined ? '' : readFileSync(`/proc/${pid}/${file}`, 'utf8')
