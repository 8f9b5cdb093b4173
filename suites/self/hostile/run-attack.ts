import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { packageRoot } from '../../engine/language/package-root.ts'
import { type Attack, mostMiB, type Ran, type Setup } from './attack.ts'

export interface Finding {
  attack: Attack
  ran: Ran
  /** What is wrong; empty if the suite survived the attack. */
  problems: string[]
}

const builtBin = join(packageRoot, 'dist', 'suites', 'bin.js')
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
    return { attack, ran, problems: [...problemsWith(attack, ran), ...(own === undefined ? [] : [own])] }
  } finally {
    await setup.cleanUp?.()
    rmSync(folder, { recursive: true, force: true })
  }
}

function problemsWith(attack: Attack, ran: Ran): string[] {
  const output = ran.stdout + ran.stderr
  const rules: [boolean, string][] = [
    [ran.exitCode === null, `still ran after ${Math.round(ran.durationMs)} ms`],
    [
      ran.exitCode !== null && !attack.exits.includes(ran.exitCode),
      `exit code ${ran.exitCode}, expected ${attack.exits.join(' or ')}`,
    ],
    [/^\s+at .+:\d+:\d+\)?$/m.test(output), 'prints a stack trace'],
    [/defect of svc-conformance|double callback/.test(output), 'blames itself or prints text of a dependency'],
    [hasRawControl(output), 'prints control or format characters of the server'],
    [/^\s*(::\w+|##vso\[|##teamcity\[)/m.test(output), 'prints a command for a CI log'],
    [ran.peakMiB > mostMiB, `takes ${ran.peakMiB} MiB`],
    [output.length > 5_000_000, `prints ${output.length} characters`],
    [attack.says !== undefined && !attack.says.test(output), `does not say ${String(attack.says)}`],
    [attack.saysNot?.test(output) ?? false, `says ${String(attack.saysNot)}`],
  ]
  return rules.filter(([isWrong]) => isWrong).map(([, problem]) => problem)
}

/** Anything that a terminal acts on, except line feeds. */
function hasRawControl(text: string): boolean {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what must not be there
  return /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u200b-\u200f\u202a-\u202e\u2066-\u2069\ufeff]/.test(text)
}

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
  keepOutput(child, ran, setup.closesStdout === true)
  const watch = setInterval(() => {
    ran.peakMiB = Math.max(ran.peakMiB, peakOf(child.pid))
  }, 25)
  const timers = (setup.signals ?? []).map(({ signal, afterMs }) => setTimeout(() => child.kill(signal), afterMs))
  if (setup.stdin !== undefined) {
    const { text, afterMs } = setup.stdin
    child.stdin?.on('error', () => {})
    timers.push(setTimeout(() => child.stdin?.end(text), afterMs))
  }
  timers.push(setTimeout(() => child.kill('SIGKILL'), limitMs))
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

function keepOutput(child: ChildProcess, ran: Ran, closesStdout: boolean): void {
  child.stdout?.setEncoding('utf8').on('data', (text: string) => {
    if (ran.stdout.length < mostKept) ran.stdout += text
    if (closesStdout) child.stdout?.destroy()
  })
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    if (ran.stderr.length < mostKept) ran.stderr += text
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
