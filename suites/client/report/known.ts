import { readFileSync, statSync } from 'node:fs'
import { SuiteError } from '../../engine/errors.ts'
import { suggestion } from '../../engine/fixture/did-you-mean.ts'
import { demand } from '../../engine/fixture/schemas.ts'
import { readYaml } from '../../engine/fixture/yaml-source.ts'
import { checks } from '../all-checks.ts'
import type { CheckResult } from '../judge-journals.ts'
import type { CheckReport, ClientKnownEntry } from './model.ts'

const longestBytes = 4 * 2 ** 20

/**
 * Reads a baseline of known failures of a client.
 *
 * @throws SuiteError (`usage`, `fixture`): no such file, an unknown key or check, with its place and a did-you-mean
 */
export function readClientKnown(file: string): ClientKnownEntry[] {
  const fail = (why: string): SuiteError => new SuiteError('usage', `Cannot read the baseline "${file}": ${why}`)
  try {
    const found = statSync(file, { throwIfNoEntry: false })
    if (found === undefined) throw fail('there is no such file')
    if (!found.isFile()) throw fail('it is not a file')
    if (found.size > longestBytes) throw fail(`it is longer than ${longestBytes / 2 ** 20} MiB`)
    return parseClientKnown(readFileSync(file, 'utf8'), file)
  } catch (cause) {
    if (cause instanceof SuiteError) throw cause
    throw new SuiteError('usage', `Cannot read the baseline "${file}": ${(cause as NodeJS.ErrnoException).code}`, {
      cause,
    })
  }
}

/** @param file the path that errors name */
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
