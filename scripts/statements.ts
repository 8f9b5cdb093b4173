/**
 * Counts the statements of the source without comments, blank lines and tests. Biome prints all files at one width, which makes
 * a line a comparable unit.
 *
 *     npm run statements [-- DIR]    DIR: another checkout to compare with
 */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { packageRoot } from '../suites/engine/language/package-root.ts'

const folders = ['mock-server', 'suites', 'scripts', 'spec']

/** Counts the lines of a statement, a property or a declaration: not comments, blank lines and lone brackets. */
function countLines(text: string): number {
  const bare = text.replaceAll(/\/\*[\s\S]*?\*\//g, '').replaceAll(/^\s*\/\/.*$/gm, '')
  return bare.split('\n').filter((line) => /[\w'"`]/.test(line)).length
}

function count(root: string): Map<string, number> {
  const totals = new Map<string, number>()
  for (const folder of folders) {
    let names: string[] = []
    try {
      names = readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    } catch {
      continue
    }
    for (const name of names) {
      const file = `${folder}/${name.replaceAll('\\', '/')}`
      const isSource =
        file.endsWith('.ts') && !/\.test\.ts$|\/self\/|\/servers\/|mock-server\/(test-|variants|independent)/.test(file)
      if (!isSource) continue
      const room = file
        .split('/')
        .slice(0, file.startsWith('suites/engine') ? 3 : 2)
        .join('/')
        .replace(/\/[^/]+\.ts$/, '')
      totals.set(room, (totals.get(room) ?? 0) + countLines(readFileSync(join(root, file), 'utf8')))
    }
  }
  return totals
}

const roots = [packageRoot, ...process.argv.slice(2)]
for (const root of roots) {
  const totals = count(root)
  const sum = [...totals.values()].reduce((total, lines) => total + lines, 0)
  console.log(`${root === packageRoot ? 'this checkout' : root}: ${sum}`)
  for (const [room, lines] of [...totals].sort((one, other) => other[1] - one[1]))
    console.log(`  ${room.padEnd(28)} ${lines}`)
}
