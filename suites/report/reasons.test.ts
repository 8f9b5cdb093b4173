import { expect, test } from 'vitest'
import { joinReasons, reasonText } from './problem-text.ts'

const probe = (name: string) => ({ kind: 'needs-probe', probe: name }) as const
const keys = { kind: 'needs-permission', permission: 'keys' } as const
const cleanup = { kind: 'needs-cleanup' } as const

test('reasons that need a probe each become one that needs all of them', () => {
  const groups = joinReasons([probe('store'), keys, probe('inbox'), probe('store')])
  expect(groups).toEqual([{ reasons: [keys] }, { reasons: [probe('store'), probe('inbox')] }])
  expect(groups.map(({ reasons }) => reasonText(reasons))).toEqual([
    'creating API keys needs --allow keys',
    'methods that the document does not show are called; probes.inbox, probes.store in the target file name them, or absent lists the areas that this server does not have',
  ])
})

test('one probe and other reasons stay as they are, each once', () => {
  const groups = joinReasons([probe('store'), cleanup, cleanup, probe('store')])
  expect(groups).toEqual([{ reasons: [cleanup] }, { reasons: [probe('store')] }])
})
