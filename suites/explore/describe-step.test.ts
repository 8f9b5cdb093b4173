import { expect, test } from 'vitest'
import { basic, create, hmac, list } from './step.ts'
import { contradiction, describeStep } from './words.ts'

const refused = { kind: 'refused' } as const
const mustBeAccepted = (requirement: string) => {
  const fact = { requirement, is: 'yes' } as const
  return { is: 'accepted', requirement, level: 'must', fact } as const
}

test('a refused creation names its premise, because a used instance refuses it too', () => {
  const step = create(basic('root'), { name: 'one', scope: ['solution'] })
  const text = 'A call of manager/createApiKey with Basic credentials of root was refused'
  const premise = 'although the instance is fresh, as --disposable says'
  expect(contradiction(step, mustBeAccepted('limits/ten-can-be-made'), refused)).toBe(`${text}, ${premise}`)
  expect(contradiction(step, mustBeAccepted('keys/create-authorized'), refused)).toBe(text)
})

test('a nonce that makes a special signature is named', () => {
  expect(describeStep(list(hmac('root'), { nonce: 'leading-zero' }))).toBe(
    'A call of solution/listSolutions with an HMAC of root and a signature whose most significant byte is zero',
  )
})
