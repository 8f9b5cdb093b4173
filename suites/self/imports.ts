import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

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

/** Returns the folders of one import circle, or an empty list if there is no circle. */
export function findCircle(arrows: readonly Arrow[]): string[] {
  const next = new Map<string, string[]>()
  for (const { from, to } of arrows) next.set(from, [...(next.get(from) ?? []), to])
  const done = new Set<string>()
  const visit = (room: string, path: string[]): string[] => {
    if (path.includes(room)) return [...path.slice(path.indexOf(room)), room]
    if (done.has(room)) return []
    for (const other of next.get(room) ?? []) {
      const circle = visit(other, [...path, room])
      if (circle.length > 0) return circle
    }
    done.add(room)
    return []
  }
  for (const room of next.keys()) {
    const circle = visit(room, [])
    if (circle.length > 0) return circle
  }
  return []
}

/** Returns the arrows that do not lead down, and those of a folder that has no place among the layers. */
export function findUpwardArrows(arrows: readonly Arrow[]): Arrow[] {
  return arrows.filter(({ from, to }) => !layers.includes(to) || layers.indexOf(from) <= layers.indexOf(to))
}
