import { builtPage, withData } from '../../page/build-page.ts'
import { buildComparison } from './build-comparison.ts'
import type { Comparison } from './comparison.ts'

/** What the page holds besides the reports. */
interface PageMeta {
  /** Of the suite. */
  version: string
  made: Date
}

/** One self-contained page of all reports: servers, requirements, what changed, and the trend of each server. */
export async function comparisonPage(comparison: Comparison, { version, made }: PageMeta): Promise<string> {
  const page = await builtPage('suites/report/compare/compare-page.html', buildComparison)
  return withData(page, { comparison, made: made.toISOString(), version })
}
