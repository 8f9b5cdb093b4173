import { createHmac } from 'node:crypto'
import { expect, test } from 'vitest'
import { allItems } from '../engine/conversation/cases.ts'
import type { CaseOutcome } from '../engine/judge/problem.ts'
import type { Target, TargetSettings } from '../engine/target.ts'
import { hintText } from '../report/problem-text.ts'
import { openCorpus } from '../run/corpus-cache.ts'
import { runAll } from '../run/run.ts'
import { accepting, ask, type MadeUpCall, madeUpTarget, runOf } from '../self/made-up-target.ts'
import { serverNamed } from '../self/server-named.ts'
import { lastingTarget } from '../targets/bundled.ts'
import { signatureHint } from './signature-hint.ts'

const secret = 'not-a-secret'
const refused = { status: 401 }

/** Whether the header signs `body` for `uri` as the document says. */
function isSigned({ authorization = '' }: MadeUpCall, body: string, uri: string): boolean {
  const [, , timestamp, nonce, signature] = authorization.replace(/^\S+ /, '').split(';')
  const data = `${timestamp};${nonce};POST\n${uri}\n${body}\n`
  return signature === createHmac('sha256', secret).update(data).digest().subarray(0, 20).toString('base64')
}

async function askedOf(
  takes: (call: MadeUpCall) => boolean,
  { form, settings = {} }: { form?: string; settings?: Partial<TargetSettings> } = {},
) {
  const target = madeUpTarget({ settings, answer: (call) => (takes(call) ? accepting() : refused) })
  const body = form === undefined ? '' : `, body: ${form}`
  const step = `  - { call: solution/listSolutions, auth: { hmac: root }, expect: accepted${body} }`
  return { outcome: await run(target, step), calls: target.heard.length }
}

const run = (target: Target, steps: string, started = runOf(target, { diagnose: signatureHint })) => ask(started, steps)

const saidHint = ({ problem }: CaseOutcome): string => (problem?.hint === undefined ? '' : hintText(problem.hint))

const compact = ({ id, method, params }: MadeUpCall): string => JSON.stringify({ jsonrpc: '2.0', id, method, params })

test('a server that serialises the body again is recognised by the body that it refuses, with few calls', async () => {
  const { outcome, calls } = await askedOf((call) => isSigned(call, compact(call), '/api'), { form: 'spaced' })
  expect(outcome.verdict).toBe('failed')
  expect(saidHint(outcome)).toContain('parsed and written again without white space (as JSON.stringify does)')
  expect(calls).toBeLessThan(15)
})

test('the hint does not ask for the scheme word if other signatures are accepted', async () => {
  const takes = (call: MadeUpCall): boolean => Number(call.id) % 2 === 0 && isSigned(call, compact(call), '/api')
  const { outcome } = await askedOf(takes, { form: 'indented' })
  expect(outcome.verdict).toBe('failed')
  expect(saidHint(outcome)).not.toContain('scheme')
})

test('the hint asks for the scheme word first if no signature is accepted', async () => {
  const { outcome } = await askedOf(() => false)
  expect(saidHint(outcome)).toContain('Is "svc-hmac-sha256" the scheme word of this deployment (--scheme)?')
  const ofClock =
    "Or does the server's clock differ from its Date header? A run with --allow sessions measures that clock"
  expect(saidHint(outcome)).toContain(ofClock)
})

test.each(['api', '/', 'api/', '/API'])('a mistake that changes nothing if %s is signed is not tried', async (uri) => {
  const { outcome } = await askedOf(() => false, { settings: { signedUri: uri } })
  expect(outcome.verdict).toBe('failed')
  expect(saidHint(outcome)).toContain('No known mistake explains it')
})

const listStep = '  - { call: solution/listSolutions, auth: { hmac: root }, expect: accepted }'

/** A server behind a gateway that signs this URI, and is called below a base path. */
function behindGateway(uri: string): Target {
  const target = madeUpTarget({ answer: (call) => (isSigned(call, compact(call), uri) ? accepting() : refused) })
  return { ...target, open: async () => ({ ...(await target.open()), baseUrl: 'http://made-up/gw/v2' }) }
}

test.each(['/gw/v2/api', '/v2/api'])('a server that signs its own path %s is named with signedUri', async (uri) => {
  const outcome = await run(behindGateway(uri), listStep)
  expect(outcome.verdict).toBe('failed')
  expect(saidHint(outcome)).toContain(`when the URI ${uri} is signed instead of /api`)
  expect(saidHint(outcome)).toContain(`set "signedUri: ${uri}" in the target file`)
})

test('a signature of another path that the server accepted is no sign of a lock', async () => {
  const target = behindGateway('/gw/v2/api')
  const started = runOf(target, { diagnose: signatureHint })
  for (const _time of [1, 2]) expect((await run(target, listStep, started)).verdict).toBe('failed')
})

test('below a base path, a server that signs /api passes, and one that signs another path is not explained by it', async () => {
  expect((await run(behindGateway('/api'), listStep)).verdict).toBe('passed')
  expect(saidHint(await run(behindGateway('/other/api'), listStep))).toContain('No known mistake explains it')
})

/** Issues tokens, and accepts them after one word only. */
function tokenTarget(word: string, settings: Partial<TargetSettings>, spoiled = false): Target {
  let granted = 0
  return madeUpTarget({
    settings,
    answer: ({ method, authorization = '' }) => {
      if (method === 'manager/auth') return { result: { accessToken: `token-${++granted}` } }
      const isTaken = authorization.startsWith(`${word} token-`) && !(spoiled && authorization.endsWith('-1'))
      return isTaken || authorization.startsWith('Basic ') ? accepting() : refused
    },
  })
}

const tokenSteps = `  - { call: manager/auth, auth: none, params: {}, expect: accepted, keep: { token: result.accessToken } }
  - { call: solution/listSolutions, auth: { token: $token }, expect: accepted }`

test('if no token is accepted after any word, the hint names --token-prefix', async () => {
  expect(saidHint(await run(tokenTarget('jwt', {}), tokenSteps))).toBe(
    'No token was accepted; tokens were sent with the prefixes "Bearer" and "Token", with the reported tokenType and without a prefix. Set --token-prefix (or tokenPrefix in the target file) to the prefix of this deployment.',
  )
  expect(saidHint(await run(tokenTarget('jwt', { tokenPrefix: 'JWT' }), tokenSteps))).toContain('with the prefix "JWT"')
})

test('if another token is accepted, the hint does not name the word', async () => {
  const outcome = await run(tokenTarget('Bearer', {}, true), tokenSteps)
  expect(outcome.verdict).toBe('failed')
  expect(outcome.problem?.hint).toBeUndefined()
})

/** The outcomes of these cases on a server that takes whole MACs alone. */
async function onWholeMacs(cases: RegExp, listens = false): Promise<CaseOutcome[]> {
  const corpus = await openCorpus()
  const items = allItems(corpus).filter(({ key }) => cases.test(key))
  return runAll({ target: lastingTarget(await serverNamed('whole-mac-expected')), corpus, items, listens })
}

test('the model does not hear of the calls of a hint, and so reports its cause only once', async () => {
  const [outcome] = await onWholeMacs(/^signatures\/hmac-accepted$/, true)
  expect(outcome?.problem?.hint).toMatchObject({ kind: 'server-mistake' })
  expect(outcome?.findings ?? []).toEqual([])
})

test('a wrong signature that a hint tried and the server accepted is no sign of a lock, so the run goes on', async () => {
  const outcomes = await onWholeMacs(/^signatures\/hmac-(accepted|length)/)
  expect(outcomes.map(({ verdict }) => verdict)).toContain('failed')
  expect(outcomes.filter(({ problem }) => problem?.kind === 'not-run')).toEqual([])
})
