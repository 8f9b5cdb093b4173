import { expect, test } from 'vitest'
import { departuresOf } from './expected-departures.ts'
import { partOf, runVariant, triedAlone } from './variant-run.ts'

const mine = partOf(await triedAlone(), 2, 2)

test.each(mine)('nothing fails where the document is silent: $id', { timeout: 60_000 }, async (variant) => {
  const { departures, messages, verdict, exitCode } = await runVariant(variant)
  expect(departures, messages.join('\n')).toEqual(departuresOf([variant.id]))
  expect({ verdict, exitCode }).toEqual({ verdict: 'conforms', exitCode: 0 })
})
