import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'vitest'
import { type MockServer, startMockServer } from '../targets/bundled.ts'
import { keyRecordFiles, readKeyRecord } from './key-record.ts'
import { measureTarget } from './measure-target.ts'
import { readTargetFile, readTargetOptions, type TargetOptions } from './options.ts'

const cleanup = { method: 'manager/deleteApiKey', params: { id: '$id' } }

function optionsFor(server: MockServer, stateFolder: string, allow: string, withCleanup: boolean): TargetOptions {
  const { id, secret } = server.rootKey
  const env = { XDG_STATE_HOME: stateFolder, SVC_KEY_SECRET: secret }
  const options = readTargetOptions({ url: server.url, keyId: id, allow }, env, readTargetFile({}, env))
  if (options === null) throw new RangeError('No target')
  return { ...options, settings: { ...options.settings, cleanup: withCleanup ? cleanup : undefined } }
}

async function measure(allow: string, withCleanup: boolean) {
  const stateFolder = mkdtempSync(join(tmpdir(), 'svc-facts-'))
  const server = await startMockServer()
  try {
    const options = optionsFor(server, stateFolder, allow, withCleanup)
    const said: string[] = []
    const { sheet, left } = await measureTarget(options, { patientMs: 0, maxWaitMs: 0, say: (line) => said.push(line) })
    const [file] = keyRecordFiles(join(stateFolder, 'svc-conformance'))
    const record = file === undefined ? null : readKeyRecord(file)
    const creations = server.journal.count({ method: 'manager/createApiKey' })
    return { sheet, left, said, record, creations }
  } finally {
    await server.close()
  }
}

test.concurrent('keys are recorded, and removed where the target file says how', async ({ expect }) => {
  const { sheet, left, record, creations } = await measure('keys', true)
  expect(sheet.facts.map(({ question }) => question)).toContain('keys/name-rules')
  expect([left, record, creations > 0]).toEqual([[], null, true])
})

test.concurrent('keys that cannot be removed are printed, and stay in the record', async ({ expect }) => {
  const { left, record } = await measure('keys', false)
  expect(left[0]).toMatch(/^API key [0-9a-f]{32} \("first-[0-9a-z]{4}"\)$/)
  expect(left.at(-1)).toContain('cleanup in the target file')
  expect(record?.keys).toHaveLength(left.length - 1)
  expect(JSON.stringify(record)).not.toContain('"secret":')
})

test.concurrent('without the permission no key is created', async ({ expect }) => {
  const { sheet, left, record, creations } = await measure('limits', true)
  expect(sheet.left.map(({ reason }) => reason)).toContain('it needs --allow keys')
  expect([left, record, creations]).toEqual([[], null, 0])
})
