import { createHmac } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { journal, judged, judgedBy, key, signed } from '../../self/made-up-journal.ts'
import { type judgeSignatures, signatureChecks } from './signatures.ts'

const checksOfFields = ['five-fields', 'values-as-signed', 'timestamp-ms']
const checks = ['body-as-sent', 'method-path-newline', 'twenty-bytes', 'base64', ...checksOfFields]

/** The checks whose verdict for a changed header is not one of the good ones. One search serves them all. */
function found(header: (right: string) => string, nonce = 'bm9uY2U=', good = ['passed']): string[] {
  const made = journal([signed(0, nonce, { header })], { auth: 'hmac' })
  const ids = checks.map((check) => `signature/${check}`)
  const verdicts = judgedBy(ids, made)
  return checks.filter((_, index) => !good.includes(verdicts[index] ?? ''))
}

const withSignature = (change: (signature: string) => string) => (right: string) =>
  right.replace(/[^;]*$/, (signature) => change(signature))
const bytesOf = (signature: string): Buffer => Buffer.from(signature, 'base64')

test('every check of a signature is tried', () => {
  const ids = signatureChecks.map(({ id }) => id).filter((id) => id.startsWith('signature/'))
  expect(ids.toSorted()).toEqual(checks.map((check) => `signature/${check}`).toSorted())
})

describe('a signature', () => {
  test.each<[what: string, header: (right: string) => string, wrong: string[], nonce?: string | undefined]>([
    ['that is right', (right) => right, []],
    ['without its padding', withSignature((signature) => signature.replace('=', '')), ['base64']],
    ['with a nonce without its padding', (right) => right.replace('bm9uY2U=;', 'bm9uY2U;'), []],
    // Hex is valid BASE64 text, too.
    ['in hex', withSignature((signature) => bytesOf(signature).toString('hex')), ['base64']],
    ['after another scheme', (right) => right.replace('svc-hmac-sha256', 'hmac-sha256'), ['five-fields']],
    ['with six fields', (right) => right.replace(/;1;(\d+);/, ';1;$1;POST;'), ['five-fields']],
    // Nothing explains it, so that nothing is shown to be right.
    ['of another nonce', (right) => right.replace('bm9uY2U=', 'b3RoZXI='), checks],
    ['of another timestamp', (right) => right.replace(/;1;(\d{12})\d;/, ';1;$19;'), ['values-as-signed']],
  ])('%s', (_what, header, wrong, nonce) => expect(found(header, nonce)).toEqual(wrong))

  test.each([
    ['of 20 bytes, over a body with a line feed', 20, '\n', ['method-path-newline', 'base64']],
    ['of all 32 bytes', 32, '', ['twenty-bytes', 'base64']],
    ['of 20 bytes that nothing explains', 20, 'other', ['base64', 'values-as-signed']],
    ['of all 32 bytes that nothing explains', 32, 'other', ['twenty-bytes', 'base64', 'values-as-signed']],
  ])('in hex is reported with everything else that is wrong: %s', (_name, length, added, expected) => {
    const inHex = (right: string): string => {
      const [, timestamp = '', nonce = ''] = /;1;(\d+);([^;]*);/.exec(right) ?? []
      const { body = '' } = signed(0, nonce)
      const data = `${timestamp};${nonce};POST\n/api\n${body}${added}\n`
      const mac = createHmac('sha256', key.secret).update(data).digest().subarray(0, length)
      return right.replace(/[^;]*$/, mac.toString('hex'))
    }
    expect(found(inHex, 'bm9uY2U=', ['passed', 'not exercised'])).toEqual(expected)
  })

  test('covers the body as it is sent', () => {
    const sent = (change: (body: string) => string): string => {
      const right = signed(0, 'bm9uY2U=')
      const made = journal([{ ...right, body: change(right.body ?? '') }], { auth: 'hmac' })
      return judged('signature/body-as-sent', made)
    }
    expect(sent((body) => body)).toBe('passed')
    expect(sent((body) => `${body}\n`)).toContain('Sign')
    expect(sent((body) => body.replace('"id":0', '"id":12'))).toContain('signed with the id 0 and sent with 12')
    expect(sent((body) => body.replaceAll(':', ': '))).not.toBe('passed')
  })

  test.each(['/api?', '/api#', '//api', '/API', '/Api'])('covers the path /api, not %s', (uri) => {
    const made = journal([signed(0, 'bm9uY2U=', { uri })], { auth: 'hmac' })
    const [ofPath, ofValues] = judgedBy(['signature/method-path-newline', 'signature/values-as-signed'], made)
    expect([ofPath, ofValues]).toEqual([
      expect.stringMatching(/^The URI is signed .*Sign the URI \/api alone/),
      'passed',
    ])
  })

  test('without an explanation is reported by what is certain', () => {
    // A search without a result takes half a second.
    const nothing = { valid: false, explained: false, mistakes: [], alternatives: [], ruledOut: [] }
    const inVain: Parameters<typeof judgeSignatures>[1] = () => nothing
    const ids = ['twenty-bytes', 'base64', 'values-as-signed'].map((check) => `signature/${check}`)
    const verdicts = (text: string): string[] => {
      const made = journal([signed(0, 'n', { header: withSignature(() => text) })])
      return judgedBy(ids, made, inVain)
    }
    const unexplained = expect.stringContaining('none of the known')
    const long = expect.stringContaining('has 22 bytes')
    expect(verdicts(btoa('not a signature at all'))).toEqual([long, 'not exercised', unexplained])
    const noText = expect.stringContaining('is not BASE64')
    expect(verdicts('!!')).toEqual(['not exercised', noText, unexplained])
  })
})

test('is not exercised by requests without a signature', () => {
  expect(judged('signature/base64', journal([{ at: 0 }]))).toBe('not exercised')
  const basic = journal([{ at: 0, authorization: 'Basic eDp5' }], { auth: 'hmac' })
  expect(judged('signature/five-fields', basic)).toBe('not exercised')
})
