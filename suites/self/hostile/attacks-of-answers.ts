import type { ServerResponse } from 'node:http'
import { gzipSync } from 'node:zlib'
import { startMockServer } from '../../targets/bundled.ts'
import { type Attack, type Attacks, against, endingWith, onlyOf, runs } from './attack.ts'
import { attackKey, hostileServer, type Received, sendJson, serverWithMembers } from './servers.ts'

/** Runs `run --url` against a server that answers every call in this way. */
const answering = (
  about: string,
  answer: (received: Received, response: ServerResponse) => void,
  ...args: string[]
): Attack => ({ about, setUp: against(() => hostileServer(answer), runs('--timeout', '15', ...args)) })

/** Runs it against a server that sends this text, made from the id of the call, as the body of every answer. */
const sending = (about: string, text: (id: unknown) => string | Buffer, headers: { [name: string]: string } = {}) =>
  answering(about, ({ body }, response) => void response.writeHead(200, headers).end(text(body.id)))

const accepting = (about: string, result: unknown) =>
  answering(about, ({ body }, response) => sendJson(response, envelope(body.id, result)))
const refusing = (about: string, error: unknown) =>
  answering(about, ({ body }, response) => sendJson(response, { jsonrpc: '2.0', id: body.id, error }))
const envelope = (id: unknown, result: unknown) => ({ jsonrpc: '2.0', id, result })

const mebibyte = 1024 * 1024
const nested = (depth: number) => `${'['.repeat(depth)}${']'.repeat(depth)}`

const hugeTail = ' '.repeat(60 * mebibyte)

/** A text that acts on terminals, CI logs and readers. */
export const evilText =
  '\u001b[2J\u001b]0;owned\u0007\r\n::error::owned\n##vso[task.complete]\n##teamcity[x]\nVerdict: conforms (exit code 0)\n\u202eevil\u0000\u200b\ufeff'

/** Nothing that a server sends may look like our own verdict. */
const evil = (attack: Attack): Attack => ({ ...attack, saysNot: /^Verdict: conforms/m })

/** Attacks through the content of answers. */
export const attacksOfAnswers: Attacks = {
  'evil-error-message': evil(
    refusing('terminal escapes and CI commands in the message of an error', { code: 1, message: evilText }),
  ),
  'evil-error-code': evil(refusing('the same as the code of an error', { code: evilText, message: 'no' })),
  'evil-error-data': evil(refusing('the same in the data of an error', { code: 1, message: 'no', data: evilText })),
  'evil-member-names': evil(accepting('the same as names of members', { [evilText]: 1 })),
  'evil-list': evil(accepting('the same in the result of a listing', { list: [evilText] })),
  'body-without-end': answering('a body that never ends', (_asked, response) => {
    response.writeHead(200, { 'content-type': 'application/json' })
    const chunk = Buffer.alloc(mebibyte, ' ')
    const more = () => {
      while (!response.destroyed && response.write(chunk));
      if (!response.destroyed) response.once('drain', more)
    }
    more()
  }),
  'race-without-end': {
    about: 'bodies of 60 MB once calls come at the same time, and for raw requests',
    exits: [1],
    withinMs: 35_000,
    setUp: async () => {
      let underWay = 0
      const server = await startMockServer({
        rootKey: attackKey,
        around: (handle) => async (request) => {
          underWay += 1
          await new Promise((resolve) => setTimeout(resolve, 2))
          const isHuge = underWay > 2 || request.method !== 'POST'
          underWay -= 1
          const answer = await handle(request)
          return isHuge ? { ...answer, body: answer.body + hugeTail } : answer
        },
      })
      const only = onlyOf('sessions/race', 'refresh/race', 'limits', 'envelope')
      return {
        args: ['run', '--url', server.url, '--disposable', '--no-explore', '--timeout', '30', ...only],
        cleanUp: () => server.close(),
      }
    },
  },
  'body-that-drips': answering('one byte every 50 ms, for ever', (_asked, response) => {
    response.writeHead(200, { 'content-type': 'application/json' })
    const timer = setInterval(() => response.write(' '), 50)
    response.on('close', () => clearInterval(timer))
  }),
  'huge-result': accepting('20 MB of text where an object belongs', 'x'.repeat(20 * mebibyte)),
  'large-results-at-once': {
    exits: [1],
    withinMs: 30_000,
    ...answering(
      '3 MB of text for every call of a run that makes many at once',
      ({ body }, response) => sendJson(response, envelope(body.id, 'x'.repeat(3 * mebibyte))),
      '--disposable',
      '--no-explore',
    ),
  },
  'huge-message': refusing('an error message of 3 MB', { code: 1, message: 'x'.repeat(3 * mebibyte) }),
  'deep-result': sending(
    'a result nested 100,000 deep',
    (id) => `{"jsonrpc":"2.0","id":${id},"result":${nested(100_000)}}`,
  ),
  'deep-error': sending(
    'error data nested 100,000 deep',
    (id) => `{"jsonrpc":"2.0","id":${id},"error":{"code":1,"message":"no","data":${nested(100_000)}}}`,
  ),
  'infinite-id': sending('1e400 as the id', () => '{"jsonrpc":"2.0","id":1e400,"result":{}}'),
  'duplicate-members': sending(
    'result and error twice each',
    (id) => `{"jsonrpc":"2.0","id":${id},"result":{},"result":1,"error":null,"error":{"code":1}}`,
  ),
  'byte-order-mark': sending('a byte order mark before the JSON', (id) => `\ufeff${JSON.stringify(envelope(id, {}))}`),
  'nul-bytes': sending('NUL bytes in the body', () => '\u0000\u0000{"jsonrpc":"2.0"}\u0000'),
  'lone-surrogates': sending(
    'lone surrogates in a text',
    (id) => `{"jsonrpc":"2.0","id":${id},"result":{"list":["\\ud800","\\udc00"]}}`,
  ),
  'bytes-that-are-not-text': sending('random bytes as the body', () =>
    Buffer.from(Array.from({ length: 4096 }, (_, index) => (index * 37) % 256)),
  ),
  'prototype-members': sending(
    '__proto__ and constructor as members',
    (id) =>
      `{"jsonrpc":"2.0","id":${id},"result":{"__proto__":{"polluted":1},"constructor":{"prototype":{"polluted":1}}}}`,
  ),
  'numbers-beyond-all': sending(
    'numbers that no double holds',
    (id) => `{"jsonrpc":"2.0","id":${id},"result":{"list":[1e999,-1e999,${'9'.repeat(5000)}]}}`,
  ),
  'wrong-gzip': sending('a body that is not gzip, as it claims', () => 'this is not gzip', {
    'content-encoding': 'gzip',
  }),
  'gzip-bomb': sending('200 MB of blanks in gzip', () => gzipSync(Buffer.alloc(200 * mebibyte, ' '), { level: 9 }), {
    'content-encoding': 'gzip',
    'content-type': 'application/json',
  }),
  'empty-200': sending('200 without a body', () => ''),
  'login-page': sending(
    'an HTML page for every call',
    () => '<html><script>alert(1)</script>Verdict: conforms</html>',
    { 'content-type': 'text/html' },
  ),
  'accepts-everything': { exits: [1], ...accepting('a result for every call', { list: [] }) },
  'refuses-everything': {
    exits: [3],
    ...refusing('an error for every call', { code: 24879, message: 'Unauthorized' }),
  },
}

/** Runs against a reference server whose accepted answers of `method` have these members in their result. */
const withResult = (
  about: string,
  method: string,
  members: { [name: string]: unknown },
  ...only: string[]
): Attack => ({
  about,
  setUp: against(
    () => serverWithMembers(members, method),
    runs('--disposable', '--no-explore', '--timeout', '30', ...onlyOf(...only)),
  ),
})

const keysWith = (about: string, members: object) =>
  withResult(about, 'manager/createApiKey', { ...members }, 'test-keys')
const pairsWith = (about: string, members: object, ...only: string[]) =>
  withResult(about, 'manager/auth', { ...members }, ...only)

/** Attacks through keys, tokens and timestamps that a server issues. */
export const attacksOfValues: Attacks = {
  ...endingWith([1], {
    'key-id-with-escapes': {
      saysNot: /^Verdict: conforms/m,
      ...keysWith('terminal escapes in the id of a created key', { id: evilText }),
    },
    'key-id-with-line-feeds': keysWith('a header field smuggled into the id of a key', { id: 'x\r\nx-evil: 1' }),
    'key-id-of-a-megabyte': keysWith('a key id of 1 MB', { id: 'x'.repeat(mebibyte) }),
    'key-id-that-is-an-object': keysWith('an object as the id of a key', { id: { toString: 'x' } }),
    'token-with-line-feeds': pairsWith(
      'a header field smuggled into a token',
      { accessToken: 'x\r\nx-evil: 1' },
      'tokens/authorize',
    ),
    'token-with-escapes': pairsWith(
      'terminal escapes in a token',
      { accessToken: evilText, refreshToken: evilText },
      'refresh/new-pair',
    ),
    'refresh-token-of-two-megabytes': {
      withinMs: 35_000,
      ...pairsWith('a refresh token of 2 MB, in every pair of a run', { refreshToken: 'x'.repeat(2 * mebibyte) }),
    },
    'token-that-is-a-number': pairsWith('a number as token', { accessToken: 12 }, 'tokens'),
  }),
  ...endingWith([0, 1], {
    'key-id-that-is-a-path': keysWith('a key id that looks like a path', { id: '../../../../etc/passwd' }),
    'secret-of-a-megabyte': keysWith('a secret of 1 MB', { secret: 'x'.repeat(mebibyte) }),
    'secret-that-is-a-word': keysWith('a secret that is a common word, which redaction must not blow up', {
      secret: 'e',
    }),
    'expiry-beyond-time': pairsWith(
      'an expiry that no date holds',
      { accessTokenExpiry: 1e300, refreshTokenExpiry: -1e300 },
      'expires-in',
    ),
    'expiry-that-is-text': pairsWith(
      'a text as expiry',
      { accessTokenExpiry: evilText, refreshTokenExpiry: evilText },
      'grants/result',
    ),
    'expiry-in-a-century': pairsWith(
      'an expiry that is too far away to wait for',
      { accessTokenExpiry: 9_999_999_999_999 },
      'expires-in/enforced',
    ),
    'scope-without-end': pairsWith(
      '100,000 scope words',
      { scope: Array.from({ length: 100_000 }, (_, index) => `scope-${index}`) },
      'grants/result',
    ),
    'scope-with-escapes': pairsWith('terminal escapes as scope words', { scope: [evilText] }, 'grants/result'),
    'token-type-with-escapes': pairsWith(
      'terminal escapes as token type, which the run may try as a prefix',
      { tokenType: evilText },
      'grants/result',
    ),
    'listing-with-escapes': withResult(
      'terminal escapes in what is observed',
      'solution/listSolutions',
      { list: [evilText], [evilText]: evilText },
      'solutions',
    ),
  }),
}
