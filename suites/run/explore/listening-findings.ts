/** What the model found by listening to the cases, as findings of the report. */
import { envelopeRequirements } from '../../engine/judge/classify.ts'
import type { CaseOutcome } from '../../engine/judge/problem.ts'
import type { Finding } from '../../report/report.ts'

type Found = Omit<Finding, 'known'>

/**
 * Findings at requirements that neither a case nor a call of the model shows to be broken: those are already reported.
 *
 * @param explored what the model found by calls of its own
 */
export function listeningFindings(outcomes: readonly CaseOutcome[], explored: readonly Found[]): Found[] {
  const shown = new Set(explored.map(({ requirement }) => requirement))
  for (const { requirements, envelope } of outcomes) {
    for (const [id, verdict] of Object.entries(requirements))
      if (verdict === 'failed' || verdict === 'warned') shown.add(id)
    for (const { problem } of envelope) shown.add(envelopeRequirements[problem.kind])
  }
  const found = new Map<string, Found>()
  for (const { key, findings = [] } of outcomes)
    for (const one of findings)
      if (!shown.has(one.requirement) && !found.has(one.id)) found.set(one.id, { ...one, case: key, ...notRepeated })
  return [...found.values()]
}

/** The model made no call for it, so it repeats none. */
const notRepeated: Pick<Finding, 'reproduced' | 'fixture' | 'exchanges' | 'history'> = {
  reproduced: { failed: 0, tries: 0 },
  fixture: null,
  exchanges: [],
  history: [],
}
