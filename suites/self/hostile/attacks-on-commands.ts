import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Attack, Setup } from './attack.ts'
import { evilText } from './attacks-of-answers.ts'
import { hostileServer, rawServer, sendJson, spoiltServer } from './servers.ts'

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

const measuring =
  (start: () => Promise<{ url: string; close(): void }>, more: Partial<Setup> = {}) =>
  async (): Promise<Setup> => {
    const { url, close } = await start()
    return { args: ['facts', '--url', url, '--allow', 'sessions,keys,limits'], cleanUp: close, ...more }
  }

/** What a server or a file can do to the commands other than run. */
export const attacksOnCommands: readonly Attack[] = [
  {
    id: 'facts-of-escapes',
    about: 'terminal escapes in everything that facts measures',
    exits: [0, 3],
    setUp: measuring(evilServer),
  },
  {
    id: 'facts-of-megabytes',
    about: '3 MB of text in every answer that facts measures',
    exits: [0, 3],
    setUp: measuring(() =>
      spoiltServer((answer) => {
        answer.body = answer.body.replace('"result":{', `"result":{"much":"${'x'.repeat(3 * mebibyte)}",`)
      }),
    ),
  },
  {
    id: 'facts-in-silence',
    about: 'facts of a server that never answers, and Ctrl-C',
    exits: [130],
    withinMs: 6000,
    setUp: measuring(() => rawServer(() => {}), { signals: [{ signal: 'SIGINT', afterMs: 1500 }] }),
  },
  {
    id: 'facts-of-odd-values',
    about: 'objects, huge numbers and nested arrays where facts expects texts',
    exits: [0, 3],
    setUp: measuring(() =>
      spoiltServer((answer) => {
        const body = JSON.parse(answer.body)
        if (body.result === undefined) return
        const odd = { accessTokenExpiry: 1e300, refreshTokenExpiry: [[]], scope: { length: -1 }, tokenType: {} }
        answer.body = JSON.stringify({ ...body, result: { ...body.result, ...odd } })
      }),
    ),
  },
  {
    id: 'diff-of-escapes',
    about: 'two servers that answer with escapes, one with megabytes',
    exits: [0, 1, 3],
    setUp: async () => {
      const one = await evilServer()
      const other = await spoiltServer((answer) => {
        answer.body = answer.body.replace('"result":{', `"result":{"much":"${'x'.repeat(mebibyte)}",`)
      })
      return {
        args: ['diff', '--url', one.url, '--url', other.url, '--allow', 'sessions'],
        cleanUp: () => {
          one.close()
          other.close()
        },
      }
    },
  },
  {
    id: 'keys-of-another-hand',
    about: 'a record of keys with escapes, written by another program',
    exits: [0, 2],
    setUp: async (folder) => {
      const { mkdirSync } = await import('node:fs')
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
  {
    id: 'report-of-another-hand',
    about: 'a report with escapes and scripts in every text, compared on a page',
    exits: [0, 1, 2],
    withinMs: 30_000,
    setUp: async (folder) => {
      const { execFileSync } = await import('node:child_process')
      const { packageRoot } = await import('../../engine/language/package-root.ts')
      const file = join(folder, 'own.json')
      const bin = join(packageRoot, 'dist', 'suites', 'bin.js')
      execFileSync(process.execPath, [bin, 'run', '--only', 'basic', '--report', `json=${file}`], {
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
]
