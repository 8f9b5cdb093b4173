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

  const json = '{"jsonrpc":"2.0","id":1,"note":"it\'s — \\"x\\""}'
  const whole = { header, method: 'POST', url: 'https://service.example/base/api', body: json }

  test.each([
    ['one chunk', `${Buffer.byteLength(json).toString(16)}\r\n${json}\r\n0\r\n\r\n`, json],
    [
      'two chunks, with line feeds alone',
      `5;x=y\n${json.slice(0, 5)}\n2\n${json.slice(5, 7)}\n0\n\n`,
      json.slice(0, 7),
    ],
    ['a line end in a chunk', '4\r\na\r\nb\r\n0\r\n\r\n', 'a\r\nb'],
    ['no chunks, as many tools show it', json, json],
    ['a chunk that is cut off', '5\r\nab', '5\r\nab'],
  ])('raw HTTP in chunks: %s', (_, chunks, body) => {
    const text = `POST /api HTTP/1.1\r\nAuthorization: ${header}\r\nTransfer-Encoding: chunked\r\n\r\n${chunks}`
    expect(shown(text)).toEqual({ header, method: 'POST', url: '/api', body })
  })

  const { body: _, ...withoutBody } = whole
  const pseudo = [':method: POST', ':path: /base/api', ':authority: service.example', ':scheme: https']
  test.each([
    ['with a body', [...pseudo, `authorization: ${header}`, '', json].join('\n'), whole],
    ['without a body', [...pseudo, `authorization: ${header}`].join('\n'), withoutBody],
    [
      'on lines of their own',
      [...pseudo, `authorization: ${header}`].map((line) => line.replace(/^(:?[a-z]+): /, '$1:\n')).join('\n'),
      withoutBody,
    ],
  ])('pseudo-headers of HTTP/2 %s', (_, text, expected) => expect(shown(text)).toEqual(expected))

  test('the output of curl -v', () => {
    const text = `* Trying 10.0.0.1...\n> POST /base/api HTTP/2\r\n> Host: service.example\r\n> authorization: ${header}\r\n> \r\n* upload sent\n< HTTP/2 401\n< content-length: 2\n`
    expect(shown(text)).toEqual({ ...withoutBody, url: 'http://service.example/base/api' })
  })

  test.each([
    [
      'as browsers copy it',
      `await fetch("https://service.example/base/api", {\n  "headers": {\n    "accept": "*/*",\n    "authorization": "${header}"\n  },\n  "body": ${JSON.stringify(json)},\n  "method": "POST"\n});`,
    ],
    [
      'as people write it',
      `const res = await fetch('https://service.example/base/api', {\n  method: 'POST', // as ever\n  headers: { Authorization: \`${header}\` },\n  body: JSON.stringify({ jsonrpc: '2.0', id: 1, note: "it's — \\"x\\"", }),\n})`,
    ],
    [
      'with variables',
      `const body = ${JSON.stringify(json)}\nconst url = 'https://service.example/base/api'\nfetch(url, { method: 'POST', headers: [['Authorization', '${header}']], body: body })`,
    ],
  ])('fetch %s', (_, text) => expect(shown(text)).toEqual(whole))

  test('fetch with a body that is computed leaves it out', () => {
    const text = `fetch('https://service.example/base/api', { method: 'POST', headers: { authorization: '${header}' }, body: JSON.stringify(call) })`
    expect(shown(text)).toEqual(withoutBody)
  })

  test.each([
    [
      'as browsers copy it',
      `Invoke-WebRequest -UseBasicParsing -Uri "https://service.example/base/api" \`\n-Method "POST" \`\n-Headers @{\n  "authorization"="${header}"\n} \`\n-ContentType "application/json" \`\n-Body "${json.replaceAll('"', '`"')}"`,
    ],
    [
      'as people write it',
      `Invoke-RestMethod -Method Post -Uri https://service.example/base/api -Headers @{ Authorization = '${header}'; 'X-A' = 'b' } -Body '${json.replaceAll("'", "''")}'`,
    ],
    [
      'with variables and a here-string',
      `$body = @'\n${json}\n'@\n$headers = @{}\n$headers["Authorization"] = "${header}"\nirm 'https://service.example/base/api' -Method POST -Headers $headers -Body $body`,
    ],
  ])('PowerShell %s', (_, text) => expect(shown(text)).toEqual(whole))

  test('PowerShell with a body from a file', () => {
    const text = `irm https://h/api -Headers @{Authorization='${header}'} -InFile b.json`
    expect(readPasted(text)).toEqual({
      header,
      url: 'https://h/api',
      bodyFile: { path: 'b.json', withoutLineEnds: false },
    })
  })

  test('headers alone', () => {
    expect(readPasted(`Host: h\nAuthorization: ${header}\nAccept: */*`)).toEqual({ header })
  })

  test('a header that was broken into lines', () => {
    const broken = header.replace('n/+=;', 'n/+=;\n')
    expect(readPasted(broken).header).toBe(broken)
  })

  test.each([
    ['{"jsonrpc":"2.0","id":1}'],
    ["requests.post(url, headers={'Authorization': sign(body)})"],
    ['HTTP/1.1 401 Unauthorized\ncontent-length: 0'],
  ])('nothing of this: %s', (text) => expect(readPasted(text)).toEqual({ isUnknown: true }))
})
