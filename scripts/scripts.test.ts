import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, expect, test, vi } from 'vitest'
import { packageRoot } from '../suites/engine/language/package-root.ts'
import { blockIn } from '../suites/self/sources.ts'
import { readArguments } from './arguments.ts'
import { type Figure, figureTable, isMet, medianRatio } from './bench/measure.ts'

const config = { options: { turns: { type: 'string', default: '5' } } } as const

/** What the script prints and the code it exits with; no code if it goes on. */
function readLine(...line: string[]): { values?: { turns: string }; code?: number; out: string } {
  let out = ''
  let code: number | undefined
  vi.spyOn(process, 'argv', 'get').mockReturnValue(['node', '/repo/.build/scripts/pages.js', ...line])
  for (const stream of ['log', 'error'] as const)
    vi.spyOn(console, stream).mockImplementation((text: string) => {
      out += text
    })
  vi.spyOn(process, 'exit').mockImplementation((given) => {
    code = Number(given)
    throw new Error('exit')
  })
  try {
    return { values: readArguments(config).values, out }
  } catch {
    return code === undefined ? { out } : { code, out }
  }
}

afterEach(() => {
  vi.restoreAllMocks()
})

test('reads options and their defaults', () => {
  expect(readLine()).toEqual({ values: { turns: '5' }, out: '' })
  expect(readLine('--turns', '7')).toEqual({ values: { turns: '7' }, out: '' })
})

test.each([[['--turn', '7']], [['--turns']], [['seven']]])('%s is a mistake of the user, said in one line', (line) => {
  const { code, out } = readLine(...line)
  expect(code).toBe(2)
  expect(out).toMatch(/^pages: .*\(--help says what it takes\)$/)
})

test('--help prints the comment at the head of the script', () => {
  const { code, out } = readLine('--help')
  expect(code).toBe(0)
  expect(out).toMatch(/^Texts of the repository that are made from it/)
  expect(out).toContain('    npm run numbers [-- --write]')
})

test('every script of package.json reads its command line in this way', () => {
  const { scripts } = JSON.parse(readFileSync(join(packageRoot, 'package.json'), 'utf8')) as { scripts: object }
  const names = [...JSON.stringify(scripts).matchAll(/\.build\/scripts\/([\w-]+)\.js/g)].map(([, name]) => name)
  expect(names.length).toBeGreaterThan(10)
  const sourceOf = (name?: string): string => readFileSync(join(packageRoot, 'scripts', `${name}.ts`), 'utf8')
  expect(names.filter((name) => !sourceOf(name).includes('readArguments('))).toEqual([])
})

const figure: Figure = { name: 'A run', value: 3, unit: 's', runs: 5, ratio: 2, wanted: { atMost: 4, ratioAtMost: 2 } }

test('a figure is met where its value and its ratio are', () => {
  expect(isMet(figure)).toBe(true)
  expect(isMet({ ...figure, value: 5 })).toBe(false)
  expect(isMet({ ...figure, ratio: 2.1 })).toBe(false)
  expect(isMet({ ...figure, wanted: { ratioAtLeast: 2.5 } })).toBe(false)
})

test('the ratio is the median over turns, not that of the medians', () => {
  expect(medianRatio([10, 100, 1000], [10, 50, 1000])).toBe(1)
})

test('README.md quotes the last benchmark; npm run bench -- --write renews both', () => {
  const last = join(packageRoot, 'scripts', 'bench', 'last.json')
  expect(existsSync(last)).toBe(true)
  const { figures } = JSON.parse(readFileSync(last, 'utf8')) as { figures: Figure[] }
  expect(blockIn(readFileSync(join(packageRoot, 'README.md'), 'utf8'), 'speed')).toBe(figureTable(figures))
})
