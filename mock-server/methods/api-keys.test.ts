import { expect, test } from 'vitest'
import { createTestClient, no, ok } from '../test-client.ts'

test('Basic accepts only the whole secret of the key', async () => {
  const client = createTestClient()
  const { id, secret } = client.root
  expect(await client.list({ basic: client.root })).toEqual(ok)
  for (const wrong of ['', secret.slice(1), `${secret}0`, secret.toUpperCase().replace(/^\d/, 'A')]) {
    expect(await client.list({ basic: { id, secret: wrong } })).toEqual(no(24879))
  }
  expect(await client.list({ basic: { id: 'x', secret } })).toEqual(no(24879))
  const right = Buffer.from(`${id}:${secret}`).toString('base64')
  for (const header of [
    `Basic ${id}:${secret}`,
    `Basic ${right.slice(0, -2)}!!`,
    `basic ${right}`,
    `Basic  ${right}`,
    right,
    'Basic',
    '',
  ]) {
    expect(await client.list({ header })).toEqual(no(24879))
  }
})

test('createApiKey accepts every kind of authorization, returns an id and a secret, and needs the scope', async () => {
  const client = createTestClient()
  const params = { name: 'k', scope: ['apikey', 'solution'] }
  const { accessToken } = (await client.grant(['apikey'])).json.result
  const made = []
  for (const auth of [{ basic: client.root }, { hmac: client.root }, { token: accessToken }]) {
    const { json } = await client.createKey(params, auth)
    expect(json.result).toEqual({
      id: expect.stringMatching(/^[0-9a-f]{32}$/),
      secret: expect.stringMatching(/^[0-9a-f]{32}$/),
    })
    made.push(json.result)
  }
  expect(new Set(made.flatMap(({ id, secret }) => [id, secret])).size).toBe(6)
  expect(await client.createKey(params, { none: true })).toEqual(no(24879))
  expect(await client.createKey(params, { basic: made[0] })).toEqual(ok)
  const poor = (await client.createKey({ name: 'k', scope: ['solution'] })).json.result
  expect(await client.createKey(params, { basic: poor })).toEqual(no(24878))
  const wrong = [
    {},
    { name: 'k' },
    { scope: [] },
    { name: 1, scope: [] },
    { name: 'k', scope: 'apikey' },
    { name: 'k', scope: [1] },
    { ...params, scope: ['expiresIn:5'] },
    { ...params, extra: 1 },
  ]
  for (const bad of wrong) expect(await client.createKey(bad)).toEqual(no(-32602))
})

test('ten keys can be created, deleting frees a place, disabling does not', async () => {
  const client = createTestClient()
  const params = { name: 'k', scope: ['solution'] }
  const keys: { id: string; secret: string }[] = []
  for (let made = 0; made < 10; made++) keys.push((await client.createKey(params)).json.result)
  expect(await client.createKey(params)).toEqual(no(24877))
  for (const key of keys) expect(await client.list({ basic: key })).toEqual(ok)
  const [first, second] = keys as [{ id: string; secret: string }, { id: string; secret: string }]
  const { accessToken, refreshToken } = (await client.grant(['solution'], first)).json.result
  expect(await client.call('manager/updateApiKey', { id: first.id, enabled: false }, { basic: client.root })).toEqual(
    ok,
  )
  for (const auth of [{ basic: first }, { hmac: first }, { token: accessToken }])
    expect(await client.list(auth)).toEqual(no(24879))
  expect(await client.refresh(refreshToken)).toEqual(no(24875))
  expect(await client.grant(['solution'], first)).toEqual(no(24875))
  expect(await client.createKey(params)).toEqual(no(24877))
  await client.call('manager/updateApiKey', { id: first.id, enabled: true }, { basic: client.root })
  expect(await client.list({ token: accessToken })).toEqual(ok)
  expect(await client.call('manager/deleteApiKey', { id: second.id }, { basic: client.root })).toEqual(ok)
  expect(await client.list({ basic: second })).toEqual(no(24879))
  expect(await client.createKey(params)).toEqual(ok)
  expect(await client.call('manager/deleteApiKey', { id: client.root.id }, { basic: client.root })).toEqual(no(48))
})

test('keys can be listed, read and renamed; a key cannot disable or delete itself', async () => {
  const client = createTestClient()
  const { id } = (await client.createKey({ name: 'k', scope: ['solution'] })).json.result
  const call = (operation: string, params: object) =>
    client.call(`manager/${operation}`, params, { basic: client.root })
  const names = async () => (await call('listApiKeys', {})).json.result.list.map(({ name }: { name: string }) => name)
  expect(await names()).toEqual(['root', 'k'])
  expect(await call('updateApiKey', { id, name: 'renamed' })).toEqual(ok)
  expect((await call('getApiKey', { id })).json.result.apiKey).toEqual({
    id,
    created: client.context.now(),
    enabled: true,
    name: 'renamed',
    scope: ['solution'],
  })
  expect(await call('updateApiKey', { id, scope: ['apiKey'] })).toEqual(no(-32602))
  expect(await call('deleteApiKey', { id })).toEqual(ok)
  expect(await names()).toEqual(['root'])
  for (const operation of ['getApiKey', 'deleteApiKey', 'updateApiKey'])
    expect(await call(operation, { id })).toEqual(no(24875))
  expect(await call('updateApiKey', { id: client.root.id, enabled: false })).toEqual(no(48))
  expect(await call('deleteApiKey', { id: client.root.id })).toEqual(no(48))
})

test('solutions can be created, read, renamed and deleted', async () => {
  const client = createTestClient()
  const call = (operation: string, params: object) =>
    client.call(`solution/${operation}`, params, { basic: client.root })
  const { solutionId: id } = (await call('createSolution', { name: 's' })).json.result
  expect(await call('updateSolution', { id, name: 't' })).toEqual(ok)
  expect((await call('getSolution', { id })).json.result.solution).toEqual({
    id,
    created: client.context.now(),
    name: 't',
  })
  expect(await call('deleteSolution', { id })).toEqual(ok)
  expect(await call('getSolution', { id })).toEqual(no(48))
})

test('the eleventh key removes the oldest if the profile says so', async () => {
  const client = createTestClient({ profile: { eleventhKey: 'oldest-removed' } })
  const keys: { id: string; secret: string }[] = []
  for (let made = 0; made < 11; made++)
    keys.push((await client.createKey({ name: 'k', scope: ['solution'] })).json.result)
  const works = await Promise.all(keys.map(async (basic) => 'result' in (await client.list({ basic })).json))
  expect(works).toEqual([false, ...Array<boolean>(10).fill(true)])
})
