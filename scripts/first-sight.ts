/**
 * How well the suite judges servers whose author never saw it. Each server is run once, with --disposable; the run knows only its URL and
 * its key.
 *
 *     npm run first-sight -- --from FOLDER [--only PREFIX] [--part I/N] [--out FILE] [--print]
 *
 * FOLDER holds `manifest.json`, a list of { id, kind: broken or conforming, how, says, does }, and `start.sh`, which starts one of them:
 * start.sh --port N --variant ID --key-id ID --key-secret SECRET
 *
 * Results are appended to FILE, one line each (FOLDER/first-sight.jsonl unless given); servers that it names already are skipped. --print runs
 * nothing. Found is a broken server of which a must failed; accused is a conforming one of which anything failed.
 * Exit code 1: less than 92 % of the broken ones are found, or more than 2 % of the conforming ones accused.
 */
import { spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { appendFileSync, existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import type { Report } from '../suites/report/report.ts'
import { freePorts, runBuilt } from '../suites/self/printed-by.ts'
import { isInPart, readArguments, readResults, wrongArgument } from './arguments.ts'

interface Listed {
  readonly id: string
  readonly kind: 'broken' | 'conforming'
  /** Where a fault shows: plain, combination, state or concurrent. */
  readonly how: string | null
  readonly does: string
}

interface Seen extends Listed {
  readonly verdict: string
  /** Requirements of which the run says that they are broken, with their level. */
  readonly failed: readonly string[]
  readonly warned: readonly string[]
  readonly exitCode: number | null
  readonly seconds: number
}

const { values } = readArguments({
  options: {
    from: { type: 'string', default: '' },
    only: { type: 'string', default: '' },
    part: { type: 'string', default: '0/1' },
    out: { type: 'string' },
    print: { type: 'boolean', default: false },
  },
})
for (const file of ['manifest.json', 'start.sh'])
  if (values.from === '' || !existsSync(join(values.from, file))) wrongArgument(`--from names no folder with ${file}`)

const folder = resolve(values.from)
const out = values.out ?? join(folder, 'first-sight.jsonl')
if (!values.print) await lookAtAll()
tell(readResults(out))

async function lookAtAll(): Promise<void> {
  const listed = JSON.parse(readFileSync(join(folder, 'manifest.json'), 'utf8')) as Listed[]
  const known = new Set(readResults<Seen>(out).map(({ id }) => id))
  const left = listed
    .filter(isInPart(values.part))
    .filter((one) => one.id.startsWith(values.only) && !known.has(one.id))
  for (const one of left) {
    const seen = await look(one)
    appendFileSync(out, `${JSON.stringify(seen)}\n`)
    process.stderr.write(`${one.kind} ${one.id}: ${seen.failed.join(', ') || seen.verdict}, ${seen.seconds} s\n`)
  }
}

async function look(one: Listed): Promise<Seen> {
  const [[port], secret] = [await freePorts(1), randomUUID()]
  const args = ['--port', `${port}`, '--variant', one.id, '--key-id', 'root-key', '--key-secret', secret]
  const server = spawn(join(folder, 'start.sh'), args, { cwd: folder, stdio: 'ignore', detached: true })
  const place = mkdtempSync(join(tmpdir(), 'first-sight-'))
  const report = join(place, 'report.json')
  try {
    const begun = performance.now()
    const url = `http://127.0.0.1:${port}`
    const flags = ['--url', url, '--disposable', '--wait', '20', '--report', `json=${report}`]
    const ended = await runBuilt(['run', ...flags], { env: { SVC_KEY_ID: 'root-key', SVC_KEY_SECRET: secret } })
    const seconds = Math.round((performance.now() - begun) / 1000)
    const { code: exitCode } = ended
    if (!existsSync(report))
      return { ...one, verdict: ended.stderr.slice(-400), failed: [], warned: [], exitCode, seconds }
    const { verdict, requirements } = JSON.parse(readFileSync(report, 'utf8')) as Report
    const of = (wanted: string): string[] =>
      requirements.filter((each) => each.verdict === wanted).map(({ id, level }) => `${level} ${id}`)
    return { ...one, verdict, failed: of('failed'), warned: of('warned'), exitCode, seconds }
  } finally {
    rmSync(place, { recursive: true, force: true })
    // A script may have started others; and all of them may have ended.
    try {
      if (server.pid !== undefined) process.kill(-server.pid, 'SIGKILL')
    } catch {}
    await setTimeout(100)
  }
}

function tell(seen: readonly Seen[]): void {
  const broken = seen.filter(({ kind }) => kind === 'broken')
  const isFound = ({ failed }: Seen): boolean => failed.some((each) => each.startsWith('must '))
  const conforming = seen.filter(({ kind }) => kind === 'conforming')
  const accused = conforming.filter(({ failed, verdict }) => failed.length > 0 || verdict === 'does-not-conform')
  for (const how of new Set(broken.map((one) => one.how))) {
    const those = broken.filter((one) => one.how === how)
    console.log(`${how}: ${share(those.filter(isFound).length, those.length)} found`)
  }
  const missed = broken.filter((one) => !isFound(one))
  console.log(`broken servers found: ${share(broken.length - missed.length, broken.length)}`)
  for (const { id, does, failed, warned, verdict } of missed)
    console.log(`  missed ${id}: ${does} (${[...failed, ...warned].join(', ') || verdict})`)
  console.log(`conforming servers accused: ${share(accused.length, conforming.length)}`)
  for (const { id, does, failed, verdict } of accused)
    console.log(`  accused ${id}: ${does} (${failed.join(', ') || verdict})`)
  for (const { id, warned } of conforming) if (warned.length > 0) console.log(`  warned ${id}: ${warned.join(', ')}`)
  const isEnough = missed.length <= 0.08 * broken.length && accused.length <= 0.02 * conforming.length
  if (!isEnough) process.exitCode = 1
}

function share(some: number, all: number): string {
  return `${some} of ${all}${all === 0 ? '' : ` (${((100 * some) / all).toFixed(1)} %)`}`
}
