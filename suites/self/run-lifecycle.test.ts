/** Runs that are killed, interrupted, started twice or watched, and the keys that they created. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { afterAll, describe, expect, test } from 'vitest'
import { packageRoot } from '../engine/fixture/package-root.ts'
import { readKeyRecord } from '../run/keys/key-record.ts'
import { loadMutants, startMockServer } from '../targets/bundled.ts'
import { interruptRun } from './interrupt-run.ts'

const rootKey = { id: 'lifecycle', secret: 'lifecycle-secret-0001' }
const server = await startMockServer({ rootKey })
afterAll(() => server.close())
const timeout = 120_000

interface Started {
  child: ChildProcess
  printed(): string
  /** Resolves when the text was printed. */
  says(text: string): Promise<void>
  exitCode: Promise<number | null>
}

/** A folder with a target file, and a state folder of its own. */
function place(targetFile = `url: ${server.url}\nallow: [keys]\n`): string {
  const folder = mkdtempSync(join(tmpdir(), 'svc-lifecycle-'))
  writeFileSync(join(folder, 'target.yaml'), targetFile)
  return folder
}

const withCleanup = `url: ${server.url}\nallow: [keys]\ncleanup: { method: manager/deleteApiKey, params: { id: $id } }\n`

function start(folder: string, args: string[], asked = ['run', '--target', 'target.yaml']): Started {
  const child = spawn(process.execPath, [join(packageRoot, 'dist', 'suites', 'bin.js'), ...asked, ...args], {
    cwd: folder,
    env: {
      ...process.env,
      XDG_STATE_HOME: join(folder, 'state'),
      SVC_KEY_ID: rootKey.id,
      SVC_KEY_SECRET: rootKey.secret,
    },
  })
  let text = ''
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (chunk) => {
      text += chunk
    })
  const exitCode = once(child, 'close').then(([code]) => code as number | null)
  const says = async (wanted: string): Promise<void> => {
    while (!text.includes(wanted) && child.exitCode === null) await setTimeout(20)
    expect(text).toContain(wanted)
  }
  return { child, printed: () => text, says, exitCode }
}

async function ran(
  folder: string,
  args: string[],
  asked?: string[],
): Promise<{ code: number | null; printed: string }> {
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

/** Kills a run when it has made keys and every creation is answered: one under way would stay in the record as a possible key. */
async function killBetweenCreations({ child, exitCode }: Started, folder: string): Promise<void> {
  const file = join(folder, 'state', 'svc-conformance', records(folder).find((name) => name.endsWith('.jsonl')) ?? '')
  for (;;) {
    child.kill('SIGSTOP')
    const record = readKeyRecord(file)
    if (record !== null && record.keys.length > 0 && record.unanswered.length === 0) break
    child.kill('SIGCONT')
    await setTimeout(5)
  }
  child.kill('SIGKILL')
  await exitCode
}

describe('a killed run', () => {
  test('leaves a record, and the next run removes its keys', { timeout }, async () => {
    server.reset()
    const folder = place(withCleanup)
    const killed = start(folder, [])
    await untilKeyIsMade(folder)
    await killBetweenCreations(killed, folder)
    expect(records(folder)).toHaveLength(2)
    const listed = await ran(folder, ['--json'], ['keys'])
    expect(JSON.parse(listed.printed)[0]).toMatchObject({ url: server.url, rootId: rootKey.id, process: null })
    const next = await ran(folder, ['--only', 'basic'])
    expect(next.printed).toMatch(/Removed \d+ API keys? that earlier runs left on the target/)
    expect(next.code).toBe(0)
    expect(records(folder)).toEqual([])
  })

  test('that ended during a creation leaves the name of a key that may exist', { timeout }, async () => {
    let created = 0
    let isHeld = false
    const holding = await startMockServer({
      rootKey,
      around: (handle) => async (request) => {
        if (!request.body.includes('manager/createApiKey')) return handle(request)
        if (created > 0 && !isHeld) {
          isHeld = true
          return new Promise(() => {})
        }
        const answer = await handle(request)
        if (answer.body.includes('"result"')) created += 1
        return answer
      },
    })
    const folder = place(withCleanup.replace(server.url, holding.url))
    const killed = start(folder, ['--only', 'test-keys'])
    while (!isHeld) await setTimeout(10)
    killed.child.kill('SIGKILL')
    await killed.exitCode
    const next = await ran(folder, ['--only', 'basic'])
    expect(next.printed).toMatch(/Removed 1 API key that earlier runs left on the target/)
    expect(next.printed).toMatch(/perhaps an API key, whose creation got no clear answer: "svc-/)
    await holding.close()
  })

  test('whose keys cannot be removed is reported by the next run', { timeout }, async () => {
    server.reset()
    const folder = place()
    const first = await ran(folder, ['--only', 'test-keys'])
    expect(first.printed).toMatch(/Left on the target\n {2}API key \w+ \("\S*bob/)
    const next = await ran(folder, ['--only', 'basic'])
    expect(next.printed).toContain(
      '3 API keys of earlier runs are still on the target; "svc-conformance keys" lists them',
    )
  })
})

test("the second of two simultaneous runs with one key is refused, because they would use up each other's keys", {
  timeout,
}, async () => {
  server.reset()
  const folder = place(withCleanup)
  const first = start(folder, [])
  await untilKeyIsMade(folder)
  const second = await ran(folder, ['--only', 'basic'])
  expect(second.code).toBe(2)
  expect(second.printed).toContain(`process ${first.child.pid} runs there with the same key "lifecycle"`)
  first.child.kill('SIGINT')
  expect(await first.exitCode).toBe(130)
  expect(first.printed()).toContain('Interrupted: cleaning up; press Ctrl-C again to leave at once')
  expect(first.printed()).not.toContain('Left on the target')
  expect(records(folder)).toEqual([])
})

test('kept test keys are used by the next run, and stay', { timeout }, async () => {
  server.reset()
  const folder = place(`${withCleanup}testKeys: kept.jsonl\n`)
  await ran(folder, ['--only', 'test-keys'])
  const before = readFileSync(join(folder, 'kept.jsonl'), 'utf8')
  const next = await ran(folder, ['--only', 'keys/public-key', '--only', 'test-keys'])
  expect(next.printed).not.toContain('Removed')
  expect(readFileSync(join(folder, 'kept.jsonl'), 'utf8')).toBe(before)
})

test('Ctrl-C at any time ends a bundled run with 130', { timeout }, async () => {
  for (const afterMs of [0, 250, 500]) {
    const { exitCode, printed, wasOver } = await interruptRun(afterMs)
    if (!wasOver) expect(exitCode, printed).toBe(130)
    else expect(afterMs, 'the first signal comes in time').toBeGreaterThan(0)
  }
})

test('--bail ends a run after its first failure, and --failed runs that case again', { timeout }, async () => {
  const rules = (await loadMutants()).find(({ id }) => id === 'whole-mac-expected')?.with ?? {}
  const broken = await startMockServer({ rootKey, rules })
  const folder = place(`url: ${broken.url}\n`)
  const first = await ran(folder, [
    '--bail',
    '1',
    '--only',
    'signatures',
    '--report',
    'text',
    '--report',
    'json=r.json',
  ])
  expect(first.code).toBe(1)
  expect(first.printed).toContain('a case failed (--bail 1)')
  const again = await ran(folder, ['--failed', 'r.json'])
  expect(again.printed).toContain('signatures/hmac-accepted')
  await broken.close()
})

test('--watch runs again when the target comes back', { timeout }, async () => {
  const one = await startMockServer({ rootKey })
  const port = Number(new URL(one.url).port)
  const folder = place(`url: ${one.url}\n`)
  const watching = start(folder, ['--watch', '--only', 'basic/secret-of-another'])
  await watching.says('goes away and comes back')
  await one.close()
  await setTimeout(600)
  const two = await startMockServer({ rootKey, port })
  const verdicts = (): number => watching.printed().split('Verdict:').length - 1
  while (verdicts() < 2) await setTimeout(50)
  watching.child.kill('SIGINT')
  expect(await watching.exitCode).toBe(0)
  await two.close()
})

test('a target file in the current folder is mentioned and not used', { timeout }, async () => {
  const folder = place()
  writeFileSync(join(folder, 'svc-target.yaml'), 'url: http://127.0.0.1:1\n')
  const { code, printed } = await ran(folder, ['--only', 'basic/secret-of-another'], ['run'])
  expect(printed).toContain('svc-target.yaml is here, and is not used unless it is named')
  expect(code).toBe(0)
})
