import { jsonLine, type Printable } from '../engine/printable.ts'
import type { Report } from './report.ts'

/**
 * The report for scripts, as in spec/schemas/report.schema.json. Texts are exact; characters that are unsafe on a terminal are escaped as
 * in JSON.
 */
export function renderJson(report: Report): Printable {
  return jsonLine(report, 2)
}
