/** The adapters of fixtures/clients/ work: every call is accepted, and they survive what servers do. */
import { execFile, spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, describe, expect, test } from 'vitest'
import { packageRoot } from '../../engine/language/package-root.ts'
import { isProof } from '../proof-form.ts'
import type { ClientAuth } from './catalogue.ts'
import { badDay, badDayServer, betweenCallsMs, run, withServer } from './harness.ts'

const clients = join(packageRoot, 'fixtures', 'clients')
const start = promisify(execFile)
const folder = mkdtempSync(join(tmpdir(), 'svc-adapters-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

interface Adapter {
  language: string
  /** Builds the adapter where its language asks for that; returns its command. */
  build: () => Promise<string[]>
  auth: ClientAuth[]
  /** What is missing on this machine; empty if nothing is. */
  missing: string
}

const runs = (program: string, ...args: string[]): boolean => spawnSync(program, args).status === 0
const all: ClientAuth[] = ['hmac', 'ecc', 'basic', 'token']

const adapters: Adapter[] = [
  {
    language: 'Python',
    build: async () => ['python3', '-B', join(clients, 'python', 'adapter.py')],
    auth: runs('python3', '-c', 'import cryptography') ? all : ['hmac', 'basic', 'token'],
    missing: runs('python3', '--version') ? '' : ' (NOT RUN: needs python3)',
  },
  {
    language: 'Go',
    build: async () => {
      const program = join(folder, 'adapter-in-go')
      await start('go', ['build', '-o', program, '.'], { cwd: join(clients, 'go') })
      return [program]
    },
    auth: all,
    missing: runs('go', 'version') ? '' : ' (NOT RUN: needs go)',
  },
  {
    language: 'TypeScript',
    build: async () => {
      const out = join(folder, 'typescript')
      const tsc = join(packageRoot, 'node_modules', '.bin', 'tsc')
      await start(tsc, ['-p', join(clients, 'typescript'), '--outDir', out])
      await writeFile(join(out, 'package.json'), '{ "type": "module" }')
      return [process.execPath, join(out, 'adapter.js')]
    },
    auth: all,
    missing: '',
  },
]

for (const [index, { language, build, auth: supported, missing }] of adapters.entries())
  describe.skipIf(missing !== '')(`the adapter in ${language}${missing}`, () => {
    test('gets every call accepted, and survives what servers do', async () => {
      const command = await build()
      const daysOf = (auth: ClientAuth): (() => Promise<void>)[] => [
        () =>
          withServer(auth, {}, async (server, env) => {
            const ran = await run(command, { ...env, SVC_CALLS: '6', SVC_PARALLEL: '3', SVC_PAUSE_MS: '10' })
            expect(ran, auth).toEqual({ exitCode: 0, lines: Array(6).fill('ok'), complaints: '' })
            expect(server.journal.count({ method: 'manager/auth' }), auth).toBe(auth === 'token' ? 1 : 0)
          }),
        () =>
          withServer(auth, badDayServer, async (server, env) => {
            for (const fault of badDay) server.faults.add(fault)
            const advance = (): void => server.clock.advance(betweenCallsMs)
            const { exitCode, lines, complaints } = await run(command, { ...env, SVC_CALLS: '12' }, advance)
            expect({ exitCode, count: lines.length }, `${auth}: ${complaints}`).toEqual({ exitCode: 0, count: 12 })
            expect(lines.filter((line) => line !== 'ok').length, complaints).toBeLessThanOrEqual(1)
            expect(lines.at(-1), complaints).toBe('ok')
          }),
        () =>
          withServer(auth, {}, async (server, env) => {
            server.faults.add({ fault: 'drop', when: 'after', method: 'manager/createApiKey' })
            const ran = await run(command, { ...env, SVC_METHOD: 'manager/createApiKey', SVC_SCOPE: 'apiKey' })
            expect(ran.lines.sort(), ran.complaints).toEqual(['error', 'ok', 'ok'])
            expect(server.journal.count({ method: 'manager/createApiKey' }), auth).toBe(3)
          }),
      ]
      // Outside of a proof one day for each way to authorize, so that each language has every kind of day and every way.
      const days = supported.flatMap((auth, at) => daysOf(auth).filter((_, day) => isProof || day === (at + index) % 3))
      await Promise.all(days.map((day) => day()))
    })
  })
