/**
 * Every run against the same server must give the same verdicts, in any order of the cases: runs of the built command line
 * against the bundled server and against served ones, each of them fresh; against one that serves all of them, one after another, and may
 * remember the calls of those before; and against served ones with 16 calls under way at once, with a busy loop on each core. With `--seeds`,
 * runs in other orders against a deployment that loses races and keeps what they left must name the same cases.
 *
 *     npm run steadiness [-- --bundled 50] [--url 20] [--same 5] [--busy 20] [--seeds 0]
 */
import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { cpus, tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Report } from '../suites/report/report.ts'
import { builtBin, runBuilt } from '../suites/self/printed-by.ts'
import { brokenServers } from '../suites/servers/table.ts'
import { type ServerOptions, startMockServer } from '../suites/targets/bundled.ts'
import { readArguments } from './arguments.ts'
import { startScript } from './bench/processes.ts'

const { values } = readArguments({
  options: {
    bundled: { type: 'string', default: '50' },
    url: { type: 'string', default: '20' },
    same: { type: 'string', default: '5' },
    busy: { type: 'string', default: '20' },
    seeds: { type: 'string', default: '0' },
  },
})

/** A row of suites/servers/broken: two processes, one user for all keys, 40 ms a call. */
const losesRaces = 'two-processes-keep-what-a-lost-race-left'

/** Runs remove their keys, so that the next one has room for its own. */
const cleanup = '{ method: manager/deleteApiKey, params: { id: $id } }'

interface Run {
  exitCode: number
  report: Report
  ms: number
}

const differing = [
  ...(await repeat('bundled', Number(values.bundled), () => run([]))),
  ...(await repeat('url', Number(values.url), () => runServed())),
  ...(await onOneServer((runOnce) => repeat('same server', Number(values.same), runOnce))),
  ...(await besideBusyLoops()),
  ...(await inOtherOrders(Number(values.seeds))),
]
console.log(differing.length === 0 ? 'No verdict differed' : `Differing verdicts:\n  ${differing.join('\n  ')}`)
if (differing.length > 0) process.exitCode = 1

/** @returns the differences from the first run, and cases that did not pass although the reference server must pass */
async function repeat(name: string, times: number, runOnce: () => Promise<Run>): Promise<string[]> {
  const found: string[] = []
  const note = (line: string): void => {
    found.push(line)
    process.stderr.write(`\n${line}\n`)
  }
  let first: Map<string, string> | undefined
  const durations: number[] = []
  for (let number = 1; number <= times; number += 1) {
    const { report, exitCode, ms } = await runOnce()
    durations.push(ms)
    const verdicts = new Map(report.cases.map(({ key, verdict }) => [key, verdict]))
    first ??= verdicts
    for (const key of new Set([...first.keys(), ...verdicts.keys()])) {
      if (first.get(key) !== verdicts.get(key)) {
        note(`${name} run ${number} (seed ${report.meta.seed}): ${key} was ${first.get(key)}, is ${verdicts.get(key)}`)
      }
    }
    if (exitCode !== 0 || report.summary.failed + report.summary.blocked > 0) {
      note(`${name} run ${number} (seed ${report.meta.seed}): ${report.verdict}, exit code ${exitCode}`)
    }
    process.stderr.write(`\r${name} ${number}/${times}, ${found.length} differing  `)
  }
  process.stderr.write('\n')
  const sorted = durations.sort((one, other) => one - other)
  const seconds = (ms: number | undefined): string => `${((ms ?? 0) / 1000).toFixed(2)} s`
  if (times > 0) {
    const middle = sorted[Math.floor(times / 2)]
    console.log(
      `${times} ${name} runs of ${first?.size} cases, ${seconds(sorted[0])} to ${seconds(sorted.at(-1))}, half below ${seconds(middle)}`,
    )
  }
  return found
}

async function run(flags: readonly string[], env: NodeJS.ProcessEnv = {}): Promise<Run> {
  const startedMs = performance.now()
  const { code, stdout } = await runBuilt(['run', '--report', 'json', ...flags], { env })
  return { exitCode: code ?? 0, report: JSON.parse(stdout) as Report, ms: performance.now() - startedMs }
}

async function besideBusyLoops(): Promise<string[]> {
  const loops = cpus().map(() => spawn(process.execPath, ['-e', 'for (;;);'], { stdio: 'ignore' }))
  const runOnce = () => runServed(['--concurrency', '16'])
  return repeat('busy url', Number(values.busy), runOnce).finally(() => {
    for (const loop of loops) loop.kill()
  })
}

function runServed(flags: readonly string[] = []): Promise<Run> {
  return onOneServer((runOnce) => runOnce(flags))
}

async function onOneServer<Result>(
  use: (runOnce: (flags?: readonly string[]) => Promise<Run>) => Promise<Result>,
): Promise<Result> {
  const server = await startScript(builtBin, ['serve', '--port', '0'])
  const folder = mkdtempSync(join(tmpdir(), 'svc-steadiness-'))
  const file = join(folder, 'target.yaml')
  try {
    const { url, apiKeyId, apiKeySecret } = JSON.parse(server.line)
    writeFileSync(file, `url: ${url}\ncleanup: ${cleanup}\n`)
    const env = { SVC_KEY_ID: apiKeyId, SVC_KEY_SECRET: apiKeySecret }
    return await use((flags = []) => run(['--target', file, '--disposable', ...flags], env))
  } finally {
    await server.stop()
    rmSync(folder, { recursive: true })
  }
}

/** A disposable run against a server in this process. */
async function runOn(options: ServerOptions, ...flags: string[]): Promise<Run> {
  const { url, rootKey, close } = await startMockServer(options)
  const env = { SVC_KEY_ID: rootKey.id, SVC_KEY_SECRET: rootKey.secret }
  return run([url, '--disposable', ...flags], env).finally(close)
}

/** @returns the cases that some seeds name and others do not */
async function inOtherOrders(times: number): Promise<string[]> {
  const row = (await brokenServers()).find(({ id }) => id === losesRaces)
  const named = new Map<string, number>()
  for (let seed = 1; seed <= times; seed += 1) {
    const { report, ms } = await runOn(row?.create() ?? {}, '--no-explore', '--seed', String(seed))
    const cases = report.cases.filter(({ verdict }) => ['failed', 'warned', 'blocked'].includes(verdict))
    for (const { verdict, key } of cases) named.set(`${verdict} ${key}`, (named.get(`${verdict} ${key}`) ?? 0) + 1)
    console.log(`seed ${seed}: ${cases.length} cases named in ${Math.round(ms / 1000)} s`)
  }
  return [...named].filter(([, count]) => count < times).map(([what, count]) => `${count} of ${times} seeds: ${what}`)
}
