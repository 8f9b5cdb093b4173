import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { packageRoot } from '../engine/fixture/package-root.ts'

/** What an interrupted run did. */
interface InterruptedRun {
  exitCode: number | null
  /** From the signal to the end of the process. */
  tookMs: number
  printed: string
  /** It ended before the signal. */
  wasOver: boolean
}

/** Starts a bundled run of the built command line and sends SIGINT this many ms after its first line. */
export async function interruptRun(afterMs: number): Promise<InterruptedRun> {
  const child = spawn(process.execPath, [join(packageRoot, 'dist', 'suites', 'bin.js'), 'run'])
  let printed = ''
  let begins = (): void => {}
  const begun = new Promise<void>((resolve) => {
    begins = resolve
  })
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (chunk) => {
      printed += chunk
      if (printed.includes('Testing the bundled server')) begins()
    })
  }
  const closed = once(child, 'close')
  await Promise.race([begun, closed])
  await Promise.race([setTimeout(afterMs), closed])
  const wasOver = child.exitCode !== null || printed.includes('Verdict:')
  const sentMs = performance.now()
  child.kill('SIGINT')
  const [code, signal] = (await closed) as [number | null, string | null]
  return {
    exitCode: code,
    tookMs: performance.now() - sentMs,
    printed: signal === null ? printed : `${printed}\n(ended by ${signal})`,
    wasOver,
  }
}
