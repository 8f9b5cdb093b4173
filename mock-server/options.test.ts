import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import {
  defaultProfile,
  type Profile,
  profileChoices,
  profileFromWords,
  randomProfile,
  readProfile,
} from './profile.ts'
import { type ServeOptions, serve, startMockServer } from './start.ts'
import { createTestClient, ed25519Pair, httpCall } from './test-client.ts'

const works = (answer: { json: { result?: unknown } }) => answer.json?.result !== undefined

test('every switch that the register of open questions names is a switch of the profile', () => {
  const register = readFileSync(new URL('../spec/open-questions.yaml', import.meta.url), 'utf8')
  const named = [...register.matchAll(/, switch: (?:"([^"]+)"|(\w+))/g)].flatMap(([, quoted, plain]) =>
    (quoted ?? plain ?? '').split(', '),
  )
  expect(named.length).toBeGreaterThan(40)
  for (const name of named) if (name !== 'null') expect(defaultProfile).toHaveProperty(name)
})

const body = (text: string) => ({ body: Buffer.from(text) })

/** What a client sees of one switch, under the default and under another reading. */
const readings: [
  Partial<Profile>,
  (client: ReturnType<typeof createTestClient>) => Promise<unknown>,
  unknown,
  unknown,
][] = [
  [
    { schemeCase: 'any' },
    async (c) =>
      works(await c.list({ header: `BASIC ${Buffer.from(`${c.root.id}:${c.root.secret}`).toString('base64')}` })),
    false,
    true,
  ],
  [{ strictEnvelope: false }, (c) => raw(c, '{"id":1,"method":"solution/listSolutions"}'), false, true],
  [{ idTypes: 'integers' }, (c) => raw(c, call('"x"')), true, false],
  [{ idTypes: 'any' }, (c) => raw(c, call('{}')), false, true],
  [{ notifications: 'answered' }, (c) => raw(c, notification), false, true],
  [{ notifications: 'no-body' }, async (c) => (await post(c, notification)).status, 200, 204],
  [{ batch: 'answered' }, async (c) => (await post(c, `[${call('1')},${call('2')}]`)).json.length, undefined, 2],
  [
    { contentType: 'json-only' },
    async (c) => (await c.send({ ...body(call('1')), headers: { 'content-type': 'text/plain' } })).status,
    200,
    415,
  ],
  [{ extraMembers: 'refused' }, (c) => raw(c, call('1', ',"x":1')), true, false],
  [{ methodCheckedFirst: false }, async (c) => (await c.call('no/such')).json.error.code, -32601, 24879],
  [
    { extraParams: 'ignored' },
    async (c) => works(await c.call('solution/listSolutions', { x: 1 }, { basic: c.root })),
    false,
    true,
  ],
  [{ extraResultMembers: true }, async (c) => Object.keys((await c.grant(['solution'])).json.result).length, 6, 8],
  [
    { listShape: 'counted' },
    async (c) => Object.keys((await c.list({ basic: c.root })).json.result),
    ['list'],
    ['items', 'count', 'next'],
  ],
  [{ refusalStatus: 'http' }, async (c) => (await c.list({ none: true })).status, 200, 401],
  [{ errorBody: 'none' }, async (c) => (await c.list({ none: true })).text.length > 0, true, false],
  [{ errorId: 'null' }, async (c) => (await c.list({ none: true })).json.id, 7, null],
  [
    { timeWindowMs: 1000 },
    async (c) => works(await c.list({ hmac: c.root }, { timestamp: c.context.now() - 2000 })),
    true,
    false,
  ],
  [{ nonceMaxLength: 8 }, async (c) => works(await c.list({ hmac: c.root })), true, false],
  [{ nonceReuse: 'accepted' }, (c) => twice(c, {}), false, true],
  [{ nonceBurntByBadSignature: false }, (c) => twice(c, { uri: '/' }), false, true],
  [
    { unpaddedSignatures: 'accepted' },
    async (c) =>
      works(
        await c.list(
          { hmac: c.root },
          {
            encode: (mac) => mac.subarray(0, 20).toString('base64').replace('=', ''),
          },
        ),
      ),
    false,
    true,
  ],
  [
    { noncePadding: 'accepted' },
    async (c) =>
      works(
        await c.list({ hmac: c.root }, { nonce: 'q83vEjRWeJCrze8', data: (right) => right.replace('e8;', 'e8=;') }),
      ),
    false,
    true,
  ],
  [{ eleventhKey: 'oldest-removed' }, (c) => eleventh(c), [false, true], [true, false]],
  [{ weakPublicKeys: 'accepted' }, (c) => created(c, { publicKey: weakPem }), false, true],
  [{ repeatedPublicKeys: 'refused' }, (c) => twins(c), true, false],
  [{ keyScopeAboveCreator: 'refused' }, (c) => created(c, { scope: ['nonsense'] }), true, false],
  [{ unknownKeyScopes: 'all-but-shown-refused' }, (c) => created(c, { scope: ['thread'] }), true, false],
  [{ unknownKeyScopes: 'refused' }, (c) => created(c, { scope: ['nonsense'] }), true, false],
  [{ initialKeyCounts: true }, (c) => tenth(c), true, false],
  [{ scopeCase: 'any' }, async (c) => works(await c.grant(['SOLUTION', 'APIKEY'])), false, true],
  [{ apikeySpelling: 'apikey' }, async (c) => works(await c.grant(['apiKey'])), true, false],
  [{ apikeySpelling: 'apiKey' }, async (c) => works(await c.grant(['apikey'])), true, false],
  [
    { unknownScopes: 'left-out' },
    async (c) => (await c.grant(['solution', 'x'])).json.result?.scope,
    undefined,
    ['solution'],
  ],
  [{ emptyScope: 'whole-key' }, async (c) => (await c.grant([])).json.result.scope.length, 0, 8],
  [{ emptyScope: 'refused' }, async (c) => works(await c.grant([])), true, false],
  [{ scopeEcho: 'as-requested' }, (c) => echoed(c), ['solution', 'apiKey'], ['solution', 'session:s', 'apikey']],
  [{ scopeEcho: 'sorted' }, (c) => echoed(c), ['solution', 'apiKey'], ['apiKey', 'solution']],
  [{ solutionIdFromAny: false }, async (c) => works(await c.grant(['solution:x'])), true, false],
  [{ authHeaderOnGrant: 'refused' }, async (c) => works(await granted(c, { basic: c.root })), true, false],
  [{ authHeaderOnGrant: 'judged' }, async (c) => works(await granted(c, { token: 'x' })), true, false],
  [{ scopeOnRefresh: 'ignored' }, (c) => narrowed(c), undefined, ['solution', 'context']],
  [{ scopeOnRefresh: 'narrows' }, (c) => narrowed(c), undefined, ['context']],
  [
    { accessLifeMs: 5000 },
    async (c) => (await c.grant([])).json.result.accessTokenExpiry - c.context.now(),
    900_000,
    5000,
  ],
  [
    { refreshLifeMs: 60_000 },
    async (c) => (await c.grant([])).json.result.accessTokenExpiry - c.context.now(),
    900_000,
    60_000,
  ],
  [{ tokenLength: 400 }, async (c) => (await c.grant([])).json.result.accessToken.length, 43, 400],
  [
    { expiresInTooLong: 'capped' },
    async (c) => (await c.grant(['expiresIn:999999999'])).json.result?.accessTokenExpiry - c.context.now(),
    Number.NaN,
    604_800_000,
  ],
  [
    { expiryRounding: 'up-to-second' },
    async (c) => (await c.grant(['expiresIn:1001'])).json.result.accessTokenExpiry - c.context.now(),
    1001,
    2000,
  ],
  [
    { expiresInKept: false },
    async (c) =>
      (await c.refresh((await c.grant(['expiresIn:1001'])).json.result.refreshToken)).json.result.accessTokenExpiry -
      c.context.now(),
    1001,
    900_000,
  ],
  [{ reuseRevokesFamily: true }, (c) => reused(c), true, false],
  [
    { refreshChecksAddress: true },
    async (c) =>
      works(await c.refresh((await c.grant(['ipAddr:127.0.0.1'])).json.result.refreshToken, { from: '127.0.0.2' })),
    true,
    false,
  ],
  [{ refreshLifetime: 'kept' }, (c) => renewedEnd(c), 1000, 0],
  [{ unnamedCountAsSessions: true }, (c) => firstOf17(c, () => []), true, false],
  [{ reusedSessionName: 'adds' }, (c) => firstOf17(c, (n) => (n < 2 ? ['session:same'] : [])), false, true],
  [{ reusedSessionName: 'joins' }, (c) => firstOf17(c, () => ['session:same']), false, true],
  [{ sessionUser: 'all-keys' }, (c) => sessionOfOther(c), true, false],
  [{ oldestSession: 'longest-unused' }, (c) => usedSession(c), false, true],
  [{ trustProxy: true }, async (c) => forwarded(c), false, true],
  [{ maxBodyBytes: 50 }, async (c) => (await c.list({ basic: c.root })).status, 200, 413],
]
test.each(readings)('%j', async (profile, look, byDefault, otherwise) => {
  expect(await look(createTestClient())).toEqual(byDefault)
  expect(await look(createTestClient({ profile }))).toEqual(otherwise)
})

type Client = ReturnType<typeof createTestClient>
const call = (id: string, more = '') =>
  `{"jsonrpc":"2.0","id":${id},"method":"solution/listSolutions","params":{}${more}}`
const notification = '{"jsonrpc":"2.0","method":"solution/listSolutions","params":{}}'
const weakPem = `-----BEGIN PUBLIC KEY-----\n${Buffer.from(`302a300506032b657003210001${'00'.repeat(31)}`, 'hex').toString('base64')}\n-----END PUBLIC KEY-----`

function post(c: Client, text: string) {
  return c.send({ ...body(text), headers: c.headersFor({ basic: c.root }, '') })
}
async function raw(c: Client, text: string) {
  return works(await post(c, text))
}
async function twice(c: Client, first: { uri?: string }) {
  await c.list({ hmac: c.root }, { nonce: 'n', ...first })
  return works(await c.list({ hmac: c.root }, { nonce: 'n' }))
}
async function created(c: Client, params: object) {
  return works(await c.createKey({ name: 'k', scope: [], ...params }))
}
async function twins(c: Client) {
  const { pem } = ed25519Pair()
  return (await created(c, { publicKey: pem })) && created(c, { publicKey: pem })
}
async function tenth(c: Client) {
  for (let made = 1; made < 10; made++) await created(c, { publicKey: ed25519Pair().pem })
  return created(c, {})
}
/** Whether an eleventh key is made, and whether the first still works. */
async function eleventh(c: Client) {
  const first = (await c.createKey({ name: 'k', scope: ['solution'] })).json.result
  for (let made = 1; made < 10; made++) await created(c, {})
  return [await created(c, {}), works(await c.list({ basic: first }))]
}
async function echoed(c: Client) {
  return (await c.grant(['solution', 'session:s', 'apikey'])).json.result.scope
}
function granted(c: Client, auth: { basic: Client['root'] } | { token: string }) {
  const { id, secret } = c.root
  return c.call(
    'manager/auth',
    { grantType: 'api_key_credentials', apiKeyId: id, apiKeySecret: secret, scope: [] },
    auth,
  )
}
async function narrowed(c: Client) {
  const { refreshToken } = (await c.grant(['solution', 'context'])).json.result
  return (await c.call('manager/auth', { grantType: 'refresh_token', refreshToken, scope: ['context'] })).json.result
    ?.scope
}
async function reused(c: Client) {
  const { refreshToken } = (await c.grant(['solution'])).json.result
  const { accessToken } = (await c.refresh(refreshToken)).json.result
  await c.refresh(refreshToken)
  return works(await c.list({ token: accessToken }))
}
async function renewedEnd(c: Client) {
  const { result } = (await c.grant([])).json
  c.clock.advance(1000)
  return (await c.refresh(result.refreshToken)).json.result.refreshTokenExpiry - result.refreshTokenExpiry
}
async function firstOf17(c: Client, names: (number: number) => string[]) {
  const { accessToken } = (await c.grant(['solution', ...names(0)])).json.result
  for (let number = 1; number < 17; number++) await c.grant(['solution', ...names(number)])
  return works(await c.list({ token: accessToken }))
}
async function sessionOfOther(c: Client) {
  const other = (await c.createKey({ name: 'k', scope: ['solution'] })).json.result
  const { accessToken } = (await c.grant(['solution', 'session:first'], other)).json.result
  for (let number = 0; number < 16; number++) await c.grant(['solution', `session:${number}`])
  return works(await c.list({ token: accessToken }))
}
async function usedSession(c: Client) {
  const { accessToken } = (await c.grant(['solution', 'session:first'])).json.result
  for (let number = 1; number < 16; number++) {
    c.clock.advance(1000)
    await c.grant(['solution', `session:${number}`])
  }
  c.clock.advance(1000)
  await c.list({ token: accessToken })
  await c.grant(['solution', 'session:last'])
  return works(await c.list({ token: accessToken }))
}
async function forwarded(c: Client) {
  const { accessToken } = (await c.grant(['solution', 'ipAddr:10.0.0.1'])).json.result
  const headers = { authorization: `Bearer ${accessToken}`, 'x-forwarded-for': '10.0.0.1, 127.0.0.1' }
  return works(await c.send({ ...body(call('1')), headers }))
}

/** Runs `serve` until it has printed its line, then stops it. */
async function run(options: ServeOptions) {
  const printed: string[] = []
  const complained: string[] = []
  const code = await serve(options, {
    print: (line) => printed.push(line),
    complain: (line) => complained.push(line),
    onStop: (stop) => stop(),
  })
  return { code, printed, complained }
}

test('serve prints one line of JSON and ends with 0 when stopped', async () => {
  const { code, printed, complained } = await run({ rootKey: { id: 'i', secret: 's' } })
  expect([code, complained]).toEqual([0, []])
  expect(printed.map((line) => JSON.parse(line))).toEqual([
    { url: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+$/), apiKeyId: 'i', apiKeySecret: 's' },
  ])
  await expect(httpCall(JSON.parse(printed[0] ?? '').url)).rejects.toThrow('ECONNREFUSED')
})

test('serve names the control port in its line, and a random profile on stderr', async () => {
  const { printed, complained } = await run({ control: { token: 't' }, profileWords: ['random', 'basePath='], seed: 3 })
  expect(JSON.parse(printed[0] ?? '')).toMatchObject({
    controlUrl: expect.stringContaining('127.0.0.1'),
    controlToken: 't',
  })
  const again = await run({ profileWords: ['random', 'basePath='], seed: 3 })
  expect(again.complained).toEqual(complained)
  expect(JSON.parse((complained[0] ?? '').replace('Profile: ', ''))).toMatchObject({ basePath: '' })
})

test('a port that is taken, an unknown address and a wrong profile are errors of one sentence', async () => {
  const other = await startMockServer()
  const port = Number(new URL(other.url).port)
  expect(await run({ port })).toEqual({
    code: 2,
    printed: [],
    complained: [`Cannot listen on "127.0.0.1:${port}": the port is taken, choose another one or 0 for any free one`],
  })
  expect((await run({ control: { port } })).code).toBe(2)
  await other.close()
  expect((await run({ host: '192.0.2.1' })).complained).toEqual([
    'Cannot listen on "192.0.2.1:0": this machine has no such address',
  ])
})

test.each([
  ['tokenprefix=x', 'Unknown switch "tokenprefix", did you mean "tokenPrefix"?'],
  ['delayMs=slow', 'Give the switch "delayMs" a whole number of 0 or more, not "slow"'],
  ['batch=maybe', 'Give the switch "batch" one of "refused", "answered", not "maybe"'],
  ['scheme=a b', 'Give the switch "scheme" one word, not "a b"'],
])('%s is refused in one sentence', async (word, sentence) => {
  expect((await run({ profileWords: [word] })).complained).toEqual([sentence])
})

test.each([
  [[], 'Write a profile as one JSON object'],
  [{ nonceReuse: 'maybe' }, 'Give the switch "nonceReuse" one of "refused", "accepted", not "maybe"'],
  [{ delayMs: -1 }, 'Give the switch "delayMs" a whole number of 0 or more, not -1'],
  [{ closeConnections: 'true' }, 'Give the switch "closeConnections" one of false, true, not "true"'],
  [{ basePath: 'v1/' }, 'Give the switch "basePath" a path that begins and does not end with "/"'],
  [{ scheme: '' }, 'Give the switch "scheme" one word'],
  [{ __proto__x: 1 }, 'Unknown switch "__proto__x"; spec/open-questions.yaml names the switches'],
])('a wrong profile is refused: %j', (profile, message) => {
  expect(() => readProfile(profile)).toThrow(message)
})

test('a profile comes from a file, from words, later ones first, and at random', () => {
  const folder = mkdtempSync(join(tmpdir(), 'profile-'))
  const file = join(folder, 'profile.json')
  writeFileSync(file, '{"tokenPrefix":"Token","clockOffsetMs":-5}')
  expect(
    profileFromWords([file, 'tokenPrefix=', 'closeConnections=true', 'delayMs=7', 'scheme=7'], Math.random),
  ).toEqual({
    tokenPrefix: '',
    clockOffsetMs: -5,
    closeConnections: true,
    delayMs: 7,
    scheme: '7',
  })
  writeFileSync(file, '{')
  expect(() => profileFromWords([file], Math.random)).toThrow(`Cannot use the profile "${file}": it is not JSON`)
  rmSync(folder, { recursive: true })
  expect(() => profileFromWords([file], Math.random)).toThrow('Cannot read the profile')
  const last = randomProfile(() => 0.999)
  for (const [name, choices] of Object.entries(profileChoices)) expect(last).toHaveProperty(name, choices.at(-1))
  expect(() => readProfile(last)).not.toThrow()
})

test.each([
  [{ clock: 'virtul' }, 'Cannot use "virtul" for the option "clock", did you mean "virtual"?'],
  [{ clok: 'virtual' }, 'Unknown option "clok", did you mean "clock"?'],
  [{ profile: { nonceRuse: 'accepted' } }, 'Unknown switch "nonceRuse", did you mean "nonceReuse"?'],
  [{ rules: { macByte: () => 32 } }, 'Unknown member "macByte" of the option "rules", did you mean "macBytes"?'],
  [{ bounds: { nonce: 1 } }, 'Unknown member "nonce" of the option "bounds", did you mean "nonces"?'],
  [{ rootKey: 'id' }, 'Give the option "rootKey" an object'],
])('startMockServer(%j) names the mistake', async (options, message) => {
  await expect(startMockServer(options as never)).rejects.toThrow(message)
})

test('misspelt names are also refused while the server runs', async () => {
  await using mock = await startMockServer({ clock: 'virtual' })
  await expect(mock.scene('nope' as never)).rejects.toThrow(
    'Cannot use "nope" for the scene, expected one of "nine-keys"',
  )
  expect(() => mock.journal.count({ verdict: 'acepted' } as never)).toThrow(
    'Give the filter "verdict" one of "accepted", "refused", "faulted", not "acepted"',
  )
  expect(() => mock.journal.count({ methd: 'x' } as never)).toThrow('Unknown filter "methd", did you mean "method"?')
  const fault = { fault: 'drop', when: 'after', methd: 'manager/auth' }
  expect(() => mock.faults.add(fault as never)).toThrow(
    'Unknown member "methd" of the fault "drop", did you mean "method"?',
  )
})
