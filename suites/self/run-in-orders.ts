import type { Item } from '../engine/conversation/cases.ts'
import type { Corpus } from '../engine/language/fixture-types.ts'
import { runAll } from '../run/run.ts'
import { brokenTarget, type Defect } from './defects.ts'

/** What runs in several orders showed about one server. */
interface Steadiness {
  /** Verdicts that differ from those of the first order, and failures of requirements that nothing broke. */
  problems: string[]
  /** How many cases got which verdict, in the first order. */
  counts: { [verdict: string]: number }
  /** Requirements that failed or warned. */
  broken: string[]
}

const severalAtOnce = 16

/** Runs the same cases against a server with these defects, in the order of each seed: first one call at a time, then several at once. */
export async function runInOrders(
  { corpus, items }: { corpus: Corpus; items: readonly Item[] },
  defects: readonly Defect[],
  seeds: readonly number[],
): Promise<Steadiness> {
  const allowed = new Set(defects.flatMap(({ breaks }) => breaks))
  const problems: string[] = []
  const counts: Steadiness['counts'] = {}
  const broken = new Set<string>()
  const first = new Map<string, string>()
  for (const [index, seed] of seeds.entries()) {
    const target = brokenTarget(defects, { concurrency: index % 2 === 0 ? 1 : severalAtOnce })
    for (const { key, verdict, requirements } of await runAll({ target, corpus, items, seed })) {
      if (index === 0) {
        first.set(key, verdict)
        counts[verdict] = (counts[verdict] ?? 0) + 1
      } else if (first.get(key) !== verdict) problems.push(`seed ${seed}: ${key} was ${first.get(key)}, is ${verdict}`)
      for (const [id, one] of Object.entries(requirements)) {
        if (one !== 'failed' && one !== 'warned') continue
        broken.add(id)
        if (!allowed.has(id)) problems.push(`seed ${seed}: ${key} is ${one} for ${id}, which nothing broke`)
      }
    }
  }
  for (const id of allowed) if (!broken.has(id)) problems.push(`${id} is broken, and nothing failed`)
  return { problems, counts, broken: [...broken].sort() }
}
