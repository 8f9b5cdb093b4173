import { writeFileSync } from 'node:fs'
import type { ServerResponse } from 'node:http'
import { join } from 'node:path'
import {
  type Attacks,
  against,
  hostileServer,
  type Received,
  rawServer,
  runs,
  type Setup,
  sendJson,
  serverBehind,
  spoiltServer,
} from './attack.ts'

const silent = (args: string[], more: Partial<Setup> = {}) => against(() => rawServer(() => {}), runs(...args), more)

const throttling = (retryAfter: string, status: number, args: string[], more: Partial<Setup> = {}) =>
  against(
    () => hostileServer((_asked, response) => response.writeHead(status, { 'retry-after': retryAfter }).end()),
    runs(...args),
    more,
  )

/** A run takes at most its `--timeout` and one second, and the start of the process. */
const deadline = (seconds: number) => (seconds + 1) * 1000 + busyStartMs
/** A process takes half a second to start, and ten times as long on a busy machine. */
const busyStartMs = 6000

/** Attacks of a server with time, and interruptions by the user. */
export const attacksOfTime: Attacks = {
  'never-answers': {
    about: 'connections are taken and never answered',
    withinMs: deadline(4),
    setUp: silent(['--timeout', '4']),
  },
  'retry-after-a-day': {
    about: '503 with Retry-After: 86400 from the first call',
    says: /86400|1 day|24 h/,
    withinMs: deadline(3),
    setUp: throttling('86400', 503, ['--timeout', '3']),
  },
  'retry-after-nonsense': {
    about: 'Retry-After that is neither a number nor a date',
    withinMs: deadline(4),
    setUp: throttling('soon\u00ff', 503, ['--timeout', '4']),
  },
  'retry-after-beyond-numbers': {
    about: 'Retry-After of 400 digits',
    withinMs: deadline(3),
    setUp: throttling('9'.repeat(400), 429, ['--timeout', '3']),
  },
  'retry-after-year-9999': {
    about: 'Retry-After with a date in the year 9999',
    withinMs: deadline(3),
    setUp: throttling('Fri, 31 Dec 9999 23:59:59 GMT', 503, ['--timeout', '3']),
  },
  'ctrl-c-in-silence': {
    about: 'Ctrl-C while a server says nothing',
    exits: [130],
    withinMs: 6000,
    setUp: silent([], { signals: [{ signal: 'SIGINT', afterMs: 1500 }] }),
  },
  'sigterm-in-retry-after': {
    about: 'SIGTERM while the run waits out Retry-After',
    exits: [130, 3],
    withinMs: 6000,
    setUp: throttling('3600', 503, [], { signals: [{ signal: 'SIGTERM', afterMs: 1500 }] }),
  },
  'two-ctrl-c': {
    about: 'Ctrl-C twice',
    exits: [130],
    withinMs: 5000,
    setUp: silent([], { signals: [1200, 1600].map((afterMs) => ({ signal: 'SIGINT', afterMs })) }),
  },
  'nobody-there': {
    about: 'no server at all',
    exits: [3],
    withinMs: 5000,
    setUp: async () => ({ args: ['run', '--url', 'http://127.0.0.1:1', '--timeout', '3'] }),
  },
  'redirect-elsewhere': {
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
  'date-header-nonsense': {
    about: 'a Date header that is no date',
    exits: [0, 1],
    setUp: against(
      () =>
        spoiltServer(({ headers }) => {
          headers.date = 'yesterday, about noon'
        }),
      runs('--only', 'basic', '--timeout', '15'),
    ),
  },
  'date-header-far-away': {
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
  'clean-up-never-answers': {
    about: 'the clean-up method is never answered; the keys that remain are named',
    exits: [0, 1],
    says: /API key [0-9a-f]{8}|deleteApiKey/,
    withinMs: 40_000,
    setUp: cleanUpAttack('silent'),
  },
  'clean-up-a-day-later': {
    about: 'the clean-up method answers 503 with Retry-After of a day',
    exits: [0, 1],
    says: /API key [0-9a-f]{8}|deleteApiKey/,
    withinMs: 40_000,
    setUp: cleanUpAttack('later'),
  },
  'idle-connections': {
    about: 'a server that keeps our connections open for ever and answers none',
    exits: [1, 3],
    setUp: against(
      () =>
        hostileServer(({ body }, response) => {
          const headers = { connection: 'keep-alive', 'keep-alive': 'timeout=99999' }
          sendJson(response, { jsonrpc: '2.0', id: body.id, result: {} }, headers)
        }),
      runs('--timeout', '10', '--only', 'basic'),
    ),
  },
}

/** A run that may create keys, and a server that does not answer the method that deletes them. */
function cleanUpAttack(how: 'silent' | 'later') {
  const meets = ({ body }: Received, response: ServerResponse): boolean => {
    if (body.method !== 'manager/deleteApiKey') return false
    if (how === 'later') response.writeHead(503, { 'retry-after': '86400' }).end()
    return true
  }
  return against(
    () => serverBehind(meets),
    (url, folder) => {
      const file = join(folder, 'target.yaml')
      writeFileSync(
        file,
        `url: ${url}\nallow: [sessions, keys]\nrequestTimeoutMs: 3000\ncleanup: { method: manager/deleteApiKey, params: { id: $id } }\n`,
      )
      return ['run', '--target', file, '--only', 'test-keys', '--timeout', '25']
    },
  )
}
