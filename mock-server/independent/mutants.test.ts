import { readFileSync } from 'node:fs'
import { Agent, request } from 'node:http'
import { describe, expect, it } from 'vitest'
import { parse } from 'yaml'
import { startMockServer } from '../start.ts'
import { createTestClient, ok } from '../test-client.ts'
import { basic, listingBody } from '../test-witness.ts'
import { independentMutants } from './mutants.ts'

const requirementsUrl = new URL('../../spec/requirements.yaml', import.meta.url)
const requirements: { id: string }[] = parse(readFileSync(requirementsUrl, 'utf8'))

describe('the independent mutants', () => {
  it('have an id of their own in kebab case', () => {
    const ids = independentMutants.map(({ id }) => id)
    expect(new Set(ids).size).toBe(ids.length)
    expect(ids.filter((id) => !/^[a-z0-9]+(-[a-z0-9]+)*$/.test(id))).toEqual([])
  })

  it('break a requirement', () => {
    const known = new Set(requirements.map(({ id }) => id))
    expect(independentMutants.filter(({ breaks }) => !known.has(breaks))).toEqual([])
  })

  it.each(independentMutants.map((mutant) => [mutant.id, mutant] as const))(
    '%s accepts an ordinary call, before and after a reset',
    async (_id, mutant) => {
      const client = createTestClient(mutant.create())
      expect(await client.list({ basic: client.root })).toEqual(ok)
      client.reset()
      expect(await client.list({ basic: client.root })).toEqual(ok)
    },
  )

  it('see the connection of a call', async () => {
    const mutant = independentMutants.find(({ id }) => id === 'connection-stays-authorized')
    const server = await startMockServer({ clock: 'virtual', ...mutant?.create() })
    const url = `${server.url}/api`
    const agent = new Agent({ keepAlive: true, maxSockets: 1 })
    const authorization = basic(server.rootKey.id, server.rootKey.secret)
    expect(await callOn(agent, url, { authorization })).toContain('"result"')
    expect(await callOn(agent, url, {})).toContain('"result"')
    expect(await callOn(new Agent(), url, {})).toContain('"error"')
    agent.destroy()
    await server.close()
  })
})

/** The body of the answer to a listing. */
function callOn(agent: Agent, url: string, headers: { [name: string]: string }): Promise<string> {
  return new Promise((resolve, reject) => {
    const call = request(url, { agent, method: 'POST', headers }, (answer) => {
      let text = ''
      answer.setEncoding('utf8').on('data', (chunk: string) => {
        text += chunk
      })
      answer.on('end', () => resolve(text)).on('error', reject)
    })
    call.on('error', reject).end(listingBody)
  })
}
