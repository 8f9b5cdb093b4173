/** Whether the scenarios that `explore` writes show what it found: each must fail on the broken server and pass on the reference server. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { allItems } from '../engine/case/cases.ts'
import { loadOwnScenarios } from '../engine/fixture/corpus.ts'
import type { Corpus } from '../engine/fixture/fixture-types.ts'
import { languageVersion } from '../engine/fixture/folder.ts'
import { seededRandom } from '../engine/random.ts'
import type { TargetSettings } from '../engine/target.ts'
import { openRun } from '../run/run.ts'
import { lastingTarget, type ServerOptions } from '../targets/bundled.ts'

/** `works`, or what is wrong with a scenario. */
export type FixtureOutcome =
  | 'works'
  | `accuses ${string}`
  | `passes there (${string})`
  | `not passed on the reference server (${string})`
  | `not read: ${string}`

interface Server {
  readonly settings: Partial<TargetSettings>
  create(): Omit<ServerOptions, 'clock'>
}

interface ConformingServer extends Server {
  readonly id: string
}

/** Runs the text of a scenario on a new instance of the broken server, and of the reference server. */
export async function tryFixture(
  text: string,
  requirement: string,
  broken: Server,
  { corpus, conforming }: { corpus: Corpus; conforming: readonly ConformingServer[] },
): Promise<FixtureOutcome> {
  let scenarios: Corpus['scenarios']
  try {
    scenarios = readFound(text, corpus)
  } catch (error) {
    return `not read: ${error instanceof Error ? error.message : String(error)}`
  }
  const there = await verdictOn(broken, { ...corpus, scenarios }, requirement)
  if (there !== 'failed' && there !== 'warned') return `passes there (${there})`
  const here = await verdictOn({ settings: {}, create: () => ({}) }, { ...corpus, scenarios }, requirement)
  for (const server of conforming) {
    const verdict = await verdictOn(server, { ...corpus, scenarios }, requirement)
    if (verdict === 'failed' || verdict === 'warned') return `accuses ${server.id}`
  }
  return here === 'passed' ? 'works' : `not passed on the reference server (${here})`
}

function readFound(text: string, corpus: Corpus): Corpus['scenarios'] {
  const folder = mkdtempSync(join(tmpdir(), 'svc-found-'))
  try {
    mkdirSync(join(folder, 'scenarios', 'found'), { recursive: true })
    writeFileSync(join(folder, 'language.yaml'), `language: ${languageVersion}\n`)
    writeFileSync(join(folder, 'scenarios', 'found', 'one.yaml'), text)
    return loadOwnScenarios(folder, corpus)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

async function verdictOn({ settings, create }: Server, corpus: Corpus, requirement: string): Promise<string> {
  const target = lastingTarget(create(), settings)
  const run = await openRun({
    target,
    corpus,
    items: allItems(corpus),
    seed: 1,
    random: seededRandom(1),
    allow: ['sessions', 'keys', 'limits'],
    unique: 'f1',
  })
  try {
    const verdicts: string[] = []
    for (const item of run.items) {
      const { requirements, verdict, problem } = await run.runItem(item)
      if (item.kind === 'test-key') continue
      const shown = requirements[requirement] ?? verdict
      const isClear = shown === 'passed' || shown === 'failed' || shown === 'warned'
      verdicts.push(isClear || problem === undefined ? shown : `${shown}: ${JSON.stringify(problem).slice(0, 300)}`)
    }
    return verdicts.find((one) => one !== 'passed') ?? verdicts[0] ?? 'no case'
  } finally {
    await run.end()
    await target.close?.()
  }
}
