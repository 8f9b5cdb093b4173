import { describe, expect, test } from 'vitest'
import { fromUtf8 } from '../engine/signer/bytes.ts'
import { readPasted } from './request.ts'

const header = 'svc-hmac-sha256 key;1;1702555410352;n/+=;CEbcdnZhURk3xA0+RaC+UusqNCQ='
const shown = (text: string) => {
  const { body, ...rest } = readPasted(text)
  return body === undefined ? rest : { ...rest, body: fromUtf8(body) }
}

// The body is the word after the flag, and the URL that after it, unless the line ends before.
test.each([
  ['a b  c', ['a', 'b']],
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
])('words of a shell: %s', (words, [body, url]) => {
  expect(shown(`curl --data-raw ${words}`)).toEqual({ body, ...(url === undefined ? {} : { url }) })
})

describe('a pasted request', () => {
  const spelled = [
    `Authorization: ${header}`,
    `  authorization:${header}\n`,
    `> authorization: ${header}`,
    `"${header}"`,
  ]
  test.each([header, ...spelled])('header: %s', (text) => expect(readPasted(text)).toEqual({ header }))

  test('curl with a body from a file', () => {
    expect(readPasted('curl -d @body.json http://h/api').bodyFile).toEqual({ path: 'body.json', withoutLineEnds: true })
    expect(readPasted('curl --data-binary @- http://h/api').bodyFile).toEqual({ path: '-', withoutLineEnds: false })
    const joined = { url: 'http://h/api', body: 'a=1&b' }
    expect(shown('curl --max-time 5 -o out -da=1 --data b http://h/api')).toEqual(joined)
  })

  const json = '{"jsonrpc":"2.0","id":1,"note":"it\'s — \\"x\\""}'
  const whole = { header, method: 'POST', url: 'https://service.example/base/api', body: json }

  test.each([
    ['one chunk', `${Buffer.byteLength(json).toString(16)}\r\n${json}\r\n0\r\n\r\n`, json],
    ['two chunks, with line feeds alone', '5;x=y\n{"a":\n2\n1}\n0\n\n', '{"a":1}'],
    ['a line end in a chunk', '4\r\na\r\nb\r\n0\r\n\r\n', 'a\r\nb'],
    ['no chunks, as many tools show it', json, json],
    ['the last chunk without the line after it', '1\r\n{\r\n1\r\n}\r\n0', '{}'],
  ])('raw HTTP in chunks: %s', (_, chunks, body) => {
    const text = `POST /api HTTP/1.1\r\nAuthorization: ${header}\r\nTransfer-Encoding: chunked\r\n\r\n${chunks}`
    expect(shown(text)).toEqual({ header, method: 'POST', url: '/api', body })
  })

  const notWhole = (headers: string, body: string) =>
    readPasted(`POST /api HTTP/1.1\r\nAuthorization: ${header}\r\n${headers}\r\n\r\n${body}`)
  test.each([
    ['5\r\nab', 'chunk 1 should have 5 bytes and 2 follow: the text is cut short, or the size 5 is wrong'],
    ['2\r\n{}\r\n', 'its last chunk, of size 0, is missing'],
    ['1\r\n{}\r\n0\r\n\r\n', 'chunk 1 does not end after 1 byte, so the size 1 is wrong'],
    ['ff\r\n{}\r\n0\r\n\r\n', 'chunk 1 should have 255 bytes and 9 follow'],
    ['1\r\n{\r\n}\r\n0\r\n\r\n', 'the size of chunk 2 is missing'],
  ])('chunks that are not whole: %j', (chunks, reason) => {
    const { body, withheld } = notWhole('Transfer-Encoding: chunked', chunks)
    expect(body).toBeUndefined()
    expect(withheld?.body).toContain(reason)
  })

  test('a body that is shorter than announced', () => {
    expect(notWhole('Content-Length: 3', '{}')).toMatchObject({
      withheld: { body: 'Content-Length announces 3 bytes and 2 follow' },
    })
    expect(notWhole('Content-Length: 2', '{}').withheld).toBeUndefined()
  })

  const { body: _, ...withoutBody } = whole
  const url = 'http://h/api'
  const broken = header.replace('n/+=;', 'n/+=;\n')
  const raw = (head: string, body: string): string =>
    `POST /api?x=1 HTTP/1.1\r\nHost: service.example\r\nAuthorization: ${header}\r\n${head}\r\n${body}`
  const pseudo = [':method: POST', ':path: /base/api', ':authority: service.example', ':scheme: https']
  const own = `authorization: ${header}`
  const curl = `curl -H 'Authorization: ${header}'`
  const withPseudo = [...pseudo, own]
  const onOwnLines = withPseudo.map((line) => line.replace(/^(:?[a-z]+): /, '$1:\n'))
  const posted = (url: string, body: string) => ({ header, method: 'POST', url, body })
  const id1 = '{"id":1}'
  const ofRaw = posted('http://service.example/api?x=1', id1)
  test.each([
    [
      'curl',
      `curl -sS -X POST 'https://service.example/base/api' -H 'Content-Type: application/json' -H "Authorization: ${header}" --data-binary '{"id":1}' | jq .`,
      { ...whole, body: '{"id":1}' },
    ],
    [
      'curl as browsers copy it',
      `$ curl 'http://h/api' \\\n  -H 'authorization: ${header}' \\\n  --data-raw $'{"a":"it\\'s"}' \\\n  --compressed`,
      { header, url, body: `{"a":"it's"}` },
    ],
    ['curl among other lines', `Send it\n  ${curl} --data-raw '{}' '${url}'\n`, { header, url, body: '{}' }],
    ['raw HTTP, where the length shows the end of the body', raw('Content-Length: 8\r\n', `${id1}\n`), ofRaw],
    ['raw HTTP with an empty body', `POST /api HTTP/1.1\nAuthorization: ${header}\n\n`, posted('/api', '')],
    ['as a report of a run prints it', `> POST /api\n> ${own}\n> {"id":1}`, posted('/api', '{"id":1}')],
    ['pseudo-headers of HTTP/2 with a body', [...withPseudo, '', json].join('\n'), whole],
    ['pseudo-headers of HTTP/2 without a body', withPseudo.join('\n'), withoutBody],
    ['pseudo-headers of HTTP/2 on lines of their own', onOwnLines.join('\n'), withoutBody],
    [
      'the output of curl -v',
      `* Trying 10.0.0.1...\n> POST /base/api HTTP/2\r\n> Host: service.example\r\n> authorization: ${header}\r\n> \r\n* upload sent\n< HTTP/2 401\n< content-length: 2\n`,
      { ...withoutBody, url: 'http://service.example/base/api' },
    ],
    ['headers alone', `Host: h\nAuthorization: ${header}\nAccept: */*`, { header }],
    ['a header that was broken into lines', broken, { header: broken }],
  ])('%s', (_, text, expected) => expect(shown(text)).toEqual(expected))

  const fetchWith = (members: string, before = '') =>
    `${before}\nconst answer = await fetch('https://h/api', { method: 'POST', ${members} })\nconsole.log(await answer.text(), answer.body)`
  const powerShell = (headers: string, body: string, before = '') =>
    `${before}\nirm -Uri https://h/api -Method Post -Headers @{ Authorization = ${headers} } -Body ${body}`
  const curlWith = (authorization: string, body: string) =>
    `curl -H ${authorization} -H 'Accept: */*' ${body} http://h/api`
  const written = `'Authorization: ${header}'`
  test.each([
    ['body', curlWith(written, '-d "$BODY"')],
    ['body', curlWith(written, '-d $BODY')],
    ['body', curlWith(written, '-d "$(cat f)"')],
    ['body', curlWith(written, '-d $(jq -c . f)')],
    ['body', curlWith(written, '-d "`cat f`"')],
    ['body', curlWith(written, '--data-binary @"$FILE"')],
    ['body', curlWith(written, '-d "{\\"id\\":${ID}}"')],
    ['body', curlWith(written, `-d '{"id":'"$ID"'}'`)],
    ['header', curlWith('"Authorization: $AUTH"', "-d '{}'")],
    ['header', curlWith(`"Authorization: svc-hmac-sha256 key;1;$T;$N;$S"`, "-d '{}'")],
    ['header', curlWith('"$AUTH"', "-d '{}'")],
    ['body', fetchWith(`headers: { authorization: '${header}' }, body: JSON.stringify(call)`)],
    ['body', fetchWith(`headers: { authorization: '${header}' }, body`)],
    ['body', fetchWith(`body, headers: { authorization: '${header}' }`)],
    ['body', fetchWith(`headers: { authorization: '${header}' }, body: '{"id":' + id + '}'`)],
    [
      'body',
      fetchWith(`headers: { authorization: '${header}' }, body: payload`, 'const payload = JSON.stringify(call)'),
    ],
    ['body', fetchWith(`headers: { authorization: '${header}' }, body: \`{"id":\${id}}\``)],
    ['header', fetchWith(`headers: { authorization: \`svc-hmac-sha256 \${id};1;\${time};\${mac}\` }, body: '{}'`)],
    ['header', fetchWith("headers: { authorization }, body: '{}'")],
    ['header', fetchWith("headers: { Authorization: sign(call) }, body: '{}'")],
    ['header', fetchWith("headers: [['Authorization', auth]], body: '{}'")],
    ['header', fetchWith("headers: { Authorization: 'svc-hmac-sha256 ' + fields.join(';') }, body: '{}'")],
    ['body', powerShell(`'${header}'`, '$body')],
    ['body', powerShell(`'${header}'`, '($call | ConvertTo-Json)')],
    ['body', powerShell(`'${header}'`, '"{ `"id`": $id }"')],
    ['body', powerShell(`'${header}'`, '$body', '$body = $call | ConvertTo-Json')],
    ['header', powerShell('$auth', "'{}'")],
    ['header', powerShell('"svc-hmac-sha256 $id;1;$t;$n;$s"', "'{}'")],
  ] as const)('a %s that is computed is not taken: %s', (part, text) => {
    const read = readPasted(text)
    expect(read[part]).toBeUndefined()
    const reason = 'it is computed where the call is made, so its value is not in this text'
    expect(read.withheld).toEqual({ [part]: reason })
  })

  test.each([
    ['curl', curlWith(written, `-d '{"note":"$5 \`x\` $(y)"}' -H "$OTHER"`), '{"note":"$5 `x` $(y)"}'],
    ['an escaped sign', curlWith(written, String.raw`-d "{\"note\":\"\$5 \`x\`\"}"`), '{"note":"$5 `x`"}'],
    ['fetch', fetchWith(`headers: { authorization: '${header}' }, body: '{"note":"\${x}"}'`), `{"note":"\${x}"}`],
    [
      'a variable with a written call',
      fetchWith(`headers: { authorization: '${header}' }, body: sent`, 'const sent = JSON.stringify({ note: 1 })'),
      '{"note":1}',
    ],
    ['no body', fetchWith(`headers: { authorization: '${header}' }`), undefined],
    ['PowerShell', powerShell(`'${header}'`, `'{"note":"$id"}'`), '{"note":"$id"}'],
    ['an escaped sign of PowerShell', powerShell(`'${header}'`, '"{`"note`":`"`$5`"}"'), '{"note":"$5"}'],
  ])('signs of variables that are text: %s', (_, text, body) => {
    const read = shown(text)
    expect(read).toMatchObject({ header })
    expect(read).not.toHaveProperty('withheld')
    expect('body' in read ? read.body : undefined).toBe(body)
  })

  test.each([
    ["--data-urlencode '{}'", undefined, 'curl --data-urlencode sends it percent-encoded'],
    ['--data-urlencode @b.json', undefined, 'curl --data-urlencode sends it percent-encoded'],
    ["-G -d '{}'", 'GET', 'curl -G puts it into the URL and sends a GET without a body'],
    ["-sG -d '{}'", 'GET', 'curl -G puts it'],
    ["--get --data-urlencode '{}'", 'GET', 'curl -G puts it'],
    ["-F 'a={}'", undefined, 'curl -F makes a form of it'],
    ["-d @a -d '{}'", undefined, 'curl joins it from several texts and files'],
    ["-d '{}' -d @a", undefined, 'curl joins it from several texts and files'],
  ])('a body that curl changes is not taken: %s', (flags, method, reason) => {
    const { withheld, ...read } = readPasted(curlWith(written, flags))
    expect(withheld?.body).toContain(reason)
    expect(read).toEqual({ header, url: 'http://h/api', ...(method === undefined ? {} : { method }) })
  })

  test('curl for cmd of Windows, as browsers copy it', () => {
    const escaped = (text: string) =>
      `^"${text
        .replace(/\\/g, '\\\\')
        .replace(/"/g, '\\"')
        .replace(/[^a-zA-Z0-9\s_\-:=+~'/.',?;()*`]/g, '^$&')
        .replace(/%(?=[a-zA-Z0-9_])/g, '%^')
        .replace(/\r?\n/g, '^\n\n')}^"`
    const body = '{"a":"^ 50%x & \\\\ $HOME `x` | \\"it\'s\\"",\n"b":1}'
    const line = `curl ${escaped('https://service.example/base/api')} ^\n  -H ${escaped(`authorization: ${header}`)} ^\n  --data-raw ${escaped(body)}`
    for (const read of [shown(line), shown(line.replaceAll('^\n  -', '^\r\n  -'))])
      expect(read).toEqual({ header, url: 'https://service.example/base/api', body })
    const reason = 'the quote " of the curl line is not closed; paste the whole line'
    expect(readPasted(line.slice(0, -2)).unreadable).toBe(reason)
  })

  const copiedFetch = `await fetch("https://service.example/base/api", {\n  "headers": {\n    "accept": "*/*",\n    "authorization": "${header}"\n  },\n  "body": ${JSON.stringify(json)},\n  "method": "POST"\n});`
  const writtenFetch = `const res = await fetch('https://service.example/base/api', {\n  method: 'POST', // as ever\n  headers: { Authorization: \`${header}\` },\n  body: JSON.stringify({ jsonrpc: '2.0', id: 1, note: "it's — \\"x\\"", }),\n})`
  const fetchOfVariables = `const body = ${JSON.stringify(json)}\nconst url = 'https://service.example/base/api'\nfetch(url, { method: 'POST', headers: [['Authorization', '${header}']], body: body })`
  const copiedPowerShell = `Invoke-WebRequest -UseBasicParsing -Uri "https://service.example/base/api" \`\n-Method "POST" \`\n-Headers @{\n  "authorization"="${header}"\n} \`\n-ContentType "application/json" \`\n-Body "${json.replaceAll('"', '`"')}"`
  const writtenPowerShell = `Invoke-RestMethod -Method Post -Uri https://service.example/base/api -Headers @{ Authorization = '${header}'; 'X-A' = 'b' } -Body '${json.replaceAll("'", "''")}'`
  const powerShellOfVariables = `$body = @'\n${json}\n'@\n$headers = @{}\n$headers["Authorization"] = "${header}"\nirm 'https://service.example/base/api' -Method POST -Headers $headers -Body $body`
  test.each([
    ['fetch, as browsers copy it', copiedFetch],
    ['fetch, as people write it', writtenFetch],
    ['fetch with variables', fetchOfVariables],
    ['PowerShell, as browsers copy it', copiedPowerShell],
    ['PowerShell, as people write it', writtenPowerShell],
    ['PowerShell with variables and a here-string', powerShellOfVariables],
  ])('%s', (_, text) => expect(shown(text)).toEqual(whole))

  test('PowerShell with a body from a file', () => {
    const text = `irm https://h/api -Headers @{Authorization='${header}'} -InFile b.json`
    const bodyFile = { path: 'b.json', withoutLineEnds: false }
    expect(readPasted(text)).toEqual({ header, url: 'https://h/api', bodyFile })
  })

  test.each([
    ['{"jsonrpc":"2.0","id":1}'],
    ["requests.post(url, headers={'Authorization': sign(body)})"],
    ['HTTP/1.1 401 Unauthorized\ncontent-length: 0'],
    [`http POST https://h/api Authorization:'${header}' < body.json`],
    [`http POST :8080/api \\\n  Authorization:"${header}" \\\n  id:=1`],
    [`$ wget --header="Authorization: ${header}" --post-file=body.json http://h/api`],
    [`wget -qO- \\\n  --header 'Authorization: ${header}' \\\n  http://h/api`],
    [`headers.set("Authorization", "${header}")`],
    ['https://service.example/base/api'],
  ])('nothing of this: %s', (text) =>
    expect(readPasted(text)).toEqual({ unreadable: expect.stringContaining('it is not a header, a curl line or') }),
  )

  test.each([['some-words'], ['other-scheme key;1;2;3;4'], [header.replace('svc', 'http')]])('a header: %s', (text) =>
    expect(readPasted(text)).toEqual({ header: text }),
  )
})
