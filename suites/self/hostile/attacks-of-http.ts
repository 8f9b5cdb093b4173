import type { ServerResponse } from 'node:http'
import { brotliCompressSync, gzipSync } from 'node:zlib'
import { seededRandom } from '../../engine/signer/random.ts'
import { type Attack, type Attacks, against, runs } from './attack.ts'
import { evilText } from './attacks-of-answers.ts'
import { hostileServer, type Received, rawServer, sendJson, serverBehind, spoiltServer, tcpServer } from './servers.ts'

const mebibyte = 1024 * 1024
const json = '{"jsonrpc":"2.0","id":1,"result":{}}'

/** Sends these bytes for every request, then treats the connection as `after` says. */
const bytes = (about: string, text: string | Buffer, after: 'close' | 'reset' | 'stay' = 'close'): Attack => ({
  about,
  setUp: against(
    () =>
      rawServer((socket) => {
        socket.write(text, () => {
          if (after === 'close') socket.end()
          else if (after === 'reset') socket.resetAndDestroy()
        })
      }),
    runs('--timeout', '10'),
  ),
})

/** The beginning of an answer, and its body. */
const answer = (head: string, body = json) => `HTTP/1.1 ${head}\r\n\r\n${body}`

/** The reference server with other headers, called by a run. */
const withHeaders = (headers: { [name: string]: string }, status = 200) =>
  against(
    () =>
      spoiltServer((answer) => {
        answer.status = status
        Object.assign(answer.headers, headers)
      }),
    runs('--timeout', '15', '--only', 'basic'),
  )

function oddAnswers(): ((received: Received, response: ServerResponse) => void)[] {
  const body = (value: unknown) => JSON.stringify({ jsonrpc: '2.0', id: 1, result: value })
  return [
    ({ body: { id } }, response) => sendJson(response, { jsonrpc: '2.0', id, result: {} }),
    (_asked, response) => void response.writeHead(401).end(evilText),
    (_asked, response) => void response.destroy(),
    (_asked, response) => void response.writeHead(500, { 'content-encoding': 'br' }).end('junk'),
    (_asked, response) => void response.writeHead(204).end(),
    (_asked, response) => void response.end('['.repeat(50_000)),
    (_asked, response) => void response.end(body({ id: null, secret: [], accessToken: {}, scope: 'x' })),
    (_asked, response) => void response.end(body('\ud800'.repeat(1000))),
    (_asked, response) => sendJson(response, { error: { code: evilText, message: { toString: 1 } } }),
    (_asked, response) => void response.writeHead(429, { 'retry-after': '0' }).end(),
    (_asked, response) => void response.writeHead(301, { location: 'file:///etc/passwd' }).end(),
    (_asked, response) => void response.end(body({ accessToken: 'a', refreshToken: 'a', accessTokenExpiry: -1 })),
  ]
}

/** What HTTP allows an answer to be, and what it does not. */
export const attacksOfHttp: Attacks = {
  'http-1-0': {
    exits: [0, 1, 3],
    ...bytes(
      'answers of HTTP/1.0 without a length',
      `HTTP/1.0 200 OK\r\nContent-Type: application/json\r\n\r\n${json}`,
    ),
  },
  'trailers-with-escapes': bytes(
    'terminal escapes and a megabyte in the trailers of a chunked answer',
    answer(
      '200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: x',
      `2\r\n{}\r\n0\r\nx: \u001b[31mowned${'y'.repeat(mebibyte)}\r\n\r\n`,
    ),
  ),
  'two-lengths': bytes(
    'two lengths, and a length together with chunks',
    answer('200 OK\r\nContent-Length: 2\r\nContent-Length: 36\r\nTransfer-Encoding: chunked'),
  ),
  'switches-protocols': bytes(
    '101 Switching Protocols, and then bytes',
    answer('101 Switching Protocols\r\nUpgrade: evil\r\nConnection: Upgrade'),
  ),
  'status-beyond-999': bytes('a status of four digits', answer('2000 OK\r\nContent-Length: 36')),
  'no-content-with-content': bytes(
    '304 for a call, with a body all the same',
    answer('304 Not Modified\r\nContent-Length: 36'),
  ),
  cookies: {
    about: 'a thousand cookies, none of which may come back',
    exits: [0, 1],
    setUp: async () => {
      let sentBack = false
      const { url, close } = await hostileServer(({ request, body }, response) => {
        sentBack ||= request.headers.cookie !== undefined
        response.setHeader(
          'set-cookie',
          Array.from({ length: 200 }, (_, index) => `c${index}=x; Path=/; Domain=127.0.0.1`),
        )
        sendJson(response, { jsonrpc: '2.0', id: body.id, result: {} })
      })
      return {
        args: ['run', '--url', url, '--timeout', '10', '--only', 'basic'],
        check: () => (sentBack ? 'sends cookies back' : undefined),
        cleanUp: close,
      }
    },
  },
  'headers-with-marks': {
    about: 'right-to-left marks and commands for CI logs in header fields',
    exits: [0, 1, 3],
    setUp: withHeaders(
      { 'www-authenticate': '::error::owned \u00ad\u009b31m', server: '##vso[x]', date: '\u0085' },
      401,
    ),
  },
  'redirect-with-credentials': {
    about: 'a redirect within the origin, with credentials and escapes in its address',
    setUp: async (folder) => {
      let followed = 0
      const redirect = ({ request }: Received, response: ServerResponse) => {
        if (request.url !== '/api') followed += 1
        response.writeHead(302, { location: 'http://root:secret@127.0.0.1:1/\u009b31m' }).end()
      }
      const check = () => (followed === 0 ? undefined : 'followed a redirect')
      return against(() => hostileServer(redirect), runs('--timeout', '10'), { check })(folder)
    },
  },
  'brotli-bomb': {
    about: '200 MB of blanks in brotli, and 200 MB in gzip of gzip',
    setUp: async () => {
      const blanks = Buffer.alloc(200 * mebibyte, ' ')
      const bombs: [string, Buffer][] = [
        ['br', brotliCompressSync(blanks)],
        ['gzip', gzipSync(gzipSync(blanks))],
      ]
      let calls = 0
      const { url, close } = await hostileServer((_asked, response) => {
        const [coding, bomb] = bombs[calls++ % 2] as [string, Buffer]
        response.writeHead(200, { 'content-encoding': coding }).end(bomb)
      })
      return { args: ['run', '--url', url, '--timeout', '10'], cleanUp: close }
    },
  },
  'answers-before-the-request': {
    about: 'an answer as soon as a connection opens, and a reset',
    setUp: against(
      () =>
        tcpServer((socket) => {
          socket.on('error', () => {})
          socket.write(`HTTP/1.1 200 OK\r\nContent-Length: 36\r\n\r\n${json}`, () => socket.resetAndDestroy())
        }),
      runs('--timeout', '10'),
    ),
  },
  'any-answer-at-all': {
    about: 'another odd answer to every call, of a run that may do everything',
    withinMs: 30_000,
    setUp: async () => {
      const { below: choose } = seededRandom(20_261_122)
      const answers = oddAnswers()
      let calls = 0
      const { url, close } = await serverBehind((received, response) => {
        calls += 1
        // Otherwise the run would end in the preflight.
        if (calls <= 40 || choose(2) !== 0) return false
        answers[choose(answers.length)]?.(received, response)
        return true
      })
      return {
        args: ['run', '--url', url, '--disposable', '--timeout', '25', '--report', 'text', '--report', 'html=x.html'],
        cleanUp: close,
      }
    },
  },
  'scope-nested-deep': {
    about: 'a scope nested 50,000 deep in every pair',
    exits: [0, 1],
    setUp: against(
      () =>
        spoiltServer((answer, method) => {
          const deep = `"scope":${'['.repeat(50_000)}${']'.repeat(50_000)}`
          if (method === 'manager/auth') answer.body = answer.body.replace(/"scope":\[[^\]]*\]/, deep)
        }),
      runs('--disposable', '--no-explore', '--timeout', '15', '--only', 'grants'),
    ),
  },
}

/** Answers that break HTTP itself. */
export const attacksOfBytes: Attacks = {
  'short-body': bytes('less than Content-Length says', answer('200 OK\r\nContent-Length: 1000', '{"jsonrpc"')),
  'reset-in-body': bytes(
    'a reset in the middle of an answer',
    answer('200 OK\r\nContent-Length: 1000', '{"jsonrpc"'),
    'reset',
  ),
  'not-http': bytes('bytes that are not HTTP', 'SSH-2.0-OpenSSH_9.2\r\n'),
  'http-of-1991': bytes('an answer without a status line', '<html>hello</html>'),
  'status-line-with-escapes': bytes(
    'terminal escapes in the status line',
    answer('500 \u001b[31mowned\r\nContent-Length: 0', ''),
  ),
  'one-header-of-a-megabyte': bytes('a header field of 1 MB', answer(`200 OK\r\nx: ${'y'.repeat(mebibyte)}`, '')),
  'a-thousand-headers': bytes(
    '1,000 header fields',
    `HTTP/1.1 200 OK\r\n${Array.from({ length: 1000 }, (_, index) => `x-${index}: y\r\n`).join('')}Content-Length: 2\r\n\r\n{}`,
  ),
  'headers-without-end': {
    about: 'header fields that never end',
    setUp: against(
      () =>
        rawServer((socket) => {
          socket.write('HTTP/1.1 200 OK\r\n')
          const timer = setInterval(() => socket.write('x: y\r\n'), 20)
          socket.on('close', () => clearInterval(timer))
        }),
      runs('--timeout', '5'),
    ),
  },
  'continue-for-ever': {
    withinMs: 15_000,
    ...bytes('100 Continue again and again', answer('100 Continue', '').repeat(5000), 'stay'),
  },
  'second-answer': bytes(
    'a forged second answer on the same connection',
    answer(
      '200 OK\r\nContent-Length: 2',
      '{}HTTP/1.1 200 OK\r\nContent-Length: 36\r\n\r\n{"jsonrpc":"2.0","id":2,"result":{}}',
    ),
    'stay',
  ),
  'huge-chunk-extension': bytes(
    'a chunk extension of 1 MB',
    answer('200 OK\r\nTransfer-Encoding: chunked', `2;${'x'.repeat(mebibyte)}\r\n{}\r\n0\r\n\r\n`),
  ),
  'wrong-chunk-length': bytes(
    'a chunk length that is no number',
    answer('200 OK\r\nTransfer-Encoding: chunked', 'zz\r\n{}\r\n0\r\n\r\n'),
  ),
}
