/**
 * Measures the judge of simultaneous calls: how many correct histories raise a false alarm, and how long it takes.
 *
 *     npm run histories [-- --count N]
 */
import { type Exchange, explain } from '../suites/engine/model/explain.ts'
import { facts } from '../suites/engine/model/facts.ts'
import { contradicts, judge } from '../suites/engine/model/judge.ts'
import { learn } from '../suites/engine/model/learn.ts'
import type { Answer, Call, State } from '../suites/engine/model/state.ts'
import { type Random, seededRandom } from '../suites/engine/signer/random.ts'
import {
  accepted,
  afterGrants,
  at,
  basicHeader,
  createCall,
  grantCall,
  listWith,
  lost,
  newState,
  pairAnswer,
  refreshCall,
  refused,
  tokenHeader,
  tokensOf,
} from '../suites/self/made-up-calls.ts'
import { readArguments } from './arguments.ts'

const { values } = readArguments({ options: { count: { type: 'string', default: '2000' } } })
const count = Number(values.count)
const random = seededRandom(1)
const newStart = (): State => afterGrants(newState(), ['a', 'b', 'c'], ['solution'])
const counts = { impossible: 0, undecided: 0, explained: 0 }
for (let round = 0; round < count; round++) {
  const start = newStart()
  const history = correctHistory(start, {
    random,
    reading: round % start.sessions.length,
    lossy: round % 2 === 0,
    calls: 14,
  })
  counts[explain(start, history).is] += 1
}
console.log(
  `${counts.impossible} alarms and ${counts.undecided} undecided in ${count} correct histories, half with lost answers`,
)

const operations = 100_000
const start = newStart()
const exchange = (index: number): Exchange => ({
  call: listWith(tokenHeader(['a', 'b', 'c'][index % 3] ?? 'a')),
  answer: accepted(),
  span: { from: at(index).from, to: at(index + 20).from },
  like: `${index % 3}`,
})
const history = Array.from({ length: operations }, (_, index) => exchange(index))
const before = process.cpuUsage()
const found = explain(start, history, operations * 2)
const { user, system } = process.cpuUsage(before)
console.log(`${operations} operations: ${found.is} in ${((user + system) / 1e6).toFixed(2)} s of CPU`)
if (counts.impossible > 0) process.exitCode = 1

/** Histories of simultaneous calls, answered as the document says: for the proof that they raise no alarm. */

interface HistoryOptions {
  readonly random: Random
  /** Which reading of the open questions about sessions the server has: an index of `sessions`. */
  readonly reading: number
  /** Whether a tenth of the answers is lost. */
  readonly lossy: boolean
  readonly calls: number
}

/** Each call takes effect somewhere between its start and its end. */
function correctHistory(start: State, { random, reading, lossy, calls }: HistoryOptions): Exchange[] {
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
