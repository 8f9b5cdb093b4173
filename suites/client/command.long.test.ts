/** From the command over a process for each scenario to the report. */
import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { createReadStream } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test, vi } from 'vitest'
import { packageRoot } from '../engine/language/package-root.ts'
import { problemWith } from '../engine/language/schemas.ts'
import { call, captureCli, captured } from '../self/captured-cli.ts'
import { openFolder } from '../self/temporary.ts'
import type { buildReport } from './report.ts'
import { scenarios } from './scenarios.ts'
import { runScenarios } from './watch.ts'

const { at, write, read } = openFolder()
const testClient = (id: string) => `'${process.execPath}' '${join(packageRoot, 'suites/self/clients/run.mjs')}' ${id}`
captureCli()

type ClientReport = ReturnType<typeof buildReport>

/** The report about a command, as JSON, and the exit code. */
async function judge(command: string, ...flags: string[]): Promise<{ report: ClientReport; exitCode: number }> {
  const exitCode = await call('client', '--command', command, '--report', `json=${at('report.json')}`, ...flags)
  const report: ClientReport = JSON.parse(read('report.json'))
  expect(problemWith(report, 'client-report')).toBeUndefined()
  return { report, exitCode }
}

const wrong = ({ checks }: ClientReport): string[] =>
  checks.filter(({ verdict }) => verdict === 'failed' || verdict === 'warned').map(({ id }) => id)

describe('the command', () => {
  test('passes a right client, and prints what it tried', async () => {
    const flags = ['--auth', 'hmac', '--only', 'plain', '--only', 'error-in-200']
    const { report, exitCode } = await judge(testClient('plain'), ...flags)
    expect([wrong(report), report.verdict, exitCode]).toEqual([[], 'conforms', 0])
    const tried = report.scenarios.map(({ id, ok }) => `${id}: ${ok}`)
    expect(tried.sort()).toEqual(['error-in-200/hmac: 2', 'plain/hmac: 16'])
  })

  test('names a mistake with its sentence, its bytes and its diagnosis; a baseline makes it known', async () => {
    const flags = ['--auth', 'hmac', '--only', 'plain', '--report', 'text']
    const { report, exitCode } = await judge(testClient('whole-mac'), ...flags)
    expect([wrong(report), report.verdict, exitCode]).toEqual([['signature/twenty-bytes'], 'does-not-conform', 1])
    const check = report.checks.find(({ id }) => id === 'signature/twenty-bytes')
    expect(check).toMatchObject({ level: 'document', scenarios: ['plain/hmac'] })
    expect(check?.evidence[0]?.diagnosis).toContain('All 32 bytes of the MAC are sent (signature/untruncated)')
    expect(check?.evidence[0]?.exchanges[0]?.request[0]).toBe('POST /api')
    expect(check?.again).toMatch(/ --auth hmac --only signature\/twenty-bytes$/)
    expect(captured.out).toContain('Verdict: does not conform (exit code 1)')
    const baseline = write('known.yaml', '- check: signature/twenty-bytes\n  reason: not yet\n')
    const known = await judge(testClient('whole-mac'), ...flags, '--known', baseline)
    expect([known.report.summary.known, known.exitCode]).toEqual([1, 0])
  })

  test('a missed practice fails the run with --strict', async () => {
    const flags = ['--auth', 'hmac', '--only', 'create-key', '--strict']
    const { report, exitCode } = await judge(testClient('create-key-repeated'), ...flags)
    expect([wrong(report), exitCode]).toEqual([['retry/create-key-not-repeated'], 1])
  })

  test('tells that a client did not end', async () => {
    expect((await judge('sleep 600', '--only', 'plain', '--timeout', '1', '--report', 'text')).exitCode).toBe(1)
    expect(captured.out).toContain('the client ended with SIGKILL, sent after 1 s')
  })

  test('lists its checks and scenarios', async () => {
    expect(await call('client', '--list')).toBe(0)
    expect(captured.out).toContain('refresh/late-loser-keeps-the-newer-pair  practice')
    expect(captured.out).toContain('expiry/token')
  })

  test('a command that cannot be started gives exit code 3', async () => {
    expect(await call('client', '--command', './no-such-adapter')).toBe(3)
    expect(captured.complaints).toMatch(/^Cannot start the command ".\/no-such-adapter": the shell says ".*not found"/)
  })
})

test.each([
  [[], 'Name the client'],
  [['--listen', '--command', 'x'], 'Choose one of'],
  [['--command', ' '], 'Give "--command" a command'],
  [['--command', 'x', '--port', '1'], '"--port" needs "--listen"'],
  [['--command', 'x', '--auth', 'hmca'], 'did you mean "hmac"?'],
  [['--command', 'x', '--only', 'refresh/singleflight'], 'did you mean "refresh/single-flight"?'],
  [['--command', 'x', '--skip', 'refresh'], 'Give a reason'],
  [['--command', 'x', '--skip', 'nothing=x'], 'No check or scenario matches "--skip nothing"'],
  [['--command', 'x', '--timeout', '0'], 'a number of seconds above 0'],
  [['--command', 'x', '--known', 'nowhere.yaml'], 'there is no such file'],
  [['--command', 'x', '--report', 'xml'], 'Unknown value "xml"'],
  [['--listen', '--port', '99999'], 'a whole number from 0 to 65535'],
])('wrong usage: %j', async (argv, sentence) => {
  expect(await call('client', ...argv)).toBe(2)
  expect(captured.complaints).toContain(sentence)
})

test('--listen judges every call until it is stopped', async () => {
  vi.stubEnv('SVC_KEY_ID', 'demo').stubEnv('SVC_KEY_SECRET', 'demo-secret')
  let announced = ''
  vi.spyOn(process.stderr, 'write').mockImplementation((text) => {
    announced += text
    return true
  })
  const done = call('client', '--listen', '--report', `json=${at('listen.json')}`)
  await vi.waitFor(() => expect(announced).toContain('Listening'), { timeout: 600_000 })
  const url = /SVC_URL=(\S+)/.exec(announced)?.[1] ?? ''
  const body = '{"jsonrpc":"2.0","id":1,"method":"solution/listSolutions","params":{}}'
  const headers = { authorization: `Basic ${btoa('demo:demo-secret')}`, 'content-type': 'text/plain' }
  expect((await fetch(`${url}/api`, { method: 'POST', headers, body })).status).toBe(200)
  process.emit('SIGTERM')
  expect(await done).toBe(1)
  vi.unstubAllEnvs()
  const report: ClientReport = JSON.parse(read('listen.json'))
  expect([wrong(report), report.meta.command]).toEqual([['request/post-json'], null])
})

describe('a command', () => {
  /** The only start in a scenario of three calls. */
  const run = async (command: string, { signal } = new AbortController()) => {
    const made = scenarios.filter(({ id }) => id === 'error-in-200/basic').map((one) => ({ ...one, calls: 3 }))
    const [journal] = await runScenarios(made, { command, timeoutSeconds: 600, signal })
    return journal?.starts?.[0]
  }

  test('has its lines counted and the end of its stderr kept', async () => {
    const result = await run('printf "ok\\nerror\\r\\nOK\\n ok \\nok"; echo reason >&2; exit 4')
    expect(result).toMatchObject({ ok: 3, error: 1, ended: { kind: 'exit', code: 4 }, stderr: 'reason\n' })
  })

  test("gets our variables and none of the user's", async () => {
    vi.stubEnv('SVC_URL', 'http://127.0.0.1:1').stubEnv('SVC_OTHER', 'x')
    const tests = ['"$SVC_URL" != http://127.0.0.1:1', '"$SVC_CALLS" = 3', '-z "$SVC_OTHER"']
    const result = await run(`${tests.map((one) => `test ${one} && `).join('')}echo ok`)
    vi.unstubAllEnvs()
    expect(result).toMatchObject({ ok: 1 })
  })

  test('is ended with its whole process group', async () => {
    execFileSync('mkfifo', [at('pipe')])
    const ending = new AbortController()
    // It opens when a process opens the other side, and ends when no process holds that side.
    const held = createReadStream(at('pipe')).on('open', () => ending.abort())
    expect(await run(`sleep 3600 > '${at('pipe')}' & wait`, ending)).toMatchObject({ ended: { kind: 'interrupted' } })
    await once(held.resume(), 'end')
  })

  test('is not waited for while a background process of it runs', async () => {
    expect(await run('sleep 60 & echo ok')).toMatchObject({ ok: 1, ended: { kind: 'exit', code: 0 } })
  })
})
