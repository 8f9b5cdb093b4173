/** The last step of `npm run build`: puts what is derived from other files beside the compiled modules. */
import { chmodSync, copyFileSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { writeBundles, writeCompiledSchemas } from './build-steps.ts'
import { packageRoot } from './engine/language/package-root.ts'
import { readYaml } from './engine/language/yaml-source.ts'
import { buildLab } from './lab/lab-page.ts'
import { buildComparison } from './report/compare/build-comparison.ts'
import { writeCorpusCache } from './run/corpus-cache.ts'

// Every command that reads a corpus with a mistake reports it, so the build continues.
await writeCorpusCache()
  .then(writeCompiledSchemas)
  .then(writePackageYaml)
  .catch((error: Error) => console.error(error.message))
writeFileSync(new URL('lab/lab-page.html', import.meta.url), await buildLab())
writeFileSync(new URL('report/compare/compare-page.html', import.meta.url), await buildComparison())
for (const file of ['suites/page/base.css', 'suites/report/report.css', 'suites/report/html-filters.js'])
  copyFileSync(join(packageRoot, file), join(packageRoot, 'dist', file))
await writeBundles()
chmodSync(new URL('bin.js', import.meta.url), 0o755)

/** What readPackageYaml finds: the files that a run would parse. */
function writePackageYaml(): void {
  const worlds = readdirSync(join(packageRoot, 'fixtures', 'worlds')).filter((file) => file.endsWith('.yaml'))
  const read = ['deviations.yaml', 'matrix.yaml', ...worlds.map((file) => `worlds/${file}`)].map((file) => {
    const path = `fixtures/${file}`
    const text = readFileSync(join(packageRoot, path), 'utf8')
    return [path, { text, value: readYaml(text, path).value }]
  })
  writeFileSync(join(packageRoot, 'dist', 'package-yaml.json'), JSON.stringify(Object.fromEntries(read)))
}
