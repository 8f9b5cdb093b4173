import { expect, test } from 'vitest'
import { joinReasons } from './reasons.ts'

const probe = (area: string): string =>
  `it calls a method that the document does not show; probes.${area} in the target file names one`

test('reasons that ask for a probe each are one that asks for all of them', () => {
  expect(joinReasons([probe('store'), 'it creates API keys', probe('inbox'), probe('store')])).toEqual([
    { reason: 'it creates API keys', of: ['it creates API keys'] },
    {
      reason:
        'it calls methods that the document does not show; probes.inbox, probes.store in the target file name them',
      of: [probe('store'), probe('inbox')],
    },
  ])
})

test('one probe and other reasons stay as they are, each once', () => {
  expect(joinReasons([probe('store'), 'b', 'b', probe('store')]).map(({ reason }) => reason)).toEqual([
    probe('store'),
    'b',
  ])
})
