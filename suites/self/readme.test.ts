import { spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { allItems } from '../engine/case/cases.ts'
import { lintErrors } from '../engine/fixture/corpus.ts'
import { lintContext } from '../engine/fixture/lint-context.ts'
import { packageRoot } from '../engine/fixture/package-root.ts'
import { readScenario } from '../engine/fixture/parse.ts'
import { openCorpus } from '../run/corpus-cache.ts'
import { runAll } from '../run/run-in-process.ts'
import { parseTargetFile } from '../run/target-file/parse.ts'
import { bundledTarget } from '../targets/bundled.ts'
import { asPattern, consoleBlocks } from './readme-blocks.ts'

/**
 * Every ```console block of the README is run, as one shell session in an empty folder, and must print what it shows. `…` stands
 * for what differs from run to run. `npx svc-conformance` is the built command line of this checkout.
 */
const readme = readFileSync(join(packageRoot, 'README.md'), 'utf8')
const bin = join(packageRoot, 'dist', 'suites', 'bin.js')
const folder = mkdtempSync(join(tmpdir(), 'svc-readme-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const blocks = consoleBlocks(readme)

describe('README', () => {
  test('has commands to run', () => expect(blocks.length).toBeGreaterThan(2))

  for (const { line, commands } of blocks) {
    test(`line ${line}: ${commands[0]?.command}`, { timeout: 60_000 }, async () => {
      const outputs = await runSession(commands.map(({ command }) => command))
      for (const [index, { command, output }] of commands.entries()) {
        if (output === '') continue
        expect(outputs[index], `what "${command}" prints`).toMatch(asPattern(output))
      }
    })
  }
})

describe('README files', () => {
  test('the scenario lints and passes', async () => {
    const text = yamlBlock('scenario:')
    const file = 'fixtures/scenarios/refresh/readme.yaml'
    const corpus = await openCorpus()
    const read = readScenario(text, file)
    expect(lintErrors(read, lintContext(corpus))).toEqual([])
    const items = allItems({ ...corpus, testKeys: [], scenarios: [read.scenario] })
    const outcomes = await runAll({ target: bundledTarget(), corpus, items })
    expect(outcomes.map(({ verdict, problem }) => [verdict, problem])).toEqual([['passed', null]])
  })

  test('the target file is one', () => {
    expect(parseTargetFile(yamlBlock('url:'), 'svc-target.yaml')).toMatchObject({ allow: ['sessions'], rate: 20 })
  })
})

/** The ```yaml block that begins with this word. */
function yamlBlock(start: string): string {
  const block = readme.split('```yaml\n').find((part) => part.startsWith(start))
  if (block === undefined) throw new Error(`no yaml block of the README begins with "${start}"`)
  return block.slice(0, block.indexOf('```'))
}

const marker = '<<<next command>>>'

/** Runs the commands in one bash, and returns what each of them printed on stdout and stderr. */
function runSession(commands: string[]): Promise<string[]> {
  const script = [
    `npx() { if [ "$1" = svc-conformance ]; then shift; node "${bin}" "$@"; else command npx "$@"; fi; }`,
    ...commands.flatMap((command) => [command, `echo '${marker}'`]),
  ].join('\n')
  return new Promise((resolve, reject) => {
    const child = spawn('bash', ['-c', script], {
      cwd: folder,
      env: { ...process.env, NO_COLOR: '1', COLUMNS: '120' },
      stdio: ['ignore', 'pipe', 'pipe'],
      detached: true,
    })
    let printed = ''
    child.stdout.on('data', (chunk) => {
      printed += chunk
    })
    child.stderr.on('data', (chunk) => {
      printed += chunk
    })
    child.on('error', reject)
    // Servers that the session put in the background hold its output open: they end with it.
    child.on('exit', () => endGroup(child.pid))
    child.on('close', () => resolve(printed.split(`${marker}\n`)))
  })
}

function endGroup(leader: number | undefined): void {
  try {
    if (leader !== undefined) process.kill(-leader, 'SIGTERM')
  } catch {
    // Nothing was left in the background.
  }
}
