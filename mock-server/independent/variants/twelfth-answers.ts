import { letPass } from '../../faults.ts'
import type { MockAnswer } from '../../http-server.ts'
import { changeAnswers, httpDate } from '../answers.ts'
import { isAccepted } from '../calls.ts'
import type { Around, IndependentVariant } from '../independent-variant.ts'
import { isMethod } from '../requests.ts'
import { createMemory } from '../server-memory.ts'
import { errorAnswer, waitAnswer } from './eleventh-limits.ts'

/** Falls asleep after `pauseMs` without calls, as before the first one, and takes `wakeMs` to wake up. */
function sleepBetweenCalls(pauseMs: number, wakeMs: number): Around {
  const sleeps = createMemory(() => ({ lastMs: Number.NEGATIVE_INFINITY, awakeMs: 0 }))
  return (handle, context) => (request) => {
    const memory = sleeps(context)
    const nowMs = context.now()
    if (nowMs - memory.lastMs >= pauseMs) memory.awakeMs = nowMs + wakeMs
    memory.lastMs = nowMs
    return nowMs < memory.awakeMs ? waitAnswer(503, memory.awakeMs - nowMs) : handle(request)
  }
}

/** How many calls of another client come in each of four seconds. */
const callsOfOthers: readonly number[] = [0, 56, 30, 59]

/** Everyone together has `most` calls a second. */
function shareRate(most: number): Around {
  const seconds = createMemory(() => ({ second: 0, calls: 0 }))
  return (handle, context) => (request) => {
    const memory = seconds(context)
    const second = Math.floor(context.now() / 1000)
    if (second !== memory.second) Object.assign(memory, { second, calls: callsOfOthers[second % 4] ?? 0 })
    memory.calls += 1
    if (memory.calls <= most) return handle(request)
    const answer = errorAnswer(request, 429, -32029, 'Everyone together is too fast')
    return { ...answer, headers: { ...answer.headers, 'retry-after': '1' } }
  }
}

/** Each call takes a millisecond longer than the one before; the one after `most` finds the server restarted. */
function getTired(most: number, downMs: number): Around {
  const rounds = createMemory(() => ({ calls: 0, upMs: 0 }))
  return (handle, context) => (request) => {
    const memory = rounds(context)
    const nowMs = context.now()
    if (nowMs < memory.upMs) return waitAnswer(503, memory.upMs - nowMs)
    memory.calls += 1
    if (memory.calls <= most) return letPass(context, memory.calls).then(() => handle(request))
    Object.assign(memory, { calls: 0, upMs: nowMs + downMs })
    return waitAnswer(503, downMs)
  }
}

/** The text of an answer up to its result, as sent, and the rest. The id stands before the result and stays as it is. */
function splitAtResult({ body }: MockAnswer): [string, string] {
  const at = body.indexOf('"result":')
  return [body.slice(0, at), body.slice(at)]
}

/** Begins every result with members that tell about the calls of everyone before. */
function tellCallsBefore(): Around {
  const memories = createMemory(() => ({ calls: 0, lastMs: null as number | null }))
  return changeAnswers((answer, _request, context) => {
    const memory = memories(context)
    memory.calls += 1
    const notice = memory.calls % 3 === 0 ? { notice: 'Maintenance on Sunday' } : {}
    const told = JSON.stringify({ callsSoFar: memory.calls, lastCall: memory.lastMs, ...notice })
    memory.lastMs = context.now()
    if (!isAccepted(answer)) return answer
    const [head, rest] = splitAtResult(answer)
    return { ...answer, body: head + rest.replace(/^"result":\{(?=")/, `"result":${told.slice(0, -1)},`) }
  })
}

/** The Date header is right, missing, and right in the time of another place, in turn. */
function changeDates(): Around {
  const memories = createMemory(() => ({ answers: 0 }))
  return changeAnswers((answer, _request, context) => {
    const memory = memories(context)
    memory.answers += 1
    if (memory.answers % 3 === 1) return answer
    const { date: _date, ...headers } = answer.headers
    if (memory.answers % 3 === 2) return { ...answer, headers }
    return { ...answer, headers: { ...headers, date: httpDate(context.now() + 7_200_000).replace('GMT', '+0200') } }
  })
}

/** A cache sends the listing and the Date of the first answer for `forMs`; who may see it is asked each time. */
function cacheListing(forMs: number): Around {
  const caches = createMemory(() => ({ atMs: Number.NEGATIVE_INFINITY, rest: '', date: '' }))
  return changeAnswers((answer, request, context) => {
    if (!isMethod(request, 'solution/listSolutions') || !isAccepted(answer)) return answer
    const cache = caches(context)
    const nowMs = context.now()
    const [head, rest] = splitAtResult(answer)
    if (nowMs - cache.atMs >= forMs) Object.assign(cache, { atMs: nowMs, rest, date: answer.headers.date })
    const age = String(Math.floor((nowMs - cache.atMs) / 1000))
    return { ...answer, headers: { ...answer.headers, date: cache.date, age }, body: head + cache.rest }
  })
}

/** Parts 1, 4, 5.1, 7 and 8: servers that answer according to what was before, and to what others do. */
export const twelfthAnswerVariants: IndependentVariant[] = [
  // Part 8: "Rate limits and request size limits: not shown." No call is refused; callers come again a moment later.
  {
    id: 'sleeps-after-thirty-seconds-without-calls',
    questions: ['limits/rate', 'errors/http-status'],
    about: 'The first call, and every one after a pause of thirty seconds, wakes the server up: 503 for 500 ms.',
    create: () => ({ around: sleepBetweenCalls(30_000, 500) }),
  },
  // Part 8: "Rate limits and request size limits: not shown", nor who shares them.
  {
    id: 'another-client-uses-most-of-the-rate-in-some-seconds',
    questions: ['limits/rate', 'errors/codes', 'errors/http-status'],
    about: 'Of sixty calls a second, another client leaves 60, 4, 30 and 1 in turn; then 429 with a JSON-RPC error.',
    create: () => ({ around: shareRate(60) }),
  },
  // Part 8 shows no limits, and no part shows how long a call takes.
  {
    id: 'calls-get-slower-until-the-server-restarts',
    questions: ['limits/rate', 'errors/http-status'],
    about:
      'Each call takes a millisecond longer than the last; after a hundred there is 503 for 300 ms, then 1 ms again.',
    create: () => ({ around: getTired(100, 300) }),
  },
  // Parts 4.1 and 4.2 list members of results and do not say that there are no others; part 4.3 leaves the result open.
  {
    id: 'results-begin-with-what-everyone-did-before',
    questions: ['keys/create-result-extras', 'solutions/list-result'],
    about: 'Every result begins with a count, a time and sometimes a notice, and is never the same twice.',
    profile: { listShape: 'solutions' },
    create: () => ({ around: tellCallsBefore() }),
  },
  // Part 5.1: "how far a timestamp may differ from server time: not shown", nor how a caller learns that time.
  {
    id: 'date-header-in-another-zone-or-missing-in-turn',
    questions: ['signatures/time-window', 'signatures/nonce-reuse'],
    about: 'The Date header is right, missing, and given in +0200; a timestamp is at most fifteen seconds off.',
    profile: { timeWindowMs: 15_000, nonceReuse: 'accepted' },
    create: () => ({ around: changeDates() }),
  },
  // Part 4.3 leaves the result of the listing open, and part 5.1 how a caller learns the time of the server.
  {
    id: 'listing-comes-from-a-cache-with-its-old-date',
    questions: ['solutions/list-result', 'signatures/time-window'],
    about: 'Listings are up to eight seconds old, and so is their Date; a timestamp is at most thirty seconds off.',
    profile: { timeWindowMs: 30_000, listShape: 'counted' },
    create: () => ({ around: cacheListing(8000) }),
  },
]
