import type { Attack, Setup } from './attack.ts'
import { rawServer } from './servers.ts'

/** Sends these bytes for every request, then treats the connection as `after` says. */
const bytes =
  (text: string | Buffer, after: 'close' | 'reset' | 'stay' = 'close') =>
  async (): Promise<Setup> => {
    const { url, close } = await rawServer((socket) => {
      socket.write(text, () => {
        if (after === 'close') socket.end()
        else if (after === 'reset') socket.resetAndDestroy()
      })
    })
    return { args: ['run', '--url', url, '--timeout', '10'], cleanUp: close }
  }

const notUsable = [1, 3]
const mebibyte = 1024 * 1024

/** Answers that break HTTP itself. */
export const attacksOfBytes: readonly Attack[] = [
  {
    id: 'short-body',
    about: 'less than Content-Length says',
    exits: notUsable,
    setUp: bytes('HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n{"jsonrpc"'),
  },
  {
    id: 'reset-in-body',
    about: 'a reset in the middle of an answer',
    exits: notUsable,
    setUp: bytes('HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n{"jsonrpc"', 'reset'),
  },
  { id: 'not-http', about: 'bytes that are not HTTP', exits: notUsable, setUp: bytes('SSH-2.0-OpenSSH_9.2\r\n') },
  {
    id: 'http-of-1991',
    about: 'an answer without a status line',
    exits: notUsable,
    setUp: bytes('<html>hello</html>'),
  },
  {
    id: 'status-line-with-escapes',
    about: 'terminal escapes in the status line',
    exits: notUsable,
    setUp: bytes('HTTP/1.1 500 \u001b[31mowned\r\nContent-Length: 0\r\n\r\n'),
  },
  {
    id: 'one-header-of-a-megabyte',
    about: 'a header field of 1 MB',
    exits: notUsable,
    setUp: bytes(`HTTP/1.1 200 OK\r\nx: ${'y'.repeat(mebibyte)}\r\n\r\n`),
  },
  {
    id: 'a-thousand-headers',
    about: '1,000 header fields',
    exits: notUsable,
    setUp: bytes(
      `HTTP/1.1 200 OK\r\n${Array.from({ length: 1000 }, (_, index) => `x-${index}: y\r\n`).join('')}Content-Length: 2\r\n\r\n{}`,
    ),
  },
  {
    id: 'headers-without-end',
    about: 'header fields that never end',
    exits: notUsable,
    setUp: async () => {
      const { url, close } = await rawServer((socket) => {
        socket.write('HTTP/1.1 200 OK\r\n')
        const timer = setInterval(() => socket.write('x: y\r\n'), 20)
        socket.on('close', () => clearInterval(timer))
      })
      return { args: ['run', '--url', url, '--timeout', '5'], cleanUp: close }
    },
  },
  {
    id: 'continue-for-ever',
    about: '100 Continue again and again',
    exits: notUsable,
    setUp: bytes('HTTP/1.1 100 Continue\r\n\r\n'.repeat(5000), 'stay'),
    withinMs: 15_000,
  },
  {
    id: 'second-answer',
    about: 'a forged second answer on the same connection',
    exits: notUsable,
    setUp: bytes(
      'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}HTTP/1.1 200 OK\r\nContent-Length: 36\r\n\r\n{"jsonrpc":"2.0","id":2,"result":{}}',
      'stay',
    ),
  },
  {
    id: 'huge-chunk-extension',
    about: 'a chunk extension of 1 MB',
    exits: notUsable,
    setUp: bytes(`HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2;${'x'.repeat(mebibyte)}\r\n{}\r\n0\r\n\r\n`),
  },
  {
    id: 'wrong-chunk-length',
    about: 'a chunk length that is no number',
    exits: notUsable,
    setUp: bytes('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n{}\r\n0\r\n\r\n'),
  },
]
