/** The test clients work: right ones against the reference server, broken ones and inert ones as far as they should. */

import { describe, expect, test } from 'vitest'
import { checks } from '../../client/judge.ts'
import { isProof, onlyInProof, partUnlessProof } from '../proof-form.ts'
import {
  adapters,
  type ClientAuth,
  judgementProblem,
  judgeTestClient,
  loadCatalogue,
  type TestClient,
} from './catalogue.ts'
import { badDay, badDayServer, betweenCallsMs, type Environment, type Ran, run, withServer } from './harness.ts'

const catalogue = await loadCatalogue()
const here = (file: string): string => new URL(file, import.meta.url).href
const core: { runClient(env: object, parts: object): Promise<void> } = await import(here('core.mjs'))
const { clients: allParts }: { clients: { id: string; parts: object }[] } = await import(here('index.mjs'))
const partsOf = new Map(allParts.map(({ id, parts }) => [id, parts]))
const ofKind = (kind: TestClient['kind']): TestClient[] => catalogue.filter((client) => client.kind === kind)

describe('the catalogue', () => {
  test('has enough clients of each kind, with unique ids', () => {
    expect(ofKind('right').length).toBeGreaterThanOrEqual(16)
    expect(ofKind('broken').length).toBeGreaterThanOrEqual(65)
    expect(ofKind('inert').length).toBeGreaterThanOrEqual(4)
    expect(new Set(catalogue.map(({ id }) => id)).size).toBe(catalogue.length)
  })

  test('breaks each check at least three times', () => {
    const broken = ofKind('broken').flatMap((client) => (client.kind === 'broken' ? [client.check] : []))
    const counts = checks.map(({ id }) => [id, broken.filter((check) => check === id).length] as const)
    expect(counts.filter(([, count]) => count < 3)).toEqual([])
    expect(broken.filter((check) => !checks.some(({ id }) => id === check))).toEqual([])
  })
})

/** A bad day of a server: what the client printed, and how many of its calls were accepted. */
const survive = (auth: ClientAuth, runIt: (env: Environment, onLine: () => void) => Promise<Ran>) =>
  withServer(auth, badDayServer, async (server, env) => {
    for (const fault of badDay) server.faults.add(fault)
    const ran = await runIt({ ...env, SVC_CALLS: '12' }, () => void server.clock.advance(betweenCallsMs))
    const errors = ran.lines.filter((line) => line !== 'ok').length
    return { ...ran, errors, accepted: server.journal.count({ verdict: 'accepted' }) }
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

/** Outside of a proof some of the right clients; `npm run clients` judges all of them. */
const someRight = partUnlessProof(oneCaseEach('right'), 10)

const allOk = { exitCode: 0, lines: ['ok', 'ok', 'ok'], complaints: '' }

describe('a right client gets every call accepted', () => {
  test.concurrent.each(partUnlessProof(oneCaseEach('right'), 1))('$name, in a process of its own', ({ client, auth }) =>
    withServer(auth, {}, async (_server, env) => {
      expect(await run(client.command, env)).toEqual(allOk)
    }),
  )

  test.concurrent.each(isProof ? cases('right') : someRight)('$name', ({ client, auth }) =>
    withServer(auth, {}, async (server, env) => {
      expect(await runHere(client, { ...env, SVC_PARALLEL: '2' })).toEqual(allOk)
      expect(server.journal.entries().filter(({ verdict }) => verdict !== 'accepted')).toEqual([])
    }),
  )
})

test('right clients survive what servers do', async () => {
  const days = someRight.map(async ({ name, client, auth }) => {
    const day = await survive(auth, (env, onLine) => runHere(client, env, onLine))
    return { name, ...day }
  })
  for (const { name, lines, complaints, errors, accepted } of await Promise.all(days)) {
    const said = `${name}: ${complaints}`
    expect(lines, said).toHaveLength(12)
    expect(errors, said).toBeLessThanOrEqual(/retr/.test(name) ? 6 : 1)
    expect(lines.at(-1), said).toBe('ok')
    expect(accepted, said).toBeGreaterThanOrEqual(12 - errors)
  }
})

/** The adapters of fixtures/clients/ work: every call is accepted, and they survive what servers do. */

for (const [index, { language, build, auth: supported, missing, compiles }] of adapters.entries()) {
  const isLeftOut = compiles === true && !isProof
  const name = `the adapter in ${language}${missing && ` (NOT RUN: needs ${missing})`}`
  describe.skipIf(isLeftOut || missing !== '')(isLeftOut ? onlyInProof(name) : name, () => {
    test('gets every call accepted, and survives what servers do', async () => {
      const command = build()
      const daysOf = (auth: ClientAuth): (() => Promise<void>)[] => [
        () =>
          withServer(auth, {}, async (server, env) => {
            const ran = await run(command, { ...env, SVC_CALLS: '6', SVC_PARALLEL: '3', SVC_PAUSE_MS: '10' })
            expect(ran, auth).toEqual({ exitCode: 0, lines: Array(6).fill('ok'), complaints: '' })
            expect(server.journal.count({ method: 'manager/auth' }), auth).toBe(auth === 'token' ? 1 : 0)
          }),
        async () => {
          const { exitCode, lines, complaints, errors } = await survive(auth, (env, onLine) =>
            run(command, env, onLine),
          )
          expect({ exitCode, count: lines.length }, `${auth}: ${complaints}`).toEqual({ exitCode: 0, count: 12 })
          expect(errors, complaints).toBeLessThanOrEqual(1)
          expect(lines.at(-1), complaints).toBe('ok')
        },
        () =>
          withServer(auth, {}, async (server, env) => {
            server.faults.add({ fault: 'drop', when: 'after', method: 'manager/createApiKey' })
            const ran = await run(command, { ...env, SVC_METHOD: 'manager/createApiKey', SVC_SCOPE: 'apiKey' })
            expect(ran.lines.sort(), ran.complaints).toEqual(['error', 'ok', 'ok'])
            expect(server.journal.count({ method: 'manager/createApiKey' }), auth).toBe(3)
          }),
      ]
      const all = supported.map(daysOf)
      // Outside of a proof one day with one way to authorize, in each language another one.
      const days = isProof ? all.flat() : [all[index % all.length]?.[index % 3] ?? all.flat()[0]]
      await Promise.all(days.map((day) => day?.()))
    })
  })
}

/**
 * A part of the proof of the judge of clients: some of the test clients, each in the scenarios where it shows. `npm run clients` tries
 * all of them in all scenarios.
 */

function clientNamed(id: string): TestClient {
  const client = catalogue.find((one) => one.id === id)
  if (client === undefined) throw new RangeError(`There is no test client "${id}"`)
  return client
}

/** One of each kind, and of each way to be wrong: in what is signed, in what is repeated, in what is read; each with its scenarios. */
const part: [id: string, scenarios: string][] = [
  ['lost-refresh-not-repeated', 'lost-refresh/'],
  ['signs-sorted-members', 'plain/hmac'],
  ['create-key-repeated', 'create-key/'],
  ['answer-id-not-read', 'foreign-id/'],
  ['ok-without-a-call', 'plain/basic'],
]

describe.concurrent('the judge of clients', () => {
  test.each(part)('%s', async (id, wanted) => {
    const client = clientNamed(id)
    const judge = () => judgeTestClient(client, (scenario) => scenario.startsWith(wanted))
    let judgement = await judge()
    // On a busy machine two calls of a client may miss each other.
    if (client.kind === 'broken' && judgement.notExercised.includes(client.check)) judgement = await judge()
    expect([judgementProblem(client, judgement), judgement.messages]).toEqual([
      null,
      client.kind === 'broken' ? expect.anything() : {},
    ])
  })
})
