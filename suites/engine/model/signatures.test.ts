import { createHmac } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { at, hmacHeader, judged, listBody, listWith, newState, rootSecret, startMs } from '../../self/made-up-calls.ts'

const verdictOf = (authorization: string): string => judged(newState(), listWith(authorization), at(0)).is

describe('a signature of a key', () => {
  test.each([
    ['21 bytes', (mac: Buffer) => mac.subarray(0, 21)],
    ['19 bytes', (mac: Buffer) => mac.subarray(0, 19)],
    ['all bytes', (mac: Buffer) => mac],
    ['the last 20 bytes', (mac: Buffer) => mac.subarray(-20)],
    ['a byte behind the first 20', (mac: Buffer) => Buffer.concat([mac.subarray(0, 20), Buffer.of(0)])],
  ])('%s of the MAC break the rule about its length', (_title, part) => {
    const header = hmacHeader()
    const [, timestamp, nonce] = /;1;(\d+);([^;]+);/.exec(header) ?? []
    const mac = createHmac('sha256', rootSecret).update(`${timestamp};${nonce};POST\n/api\n${listBody}\n`).digest()
    const sent = header.replace(/[^;]+$/, part(mac).toString('base64'))
    const verdict = judged(newState(), listWith(sent), at(0))
    expect(verdict).toMatchObject({ is: 'refused', requirement: 'signatures/hmac-length' })
  })

  test('a header nonce without the padding of the signed one is open, as the sample of the document shows it', () => {
    const header = hmacHeader(listBody, { nonce: 'AAECAwQFBgcICQ==' })
    expect(verdictOf(header.replace('CQ==;', 'CQ;'))).toBe('open')
    expect(verdictOf(header.replace('AAEC', 'AAED'))).toBe('refused')
  })

  test.each(['AAECAwQFBgcICQoL=', 'AAECAwQFBgcICQoL==', 'AAECAwQFBgcIC='])(
    'so is %s, which BASE64 does not pad so',
    (nonce) => {
      const header = hmacHeader(listBody, { nonce })
      expect(verdictOf(header.replace(nonce, nonce.replace(/=+$/, '')))).toBe('open')
    },
  )

  test('a timestamp with leading zeros is the same number, one with letters behind it is not', () => {
    const header = hmacHeader()
    expect(verdictOf(header.replace(`;${startMs};`, `;00${startMs};`))).toBe('open')
    expect(verdictOf(header.replace(`;${startMs};`, `;${startMs}x;`))).toBe('refused')
    expect(verdictOf(header.replace(`;${startMs};`, `;${startMs}.0;`))).toBe('refused')
  })
})
