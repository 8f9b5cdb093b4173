import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Attack } from './attack.ts'
import { attackKey, spoiltServer } from './servers.ts'

/** What a server can bring into what is printed: commands to paste, and secrets that it knows. */
export const attacksOfOutput: readonly Attack[] = [
  {
    id: 'key-id-that-is-a-command',
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
      const file = join(folder, 'target.yaml')
      writeFileSync(
        file,
        `url: ${url}\nallow: [sessions, keys]\ncleanup: { method: manager/deleteApiKey, params: { id: $id } }\n`,
      )
      return {
        args: ['run', '--target', file, '--only', 'test-keys', '--timeout', '15'],
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
  {
    id: 'echoes-the-secret',
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
]
