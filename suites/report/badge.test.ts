import { expect, test } from 'vitest'
import { type BadgeInput, renderBadge } from './badge.ts'

test.each<[string, BadgeInput['verdict'], number, number, number, string, string]>([
  ['conforms', 'conforms', 0, 0, 0, 'conforms', 'brightgreen'],
  ['conforms, strict', 'conforms', 1, 0, 0, 'conforms, but not strictly', 'yellow'],
  ['musts are open', 'inconclusive', 0, 0, 0, 'inconclusive', 'yellow'],
  ['blocked', 'inconclusive', 1, 0, 0, 'inconclusive', 'orange'],
  ['failed', 'does-not-conform', 1, 3, 1, 'does not conform: 3 failed', 'red'],
  ['known', 'does-not-conform', 0, 0, 2, 'does not conform: 2 known', 'orange'],
  ['only findings', 'does-not-conform', 1, 0, 0, 'does not conform', 'red'],
])('%s', (_, verdict, exitCode, failed, known, message, color) => {
  const badge = JSON.parse(renderBadge({ verdict, exitCode, summary: { failed, known } }))
  expect(badge).toEqual({ schemaVersion: 1, label: 'svc-conformance', message, color })
})
