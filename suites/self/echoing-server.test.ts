/** A server that repeats what it was sent, in the clear, and lets through what it should refuse: much is told about it, and no secret. */
import { expect, test } from 'vitest'
import { allItems, answersTo } from '../engine/conversation/cases.ts'
import { openCorpus } from '../run/corpus-cache.ts'
import { runAll } from '../run/run.ts'
import { type MadeUpAnswer, type MadeUpCall, madeUpTarget } from './made-up-target.ts'

const corpus = await openCorpus()
const rootSecret = 'Planted-Root-Secret-0123456789'
const apiGateway = 'Planted-Gateway-Key-9876543210'
const asked = ['basic', 'grants/credentials', 'grants/key-id', 'refresh/token', 'tokens/altered', 'tokens/not-issued']
/** This many characters in a row are too many. */
const tooMany = 10

const hints = (text: string): string[] => {
  const decoded = text.split(/\s+/).map((word) => Buffer.from(word, 'base64').toString('latin1'))
  return [text, ...decoded]
}

test('no part of a secret is printed', async () => {
  const secrets = new Set([rootSecret, apiGateway])
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
  const target = madeUpTarget({
    answer,
    root: { id: 'root', kind: 'secret', secret: rootSecret },
    settings: { headers: { 'x-api-key': apiGateway } },
  })
  const items = allItems(corpus).filter((item) => asked.some((id) => answersTo(item, id)))
  const said = JSON.stringify(await runAll({ target, corpus, items })).toLowerCase()
  expect(secrets.size).toBeGreaterThan(100)
  expect(said).toContain('x-api-key')
  const leaks = [...secrets].flatMap((secret) =>
    Array.from({ length: secret.length - tooMany + 1 }, (_nothing, at) => secret.slice(at, at + tooMany)).filter(
      (part) => said.includes(part.toLowerCase()),
    ),
  )
  expect([...new Set(leaks)].slice(0, 5)).toEqual([])
})
