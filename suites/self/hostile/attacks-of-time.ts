import { connect } from 'node:net'
import type { Attack, Setup } from './attack.ts'
import { hostileServer, rawServer, sendJson, spoiltServer } from './attack.ts'

const silent = async (args: string[], more: Partial<Setup> = {}): Promise<Setup> => {
  const { url, close } = await rawServer(() => {})
  return { args: ['run', '--url', url, ...args], cleanUp: close, ...more }
}

const throttling = async (retryAfter: string, status: number, args: string[], more: Partial<Setup> = {}) => {
  const { url, close } = await hostileServer((_asked, response) => {
    response.writeHead(status, retryAfter === '' ? {} : { 'retry-after': retryAfter }).end()
  })
  return { args: ['run', '--url', url, ...args], cleanUp: close, ...more }
}

/** A run takes at most its `--timeout` and one second, and the start of the process. */
const deadline = (seconds: number) => (seconds + 1) * 1000 + busyStartMs
/** A process takes half a second to start, and ten times as long on a busy machine. */
const busyStartMs = 6000

/** Attacks of a server with time, and interruptions by the user. */
export const attacksOfTime: readonly Attack[] = [
  {
    id: 'never-answers',
    about: 'connections are taken and never answered',
    withinMs: deadline(4),
    setUp: () => silent(['--timeout', '4']),
  },
  {
    id: 'retry-after-a-day',
    about: '503 with Retry-After: 86400 from the first call',
    says: /86400|1 day|24 h/,
    withinMs: deadline(3),
    setUp: () => throttling('86400', 503, ['--timeout', '3']),
  },
  {
    id: 'throttled-a-day',
    about: '429 with Retry-After: 86400 from the first call',
    withinMs: deadline(3),
    setUp: () => throttling('86400', 429, ['--timeout', '3']),
  },
  {
    id: 'retry-after-nonsense',
    about: 'Retry-After that is neither a number nor a date',
    withinMs: deadline(4),
    setUp: () => throttling('soon\u00ff', 503, ['--timeout', '4']),
  },
  {
    id: 'retry-after-beyond-numbers',
    about: 'Retry-After of 400 digits',
    withinMs: deadline(3),
    setUp: () => throttling('9'.repeat(400), 429, ['--timeout', '3']),
  },
  {
    id: 'retry-after-year-9999',
    about: 'Retry-After with a date in the year 9999',
    withinMs: deadline(3),
    setUp: () => throttling('Fri, 31 Dec 9999 23:59:59 GMT', 503, ['--timeout', '3']),
  },
  {
    id: 'ctrl-c-in-silence',
    about: 'Ctrl-C while a server says nothing',
    exits: [130],
    withinMs: 6000,
    setUp: () => silent([], { signals: [{ signal: 'SIGINT', afterMs: 1500 }] }),
  },
  {
    id: 'sigterm-in-retry-after',
    about: 'SIGTERM while the run waits out Retry-After',
    exits: [130, 3],
    withinMs: 6000,
    setUp: () => throttling('3600', 503, [], { signals: [{ signal: 'SIGTERM', afterMs: 1500 }] }),
  },
  {
    id: 'two-ctrl-c',
    about: 'Ctrl-C twice',
    exits: [130],
    withinMs: 5000,
    setUp: () =>
      silent([], {
        signals: [
          { signal: 'SIGINT', afterMs: 1200 },
          { signal: 'SIGINT', afterMs: 1600 },
        ],
      }),
  },
  {
    id: 'nobody-there',
    about: 'no server at all',
    exits: [3],
    withinMs: 5000,
    setUp: async () => ({ args: ['run', '--url', 'http://127.0.0.1:1', '--timeout', '3'] }),
  },
  {
    id: 'redirect-elsewhere',
    about: 'a redirect to another origin, which must see no credential',
    setUp: async () => {
      let seen = ''
      const other = await hostileServer(({ request }, response) => {
        seen += String(request.headers.authorization ?? 'a request')
        response.end()
      })
      const { url, close } = await hostileServer((_asked, response) => {
        response.writeHead(307, { location: `${other.url}/api` }).end()
      })
      return {
        args: ['run', '--url', url, '--timeout', '10'],
        check: () => (seen === '' ? undefined : 'followed a redirect to another origin'),
        cleanUp: () => {
          close()
          other.close()
        },
      }
    },
  },
  {
    id: 'date-header-nonsense',
    about: 'a Date header that is no date',
    exits: [0, 1],
    setUp: async () => {
      const { url, close } = await spoiltServer((answer) => {
        answer.headers.date = 'yesterday, about noon'
      })
      return { args: ['run', '--url', url, '--only', 'basic', '--timeout', '15'], cleanUp: close }
    },
  },
  {
    id: 'date-header-far-away',
    about: 'a Date header that jumps by years',
    exits: [0, 1, 3],
    setUp: async () => {
      let calls = 0
      const { url, close } = await spoiltServer((answer) => {
        calls += 1
        answer.headers.date = new Date(calls % 2 === 0 ? 8.64e15 : 0).toUTCString()
      })
      return { args: ['run', '--url', url, '--only', 'signatures', '--timeout', '15'], cleanUp: close }
    },
  },
  {
    id: 'clean-up-never-answers',
    about: 'the clean-up method is never answered; the keys that remain are named',
    exits: [0, 1],
    says: /API key [0-9a-f]{8}|deleteApiKey/,
    withinMs: 40_000,
    setUp: async (folder) => cleanUpAttack(folder, 'silent'),
  },
  {
    id: 'clean-up-a-day-later',
    about: 'the clean-up method answers 503 with Retry-After of a day',
    exits: [0, 1],
    says: /API key [0-9a-f]{8}|deleteApiKey/,
    withinMs: 40_000,
    setUp: async (folder) => cleanUpAttack(folder, 'later'),
  },
  {
    id: 'idle-connections',
    about: 'a server that keeps our connections open for ever and answers none',
    exits: [1, 3],
    setUp: async () => {
      const { url, close } = await hostileServer(({ body }, response) => {
        sendJson(
          response,
          { jsonrpc: '2.0', id: body.id, result: {} },
          { connection: 'keep-alive', 'keep-alive': 'timeout=99999' },
        )
      })
      return { args: ['run', '--url', url, '--timeout', '10', '--only', 'basic'], cleanUp: close }
    },
  },
]

async function cleanUpAttack(folder: string, how: 'silent' | 'later'): Promise<Setup> {
  const { writeFileSync } = await import('node:fs')
  const { join } = await import('node:path')
  const server = await hostileProxy(how)
  const file = join(folder, 'target.yaml')
  writeFileSync(
    file,
    `url: ${server.url}\nallow: [sessions, keys]\nrequestTimeoutMs: 3000\ncleanup: { method: manager/deleteApiKey, params: { id: $id } }\n`,
  )
  return { args: ['run', '--target', file, '--only', 'test-keys', '--timeout', '25'], cleanUp: server.close }
}

/** The reference server without the method that deletes keys. */
async function hostileProxy(how: 'silent' | 'later') {
  const inner = await spoiltServer(() => {})
  const target = new URL(inner.url)
  const outer = await hostileServer(({ request, body }, response) => {
    if (body.method === 'manager/deleteApiKey') {
      if (how === 'later') response.writeHead(503, { 'retry-after': '86400' }).end()
      return
    }
    const text = JSON.stringify(body)
    const socket = connect(Number(target.port), target.hostname)
    socket.on('error', () => response.destroy())
    socket.end(
      `POST /api HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-type: application/json\r\n${request.headers.authorization === undefined ? '' : `authorization: ${request.headers.authorization}\r\n`}content-length: ${Buffer.byteLength(text)}\r\n\r\n${text}`,
    )
    let answer = ''
    socket.on('data', (chunk) => {
      answer += chunk
    })
    socket.on('close', () => response.end(answer.slice(answer.indexOf('\r\n\r\n') + 4)))
  })
  return {
    url: outer.url,
    close: () => {
      outer.close()
      inner.close()
    },
  }
}
