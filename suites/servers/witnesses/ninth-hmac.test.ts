import { describe } from 'vitest'
import { createsKey, grantPair, makeKey, signs, testWitnesses } from '../test-witness.ts'

describe('ninth set: HMAC', () => {
  testWitnesses({
    'timestamp-and-nonce-alone-signed-too': async (c) =>
      (await signs(c, { data: (right) => right.split(';').slice(0, 2).join(';') })) &&
      !(await signs(c, { data: (right) => right.split(';')[0] ?? '' })),
    'mac-by-first-half-of-secret-accepted': async (c) => {
      const { id, secret } = c.root
      const half = await signs(c, {}, { id, secret: secret.slice(0, 16) })
      return half && (await signs(c, {})) && !(await signs(c, {}, { id, secret: secret.slice(0, 15) }))
    },
    'higher-version-taken-too': async (c) =>
      (await signs(c, { version: '2' })) && (await signs(c, {})) && !(await signs(c, { version: '0' })),
    'nonce-cut-at-slash-signed-too': async (c) =>
      (await signs(c, { nonce: 'abcd/efgh', data: (right) => right.replace('/efgh', '') })) &&
      !(await signs(c, { nonce: 'abcd+efgh', data: (right) => right.replace('+efgh', '') })),
    'hmac-of-created-key-refused-on-key-creation': async (c) => {
      const key = await makeKey(c)
      const others = (await signs(c, {}, key)) && (await createsKey(c, { basic: key }))
      return others && (await createsKey(c, { hmac: c.root })) && !(await createsKey(c, { hmac: key }))
    },
    'created-key-cannot-sign-once-it-got-a-token': async (c) => {
      const key = await makeKey(c)
      const before = await signs(c, {}, key)
      await grantPair(c, ['solution'], key)
      return before && !(await signs(c, {}, key))
    },
  })
})
