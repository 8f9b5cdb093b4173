import { allItems, provesOf } from '../engine/conversation/cases.ts'
import type { Corpus } from '../engine/language/fixture-types.ts'
import { envelopeCases } from './envelope.ts'
import type { RequirementSet } from './requirement-set.ts'

/** The set of all requirements and cases of a corpus. Pure. */
export function freezeSet(version: string, corpus: Corpus): RequirementSet {
  const cases = [
    ...allItems(corpus).map((item) => ({ key: item.key, proves: provesOf(item) })),
    ...envelopeCases([]).map(({ key, proves }) => ({ key, proves })),
  ]
  return {
    version,
    requirements: corpus.requirements.map(({ id, level }) => ({
      id,
      level,
      cases: cases.filter(({ proves }) => proves.includes(id)).map(({ key }) => key),
    })),
    observing: cases.filter(({ proves }) => proves.length === 0).map(({ key }) => key),
  }
}
