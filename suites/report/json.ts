import { type Printable, printableJson, vouchedFor } from '../engine/printable.ts'
import type { Report } from './model.ts'

/** The report for scripts; its shape is spec/schemas/report.schema.json. Texts are exact: what no terminal may get is escaped as JSON does. */
export function renderJson(report: Report): Printable {
  return vouchedFor(`${printableJson(report, 2)}\n`)
}
