/** Checks of how a client handles answers. The scenario counts `ok` lines without an accepted call. */
import { type Check, type Finding, finding } from '../check.ts'
import type { Start } from '../journal.ts'
import { readObject } from '../story/rpc.ts'
import type { Request, Story } from '../story/story.ts'

export const errorIn200: Check = {
  id: 'answers/error-in-200',
  level: 'practice',
  title: 'An error in an HTTP 200 is an error',
  sentence: 'A JSON-RPC answer has either a result or an error; the HTTP status says nothing about it',
  source: 'JSON-RPC 2.0 §5; interface part 7 leaves the status open',
  judge: ({ story }) => ({
    exercised: story.requests.some(
      ({ exchange, outcome }) =>
        outcome === 'refused' && exchange.answer?.status === 200 && exchange.faults.includes('refuse'),
    ),
    findings: [],
  }),
}

const foreignId: Check = {
  id: 'answers/foreign-id-rejected',
  level: 'practice',
  title: 'An answer with another id is not used',
  sentence: 'id: chosen by the caller; the response carries the same value',
  source: 'interface part 1; JSON-RPC 2.0 §5',
  judge({ story }) {
    const foreign = story.requests.filter((request) => isSpoiltBy(request, 'wrong-id'))
    const findings = foreign.flatMap((request) => usedTokens(story, request))
    return { exercised: foreign.length > 0, findings }
  },
}

const isSpoiltBy = ({ exchange, outcome }: Request, fault: string): boolean =>
  outcome === 'spoilt' && exchange.faults.includes(fault)

/** A finding if the client uses tokens that came only in an answer with a foreign id. */
function usedTokens({ requests }: Story, foreign: Request): Finding[] {
  const use = requests.find(({ pair }) => pair !== null && pair === foreign.issued)
  if (use === undefined) return []
  const message = 'A token from an answer with another id is used. Use only answers that carry the id of the request'
  return [finding(message, foreign, use)]
}

const malformedSurvived: Check = {
  id: 'answers/malformed-survived',
  level: 'practice',
  title: 'An answer that is not JSON is an error, and the client goes on',
  sentence: 'An answer that cannot be read is a failed call, not the end of the program',
  source: 'JSON-RPC 2.0 §5',
  judge({ story }) {
    const malformed = story.requests.filter((request) => isSpoiltBy(request, 'malformed') && isNotJson(request))
    const [first] = malformed
    const findings = first === undefined ? [] : [...crashAfter(story, first), ...silentAfter(story, first)].slice(0, 1)
    return { exercised: malformed.length > 0, findings }
  },
}

const isNotJson = ({ exchange }: Request): boolean => readObject(exchange.answer?.body) === null

function crashAfter({ starts, setting }: Story, malformed: Request): Finding[] {
  const start = malformed.start === null ? undefined : starts?.[malformed.start]
  if (start === undefined || setting.calls === null) return []
  const problem = crashOf(start, setting.calls)
  if (problem === null) return []
  const message = `After an answer that is not JSON the client ${problem}. Count the call as failed and go on`
  return [finding(message, malformed)]
}

/** A finding if the client makes no further call although some are left. */
function silentAfter({ requests, setting }: Story, malformed: Request): Finding[] {
  const calls = requests.filter(({ kind }) => kind === 'call')
  const isLast = requests.at(-1) === malformed
  if (malformed.kind !== 'call' || !isLast || calls.length >= (setting.calls ?? 0)) return []
  const message =
    'After an answer that is not JSON the client makes no further call. Count the call as failed and go on'
  return [finding(message, malformed)]
}

function crashOf({ ended, ok, error }: Start, calls: number): string | null {
  if (ended.kind === 'signal') return `ended by ${ended.signal}`
  if (ended.kind !== 'exit') return null
  if (ended.code !== 0) return `ended with exit code ${ended.code}`
  return ok + error < calls ? `reported only ${ok + error} of its ${calls} calls` : null
}

export const answerChecks: readonly Check[] = [errorIn200, foreignId, malformedSurvived]
