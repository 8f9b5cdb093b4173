/** Plants secrets by the dozen, with a broken server so that much is printed, and searches every output for them. */
import { spawn } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { packageRoot } from '../engine/language/package-root.ts'
import { loadMutants, startMockServer } from '../targets/bundled.ts'
import { printedBy } from './printed-by.ts'

const folder = mkdtempSync(join(tmpdir(), 'svc-secrets-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const rootSecret = 'Planted/Root+Secret=0123456789'
const broken = ['old-access-token-lives-on', 'seventeen-sessions-kept', 'basic-never-taken']
const asked = [
  'basic',
  'grants/accepted',
  'grants/result-of-every-kind',
  'keys/create',
  'tokens/authorize',
  'refresh/revokes',
  'refresh/new-pair',
  'signatures/ecc',
]
/** This many characters of a secret in an output are too many; four are shown. */
const tooMuch = 10

async function bodyOf(message: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = []
  for await (const chunk of message) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks)
}

/** A proxy between the suite and the server that records every secret that passes. */
async function withListener<T>(url: string, use: (url: string, secrets: Set<string>) => Promise<T>): Promise<T> {
  const secrets = new Set<string>()
  const listener = createServer(async (request, response) => {
    const [word, ...credentials] = (request.headers.authorization ?? '').split(' ')
    if (word === 'Basic') secrets.add(credentials.join(' ').slice(-20))
    const body = await bodyOf(request)
    const headers = {
      'content-type': 'application/json',
      ...(request.headers.authorization === undefined ? {} : { authorization: request.headers.authorization }),
    }
    const answer = await fetch(url + request.url, { method: 'POST', headers, body: new Uint8Array(body) })
    const text = await answer.text()
    for (const [, secret] of text.matchAll(/"(?:secret|accessToken|refreshToken)":"([^"]+)"/g))
      if (secret !== undefined) secrets.add(secret)
    response.writeHead(answer.status, { 'content-type': 'application/json' }).end(text)
  })
  await new Promise<void>((resolve) => listener.listen(0, '127.0.0.1', resolve))
  try {
    return await use(`http://127.0.0.1:${(listener.address() as AddressInfo).port}`, secrets)
  } finally {
    listener.closeAllConnections()
    listener.close()
  }
}

function runSuite(url: string, asked: readonly string[], more: string[] = []): Promise<string> {
  const formats = ['json', 'junit', 'html', 'markdown'].flatMap((format) => [
    '--report',
    `${format}=${join(folder, format)}`,
  ])
  const only = asked.flatMap((id) => ['--only', id])
  const child = spawn(
    process.execPath,
    [
      join(packageRoot, 'dist', 'suites', 'bin.js'),
      'run',
      '--url',
      url,
      '--disposable',
      ...only,
      ...formats,
      '--report',
      'text',
      ...more,
    ],
    { env: { ...process.env, SVC_KEY_ID: 'planted', SVC_KEY_SECRET: rootSecret } },
  )
  const printed = printedBy(child)
  return new Promise((resolve) => child.on('close', () => resolve(printed())))
}

const found = (text: string, secrets: Iterable<string>): string[] =>
  [...secrets].filter((secret) => text.includes(secret.slice(0, tooMuch)) || text.includes(secret.slice(-tooMuch)))

test('no output holds a secret, and a trace does', async () => {
  const mutants = (await loadMutants()).filter(({ id }) => broken.includes(id))
  const rules = Object.assign({}, ...mutants.map((mutant) => mutant.create().rules))
  const server = await startMockServer({ rootKey: { id: 'planted', secret: rootSecret }, rules })
  try {
    await withListener(server.url, async (url, secrets) => {
      const printed = await runSuite(url, asked)
      const all = [rootSecret, JSON.stringify(rootSecret).slice(1, -1), encodeURIComponent(rootSecret), ...secrets]
      expect(secrets.size).toBeGreaterThan(30)
      expect(printed).toContain('does not conform')
      expect(found(printed, all)).toEqual([])
      for (const file of readdirSync(folder))
        expect(found(readFileSync(join(folder, file), 'utf8'), all), file).toEqual([])
    })
    // The search itself must be able to find something.
    await withListener(server.url, async (url, secrets) => {
      const printed = await runSuite(url, ['refresh/revokes'], ['--trace'])
      expect(found(printed, [rootSecret, ...secrets]).length).toBeGreaterThan(0)
    })
  } finally {
    await server.close()
  }
})
