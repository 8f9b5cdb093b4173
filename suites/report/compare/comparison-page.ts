import { existsSync, readFileSync } from 'node:fs'
import type { Comparison } from './comparison.ts'

const built = new URL('compare-page.html', import.meta.url)

/** What the page holds besides the reports. */
export interface PageMeta {
  /** Of the suite. */
  version: string
  made: Date
}

/** One self-contained page of all reports: servers, requirements, what changed, and the trend of each server. */
export async function comparisonPage(comparison: Comparison, { version, made }: PageMeta): Promise<string> {
  // In JSON a "<" is the same as its escape; in HTML only the escape cannot end the element.
  const data = JSON.stringify({ comparison, made: made.toISOString(), version }).replaceAll('<', '\\u003c')
  return (await pageWithoutData()).replace('"compare:data"', () => data)
}

/** As `npm run build` leaves it beside this file; where there was no build it is bundled on the spot. */
async function pageWithoutData(): Promise<string> {
  if (existsSync(built)) return readFileSync(built, 'utf8')
  const { buildPage } = await import('./build-page.ts')
  return buildPage()
}
