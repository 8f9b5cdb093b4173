import { expect, test } from 'vitest'
import { isProof, partUnlessProof } from './proof-form.ts'

test.skipIf(isProof)('a part is spread over the list', () => {
  expect(partUnlessProof([0, 1, 2, 3, 4, 5, 6], 3)).toEqual([0, 2, 4])
  expect(partUnlessProof([0, 1, 2, 3, 4, 5, 6], 3, 1)).toEqual([1, 3, 5])
  expect(partUnlessProof([0, 1], 3)).toEqual([0, 1])
})
