import { createHmac } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { sign } from '../engine/signer/sign.ts'
import { diagnose } from '../lab/diagnose.ts'
import { ownDataSentences } from '../lab/verify.ts'
import { around, body, check, env, flags, fresh, right } from '../self/made-up-signature.ts'
import { curlLine, diagnoseJson, diagnoseText, readCheck, signInputOf } from './signature.ts'

describe('diagnose', () => {
  const wrong = sign(signInputOf(flags, around(), fresh), { data: 'without-final-newline' }).header

  test('the mistake, the sentence and the fix', () => {
    const input = check({ header: wrong, body })
    expect(diagnoseJson(diagnose(input))).toEqual({
      valid: false,
      explained: true,
      mistakes: [
        {
          id: 'data/without-final-newline',
          title: 'The data to sign lacks the line feed after the body',
          requirement: 'signatures/request-line-feeds',
          fix: 'End method, URI and body with exactly one LF each',
        },
      ],
      ruledOut: [],
    })
    expect(diagnoseText(input, diagnose(input))).toContain(
      'Sentence  signatures/request-line-feeds: Method, URI and body each end with exactly one LF',
    )
  })

  test('another secret', () => {
    const input = check({ header: wrong, body, secrets: [env('OTHER')] })
    const result = diagnose(input)
    const text = diagnoseText(input, result)
    expect(text).toMatch(
      /None of \d{3} known mistakes reproduces this: the secret, the body or the data differ\n\nNext/,
    )
    expect(text).toContain('Next  Write the data that your code signs to a file')
    expect(text).toContain('Then  Give the URL')
    expect(text).not.toContain('data/without-final-newline')
    expect(diagnoseJson(result).ruledOut).toContain('data/without-final-newline')
    expect(diagnoseText(input, result, true)).toMatch(
      /Ruled out, alone and together with others \(\d+\):\n {2}data\/without-final-newline/,
    )
    const both = check({
      header: wrong.replace(/;[^;]+$/, ';CEbcdnZhURk3xA0+RaC+UusqNCQ='),
      body,
      secrets: [env('OTHER'), env('SECRET')],
    })
    expect(diagnose(both).mistakes.map(({ id }) => id)).toEqual(['key/another-key'])
  })

  test('an empty body is named first', () => {
    const input = check({ header: wrong, body: '', secrets: [env('OTHER')] })
    expect(diagnoseText(input, diagnose(input))).toContain('Next  The body given here is empty.')
  })

  test('another nonce, time or body in the data is named', () => {
    const mine = `1702555419999;another-nonce;POST\n/api\n${body.replace('"id":0', '"id":77')}\n`
    const signature = createHmac('sha256', 'not-a-secret-0001').update(mine).digest().subarray(0, 20)
    const named = (text: string) => {
      const header = right.replace(/;[^;]+$/, `;${text}`)
      const input = check({ header, body, dataToSignFile: 'mine' }, around({ mine }))
      return diagnose(input).mistakes.map(({ id }) => id)
    }
    const differences = ['data/with-other-timestamp', 'data/with-other-nonce', 'data/with-other-body']
    expect(named(signature.toString('base64'))).toEqual(differences)
    expect(named(signature.toString('hex'))).toEqual([...differences, 'signature/in-hex'])
    expect(named(Buffer.alloc(20, 7).toString('base64'))).toEqual([])
    const input = check({ header: right, body, dataToSignFile: 'mine' }, around({ mine }))
    expect(ownDataSentences(input).join('\n')).toContain(
      'Header and data have different nonces: "q83vEjRWeJCrze8=" in the header, "another-nonce" in the data',
    )
  })

  test("right data of one's own leave the key", () => {
    const mine = `1702555410352;q83vEjRWeJCrze8=;POST\n/api\n${body}\n`
    const input = check({ header: wrong, body, secrets: [env('OTHER')], dataToSignFile: 'mine' }, around({ mine }))
    expect(diagnoseText(input, diagnose(input))).toContain('Next  Your data are right, so look at the key')
  })

  test('the sentences about the own data', () => {
    const said = (mine: string, header: string) => {
      const input = check({ header, body, dataToSignFile: 'mine' }, around({ mine }))
      return diagnoseText(input, diagnose(input))
    }
    const data = `1702555410352;q83vEjRWeJCrze8=;POST\n/api\n${body}`
    expect(said(data, wrong)).toContain(
      'Your data to sign differ at line 3, byte 71: expected LF (0a), found the end of the data; the signature is made over your data',
    )
    expect(said(`${data}\n`, wrong)).toContain(
      'Your data to sign are right; the signature is not made over your data with this key',
    )
  })

  test('a curl line brings request and body along', () => {
    const input = signInputOf({ ...flags, body: `${body.slice(0, -1)},"x":"it's"}` }, around(), fresh)
    const line = curlLine(
      'https://service.example/base/api',
      'POST',
      sign(input, { data: 'with-crlf' }).header,
      input.body,
    )
    const { secrets } = flags
    const read = readCheck({ header: '@line', secrets }, around({ line }))
    expect(new TextDecoder().decode(read.body)).toBe(new TextDecoder().decode(input.body))
    expect(read.url).toBe('https://service.example/base/api')
    expect(diagnose(read).mistakes.map(({ id }) => id)).toEqual(['data/with-crlf'])
  })

  test.each([
    ['http://h:1', 'http://h:1/api'],
    ['http://h:1/', 'http://h:1/api'],
    ['http://h:1/base?a=b', 'http://h:1/base/api?a=b'],
    ['http://h:1/base/api?a=b', 'http://h:1/base/api?a=b'],
  ])('--url %s is the base URL or the URL that was called', (url, called) => {
    expect(check({ header: right, body, url }).url).toBe(called)
  })

  test('curl -d @file drops line ends, and so does the reading of it', () => {
    const read = check({ header: `curl -d @b -H 'Authorization: ${right}' http://h/api` }, around({ b: `${body}\n` }))
    expect(diagnose(read).valid).toBe(true)
  })

  test('curl -d @file: the signature of the file as it is is not valid, alone and with --body-file', () => {
    const file = `{\n   "jsonrpc":"2.0",\n   "id":0\n}\n`
    const outside = around({ b: file })
    const signed = sign(signInputOf({ ...flags, body: file }, outside, fresh)).header
    const asked = (how: string, more: { bodyFile?: string } = {}) =>
      check({ header: `curl ${how} -H 'Authorization: ${signed}' http://h/api`, ...more }, outside)
    for (const input of [asked('-d @b'), asked('-d @b', { bodyFile: 'b' })])
      expect(diagnoseText(input, diagnose(input))).toMatch(
        /data\/with-body-before-curl\n[\s\S]*curl --data-binary @FILE/,
      )
    expect(diagnose(asked('--data-binary @b')).valid).toBe(true)
  })

  test('a right signature over a body in chunks is valid', () => {
    const chunks = `${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`
    const header = `POST /api HTTP/1.1\r\nTransfer-Encoding: chunked\r\nAuthorization: ${right}\r\n\r\n${chunks}`
    expect(diagnose(check({ header })).valid).toBe(true)
  })

  test('what is no request is said in one sentence', () => {
    expect(() => check({ header: "requests.post(url, headers={'Authorization': x})" })).toThrow(
      'Cannot read "--header": it is not a header, a curl line or an HTTP/1.1 request',
    )
  })

  test('without a header there is nothing to diagnose', () => {
    expect(() => check({ header: 'curl http://h/api' })).toThrow('Cannot find an Authorization header in "--header"')
  })
})
