/**
 * Writes spec/sets/VERSION.yaml: the current requirements, their levels, and the cases that judge them. A set is written once, when its
 * version is released, and never again; `--again` replaces one that was not released yet.
 */
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { stringify } from 'yaml'
import { loadCorpus } from '../suites/engine/language/corpus.ts'
import { packageRoot } from '../suites/engine/language/package-root.ts'
import { freezeSet } from '../suites/report/outcomes.ts'

const [version = '', again] = process.argv.slice(2)
const file = join(packageRoot, 'spec', 'sets', `${version}.yaml`)
if (!/^\d+\.\d+$/.test(version)) fail('Name the version of the set, as in "npm run freeze -- 1.0"')
if (existsSync(file) && again !== '--again') fail(`Cannot write "${file}": a set is frozen; choose the next version`)
const head = `# Requirement set ${version}, written by "npm run freeze". A released set is never edited: see docs/sets.md.\n`
mkdirSync(dirname(file), { recursive: true })
writeFileSync(file, head + stringify(freezeSet(version, loadCorpus(packageRoot))))
console.log(`Wrote ${file}`)

function fail(sentence: string): never {
  console.error(sentence)
  process.exit(2)
}
