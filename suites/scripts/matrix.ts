import { loadCorpus } from '../engine/fixture/corpus.ts'
import { packageRoot } from '../engine/fixture/package-root.ts'
import { hunt, itemsOf } from '../self/mutation.ts'
import { loadMutants } from '../targets/bundled.ts'

const corpus = loadCorpus(packageRoot)
const t0 = performance.now()
let survivors = 0
const mutants = await loadMutants()
for (const mutant of mutants.filter((m) => process.argv[2] === undefined || m.id.includes(process.argv[2]) || m.breaks.startsWith(process.argv[2]))) {
  const items = itemsOf(corpus, mutant.breaks)
  try {
    const r = await hunt(mutant, corpus, items)
    if (r.killers.length === 0) { survivors++; console.log('SURVIVOR', mutant.id, mutant.breaks, JSON.stringify(r.seen), items.length) }
    else if (process.argv[3]) console.log('killed', mutant.id, r.killers.join(', '))
  } catch (e) { survivors++; console.log('ERROR', mutant.id, mutant.breaks, (e as Error).message) }
}
const broken = new Set(mutants.map((m) => m.breaks))
console.log('no mutant:', corpus.requirements.filter((r) => !broken.has(r.id)).map((r) => r.id).join(' '))
console.log(mutants.length, 'mutants', survivors, 'survivors', Math.round(performance.now() - t0), 'ms')
