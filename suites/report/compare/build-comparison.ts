import { asset, buildPage } from '../../page/build-page.ts'
import { styleFile } from '../html-page.ts'

const folder = 'suites/report/compare'

/** The page of many servers without its reports. */
export function buildComparison(): Promise<string> {
  const style = asset(styleFile) + asset(`${folder}/compare.css`)
  return buildPage({ template: `${folder}/compare.html`, style, script: `${folder}/page.ts` })
}
