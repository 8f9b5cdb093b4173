import { readdirSync } from 'node:fs'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { problemWith } from '../engine/language/schemas.ts'
import type { Instance } from '../engine/target.ts'
import { bundledTarget } from '../targets/bundled.ts'
import { shipped } from './shipped.ts'

type Json = { [key: string]: unknown }

const methods = (
  JSON.parse(shipped('spec/openrpc.json')) as { methods: { name: string; result: { schema: { $ref: string } } }[] }
).methods
/** `extensions#/$defs/getSolutionResult` for `schemas/extensions.schema.json#/$defs/getSolutionResult`. */
const schemaNames = new Map(
  methods.map(({ name, result }) => [name, result.schema.$ref.replace(/^schemas\/(.*)\.schema\.json/, '$1')]),
)

let server: Instance
let headers: [string, string][]

beforeAll(async () => {
  server = await bundledTarget().open()
  const { root } = server
  if (root.kind !== 'secret') throw new Error('the bundled server has a root key with a secret')
  const credentials = btoa(`${root.id}:${root.secret}`)
  headers = [
    ['content-type', 'application/json'],
    ['authorization', `Basic ${credentials}`],
  ]
})

afterAll(() => server.close())

const called = new Set<string>()

/** Makes a call whose request, params, response and result fit their schemas, and returns the result. */
async function call(method: string, params: Json): Promise<Json> {
  called.add(method)
  const request = { jsonrpc: '2.0', id: 7, method, params }
  expect(problemWith(request, 'request')).toBeUndefined()
  const resultSchema = schemaNames.get(method) ?? ''
  const paramsSchema = resultSchema.replace(/result$/, 'params').replace(/Result$/, 'Params')
  expect(problemWith(params, paramsSchema), method).toBeUndefined()
  const body = new TextEncoder().encode(JSON.stringify(request))
  const wire = await server.send({ method: 'POST', path: '/api', headers, body })
  if (wire.kind !== 'answer') throw new Error(`no answer: ${wire.kind}`)
  const answer = JSON.parse(new TextDecoder().decode(wire.body)) as Json
  expect(answer.error, method).toBeUndefined()
  const result = answer.result
  expect(problemWith(result, resultSchema), method).toBeUndefined()
  if (typeof result === 'object') expect(problemWith(answer, 'response'), method).toBeUndefined()
  return result as Json
}

test('every method of spec/openrpc.json answers on the bundled server as its schemas describe', async () => {
  const key = await call('manager/createApiKey', { name: 'a', scope: ['solution', 'context'] })
  const { id, secret } = key
  const grant = { grantType: 'api_key_credentials', apiKeyId: id, apiKeySecret: secret, scope: ['solution'] }
  const { refreshToken } = await call('manager/auth', grant)
  await call('manager/auth', { grantType: 'refresh_token', refreshToken })
  await call('solution/listSolutions', {})
  await call('manager/listApiKeys', {})
  await call('manager/getApiKey', { id })
  await call('manager/updateApiKey', { id, name: 'b', enabled: false })
  await call('manager/deleteApiKey', { id })
  const { solutionId } = await call('solution/createSolution', { name: 'a' })
  await call('solution/getSolution', { id: solutionId })
  await call('solution/updateSolution', { id: solutionId, name: 'b' })
  await call('context/createContext', { solution: solutionId, name: 'a', description: '', scope: 'private' })
  await call('context/listContexts', { solution: solutionId, skip: 0, limit: 10, sortOrder: 'desc' })
  await call('solution/deleteSolution', { id: solutionId })
  for (const method of ['thread/listThreads', 'store/listStores', 'inbox/listInboxes', 'stream/listStreams']) {
    await call(method, {})
  }
  expect([...called].sort()).toEqual([...schemaNames.keys()].sort())
})

test('the bundled server has no method that spec/openrpc.json lacks', () => {
  // Its sources are read and not imported, because the suite imports the server in one file only.
  const folder = new URL('../../mock-server/methods/', import.meta.url)
  const files = readdirSync(folder).filter((file) => !file.endsWith('.test.ts'))
  const names = files.flatMap((file) =>
    Array.from(
      shipped(`mock-server/methods/${file}`).matchAll(/'((?!params)[a-z]+\/(?:[a-z]+[A-Z]\w*|auth))'/g),
      ([, name]) => name,
    ),
  )
  expect([...new Set(names)].sort()).toEqual([...schemaNames.keys()].sort())
})
