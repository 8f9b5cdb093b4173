/** How many calls the model made, in words, and at which parts of calls it found something: one line for each part. */
import { countBy, counted, fewOf } from '../engine/group.ts'
import type { PrintedReport } from './printed.ts'
import type { Explored } from './report.ts'

/** Empty where the model made no call. */
export function exploredLines({ explored, findings }: Pick<PrintedReport, 'explored' | 'findings'>): string[] {
  if (explored === null) return []
  return [
    exploredSentence(explored),
    ...skippedLines(explored.skipped ?? []),
    ...[...countBy(findings, (finding) => finding.case)].map(
      ([name, count]) => `${name}: ${counted(count, 'finding')}`,
    ),
  ]
}

/** Describes how much was covered: parts of calls, changes of them, and pairs of the matrix. @param seconds how long it took, where that is said */
export function exploredSentence(explored: Explored, seconds?: number): string {
  const { calls, repeated, changes, pairs, parts } = explored
  const begun = parts.filter(({ asked }) => asked > 0).length
  const time = seconds === undefined ? '' : ` in ${seconds.toFixed(1)} s`
  const again = repeated === 0 ? '' : `, and ${inWords(repeated)} to repeat findings`
  const changed = `${shareOf(begun, parts.length)} parts of a call in ${shareOf(changes.asked, changes.all)} ways`
  return `The model made ${inWords(calls)} calls${time}${again}. It changed ${changed}, and tried ${shareOf(pairs.covered, pairs.all)} combinations`
}

const shareOf = (some: number, all: number): string => `${inWords(some)} of ${inWords(all)}`

/** `14,444` */
const inWords = (count: number): string => count.toLocaleString('en-US')

const shownSkipped = 5

/** Names the first sequences that the model left out; empty if it made all. */
export function skippedLines(skipped: readonly string[]): string[] {
  return skipped.length === 0 ? [] : [`Too few calls or too little time for: ${fewOf(skipped, shownSkipped)}`]
}
