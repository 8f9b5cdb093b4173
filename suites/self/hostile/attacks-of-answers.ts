import type { ServerResponse } from 'node:http'
import { gzipSync } from 'node:zlib'
import { startMockServer } from '../../targets/bundled.ts'
import {
  type Attack,
  type Attacks,
  against,
  attackKey,
  endingWith,
  hostileServer,
  type Received,
  runs,
  sendJson,
  serverWithMembers,
} from './attack.ts'

/** Runs `run --url` against a server that answers every call in this way. */
const answering = (answer: (received: Received, response: ServerResponse) => void, args: string[] = []) =>
  against(() => hostileServer(answer), runs('--timeout', '15', ...args))

/** Runs it against a server that sends this text, made from the id of the call, as the body of every answer. */
const sending = (text: (id: unknown) => string | Buffer, headers: { [name: string]: string } = {}) =>
  answering(({ body }, response) => void response.writeHead(200, headers).end(text(body.id)))

const accepting = (result: unknown) => answering(({ body }, response) => sendJson(response, envelope(body.id, result)))
const refusing = (error: unknown) =>
  answering(({ body }, response) => sendJson(response, { jsonrpc: '2.0', id: body.id, error }))
const envelope = (id: unknown, result: unknown) => ({ jsonrpc: '2.0', id, result })

const mebibyte = 1024 * 1024
const nested = (depth: number) => `${'['.repeat(depth)}${']'.repeat(depth)}`

const hugeTail = ' '.repeat(60 * mebibyte)

/** A text that acts on terminals, CI logs and readers. */
export const evilText =
  '\u001b[2J\u001b]0;owned\u0007\r\n::error::owned\n##vso[task.complete]\n##teamcity[x]\nVerdict: conforms (exit code 0)\n\u202eevil\u0000\u200b\ufeff'

/** Nothing that a server sends may look like our own verdict. */
const evil = (about: string, setUp: Attack['setUp']): Attack => ({ about, saysNot: /^Verdict: conforms/m, setUp })

/** Attacks through the content of answers. */
export const attacksOfAnswers: Attacks = {
  'evil-error-message': evil(
    'terminal escapes and CI commands in the message of an error',
    refusing({ code: 1, message: evilText }),
  ),
  'evil-error-code': evil('the same as the code of an error', refusing({ code: evilText, message: 'no' })),
  'evil-error-data': evil('the same in the data of an error', refusing({ code: 1, message: 'no', data: evilText })),
  'evil-member-names': evil('the same as names of members', accepting({ [evilText]: 1 })),
  'evil-list': evil('the same in the result of a listing', accepting({ list: [evilText] })),
  'body-without-end': {
    about: 'a body that never ends',
    setUp: answering((_asked, response) => {
      response.writeHead(200, { 'content-type': 'application/json' })
      const chunk = Buffer.alloc(mebibyte, ' ')
      const more = () => {
        while (!response.destroyed && response.write(chunk));
        if (!response.destroyed) response.once('drain', more)
      }
      more()
    }),
  },
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
      const only = ['sessions/race', 'refresh/race', 'limits', 'envelope'].flatMap((id) => ['--only', id])
      return {
        args: ['run', '--url', server.url, '--disposable', '--no-explore', '--timeout', '30', ...only],
        cleanUp: () => server.close(),
      }
    },
  },
  'body-that-drips': {
    about: 'one byte every 50 ms, for ever',
    setUp: answering((_asked, response) => {
      response.writeHead(200, { 'content-type': 'application/json' })
      const timer = setInterval(() => response.write(' '), 50)
      response.on('close', () => clearInterval(timer))
    }),
  },
  'huge-result': { about: '20 MB of text where an object belongs', setUp: accepting('x'.repeat(20 * mebibyte)) },
  'large-results-at-once': {
    about: '3 MB of text for every call of a run that makes many at once',
    exits: [1],
    withinMs: 30_000,
    setUp: answering(
      ({ body }, response) => sendJson(response, envelope(body.id, 'x'.repeat(3 * mebibyte))),
      ['--disposable', '--no-explore'],
    ),
  },
  'huge-message': {
    about: 'an error message of 3 MB',
    setUp: refusing({ code: 1, message: 'x'.repeat(3 * mebibyte) }),
  },
  'deep-result': {
    about: 'a result nested 100,000 deep',
    setUp: sending((id) => `{"jsonrpc":"2.0","id":${id},"result":${nested(100_000)}}`),
  },
  'deep-error': {
    about: 'error data nested 100,000 deep',
    setUp: sending((id) => `{"jsonrpc":"2.0","id":${id},"error":{"code":1,"message":"no","data":${nested(100_000)}}}`),
  },
  'infinite-id': {
    about: '1e400 as the id',
    setUp: sending(() => '{"jsonrpc":"2.0","id":1e400,"result":{}}'),
  },
  'duplicate-members': {
    about: 'result and error twice each',
    setUp: sending((id) => `{"jsonrpc":"2.0","id":${id},"result":{},"result":1,"error":null,"error":{"code":1}}`),
  },
  'byte-order-mark': {
    about: 'a byte order mark before the JSON',
    setUp: sending((id) => `\ufeff${JSON.stringify(envelope(id, {}))}`),
  },
  'nul-bytes': {
    about: 'NUL bytes in the body',
    setUp: sending(() => '\u0000\u0000{"jsonrpc":"2.0"}\u0000'),
  },
  'lone-surrogates': {
    about: 'lone surrogates in a text',
    setUp: sending((id) => `{"jsonrpc":"2.0","id":${id},"result":{"list":["\\ud800","\\udc00"]}}`),
  },
  'bytes-that-are-not-text': {
    about: 'random bytes as the body',
    setUp: sending(() => Buffer.from(Array.from({ length: 4096 }, (_, index) => (index * 37) % 256))),
  },
  'prototype-members': {
    about: '__proto__ and constructor as members',
    setUp: sending(
      (id) =>
        `{"jsonrpc":"2.0","id":${id},"result":{"__proto__":{"polluted":1},"constructor":{"prototype":{"polluted":1}}}}`,
    ),
  },
  'numbers-beyond-all': {
    about: 'numbers that no double holds',
    setUp: sending((id) => `{"jsonrpc":"2.0","id":${id},"result":{"list":[1e999,-1e999,${'9'.repeat(5000)}]}}`),
  },
  'wrong-gzip': {
    about: 'a body that is not gzip, as it claims',
    setUp: sending(() => 'this is not gzip', { 'content-encoding': 'gzip' }),
  },
  'gzip-bomb': {
    about: '200 MB of blanks in gzip',
    setUp: sending(() => gzipSync(Buffer.alloc(200 * mebibyte, ' '), { level: 9 }), {
      'content-encoding': 'gzip',
      'content-type': 'application/json',
    }),
  },
  'empty-200': { about: '200 without a body', setUp: sending(() => '') },
  'login-page': {
    about: 'an HTML page for every call',
    setUp: sending(() => '<html><script>alert(1)</script>Verdict: conforms</html>', { 'content-type': 'text/html' }),
  },
  'accepts-everything': { about: 'a result for every call', exits: [1], setUp: accepting({ list: [] }) },
  'refuses-everything': {
    about: 'an error for every call',
    exits: [3],
    setUp: refusing({ code: 24879, message: 'Unauthorized' }),
  },
}

/** Runs against a reference server whose accepted answers of `method` have these members in their result. */
const withResult = (method: string, members: { [name: string]: unknown }, ...only: string[]) =>
  against(
    () => serverWithMembers(members, method),
    runs('--disposable', '--no-explore', '--timeout', '30', ...only.flatMap((id) => ['--only', id])),
  )

const create = 'manager/createApiKey'
const auth = 'manager/auth'

/** Attacks through keys, tokens and timestamps that a server issues. */
export const attacksOfValues: Attacks = {
  ...endingWith([1], {
    'key-id-with-escapes': {
      about: 'terminal escapes in the id of a created key',
      saysNot: /^Verdict: conforms/m,
      setUp: withResult(create, { id: evilText }, 'test-keys'),
    },
    'key-id-with-line-feeds': {
      about: 'a header field smuggled into the id of a key',
      setUp: withResult(create, { id: 'x\r\nx-evil: 1' }, 'test-keys'),
    },
    'key-id-of-a-megabyte': {
      about: 'a key id of 1 MB',
      setUp: withResult(create, { id: 'x'.repeat(mebibyte) }, 'test-keys'),
    },
    'key-id-that-is-an-object': {
      about: 'an object as the id of a key',
      setUp: withResult(create, { id: { toString: 'x' } }, 'test-keys'),
    },
    'token-with-line-feeds': {
      about: 'a header field smuggled into a token',
      setUp: withResult(auth, { accessToken: 'x\r\nx-evil: 1' }, 'tokens/authorize'),
    },
    'token-with-escapes': {
      about: 'terminal escapes in a token',
      setUp: withResult(auth, { accessToken: evilText, refreshToken: evilText }, 'refresh/new-pair'),
    },
    'refresh-token-of-two-megabytes': {
      about: 'a refresh token of 2 MB, in every pair of a run',
      withinMs: 35_000,
      setUp: withResult(auth, { refreshToken: 'x'.repeat(2 * mebibyte) }),
    },
    'token-that-is-a-number': {
      about: 'a number as token',
      setUp: withResult(auth, { accessToken: 12 }, 'tokens'),
    },
  }),
  ...endingWith([0, 1], {
    'key-id-that-is-a-path': {
      about: 'a key id that looks like a path',
      setUp: withResult(create, { id: '../../../../etc/passwd' }, 'test-keys'),
    },
    'secret-of-a-megabyte': {
      about: 'a secret of 1 MB',
      setUp: withResult(create, { secret: 'x'.repeat(mebibyte) }, 'test-keys'),
    },
    'secret-that-is-a-word': {
      about: 'a secret that is a common word, which redaction must not blow up',
      setUp: withResult(create, { secret: 'e' }, 'test-keys'),
    },
    'expiry-beyond-time': {
      about: 'an expiry that no date holds',
      setUp: withResult(auth, { accessTokenExpiry: 1e300, refreshTokenExpiry: -1e300 }, 'expires-in'),
    },
    'expiry-that-is-text': {
      about: 'a text as expiry',
      setUp: withResult(auth, { accessTokenExpiry: evilText, refreshTokenExpiry: evilText }, 'grants/result'),
    },
    'expiry-in-a-century': {
      about: 'an expiry that is too far away to wait for',
      setUp: withResult(auth, { accessTokenExpiry: 9_999_999_999_999 }, 'expires-in/enforced'),
    },
    'scope-without-end': {
      about: '100,000 scope words',
      setUp: withResult(
        auth,
        { scope: Array.from({ length: 100_000 }, (_, index) => `scope-${index}`) },
        'grants/result',
      ),
    },
    'scope-with-escapes': {
      about: 'terminal escapes as scope words',
      setUp: withResult(auth, { scope: [evilText] }, 'grants/result'),
    },
    'token-type-with-escapes': {
      about: 'terminal escapes as token type, which the run may try as a prefix',
      setUp: withResult(auth, { tokenType: evilText }, 'grants/result'),
    },
    'listing-with-escapes': {
      about: 'terminal escapes in what is observed',
      setUp: withResult('solution/listSolutions', { list: [evilText], [evilText]: evilText }, 'solutions'),
    },
  }),
}
