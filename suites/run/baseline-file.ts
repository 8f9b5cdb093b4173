import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { SuiteError } from '../engine/errors.ts'
import { suggestion } from '../engine/fixture/did-you-mean.ts'
import type { Corpus } from '../engine/fixture/model.ts'
import { demand } from '../engine/fixture/schemas.ts'
import { readYaml } from '../engine/fixture/yaml-source.ts'
import { everyAnswer } from './envelope.ts'
import type { KnownEntry } from './model.ts'

type Written = Omit<KnownEntry, 'issue'> & { issue?: string | null }

/**
 * @param file the path that errors name
 * @throws SuiteError (`fixture`): an unknown key, scenario or requirement, with its place and a did-you-mean
 */
export function parseKnown(text: string, file: string, corpus: Corpus): KnownEntry[] {
  const source = readYaml(text, file)
  if (source.value === null) return []
  demand(source, 'baseline')
  const scenarios = scenarioIds(corpus)
  const requirements = corpus.requirements.map(({ id }) => id)
  const findings = requirements.map((id) => `found/${id}`)
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
 * @param mayBeMissing a baseline that is about to be written may not exist yet
 * @throws SuiteError (`usage`, `fixture`)
 */
export function readKnownFile(file: string, corpus: Corpus, mayBeMissing: boolean): KnownEntry[] {
  if (!existsSync(file)) {
    if (mayBeMissing) return []
    throw new SuiteError(
      'usage',
      `Cannot read the baseline "${file}": there is no such file; "--update-known" writes one`,
    )
  }
  let text: string
  try {
    text = readFileSync(file, 'utf8')
  } catch (cause) {
    const code = (cause as NodeJS.ErrnoException).code
    const why = code === 'EISDIR' ? 'it is a folder, name a file in it' : code
    throw new SuiteError('usage', `Cannot read the baseline "${file}": ${why}`, { cause })
  }
  return parseKnown(text, file, corpus)
}

/** @throws SuiteError (`usage`) where it cannot be written */
export function writeKnownFile(file: string, entries: readonly KnownEntry[]): void {
  try {
    writeFileSync(file, renderKnown(entries))
  } catch (cause) {
    throw new SuiteError('usage', `Cannot write the baseline "${file}": ${(cause as NodeJS.ErrnoException).code}`, {
      cause,
    })
  }
}

/** YAML that parseKnown reads back to the same entries. */
export function renderKnown(entries: readonly KnownEntry[]): string {
  const head = '# Known failures. An entry that passes fails the run, so that this list only gets shorter.\n'
  if (entries.length === 0) return `${head}[]\n`
  // A JSON string is a YAML string, whatever is in it.
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
