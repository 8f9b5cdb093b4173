import { expect, test } from 'vitest'
import { openCorpus } from '../run/corpus-cache.ts'
import type { ServerOptions } from '../targets/bundled.ts'
import { collectFindings } from './findings.ts'
import { basic, list } from './step.ts'
import { foundIn } from './test-findings.ts'

test('refusals that are never seen again are tried again only so often', async () => {
  const { requirements } = await openCorpus()
  let refuses = false
  const around: NonNullable<ServerOptions['around']> = (handle) => (request) => {
    if (!refuses) return handle(request)
    refuses = false
    return { status: 401, headers: {}, body: '' }
  }
  const { x, found } = await foundIn({ around }, async ({ x }) => {
    for (let round = 0; round < 10; round++) {
      await x.call(list(basic('by-basic')))
      refuses = true
      await x.call(list(basic('by-basic')))
    }
  })
  expect(found.map(({ kind }) => kind)).toEqual(Array.from({ length: 10 }, () => 'refused'))
  const findings = collectFindings(x, requirements)
  const repeated: number[] = []
  for (const one of found) {
    await findings.take(one)
    repeated.push(x.repeated())
  }
  expect(findings.found).toEqual([])
  const more = repeated.map((calls, at) => calls > (repeated[at - 1] ?? 0))
  expect(more).toEqual([true, true, true, true, true, true, true, true, false, false])
})
