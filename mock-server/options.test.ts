import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { profileChoices, profileFromWords, randomProfile, readProfile } from './profile.ts'
import { type ServeOptions, serve, startMockServer } from './start.ts'
import { httpCall } from './test-client.ts'

/** Runs `serve` until it has printed its line, then stops it. */
async function run(options: ServeOptions) {
  const printed: string[] = []
  const complained: string[] = []
  const print = (line: string) => printed.push(line)
  const complain = (line: string) => complained.push(line)
  const code = await serve(options, { print, complain, onStop: (stop) => stop() })
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

test('serve names the control port and its token in its line, and a random profile on stderr', async () => {
  const { printed, complained } = await run({ control: { token: 't' }, profileWords: ['random', 'basePath='], seed: 3 })
  const controlUrl = expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+$/)
  expect(JSON.parse(printed[0] ?? '')).toMatchObject({ controlUrl, controlToken: 't' })
  const again = await run({ control: true, profileWords: ['random', 'basePath='], seed: 3 })
  const controlToken = expect.stringMatching(/^[0-9a-f]{32}$/)
  expect(JSON.parse(again.printed[0] ?? '')).toMatchObject({ controlUrl, controlToken })
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
  const words = ['tokenPrefix=', 'closeConnections=true', 'delayMs=7', 'scheme=7']
  const profile = { tokenPrefix: '', clockOffsetMs: -5, closeConnections: true, delayMs: 7, scheme: '7' }
  expect(profileFromWords([file, ...words], Math.random)).toEqual(profile)
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
