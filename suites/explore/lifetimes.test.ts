import { expect, test } from 'vitest'
import { openCorpus } from '../run/corpus-cache.ts'
import { createProfile } from '../targets/bundled.ts'
import { collectFindings } from './findings.ts'
import { lifetimes } from './lifetimes.ts'
import { foundIn } from './test-findings.ts'

/** Long enough for numbers that do not fit into 32 bits. */
const profile = createProfile({ refreshLifeMs: 60 * 86_400_000 })

test('lifetimes cut to 32 bits are shown beside a smaller one that lasts longer', async () => {
  const { requirements } = await openCorpus()
  const rules = { expiresInMs: (text: string) => Number(text) | 0 || undefined }
  const { x, found } = await foundIn({ profile, rules }, (caller) => lifetimes(caller, 'root'))
  const findings = collectFindings(x, requirements)
  for (const one of found) await findings.take(one)
  expect(findings.found.map(({ id }) => id)).toEqual(['found/expires-in/reported/shape'])
  for (const { message, steps, fixture, reproduced } of findings.found) {
    expect(message).toMatch(/^expiresIn:2147483648 gave an expiry in the past, earlier than that of expiresIn:1000$/)
    expect(reproduced).toEqual({ failed: 3, tries: 3 })
    expect(steps.length).toBe(2)
    expect(fixture).toContain('result.accessTokenExpiry: {"at-least":"$pair.accessTokenExpiry"}')
  }
})

test('whole lifetimes are found right', async () => {
  expect((await foundIn({ profile }, (caller) => lifetimes(caller, 'root'))).found).toEqual([])
})
