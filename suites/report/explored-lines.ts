/** How many calls the model made, in words, and at which parts of calls it found something: one line for each part. */
import { countBy, counted } from '../engine/group.ts'
import type { PrintedReport } from './printed.ts'

/** Empty where the model made no call. */
export function exploredLines({ explored, findings }: Pick<PrintedReport, 'explored' | 'findings'>): string[] {
  if (explored === null) return []
  const { calls, repeated, changes, pairs, parts, skipped = [] } = explored
  const begun = parts.filter(({ asked }) => asked > 0).length
  const again = repeated === 0 ? '' : `, and ${repeated} to repeat findings`
  return [
    `The model made ${calls} calls${again}: ${begun} of ${parts.length} parts of calls, ${changes.asked} of ${changes.all} changes of them, ${pairs.covered} of ${pairs.all} pairs of the matrix`,
    ...skippedLines(skipped),
    ...[...countBy(findings, (finding) => finding.case)].map(
      ([name, count]) => `${name}: ${counted(count, 'finding')}`,
    ),
  ]
}

/** Names the sequences that the model left out; empty if it made all. */
export const skippedLines = (skipped: readonly string[]): string[] =>
  skipped.length === 0 ? [] : [`Calls or time did not suffice for: ${skipped.join(', ')}`]
