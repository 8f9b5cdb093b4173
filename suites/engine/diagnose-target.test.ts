import { createHmac } from 'node:crypto'
import { expect, test } from 'vitest'
import { type MadeUpCall, madeUpTarget } from '../self/made-up-target.ts'
import { parseScenario } from './fixture/parse.ts'
import { emptyKnowledge } from './knowledge.ts'
import type { RowOutcome } from './outcome.ts'
import { seededRandom } from './random.ts'
import { startRun } from './seat.ts'
import { runRow } from './steps/row.ts'
import type { TargetSettings } from './target.ts'

const corpus = { requirements: [], questions: [], cast: [], schemas: {}, scenarios: [] }
const secret = 'not-a-secret'

/** Whether the header signs `body` for `uri` as the document says. */
function isSigned({ authorization = '' }: MadeUpCall, body: string, uri: string): boolean {
  const [, , timestamp, nonce, signature] = authorization.replace(/^\S+ /, '').split(';')
  const data = `${timestamp};${nonce};POST\n${uri}\n${body}\n`
  return signature === createHmac('sha256', secret).update(data).digest().subarray(0, 20).toString('base64')
}

async function ask(
  takes: (call: MadeUpCall) => boolean,
  { form, settings = {} }: { form?: string; settings?: Partial<TargetSettings> },
): Promise<{ outcome: RowOutcome; calls: number }> {
  let calls = 0
  const target = madeUpTarget({
    settings,
    answer: (call) => {
      calls += 1
      return takes(call) ? { result: {} } : { status: 401 }
    },
  })
  const run = startRun({ target, corpus, knowledge: emptyKnowledge(), random: seededRandom(1), unique: 'test' })
  const body = form === undefined ? '' : `, body: ${form}`
  const scenario = parseScenario(
    `scenario: made up\nproves: [made/up]\nsteps:\n  - { call: solution/listSolutions, auth: { hmac: root }, expect: accepted${body} }`,
    'fixtures/scenarios/a/b.yaml',
  )
  const [row] = scenario.rows
  if (row === undefined) throw new Error('no row')
  return { outcome: await runRow(run, scenario, row), calls }
}

const compact = ({ id, method, params }: MadeUpCall): string => JSON.stringify({ jsonrpc: '2.0', id, method, params })

test('a server that writes the body anew is found out by the body that it refused, with few calls', async () => {
  const { outcome, calls } = await ask((call) => isSigned(call, compact(call), '/api'), { form: 'spaced' })
  expect(outcome.verdict).toBe('failed')
  expect(outcome.problem?.hint).toContain('parsed and written again without white space (as JSON.stringify does)')
  expect(calls).toBeLessThan(15)
})

test('where other signatures are accepted nobody is asked for the scheme word', async () => {
  const takes = (call: MadeUpCall): boolean => Number(call.id) % 2 === 0 && isSigned(call, compact(call), '/api')
  const { outcome } = await ask(takes, { form: 'indented' })
  expect(outcome.verdict).toBe('failed')
  expect(outcome.problem?.hint ?? '').not.toContain('scheme')
})

test('where none is, it is the first question', async () => {
  const { outcome } = await ask(() => false, {})
  expect(outcome.problem?.hint).toContain('Is "svc-hmac-sha256" the scheme word of this deployment (--scheme)?')
})

test.each(['api', '/', 'api/', '/API'])('what changes nothing where %s is signed is not tried', async (signedUri) => {
  const { outcome } = await ask(() => false, { settings: { signedUri } })
  expect(outcome.verdict).toBe('failed')
  expect(outcome.problem?.hint).toContain('No classic mistake explains it')
})
