/** What an exploration found, for a terminal. */
import type { Requirement } from '../engine/language/fixture-types.ts'
import { exploredSentence, reproducedSentence, sinceLines, skippedLines } from '../report/explain.ts'
import type { Exploration } from './explore.ts'
import { exploredOf } from './explored.ts'
import type { Found } from './findings.ts'
import type { ExploreMeta } from './report.ts'

export function renderExploration(
  exploration: Exploration,
  requirements: readonly Requirement[],
  meta: ExploreMeta,
): string {
  const { findings } = exploration
  const lines = findings.flatMap((finding, index) => [...findingLines(finding, index + 1, requirements), ''])
  const gone = exploration.gone === null ? [] : [`The target went away: ${exploration.gone}`]
  const result =
    findings.length === 0
      ? `Nothing found at ${meta.target}: the document allows every answer to the calls that were tried`
      : `${findings.length} ${findings.length === 1 ? 'finding' : 'findings'} at ${meta.target}`
  const effort = exploredSentence(exploredOf(exploration), exploration.seconds)
  const skipped = skippedLines(exploration.skipped)
  const rest = skipped.length === 0 ? [] : [...skipped, 'A longer "--for" reaches them']
  return `${[...lines, ...gone, result, effort, ...rest, `Seed ${meta.seed}`].join('\n')}\n`
}

function findingLines(finding: Found, number: number, requirements: readonly Requirement[]): string[] {
  const { requirement, level, message, steps, history } = finding
  const sentence = requirements.find(({ id }) => id === requirement)
  return [
    `${number}. ${message} (${requirement}, ${level})`,
    `   The document, part ${sentence?.part ?? '?'}: ${sentence?.text ?? ''}`,
    ...steps.map((step, index) => `   ${index + 1}) ${step}`),
    ...lanes(history),
    `   ${reproducedSentence(finding)}`,
    ...sinceLines(finding).map((text) => `   ${text}`),
  ]
}

const columns = 48

/** A lane for each connection, time to the right. */
function lanes(history: Found['history']): string[] {
  const end = Math.max(1, ...history.map(({ endMs }) => endMs))
  const at = (ms: number): number => Math.round((ms / end) * columns)
  const width = `   ${' '.repeat(4)}0 ms${`${Math.round(end)} ms`.padStart(columns - 3)}`
  const bars = history.map(({ startMs, endMs, call, answer, connection }) => {
    const bar = '━'.repeat(Math.max(1, at(endMs) - at(startMs)))
    return `   ${connection.padStart(3)} │${' '.repeat(at(startMs))}${bar}${' '.repeat(Math.max(0, columns - at(startMs) - bar.length))}│ ${call}: ${answer}`
  })
  return history.length === 0 ? [] : [width, ...bars]
}
