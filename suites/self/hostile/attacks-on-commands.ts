import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { builtBin } from '../printed-by.ts'
import { type Attacks, against, runsThatCleanUp, type Setup } from './attack.ts'
import { evilText } from './attacks-of-answers.ts'
import { attackKey, hostileServer, rawServer, sendJson, serverWithMembers, spoiltServer } from './servers.ts'

const mebibyte = 1024 * 1024
const html = '<script>alert(1)</script><img src=x onerror=alert(1)>'
const evilResult = {
  id: evilText,
  secret: evilText,
  accessToken: evilText,
  refreshToken: html,
  scope: [evilText, html],
  [evilText]: html,
}

const evilServer = () =>
  hostileServer(({ body }, response) => sendJson(response, { jsonrpc: evilText, id: body.id, result: evilResult }))

/** The reference server, with this many more bytes in every result. */
const serverWithMuch = (bytes: number) =>
  spoiltServer((answer) => {
    answer.body = answer.body.replace('"result":{', `"result":{"much":"${'x'.repeat(bytes)}",`)
  })

const measuring = (start: Parameters<typeof against>[0], more: Partial<Setup> = {}) =>
  against(start, (url) => ['facts', '--url', url, '--allow', 'sessions,keys,limits'], more)

/** What a server or a file can do to the commands other than run. */
export const attacksOnCommands: Attacks = {
  'facts-of-escapes': {
    about: 'terminal escapes in everything that facts measures',
    exits: [0, 3],
    setUp: measuring(evilServer),
  },
  'facts-of-megabytes': {
    about: '3 MB of text in every answer that facts measures',
    exits: [0, 3],
    setUp: measuring(() => serverWithMuch(3 * mebibyte)),
  },
  'facts-in-silence': {
    about: 'facts of a server that never answers, and Ctrl-C',
    exits: [130],
    withinMs: 6000,
    setUp: measuring(() => rawServer(() => {}), { signals: [{ signal: 'SIGINT', afterMs: 1500 }] }),
  },
  'facts-of-odd-values': {
    about: 'objects, huge numbers and nested arrays where facts expects texts',
    exits: [0, 3],
    setUp: measuring(() =>
      serverWithMembers({ accessTokenExpiry: 1e300, refreshTokenExpiry: [[]], scope: { length: -1 }, tokenType: {} }),
    ),
  },
  'diff-of-escapes': {
    about: 'two servers that answer with escapes, one with megabytes',
    exits: [0, 1, 3],
    setUp: async () => {
      const one = await evilServer()
      const other = await serverWithMuch(mebibyte)
      return {
        args: ['diff', '--url', one.url, '--url', other.url, '--allow', 'sessions'],
        cleanUp: () => {
          one.close()
          other.close()
        },
      }
    },
  },
  'keys-of-another-hand': {
    about: 'a record of keys with escapes, written by another program',
    exits: [0, 2],
    setUp: async (folder) => {
      const state = join(folder, 'state', 'svc-conformance')
      mkdirSync(state, { recursive: true })
      const header = { format: 'svc-conformance created keys', version: 1, note: '', url: evilText, rootId: evilText }
      const entry = { created: { id: evilText, name: html, member: evilText } }
      writeFileSync(
        join(state, `${'0'.repeat(24)}.keys.jsonl`),
        `${JSON.stringify(header)}\n${JSON.stringify(entry)}\n`,
      )
      return { args: ['keys'] }
    },
  },
  'report-of-another-hand': {
    about: 'a report with escapes and scripts in every text, compared on a page',
    exits: [0, 1, 2],
    withinMs: 30_000,
    setUp: async (folder) => {
      const file = join(folder, 'own.json')
      execFileSync(process.execPath, [builtBin, 'run', '--only', 'basic', '--report', `json=${file}`], {
        env: { PATH: process.env.PATH, XDG_STATE_HOME: folder },
        stdio: 'ignore',
      })
      const evil = (value: unknown, name = ''): unknown => {
        if (typeof value === 'string')
          return /^(verdict|level|kind|id|key|version|set|started|seed)$/.test(name)
            ? value
            : `${value}${evilText}${html}`
        if (Array.isArray(value)) return value.map((item) => evil(item, name))
        if (typeof value !== 'object' || value === null) return value
        return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, evil(item, key)]))
      }
      const report = evil(JSON.parse(readFileSync(file, 'utf8')))
      writeFileSync(join(folder, 'other.json'), JSON.stringify(report))
      return {
        args: ['compare', 'own.json', 'other.json', '--html', 'page.html'],
        check: () => {
          try {
            const page = readFileSync(join(folder, 'page.html'), 'utf8')
            return page.includes('<img src=x onerror') || page.includes('<script>alert') ? 'writes a script' : undefined
          } catch {
            return undefined
          }
        },
      }
    },
  },
}

/** What a server can bring into what is printed: commands to paste, and secrets that it knows. */
export const attacksOfOutput: Attacks = {
  'key-id-that-is-a-command': {
    about: 'key ids that a shell would run or take as a flag, in the calls that remove them',
    exits: [0, 1],
    says: /to remove it: curl/,
    setUp: async (folder) => {
      const { url, close } = await spoiltServer((answer, method) => {
        const body = JSON.parse(answer.body)
        if (method === 'manager/deleteApiKey')
          answer.body = '{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"no"}}'
        if (method !== 'manager/createApiKey' || body.result === undefined) return
        answer.body = JSON.stringify({ ...body, result: { ...body.result, id: "--help';$(touch owned)" } })
      })
      return {
        args: [...runsThatCleanUp(url, folder), '--timeout', '15'],
        check: ({ stdout, stderr }) => {
          const commands = [...(stdout + stderr).matchAll(/to remove it: curl (.*)/g)].map(([, words]) => words)
          // The shell gets the words as a user would paste them, and runs nothing but printf.
          for (const words of commands)
            execFileSync('sh', ['-c', `printf '%s' ${words} > /dev/null`], { cwd: folder, stdio: 'ignore' })
          return existsSync(join(folder, 'owned')) ? 'prints a command that runs what a server chose' : undefined
        },
        cleanUp: close,
      }
    },
  },
  'echoes-the-secret': {
    about: 'the secret of the caller in many spellings, in errors, results and header fields',
    exits: [0, 1, 3],
    setUp: async (folder) => {
      const { secret, id } = attackKey
      const pair = Buffer.from(`${id}:${secret}`)
      const spelled = [
        secret,
        secret.toUpperCase(),
        encodeURIComponent(secret),
        Buffer.from(secret).toString('hex'),
        Buffer.from(secret).toString('base64'),
        pair.toString('base64'),
        pair.toString('base64url'),
        JSON.stringify(JSON.stringify(secret)),
      ]
      const { url, close } = await spoiltServer((answer) => {
        const body = JSON.parse(answer.body)
        answer.headers['x-you'] = spelled.join(' ')
        answer.body = JSON.stringify(
          body.error === undefined
            ? { ...body, jsonrpc: spelled, result: { ...body.result, scope: spelled, you: spelled } }
            : { ...body, error: { code: secret, message: spelled.join(' '), data: spelled } },
        )
      })
      const formats = ['json', 'html', 'junit', 'markdown']
      return {
        args: [
          ...['run', '--url', url, '--disposable', '--no-explore', '--timeout', '15', '--observations'],
          ...['--only', 'grants', '--only', 'errors', '--only', 'envelope', '--report', 'text'],
          ...formats.flatMap((format) => ['--report', `${format}=${format}.txt`]),
        ],
        check: ({ stdout, stderr }) => {
          const files = formats.map((format) => readFileSync(join(folder, `${format}.txt`), 'utf8'))
          const shown = [stdout, stderr, ...files].join('\n').toLowerCase()
          const leaked = spelled.find((text) => shown.includes(text.toLowerCase().slice(0, 30)))
          return leaked === undefined ? undefined : `shows the secret as ${leaked.slice(0, 12)}…`
        },
        cleanUp: close,
      }
    },
  },
}
