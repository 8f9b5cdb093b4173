/** Plants secrets by the dozen, with a broken server so that much is printed, and searches every output for them. */
import { readdirSync, readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { allItems, answersTo } from '../engine/conversation/cases.ts'
import { openCorpus } from '../run/corpus-cache.ts'
import { runAll } from '../run/run.ts'
import { brokenServers } from '../servers/table.ts'
import { startMockServer } from '../targets/bundled.ts'
import { bodyOf, listening } from './local-server.ts'
import { type MadeUpAnswer, type MadeUpCall, madeUpTarget } from './made-up-target.ts'
import { runBuilt } from './printed-by.ts'
import { newFolder } from './temporary.ts'

const folder = newFolder()

const rootSecret = 'Planted/Root+Secret=0123456789'
const broken = ['old-access-token-lives-on', 'seventeen-sessions-kept', 'basic-never-taken']
const asked = ['basic/accepted', 'grants/accepted', 'keys/create', 'refresh/revokes', 'signatures/ecc-accepted']
/** This many characters of a secret in an output are too many; four are shown. */
const tooMuch = 10

/** A proxy between the suite and the server that records every secret that passes. */
async function withListener<T>(url: string, use: (url: string, secrets: Set<string>) => Promise<T>): Promise<T> {
  const secrets = new Set<string>()
  const listener = createServer(async (request, response) => {
    const [word, ...credentials] = (request.headers.authorization ?? '').split(' ')
    if (word === 'Basic') secrets.add(credentials.join(' ').slice(-20))
    const body = await bodyOf(request)
    const { authorization } = request.headers
    const headers = { 'content-type': 'application/json', ...(authorization === undefined ? {} : { authorization }) }
    const answer = await fetch(url + request.url, { method: 'POST', headers, body: new Uint8Array(body) })
    const text = await answer.text()
    for (const [, secret] of text.matchAll(/"(?:secret|accessToken|refreshToken)":"([^"]+)"/g))
      if (secret !== undefined) secrets.add(secret)
    response.writeHead(answer.status, { 'content-type': 'application/json' }).end(text)
  })
  const listens = await listening(listener)
  try {
    return await use(listens.url, secrets)
  } finally {
    listens.close()
  }
}

async function runSuite(url: string): Promise<string> {
  const files = ['json', 'junit', 'html', 'markdown'].map((format) => `${format}=${join(folder, format)}`)
  const only = asked.flatMap((id) => ['--only', id])
  const reports = [...files, 'text'].flatMap((format) => ['--report', format])
  const env = { SVC_KEY_ID: 'planted', SVC_KEY_SECRET: rootSecret }
  const command = ['run', '--url', url, '--disposable', ...only, ...reports, '--explore', '--explore-calls', '100']
  const { stdout, stderr } = await runBuilt(command, { env })
  return stdout + stderr
}

const found = (text: string, secrets: Iterable<string>): string[] =>
  [...secrets].filter((secret) => text.includes(secret.slice(0, tooMuch)) || text.includes(secret.slice(-tooMuch)))

test('no output holds a secret', async () => {
  const mutants = (await brokenServers('own')).filter(({ id }) => broken.includes(id))
  const rules = Object.assign({}, ...mutants.map((mutant) => mutant.create().rules))
  const server = await startMockServer({ rootKey: { id: 'planted', secret: rootSecret }, rules })
  try {
    await withListener(server.url, async (url, secrets) => {
      const printed = await runSuite(url)
      const all = [rootSecret, JSON.stringify(rootSecret).slice(1, -1), encodeURIComponent(rootSecret), ...secrets]
      expect(secrets.size).toBeGreaterThan(30)
      expect(printed).toContain('does not conform')
      expect(printed).toContain('found/')
      expect(found(printed, all)).toEqual([])
      for (const file of readdirSync(folder))
        expect(found(readFileSync(join(folder, file), 'utf8'), all), file).toEqual([])
    })
  } finally {
    await server.close()
  }
})

/** A server that repeats what it was sent, in the clear, and lets through what it should refuse: much is told about it, and no secret. */

const corpus = await openCorpus()
const echoedSecret = 'Planted-Root-Secret-0123456789'
const apiGateway = 'Planted-Gateway-Key-9876543210'
const askedOfTokens = ['refresh/token', 'tokens/altered', 'tokens/not-issued']
const askedOfEcho = ['basic', 'grants/credentials', 'grants/key-id', ...askedOfTokens]
/** This many characters in a row are too many. */
const tooMany = 10

const hints = (text: string): string[] => {
  const decoded = text.split(/\s+/).map((word) => Buffer.from(word, 'base64').toString('latin1'))
  return [text, ...decoded]
}

test('no part of a secret is printed, and a trace shows them', async () => {
  const secrets = new Set([echoedSecret, apiGateway])
  let made = 0
  const fresh = (what: string): string => {
    made += 1
    const secret = `${what}${made}zQ7xW2vK9pL4mN8b`
    secrets.add(secret)
    return secret
  }
  const answer = ({ method, params, authorization = '' }: MadeUpCall): MadeUpAnswer => {
    const you = [...hints(authorization), ...Object.values(params)]
    if (authorization === '' && method !== 'manager/auth') return { status: 401 }
    if (params.scope !== undefined && JSON.stringify(params.scope).includes('session:')) {
      return { status: 403, body: { error: { message: you.join(' ') } } }
    }
    if (method === 'solution/listSolutions') return { result: { list: [], you } }
    if (method === 'manager/createApiKey') return { result: { id: `id${made}`, secret: fresh('Key'), you } }
    return { result: { accessToken: fresh('Access'), refreshToken: fresh('Refresh'), you } }
  }
  const root = { id: 'root', kind: 'secret', secret: echoedSecret } as const
  const target = madeUpTarget({ answer, root, settings: { headers: { 'x-api-key': apiGateway } } })
  const saidOf = async (asked: readonly string[], trace: boolean): Promise<string> => {
    const items = allItems(corpus).filter((item) => asked.some((id) => answersTo(item, id)))
    return JSON.stringify(await runAll({ target, corpus, items, trace })).toLowerCase()
  }
  const said = await saidOf(askedOfEcho, false)
  expect(secrets.size).toBeGreaterThan(100)
  expect(said).toContain('x-api-key')
  const leaksIn = (said: string): string[] =>
    [...secrets]
      .flatMap((secret) =>
        Array.from({ length: secret.length - tooMany + 1 }, (_nothing, at) => secret.slice(at, at + tooMany)),
      )
      .filter((part) => said.includes(part.toLowerCase()))
  expect(leaksIn(said).slice(0, 5)).toEqual([])
  // The search itself must be able to find something.
  expect(leaksIn(await saidOf(['basic/credentials'], true))).not.toEqual([])
})
