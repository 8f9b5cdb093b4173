/** Runs that are killed, interrupted, started twice or watched, and the keys that they created. */
import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { promisify } from 'node:util'
import { afterAll, expect, test } from 'vitest'
import { openKeysOfTarget, readKeyRecord } from '../run/keys.ts'
import { startMockServer } from '../targets/bundled.ts'
import { interruptRun, printedBy, startBuilt } from './printed-by.ts'
import { isProof, onlyInProof } from './proof-form.ts'
import { serverNamed } from './server-named.ts'

const rootKey = { id: 'lifecycle', secret: 'lifecycle-secret-0001' }
const server = await startMockServer({ rootKey })
afterAll(() => server.close())

/** A folder with a target file, and a state folder of its own. */
function place(targetFile = `url: ${server.url}\nallow: [keys]\n`): string {
  const folder = mkdtempSync(join(tmpdir(), 'svc-lifecycle-'))
  writeFileSync(join(folder, 'target.yaml'), targetFile)
  return folder
}

const withCleanup = `url: ${server.url}\nallow: [keys]\nrequestTimeoutMs: 600000\ncleanup: { method: manager/deleteApiKey, params: { id: $id } }\n`

function start(folder: string, args: string[], asked = ['run', '--target', 'target.yaml']) {
  const env = { XDG_STATE_HOME: join(folder, 'state'), SVC_KEY_ID: rootKey.id, SVC_KEY_SECRET: rootKey.secret }
  const child = startBuilt([...asked, ...args], { cwd: folder, env })
  const printed = printedBy(child)
  const exitCode = once(child, 'close').then(([code]) => code as number | null)
  /** Resolves when the text was printed. */
  const says = async (wanted: string): Promise<void> => {
    while (!printed().includes(wanted) && child.exitCode === null) await setTimeout(20)
    expect(printed()).toContain(wanted)
  }
  return { child, printed, says, exitCode }
}

async function ran(folder: string, args: string[], asked?: string[]) {
  const { exitCode, printed } = start(folder, args, asked)
  const code = await exitCode
  return { code, printed: printed() }
}

const records = (folder: string): string[] => {
  const state = join(folder, 'state', 'svc-conformance')
  return existsSync(state) ? readdirSync(state) : []
}

/** Waits until the record of a run holds a key. */
async function untilKeyIsMade(folder: string): Promise<void> {
  const state = join(folder, 'state', 'svc-conformance')
  const hasKey = (name: string): boolean => readFileSync(join(state, name), 'utf8').includes('{"created"')
  while (!records(folder).some(hasKey)) await setTimeout(10)
}

const isCreation = (body: string | Buffer): boolean => body.includes('manager/createApiKey')

/** A server that answers the first creation of a key and never the second; all calls after that are answered. */
async function serverThatHoldsACreation() {
  let created = 0
  let isHeld = false
  const { url, close } = await startMockServer({
    rootKey,
    around: (handle) => async (request) => {
      if (!isCreation(request.body)) return handle(request)
      if (created > 0 && !isHeld) {
        isHeld = true
        return new Promise(() => {})
      }
      const answer = await handle(request)
      if (answer.body.includes('"result"')) created += 1
      return answer
    },
  })
  return { url, isHeld: () => isHeld, close }
}

test('a run that is killed during a creation leaves its keys, and the name of one that may exist, to the next run', async () => {
  const holding = await serverThatHoldsACreation()
  const folder = place(withCleanup.replace(server.url, holding.url))
  const killed = start(folder, ['--only', 'test-keys'])
  while (!holding.isHeld()) await setTimeout(10)

  const second = await ran(folder, ['--only', 'basic'])
  expect(second.code, 'two runs with one key would use up the keys of each other').toBe(2)
  expect(second.printed).toContain(`process ${killed.child.pid} runs there with the same key "lifecycle"`)

  killed.child.kill('SIGKILL')
  await killed.exitCode
  expect(records(folder)).toHaveLength(2)
  const listed = await ran(folder, ['--json'], ['keys'])
  expect(JSON.parse(listed.printed)[0]).toMatchObject({ url: holding.url, rootId: rootKey.id, process: null })
  const next = await ran(folder, ['--only', isProof ? 'basic' : 'basic/secret-of-another'])
  expect(next.printed).toMatch(/Removed 1 API key that earlier runs left on the target/)
  expect(next.printed).toMatch(/perhaps an API key, whose creation got no clear answer: "erin-/)
  expect(next.code, next.printed).toBe(0)
  await holding.close()
})

test.skipIf(!isProof)(
  onlyInProof('keys that cannot be removed are reported by the next run, and removed by one that can'),
  async () => {
    server.reset()
    const folder = place()
    const first = await ran(folder, ['--only', 'test-keys'])
    expect(first.printed).toMatch(/Left on the target\n {2}- API key \w+ \("\S*bob/)
    const next = await ran(folder, ['--only', 'basic/secret-of-another'])
    const still =
      '3 API keys of earlier runs are recorded for the target; "svc-conformance keys" lists them, and with --forget'
    expect(next.printed).toContain(still)

    writeFileSync(join(folder, 'target.yaml'), withCleanup)
    const interrupted = start(folder, [])
    await interrupted.says('that earlier runs left on the target')
    await untilKeyIsMade(folder)
    interrupted.child.kill('SIGINT')
    expect(await interrupted.exitCode).toBe(130)
    expect(interrupted.printed()).toMatch(/Removed \d+ API keys that earlier runs left on the target/)
    expect(interrupted.printed()).toContain('Interrupted: cleaning up; press Ctrl-C again to leave at once')
    expect(interrupted.printed()).not.toContain('Left on the target')
    expect(records(folder)).toEqual([])
  },
)

test('Ctrl-C at any time ends a bundled run with 130', async () => {
  for (const afterMs of isProof ? [0, 250, 500] : [250]) {
    let ended = await interruptRun(afterMs)
    // An early signal comes in time, unless this process was too busy to send it.
    for (let tries = 1; ended.wasOver && tries < 10; tries += 1) ended = await interruptRun(afterMs)
    if (!ended.wasOver) expect(ended.exitCode, ended.printed).toBe(130)
    else expect(afterMs, 'one of ten early signals comes in time').toBeGreaterThan(250)
  }
})

test('the report of an ended run counts no more cases than the plan: those that can run', async () => {
  const folder = place(`url: ${server.url}\n`)
  const before = server.journal.count()
  const running = start(folder, ['--explore', '--report', 'json=report.json'])
  while (server.journal.count() < before + 100) await setTimeout(20)
  running.child.kill('SIGINT')
  expect(await running.exitCode, running.printed()).toBe(130)
  const { cases, summary, plan } = JSON.parse(readFileSync(join(folder, 'report.json'), 'utf8'))
  expect(summary.notRun).toBeGreaterThan(0)
  // On a busy machine a case may turn out not to be testable.
  expect(cases.length - summary.notTestable - summary.notApplicable).toBeLessThanOrEqual(plan.cases)
})

test('Ctrl-C ends an exploration with 130, and its report is written', async () => {
  const folder = place()
  const explore = ['explore', '--url', server.url, '--report', 'json=report.json']
  const exploring = start(folder, explore, [])
  const before = server.journal.count()
  while (server.journal.count() < before + 20) await setTimeout(20)
  exploring.child.kill('SIGINT')
  expect(await exploring.exitCode, exploring.printed()).toBe(130)
  const report = JSON.parse(readFileSync(join(folder, 'report.json'), 'utf8'))
  expect(report).toMatchObject({ verdict: 'inconclusive', meta: { stopped: 'the run was interrupted by Ctrl-C' } })
})

test.skipIf(!isProof)(
  onlyInProof(
    '--bail ends a run after its first failure; --failed runs that case again, with the test keys that were kept',
  ),
  async () => {
    const broken = await startMockServer({ rootKey, ...(await serverNamed('whole-mac-expected')) })
    const folder = place(`${withCleanup.replace(server.url, broken.url)}testKeys: kept.jsonl\n`)
    const only = ['--only', 'test-keys', '--only', isProof ? 'signatures' : 'signatures/hmac']
    const reports = ['--report', 'text', '--report', 'json=r.json']
    const first = await ran(folder, ['--bail', '1', '--set', '1.0', ...only, ...reports])
    expect(first.code).toBe(1)
    expect(first.printed).toContain('a case failed (--bail 1)')
    expect(JSON.parse(readFileSync(join(folder, 'r.json'), 'utf8')).meta.set).toBe('1.0')
    const kept = readFileSync(join(folder, 'kept.jsonl'), 'utf8')
    expect(kept).toContain('{"created"')
    const again = await ran(folder, ['--failed', 'r.json'])
    expect(again.printed).toContain('signatures/hmac-accepted')
    expect(again.printed).not.toContain('Removed')
    expect(readFileSync(join(folder, 'kept.jsonl'), 'utf8')).toBe(kept)
    await broken.close()
  },
)

test('the model waits until keys work that a wrong call of the cases has locked', async () => {
  let lockedMs = 0
  let whileLocked = 0
  const whole = btoa(`${rootKey.id}:${rootKey.secret}`)
  await using locking = await startMockServer({
    rootKey,
    around: (handle) => async (request) => {
      const isLocked = Date.now() - lockedMs < 1500
      const [, basic = 'none'] = /basic ([^"=]+)/i.exec(JSON.stringify(request.headers)) ?? []
      // The wrong call of the case sends the first half.
      if (lockedMs === 0 && basic !== whole.replaceAll('=', '') && whole.startsWith(basic.slice(0, -2)))
        lockedMs = Date.now()
      whileLocked += isLocked ? 1 : 0
      return handle(isLocked ? { ...request, headers: {} } : request)
    },
  })
  const asked = ['--only', 'basic/accepted', '--explore', '--explore-calls', '60', '--report', 'json']
  const { code, printed } = await ran(place(`url: ${locking.url}\n`), asked)
  expect(code, printed).toBe(0)
  expect(lockedMs).toBeGreaterThan(0)
  // The run tries the root key once, and then pauses for longer than the lock lasts.
  expect(whileLocked).toBeLessThanOrEqual(1)
})

test('a --timeout that leaves no time for a case is named, and ends with 3', async () => {
  const { code, printed } = await ran(place(), ['--timeout', '0.001'])
  expect(printed).toContain('The run ended before its first case: --timeout 0.001 was too short')
  expect(code).toBe(3)
})

/** A server on a port that the system gives to nobody else, so that it is still free when the next server takes it. */
async function serverOfOwnPort() {
  for (;;) {
    const port = 20_000 + Math.floor(Math.random() * 10_000)
    const server = await startMockServer({ rootKey, port }).catch(() => null)
    if (server !== null) return server
  }
}

test.skipIf(!isProof)(onlyInProof('--watch runs again when the target comes back'), async () => {
  const one = await serverOfOwnPort()
  const port = Number(new URL(one.url).port)
  const folder = place(`url: ${one.url}\n`)
  const watching = start(folder, ['--watch', '--only', 'basic/secret-of-another'])
  await watching.says('goes away and comes back')
  await one.close()
  // A busy machine looks seldom, so the target stays away until it was looked for.
  const away = createServer((_request, answer) => answer.writeHead(503).end()).listen(port, '127.0.0.1')
  await once(away, 'request')
  await setTimeout(100)
  away.closeAllConnections()
  await new Promise((closed) => away.close(closed))
  const two = await startMockServer({ rootKey, port })
  const verdicts = (): number => watching.printed().split('Verdict:').length - 1
  while (verdicts() < 2) await setTimeout(50)
  watching.child.kill('SIGINT')
  expect(await watching.exitCode).toBe(0)
  await two.close()
})

test('a target file in the current folder is mentioned and not used', async () => {
  const folder = place()
  writeFileSync(join(folder, 'svc-target.yaml'), 'url: http://127.0.0.1:1\n')
  const { code, printed } = await ran(folder, ['--plan'], ['run'])
  expect(printed).toContain('svc-target.yaml is here, and is not used unless it is named')
  expect(code).toBe(0)
})

test('the keys of a mock are forgotten when it starts anew at the same place, but not those of another one', async () => {
  const free = await startMockServer()
  await free.close()
  const { port } = new URL(free.url)
  const folder = place()
  const stateFolder = join(folder, 'state', 'svc-conformance')
  const leave = (host: string, id: string): void =>
    openKeysOfTarget({
      url: `http://${host}:${port}`,
      root: { id },
      allow: ['keys'],
      disposable: false,
      stateFolder,
      testKeysFile: null,
    }).close([{ id: 'k', name: 'n' }])
  leave('127.0.0.1', rootKey.id)
  leave('localhost', rootKey.id)
  leave('127.0.0.1', 'another')
  const { child, says } = start(folder, [], ['serve', '--port', port, '--key-id', rootKey.id])
  await says(`Forgot 1 API key that runs recorded for http://127.0.0.1:${port}`)
  child.kill('SIGTERM')
  const left = records(folder).map((file) => readKeyRecord(join(stateFolder, file))?.owner)
  expect(left).toHaveLength(2)
  expect(left).not.toContainEqual({ url: `http://127.0.0.1:${port}`, rootId: rootKey.id })
})

test('kept test keys of a server that was started again take no places', async () => {
  await using mock = await startMockServer({ rootKey })
  const folder = place(`url: ${mock.url}\nallow: [keys]\ntestKeys: kept.jsonl\n`)
  await ran(folder, ['--only', 'basic'])
  const before = readKeyRecord(join(folder, 'kept.jsonl'))?.keys.length
  mock.reset()
  const { printed } = await ran(folder, ['--only', 'basic'])
  expect(printed).toContain('The target refuses test keys that earlier runs kept, so they are forgotten: ')
  expect(before).toBeGreaterThan(0)
  expect(readKeyRecord(join(folder, 'kept.jsonl'))?.keys.length).toBe(before)
})

test('the suite for vitest is red where a case fails, and says why', async () => {
  const { url, close } = await startMockServer({ rootKey, ...(await serverNamed('old-access-token-lives-on')) })
  const flags = '--only refresh/revokes --allow sessions'
  const asked = { SVC_URL: url, SVC_KEY_ID: rootKey.id, SVC_KEY_SECRET: rootKey.secret, SVC_FLAGS: flags }
  const words = ['vitest', 'run', '--config', 'suites/vitest.config.ts', 'suites/scenarios.suite.ts']
  const ran = promisify(execFile)('npx', words, { env: { ...process.env, NO_COLOR: '1', ...asked } })
  const why =
    /A refresh revokes the old access token\nexpected the call to be refused, [\s\S]*run ended with 1; its words/
  await expect(ran).rejects.toMatchObject({ code: 1, stderr: expect.stringMatching(why) })
  await close()
})
