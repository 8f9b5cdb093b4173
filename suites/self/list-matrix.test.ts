/** `list --matrix` explores the reference server in whole, which takes seconds: one call shows both the command and the coverage. */
import { expect, test } from 'vitest'
import { coverageText } from '../explore/list-matrix.ts'
import { coveringArray } from '../explore/matrix.ts'
import { call, captureCli, captured } from './captured-cli.ts'
import { isProof, onlyInProof } from './proof-form.ts'

captureCli()

test.skipIf(!isProof)(
  onlyInProof('the reference server is judged in nearly every possible pair of the matrix'),
  async () => {
    expect(await call('list', '--matrix', '--json'), captured.complaints).toBe(0)
    const { covered, notCovered } = JSON.parse(captured.out) as {
      covered: string[]
      notCovered: { pair: string; why: string }[]
    }
    const { rows, impossible } = coveringArray(20_260_101, 1)
    for (const _ of rows);
    expect(notCovered.filter(({ why }) => why === 'not asked')).toEqual([])
    expect(covered.length).toBeGreaterThan(0.97 * (covered.length + notCovered.length - impossible.size))
    expect(covered).toContain('key=ecc-a & way=ecc')
    expect(notCovered).toContainEqual({ pair: 'key=ecc-a & way=token', why: 'a key with a public key gets no tokens' })
  },
)

test('for people the pairs stand below their dimensions, and the others below the reason', () => {
  const coverage = {
    all: ['method=list & way=token', 'key=ecc-a & way=token'],
    covered: new Set(['method=list & way=token']),
    reasons: new Map([['key=ecc-a & way=token', 'a key with a public key gets no tokens']]),
  }
  expect(coverageText(coverage)).toContain('\n\nmethod & way\n  method=list & way=token\n')
  expect(coverageText(coverage)).toContain(
    'Not covered: a key with a public key gets no tokens\n  key=ecc-a & way=token\n\n1 of 2 pairs are covered\n',
  )
})

test('a pair that there is not is a mistake, and nothing is explored', async () => {
  expect(await call('list', 'way=other', '--matrix')).toBe(2)
  expect(captured.complaints).toContain('No pair of the matrix contains "way=other"')
})
