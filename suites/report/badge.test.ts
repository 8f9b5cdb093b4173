import { expect, test } from 'vitest'
import { renderBadge } from './formats.ts'

type BadgeInput = Parameters<typeof renderBadge>[0]

test.each<[string, BadgeInput['verdict'], number, number, number, string, string]>([
  ['conforms', 'conforms', 0, 0, 0, 'conforms', 'brightgreen'],
  ['conforms, strict', 'conforms', 1, 0, 0, 'conforms, but not strictly', 'yellow'],
  ['musts are open', 'inconclusive', 0, 0, 0, 'inconclusive', 'yellow'],
  ['blocked', 'inconclusive', 1, 0, 0, 'inconclusive', 'orange'],
  ['failed', 'does-not-conform', 1, 3, 1, 'does not conform: 3 failed', 'red'],
  ['known', 'does-not-conform', 0, 0, 2, 'does not conform: 2 known', 'orange'],
])('%s', (_, verdict, exitCode, failed, known, message, color) => {
  const badge = JSON.parse(renderBadge({ verdict, exitCode, summary: { failed, known } }))
  expect(badge).toEqual({ schemaVersion: 1, label: 'svc-conformance', message, color })
})

test.each([
  [1, [{ known: null, level: 'must' }], 'does not conform: 1 failed', 'red'],
  [0, [{ known: { reason: 'see issue 7' }, level: 'must' }], 'does not conform: 1 known', 'orange'],
])('findings of the model count', (exitCode, findings, message, color) => {
  const summary = { failed: 0, known: 0 }
  const input = { verdict: 'does-not-conform', exitCode, summary, findings } as BadgeInput
  expect(JSON.parse(renderBadge(input))).toMatchObject({ message, color })
})
