/** What judges a run besides its cases: the baseline of known failures, a frozen set of requirements, and the report of an earlier run. */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type SuiteError, usageError } from '../engine/errors.ts'
import type { Corpus } from '../engine/language/fixture-types.ts'
import { packageRoot } from '../engine/language/package-root.ts'
import { demand, problemWith, readFitting } from '../engine/language/schemas.ts'
import { readYaml, suggestion, type YamlSource } from '../engine/language/yaml-source.ts'
import type { RequirementSet } from '../report/build.ts'
import { everyAnswer } from '../report/build.ts'
import type { KnownEntry, Report } from '../report/report.ts'
import { readText, replaceFile } from './files.ts'

// The report of an earlier run.

const longestReport = 64 * 2 ** 20

/** Reads a JSON report that `run --report json=FILE` wrote. @throws SuiteError (`usage`) */
export function readReportFile(file: string): Report {
  const text = readText(file, 'the report', longestReport)
  const fail = (why: string, cause?: unknown): SuiteError =>
    usageError(`Cannot use "${file}": expected a JSON report (run --report json=FILE)${why}`, { cause })
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (cause) {
    throw fail(', it is not JSON', cause)
  }
  const problem = problemWith(value, 'report')
  if (problem === undefined) return value as Report
  const place = problem.path.length === 0 ? '' : ` at ${problem.path.join('.')}`
  throw fail(`${place}: ${problem.message}`)
}

/** The items that `--failed` runs again: cases that failed or were blocked; for a case about every answer, its requirement. */
export function failedIds(report: Pick<Report, 'cases'>): string[] {
  const open = report.cases.filter(({ verdict }) => verdict === 'failed' || verdict === 'blocked')
  return [...new Set(open.flatMap(({ id, key, proves }) => (id === everyAnswer ? proves : [key])))]
}

// Sets of requirements.

/** The set of every case of this version of the suite. */
export const everyCase = 'current'

/** The versions of the frozen requirement sets of this package. */
export function requirementSets(): string[] {
  return readdirSync(join(packageRoot, 'spec', 'sets')).map((name) => name.replace(/\.yaml$/, ''))
}

/** Reads a frozen set; null for `current`, which is not frozen. @throws SuiteError (`fixture`) if the file does not fit its schema */
export function readRequirementSet(version: string): RequirementSet | null {
  if (version === everyCase) return null
  const file = `spec/sets/${version}.yaml`
  return readFitting(readFileSync(join(packageRoot, file), 'utf8'), file, 'requirement-set')
}

// The baseline.

/**
 * Reads a baseline.
 *
 * @param isUpdated it is about to be written: it may not exist yet, or use the words of an earlier version
 * @throws SuiteError (`usage`; `fixture` for an unknown key, scenario or requirement, with its place and a did-you-mean)
 */
export function readBaseline(file: string, corpus: Corpus, isUpdated: boolean): KnownEntry[] {
  if (!existsSync(file)) {
    if (isUpdated) return []
    throw usageError(`Cannot read the baseline "${file}": there is no such file; "--update-known" writes one`)
  }
  const source = withNewWords(readYaml(readText(file, 'the baseline'), file), isUpdated)
  const { value } = source
  if (value === null) return []
  if (!Array.isArray(value)) {
    const kind = typeof value === 'object' ? 'a mapping' : typeof value === 'string' ? 'a text' : String(value)
    throw source.error({ path: [], message: `${expectedList}, got ${kind}` })
  }
  demand(source, 'baseline')
  const scenarios = [
    ...corpus.scenarios.map(({ id }) => id),
    ...corpus.testKeys.map(({ name }) => `test-keys/${name}`),
    everyAnswer,
  ]
  const requirements = corpus.requirements.map(({ id }) => id)
  const known = [...scenarios, ...requirements.map((id) => `found/${id}`), ...rowsOfModel]
  return (value as Written[]).map((entry, index) => {
    const { scenario, requirement } = entry
    const demandKnown = (isKnown: boolean, word: 'scenario' | 'requirement', id: string, ids: string[]): void => {
      if (!isKnown)
        throw source.error({ path: [index, word], message: `unknown ${word} "${id}"${suggestion(id, ids)}` })
    }
    const isKnown = known.some((id) => scenario === id || scenario.startsWith(`${id}/`))
    demandKnown(isKnown, 'scenario', scenario, scenarios)
    if (requirement !== undefined)
      demandKnown(requirements.includes(requirement), 'requirement', requirement, requirements)
    return { ...entry, issue: entry.issue ?? null }
  })
}

type Written = Omit<KnownEntry, 'issue'> & { issue?: string | null }

const expectedList = 'expected a list of known failures (such as "- scenario: tokens/accepted" with a "reason")'

/** Rows of the model's table and of its matrix: a finding is known by where it was found, too. */
const rowsOfModel = ['table', 'matrix']

/** How an earlier version named the creation of a test key. */
const oldTestKeys = 'cast/'

/** @throws SuiteError (`fixture`) where a baseline of an earlier version is not to be rewritten */
function withNewWords(source: YamlSource, oldWords: boolean): YamlSource {
  if (!Array.isArray(source.value)) return source
  const value = source.value.map((entry: unknown, index) => {
    if (typeof entry !== 'object' || entry === null) return entry
    const { row, scenario, ...rest } = entry as { [name: string]: unknown }
    const isOld = typeof scenario === 'string' && scenario.startsWith(oldTestKeys)
    if (row === undefined && !isOld) return entry
    const renamed = isOld ? `test-keys/${scenario.slice(oldTestKeys.length)}` : scenario
    if (!oldWords) {
      const advice = row === undefined ? `write "${renamed}"` : 'rename "row" to "case"'
      const place = row === undefined ? { path: [index, 'scenario'] } : { path: [index, 'row'], onKey: true }
      throw source.error({ ...place, message: `${advice}, or let "--update-known" rewrite this file` })
    }
    return { scenario: renamed, ...(row === undefined ? {} : { case: row }), ...rest }
  })
  return { ...source, value }
}

/** Writes YAML that readBaseline reads back to the same entries. @throws SuiteError (`usage`) where it cannot be written */
export function writeBaseline(file: string, entries: readonly KnownEntry[]): void {
  const head =
    '# Known failures. An entry that passes fails the run, so that this list only gets shorter. Entries of findings (found/…) stay\n# until you remove them, because a run that does not find one may not have made its calls.\n'
  // Every JSON string is a YAML string.
  const line = (key: string, value: string | undefined): string[] =>
    value === undefined ? [] : [`${key}: ${JSON.stringify(value)}`]
  const items = entries.map(({ scenario, case: name, requirement, reason, issue, sometimes }) => {
    const lines = [
      ...line('scenario', scenario),
      ...line('case', name),
      ...line('requirement', requirement),
      ...line('reason', reason),
      ...(issue === null ? ['issue: null # a link'] : line('issue', issue)),
      ...(sometimes === true ? ['sometimes: true'] : []),
    ]
    return `- ${lines.join('\n  ')}\n`
  })
  replaceFile(file, head + (items.join('\n') || '[]\n'), 'the baseline')
}
