/** Histories of simultaneous calls, answered as the document says: for the proof that they raise no alarm. */

import type { Exchange } from '../engine/model/explain.ts'
import { facts } from '../engine/model/facts.ts'
import { contradicts, judge } from '../engine/model/judge.ts'
import { learn } from '../engine/model/learn.ts'
import type { Answer, Call, State } from '../engine/model/state.ts'
import type { Random } from '../engine/signer/random.ts'
import {
  accepted,
  at,
  basicHeader,
  createCall,
  grantCall,
  listWith,
  lost,
  pairAnswer,
  refreshCall,
  refused,
  tokenHeader,
  tokensOf,
} from './made-up-calls.ts'

interface HistoryOptions {
  readonly random: Random
  /** Which reading of the open questions about sessions the server has: an index of `sessions`. */
  readonly reading: number
  /** Whether a tenth of the answers is lost. */
  readonly lossy: boolean
  readonly calls: number
}

/** Each call takes effect somewhere between its start and its end. */
export function correctHistory(start: State, { random, reading, lossy, calls }: HistoryOptions): Exchange[] {
  let server: State = { ...start, sessions: start.sessions.slice(reading, reading + 1) }
  const names = ['a', 'b', 'c']
  const history: Exchange[] = []
  for (let n = 0; n < calls; n++) {
    const effect = 100 + n * 10
    const call = anyCall(random, names)
    const verdict = judge(server, facts(server, call, at(effect)))
    const fine = verdict.is === 'accepted' || (verdict.is === 'open' && random.below(2) === 0)
    const answer = fine ? answerOf(call, effect, n) : refused
    if (contradicts(verdict, answer)) throw new Error('The server of the history contradicts itself')
    server = learn(server, call, answer, at(effect))
    const seen = lossy && random.below(10) === 0 ? lost : answer
    // Tokens that never arrived are not used.
    if (seen === answer && answer.kind === 'accepted' && call.body.includes('manager/auth')) names.push(`n${n}`)
    const [from, to] = [effect - random.below(40), effect + 1 + random.below(40)]
    history.push({ call, answer: seen, span: { from: at(from).from, to: at(to).from }, like: `${n}` })
  }
  return history
}

function answerOf(call: Call, effect: number, n: number): Answer {
  if (call.body.includes('createApiKey')) return accepted({ id: `k${n}`, secret: `s${n}` })
  if (!call.body.includes('manager/auth')) return accepted()
  return pairAnswer(`n${n}`, ['solution'], at(effect))
}

function anyCall(random: Random, names: readonly string[]): Call {
  const name = names[random.below(names.length)] ?? 'a'
  const calls = [
    listWith(tokenHeader(name)),
    listWith(tokenHeader(name)),
    refreshCall(tokensOf(name).refresh),
    grantCall(['solution']),
    grantCall(['solution', `session:s${random.below(20)}`]),
    listWith(basicHeader()),
    listWith(undefined),
    createCall({ name: 'n', scope: ['solution'] }),
  ]
  return calls[random.below(calls.length)] ?? listWith(undefined)
}
