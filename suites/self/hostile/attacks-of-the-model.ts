import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import {
  type Attacks,
  against,
  attackKey,
  hostileServer,
  rawServer,
  runs,
  sendJson,
  serverBehind,
  spoiltServer,
} from './attack.ts'
import { evilText } from './attacks-of-answers.ts'

const mebibyte = 1024 * 1024
const exits = [0, 1, 3]
const reports = ['json', 'html', 'markdown', 'junit', 'text']

const explores = (url: string, more: string[] = []): string[] => [
  ...['explore', '--url', url, '--disposable', '--for', '6', '--explore-calls', '800'],
  ...more,
]

/** Explores the reference server with one kind of answer replaced. */
const spoiling = (spoil: (body: { id: unknown; result?: unknown }, method: string) => unknown) =>
  against(
    () =>
      spoiltServer((answer, method) => {
        answer.body = JSON.stringify(spoil(JSON.parse(answer.body), method))
      }),
    (url) => explores(url),
  )

/** Does the same with other members in every result that is an object. */
const withMembers = (members: { [name: string]: unknown }, only?: string) =>
  spoiling((body, method) =>
    typeof body.result === 'object' && (only === undefined || method === only)
      ? { ...body, result: { ...body.result, ...members } }
      : body,
  )

/** A run whose model calls a server that becomes slow or silent after this many calls. */
const tiringServer = (calls: number, everyMs: number) => {
  let made = 0
  return serverBehind(async () => {
    made += 1
    if (made > calls) await new Promise((resolve) => setTimeout(resolve, everyMs))
    return false
  })
}

const runsWithModel = (...more: string[]) => runs('--disposable', '--explore', '--only', 'basic', ...more)

/** Attacks of a server on the model, which keeps what it learns and makes calls for a long time. */
export const attacksOfTheModel: Attacks = {
  'model-slow-answers': {
    about: 'a server that takes 300 ms for each call of the model; --timeout counts',
    exits: [0, 1],
    withinMs: 16_000,
    setUp: against(() => tiringServer(600, 300), runsWithModel('--timeout', '9')),
  },
  'model-no-answers': {
    about: 'a server that stops answering when the model begins; --timeout counts',
    exits: [0, 1, 3],
    withinMs: 16_000,
    setUp: against(() => tiringServer(600, 60_000), runsWithModel('--timeout', '8')),
  },
  'model-ctrl-c': {
    about: 'Ctrl-C while the model makes calls',
    exits: [130],
    withinMs: 8000,
    setUp: against(() => tiringServer(600, 100), runsWithModel(), { signals: [{ signal: 'SIGINT', afterMs: 4500 }] }),
  },
  'model-retry-after-a-day': {
    about: '429 with Retry-After of a day as soon as the model begins',
    exits: [0, 1, 3],
    withinMs: 16_000,
    setUp: async () => {
      let made = 0
      const { url, close } = await spoiltServer((answer) => {
        made += 1
        if (made < 600) return
        answer.status = 429
        answer.headers['retry-after'] = '86400'
      })
      return { args: runsWithModel('--timeout', '8')(url), cleanUp: close }
    },
  },
  'explore-ctrl-c': {
    about: 'Ctrl-C while explore makes calls',
    exits: [130],
    withinMs: 6000,
    setUp: against(
      () => tiringServer(10, 100),
      (url) => explores(url),
      { signals: [{ signal: 'SIGINT', afterMs: 2500 }] },
    ),
  },
  'explore-accepts-everything': {
    about: 'a result with terminal escapes for every call of the model',
    exits,
    saysNot: /^Verdict: conforms/m,
    setUp: async (folder) => {
      const { url, close } = await hostileServer((_asked, response) =>
        sendJson(response, {
          jsonrpc: evilText,
          id: evilText,
          result: { id: evilText, secret: evilText, accessToken: evilText, scope: [evilText], [evilText]: 1 },
        }),
      )
      const files = reports.map((format) => ['--report', format === 'text' ? 'text' : `${format}=${format}`])
      return {
        args: explores(url, [...files.flat(), '--save', join(folder, 'found')]),
        cleanUp: close,
      }
    },
  },
  'explore-large-results': {
    about: '2 MB of text in every result',
    exits,
    setUp: withMembers({ list: 'x'.repeat(2 * mebibyte) }),
  },
  'explore-large-tokens': {
    about: 'tokens of 200 KB in every pair',
    exits,
    setUp: async () => {
      let made = 0
      return spoiling((body, method) => {
        made += 1
        const text = `${made}-${'x'.repeat(200_000)}`
        return method === 'manager/auth' && typeof body.result === 'object'
          ? { ...body, result: { ...body.result, accessToken: `a${text}`, refreshToken: `r${text}` } }
          : body
      })('')
    },
  },
  'explore-deep-values': {
    about: 'values nested 20,000 deep as id, jsonrpc, tokens, expiries and scope',
    exits,
    setUp: async () => {
      const { url, close } = await spoiltServer((answer) => {
        const deep = `${'['.repeat(20_000)}${']'.repeat(20_000)}`
        const result = JSON.stringify({ ...JSON.parse(answer.body).result }).slice(1, -1)
        const more = `"tokenType":${deep},"accessTokenExpiry":${deep},"scope":${deep}`
        answer.body = `{"jsonrpc":${deep},"id":${deep},"result":{${result === '' ? '' : `${result},`}${more}}}`
      })
      return { args: explores(url), cleanUp: close }
    },
  },
  'explore-tokens-with-line-feeds': {
    about: 'header fields smuggled into tokens, key ids and secrets',
    exits,
    setUp: withMembers({ accessToken: 'x\r\nx-evil: 1', id: 'y\r\nx-evil: 1', secret: 'z\r\n' }),
  },
  'explore-objects-as-texts': {
    about: 'objects without toString as ids, secrets and tokens',
    exits,
    setUp: withMembers({
      id: { toString: 'x' },
      secret: { toString: 'x' },
      accessToken: { toString: 'x' },
      refreshToken: { toString: null },
      name: { toString: 1 },
    }),
  },
  'explore-prototype-members': {
    about: 'ids, tokens and members called __proto__ and constructor',
    exits,
    setUp: async () => {
      const { url, close } = await spoiltServer((answer) => {
        const result = JSON.stringify({ ...JSON.parse(answer.body).result }).slice(1, -1)
        const more = '"id":"__proto__","secret":"constructor","scope":["__proto__"],"__proto__":{"polluted":1}'
        answer.body = `{"jsonrpc":"2.0","id":1,"__proto__":{"x":1},"result":{${result === '' ? '' : `${result},`}${more}}}`
      })
      return { args: explores(url), cleanUp: close }
    },
  },
  'explore-echoes-secrets': {
    about: 'the secret of the root key in every member of a result; no report shows it',
    exits,
    setUp: async (folder) => {
      const { url, close } = await spoiltServer((answer) => {
        const { id, result } = JSON.parse(answer.body)
        const spelled = [attackKey.secret, Buffer.from(attackKey.secret).toString('base64')]
        answer.body = JSON.stringify({
          jsonrpc: spelled[0],
          id: [id, ...spelled],
          ...(result === undefined
            ? { error: { code: spelled[0], message: spelled.join(' ') } }
            : { result: { ...result, scope: spelled, tokenType: { spelled }, accessTokenExpiry: spelled } }),
        })
      })
      return {
        args: explores(url, ['--report', 'text', '--report', 'json=found.json', '--report', 'html=found.html']),
        check: ({ stdout, stderr }) => {
          const files = ['found.json', 'found.html'].map((name) => readFileSync(join(folder, name), 'utf8'))
          const shown = [stdout, stderr, ...files].join('\n')
          const spelled = [attackKey.secret, Buffer.from(attackKey.secret).toString('base64').slice(0, 40)]
          return spelled.some((secret) => shown.includes(secret)) ? 'shows the secret of the root key' : undefined
        },
        cleanUp: close,
      }
    },
  },
  'explore-not-http': {
    about: 'bytes that are not HTTP, and resets',
    exits: [3],
    setUp: against(
      () =>
        rawServer((socket) => {
          socket.write('SSH-2.0-OpenSSH_9.2\r\n', () => socket.resetAndDestroy())
        }),
      (url) => explores(url),
    ),
  },
}
