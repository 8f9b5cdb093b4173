import { asset, buildPage, reportStyle } from '../../page/build-page.ts'

const folder = 'suites/report/compare'

/** The page of many servers without its reports. */
export function buildComparison(): Promise<string> {
  const style = reportStyle() + asset(`${folder}/compare.css`)
  return buildPage({ template: `${folder}/compare.html`, style, script: `${folder}/page.ts` })
}
