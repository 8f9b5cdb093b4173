import { expect, test } from 'vitest'
import { allItems } from '../engine/conversation/cases.ts'
import type { RunEvent } from '../engine/conversation/conversation.ts'
import { classify } from '../engine/judge/classify.ts'
import { contradicts, facts, judge } from '../engine/model/judge.ts'
import { learn, shape } from '../engine/model/learn.ts'
import { readBody } from '../engine/model/read-call.ts'
import type { State } from '../engine/model/state.ts'
import { fromUtf8 } from '../engine/signer/bytes.ts'
import { openCorpus } from '../run/corpus-cache.ts'
import { runAll } from '../run/run.ts'
import { newState, rootKey, rootSecret } from '../self/made-up-calls.ts'
import { isProof, turnUnlessProof } from '../self/proof-form.ts'
import { bundledTarget } from '../targets/bundled.ts'
import { modelAnswer } from './case-call.ts'

/** Server and caller share one virtual clock. */
const freshState = (): State => ({ ...newState(), signatureClock: 0, tokenClock: { from: -1000, to: 1000 } })

const documented = new Set(['manager/createApiKey', 'manager/auth', 'solution/listSolutions'])

/** Listens to one case after another; each has an instance of its own. */
function witness() {
  let state = freshState()
  let isLost = false
  const counts = { judged: 0, open: 0 }
  const contradictions: string[] = []
  let testCase = ''
  const listen = (event: RunEvent): void => {
    if (event.kind === 'case-started') {
      state = freshState()
      isLost = false
      testCase = event.key
    }
    if (event.kind !== 'exchange-made' || isLost) return
    const { request, answer, sentAtMs, answeredAtMs } = event
    const headers = new Map(request.headers.map(([name, value]) => [name.toLowerCase(), value]))
    const body = fromUtf8(request.body)
    if (body === null) return
    const isPlain =
      request.method === 'POST' && request.path === '/api' && headers.get('content-type') === 'application/json'
    const { method } = readBody(body)
    // The document shows no method that disables a key, so the model cannot follow one.
    if (typeof method === 'string' && /^manager\/(update|delete)/.test(method)) isLost = true
    if (!isPlain || isLost || headers.has('x-forwarded-for') || headers.has('forwarded') || typeof method !== 'string')
      return
    if (!documented.has(method)) return
    const span = { from: sentAtMs, to: answeredAtMs }
    const from = request.from === 'second-address' ? '127.0.0.12' : '127.0.0.1'
    const call = { authorization: headers.get('authorization'), body, from }
    const classified = classify(answer, answeredAtMs)
    if (classified.outcome === 'throttled') return
    const counted = modelAnswer(classified)
    const known = facts(state, call, span)
    const verdict = judge(state, known)
    if (verdict.is === 'open') counts.open += 1
    else counts.judged += 1
    if (contradicts(verdict, counted)) contradictions.push(`${testCase}: ${verdict.is}, ${verdict.requirement}`)
    for (const { requirement, message } of shape(state, call, counted, span))
      contradictions.push(`${testCase}: ${requirement}: ${message}`)
    state = learn(state, call, counted, span, known)
  }
  return { listen, counts, contradictions }
}

test('the model agrees with the reference server in every exchange of the scenarios', async () => {
  const corpus = await openCorpus()
  const { listen, counts, contradictions } = witness()
  // Outside of a proof those of every sixth case; in a run by URL the model listens to every case.
  const items = turnUnlessProof(allItems(corpus), 6, 0)
  const target = bundledTarget({ rootKey: { id: rootKey.id, secret: rootSecret } })
  await runAll({ target, corpus, items, seed: 1, listener: listen })
  expect(contradictions).toEqual([])
  expect(counts.judged).toBeGreaterThan(isProof ? 1500 : 250)
  // Most open calls are deliberate: they come from scenarios that observe.
  expect(counts.open).toBeLessThan(counts.judged / 2)
})
