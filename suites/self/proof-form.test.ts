import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { packageRoot } from '../engine/language/package-root.ts'
import { isProof, partUnlessProof, turnUnlessProof } from './proof-form.ts'

test.skipIf(isProof)('a part is spread over the list', () => {
  expect(partUnlessProof([0, 1, 2, 3, 4, 5, 6], 3)).toEqual([0, 2, 4])
  expect(partUnlessProof([0, 1, 2, 3, 4, 5, 6], 3, 1)).toEqual([1, 3, 5])
  expect(partUnlessProof([0, 1], 3)).toEqual([0, 1])
})

test.skipIf(isProof)('turns share the items', () => {
  expect([0, 1, 2].map((first) => turnUnlessProof(['a', 'b', 'c', 'd'], 3, first))).toEqual([['a', 'd'], ['b'], ['c']])
  expect(turnUnlessProof(['a', 'b', 'c', 'd'], 3, 4)).toEqual(['b'])
})

test('npm run proof runs every test in whole that npm test runs in part', () => {
  const textOf = (path: string): string => readFileSync(join(packageRoot, path), 'utf8')
  const inPart = ['suites', 'mock-server']
    .flatMap((folder) =>
      readdirSync(join(packageRoot, folder), { recursive: true, encoding: 'utf8' }).map((name) => `${folder}/${name}`),
    )
    .map((path) => path.replaceAll('\\', '/'))
    .filter((path) => path.endsWith('.test.ts') && !path.endsWith('/proof-form.test.ts'))
    .filter((path) => /\/proof-form\.ts|env\.SVC_PROOF/.test(textOf(path)))
  expect(inPart.length).toBeGreaterThan(10)
  const proofs = textOf('scripts/proof.ts')
  expect(inPart.filter((path) => !proofs.includes(`'${path}'`))).toEqual([])
})
