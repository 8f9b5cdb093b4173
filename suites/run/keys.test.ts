import { spawn } from 'node:child_process'
import { once } from 'node:events'
import fs, { appendFileSync, existsSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import { join } from 'node:path'
import { expect, test, vi } from 'vitest'
import { openConversation, type RunEvent } from '../engine/conversation/conversation.ts'
import { bareSettings, type WireAnswer } from '../engine/target.ts'
import { type Answering, accepting, answering, madeUpTarget } from '../self/made-up-target.ts'
import { newFolder } from '../self/temporary.ts'
import { createEnding } from './ending.ts'
import { stateFolder } from './files.ts'
import {
  cleanUp,
  earlierKeys,
  leftKeyLines,
  openKeysOfTarget,
  readKeyRecord,
  recordKeys,
  removeKeys,
  workAtTarget,
  writeKeyRecord,
} from './keys.ts'
import type { TargetOptions } from './options.ts'

const cleanup = { method: 'manager/deleteApiKey', params: { id: '$id' } }
const keys = ['one', 'two', 'three'].map((id) => ({ id, name: `name of ${id}` }))

const target = () => madeUpTarget({ settings: { cleanup }, answer: accepting })

test('removed keys are recorded one by one', async () => {
  const noted: unknown[] = []
  const listener = (event: RunEvent): void => {
    if (event.kind === 'key-noted') noted.push(event.entry)
  }
  expect(await cleanUp({ target: target(), listener }, keys, createEnding())).toEqual({ left: [], problems: [] })
  expect(noted).toEqual([{ removed: 'one' }, { removed: 'two' }, { removed: 'three' }])
})

test('a clean-up method that never answers is given up at the end, and the remaining keys are known', async () => {
  const ending = createEnding()
  let calls = 0
  let settle = (_answer: WireAnswer): void => {}
  const open = async () => ({
    ...(await target().open()),
    send: () => {
      calls += 1
      ending.end({ kind: 'time', cleanUpLimitMs: 10_000 })
      return new Promise<WireAnswer>((resolve) => (settle = resolve))
    },
    close: async () => settle({ kind: 'none', reason: 'closed', refusedConnection: false, stale: false }),
  })
  const { left, problems } = await cleanUp({ target: { ...target(), open }, listener: () => {} }, keys, ending)
  expect({ left, problems, calls }).toEqual({ left: keys, problems: ['the clean-up took longer than 10 s'], calls: 1 })
})

test('no connection is opened if there are no keys', async () => {
  const open = async (): Promise<never> => Promise.reject(new Error('a connection'))
  const removal = cleanUp({ target: { ...target(), open }, listener: () => {} }, [], createEnding())
  expect(await removal).toEqual({ left: [], problems: [] })
})

test('each remaining key is listed with the call that removes it, without secrets and control characters', () => {
  const hostile = { id: "a'b\u001b[31m", name: 'n', secret: 'not-a-secret-0003' }
  const remains = { kept: [], left: [hostile], unanswered: [], problems: [] }
  const [line = ''] = leftKeyLines(remains, 'http://a.example', cleanup)
  expect(line).toContain('to remove it: curl -sS http://a.example/api -u "$SVC_KEY_ID:$SVC_KEY_SECRET"')
  expect(line).toContain('"method":"manager/deleteApiKey"')
  expect(line).not.toContain('\u001b')
  expect(line).not.toContain('not-a-secret-0003')
})

test('of what is left, each line is a key: advice is none, and a key says why it is still there', () => {
  const remains = { kept: [], left: keys.slice(0, 1), unanswered: [], problems: ['x was refused', 'y too'] }
  expect(leftKeyLines({ ...remains, problems: [] }, 'http://a.example')).toEqual(['API key one ("name of one")'])
  const [line, ...more] = leftKeyLines(remains, 'http://a.example', cleanup)
  expect(line).toMatch(/^API key one \("name of one"\) \(x was refused; y too\); to remove it: /)
  expect(more).toEqual([])
})

test('work that fails tells of keys that it created, and not of those of earlier runs', async () => {
  const root = { id: owner.rootId, kind: 'secret', secret: 's' } as const
  const unused = { settings: bareSettings, requestTimeoutMs: 600_000, inputs: [], doubts: [] }
  const options: TargetOptions = { ...targetWith(), ...unused, root }
  const sayings = async (made: readonly { id: string; name: string }[]): Promise<string[]> => {
    const said: string[] = []
    const work = workAtTarget(options, { say: (text) => void said.push(text) }, async ({ listener }) => {
      for (const created of made) listener({ kind: 'key-noted', entry: { created } })
      throw new Error('no answer')
    })
    await expect(work).rejects.toThrow('no answer')
    return said
  }
  openKeysOfTarget(options).close([other])
  expect(await sayings([])).toEqual([])
  expect(await sayings(keys.slice(0, 1))).toContain('Left on the target: API key one ("name of one")')
})

test('a hundred creations without a clear answer give one line, with the names of as many keys as there may be', () => {
  const unanswered = Array.from({ length: 104 }, (_, index) => `key ${index}`)
  const names = unanswered.slice(0, 10).map((name) => `"${name}"`)
  expect(leftKeyLines({ kept: [], left: [], unanswered, problems: [] }, 'http://a.example')).toEqual([
    `perhaps 104 API keys, whose creation got no clear answer: ${names.join(', ')} and 94 more`,
  ])
})

/** A conversation with a server that answers so, on which these keys were created. */
async function talkWithKeys(answer: Answering, created: { id: string; secret?: string }[], method = cleanup.method) {
  const talk = await openConversation(answering(answer, { settings: { cleanup: { ...cleanup, method } } }))
  for (const key of created) talk.createdKeys.note({ created: { ...key, name: `name of ${key.id}` } })
  return talk
}
const idsOf = (list: readonly { id: string }[]): string[] => list.map(({ id }) => id)

test('a cleanup method that is refused is reported once, with its answer', async () => {
  const body = { jsonrpc: '2.0', id: 1, error: { code: -32601, message: 'no such method' } }
  const talk = await talkWithKeys(({ params }) => (params.id === 'two' ? accepting() : { status: 200, body }), keys)
  const { left, problems } = await removeKeys(talk, talk.createdKeys.keys)
  expect(problems).toEqual(['manager/deleteApiKey was refused (error -32601)'])
  for (const remaining of [left, talk.createdKeys.keys]) expect(idsOf(remaining)).toEqual(['one', 'three'])
})

const mine = { id: 'k', secret: 's' }

test('a key that was removed by a call whose answer was lost twice is gone, also where other authorizations are refused', async () => {
  const answer: Answering = ({ method }, number) =>
    method === cleanup.method && number <= 2 ? 'dropped' : { status: 401 }
  const talk = await talkWithKeys(answer, [mine])
  expect(await removeKeys(talk, [...talk.createdKeys.keys])).toEqual({ left: [], problems: [] })
})

test.each([
  ['no, and the deletion is accepted again', 'accepted', { id: 'k' }, [], cleanup.method],
  ['yes, and a second deletion is refused', 'refused', mine, [], cleanup.method],
  ['yes, and a second deletion by a method of another group is refused', 'refused', mine, [], 'keys/remove'],
  ['yes, and whether the key still works cannot be asked', 'refused', { id: 'k' }, ['k'], cleanup.method],
])('a deletion whose answer was lost is asked again: %s', async (_is, again, key, left, by) => {
  const removed = new Set<unknown>()
  const answer: Answering = ({ method, params: { id } }) => {
    if (method !== by) return { status: 401 }
    if (removed.has(id)) return again === 'accepted' ? accepting() : { status: 404 }
    removed.add(id)
    return 'dropped'
  }
  const talk = await talkWithKeys(answer, [key], by)
  const removal = await removeKeys(talk, [...talk.createdKeys.keys])
  for (const remaining of [removal.left, talk.createdKeys.keys]) expect(idsOf(remaining)).toEqual(left)
})

const owner = { url: 'http://a.example', rootId: 'root' }
const bob = { id: 'i', name: 'n', secret: 'a-secret', member: 'bob' }
const { secret: _secret, ...bobWithoutSecret } = bob
const other = { id: 'j', name: 'm' }

type Target = Parameters<typeof openKeysOfTarget>[0]

const targetWith = (more: Partial<Target> = {}): Target => ({
  url: owner.url,
  root: { id: owner.rootId },
  stateFolder: newFolder(),
  testKeysFile: null,
  allow: ['keys'],
  disposable: false,
  ...more,
})

function begun(more: Partial<Target> = {}) {
  const held = openKeysOfTarget(targetWith(more))
  return { file: held.record?.file ?? '', held, keys: held.open() }
}

test('a killed run leaves what it created and what it was about to create', () => {
  const { file, keys } = begun()
  keys.note({ intend: 'n' })
  keys.note({ created: bob })
  keys.note({ intend: 'lost' })
  appendFileSync(file, '{"created":{"id":"half')
  const left = { owner, keys: [bobWithoutSecret], unanswered: ['lost'] }
  expect(readKeyRecord(file)).toEqual({ ...left, holder: process.pid })
})

test.skipIf(process.platform === 'win32')('only its owner can read it', () => {
  expect(statSync(begun().file).mode & 0o777).toBe(0o600)
})

test('an entry is on the disk before its call is made, so a key is not created if the disk cannot be written', () => {
  const file = join(newFolder(), 'no-folder', 'keys.jsonl')
  const noted = recordKeys({ file, withSecrets: false })
  expect(() => noted({ kind: 'key-noted', entry: { intend: 'n' } })).toThrow('Cannot write the record of created keys')
})

test('the disk is waited for once for each key: before the call that creates it', () => {
  const { keys } = begun()
  const flushed: unknown[] = []
  const write = fs.writeFileSync
  // Workers share their modules, so a replaced module would come too late; the bindings of this one are live.
  const spy = vi.spyOn(fs, 'writeFileSync').mockImplementation((file, text, options) => {
    if (typeof options === 'object' && options?.flush === true) flushed.push(text)
    write(file, text, options)
  })
  syncBuiltinESMExports()
  keys.note({ intend: 'n' })
  keys.note({ created: bob })
  keys.note({ removed: bob.id })
  spy.mockRestore()
  syncBuiltinESMExports()
  expect(flushed).toEqual(['{"intend":"n"}\n'])
})

test.each([
  ['another file', 'hello\n', 'it is not a record that svc-conformance wrote'],
  ['another version', '{"format":"svc-conformance created keys","version":2}\n', 'it has version 2, expected 1'],
  ['a line in the middle that is not JSON', '{"format":"svc-conformance created keys","version":1}\nx\n{}\n', 'line 2'],
])('%s is refused', (_what, text, reason) => {
  const file = join(newFolder(), 'keys.jsonl')
  writeFileSync(file, text)
  expect(() => readKeyRecord(file)).toThrow(reason)
})

test('the keys of another target are not touched', () => {
  const testKeysFile = join(newFolder(), 'keys.jsonl')
  writeKeyRecord(testKeysFile, { owner: { url: 'http://b.example', rootId: 'root' }, keys: [bob], unanswered: [] })
  expect(() => openKeysOfTarget(targetWith({ testKeysFile }))).toThrow(
    `Cannot use the record of created keys "${testKeysFile}": it holds the keys of another target ("http://b.example", key "root"); name another file`,
  )
})

test('the next run finds the keys of an earlier one, and shortens the record', () => {
  const target = targetWith()
  const first = openKeysOfTarget(target)
  first.open().note({ intend: 'lost' })
  first.close([bob, other])
  const { held, keys, file } = begun(target)
  expect(held.read()).toMatchObject({ keys: [bob, other], unanswered: ['lost'] })
  keys.note({ removed: 'i' })
  keys.note({ created: { id: 'k', name: 'new' } })
  expect(held.read().keys.map(({ id }) => id)).toEqual(['j', 'k'])
  held.close([other])
  expect(readKeyRecord(file)?.keys).toEqual([other])
})

test('a record whose keys are all removed is deleted, and so is its lock', () => {
  const { held, file } = begun()
  held.close([])
  expect([existsSync(file), existsSync(`${file}.lock`)]).toEqual([false, false])
})

test('keys of earlier runs do not exist on a fresh instance, and its own are not recorded after the run', () => {
  const target = targetWith()
  openKeysOfTarget(target).close([other])
  const { held, file } = begun({ ...target, disposable: true })
  expect(held.read().keys).toEqual([])
  held.close([other])
  expect(existsSync(file)).toBe(false)
})

test('test keys are kept, with their secrets, only if the target file names a file for them', () => {
  const testKeysFile = join(newFolder(), 'test-keys.jsonl')
  const { held, keys } = begun({ testKeysFile })
  keys.note({ created: bob })
  expect([held.isKept(bob), held.isKept(other)]).toEqual([true, false])
  held.close([bob])
  expect(earlierKeys(targetWith({ testKeysFile })).keys).toEqual([bob])
  const without = begun()
  without.keys.note({ created: bob })
  expect(readFileSync(without.file, 'utf8')).not.toContain('a-secret')
})

test('a record whose process is alive is never touched', async () => {
  const target = targetWith()
  const { held, file } = begun(target)
  held.close([other])
  const living = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'])
  await once(living, 'spawn')
  writeFileSync(`${file}.lock`, JSON.stringify({ pid: living.pid, born: '' }))
  expect(() => openKeysOfTarget(target)).toThrow(`process ${living.pid} runs there with the same key "root"`)
  expect(readKeyRecord(file)).toMatchObject({ keys: [other], holder: living.pid })
  living.kill('SIGKILL')
  await once(living, 'exit')
  expect(readKeyRecord(file)?.holder).toBeNull()
  openKeysOfTarget(target).close([])
})

test('a lock also excludes the process that holds it, until it is released', () => {
  const target = targetWith()
  const held = openKeysOfTarget(target)
  expect(() => openKeysOfTarget(target)).toThrow(`process ${process.pid} runs there`)
  held.close([])
  openKeysOfTarget(target).close([])
})

test.skipIf(process.platform !== 'linux')('a new process with the id of a dead one holds no lock', () => {
  const target = targetWith()
  const { held, file } = begun(target)
  held.close([])
  writeFileSync(`${file}.lock`, JSON.stringify({ pid: process.pid, born: '1' }))
  openKeysOfTarget(target).close([])
})

test.each([
  [{ XDG_STATE_HOME: '/state' }, 'linux', join('/state', 'svc-conformance')],
  [{}, 'linux', join('/home/me', '.local', 'state', 'svc-conformance')],
  [{ XDG_STATE_HOME: '' }, 'darwin', join('/home/me', '.local', 'state', 'svc-conformance')],
  [{ LOCALAPPDATA: '/data' }, 'win32', join('/data', 'svc-conformance')],
])('%j on %s', (env, platform, folder) => {
  expect(stateFolder(env, platform, '/home/me')).toBe(folder)
})

test('the folder is created, or another one is used if that is impossible', () => {
  const place = newFolder()
  const stateFolder = join(place, 'deep', 'state')
  expect(begun({ stateFolder }).file.startsWith(stateFolder)).toBe(true)
  writeFileSync(join(place, 'file'), '')
  const { held, file } = begun({ stateFolder: join(place, 'file', 'state') })
  expect(file).toMatch(/svc-conformance-\d+\/\w+\.keys\.jsonl$/)
  held.close([])
})
