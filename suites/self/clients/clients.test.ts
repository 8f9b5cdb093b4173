/** The test clients work: right ones against the reference server, broken ones and inert ones as far as they should. */
import { describe, expect, test } from 'vitest'
import { partUnlessProof } from '../proof-form.ts'
import { type ClientAuth, loadCatalogue, type TestClient } from './catalogue.ts'
import { badDay, badDayServer, betweenCallsMs, type Environment, type Ran, run, withServer } from './harness.ts'

/** For a busy machine. */
const catalogue = await loadCatalogue()
const here = (file: string): string => new URL(file, import.meta.url).href
const core: { runClient(env: object, parts: object): Promise<void> } = await import(here('core.mjs'))
const { clients }: { clients: { id: string; parts: object }[] } = await import(here('index.mjs'))
const partsOf = new Map(clients.map(({ id, parts }) => [id, parts]))
const ofKind = (kind: TestClient['kind']): TestClient[] => catalogue.filter((client) => client.kind === kind)

describe('the catalogue', () => {
  test('has enough clients of each kind, with unique ids', () => {
    expect(ofKind('right').length).toBeGreaterThanOrEqual(16)
    expect(ofKind('broken').length).toBeGreaterThanOrEqual(65)
    expect(ofKind('inert').length).toBeGreaterThanOrEqual(4)
    expect(new Set(catalogue.map(({ id }) => id)).size).toBe(catalogue.length)
  })

  test('breaks each check at least three times', () => {
    const counts = new Map<string, number>()
    for (const client of catalogue)
      if (client.kind === 'broken') counts.set(client.check, (counts.get(client.check) ?? 0) + 1)
    expect(counts.size).toBe(37)
    expect([...counts].filter(([, count]) => count < 3)).toEqual([])
  })
})

/** Runs a client in this process: equivalent to its own process if nothing kills it, and much faster. */
async function runHere({ id }: TestClient, env: Environment, onLine = (): void => undefined): Promise<Ran> {
  const ran: Ran = { exitCode: 0, lines: [], complaints: '' }
  const parts = {
    ...partsOf.get(id),
    print: (line: string) => {
      ran.lines.push(line)
      onLine()
    },
    complain: (line: string) => {
      ran.complaints += `${line}\n`
    },
  }
  await core.runClient(env, parts)
  return ran
}

interface Case {
  name: string
  client: TestClient
  auth: ClientAuth
}

const cases = (kind: TestClient['kind']): Case[] =>
  ofKind(kind).flatMap((client) => client.auth.map((auth) => ({ name: `${client.id} (${auth})`, client, auth })))
/** Each client with one of its ways to authorize, chosen so that all ways are used. */
const oneCaseEach = (kind: TestClient['kind']): Case[] =>
  ofKind(kind).map((client, index) => {
    const auth = client.auth[index % client.auth.length] ?? 'hmac'
    return { name: `${client.id} (${auth})`, client, auth }
  })

const allOk = { exitCode: 0, lines: ['ok', 'ok', 'ok'], complaints: '' }

describe('a right client gets every call accepted', () => {
  test.concurrent.each(partUnlessProof(oneCaseEach('right'), 5))('$name, in a process of its own', ({ client, auth }) =>
    withServer(auth, {}, async (_server, env) => {
      expect(await run(client.command, env)).toEqual(allOk)
    }),
  )

  test.concurrent.each(cases('right'))('$name', ({ client, auth }) =>
    withServer(auth, {}, async (server, env) => {
      expect(await runHere(client, { ...env, SVC_PARALLEL: '2' })).toEqual(allOk)
      expect(server.journal.entries().filter(({ verdict }) => verdict !== 'accepted')).toEqual([])
    }),
  )
})

test('right clients survive what servers do', async () => {
  const days = oneCaseEach('right').map(({ name, client, auth }) =>
    withServer(auth, badDayServer, async (server, env) => {
      for (const fault of badDay) server.faults.add(fault)
      const advance = (): void => server.clock.advance(betweenCallsMs)
      const { lines, complaints } = await runHere(client, { ...env, SVC_CALLS: '12' }, advance)
      return { name, lines, complaints, accepted: server.journal.count({ verdict: 'accepted' }) }
    }),
  )
  for (const { name, lines, complaints, accepted } of await Promise.all(days)) {
    const said = `${name}: ${complaints}`
    const errors = lines.filter((line) => line !== 'ok').length
    expect(lines, said).toHaveLength(12)
    expect(errors, said).toBeLessThanOrEqual(/retr/.test(name) ? 6 : 1)
    expect(lines.at(-1), said).toBe('ok')
    expect(accepted, said).toBeGreaterThanOrEqual(12 - errors)
  }
})

describe('a broken client starts, and ends as an adapter does', () => {
  test.concurrent.each(partUnlessProof(cases('broken'), 40))('$name', ({ client, auth }) =>
    withServer(auth, {}, async (_server, env) => {
      const { lines, complaints } = await runHere(client, env)
      expect(lines).toHaveLength(3)
      for (const line of lines) expect(line).toMatch(/^(ok|error)$/)
      expect(complaints).not.toMatch(/^ {4}at /m)
    }),
  )
})

describe('an inert client gets nothing accepted', () => {
  test.concurrent.each(cases('inert'))('$name', ({ client, auth }) =>
    withServer(auth, {}, async (server, env) => {
      const { complaints } = await run(client.command, env)
      expect(server.journal.entries()).toEqual([])
      expect(complaints).not.toMatch(/^ {4}at /m)
    }),
  )
})
