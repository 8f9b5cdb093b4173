/**
 * Runs the long proofs, one after the other: `npm run proof`. `npm test` has a short form of each. `--quick` runs those that take minutes.
 *
 * Proofs that passed for the current sources are not run again: an interrupted run continues where it stopped. `--again` runs all.
 */
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { readArguments } from './arguments.ts'

const { values } = readArguments({
  options: { again: { type: 'boolean', default: false }, quick: { type: 'boolean', default: false } },
})

interface Proof {
  name: string
  command: [string, ...string[]]
  env?: { [name: string]: string }
}

const script = (name: string, ...args: string[]): Proof['command'] => [
  process.execPath,
  `.build/scripts/${name}.js`,
  ...args,
]

/** Test files of which `npm test` runs a part. */
const whole = (name: string, ...files: string[]): Proof => ({
  name,
  command: ['npx', 'vitest', 'run', '--config', 'suites/vitest.config.ts', ...files],
  env: { SVC_PROOF: '1' },
})

/** What `--quick` leaves out comes last; before it the short ones come first, so that a defect shows soon. */
const quickProofs: readonly Proof[] = [
  whole(
    'what npm test leaves out because it takes a minute: kept findings, keys that stay, shards, facts, causes of sessions',
    'suites/explore/shrink.long.test.ts',
    'suites/self/hostile.test.ts',
    'suites/self/facts.test.ts',
    'suites/self/recipes.test.ts',
    'suites/self/run-lifecycle.test.ts',
  ),
  whole(
    'every mutant is caught at the requirement that it breaks, and only idle scenarios say why',
    'suites/self/mutants.test.ts',
  ),
]

const longProofs: readonly Proof[] = [
  whole(
    'the runner in Python reaches every verdict of the suite, on ten broken servers too',
    'suites/self/python-runner.test.ts',
  ),
  whole(
    'what a few servers show in npm test holds for all of them: null, unusual, conforming in other ways, alone and together',
    'suites/explore/explore.long.test.ts',
    'suites/run/explore.long.test.ts',
    'suites/run/lost-preparation.long.test.ts',
    'suites/explore/third-witness.long.test.ts',
    'suites/explore/worlds.long.test.ts',
    'suites/self/null-servers.test.ts',
    'suites/engine/model/sessions.test.ts',
    'suites/self/list-matrix.test.ts',
    'suites/self/odd-targets.test.ts',
    'suites/self/at-no-other.test.ts',
    'suites/self/conforming.test.ts',
  ),
  whole(
    'what a few mistakes, clients and pages show in npm test holds for all of them',
    'suites/lab/by-hand.long.test.ts',
    'suites/lab/diagnose.long.test.ts',
    'suites/lab/lab.long.test.ts',
    'suites/self/clients/clients.test.ts',
    'suites/self/pages.test.ts',
  ),
  {
    name: 'a server that keeps its state over a run is judged the same in ten orders of the cases, with each defect',
    command: script('orders'),
  },
  { name: 'a bundled run that is interrupted at any of a hundred times ends with 130', command: script('interrupt') },
  ...['1000', '2000'].map(
    (seed): Proof => ({
      name: `five minutes through a proxy that flips bytes, from seed ${seed} on, end every run as runs end`,
      command: script('hostile', '--proxy', '5', '--seed', seed),
    }),
  ),
  whole('a server written from the document alone conforms, and its defects are found', 'suites/self/foreign.test.ts'),
  {
    name: 'no variant fails, alone, on fresh servers and on a lasting one, asked one, four or sixteen calls at once',
    command: script('variants', '--concurrency', '1,4,16'),
  },
  { name: 'mocks made from facts answer as the server does', command: script('facts-proof') },
  {
    name: 'what a model that listens finds is found in the recorded traffic too, and no conforming server is accused',
    command: script('watch-proof', '--every', '40'),
  },
  { name: 'every test client is judged rightly', command: script('clients') },
  { name: 'no attack succeeds', command: script('hostile') },
  { name: 'no verdict differs from run to run', command: script('steadiness') },
  { name: 'the model raises no alarm on a conforming server', command: script('explore-proof', '--variants') },
  { name: 'the model finds servers that nobody wrote a case for', command: script('explore-proof', '--mutants') },
]

const sources = ['fixtures', 'mock-server', 'spec', 'suites', 'scripts', 'package-lock.json']
const stateFile = '.build/proofs.json'

interface State {
  /** Of the sources for which these passed. */
  digest: string
  passed: string[]
}

function digestOfSources(): string {
  const hash = createHash('sha256')
  const add = (path: string): void => {
    if (statSync(path).isDirectory()) for (const name of readdirSync(path).sort()) add(join(path, name))
    else hash.update(`${path}\n`).update(readFileSync(path))
  }
  for (const path of sources) add(path)
  return hash.digest('hex')
}

function readState(digest: string): State {
  try {
    const state = JSON.parse(readFileSync(stateFile, 'utf8')) as State
    if (state.digest === digest && !values.again) return state
  } catch {
    // Nothing was proved here before.
  }
  return { digest, passed: [] }
}

function main(): 0 | 1 {
  const state = readState(digestOfSources())
  const proofs = values.quick ? quickProofs : [...quickProofs, ...longProofs]
  for (const { name, command, env } of proofs) {
    if (state.passed.includes(name)) {
      console.log(`Passed before: ${name}`)
      continue
    }
    console.log(`Proving: ${name}`)
    const [program, ...args] = command
    const { status } = spawnSync(program, args, { stdio: 'inherit', env: { ...process.env, ...env } })
    if (status !== 0) {
      console.error(`Not proved: ${name}`)
      return 1
    }
    state.passed.push(name)
    mkdirSync('.build', { recursive: true })
    writeFileSync(stateFile, `${JSON.stringify(state)}\n`)
  }
  return 0
}

process.exitCode = main()
