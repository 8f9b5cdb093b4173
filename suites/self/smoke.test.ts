import { readFileSync } from 'node:fs'
import { test } from 'vitest'
import { loadCorpus } from '../engine/fixture/corpus.ts'
import { packageRoot } from '../engine/fixture/package-root.ts'
import { parseScenario } from '../engine/fixture/parse.ts'
import { allItems } from '../engine/items.ts'
import { emptyKnowledge } from '../engine/knowledge.ts'
import { preflight } from '../engine/preflight.ts'
import { seededRandom } from '../engine/random.ts'
import { runItem } from '../engine/run-item.ts'
import { startRun } from '../engine/seat.ts'
import { bundledTarget, lastingTarget } from '../targets/bundled.ts'

test('smoke', async () => {
  const corpus = loadCorpus(packageRoot)
  if (process.env.SMOKE) corpus.scenarios = [parseScenario(readFileSync(process.env.SMOKE, 'utf8'), 'fixtures/scenarios/x/a.yaml')]
  for (const target of [bundledTarget(), lastingTarget()]) {
    const run = startRun({ target, corpus, knowledge: emptyKnowledge(), random: seededRandom(1), unique: 'u1', trace: true })
    let t = performance.now()
    await preflight(run, ['sessions', 'keys', 'limits'])
    console.log('preflight', performance.now() - t, run.knowledge)
    t = performance.now()
    const items = allItems(corpus)
    const counts: Record<string, number> = {}
    for (const item of items) {
      const outcome = await runItem(run, item)
      counts[outcome.verdict] = (counts[outcome.verdict] ?? 0) + 1
      if (outcome.verdict !== 'passed') console.log(outcome.key, outcome.verdict, JSON.stringify(outcome.problem, null, 1))
    }
    console.log(items.length, 'rows', counts, performance.now() - t)
  }
})
