import { expect, test } from 'vitest'
import { usageSentence } from './usage-sentence.ts'

const unknown = (flag: string) =>
  usageSentence({ code: 'commander.unknownOption', message: `error: unknown option '${flag}'` })

test('a secret that is given as a flag gives an error that names the right place', () => {
  expect(unknown('--secret')).toBe(
    'Unknown flag "--secret": give the secret in a variable or in a file, as "--help" says, because every process list shows flags',
  )
  expect(unknown('--sekret')).toBe('Unknown flag "--sekret"')
})
