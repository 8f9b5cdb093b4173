import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { allItems, provesOf } from '../engine/conversation/cases.ts'
import type { CaseOutcome } from '../engine/judge/problem.ts'
import { problemWith } from '../engine/language/schemas.ts'
import type { Instance } from '../engine/target.ts'
import { problemText } from '../report/problem-text.ts'
import type { Report } from '../report/report.ts'
import { openCorpus } from '../run/corpus-cache.ts'
import { runAll } from '../run/run.ts'
import { bundledTarget, profileChoices } from '../targets/bundled.ts'
import { madeUpRun } from './made-up-report.ts'
import { shipped } from './sources.ts'

const page = shipped('spec/interface.md')
const corpus = await openCorpus()
const { requirements, questions } = corpus
const registered = [...requirements, ...questions]

const anchorOf = (id: string): string => id.replace('/', '-')
const anchors = Array.from(page.matchAll(/<a id="([^"]+)"><\/a>\*\*(Must|Implied|Open)[.:]\*\*/g), ([, id, word]) => ({
  id: id ?? '',
  word: (word ?? '').toLowerCase(),
}))

/** Sections by the number of their part: `5.1`. What stands above `## 1.` is no statement. */
function sections(): Map<string, string> {
  const found = new Map<string, string>()
  let part = ''
  for (const line of page.split('\n')) {
    const heading = /^##+ ([1-9](?:\.[1-9])?)\.? /.exec(line)
    if (heading !== null) part = heading[1] ?? ''
    else if (part !== '') found.set(part, `${found.get(part) ?? ''}${line}\n`)
  }
  return found
}

test('no id is both a requirement and an open question, and no two ids have the same anchor', () => {
  const ids = registered.map(({ id }) => anchorOf(id))
  expect(ids.filter((id, index) => ids.indexOf(id) !== index)).toEqual([])
})

test('spec/interface.md has an anchor for every requirement and every open question', () => {
  const there = new Set(anchors.map(({ id }) => id))
  expect(registered.map(({ id }) => anchorOf(id)).filter((id) => !there.has(id))).toEqual([])
})

test('every anchor belongs to one entry of a register, once', () => {
  const known = new Set(registered.map(({ id }) => anchorOf(id)))
  const all = Array.from(page.matchAll(/<a id="([^"]*)"/g), ([, id]) => id ?? '')
  expect(all.filter((id) => !known.has(id))).toEqual([])
  expect(all.filter((id, index) => all.indexOf(id) !== index)).toEqual([])
  expect(all).toHaveLength(anchors.length)
})

test('every anchor shows the level of its entry', () => {
  const levels = new Map([
    ...requirements.map(({ id, level }) => [anchorOf(id), level] as const),
    ...questions.map(({ id }) => [anchorOf(id), 'open'] as const),
  ])
  expect(anchors.filter(({ id, word }) => levels.get(id) !== word)).toEqual([])
})

test('every entry is in the part that it names', () => {
  const texts = sections()
  const elsewhere = registered.filter(({ id, part }) => !texts.get(part)?.includes(`<a id="${anchorOf(id)}">`))
  expect(elsewhere.map(({ id, part }) => `${id} is not in part ${part}`)).toEqual([])
})

test('consequences are other requirements', () => {
  const ids = requirements.map(({ id }) => id)
  const wrong = requirements.flatMap(({ id, consequences = [] }) =>
    consequences.filter((one) => one === id || !ids.includes(one)),
  )
  expect(wrong).toEqual([])
})

test('all nine parts exist', () => {
  const numbers = new Set([...sections().keys()].map((part) => part.charAt(0)))
  expect([...numbers].sort()).toEqual(['1', '2', '3', '4', '5', '6', '7', '8', '9'])
})

describe('every statement', () => {
  const statements = [...sections()].flatMap(([part, text]) =>
    statementsOf(text).map((statement) => ({ part, statement })),
  )

  test('has an anchor or points at one', () => {
    const without = statements.filter(({ statement }) => !/<a id="|\]\(#/.test(statement))
    expect(without).toEqual([])
    expect(statements.length).toBeGreaterThan(150)
  })

  test('points at anchors that exist', () => {
    const there = new Set(anchors.map(({ id }) => id))
    const links = Array.from(page.matchAll(/\]\(#([^)]*)\)/g), ([, id]) => id ?? '')
    expect(links.filter((id) => !there.has(id))).toEqual([])
  })
})

/** Paragraphs, list items and the cases of tables; a heading, the head of a table and the opening of a list state nothing. */
function statementsOf(text: string): string[] {
  const lines = text.split('\n')
  const statements: string[] = []
  let open = false
  for (const [index, line] of lines.entries()) {
    const next = lines[index + 1] ?? ''
    const isTableHead = /^\|[-|]+\|$/.test(next) || /^\|[-|]+\|$/.test(line)
    if (line.trim() === '' || line.startsWith('#') || isTableHead || line.endsWith(':')) open = false
    else if (/^\s*([-|]|\d+\.) ?/.test(line) || !open) {
      statements.push(line)
      open = true
    } else statements.push(`${statements.pop() ?? ''} ${line.trim()}`)
  }
  return statements
}

const unprovable = new Set(requirements.flatMap((one) => (one.untestable && !one.untestable.without ? one.id : [])))

let outcomes: CaseOutcome[]
let report: Report

beforeAll(async () => {
  outcomes = await runAll({ target: bundledTarget(), corpus })
  report = madeUpRun(outcomes, { corpus, options: { strict: true, partial: null } })
})

test('the reference server conforms, and nothing is left open', () => {
  const open = outcomes.filter(({ verdict }) => verdict !== 'passed')
  expect(open.map(({ key, verdict, problem }) => `${verdict} ${key}: ${problemText(problem)}`)).toEqual([])
  expect({ verdict: report.verdict, exitCode: report.exitCode }).toEqual({ verdict: 'conforms', exitCode: 0 })
  const unshown = report.requirements.filter(({ id, verdict }) => verdict !== 'passed' && !unprovable.has(id))
  expect([...unshown, ...report.requirements.filter(({ gap }) => gap)]).toEqual([])
})

describe('every requirement', () => {
  test('is proved by a scenario, or has a written reason why it cannot be', () => {
    const proved = new Set(allItems(corpus).flatMap(provesOf))
    expect(requirements.map(({ id }) => id).filter((id) => !proved.has(id) && !unprovable.has(id))).toEqual([])
    expect([...unprovable].filter((id) => proved.has(id))).toEqual([])
  })

  test('that is a guard was shown from both sides', () => {
    const sides = (id: string) => [...new Set(outcomes.flatMap((outcome) => outcome.sides[id] ?? []))].sort()
    const guards = requirements.filter(({ id, kind }) => kind === 'guard' && !unprovable.has(id))
    const halves = guards.filter(({ id }) => sides(id).join() !== 'accepted,refused')
    expect(halves.map(({ id }) => `${id}: ${sides(id).join()}`)).toEqual([])
    expect(guards.length).toBeGreaterThan(60)
  })

  test('has no reason of only one word', () => {
    const reasons = requirements.flatMap(({ untestable }) => untestable?.reason ?? [])
    expect(reasons.filter((reason) => reason.length < 30)).toEqual([])
  })
})

describe('every open question', () => {
  test('is observed, or has a reason why it is not', () => {
    const observed = new Set(outcomes.flatMap(({ observations }) => observations.map(({ question }) => question)))
    const silent = questions.filter(({ id, unobserved }) => observed.has(id) === (unobserved !== undefined))
    expect(silent.map(({ id, unobserved }) => `${id}: ${unobserved ?? 'never observed'}`)).toEqual([])
  })

  test('names switches that the reference server has, and every switch answers a question or is about the way to it', () => {
    const named = questions.flatMap((question) => question.switch?.split(', ') ?? [])
    expect(named.filter((name) => !(name in profileChoices))).toEqual([])
    const transport = ['basePath', 'scheme', 'delayMs', 'closeConnections', 'clockOffsetMs']
    // Nothing is judged within a second of an expiry, so no case can be made.
    const unasked = [...transport, 'expiryRounding']
    const silent = Object.keys(profileChoices).filter((name) => !named.includes(name) && !unasked.includes(name))
    expect(silent).toEqual([])
  })
})

type Json = { [key: string]: unknown }

type Method = { name: string; result: { schema: { $ref: string } } }
const { methods }: { methods: Method[] } = JSON.parse(shipped('spec/openrpc.json'))
/** `extensions#/$defs/getSolutionResult` for `schemas/extensions.schema.json#/$defs/getSolutionResult`. */
const schemaOf = ({ result }: Method): string => result.schema.$ref.replace(/^schemas\/(.*)\.schema\.json/, '$1')
const schemaNames = new Map(methods.map((one) => [one.name, schemaOf(one)]))

let server: Instance
let headers: [string, string][]

beforeAll(async () => {
  server = await bundledTarget().open()
  const { root } = server
  if (root.kind !== 'secret') throw new Error('the bundled server has a root key with a secret')
  const authorization = `Basic ${btoa(`${root.id}:${root.secret}`)}`
  headers = Object.entries({ 'content-type': 'application/json', authorization })
})

afterAll(() => server.close())

const called = new Set<string>()

/** Makes a call whose request, params, response and result fit their schemas, and returns the result. */
async function call(method: string, params: Json): Promise<Json> {
  called.add(method)
  const request = { jsonrpc: '2.0', id: 7, method, params }
  expect(problemWith(request, 'request')).toBeUndefined()
  const resultSchema = schemaNames.get(method) ?? ''
  const paramsSchema = resultSchema.replace(/result$/, 'params').replace(/Result$/, 'Params')
  expect(problemWith(params, paramsSchema), method).toBeUndefined()
  const body = new TextEncoder().encode(JSON.stringify(request))
  const wire = await server.send({ method: 'POST', path: '/api', headers, body })
  if (wire.kind !== 'answer') throw new Error(`no answer: ${wire.kind}`)
  const answer = JSON.parse(new TextDecoder().decode(wire.body)) as Json
  expect(answer.error, method).toBeUndefined()
  const result = answer.result
  expect(problemWith(result, resultSchema), method).toBeUndefined()
  if (typeof result === 'object') expect(problemWith(answer, 'response'), method).toBeUndefined()
  return result as Json
}

test('every method of spec/openrpc.json answers on the bundled server as its schemas describe', async () => {
  const key = await call('manager/createApiKey', { name: 'a', scope: ['solution', 'context'] })
  const { id, secret } = key
  const grant = { grantType: 'api_key_credentials', apiKeyId: id, apiKeySecret: secret, scope: ['solution'] }
  const { refreshToken } = await call('manager/auth', grant)
  await call('manager/auth', { grantType: 'refresh_token', refreshToken })
  await call('solution/listSolutions', {})
  await call('manager/listApiKeys', {})
  await call('manager/getApiKey', { id })
  await call('manager/updateApiKey', { id, name: 'b', enabled: false })
  await call('manager/deleteApiKey', { id })
  const { solutionId } = await call('solution/createSolution', { name: 'a' })
  await call('solution/getSolution', { id: solutionId })
  await call('solution/updateSolution', { id: solutionId, name: 'b' })
  await call('context/createContext', { solution: solutionId, name: 'a', description: '', scope: 'private' })
  await call('context/listContexts', { solution: solutionId, skip: 0, limit: 10, sortOrder: 'desc' })
  await call('solution/deleteSolution', { id: solutionId })
  for (const method of ['thread/listThreads', 'store/listStores', 'inbox/listInboxes', 'stream/listStreams']) {
    await call(method, {})
  }
  expect([...called].sort()).toEqual([...schemaNames.keys()].sort())
})

test('the bundled server has no method that spec/openrpc.json lacks', () => {
  // Its sources are read and not imported, because the suite imports the server in one file only.
  const quoted = shipped('mock-server/methods.ts').matchAll(/'((?!params)[a-z]+\/(?:[a-z]+[A-Z]\w*|auth))'/g)
  const names = new Set(Array.from(quoted, ([, name]) => name))
  expect([...names].sort()).toEqual([...schemaNames.keys()].sort())
})
