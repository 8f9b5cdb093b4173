import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Attack, type Attacks, against, endingWith, runs } from './attack.ts'
import { evilText } from './attacks-of-answers.ts'
import {
  attackKey,
  hostileServer,
  rawServer,
  sendJson,
  serverBehind,
  serverWithMembers,
  spoiltServer,
} from './servers.ts'

const mebibyte = 1024 * 1024
const reports = ['json', 'html', 'markdown', 'junit', 'text']

/** The arguments of an exploration of a URL. */
const explores =
  (...more: string[]) =>
  (url: string): string[] => [
    ...['explore', '--url', url, '--disposable', '--for', '6', '--explore-calls', '800'],
    ...more,
  ]

/** Explores the reference server with other members in every result. */
const withMembers = (about: string, members: { [name: string]: unknown }): Attack => ({
  about,
  setUp: against(() => serverWithMembers(members), explores()),
})

/** Answers with this text of an envelope, and with more text behind the members of the result. */
const addingText = (about: string, envelope: string, more: string): Attack => {
  const spoil: Parameters<typeof spoiltServer>[0] = (answer) => {
    const result = JSON.stringify({ ...JSON.parse(answer.body).result }).slice(1, -1)
    answer.body = `{${envelope},"result":{${result === '' ? '' : `${result},`}${more}}}`
  }
  return { about, setUp: against(() => spoiltServer(spoil), explores()) }
}
const deep = `${'['.repeat(20_000)}${']'.repeat(20_000)}`

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
export const attacksOfTheModel: Attacks = endingWith([0, 1, 3], {
  'model-slow-answers': {
    about: 'a server that takes 300 ms for each call of the model; --timeout counts',
    exits: [0, 1],
    withinMs: 16_000,
    setUp: against(() => tiringServer(600, 300), runsWithModel('--timeout', '9')),
  },
  'model-no-answers': {
    about: 'a server that stops answering when the model begins; --timeout counts',
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
    withinMs: 16_000,
    setUp: against(
      () => {
        let made = 0
        return spoiltServer((answer) => {
          made += 1
          if (made < 600) return
          answer.status = 429
          answer.headers['retry-after'] = '86400'
        })
      },
      runsWithModel('--timeout', '8'),
    ),
  },
  'explore-ctrl-c': {
    about: 'Ctrl-C while explore makes calls',
    exits: [130],
    withinMs: 6000,
    setUp: against(() => tiringServer(10, 100), explores(), { signals: [{ signal: 'SIGINT', afterMs: 2500 }] }),
  },
  'explore-accepts-everything': {
    about: 'a result with terminal escapes for every call of the model',
    saysNot: /^Verdict: conforms/m,
    setUp: against(
      () =>
        hostileServer((_asked, response) =>
          sendJson(response, {
            jsonrpc: evilText,
            id: evilText,
            result: { id: evilText, secret: evilText, accessToken: evilText, scope: [evilText], [evilText]: 1 },
          }),
        ),
      (url, folder) => {
        const files = reports.map((format) => ['--report', format === 'text' ? 'text' : `${format}=${format}`])
        return explores(...files.flat(), '--save', join(folder, 'found'))(url)
      },
    ),
  },
  'explore-large-results': withMembers('2 MB of text in every result', { list: 'x'.repeat(2 * mebibyte) }),
  'explore-large-tokens': {
    about: 'tokens of 200 KB in every pair',
    setUp: against(() => {
      let made = 0
      return spoiltServer((answer, method) => {
        made += 1
        const text = `${made}-${'x'.repeat(200_000)}`
        const body = JSON.parse(answer.body)
        if (method !== 'manager/auth' || body.result === undefined) return
        const result = { ...body.result, accessToken: `a${text}`, refreshToken: `r${text}` }
        answer.body = JSON.stringify({ ...body, result })
      })
    }, explores()),
  },
  'explore-deep-values': addingText(
    'values nested 20,000 deep as id, jsonrpc, tokens, expiries and scope',
    `"jsonrpc":${deep},"id":${deep}`,
    `"tokenType":${deep},"accessTokenExpiry":${deep},"scope":${deep}`,
  ),
  'explore-tokens-with-line-feeds': withMembers('header fields smuggled into tokens, key ids and secrets', {
    accessToken: 'x\r\nx-evil: 1',
    id: 'y\r\nx-evil: 1',
    secret: 'z\r\n',
  }),
  'explore-objects-as-texts': withMembers('objects without toString as ids, secrets and tokens', {
    id: { toString: 'x' },
    secret: { toString: 'x' },
    accessToken: { toString: 'x' },
    refreshToken: { toString: null },
    name: { toString: 1 },
  }),
  'explore-prototype-members': addingText(
    'ids, tokens and members called __proto__ and constructor',
    '"jsonrpc":"2.0","id":1,"__proto__":{"x":1}',
    '"id":"__proto__","secret":"constructor","scope":["__proto__"],"__proto__":{"polluted":1}',
  ),
  'explore-echoes-secrets': {
    about: 'the secret of the root key in every member of a result; no report shows it',
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
        args: explores('--report', 'text', '--report', 'json=found.json', '--report', 'html=found.html')(url),
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
      explores(),
    ),
  },
})
