/// <reference lib="dom" />
import { svgElement } from '../../page/elements.ts'
import { verdictOrder } from '../verdict-words.ts'
import type { CompactReport } from './comparison.ts'

const width = 100
const height = 20

/** Cases that failed, from report to report. A single report has no trend. */
export function drawTrend(reports: readonly CompactReport[]): SVGElement[] {
  if (reports.length < 2) return []
  const failed = reports.map(failedCount)
  const most = Math.max(1, ...failed)
  const points = failed.map((count, index) => {
    const x = (index / (failed.length - 1)) * width
    return `${x.toFixed(1)},${(height - 1 - (count / most) * (height - 2)).toFixed(1)}`
  })
  const label = `Failed cases over ${reports.length} reports: from ${failed[0]} to ${failed.at(-1)}, at most ${Math.max(...failed)}`
  return [
    svgElement(
      'svg',
      {
        class: 'trend',
        viewBox: `0 0 ${width} ${height}`,
        preserveAspectRatio: 'none',
        role: 'img',
        'aria-label': label,
      },
      svgElement('title', {}, label),
      svgElement('polyline', { class: 'base', points: `0,${height - 1} ${width},${height - 1}` }),
      svgElement('polyline', { class: failed.every((count) => count === 0) ? 'even' : '', points: points.join(' ') }),
    ),
  ]
}

/** How many cases failed in a report. */
function failedCount({ counts }: CompactReport): number {
  return counts[verdictOrder.indexOf('failed')] ?? 0
}
