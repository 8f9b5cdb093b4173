/** Traffic of several clients with one server: every call is judged when it is over, and both sides when all is over. */
import { headerOf, type Journal, unknownSetting } from '../client/journal.ts'
import { type CheckResult, judgeJournals } from '../client/judge.ts'
import { counted, groupBy } from '../engine/group.ts'
import { membersOf, parseJson } from '../engine/json.ts'
import type { Requirement } from '../engine/language/fixture-types.ts'
import { type DiagnoseInput, diagnose } from '../lab/diagnose.ts'
import { type Begun, followTraffic, type Judged } from './follow.ts'
import { isCall, type NamedKey, type Observed } from './records.ts'

type FollowOptions = Parameters<typeof followTraffic>[0]

export interface SessionOptions {
  terms: FollowOptions['terms']
  keys: readonly NamedKey[]
  requirements: readonly Requirement[]
  onJudged?(judged: Judged): void
  /** Searches for the mistake in a signature; that of the lab, unless given. */
  diagnose?: FollowOptions['diagnose']
  /** How many pairs of tokens, and how many calls, are remembered. */
  most?: { pairs?: number; calls?: number; bytes?: number }
}

/** A finding about the server, with the call that showed it first. */
type Found = Judged['wrong'][number] & { times: number }

/** What one client did: the calls with one key from one address. */
interface Client {
  /** null: not known, as of calls with tokens that were issued before. */
  key: string | null
  address: string
  calls: number
  /** Those that its calls show to hold or to fail. */
  checks: (CheckResult & { verdict: 'passed' | 'failed' | 'warned' })[]
}

export interface Outcome {
  found: Found[]
  /** What was seen of open questions: how often each answer. */
  open: { question: string; answer: string; times: number }[]
  clients: Client[]
  calls: number
  /** Calls of which the answer, or its form, was certain. */
  judged: number
  refused: number
  /** Answers that the proxy gave instead of the server. */
  ours: number
  /** Requests with another HTTP method than POST, which are not judged. */
  notPosts: number
  /** What stays open, because it was forgotten or never shown, as sentences. */
  lacks: string[]
  secrets: string[]
}

const defaultMost = { pairs: 10_000, calls: 5000, bytes: 32 * 1024 * 1024 }
/** Calls with a wrong signature that are remembered longer than others. */
const mostFaulty = 100
/** Of a longer body the checks of clients need only the beginning. */
const keptBody = 64 * 1024
/** A client that signs wrongly does so again: a search is made for the first calls, then for one in ten seconds. */
const diagnosesAtOnce = 12
const diagnosisEveryMs = 10_000

export function openSession({ terms, keys, requirements, onJudged, most = {}, ...own }: SessionOptions) {
  const bounds = { ...defaultMost, ...most }
  const found = new Map<string, Found>()
  const open = new Map<string, Outcome['open'][number]>()
  /** `part`: between two of them calls were left out, so what follows what is not known. */
  const kept: { client: string; part: number; observed: Observed }[] = []
  const faulty: typeof kept = []
  const clients = new Map<string, { key: string | null; address: string; calls: number }>()
  const counts = { refused: 0, ours: 0, notPosts: 0, dropped: 0, lost: 0, bytes: 0, parts: 0 }
  let searches = diagnosesAtOnce
  let searchedAtMs = 0

  const search = (input: DiagnoseInput, atMs: number) => {
    if (searches === 0 && atMs - searchedAtMs < diagnosisEveryMs) return null
    searches = Math.max(0, searches - 1)
    searchedAtMs = atMs
    return (own.diagnose ?? diagnose)(input)
  }
  let nowMs = 0
  const follower = followTraffic({
    terms,
    keys,
    mostPairs: bounds.pairs,
    requirements,
    diagnose: (input) => search(input, nowMs),
    onJudged(judged) {
      const { observed, wrong, answer } = judged
      if (answer === 'refused') counts.refused += 1
      if (observed.oursBecause !== undefined) counts.ours += 1
      else if (answer === 'no-call') counts.notPosts += 1
      for (const one of wrong) {
        const known = found.get(one.id)
        if (known === undefined) found.set(one.id, { ...one, times: 1 })
        else known.times += 1
      }
      for (const { question, answer: seen } of openAnswers(judged)) {
        const name = JSON.stringify([question, seen])
        const known = open.get(name) ?? { question, answer: seen, times: 0 }
        if (known.times > 0 || open.size < mostOpen) open.set(name, { ...known, times: known.times + 1 })
      }
      keep(judged)
      onJudged?.(judged)
    },
  })

  const keep = ({ observed, key }: Judged): void => {
    const { address } = observed
    const name = JSON.stringify([key, address])
    const client = clients.get(name) ?? { key, address, calls: 0 }
    client.calls += 1
    clients.set(name, client)
    // A record without headers says nothing about what its client sent.
    if (observed.unknown.includes('authorization') && observed.headers.length < 2) return
    const short = {
      ...observed,
      body: observed.body.length > keptBody ? observed.body.slice(0, keptBody) : observed.body,
    }
    kept.push({ client: name, part: counts.parts, observed: short })
    counts.bytes += sizeOf(short)
    while (kept.length > bounds.calls || counts.bytes > bounds.bytes) {
      const oldest = kept.shift()
      if (oldest === undefined) break
      counts.bytes -= sizeOf(oldest.observed)
      // A wrong signature is wrong whatever came before and after it.
      if ((oldest.observed.signed?.faults.length ?? 0) > 0 && faulty.length < mostFaulty)
        faulty.push({ ...oldest, part: -1 - faulty.length })
      else counts.dropped += 1
    }
  }

  /** Calls of unknown keys belong to the only client of their address, if there is one. */
  const clientOf = (name: string): string => {
    const { key, address } = clients.get(name) ?? { key: null, address: '' }
    const named = [...clients].filter(([, other]) => other.key !== null && other.address === address)
    return key === null && named.length === 1 ? (named[0]?.[0] ?? name) : name
  }

  const judgeClients = (): Client[] => {
    const calls = groupBy([...faulty, ...kept], ({ client }) => clientOf(client))
    const all = follower.keys()
    return [...calls].map(([name, mine]) => {
      const { key, address } = clients.get(name) ?? { key: null, address: '' }
      const merged = [...clients].filter(([other]) => clientOf(other) === name)
      const journals = [...groupBy(mine, ({ part }) => part).values()].map((part): Journal => {
        const exchanges = part.map(({ observed }) => observed).sort((one, other) => one.order.from - other.order.from)
        const parallel = isOneByOne(exchanges) ? 1 : null
        const { scheme } = terms
        const tokenPrefix = terms.tokenPrefix ?? 'Bearer'
        const setting = { ...unknownSetting, scheme, tokenPrefix, clockOffsetMs: follower.clockOffsetMs, parallel }
        return { scenario: 'watch', setting, keys: all, exchanges, elsewhere: [], starts: null }
      })
      const count = merged.reduce((sum, [, one]) => sum + one.calls, 0)
      const isSummary = mine.some(({ observed }) => observed.isSummary === true)
      const seen = new Map(mine.map(({ observed }) => [observed.number, observed]))
      const checks = judgeJournals(journals, []).flatMap(({ verdict, findings, ...result }) => {
        if (verdict === 'not-exercised' || (isSummary && !ofSummaries.test(result.id))) return []
        // What a check looked at names other calls, which nobody needs.
        const ofCalls = findings.map((one) => ({
          ...one,
          exchanges: one.exchanges.flatMap(({ number }) => seen.get(number) ?? []),
        }))
        return [{ ...result, verdict, findings: ofCalls }]
      })
      return { key, address, calls: count, checks }
    })
  }

  return {
    /** A call began, at this place among all starts and ends. */
    begin(number: number, call: Begun): void {
      if (isCall(call)) follower.begin(number, call)
    },
    end(observed: Observed): void {
      if (!isCall(observed)) return
      nowMs = observed.answeredMs ?? observed.startedMs
      follower.end(observed)
    },
    /** The calls with these numbers were left out: what is known of tokens may not hold any more. */
    lose(numbers: readonly number[]): void {
      counts.lost += numbers.length
      counts.parts += 1
      follower.lose(numbers)
    },
    /** Ends it. Nothing may come after. */
    finish(): Outcome {
      follower.finish()
      const { calls, judged, forgotten, bodies } = follower.counts
      const { refused, ours, notPosts, dropped, lost } = counts
      const lacks: [count: number, sentence: string][] = [
        [forgotten, `The oldest ${forgotten} pairs of tokens were forgotten: calls with them are open`],
        [dropped, `The oldest ${dropped} calls were forgotten: clients are judged by their later ones`],
        [lost, `${lost} calls came faster than they could be judged and were left out`],
        ...follower.undecided().map(({ key, calls: count }): [number, string] => {
          const what = key.kind === 'secret' ? 'secret' : 'public key'
          const calls = counted(count, 'accepted call does', 'accepted calls do')
          return [
            count,
            `${calls} not fit the ${what} that was given for the key "${key.id}". This stays open, because no call shows that it is the right ${what}`,
          ]
        }),
        [
          bodies,
          `${counted(bodies, 'signature of an accepted call does', 'signatures of accepted calls do')} not fit the recorded body. This stays open, because another body may have been sent`,
        ],
      ]
      return {
        found: [...found.values()],
        open: [...open.values()],
        clients: judgeClients(),
        calls,
        judged,
        refused,
        ours,
        notPosts,
        lacks: lacks.flatMap(([count, sentence]) => (count === 0 ? [] : [sentence])),
        secrets: follower.secrets(),
      }
    },
  }
}

/** More answers to open questions are not told apart: a server may answer each call in another way. */
const mostOpen = 40

/** What a call shows of open questions; no answer to them is wrong. */
function openAnswers({ observed, way, answer }: Judged): { question: string; answer: string }[] {
  const { status = 0, body = '' } = observed.answer ?? {}
  if (answer === 'refused' && observed.isSummary !== true) {
    const { code } = membersOf(membersOf(parseJson(body)).error)
    const error = typeof code === 'number' ? `, error ${code}` : ''
    return [{ question: 'errors/outcomes', answer: `HTTP ${status}${error}` }]
  }
  const header = headerOf(observed, 'authorization') ?? ''
  if (answer !== 'accepted' || way !== 'token' || observed.isSummary === true) return []
  const [word = '', ...rest] = header.split(' ')
  return [{ question: 'tokens/prefix', answer: rest.length === 0 ? 'no word' : `"${word.slice(0, 20)}"` }]
}

/**
 * Whether every call began after the client had the answer to the one before. Only on the machine of the proxy that is sure: elsewhere a call
 * that comes after an answer may have been sent before it.
 */
const isOneByOne = (calls: readonly Observed[]): boolean =>
  calls.every(({ address, startedMs }, at) => {
    const before = at === 0 ? startedMs : (calls[at - 1]?.deliveredMs ?? Number.POSITIVE_INFINITY)
    return /^(127\.|::1$)/.test(address) && before <= startedMs
  })

/** The checks that need no bodies and no headers. */
const ofSummaries = /^refresh\/(?!no-scope)/

/** About how much memory a call takes. */
const sizeOf = ({ headers, body, answer }: Observed): number =>
  500 + headers.length * 60 + body.length + 2 * (answer?.body.length ?? 0)

/** Recorded calls as they came, one list after the other: each begins and ends at its place. */
export function replay(session: ReturnType<typeof openSession>, lists: readonly (readonly Observed[])[]): void {
  let number = 0
  let shift = 0
  let connections = 0
  for (const list of lists) {
    const before = connections
    const all = list
      .toSorted((one, other) => one.order.from - other.order.from)
      .map((observed): Observed => {
        const { from, to } = observed.order
        // Each file counts its connections from 1; 0: not known.
        const connection = observed.connection === 0 ? 0 : observed.connection + before
        connections = Math.max(connections, connection)
        return { ...observed, number: ++number, connection, order: { from: from + shift, to: to + shift } }
      })
    const events = all
      .flatMap((observed) => [
        { at: observed.order.from, observed, isEnd: false },
        { at: observed.order.to, observed, isEnd: true },
      ])
      // At one moment, what begins was sent before the answer to another came.
      .sort((one, other) => one.at - other.at || Number(one.isEnd) - Number(other.isEnd))
    for (const { observed, isEnd } of events) {
      if (isEnd) session.end(observed)
      else session.begin(observed.number, { ...observed, from: observed.order.from })
    }
    shift =
      all.reduce((latest, { order }) => (Number.isFinite(order.to) ? Math.max(latest, order.to) : latest), shift) + 1
  }
}
