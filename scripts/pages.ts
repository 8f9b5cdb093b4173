/**
 * Texts of the repository that are made from it: prints them, or writes them where they belong.
 *
 *     npm run imports [-- --write]       the drawing of imports in docs/architecture.md
 *     npm run numbers [-- --write]       the numbers of the table in README.md
 *     npm run statements [-- DIR]        how many statements the source has, by folder; DIR: another checkout to compare with
 *     npm run freeze -- VERSION [--again]
 *         writes spec/sets/VERSION.yaml: the current requirements, their levels, and the cases that judge them. A set is written once, when
 *         its version is released, and never again; --again replaces one that was not released yet
 */
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { stringify } from 'yaml'
import { loadCorpus } from '../suites/engine/language/corpus.ts'
import { packageRoot } from '../suites/engine/language/package-root.ts'
import { countAll, numbersTable } from '../suites/self/numbers.ts'
import { drawImports, freezeSet, readImports, writeBlock } from '../suites/self/sources.ts'
import { readArguments, wrongArgument } from './arguments.ts'

const { values, positionals } = readArguments({
  options: { write: { type: 'boolean', default: false }, again: { type: 'boolean', default: false } },
  allowPositionals: true,
})
const [what, argument = ''] = positionals
if (what === 'imports') printOrWrite('docs/architecture.md', 'imports', drawImports(readImports(packageRoot)))
else if (what === 'numbers') printOrWrite('README.md', 'numbers', numbersTable(await countAll()))
else if (what === 'statements') for (const root of [packageRoot, ...positionals.slice(1)]) printStatements(root)
else if (what === 'freeze') freeze(argument)
else wrongArgument('Name imports, numbers, statements or freeze')

function printOrWrite(page: string, block: string, text: string): void {
  if (values.write) writeBlock(page, block, text)
  else console.log(text)
}

/** Counts the lines of a statement, a property or a declaration: Biome prints all files at one width, so a line is a comparable unit. */
function countLines(text: string): number {
  const bare = text.replaceAll(/\/\*[\s\S]*?\*\//g, '').replaceAll(/^\s*\/\/.*$/gm, '')
  return bare.split('\n').filter((line) => /[\w'"`]/.test(line)).length
}

function printStatements(root: string): void {
  const totals = new Map<string, number>()
  const files = ['mock-server', 'suites', 'scripts', 'spec']
    .filter((folder) => existsSync(join(root, folder)))
    .flatMap((folder) =>
      readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' }).map(
        (name) => `${folder}/${name.replaceAll('\\', '/')}`,
      ),
    )
    .filter((file) => file.endsWith('.ts') && !/\.test\.ts$|\/self\/|\/servers\/|mock-server\/test-/.test(file))
  for (const file of files) {
    const depth = file.startsWith('suites/engine') ? 3 : 2
    const room = file
      .split('/')
      .slice(0, depth)
      .join('/')
      .replace(/\/[^/]+\.ts$/, '')
    totals.set(room, (totals.get(room) ?? 0) + countLines(readFileSync(join(root, file), 'utf8')))
  }
  const sum = [...totals.values()].reduce((total, lines) => total + lines, 0)
  console.log(`${root === packageRoot ? 'this checkout' : root}: ${sum}`)
  for (const [room, lines] of [...totals].sort((one, other) => other[1] - one[1]))
    console.log(`  ${room.padEnd(28)} ${lines}`)
}

function freeze(version: string): void {
  const file = join(packageRoot, 'spec', 'sets', `${version}.yaml`)
  if (!/^\d+\.\d+$/.test(version)) wrongArgument('Name the version of the set, as in "npm run freeze -- 1.0"')
  if (existsSync(file) && !values.again)
    wrongArgument(`Cannot write "${file}": a set is frozen; choose the next version`)
  const head = `# Requirement set ${version}, written by "npm run freeze". A released set is never edited: see docs/sets.md.\n`
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, head + stringify(freezeSet(version, loadCorpus(packageRoot))))
  console.log(`Wrote ${file}`)
}
