import { existsSync } from 'node:fs'
import { usageError } from '../../engine/errors.ts'
import type { Corpus } from '../../engine/language/fixture-types.ts'
import { demand } from '../../engine/language/schemas.ts'
import { readYaml, suggestion, type YamlSource } from '../../engine/language/yaml-source.ts'
import { everyAnswer } from '../../report/outcomes.ts'
import type { KnownEntry } from '../../report/report.ts'
import { replaceFile } from '../replace-file.ts'
import { readText } from './inputs.ts'
import { pathToItself } from './yaml-circle.ts'

/** Rows of the model's table and of its matrix: a finding is known by where it was found, too. */
const rowsOfModel = ['table', 'matrix']

const expectedList = 'expected a list of known failures (such as "- scenario: tokens/accepted" with a "reason")'

const kindOf = (value: unknown): string =>
  typeof value === 'object' ? 'a mapping' : typeof value === 'string' ? 'a text' : String(value)

type Written = Omit<KnownEntry, 'issue'> & { issue?: string | null }

/**
 * @param file the path that errors name
 * @param oldWords a baseline that is about to be rewritten may use the words of an earlier version
 * @throws SuiteError (`fixture`): an unknown key, scenario or requirement, with its place and a did-you-mean
 */
export function parseBaseline(text: string, file: string, corpus: Corpus, oldWords = false): KnownEntry[] {
  const source = withNewWords(readYaml(text, file), oldWords)
  if (source.value === null) return []
  if (!Array.isArray(source.value))
    throw source.error({ path: [], message: `${expectedList}, got ${kindOf(source.value)}` })
  demand(source, 'baseline')
  const scenarios = scenarioIds(corpus)
  const requirements = corpus.requirements.map(({ id }) => id)
  const findings = [...requirements.map((id) => `found/${id}`), ...rowsOfModel]
  return (source.value as Written[]).map((entry, index) => {
    if (![...scenarios, ...findings].some((id) => entry.scenario === id || entry.scenario.startsWith(`${id}/`))) {
      const message = `unknown scenario "${entry.scenario}"${suggestion(entry.scenario, scenarios)}`
      throw source.error({ path: [index, 'scenario'], message })
    }
    if (entry.requirement !== undefined && !requirements.includes(entry.requirement)) {
      const message = `unknown requirement "${entry.requirement}"${suggestion(entry.requirement, requirements)}`
      throw source.error({ path: [index, 'requirement'], message })
    }
    return { ...entry, issue: entry.issue ?? null }
  })
}

/** @throws SuiteError (`fixture`) where a baseline of an earlier version is not to be rewritten, or one contains itself */
function withNewWords(source: YamlSource, oldWords: boolean): YamlSource {
  const circle = pathToItself(source.value)
  if (circle !== undefined) throw source.error({ path: circle, message: 'this contains itself, through an alias' })
  if (!Array.isArray(source.value)) return source
  const value = source.value.map((entry: unknown, index) => {
    if (typeof entry !== 'object' || entry === null) return entry
    const { row, scenario, ...rest } = entry as { [name: string]: unknown }
    if (row === undefined && !String(scenario).startsWith(oldTestKeys)) return entry
    if (!oldWords && row !== undefined) {
      const message = 'rename "row" to "case", or let "--update-known" rewrite this file'
      throw source.error({ path: [index, 'row'], onKey: true, message })
    }
    if (!oldWords) {
      const message = `write "${newScenario(scenario)}", or let "--update-known" rewrite this file`
      throw source.error({ path: [index, 'scenario'], message })
    }
    return { scenario: newScenario(scenario), ...(row === undefined ? {} : { case: row }), ...rest }
  })
  return { ...source, value }
}

/** How an earlier version named the creation of a test key. */
const oldTestKeys = 'cast/'

const newScenario = (scenario: unknown): unknown =>
  typeof scenario === 'string' && scenario.startsWith(oldTestKeys)
    ? `test-keys/${scenario.slice(oldTestKeys.length)}`
    : scenario

function scenarioIds(corpus: Corpus): string[] {
  return [
    ...corpus.scenarios.map(({ id }) => id),
    ...corpus.testKeys.map(({ name }) => `test-keys/${name}`),
    everyAnswer,
  ]
}

/**
 * Reads a baseline.
 *
 * @param isUpdated a baseline that is about to be written may not exist yet, or use the words of an earlier version
 * @throws SuiteError (`usage`, `fixture`)
 */
export function readBaseline(file: string, corpus: Corpus, isUpdated: boolean): KnownEntry[] {
  if (!existsSync(file)) {
    if (isUpdated) return []
    throw usageError(`Cannot read the baseline "${file}": there is no such file; "--update-known" writes one`)
  }
  return parseBaseline(readText(file, 'the baseline'), file, corpus, isUpdated)
}

/** @throws SuiteError (`usage`) where it cannot be written */
export function writeBaseline(file: string, entries: readonly KnownEntry[]): void {
  replaceFile(file, renderBaseline(entries), 'the baseline')
}

/** YAML that parseBaseline reads back to the same entries. */
export function renderBaseline(entries: readonly KnownEntry[]): string {
  const head =
    '# Known failures. An entry that passes fails the run, so that this list only gets shorter. Entries of findings (found/…) stay\n# until you remove them, because a run that does not find one may not have made its calls.\n'
  if (entries.length === 0) return `${head}[]\n`
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
  return head + items.join('\n')
}
