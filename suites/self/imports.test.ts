import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { packageRoot } from '../engine/language/package-root.ts'
import { drawImports, findCircle, findUpwardArrows, readImports } from './imports.ts'
import { blockIn } from './marked-block.ts'

const arrows = readImports(packageRoot)

test('imports between folders are read', () => {
  expect(arrows).toContainEqual({ from: 'suites/commands', to: 'suites/run' })
  expect(arrows).toContainEqual({ from: 'suites/targets', to: 'mock-server' })
})

test('the drawing in docs/architecture.md is up to date; npm run imports -- --write renews it', () => {
  expect(blockIn(readFileSync(join(packageRoot, 'docs/architecture.md'), 'utf8'), 'imports')).toBe(drawImports(arrows))
})

test('imports between folders form no circle', () => {
  expect(findCircle(arrows)).toEqual([])
  expect(findCircle([...arrows, { from: 'suites/engine/language', to: 'suites/engine/conversation' }])).not.toEqual([])
})

test('every import leads from an upper folder to a lower one', () => {
  expect(findUpwardArrows(arrows)).toEqual([])
  const upward = { from: 'suites/engine/judge', to: 'suites/report' }
  const unknown = { from: 'suites/report', to: 'suites/attic' }
  expect(findUpwardArrows([...arrows, upward, unknown])).toEqual([upward, unknown])
})
