import { suggestion } from '../../engine/language/did-you-mean.ts'
import { demand } from '../../engine/language/schemas.ts'
import { readYaml } from '../../engine/language/yaml-source.ts'
import { checks } from '../all-checks.ts'
import type { CheckResult } from '../judge-journals.ts'
import type { CheckReport, ClientKnownEntry } from './client-report.ts'

/**
 * Parses a baseline of known failures of a client.
 *
 * @param file the path that errors name
 * @throws SuiteError (`fixture`): an unknown key or check, with its place and a did-you-mean
 */
export function parseClientKnown(text: string, file: string): ClientKnownEntry[] {
  const source = readYaml(text, file)
  if (source.value === null) return []
  demand(source, 'client-baseline')
  const ids = checks.map(({ id }) => id)
  return (source.value as Partial<ClientKnownEntry>[]).map((entry, index) => {
    const { check = '', scenario, reason = '', issue = null, sometimes = false } = entry
    if (!ids.includes(check))
      throw source.error({ path: [index, 'check'], message: `unknown check "${check}"${suggestion(check, ids)}` })
    return { check, ...(scenario === undefined ? {} : { scenario }), reason, issue, sometimes }
  })
}

/** The entry that covers every finding of a check; null if a finding is new, or there is none. */
export function applyKnown(
  known: readonly ClientKnownEntry[],
  { check, findings }: Pick<CheckResult, 'check' | 'findings'>,
): CheckReport['known'] {
  const mine = known.filter((entry) => entry.check === check.id)
  const [first] = mine
  const isKnown = findings.every(({ scenario }) =>
    mine.some((entry) => entry.scenario === undefined || entry.scenario === scenario),
  )
  return first !== undefined && findings.length > 0 && isKnown ? { reason: first.reason, issue: first.issue } : null
}

/** Entries whose checks pass. A check that was not exercised says nothing about its entry. */
export function staleEntries(
  known: readonly ClientKnownEntry[],
  results: readonly Pick<CheckResult, 'check' | 'verdict' | 'findings'>[],
): ClientKnownEntry[] {
  return known.filter((entry) => {
    const result = results.find(({ check }) => check.id === entry.check)
    if (result === undefined || result.verdict === 'not-exercised' || entry.sometimes) return false
    return !result.findings.some(({ scenario }) => entry.scenario === undefined || entry.scenario === scenario)
  })
}
