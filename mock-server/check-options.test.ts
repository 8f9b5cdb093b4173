import { expect, test } from 'vitest'
import { startMockServer } from './start.ts'

test.each([
  [{ clock: 'virtul' }, 'Cannot use "virtul" for the option "clock", did you mean "virtual"?'],
  [{ clok: 'virtual' }, 'Unknown option "clok", did you mean "clock"?'],
  [{ profile: { nonceRuse: 'accepted' } }, 'Unknown switch "nonceRuse", did you mean "nonceReuse"?'],
  [{ rules: { macByte: () => 32 } }, 'Unknown member of "rules" "macByte", did you mean "macBytes"?'],
  [{ bounds: { nonce: 1 } }, 'Unknown member of "bounds" "nonce", did you mean "nonces"?'],
  [{ rootKey: 'id' }, 'Give the option "rootKey" an object'],
])('startMockServer(%j) names the mistake', async (options, message) => {
  await expect(startMockServer(options as never)).rejects.toThrow(message)
})

test('misspelt names are also refused while the server runs', async () => {
  await using mock = await startMockServer({ clock: 'virtual' })
  await expect(mock.scene('nope' as never)).rejects.toThrow(
    'Cannot use "nope" for the scene, expected one of "nine-keys"',
  )
  expect(() => mock.journal.count({ verdict: 'acepted' } as never)).toThrow('did you mean "accepted"?')
  expect(() => mock.journal.count({ methd: 'x' } as never)).toThrow('Unknown filter "methd", did you mean "method"?')
  const fault = { fault: 'drop', when: 'after', methd: 'manager/auth' }
  expect(() => mock.faults.add(fault as never)).toThrow(
    'Unknown member of the fault "drop" "methd", did you mean "method"?',
  )
})
