/** The Common Test Report Format: one JSON that test dashboards read. */
import { type Printable, printableJson, vouchedFor } from '../engine/printable.ts'

export type CtrfStatus = 'passed' | 'failed' | 'skipped' | 'pending' | 'other'

export interface CtrfTest {
  /** Stable from run to run. */
  testId: string
  name: string
  status: CtrfStatus
  /** Our own word for the outcome. */
  rawStatus: string
  /** Whole milliseconds. */
  duration: number
  suite: string[]
  message?: string
  trace?: string
  filePath?: string
  line?: number
  labels?: { [name: string]: string | string[] }
}

interface CtrfRun {
  /** Of the suite. */
  version: string
  /** What was judged: a URL, or the command of a client. */
  target: string
  /** ISO 8601. */
  started: string
  durationMs: number
  shard: string | null
  /** Whether the process ends with 0. */
  healthy: boolean
  tests: readonly CtrfTest[]
  /** What the format has no place for. */
  extra: { [name: string]: unknown }
}

const specVersion = '0.0.0'

/** A document of the format; its published schema is in suites/self/published. */
export function ctrfDocument(run: CtrfRun): Printable {
  const start = Date.parse(run.started)
  const duration = Math.round(run.durationMs)
  const document = {
    reportFormat: 'CTRF',
    specVersion,
    timestamp: new Date(start + duration).toISOString(),
    generatedBy: `svc-conformance ${run.version}`,
    results: {
      tool: { name: 'svc-conformance', version: run.version },
      summary: { ...countStatuses(run.tests), start, stop: start + duration, duration },
      tests: run.tests,
      environment: {
        appName: run.target,
        healthy: run.healthy,
        ...(run.shard === null ? {} : { shardId: run.shard }),
      },
      extra: run.extra,
    },
  }
  return vouchedFor(`${printableJson(document, 2)}\n`)
}

function countStatuses(tests: readonly CtrfTest[]) {
  const count = (status: CtrfStatus): number => tests.filter((one) => one.status === status).length
  return {
    tests: tests.length,
    passed: count('passed'),
    failed: count('failed'),
    skipped: count('skipped'),
    pending: count('pending'),
    other: count('other'),
  }
}
