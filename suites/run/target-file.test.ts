import { describe, expect, test } from 'vitest'
import { parseTargetFile } from './target-file.ts'

const secret = 'tr0ub4dor-and-3'

function refusal(text: string): string {
  try {
    parseTargetFile(text, 'target.yaml')
  } catch (error) {
    return (error as Error).message
  }
  throw new Error('expected a refusal')
}

describe('an error never shows a secret', () => {
  const ofRoot =
    '3:3: "Authorization" cannot be sent with every call: cases set this header themselves; name the key in "root"'
  test.each([
    ['a misspelt key', `root: { id: x, sercet: ${secret} }`, '1:16: unknown key "sercet", did you mean "secret"?'],
    ['on a line of its own', `root:\n  id: x\n  sercet: ${secret}\n`, '3:3: unknown key "sercet", did you mean'],
    ['a wrong type', `root: { id: x, secret: [${secret}] }`, '1:24: this is not an API key secret in quotes'],
    ['a missing id', `root: { secret: ${secret} }`, '1:7: missing key "id" in the key that the run uses'],
    ['two kinds of keys', `root: { id: x, secret: ${secret}, privateKeyFile: z }`, 'name one of "secret" and'],
    ['no YAML', `root: { id: x, secret: ${secret}, }}`, '1:'],
    ['no YAML below it', `root:\n  id: x\n  secret: ${secret}: "`, '3:'],
    ['a header', `headers: { x-key: ["${secret}"] }`, '1:19: this is not a text in quotes'],
    ['a list of words', `allow: [${secret}]`, '1:9: this is not a safety class: "sessions", "keys", "limits"'],
    ['a word that hides another', `allow: ["a; expected ${secret}"]`, '1:9: this is not a safety class'],
    ['a header that cases send themselves', `headers:\n  X-Tenant: a\n  Authorization: ${secret}\n`, ofRoot],
    ['root is misspelt', `rot: { id: x, secret: ${secret} }`, '1:1: unknown key "rot", did you mean "root"?'],
    ['after an anchor', `headers: { a: &s ${secret} }\nrate: *s\n`, '2:7: this is not a number of calls a second'],
    ['where a key should be', `root: { id: x, ${secret}: y }`, '1:16: unknown key, expected one of "id", "secret"'],
    ['an alias of its name', `url: *${secret}`, '1:6: unresolved alias'],
    ['twice', `root: { ${secret}: 1, ${secret}: 2 }`, 'map keys must be unique'],
    ['no keys at all', `{ root: { id: x, secret: ${secret} }`, '1:'],
  ])('%s', (_what, text, sentence) => {
    const message = refusal(text)
    expect(message).toContain(`Cannot load target.yaml:`)
    expect(message).toContain(sentence)
    expect(message).not.toContain(secret)
    expect(message).not.toContain('\n')
  })

  test('elsewhere it names the place', () => {
    expect(refusal('ulr: http://a\n')).toBe('Cannot load target.yaml:1:1: unknown key "ulr", did you mean "url"?')
  })
})

describe('mistakes that would only show after the run are found at once', () => {
  test.each([
    ['probes: { contxt: { method: a/b } }', 'unknown key "contxt", did you mean "context"?'],
    ['solutions: [one]', 'this is not a list of two solution ids'],
    ['cleanup: { method: a/b }', 'missing reference "$id" in "params", as in "params: { id: $id }"'],
    ['cleanup: { method: a/b, params: { id: $key } }', 'unknown reference "$key", expected "$id"'],
    ['probes: { disable: { method: a/b } }', 'missing reference "$id"'],
    ['probes: { solution-context: { method: a/b } }', 'as in "params: { solution: $solution }"'],
    ['probes: { context: { method: a/b, params: { at: $id } } }', 'unknown reference "$id", its params are sent as'],
    ['probes: { context: { params: {} } }', 'missing key "method" in a call: method, params'],
    ['url: 7', 'this is not a base URL, http or https; calls go to {url}/api'],
    ['secondAddress: localhost', 'this is not an IPv4 address, such as 127.0.0.2'],
    ['clientAddress: 300.0.0.1', 'this is not an IPv4 address, such as 127.0.0.2'],
    ['headers: { "a b": c }', '"a b" is not a header name'],
    ['requestTimeoutMs: 1.5', 'this is not a number of milliseconds, 1 or more'],
    ['- url', 'this is not a map of what is known about the target'],
    ['headers: { Host: a }', '1:12: "Host" cannot be sent with every call: it follows from "url"'],
    ['headers: { CONTENT-TYPE: text/plain }', '1:12: "CONTENT-TYPE" cannot be sent with every call'],
    ['headers: { content-length: "1" }', '1:12: "content-length" cannot be sent with every call'],
    ['scopeNames: { nosuch: foo }', '1:15: unknown key "nosuch", expected one of "apikey", "apiKey", "solution"'],
    ['scopeNames: { solutoin: foo }', '1:15: unknown key "solutoin", did you mean "solution"?'],
    ["scheme: ''", '1:9: this is not the word that begins the header of a signature, without spaces'],
    ['scheme: a b', '1:9: this is not the word that begins the header of a signature, without spaces'],
    ['cast: keys.json', '1:1: rename "cast" to "testKeys"'],
    ['absent: [solution]', '1:10: this is not an API area that a server may lack'],
    ['absent: [inbox]\nprobes: { inbox: { method: a/b } }', '1:10: "inbox" has a probe, so it is there'],
    ['tls: { cert: a.pem }', '"cert" needs the key "key"'],
    ['concurrency: 0', '1:14: this is not a whole number of calls'],
    ['maxAnswerBytes: 1k', '1:17: this is not a number of bytes'],
    ['url: &a [*a]', '1:10: this contains itself, through an alias'],
    ['probes: { context: { method: a/b, params: &p { in: [*p] } } }', 'this contains itself, through an alias'],
  ])('%s', (text, sentence) => {
    expect(refusal(text)).toContain(sentence)
  })

  test('right values are accepted', () => {
    const text = `cleanup: { method: a/b, params: { key: [$id, $name] } }
probes: { disable: { method: a/c, params: { id: $id } }, stream: { method: a/d } }
solutions: [one, two]
url: &u https://a.example
headers: { x-tenant: *u, proxy-authorization: Basic x }
scopeNames: { apikey: apiKey, "solution:*": everything, inbox: mail }`
    expect(parseTargetFile(text, 'target.yaml').solutions).toEqual(['one', 'two'])
  })
})
