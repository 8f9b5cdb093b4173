/**
 * Follows traffic with the model: each call is judged as soon as everything that its verdict rests on is over. At the start nothing is known,
 * and others may use the target unseen. So only an acceptance that what was seen forbids is wrong; a refusal never is, and is explained.
 */

import { judgeSignature } from '../client/checks/signatures.ts'
import { headerOf, type JournalKey, type SignatureShown } from '../client/journal.ts'
import { isObject } from '../engine/json.ts'
import type { Requirement } from '../engine/language/fixture-types.ts'
import { areas, contradicts, facts, isKnownMethod, judge, levelOf } from '../engine/model/judge.ts'
import { learn, newerSessions, shape } from '../engine/model/learn.ts'
import { presentedIn, type ReadCall, readBody, readCall } from '../engine/model/read-call.ts'
import {
  type Answer,
  type Fact,
  initialState,
  type Key,
  layered,
  type Pair,
  pairsOfLine,
  type State,
  type Terms,
  wordsBehind,
} from '../engine/model/state.ts'
import { fromUtf8, utf8 } from '../engine/signer/bytes.ts'
import {
  answerOf,
  type CaseCall,
  describeCaseCall,
  doubtNamedKeys,
  doubtTouched,
  explainCaseCalls,
  forgetClocks,
  notableJumpMs,
  offsetAfter,
  unknownAddress,
  withShortAnswer,
  wronglyAccepted,
} from '../explore/case-call.ts'
import { wrongAnswer } from '../explore/wrong-answer.ts'
import type { DiagnoseInput, Diagnosis } from '../lab/diagnose.ts'
import type { NamedKey, Observed } from './records.ts'
import { whyRefused } from './why.ts'

/** How a call is authorized, as far as it can be read. */
type Way = 'hmac' | 'ecc' | 'basic' | 'token' | 'grant' | 'refresh' | 'none' | 'other'

interface Wrong extends ReturnType<typeof wrongAnswer> {
  /** The call that shows it. */
  observed: Observed
}

export interface Judged {
  observed: Observed
  method: string
  way: Way
  /** The id of the key that authorizes the call; null where it is not known. */
  key: string | null
  /** `no-call`: another HTTP method than POST, which the document does not show. */
  answer: 'accepted' | 'refused' | 'throttled' | 'broken' | 'unread' | 'none' | 'no-call'
  /** Whether the model was sure what the answer must be, or looked at the form of a result. */
  isJudged: boolean
  /** Why it was refused, one sentence each; empty for other answers. */
  why: string[]
  /** What no reading of the document allows about the answer, or about those of earlier calls whose key this call shows to be right. */
  wrong: Wrong[]
  /** Those earlier calls, with what is known of their signatures now. */
  settled: Observed[]
}

interface FollowOptions {
  terms: Pick<Terms, 'scheme' | 'tokenPrefix' | 'uri' | 'probes'> & Partial<Terms>
  /** The keys that the user names. */
  keys: readonly NamedKey[]
  requirements: readonly Requirement[]
  /** Searches for the mistake in a signature; null where there is no time for it. */
  diagnose(input: DiagnoseInput): Diagnosis | null
  onJudged(judged: Judged): void
  /** How many pairs of tokens are remembered. */
  mostPairs: number
}

/** A call that began. */
export type Begun = Pick<Observed, 'headers' | 'body' | 'httpMethod' | 'target'> & { from: number }

/** What a call reads and changes, by name: a line of pairs, a key. */
interface Touches {
  reads: ReadonlySet<string>
  writes: ReadonlySet<string>
}

interface Ended extends CaseCall {
  observed: Observed
  touches: Touches
}

/** An accepted call whose key was not known, or was never shown to be right; another call may show it later. */
interface Doubted {
  one: Ended
  /** What its signature shows about the client, if that key is right. */
  signed: SignatureShown | undefined
}

/** Of one connection more addresses are not remembered. */
const mostAddresses = 8
/** Another spelling of an address is open. */
const plainAddress = /^((25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)(\.(?!$)|$)){4}$/
/** The model begins with a key; nobody can have this one. */
const idOfNobody = '\u0000'
/** More calls that wait for one that is under way are judged without it, and what they touched is unknown. */
const mostWaiting = 400
/** Of each key whose calls are doubted the latest are remembered, and the latest keys. */
const mostDoubted = 50
const mostDoubtedKeys = 8
/** How many calls before a finding are looked through for those that it rests on. */
const remembered = 200

export function followTraffic(options: FollowOptions) {
  const { terms, mostPairs } = options
  const sentences = new Map(options.requirements.map(({ id, text }) => [id, text]))
  const nobody = keyWith(idOfNobody)
  let state: State = {
    ...initialState({ ...terms, fresh: false }, nobody),
    // Which sessions there were before is not known, so only those that sixteen newer ones removed are followed.
    sessions: [],
  }
  /** Keys of the user of which no call has shown yet that they are right. */
  const unproved = new Set<string>()
  /** Keys whose creation was seen. */
  const created = new Set<string>()
  for (const key of options.keys) {
    unproved.add(key.id)
    state = withKey(
      state,
      'secret' in key ? { ...keyWith(key.id), secret: key.secret } : { ...keyWith(key.id), publicKey: key.publicKey },
    )
  }
  /** By the id of the key. */
  const doubted = new Map<string, Doubted[]>()
  /** By the id of an unproved key: how many accepted calls do not fit it. */
  const misfits = new Map<string, number>()
  /** `bodies`: signatures of accepted calls that do not fit a body that may be another than was sent. */
  const counts = { calls: 0, judged: 0, forgotten: 0, bodies: 0 }
  const underWay = new Map<number, { from: number; touches: Touches }>()
  /** By the order of their ends. */
  let queue: Ended[] = []
  const log: CaseCall[] = []
  /** The ids of what was found. */
  const known = new Set<string>()
  const lastUseMs = new Map<string, number>()
  const families = createFamilies(mostPairs)
  /** By connection: the addresses for which tokens were accepted on it. */
  const boundOn = new Map<string, { address: string; isRefreshed: boolean }[]>()
  let offsetMs: number | null = null

  const settle = (isLast: boolean): void => {
    const waiting: Ended[] = []
    let rest = queue
    queue = []
    while (rest.length > 0) {
      const group = together(rest)
      rest = rest.filter((one) => !group.includes(one))
      const endMs = Math.max(...group.map(({ order }) => order.to))
      const isHeld = (one: Ended): boolean =>
        waiting.some((other) => conflict(one.touches, other.touches)) ||
        [...underWay.values()].some(({ from, touches }) => from < endMs && conflict(one.touches, touches))
      if (!isLast && waiting.length + group.length <= mostWaiting && group.some(isHeld)) waiting.push(...group)
      else judgeGroup(group)
    }
    queue = waiting
  }

  const judgeGroup = (group: Ended[]): void => {
    const [only] = group
    if (only !== undefined && group.length === 1) {
      judgeOne(only)
      return
    }
    const isFollowed = group.every(
      (one) => isPlain(one.observed) && isSure(one) && one.answer.kind !== 'broken' && one.answer.kind !== 'unread',
    )
    const found = isFollowed ? explainCaseCalls(state, group) : { is: 'undecided' as const }
    if (found.is === 'explained') {
      for (const index of found.order) judgeOne(group[index] as Ended)
      return
    }
    const wrong = found.is === 'impossible' ? wronglyAccepted(state, group) : undefined
    const before = state
    for (const one of group) {
      const isIt = wrong?.caseCall === one
      const told =
        isIt && wrong !== undefined ? [wrongOf(before, one, { ...wrong.verdict, kind: 'history', group })] : []
      judgeOne(one, told)
    }
    state = doubtTouched(state, group)
  }

  /** An id that nobody knows is a client's only where the server knows it: anything may stand in its place. */
  const nameOfKey = (id: string | undefined, { kind }: Answer): string | undefined =>
    id !== undefined && (kind === 'accepted' || state.keys.has(id)) ? id : undefined

  /** The key of a pair; null where the grant of its line was not seen. */
  const keyOf = (pair: Pair | undefined): string | null =>
    pair !== undefined && state.keys.has(pair.key) ? pair.key : null

  /** Whether all credentials of a call are known. */
  const isSure = ({ call }: CaseCall): boolean => {
    const { keyId: id, key, found } = readCall(state, call)
    return id === undefined ? found !== undefined : key !== undefined && !unproved.has(id)
  }

  /** @param inHistory what is known to be wrong; then its order among others is not known, and nothing else is judged */
  const judgeOne = (one: Ended, inHistory?: Wrong[]): void => {
    const { call: sent, answer, span, observed } = one
    const read = readCall(state, sent)
    const { body, auth, keyId: id } = read
    const pair = read.found?.pair
    const key = read.key ?? (auth.kind === 'other-scheme' ? keyNamedIn(state, sent) : undefined)
    const isSigned = key !== undefined && (auth.kind === 'signature' || id === undefined)
    const signature = isSigned ? signatureOf(observed, key, body.method !== undefined) : undefined
    const isUnproved = unproved.has(key?.id ?? id ?? '')
    // With a secret that no call has shown to be right, a signature that nothing explains says nothing.
    const isHeldBack = isUnproved && signature?.signed.shows.length === 0
    observed.signed = isHeldBack ? { ...nothing } : (signature?.signed ?? observed.signed ?? { ...nothing })
    const call = signature === undefined ? sent : { ...sent, signature: signature.fact }
    const all = facts(state, call, span)
    const known = all.map((fact) => (isOpen(one, fact) ? { ...fact, is: 'unknown' as const } : fact))
    const verdict = judge(state, known)
    const isFollowed = isPlain(observed) && isKnownMethod(state, body.method)
    const judgedAnswer = inHistory === undefined && isFollowed
    const wrong = inHistory ?? []
    const isLetIn = isFollowed && answer.kind === 'accepted' && isAuthorizationShown(observed)
    const isMisfit = isLetIn && all.some((fact, at) => isAgainstKey(fact) && known[at]?.is !== 'no')
    const isBodyOpen = auth.kind === 'signature' && !observed.isExact
    if (isMisfit && isBodyOpen) counts.bodies += 1
    if (isLetIn && !isBodyOpen && id !== undefined && (isMisfit || (key === undefined && auth.kind === 'signature'))) {
      if (isMisfit) misfits.set(id, (misfits.get(id) ?? 0) + 1)
      doubt(id, { one, signed: signature?.signed })
    }
    if (judgedAnswer) {
      if (verdict.is === 'refused' && contradicts(verdict, answer)) {
        const message = `${describeCaseCall(state, one)} was accepted`
        wrong.push(wrongOf(state, one, { ...verdict, message, kind: 'let-in' }))
      }
      if (answer.kind === 'accepted') wrong.push(...removedSession(one), ...secondAddress(one))
      if (!observed.isSummary && !observed.unknown.includes('answer'))
        for (const problem of shape(state, call, answer, span))
          if (problem.requirement !== 'limits/ten-keys' || isOfCreated(id))
            wrong.push(wrongOf(state, one, { ...problem, kind: 'shape' }))
    }
    const hasForm = answer.kind === 'accepted' && observed.isSummary !== true && !observed.unknown.includes('answer')
    const isJudged = judgedAnswer && !isMisfit && (verdict.is !== 'open' || hasForm)
    if (isJudged) counts.judged += 1
    const judged: Judged = {
      observed,
      method: String(body.method ?? ''),
      way: wayOf(read, key),
      key: nameOfKey(id, answer) ?? keyOf(pair),
      answer: !isPost(observed) ? 'no-call' : observed.answer === null ? 'none' : answer.kind,
      isJudged,
      why:
        answer.kind === 'refused' && isPost(observed)
          ? whyRefused({
              state,
              call,
              span,
              known,
              answer,
              observed,
              mistakes: signature === undefined ? [] : observed.signed.faults.map(({ message }) => message),
              offsetMs,
              lastUseMs: useOf(pair),
              isUnproved,
              sentenceOf: (requirement) => sentences.get(requirement) ?? requirement,
            })
          : [],
      wrong,
      settled: [],
    }
    learnFrom(one, call, known, id)
    settleDoubts(judged)
    options.onJudged(judged)
  }

  const doubt = (id: string, call: Doubted): void => {
    const before = doubted.get(id) ?? []
    putLast(doubted, id, [...before.slice(1 - mostDoubted), call], mostDoubtedKeys)
  }

  /** Once a key is known to be right, what earlier calls show about it is certain, whatever else was on the server then. */
  const settleDoubts = ({ wrong, settled }: Judged): void => {
    const isSettled = (id: string): boolean => state.keys.has(id) && !unproved.has(id)
    for (const [id, calls] of misfits) {
      if (!isSettled(id)) continue
      misfits.delete(id)
      counts.judged += calls
    }
    const over = [...doubted].filter(([id]) => isSettled(id))
    for (const [id] of over) doubted.delete(id)
    for (const [id, { one, signed }] of over.flatMap(([id, all]) => all.map((each) => [id, each] as const))) {
      const { call, span, observed } = one
      const key = state.keys.get(id) as Key
      const isSigned = readCall(state, call).auth.kind === 'signature'
      const signature = isSigned ? signatureOf(observed, key, true) : undefined
      // In place, because the copy that is kept for the judges of clients shares it.
      if (signature !== undefined) observed.signed = Object.assign(observed.signed ?? {}, signed ?? signature.signed)
      settled.push(observed)
      const fact = facts(state, { ...call, signature: signature?.fact }, span).find(isAgainstKey)
      if (fact === undefined) continue
      const { requirement } = fact
      const message = `${describeCaseCall(state, one)} was accepted`
      wrong.push(wrongOf(state, one, { requirement, level: levelOf(requirement), message, fact, kind: 'let-in' }))
    }
  }

  /** What is known of a signature if its key is right: the fact for the model, and what it shows about the client. */
  const signatureOf = (observed: Observed, key: Key, hasMethod: boolean) => {
    const saved = observed.signature && { fact: observed.signature, signed: observed.signed ?? nothing }
    if (saved === undefined && (!observed.isExact || observed.isSummary || !hasMethod)) return undefined
    const { fact, signed } = saved ?? checkSignature(observed, key)
    if (fact?.is !== 'yes' && signed.shows.length > 0) unproved.delete(key.id)
    if (fact !== undefined) observed.signature = fact
    return { fact, signed }
  }

  const checkSignature = (observed: Observed, key: Key) => {
    const fact = facts(state, callOf(observed), { from: observed.startedMs, to: observed.startedMs }).find(
      ({ requirement }) => /^signatures\/(?!timestamp|nonce|request-body|scheme)/.test(requirement),
    )
    const timestamp = headerOf(observed, 'authorization')?.split(';')[2]
    const isRight = fact?.is === 'yes' && /^\d{13}$/.test(timestamp ?? '')
    const signed = judgeSignature(terms, observed, journalKeyOf(key), isRight ? null : options.diagnose)
    return { fact, signed }
  }

  /** Whether what would be a reason against a call is unknown here. */
  const isOpen = ({ observed, call }: Ended, { is, requirement }: Fact): boolean => {
    if (is !== 'no') return false
    if (!isPlain(observed)) return true
    if (observed.isSummary) return !/^refresh\/revokes-/.test(requirement)
    // What was not issued or created in sight may have been before.
    if (/^(signatures|basic|grants)\/key-id$|^tokens\/authorize$|^refresh\/token$/.test(requirement)) return true
    if (unproved.has(readCall(state, call).keyId ?? '') && isOfKey.test(requirement)) return true
    if (!observed.isExact && /^(signatures|envelope)\//.test(requirement)) return true
    if (requirement === 'signatures/scheme' || requirement === 'authorization/required') return !isBare(observed)
    return observed.unknown.includes('authorization') && !/^(grants|refresh)\//.test(requirement)
  }

  /** A session that sixteen newer ones of its key removed, whatever else there is on the server. */
  const removedSession = (one: Ended): Wrong[] => {
    const { body, found } = readCall(state, one.call)
    const pair = found?.pair
    if (pair === undefined || (state.grants.get(pair.key) ?? 0) - pair.countOfKey < 16) return []
    const newer = newerSessions(state, pair, useOf(pair))
    if (newer === undefined) return []
    const requirement = body.method === 'manager/auth' ? 'sessions/removed-refresh' : 'sessions/oldest-removed'
    const message = `${describeCaseCall(state, one)} was accepted, although ${newer} sessions are newer than its own`
    return [wrongOf(state, one, { requirement, level: levelOf(requirement), message, kind: 'let-in' })]
  }

  /**
   * Which address the server sees is not known, but on one connection it is always the same: of two tokens for different addresses that were
   * accepted on it, one should have been refused.
   */
  const secondAddress = (one: Ended): Wrong[] => {
    const { observed, call } = one
    const { body, found } = readCall(state, call)
    const [address = '', ...more] = wordsBehind(found?.pair.scope ?? [], 'ipAddr:')
    const isUsed = found?.exact === true && body.method !== 'manager/auth'
    if (!isUsed || more.length > 0 || !plainAddress.test(address)) return []
    if (observed.connection === 0 || observed.address === '') return []
    // A gateway may speak for many callers on one connection.
    const forwarded = observed.headers.filter(([name]) => /^(x-forwarded-.*|forwarded|via)$/i.test(name))
    const place = JSON.stringify([observed.connection, observed.address, forwarded])
    const before = boundOn.get(place) ?? []
    const isRefreshed = found.pair.generation > 0
    if (!before.some((other) => other.address === address && other.isRefreshed === isRefreshed))
      putLast(boundOn, place, [...before.slice(1 - mostAddresses), { address, isRefreshed }], mostPairs)
    const others = before.filter((other) => other.address !== address)
    // Which of the two is wrong is not known.
    const broken = others.map((other) =>
      isRefreshed || other.isRefreshed ? 'refresh/address-kept' : 'addresses/bound',
    )
    return [...new Set(broken)].map((requirement) => {
      const message = `${describeCaseCall(state, one)}, which is bound to ${address}, was accepted on a connection on which one bound to ${others[0]?.address} was accepted, too`
      return wrongOf(state, one, { requirement, level: levelOf(requirement), message, kind: 'let-in' })
    })
  }

  const isOfCreated = (id: string | undefined): boolean =>
    id !== undefined && created.has(id) && [...state.working].filter((one) => created.has(one)).length >= 10

  /** When the tokens of the session of a pair were sent last and not refused. */
  const useOf = (pair: Pair | undefined): number => {
    if (pair === undefined) return 0
    const tokens = pairsOfLine(state, pair.line).flatMap(({ access, refresh }) => [access, refresh])
    return Math.max(0, ...tokens.map((token) => lastUseMs.get(token) ?? 0))
  }

  const learnFrom = (one: Ended, call: Ended['call'], known: readonly Fact[], id: string | undefined): void => {
    const { answer, span, observed } = one
    const read = readCall(state, call)
    const { method, params } = read.body
    if (answer.kind === 'accepted') {
      const isRight = known.some(
        ({ is, requirement }) =>
          is === 'yes' && /^(signatures\/(hmac|ecc)|(basic|grants)\/credentials)$/.test(requirement),
      )
      if (id !== undefined && isRight) unproved.delete(id)
      const credentials = shownCredentials(read)
      if (credentials !== null && !state.keys.has(credentials.id))
        state = withKey(state, { ...keyWith(credentials.id), secret: credentials.secret })
    }
    if (answer.kind === 'accepted' && !isKnownMethod(state, method)) state = doubtNamedKeys(state, one)
    const presented = presentedIn(call)
    for (const text of answer.kind === 'refused' ? [] : [presented.refreshToken, presented.accessToken])
      if (text !== undefined) putLast(lastUseMs, text, span.to, 2 * mostPairs)
    const before = state.keys.size
    state = learn(state, call, answer, span, known)
    if (method === 'manager/createApiKey' && state.keys.size > before) created.add([...state.keys.keys()].at(-1) ?? '')
    if (isObject(params) && typeof params.refreshToken === 'string' && observed.answer === null)
      lastUseMs.delete(params.refreshToken)
    log.push(withShortAnswer(one))
    if (log.length > remembered) log.shift()
    forget()
  }

  const forget = (): void => {
    if (state.pairs.size > 2 * mostPairs) {
      counts.forgotten += state.pairs.size - mostPairs
      state = withLatestPairs(state, mostPairs)
    }
    // A nonce that came again is no reason against a call, so forgetting them all makes nothing wrong.
    if (state.nonces.size > 4 * mostPairs) state = { ...state, nonces: new Set() }
  }

  const wrongOf = (before: State, one: Ended, wrong: Parameters<typeof wrongAnswer>[2]): Wrong => {
    const [mistake, ...others] = one.observed.signed?.faults ?? []
    const told = { ...wrong, mistake: others.length === 0 ? mistake?.mistake : undefined }
    const answer = wrongAnswer({ state: before, log, requirements: options.requirements, known }, one, told)
    known.add(answer.id)
    return { ...answer, observed: one.observed }
  }

  const noticeClock = ({ answer, answeredMs }: Observed): void => {
    const known = offsetMs
    offsetMs = offsetAfter(known, answer?.headers.date, answeredMs ?? Number.NaN)
    if (known !== null && offsetMs !== known) state = forgetClocks(state)
  }

  return {
    counts,
    /** The server's clock minus ours, by its Date header; 0 where that is not known. */
    get clockOffsetMs(): number {
      return offsetMs === null || Math.abs(offsetMs) < notableJumpMs ? 0 : offsetMs
    },
    begin(number: number, begun: Begun): void {
      underWay.set(number, { from: begun.from, touches: families.touchesOf(callOf(begun)) })
    },
    /** The call is over, with or without an answer. */
    end(observed: Observed): void {
      underWay.delete(observed.number)
      counts.calls += 1
      noticeClock(observed)
      const answer = answerTo(observed)
      const call = callOf(observed)
      if (answer === null) {
        const read = readCall(state, call)
        const { method } = read.body
        options.onJudged({
          observed,
          method: String(method ?? ''),
          way: wayOf(read, state.keys.get(read.keyId ?? '')),
          key: read.keyId ?? keyOf(read.found?.pair),
          answer: isPost(observed) ? 'throttled' : 'no-call',
          isJudged: false,
          why: [],
          wrong: [],
          settled: [],
        })
        return
      }
      const span = { from: observed.startedMs, to: observed.answeredMs ?? observed.deliveredMs ?? observed.startedMs }
      queue.push({
        call,
        answer,
        span,
        order: observed.order,
        isPlain: isPlain(observed),
        observed,
        touches: families.touchesOf(call, answer),
      })
      settle(false)
    },
    /** The ends of these calls were not seen, so what is known of tokens may not hold any more. */
    lose(numbers: readonly number[]): void {
      // Nothing may wait for the end of a call that never comes.
      for (const number of numbers) underWay.delete(number)
      settle(true)
      counts.forgotten += state.pairs.size
      state = withLatestPairs(state, 0)
      lastUseMs.clear()
    },
    /** Nothing more comes: what still waits is judged. */
    finish(): void {
      underWay.clear()
      settle(true)
    },
    /** Keys of the user for which nothing showed that they are right, and how many accepted calls do not fit each. */
    undecided: () => [...misfits].map(([id, calls]) => ({ key: journalKeyOf(state.keys.get(id) as Key), calls })),
    /** Every key that is known, for the judges of clients. */
    keys: (): JournalKey[] => [...state.keys.values()].filter(({ id }) => id !== idOfNobody).map(journalKeyOf),
    /** The secrets of keys, and the tokens that are remembered. */
    secrets: (): string[] => {
      const ofKeys = [...state.keys.values()].map(({ secret }) => secret)
      return [...ofKeys, ...state.pairs.values().flatMap(({ access, refresh }) => [access, refresh])].filter(
        (text) => text !== '',
      )
    },
  }
}

const nothing: SignatureShown = { shows: [], faults: [] }

/** Facts that rest on the secret or the public key of a key, and not on how a header is written. */
const isOfKey = /^(signatures|basic|grants)\/(?!key-id|header-|version|scheme|malformed|params|grant-type|no-)/
const isAgainstKey = ({ is, requirement }: Fact): boolean => is === 'no' && isOfKey.test(requirement)

const isAuthorizationShown = ({ isSummary, unknown }: Observed): boolean =>
  isSummary !== true && !unknown.includes('authorization')

const withKey = (state: State, key: Key): State => ({ ...state, keys: new Map(state.keys).set(key.id, key) })

/** A key of which nothing but its id is known: not even which scope it has. */
const keyWith = (id: string): Key => ({
  id,
  name: id,
  secret: '',
  publicKey: null,
  scope: null,
  doubtful: [...areas, 'apikey', ''],
  works: 'unknown',
  origin: 'seen before its creation',
})

const journalKeyOf = ({ id, secret, publicKey }: Key): JournalKey =>
  publicKey === null ? { kind: 'secret', id, secret } : { kind: 'public', id, publicKey }

function callOf(seen: Pick<Observed, 'headers' | 'body'> & { signature?: Fact }): Ended['call'] {
  return {
    authorization: headerOf(seen, 'authorization'),
    body: fromUtf8(seen.body) ?? '',
    // The server sees the address of a proxy, or one that no record tells.
    from: unknownAddress,
    inChunks: headerOf(seen, 'transfer-encoding') !== undefined || undefined,
    signature: seen.signature,
  }
}

function answerTo({ answer, unknown, oursBecause, httpMethod }: Observed): Answer | null {
  if (answer === null || answer.status === 0) return { kind: 'broken', reason: 'no answer' }
  if (oursBecause !== undefined) return { kind: 'broken', reason: oursBecause }
  if (unknown.includes('answer') && answer.status < 400) return { kind: 'unread' }
  const { status, headers, body } = answer
  const read = answerOf({ kind: 'answer', status, headers, body: utf8(body) })
  // A GET or an OPTIONS is no call, whatever it is answered with.
  return isPost({ httpMethod }) || read?.kind !== 'accepted' ? read : { kind: 'unread' }
}

const isPost = ({ httpMethod }: Pick<Observed, 'httpMethod'>): boolean => httpMethod === 'POST'

/** Headers that no server of the document judges by: what tools and browsers add. */
const plainHeaders =
  /^(host|content-(type|length)|connection|keep-alive|accept(-.*)?|user-agent|origin|referer|sec-.*|dnt|te|cache-control|pragma|priority|traceparent|tracestate|x-request-id|date|expect|transfer-encoding|authorization|upgrade-insecure-requests|x-forwarded-.*|via|forwarded)$/

/** Whether the model may judge the call: a POST of JSON in which nothing else could authorize it. */
function isPlain({ httpMethod, target, headers, body, bodyBytes, unknown }: Observed): boolean {
  const times = (wanted: string): number => headers.filter(([name]) => name.toLowerCase() === wanted).length
  return (
    isPost({ httpMethod }) &&
    target === '/api' &&
    body.length === bodyBytes &&
    !unknown.includes('body') &&
    fromUtf8(body) !== null &&
    times('authorization') <= 1 &&
    times('content-type') <= 1 &&
    headers.every(([name, value]) => plainHeaders.test(name.toLowerCase()) && /^[\x20-\x7e]*$/.test(value)) &&
    /^application\/json\s*(;.*)?$/i.test(headerOf({ headers }, 'content-type') ?? '')
  )
}

/** Without an Authorization header, and with nothing in the body that could be meant as a credential. */
function isBare(observed: Observed): boolean {
  if (observed.unknown.includes('authorization') || headerOf(observed, 'authorization') !== undefined) return false
  const { members, params } = readBody(fromUtf8(observed.body) ?? '')
  const isPlainMember = (name: string): boolean => ['jsonrpc', 'id', 'method', 'params'].includes(name)
  const isPlainParam = (name: string): boolean => ['name', 'scope', 'publicKey'].includes(name)
  return Object.keys(members ?? {}).every(isPlainMember) && isObject(params) && Object.keys(params).every(isPlainParam)
}

function wayOf({ auth: { kind }, body: { method }, token }: ReadCall, key: Key | undefined): Way {
  if (method === 'manager/auth') return token === undefined ? 'grant' : 'refresh'
  if (kind === 'signature') return key?.publicKey == null ? 'hmac' : 'ecc'
  if (kind === 'basic' || kind === 'token' || kind === 'none') return kind
  return kind === 'malformed-basic' ? 'basic' : 'other'
}

/** Credentials that a call shows in the clear: Basic ones, and those of a grant. */
function shownCredentials({ auth, body, params = {} }: ReadCall): { id: string; secret: string } | null {
  if (body.method === 'manager/auth') {
    const { apiKeyId: id, apiKeySecret: secret } = params
    return typeof id === 'string' && typeof secret === 'string' ? { id, secret } : null
  }
  return auth.kind === 'basic' ? { id: auth.id, secret: auth.secret } : null
}

/** The known key that a header names in which the scheme word or the marks between the fields are wrong. */
function keyNamedIn({ keys }: State, { authorization = '' }: Ended['call']): Key | undefined {
  const words = authorization.split(/[\s;,:]+/)
  return words.length < 4 ? undefined : words.map((word) => keys.get(word)).find((key) => key !== undefined)
}

/** Which calls belong to one line of pairs, before the model has judged them. Of the oldest nothing is known any more. */
function createFamilies(most: number) {
  const familyOf = new Map<string, string>()
  let count = 0
  const keep = (text: unknown, family: string): void => {
    if (typeof text === 'string') putLast(familyOf, text, family, 4 * most)
  }
  return {
    touchesOf(call: Ended['call'], answer?: Answer): Touches {
      const { method } = readBody(call.body)
      const { keyId, refreshToken: presented, accessToken } = presentedIn(call)
      const reads = new Set<string>(keyId === undefined ? [] : [`key ${keyId}`])
      const writes = new Set<string>()
      if (presented !== undefined) writes.add(familyOf.get(presented) ?? `token ${presented}`)
      else if (accessToken !== undefined) reads.add(familyOf.get(accessToken) ?? `token ${accessToken}`)
      const result = answer?.kind === 'accepted' && isObject(answer.result) ? answer.result : {}
      if (method === 'manager/auth' && 'accessToken' in result) {
        const family = (presented === undefined ? undefined : familyOf.get(presented)) ?? `line ${++count}`
        writes.add(family)
        keep(presented, family)
        keep(result.accessToken, family)
        keep(result.refreshToken, family)
      }
      if (method === 'manager/createApiKey' && typeof result.id === 'string') writes.add(`key ${result.id}`)
      return { reads, writes }
    },
  }
}

function conflict(one: Touches, other: Touches): boolean {
  const meets = (some: ReadonlySet<string>, others: ReadonlySet<string>): boolean =>
    [...some].some((name) => others.has(name))
  return meets(one.writes, other.writes) || meets(one.writes, other.reads) || meets(one.reads, other.writes)
}

/** The first call of a list, with those at the same time whose order matters to it, and to those in turn. */
function together(calls: readonly Ended[]): Ended[] {
  const [first] = calls
  const group = first === undefined ? [] : [first]
  for (const one of group) {
    for (const other of calls) {
      const isAtOnce = other.order.from < one.order.to && one.order.from < other.order.to
      if (isAtOnce && !group.includes(other) && conflict(one.touches, other.touches)) group.push(other)
    }
  }
  return group
}

/** What is known with only the latest pairs of tokens; of the others everything is unknown. */
function withLatestPairs(state: State, most: number): State {
  const lines = new Map<number, number>()
  const pairs = state.pairs
    .values()
    .slice(most === 0 ? state.pairs.size : -most)
    .map((pair, index): Pair => {
      const line = lines.get(pair.line) ?? index
      lines.set(pair.line, line)
      return { ...pair, line }
    })
  const ofLine = new Map<number, number[]>()
  for (const [index, { line }] of pairs.entries()) ofLine.set(line, [...(ofLine.get(line) ?? []), index])
  return {
    ...state,
    pairs: layered(pairs.entries()),
    access: layered(pairs.map(({ access }, index) => [access, index] as const)),
    refresh: layered(pairs.map(({ refresh }, index) => [refresh, index] as const)),
    // Another spelling of a token is open, so of the older tokens it may be forgotten.
    looks: layered(),
    lines: layered(ofLine),
    lifetimes: state.lifetimes.slice(-100),
    keyNames: layered(),
    sessionNames: layered(),
  }
}

/** Puts an entry last, and forgets the first ones beyond this number. */
function putLast<K, V>(entries: Map<K, V>, key: K, value: V, most: number): void {
  entries.delete(key)
  entries.set(key, value)
  for (const oldest of entries.keys()) {
    if (entries.size <= most) return
    entries.delete(oldest)
  }
}
