import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { packageRoot } from '../../engine/fixture/package-root.ts'
import { buildPage } from '../../page/build-page.ts'
import { htmlStyle } from '../html-style.ts'

const folder = 'suites/report/compare'

/** The page of many servers without its reports. */
export function buildComparison(): Promise<string> {
  const style = htmlStyle + readFileSync(join(packageRoot, folder, 'compare.css'), 'utf8')
  return buildPage({ template: `${folder}/compare.html`, style, script: `${folder}/page.ts` })
}
