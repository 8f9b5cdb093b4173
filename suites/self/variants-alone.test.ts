import { expect, test } from 'vitest'
import { departuresOf } from './expected-departures.ts'
import { partUnlessProof } from './proof-form.ts'
import { runVariant, variantsToTryAlone } from './variant-run.ts'

test.each(partUnlessProof(await variantsToTryAlone(), 1))(
  'nothing fails where the document is silent: $id',
  async (variant) => {
    const { departures, messages, verdict, exitCode } = await runVariant(variant)
    expect(departures, messages.join('\n')).toEqual(departuresOf([variant.id]))
    expect({ verdict, exitCode }).toEqual({ verdict: 'conforms', exitCode: 0 })
  },
)
