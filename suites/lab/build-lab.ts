import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { packageRoot } from '../engine/language/package-root.ts'
import { parseRequirements } from '../engine/language/parse.ts'
import { flatVectors, loadVectors } from '../engine/language/vectors.ts'
import { buildPage, pageStyle, withData } from '../page/build-page.ts'

/** The lab page with the vectors in it. Its script is bundled from this folder and the very modules of `diagnose`. */
export async function buildLab(): Promise<string> {
  const style = pageStyle('suites/lab/lab.css')
  const page = await buildPage({ template: 'suites/lab/lab.html', style, script: 'suites/lab/page.ts' })
  const file = 'spec/requirements.yaml'
  const requirements = parseRequirements(readFileSync(join(packageRoot, file), 'utf8'), file)
  return withData(page, {
    vectors: flatVectors(loadVectors(packageRoot)).vectors,
    sentences: Object.fromEntries(requirements.map(({ id, text }) => [id, text])),
  })
}
