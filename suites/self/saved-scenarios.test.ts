/** What the author of a server does: explores it, keeps the finding as a scenario, and runs that scenario from then on. */
import { mkdtempSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { type MockServer, startMockServer } from '../targets/bundled.ts'
import { runBuilt } from './printed-by.ts'
import { isProof, onlyInProof } from './proof-form.ts'
import { serverNamed } from './server-named.ts'

const folder = mkdtempSync(join(tmpdir(), 'svc-saved-'))
const found = join(folder, 'found')
const report = join(folder, 'report.json')
const rootKey = { id: 'saved', secret: 'saved-secret-0000001' }

const broken = await serverNamed('refresh-token-accepted-as-secret-of-grant')
const started: MockServer[] = []
afterAll(() => Promise.all(started.map((server) => server.close())))

/** A fresh server: an exploration leaves no place for keys. */
async function serverOf(kind: 'broken' | 'right'): Promise<MockServer> {
  const server = await startMockServer({ rootKey, clock: 'real', ...(kind === 'broken' ? broken : {}) })
  started.push(server)
  return server
}

/** Runs the built command line. @returns the exit code and everything printed */
async function cli(...args: string[]): Promise<{ code: number | null; text: string }> {
  const env = { XDG_STATE_HOME: join(folder, 'state'), SVC_KEY_ID: rootKey.id, SVC_KEY_SECRET: rootKey.secret }
  const { code, stdout, stderr } = await runBuilt(args, { env })
  return { code, text: stdout + stderr }
}

describe.skipIf(!isProof).sequential(onlyInProof('a rule that no scripted case sees broken'), () => {
  test('is not noticed by the cases', async () => {
    const broken = await serverOf('broken')
    const asked = ['--allow', 'sessions', '--only', 'grants', '--only', 'refresh']
    const { code, text } = await cli('run', '--url', broken.url, ...asked)
    expect(code, text).toBe(0)
  })

  test('is found, and kept as a scenario that a person can read', async () => {
    const broken = await serverOf('broken')
    const options = ['--explore-calls', '2000', '--for', '600', '--seed', '1', '--save', found, '--report', 'text']
    const asked = ['--disposable', ...options, '--report', `json=${report}`]
    const { code, text } = await cli('explore', '--url', broken.url, ...asked)
    expect(code, text).toBe(1)
    expect(text).toContain('spec/interface.md#grants-credentials')
    const [file = ''] = readdirSync(join(found, 'scenarios', 'found'))
    const scenario = readFileSync(join(found, 'scenarios', 'found', file), 'utf8')
    expect(scenario).toContain('proves: [ grants/credentials ]')
    expect(scenario).toContain('param apiKeySecret: { value: $pair.refreshToken }')
    expect(scenario).toMatch(/expect: refused }\n$/)
  })

  test('fails there from then on, and passes on a right server', async () => {
    const asked = ['--allow', 'sessions', '--fixtures', found, '--only', 'found']
    const [broken, right] = [await serverOf('broken'), await serverOf('right')]
    const there = await cli('run', '--url', broken.url, ...asked)
    expect(there.code, there.text).toBe(1)
    expect(there.text).toContain('grants/credentials')
    const here = await cli('run', '--url', right.url, ...asked)
    expect(here.code, here.text).toBe(0)
  })

  test('is known to a baseline by its id, or by its row of the table', async () => {
    const known = join(folder, 'known.yaml')
    const { findings }: { findings: { id: string; case: string }[] } = JSON.parse(readFileSync(report, 'utf8'))
    expect(findings.map(({ id }) => id)).toContain('found/grants/credentials/let-in')
    const names = findings.map((one) => (one.case.startsWith('table/') ? one.case : one.id))
    writeFileSync(known, names.map((name) => `- { scenario: ${name}, reason: it is being mended }\n`).join(''))
    // All calls of the default: the model has twice the time that it announces, and a busy machine makes a tenth of them in it.
    const asked = ['--disposable', '--explore', '--only', 'basic', '--known', known]
    const second = await cli('run', '--url', (await serverOf('broken')).url, ...asked)
    expect(second.code, second.text).toBe(0)
    expect(second.text).toContain('it is being mended')
  })
})
