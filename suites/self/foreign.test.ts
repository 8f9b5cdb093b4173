/**
 * A server in Go, written from spec/interface.md alone, that fills the silent parts in its own way: what the suite says of it must hold by
 * the document. Then the same server, wrong in ways that no mutant knows.
 */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { allItems, answersTo } from '../engine/conversation/cases.ts'
import { packageRoot } from '../engine/language/package-root.ts'
import { bareSettings } from '../engine/target.ts'
import { problemText } from '../report/problem-text.ts'
import type { Report } from '../report/report.ts'
import { openCorpus } from '../run/corpus-cache.ts'
import { runAll } from '../run/run.ts'
import { urlTarget } from '../targets/url.ts'
import { runBuilt } from './printed-by.ts'
import { isProof, onlyInProof } from './proof-form.ts'

const corpus = await openCorpus()
const source = join(packageRoot, 'suites', 'self', 'foreign')
const goMissing = spawnSync('go', ['version']).status === 0 ? '' : ' (NOT RUN: needs go)'

interface Started {
  url: string
  id: string
  secret: string
}

const folder = mkdtempSync(join(tmpdir(), 'svc-foreign-'))
const program = join(folder, 'foreign')
const running = new Set<ChildProcess>()
afterAll(() => {
  for (const child of running) child.kill()
})

async function serve<T>(flags: readonly string[], use: (started: Started) => Promise<T>): Promise<T> {
  const child = spawn(program, flags, { stdio: ['ignore', 'pipe', 'inherit'] })
  running.add(child)
  try {
    const [line] = await new Promise<string[]>((resolve, reject) => {
      child.once('exit', (code) => reject(new Error(`the foreign server ended with ${code}`)))
      createInterface(child.stdout).once('line', (first) => resolve([first]))
    })
    return await use(JSON.parse(line ?? '') as Started)
  } finally {
    child.kill()
    running.delete(child)
  }
}

/** The built command line, as a user runs it. */
async function runAgainst({ url, id, secret }: Started, only: readonly string[]) {
  const words = ['run', '--url', url, '--disposable', '--explore-calls', '5000', '--report', 'json']
  for (const word of only) words.push('--only', word)
  const { code: exitCode, stdout, stderr } = await runBuilt(words, { env: { SVC_KEY_ID: id, SVC_KEY_SECRET: secret } })
  if (stdout === '') throw new Error(`the run ended with ${exitCode} and without a report: ${stderr}`)
  const { cases } = JSON.parse(stdout) as Pick<Report, 'cases'>
  const keysOf = (wanted: string): string[] =>
    cases.filter(({ verdict }) => verdict === wanted).map(({ key, problem }) => `${key}: ${problem?.message ?? ''}`)
  return { exitCode, failed: keysOf('failed'), blocked: keysOf('blocked'), warned: keysOf('warned') }
}

interface Conforming {
  name: string
  flags?: string[]
  only?: string[]
  /** Every expected warning, and why it is not a failure. */
  warned?: { [testCase: string]: string }
}

const conforming: Conforming[] = [
  { name: 'as it is' },
  {
    name: 'every grant a session, the longest unused goes first, the initial key counts, refusals without a body',
    flags: ['-readings', 'every-grant-a-session,least-recently-used,initial-counts,errors-empty,nonce-once,zipped'],
    only: [
      'sessions/oldest-removed',
      'limits',
      'expires-in/enforced',
      'refresh/after-access-expiry',
      'signatures/body',
    ],
  },
  {
    name: 'new keys take the place of the oldest, excess scopes are left out, JSON-RPC errors, a clock that is behind',
    flags: [
      '-readings',
      'oldest-key-removed,one-user,excess-left-out,errors-in-200,life-cut,milliseconds,family-revoked,session-replaced',
      '-skew',
      '-240000',
    ],
    only: ['limits/api-keys', 'limits/every-key', 'keys', 'scopes', 'refresh', 'grants', 'expires-in/reported'],
    warned: { 'limits/api-keys': 'What the eleventh creation gets is not shown; that it is refused is implied' },
  },
  {
    name: 'refused creations count, a gateway between, no Date header',
    flags: ['-readings', 'refused-count,behind-a-gateway,no-date,own-address-only,empty-secrets'],
    only: ['keys', 'addresses', 'expires-in/reported', 'basic', 'test-keys'],
  },
  {
    name: 'asked to wait now and then, behind a gateway',
    flags: ['-readings', 'refused-count,behind-a-gateway,no-date,own-address-only,empty-secrets,unwell'],
    // The suite slows down after a throttled call, so these are few.
    only: ['basic/accepted', 'expires-in/reported', 'addresses/bound', 'keys/created-key-works'],
  },
]

/** A flag of the server, the requirement that it breaks, and the cases that show it. */
const broken: [flag: string, requirement: string, only: string, verdict: 'failed' | 'warned'][] = [
  ['eleven-keys', 'limits/ten-keys', 'limits', 'failed'],
  ['key-race', 'limits/ten-keys', 'limits/api-keys', 'failed'],
  ['open-creation', 'keys/create-authorized', 'keys/create-authorized', 'failed'],
  ['no-secret', 'keys/create-result', 'test-keys', 'failed'],
  ['first-chunk', 'signatures/request-body', 'signatures/longer-body', 'failed'],
  ['trusted-header', 'signatures/request-body', 'signatures/body-as-sent', 'failed'],
  ['alg-none', 'tokens/authorize', 'tokens/altered', 'failed'],
  ['alg-none', 'refresh/token', 'refresh/token', 'failed'],
  ['cap-far', 'expires-in/within-refresh-lifetime', 'expires-in/within-refresh-lifetime', 'failed'],
  ['scope-shared', 'scopes/context', 'scopes/other-areas', 'failed'],
  ['widened-silently', 'scopes/within-key', 'scopes/within-key', 'warned'],
  ['address-lost', 'refresh/address-kept', 'refresh/address-kept', 'warned'],
  ['session-pair-kept', 'refresh/revokes-access', 'refresh/restricted-pair', 'failed'],
  ['expired-pair-kept', 'refresh/revokes-refresh', 'refresh/after-access-expiry', 'failed'],
  ['session-cached', 'sessions/oldest-removed', 'sessions/removed-in-use', 'failed'],
]

const name = `a server written from the document alone${goMissing}`
describe.skipIf(!isProof || goMissing !== '')(onlyInProof(name), () => {
  beforeAll(() => {
    const { status, stderr } = spawnSync('go', ['build', '-o', program, '.'], { cwd: source, encoding: 'utf8' })
    if (status !== 0) throw new Error(`go build failed: ${stderr}`)
  })

  test.concurrent.each(conforming)('conforms $name', async ({ flags = [], only = [], warned = {} }) => {
    const said = await serve(flags, (started) => runAgainst(started, only))
    expect({ failed: said.failed, blocked: said.blocked }).toEqual({ failed: [], blocked: [] })
    expect(said.warned.map((testCase) => testCase.replace(/: .*/s, '')).sort()).toEqual(Object.keys(warned).sort())
    expect(said.exitCode).toBe(0)
  })

  test.concurrent.each(broken)('%s breaks %s in %s: %s', async (flag, requirement, only, verdict) => {
    const items = allItems(corpus).filter((item) => answersTo(item, only))
    const outcomes = await serve(['-break', flag], ({ url, id, secret }) => {
      const root = { id, kind: 'secret' as const, secret }
      const target = urlTarget({ url, root, settings: bareSettings, requestTimeoutMs: 10_000, disposable: true })
      return runAll({ target, corpus, items })
    })
    const seen = outcomes.flatMap(({ requirements }) => requirements[requirement] ?? [])
    expect(seen).toContain(verdict)
    const area = requirement.split('/')[0]
    const elsewhere = outcomes.filter(
      ({ verdict: is, proves }) => is === 'failed' && !proves.some((id) => id.startsWith(`${area}/`)),
    )
    expect(elsewhere.map(({ key, problem }) => `${key}: ${problemText(problem)}`)).toEqual([])
  })
})
