import type { Report } from './model.ts'

/** The report for scripts; its shape is spec/schemas/report.schema.json. */
export function renderJson(report: Report): string {
  return `${JSON.stringify(report, null, 2)}\n`
}
