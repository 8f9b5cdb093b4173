import { usageError } from '../engine/errors.ts'
import { suggestion } from '../engine/language/yaml-source.ts'
import { checks } from './all-checks.ts'
import type { ClientAuth } from './journal.ts'
import type { Scenario } from './scenario.ts'
import { scenarios } from './scenarios.ts'

interface Selection {
  auth: readonly ClientAuth[]
  /** Ids of checks or scenarios, or how they begin. */
  only: readonly string[]
  skip: readonly { id: string; reason: string }[]
}

export interface Selected {
  scenarios: Scenario[]
  isReported(check: string): boolean
}

/**
 * Selects by `--auth`, `--only` and `--skip`.
 *
 * @throws SuiteError (`usage`) for an unknown id, with a did-you-mean, and if nothing is left
 */
export function selectChecks({ auth, only, skip }: Selection): Selected {
  for (const id of only) demandId('--only', id)
  for (const { id } of skip) demandId('--skip', id)
  const isSkipped = (id: string): boolean => skip.some((one) => matches(id, one.id))
  const onlyChecks = only.filter((id) => checks.some((check) => matches(check.id, id)))
  const isReported = (id: string): boolean =>
    !isSkipped(id) && (onlyChecks.length === 0 || onlyChecks.some((one) => matches(id, one)))
  const reported = checks.map(({ id }) => id).filter(isReported)
  const wanted = scenarios.filter(
    (scenario) =>
      auth.includes(scenario.auth) &&
      !isSkipped(scenario.id) &&
      (only.length === 0 || only.some((id) => matches(scenario.id, id)) || isNeededFor(scenario, onlyChecks, reported)),
  )
  if (wanted.length === 0 || reported.length === 0)
    throw usageError('Nothing is selected: "client --list" shows the checks and scenarios')
  return { scenarios: wanted, isReported }
}

const matches = (id: string, prefix: string): boolean => id.startsWith(prefix)

/** Whether a scenario is made for a selected check; plain scenarios show the checks of every request. */
function isNeededFor(scenario: Scenario, onlyChecks: readonly string[], reported: readonly string[]): boolean {
  if (onlyChecks.length === 0) return false
  const madeFor = (check: string): boolean => scenario.check === check || scenario.exercises.includes(check)
  const isEverywhere = (check: string): boolean =>
    !scenarios.some((one) => one.check === check || one.exercises.includes(check))
  return reported.some((check) => madeFor(check) || (isEverywhere(check) && scenario.id.startsWith('plain/')))
}

/** Checks that every id exists: a misspelt one would silently select the wrong checks. */
function demandId(flag: string, id: string): void {
  const ids = [...checks.map((check) => check.id), ...scenarios.map((scenario) => scenario.id)]
  if (ids.some((one) => matches(one, id))) return
  const areas = [...new Set(ids.map((one) => one.split('/')[0] ?? one))]
  throw usageError(
    `No check or scenario matches "${flag} ${id}"${suggestion(id, id.includes('/') ? ids : areas) || '; "client --list" shows them'}`,
  )
}
