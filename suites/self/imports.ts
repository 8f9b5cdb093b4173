import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

/** One import from one folder of the house to another. */
export interface Arrow {
  from: string
  to: string
}

/** Folders that stand for themselves in the drawing; files of other folders belong to their first folder. */
const rooms = [
  'suites/engine/fixture',
  'suites/engine/signer',
  'suites/engine/case',
  'suites/engine/judge',
  'suites/engine/model',
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

function roomOf(file: string): string {
  const room = rooms.find((one) => file.startsWith(`${one}/`))
  if (room !== undefined) return room
  const [first = '', second = ''] = file.split('/')
  if (first === 'mock-server') return first
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

/** Returns the folders of one import circle, or an empty list where there is none. */
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
