import { buildPage, builtPage, pageStyle, withData } from '../../page/build-page.ts'
import type { Comparison } from './comparison.ts'

const folder = 'suites/report/compare'

/** The page of many servers without its reports. */
export function buildComparison(): Promise<string> {
  const style = pageStyle('suites/report/report.css', `${folder}/compare.css`)
  return buildPage({ template: `${folder}/compare.html`, style, script: `${folder}/page.ts` })
}

/** One self-contained page of all reports: servers, requirements, what changed, and the trend of each server. @param version of the suite */
export async function comparisonPage(
  comparison: Comparison,
  { version, made }: { version: string; made: Date },
): Promise<string> {
  const page = await builtPage(`${folder}/compare-page.html`, buildComparison)
  return withData(page, { comparison, made: made.toISOString(), version })
}
