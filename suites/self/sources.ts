/** One import from one folder of the house to another. */
interface Arrow {
  from: string
  to: string
}

/** From the bottom to the top: a folder imports only folders that stand before it. */
const layers = [
  'mock-server',
  'suites/servers',
  'suites/engine',
  'suites/engine/signer',
  'suites/engine/model',
  'suites/engine/language',
  'suites/engine/judge',
  'suites/engine/conversation',
  'suites/targets',
  'suites/page',
  'suites/report',
  'suites/lab',
  'suites/explore',
  'suites/client',
  'suites/watch',
  'suites/run',
  'suites/commands',
  'suites/*.ts',
]

/** Folders that the drawing leaves out: proofs and measurements may import everything. */
const leftOut = ['suites/self', 'scripts', 'fixtures', 'load']

/** Reads every import between two folders of mock-server/ and suites/. Tests are left out. */
export function readImports(root: string): Arrow[] {
  const files = ['mock-server', 'suites'].flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
      .map((name) => join(folder, name).replaceAll('\\', '/'))
      .filter((file) => file.endsWith('.ts') && !/\.(test|config)\.ts$/.test(file)),
  )
  const arrows = new Map<string, Arrow>()
  for (const file of files) {
    const from = roomOf(file)
    for (const [, path = ''] of readFileSync(join(root, file), 'utf8').matchAll(/(?:from |import\()'(\.[^']+)'/g)) {
      const to = roomOf(join(dirname(file), path).replaceAll('\\', '/'))
      if (from !== to && ![from, to].some((room) => leftOut.some((one) => room.startsWith(one))))
        arrows.set(`${from} ${to}`, { from, to })
    }
  }
  return [...arrows.values()].sort((one, other) => (`${one.from} ${one.to}` < `${other.from} ${other.to}` ? -1 : 1))
}

/** The folder that stands for a file in the drawing: a part of the engine, or the first folder of its path. */
function roomOf(file: string): string {
  const [first = '', second = '', third = ''] = file.split('/')
  if (first === 'mock-server') return first
  if (second === 'engine' && !third.endsWith('.ts')) return `${first}/${second}/${third}`
  return second.endsWith('.ts') ? 'suites/*.ts' : `${first}/${second}`
}

/** Returns a Mermaid flowchart of the imports, one line for each folder that imports others. */
export function drawImports(arrows: readonly Arrow[]): string {
  const idOf = (room: string): string => room.replaceAll(/[^a-z]/gi, '_')
  const names = [...new Set(arrows.flatMap(({ from, to }) => [from, to]))].sort()
  return [
    '```mermaid',
    'flowchart TD',
    ...names.map((room) => `  ${idOf(room)}["${room}"]`),
    ...arrows.map(({ from, to }) => `  ${idOf(from)} --> ${idOf(to)}`),
    '```',
  ].join('\n')
}

/** Returns the arrows that do not lead down, and those of a folder that has no place among the layers. */
export function findUpwardArrows(arrows: readonly Arrow[]): Arrow[] {
  return arrows.filter(({ from, to }) => !layers.includes(to) || layers.indexOf(from) <= layers.indexOf(to))
}

/** Text between `<!-- name:begin -->` and `<!-- name:end -->`, which a script writes and a test compares. */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { allItems, provesOf } from '../engine/conversation/cases.ts'
import type { Corpus } from '../engine/language/fixture-types.ts'
import { packageRoot } from '../engine/language/package-root.ts'
import { envelopeCases, type RequirementSet } from '../report/build.ts'

/** Returns the text between the markers without the blank lines around it, or undefined if a marker is missing. */
export function blockIn(text: string, name: string): string | undefined {
  const [from, to, begin] = placeOf(text, name)
  return from < 0 || to < from ? undefined : text.slice(from + begin.length, to).trim()
}

/** Returns the text with another block between its markers. Throws if a marker is missing. */
export function withBlock(text: string, name: string, block: string): string {
  const [from, to, begin] = placeOf(text, name)
  if (from < 0 || to < from) throw new Error(`Put ${begin} and <!-- ${name}:end --> where the text belongs`)
  return `${text.slice(0, from + begin.length)}\n${block}\n${text.slice(to)}`
}

/** Writes a block of a page of this package between its markers. */
export function writeBlock(page: string, name: string, block: string): void {
  const file = join(packageRoot, page)
  writeFileSync(file, withBlock(readFileSync(file, 'utf8'), name, block))
}

function placeOf(text: string, name: string): [from: number, to: number, begin: string] {
  const begin = `<!-- ${name}:begin -->`
  return [text.indexOf(begin), text.indexOf(`<!-- ${name}:end -->`), begin]
}

/** A file of the package as text. */
export function shipped(file: string): string {
  return readFileSync(join(packageRoot, file), 'utf8')
}

/** The requirement set of all requirements and cases of a corpus. */
export function freezeSet(version: string, corpus: Corpus): RequirementSet {
  const items = allItems(corpus).map((item) => ({ key: item.key, proves: provesOf(item) }))
  const cases = [...items, ...envelopeCases([])]
  return {
    version,
    requirements: corpus.requirements.map(({ id, level }) => ({
      id,
      level,
      cases: cases.filter(({ proves }) => proves.includes(id)).map(({ key }) => key),
    })),
    observing: cases.filter(({ proves }) => proves.length === 0).map(({ key }) => key),
  }
}
