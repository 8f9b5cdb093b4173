import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { packageRoot } from '../suites/engine/language/package-root.ts'
import { blockIn } from '../suites/self/sources.ts'
import { type Figure, figureTable, isMet, medianRatio } from './bench/measure.ts'

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
