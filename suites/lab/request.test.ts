import { describe, expect, test } from 'vitest'
import { fromUtf8, utf8 } from '../engine/signer/bytes.ts'
import { readPasted, shellWords } from './request.ts'

const header = 'svc-hmac-sha256 key;1;1702555410352;n/+=;CEbcdnZhURk3xA0+RaC+UusqNCQ='
const shown = (text: string) => {
  const { body, ...rest } = readPasted(text)
  return body === undefined ? rest : { ...rest, body: fromUtf8(body) }
}

describe('words of a shell', () => {
  test.each([
    ['a b  c', ['a', 'b', 'c']],
    [`'a b' "c d"`, ['a b', 'c d']],
    [`a'b'"c"d`, ['abcd']],
    [`"say \\"hi\\" \\n"`, ['say "hi" \\n']],
    [`$'it\\'s\\n\\u00e9\\x41'`, ["it's\né" + 'A']],
    [`'it'\\''s'`, ["it's"]],
    ['a \\\n  b', ['a', 'b']],
    [`''`, ['']],
    ['a b | jq .', ['a', 'b']],
    ['a > out', ['a']],
    [`'{"a":"x|y"}'`, ['{"a":"x|y"}']],
  ])('%s', (line, words) => {
    expect(shellWords(line)).toEqual(words)
  })
})

describe('a pasted request', () => {
  test.each([
    [header],
    [`Authorization: ${header}`],
    [`  authorization:${header}\n`],
    [`> authorization: ${header}`],
    [`"${header}"`],
  ])('header: %s', (text) => {
    expect(readPasted(text)).toEqual({ header })
  })

  test('curl', () => {
    const line = `curl -sS -X POST 'https://service.example/base/api' -H 'Content-Type: application/json' -H "Authorization: ${header}" --data-binary '{"id":1}' | jq .`
    expect(shown(line)).toEqual({ header, method: 'POST', url: 'https://service.example/base/api', body: '{"id":1}' })
  })

  test('curl as browsers copy it', () => {
    const line = `$ curl 'http://h/api' \\\n  -H 'authorization: ${header}' \\\n  --data-raw $'{"a":"it\\'s"}' \\\n  --compressed`
    expect(shown(line)).toEqual({ header, url: 'http://h/api', body: `{"a":"it's"}` })
  })

  test('curl among other lines', () => {
    expect(shown(`Send it\n  curl -H 'Authorization: ${header}' --data-raw '{}' 'http://h/api'\n`)).toEqual({
      header,
      url: 'http://h/api',
      body: '{}',
    })
  })

  test('curl with a body from a file', () => {
    expect(readPasted('curl -d @body.json http://h/api').bodyFile).toEqual({ path: 'body.json', withoutLineEnds: true })
    expect(readPasted('curl --data-binary @- http://h/api').bodyFile).toEqual({ path: '-', withoutLineEnds: false })
    expect(shown('curl --max-time 5 -o out -da=1 --data b http://h/api')).toEqual({
      url: 'http://h/api',
      body: 'a=1&b',
    })
  })

  test('raw HTTP, where the length shows the end of the body', () => {
    const text = `POST /api?x=1 HTTP/1.1\r\nHost: service.example\r\nAuthorization: ${header}\r\nContent-Length: 8\r\n\r\n{"id":1}\n`
    expect(shown(text)).toEqual({ header, method: 'POST', url: 'http://service.example/api?x=1', body: '{"id":1}' })
  })

  test('raw HTTP with an empty body', () => {
    expect(shown(`POST /api HTTP/1.1\nAuthorization: ${header}\n\n`)).toEqual({
      header,
      method: 'POST',
      url: '/api',
      body: '',
    })
  })

  test('as a report of a run prints it', () => {
    expect(readPasted(`> POST /api\n> authorization: ${header}\n> {"id":1}`)).toEqual({
      header,
      method: 'POST',
      url: '/api',
      body: utf8('{"id":1}'),
    })
  })
})
