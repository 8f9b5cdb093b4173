import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { startMockServer } from '../../targets/bundled.ts'
import { readTargetFile, readTargetOptions } from '../options.ts'
import { exploreUrl } from './explore-url.ts'

test('with a wrong secret nothing is reported as a finding, and the error says what to check', async () => {
  const server = await startMockServer()
  const env = { XDG_STATE_HOME: mkdtempSync(join(tmpdir(), 'svc-explore-')), SVC_KEY_SECRET: 'another' }
  const target = readTargetOptions({ url: server.url, keyId: server.rootKey.id }, env, readTargetFile({}, env))
  if (target === null) throw new RangeError('No target')
  const said: string[] = []
  const effort = { seed: 1, maxCalls: 50, seconds: 5, walks: 0, fresh: false, requirements: [] }
  const allow = { sessions: false, keys: false, limits: false }
  try {
    await expect(exploreUrl(target, { ...effort, allow, say: (text) => said.push(text) })).rejects.toThrow(
      /refuses the API key ".*" in every way .*; check the key id, the secret/,
    )
    expect(said).toEqual([])
  } finally {
    await server.close()
  }
})
