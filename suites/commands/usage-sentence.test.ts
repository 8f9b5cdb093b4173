import { expect, test } from 'vitest'
import { usageSentence } from './usage-sentence.ts'

const unknown = (flag: string) =>
  usageSentence({ code: 'commander.unknownOption', message: `error: unknown option '${flag}'` })

test('who gives a secret as a flag is told where it goes', () => {
  expect(unknown('--secret')).toBe(
    'Unknown flag "--secret": give the secret in a variable or in a file, as "--help" says, because every process list shows flags',
  )
  expect(unknown('--sekret')).toBe('Unknown flag "--sekret"')
})
