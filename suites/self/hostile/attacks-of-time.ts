import type { ServerResponse } from 'node:http'
import { type Attack, type Attacks, against, runs, runsThatCleanUp, type Setup } from './attack.ts'
import { hostileServer, type Received, rawServer, sendJson, serverBehind, spoiltServer } from './servers.ts'

const silent = (args: string[], more: Partial<Setup> = {}) => against(() => rawServer(() => {}), runs(...args), more)

const throttling = (retryAfter: string, status: number, args: string[], more: Partial<Setup> = {}) =>
  against(
    () => hostileServer((_asked, response) => response.writeHead(status, { 'retry-after': retryAfter }).end()),
    runs(...args),
    more,
  )

/** A process takes half a second to start, and ten times as long on a busy machine. */
const busyStartMs = 6000

/** A run takes at most its `--timeout` and one second, and the start of the process. */
const within = (seconds: number, about: string, setUp: (args: string[]) => Attack['setUp']): Attack => ({
  about,
  withinMs: (seconds + 1) * 1000 + busyStartMs,
  setUp: setUp(['--timeout', `${seconds}`]),
})

/** Attacks of a server with time, and interruptions by the user. */
export const attacksOfTime: Attacks = {
  'never-answers': within(4, 'connections are taken and never answered', (args) => silent(args)),
  'retry-after-a-day': {
    says: /86400|1 day|24 h/,
    ...within(3, '503 with Retry-After: 86400 from the first call', (args) => throttling('86400', 503, args)),
  },
  'retry-after-nonsense': within(4, 'Retry-After that is neither a number nor a date', (args) =>
    throttling('soon\u00ff', 503, args),
  ),
  'retry-after-beyond-numbers': within(3, 'Retry-After of 400 digits', (args) =>
    throttling('9'.repeat(400), 429, args),
  ),
  'retry-after-year-9999': within(3, 'Retry-After with a date in the year 9999', (args) =>
    throttling('Fri, 31 Dec 9999 23:59:59 GMT', 503, args),
  ),
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
      return { args: runs('--only', 'signatures', '--timeout', '15')(url), cleanUp: close }
    },
  },
  'clean-up-never-answers': cleanUpAttack(
    'the clean-up method is never answered; the keys that remain are named',
    'silent',
  ),
  'clean-up-a-day-later': cleanUpAttack('the clean-up method answers 503 with Retry-After of a day', 'later'),
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
function cleanUpAttack(about: string, how: 'silent' | 'later'): Attack {
  const meets = ({ body }: Received, response: ServerResponse): boolean => {
    if (body.method !== 'manager/deleteApiKey') return false
    if (how === 'later') response.writeHead(503, { 'retry-after': '86400' }).end()
    return true
  }
  const args = (url: string, folder: string) => [
    ...runsThatCleanUp(url, folder, 'requestTimeoutMs: 3000'),
    '--timeout',
    '25',
  ]
  return {
    about,
    exits: [0, 1],
    says: /API key [0-9a-f]{8}|deleteApiKey/,
    withinMs: 40_000,
    setUp: against(() => serverBehind(meets), args),
  }
}
