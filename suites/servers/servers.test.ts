import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { parse } from 'yaml'
import { createTestClient } from '../../mock-server/test-client.ts'
import { brokenServers } from './table.ts'

const requirementsUrl = new URL('../../spec/requirements.yaml', import.meta.url)
const requirements: { id: string }[] = parse(readFileSync(requirementsUrl, 'utf8'))
const broken = await brokenServers()

describe('broken servers', () => {
  it('have an id of their own in kebab case', () => {
    const ids = broken.map(({ id }) => id)
    expect(ids.filter((id, index) => ids.indexOf(id) !== index)).toEqual([])
    expect(ids.filter((id) => !/^[a-z0-9]+(-[a-z0-9]+)*$/.test(id))).toEqual([])
  })

  it('break a requirement', () => {
    const known = new Set(requirements.map(({ id }) => id))
    expect(broken.filter(({ breaks }) => !known.has(breaks))).toEqual([])
  })

  it('are known where the misses are listed', async () => {
    const ids = new Set(broken.map(({ id }) => id))
    expect([...(await import('./broken/missed.ts')).missed.keys()].filter((id) => !ids.has(id))).toEqual([])
  })

  it('answer a right Basic call, before and after a reset, unless that is what they get wrong', async () => {
    const silent: string[] = []
    for (const { id, create } of broken) {
      const client = createTestClient(create())
      const lists = async () => (await client.list({ basic: client.root })).json?.result !== undefined
      const before = await lists()
      client.reset()
      if (!before || !(await lists())) silent.push(id)
    }
    expect(silent.sort()).toEqual([
      'any-scheme-word-taken',
      'basic-never-taken',
      'empty-params-refused',
      'listing-at-another-path',
      'listing-under-another-name',
      'solution-scope-opens-nothing',
    ])
  })
})
