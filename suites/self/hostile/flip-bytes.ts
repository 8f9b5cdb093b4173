import { existsSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Attack } from './attack.ts'
import { flippingProxy } from './flipping-proxy.ts'
import { type Finding, runAttack } from './run-attack.ts'
import { spoiltServer } from './servers.ts'

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
export function flipBytes({ seed, only = [] }: { seed: number; only?: string[] }): Promise<Finding> {
  return runAttack(attackWith(seed, only))
}

function attackWith(seed: number, only: string[]): Attack {
  const rate = rates[seed % rates.length] ?? 1000
  return {
    id: `flipped-bytes-${seed}`,
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
          ...only.flatMap((id) => ['--only', id]),
          ...['--report', 'text'],
          ...Object.entries(reports).flatMap(([format, name]) => ['--report', `${format}=${join(folder, name)}`]),
        ],
        check: () => longReport(folder) ?? lateCall(proxy.calledForMs()),
        cleanUp: () => {
          proxy.close()
          server.close()
        },
      }
    },
  }
}

function lateCall(calledForMs: number): string | undefined {
  return calledForMs <= timeoutSeconds * 1000 + lastCallMs
    ? undefined
    : `makes calls for ${Math.round(calledForMs)} ms, with --timeout ${timeoutSeconds}`
}

function longReport(folder: string): string | undefined {
  const long = Object.values(reports).filter(
    (name) => existsSync(join(folder, name)) && statSync(join(folder, name)).size > longestReportBytes,
  )
  return long.length === 0 ? undefined : `writes more than ${longestReportBytes} bytes: ${long.join(', ')}`
}
