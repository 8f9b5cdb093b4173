/**
 * The test clients of `svc-conformance client`: right ones, ones that are broken in one way each, and inert ones. Their authors read
 * spec/interface.md and the contract of the command, never the rules of the judge.
 */

import { execFileSync } from 'node:child_process'
import { existsSync, mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { judgeJournals } from '../../client/judge.ts'
import { scenarios } from '../../client/scenarios.ts'
import { runScenarios } from '../../client/watch.ts'
import { packageRoot } from '../../engine/language/package-root.ts'

export type ClientAuth = 'hmac' | 'ecc' | 'basic' | 'token'

interface ClientBase {
  id: string
  /** Runs the client as an adapter. */
  command: string[]
  /** The ways to authorize: of a right client, all that it supports; of a broken one, those that show the defect. */
  auth: ClientAuth[]
  /** A sentence that says what the client does. */
  about: string
}

export type TestClient =
  | (ClientBase & { kind: 'right' | 'inert' })
  /** `check` is the id of the check that a broken client does not pass. */
  | (ClientBase & { kind: 'broken'; check: string })

const folder = join(packageRoot, 'suites', 'self', 'clients')

/** Reads the catalogue: the clients are plain JavaScript, so that they start at once on every supported Node. */
export async function loadCatalogue(): Promise<TestClient[]> {
  const { clients } = (await import(pathToFileURL(join(folder, 'index.mjs')).href)) as { clients: TestClient[] }
  return clients.map((client) => ({ ...client, command: [process.execPath, join(folder, 'run.mjs'), client.id] }))
}

/** The clients of fixtures/clients/ as test clients: right ones, in three languages. */
const adaptersFolder = join(packageRoot, 'fixtures', 'clients')
/** Node 20 runs no TypeScript; the build has compiled it. */
const compiled = join(packageRoot, 'dist', 'fixtures', 'clients', 'typescript', 'adapter.js')
const everyAuth: ClientAuth[] = ['hmac', 'ecc', 'basic', 'token']

interface Adapter {
  language: string
  auth: ClientAuth[]
  /** What is missing on this machine; empty if nothing is. */
  missing: string
  /** The command, after building it where the language asks for that. */
  build(): string[]
  /** Outside of a proof the languages that need no compiler are enough. */
  compiles?: true
}

export const adapters: readonly Adapter[] = [
  {
    language: 'Python',
    auth: runs('python3', '-c', 'import cryptography') ? everyAuth : everyAuth.filter((auth) => auth !== 'ecc'),
    missing: runs('python3', '--version') ? '' : 'Python',
    build: () => ['python3', '-B', join(adaptersFolder, 'python', 'adapter.py')],
  },
  {
    language: 'Go',
    auth: everyAuth,
    missing: runs('go', 'version') ? '' : 'Go',
    build: () => {
      const program = join(mkdtempSync(join(tmpdir(), 'svc-adapters-')), 'adapter-in-go')
      execFileSync('go', ['build', '-C', join(adaptersFolder, 'go'), '-o', program, '.'], { stdio: 'ignore' })
      return [program]
    },
    compiles: true,
  },
  {
    language: 'TypeScript',
    auth: everyAuth,
    missing: existsSync(compiled) ? '' : 'a build of the client in TypeScript',
    build: () => [process.execPath, compiled],
  },
]

function runs(program: string, ...args: string[]): boolean {
  try {
    execFileSync(program, args, { stdio: 'ignore' })
    return true
  } catch {
    return false
  }
}

/** Those whose language is on this machine, as right test clients. */
export const adapterClients = (): TestClient[] =>
  adapters
    .filter(({ missing }) => missing === '')
    .map(({ language, auth, build }) => ({
      id: `in-${language.toLowerCase()}`,
      kind: 'right',
      auth,
      about: `The client in ${language}`,
      command: build(),
    }))

/** Judges one test client as the command does, but in this process. */

export interface Judgement {
  failed: string[]
  warned: string[]
  passed: string[]
  notExercised: string[]
  /** The first finding of each check that failed or warned. */
  messages: { [check: string]: string }
  durationMs: number
}

const timeoutSeconds = 120

/** @param wanted which of the scenarios for the client's ways to authorize to run */
export async function judgeTestClient(
  client: TestClient,
  wanted: (id: string) => boolean = () => true,
): Promise<Judgement> {
  const selected = scenarios.filter(({ id, auth }) => client.auth.includes(auth) && wanted(id))
  const fromMs = Date.now()
  const command = client.command.map((word) => `'${word}'`).join(' ')
  const journals = await runScenarios(selected, { command, timeoutSeconds, signal: new AbortController().signal })
  const results = judgeJournals(journals, selected)
  const ids = (verdict: string): string[] => results.filter((one) => one.verdict === verdict).map(({ id }) => id)
  const messages = results.flatMap(({ id, findings }) => {
    const [first] = findings
    return first === undefined ? [] : [[id, `${first.scenario}: ${first.message}`]]
  })
  return {
    failed: ids('failed'),
    warned: ids('warned'),
    passed: ids('passed'),
    notExercised: ids('not-exercised'),
    messages: Object.fromEntries(messages),
    durationMs: Date.now() - fromMs,
  }
}

/** What is wrong with a judgement; null if it is right. */
export function judgementProblem(client: TestClient, { failed, warned, passed }: Judgement): string | null {
  const wrong = [...failed, ...warned]
  switch (client.kind) {
    case 'right':
      if (wrong.length > 0) return `a right client does not pass ${wrong.join(', ')}`
      return passed.length === 0 ? 'nothing is exercised' : null
    case 'inert':
      return passed.length + wrong.length > 0 ? `an inert client shows ${[...passed, ...wrong].join(', ')}` : null
    case 'broken': {
      const others = wrong.filter((check) => check !== client.check)
      if (others.length === wrong.length)
        return `not caught at ${client.check}; wrong: ${others.join(', ') || 'nothing'}`
      return others.length > mostOthers ? `${others.length} further checks: ${others.join(', ')}` : null
    }
  }
}

/** One mistake may show in neighbouring checks. */
const mostOthers = 2
