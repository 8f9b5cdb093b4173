/** Turns a contradiction into a finding for readers: a sentence, the shortest sequence, and a scenario to run again. */

import { isDocumentedMethod } from '../engine/document.ts'
import { counted } from '../engine/group.ts'
import { defined } from '../engine/json.ts'
import type { Requirement } from '../engine/language/fixture-types.ts'
import { reference, resolve } from '../engine/language/resolve.ts'
import { readCall } from '../engine/model/read-call.ts'
import type { Call, Matchers, State } from '../engine/model/state.ts'
import { printable } from '../engine/printable.ts'
import { createRedactor, type Redactor, redactExchange, shorten } from '../engine/redact.ts'
import { hintText } from '../report/problem-text.ts'
import { type Finding, isShownAgain, type Since } from '../report/report.ts'
import { bodySigned, type Explorer, isSignedOtherBody, sessionSent } from './explorer.ts'
import { fixtureText, ownerOf } from './fixture-text.ts'
import { explainKeys, isAccepted, waysToEndKeys } from './keyring.ts'
import {
  areAccepted,
  closure,
  inSequence,
  isRefusal,
  plainCallsOf,
  reproduce,
  restingOn,
  unreported,
} from './shrink.ts'
import {
  basic,
  type CallStep,
  type Candidate,
  callsOf,
  ecc,
  findMadeBy,
  generationOf,
  granteeOf,
  grantOf,
  hmac,
  isCall,
  isCreation,
  list,
  madeBy,
  nameOf,
  namesIn,
  pairUsed,
  refreshedIn,
  type Step,
  wayOf,
} from './step.ts'
import { describeStep, headline, stepLines } from './words.ts'

type Reproduced = Awaited<ReturnType<typeof reproduce>>

type FindMade = ReturnType<typeof findMadeBy>

/** `whyNoFixture`: why no scenario could be written. */
export type Found = Omit<Finding, 'known'> & { readonly whyNoFixture?: string }

/** For reports. */
export const withoutReason = ({ whyNoFixture: _why, ...finding }: Found): Omit<Finding, 'known'> => finding

/** How many findings are shortened; others keep their first sequence. */
const mostShrunk = 12

/** How many answers that break a requirement in one way are tried again, until one is seen again. */
const mostChances = 4
/** After this many refusals of one kind that were not seen again, no more are tried: a server that locks keys now and then would be asked thousands of times. */
const mostNotSeenAgain = 8

export function collectFindings(x: Explorer, requirements: readonly Requirement[]) {
  const found: Found[] = []
  /** How often each was seen, including the first time. */
  const seen = new Map<string, number>()
  /** Ids of candidates that another finding already reports. */
  const told = new Set<string>()
  /** By the id before a simpler form was tried, which may have another. */
  const reportedTimes = new Map<string, number>()
  /** Of each kind: how many answers were not seen again, and how long trying them took. */
  const notSeenAgain = new Map<string, { times: number; ms: number }>()
  const isWayLocked = watchLocks(x)
  // The length of the log when the candidates of a stage are taken. Between a candidate and that nothing can have locked its key.
  let settledAt = 0
  const mayBeLocked = async (candidate: Candidate): Promise<boolean> => {
    if (candidate.entry >= settledAt) settledAt = x.log.length
    const triesOf: TriesOf = (id) => x.triesOf(id, (entry) => entry <= candidate.entry || entry >= settledAt)
    return (await isLocked(x, candidate, triesOf)) || isWayLocked(candidate, triesOf)
  }
  return {
    found,
    take: async (reported: Candidate): Promise<void> => {
      const chances = (reportedTimes.get(idOf(reported)) ?? 0) + 1
      reportedTimes.set(idOf(reported), chances)
      if (chances > mostChances && reported.kind === 'history') return
      const candidate = chances > mostChances ? reported : await inSequence(x, await aboutBody(x, reported))
      const id = idOf(candidate)
      const missed = notSeenAgain.get(id) ?? { times: 0, ms: 0 }
      // What was shown before is only counted: looking for a lock each time would leave less for everything else.
      const isShown = told.has(id) || found.some((one) => one.id === id && isShownAgain(one))
      if (missed.times >= mostNotSeenAgain || hasTakenTooLong(x, missed.ms)) return
      if (!isShown && (await mayBeLocked(candidate))) return
      const count = (seen.get(id) ?? 0) + 1
      seen.set(id, count)
      const earlier = found.findIndex((one) => one.id === id && !isShownAgain(one))
      if (count > 1 && (earlier < 0 || count > mostChances)) return
      const begunMs = x.clock.now()
      const shrunk =
        found.length < mostShrunk
          ? await reproduce(x, candidate)
          : { steps: candidate.steps ?? closure(x, candidate.entry), outcomes: [], failed: 0, tries: 0 }
      // Repeating it may have locked the key, so that it only seems to repeat.
      if (isUnproved(candidate, shrunk) || (await mayBeLocked(candidate))) {
        notSeenAgain.set(id, { times: missed.times + 1, ms: missed.ms + x.clock.now() - begunMs })
        seen.delete(id)
        return
      }
      const finding = findingOf(x, { ...candidate, ...shrunk.as }, shrunk, requirements)
      if (finding.id !== id) {
        // Another call may still break the sentence that seemed broken here.
        notSeenAgain.set(id, { ...missed, times: missed.times + 1 })
        seen.delete(id)
        seen.set(finding.id, (seen.get(finding.id) ?? 0) + 1)
      }
      const before = found.findIndex((one) => one.id === finding.id)
      if (before >= 0 && !isShownAgain(finding)) return
      if (before >= 0 && found[before] !== undefined && isShownAgain(found[before])) return
      // After it was shortened, it may be what was found of another key.
      if (found.some((one) => isShownAgain(one) && saysTheSame(one, finding))) return void told.add(id)
      if (before >= 0) found.splice(before, 1)
      found.push(finding)
    },
  }
}

/** Whether the other finding says the same about the same requirement, perhaps with more behind a colon. */
const saysTheSame = (one: Found, other: Found): boolean =>
  one.requirement === other.requirement &&
  one.id !== other.id &&
  (one.message === other.message || other.message.startsWith(`${one.message}: `))

/** Tries of a finding that is not seen again may always take this long. In ms. */
const leastTriesMs = 7000

/** Whether such tries took longer than that, and longer than half of the remaining time: with pauses between sessions each of them takes seconds. */
const hasTakenTooLong = ({ clock, options: { timeLeftMs } }: Explorer, ms: number): boolean =>
  !clock.controlled && ms > Math.max(leastTriesMs, timeLeftMs() / 2)

/** A signed call whose body is in another form: if the target takes such a body with Basic credentials, and this signature of a plain one, then the body is the cause. */
async function aboutBody(x: Explorer, candidate: Candidate): Promise<Candidate> {
  const step = x.log[candidate.entry]?.step
  if (candidate.kind !== 'refused' || !isCall(step) || !isSignedOtherBody(step)) return candidate
  const right = list(x.byRoot, defined({ body: step.body, headers: step.headers }))
  if (wayOf(right.auth) !== 'basic' || !(await isAccepted(x, right)) || !(await isAccepted(x, list(step.auth))))
    return candidate
  return { ...candidate, requirement: bodySigned, fact: bodySigned }
}

/** A right call that was refused once and then always accepted, or only after many wrong calls, may have met a limit or a lock: both are open. */
function isUnproved(candidate: Candidate, { failed, tries, outcomes }: Reproduced): boolean {
  if (!isRefusal(candidate)) return false
  const wrongTries = outcomes.slice(0, -1).filter((outcome) => outcome === 'refused').length
  return (tries > 0 && failed === 0) || wrongTries >= triesOfLock.key
}

/** `found/REQUIREMENT/FACT`. */
function idOf({ requirement, kind, fact }: Candidate): string {
  const slug = fact
    .replace(/^.*\//, '')
    .replace(/[^A-Za-z0-9]+/g, '-')
    .replace(/^-|-$/g, '')
    .toLowerCase()
  return `found/${requirement}/${kind === 'accepted' ? 'let-in' : kind}${slug === '' || slug === kind || requirement.endsWith(slug) ? '' : `-${slug}`}`
}

/** Where the target compares another form of our address, refused tokens that are bound to it have that cause. */
function hintOf({ mapsAddresses, addresses: [own] }: Explorer, { kind, fact }: Candidate): { hint?: string } {
  const isOfAddress = kind === 'refused' && ofAddresses.includes(fact)
  if (!isOfAddress || !mapsAddresses || own === undefined) return {}
  return { hint: hintText({ kind: 'mapped-address', address: own.seen }) }
}

/** Facts about tokens; those about grants have other names. */
const ofAddresses = ['addresses/bound', 'refresh/address-kept']

function findingOf(
  x: Explorer,
  candidate: Candidate,
  { steps, outcomes, failed, tries, exchange, sharesConnection = false, isLeast = false }: Reproduced,
  requirements: readonly Requirement[],
): Found {
  const { requirement, level, kind } = candidate
  // What a server sent may show secrets.
  const redactor = createRedactor(secretsOf(x))
  const told = headline(candidate, { steps, outcomes }, x.log[candidate.entry]?.step)
  const sent = (text: string): string => asSent(x, text, redactor)
  const since = failed === tries && isOfSameKeys(x, candidate, steps) ? cameBetween(x, candidate, steps) : undefined
  const { text: sentence = '', part = '?' } = requirements.find(({ id }) => id === requirement) ?? {}
  return {
    id: idOf(candidate),
    case: candidate.script.replace(/^walk\/.*/, 'walk'),
    requirement,
    level,
    message: printable(redactor.text(sent(told))),
    steps: stepLines(
      { steps, outcomes, sharesConnection },
      { outcome: lastOutcome(x, candidate), explain: (names) => explainKeys(x, names), addresses: x.addresses },
    ).map(sent),
    reproduced: { failed, tries },
    ...hintOf(x, candidate),
    ...(isLeast ? { least: true } : {}),
    ...(since === undefined ? {} : { since: { from: sent(since.from), calls: since.calls.map(sent) } }),
    ...fixtureText({
      requirement,
      part,
      sentence,
      message: printable(redactor.text(told)),
      steps,
      outcomes,
      ...demanded(candidate),
      wrong: candidate.wrong,
      isSeenAgain: failed > 0 || tries === 0,
      isSeenSometimes: failed < tries,
      sharesConnection,
      mayBeRefused: mayBeRefused(x, candidate),
      ofTarget: ofTarget(x),
      before: countsBefore(x, candidate),
      creationOf: (key) => creationOf(x, key),
      endings: wordsOfEndings(x),
      since,
      about: (key) => explainKeys(x, [key])[0]?.replace(`${key} is `, ''),
    }),
    exchanges: exchange === undefined ? [] : [redactExchange(exchange, redactor)],
    history: kind === 'history' ? historyOf(x, candidate, steps, sent) : [],
  }
}

/** A text for readers: each name is replaced by what was sent, with secrets shortened. */
function asSent(x: Explorer, text: string, redactor: Redactor): string {
  const resolved = text.replace(reference, (name) => {
    const value = textBehind(x, name)
    if (value === undefined) return name
    const isShown = !name.includes('.') || shownMembers.test(name)
    return isShown ? printable(redactor.text(JSON.stringify(value).slice(1, -1))) : shorten(value)
  })
  return resolved.replace(/(?<=\bsession:)[\w-]+(?=[\s",]|$)/g, (name) => sessionSent(x.state(), name))
}

/** The members of a key or a pair that are shown whole; any other may be a secret, or contain one. */
const shownMembers = /\.(?:id|name|publicKey|tokenType)\}?$/

/** @returns undefined if the name does not stand for a string */
function textBehind(x: Explorer, name: string): string | undefined {
  try {
    const value = resolve(name, x.lookUp)
    return typeof value === 'string' ? value : undefined
  } catch {
    return undefined
  }
}

/** Whether the steps need no more than the finding itself: neither other keys nor calls before. */
function isOfSameKeys(x: Explorer, { entry }: Candidate, steps: readonly Step[]): boolean {
  const seen = closure(x, entry)
  const names = new Set(seen.flatMap(namesIn))
  return steps.length <= seen.length && steps.flatMap(namesIn).every((name) => names.has(name))
}

/** The outcome of the last step, and what the target said of a refusal. */
function lastOutcome(x: Explorer, { kind, entry }: Candidate): string {
  if (kind === 'shape') return 'accepted, with a wrong result'
  const answer = x.log[entry]?.seen[0]?.answer
  if (kind !== 'refused' || answer?.kind !== 'refused' || answer.said === undefined) return kind
  return `refused (${printable(createRedactor(secretsOf(x)).text(answer.said), mostOfAnswer)})`
}

const mostOfAnswer = 120

/** What the document demands of the last call. */
function demanded({ kind, outcome, demands = {} }: Candidate): { expect: 'accepted' | 'refused'; result?: Matchers } {
  if ((outcome ?? kind) === 'accepted') return { expect: 'refused' }
  return { expect: 'accepted', ...(kind === 'shape' ? { result: demands } : {}) }
}

/** Whether the document lets a server refuse the last call as well. */
const mayBeRefused = (x: Explorer, { entry }: Candidate): boolean =>
  x.log[entry]?.seen.some(({ verdict }) => verdict.is !== 'accepted') ?? true

type Entry = Explorer['log'][number]

/** How often a call like this one was refused before it was accepted, and how often the right call was accepted. */
function countsBefore({ log }: Explorer, { entry }: Candidate): { refused: number; accepted: number } {
  const last = log[entry]?.step
  if (!isCall(last)) return { refused: 0, accepted: 0 }
  const { alter: _alter, ...right } = last
  const count = (call: CallStep, kind: 'refused' | 'accepted'): number => {
    const like = likeness(call)
    const isCounted = ({ step, seen }: Entry): boolean =>
      seen[0]?.answer.kind === kind && isCall(step) && likeness(step) === like
    return log.slice(0, entry).filter(isCounted).length
  }
  return { refused: count(last, 'refused'), accepted: count(right, 'accepted') }
}

/** The same for two calls that differ in nothing but the session, the connection and the like. */
const likeness = ({ call, auth, params, alter }: CallStep): string =>
  JSON.stringify([call, auth, params, alter ?? null]).replace(/"session:[^"]*"/g, '""')

/** Solutions and addresses are others on another target. */
function ofTarget({ options: { instance }, addresses }: Explorer): ReadonlyMap<string, string> {
  const named = addresses.slice(0, 2).map(({ seen }, at): [string, string] => [seen, `$${addressNames[at]}.address`])
  return new Map([
    ...instance.settings.solutions.map((id, at): [string, string] => [id, `$solutions.${at}`]),
    ...named.filter(([seen]) => seen !== ''),
  ])
}

const addressNames = ['client', 'second']

const wordsOfEndings = ({ options: { instance } }: Explorer): ReadonlyMap<string, string> =>
  new Map(
    waysToEndKeys(instance.settings).map(({ method, requirement }) => [
      method,
      requirement === 'keys/can-be-deleted' ? 'cleanup' : 'probe:disable',
    ]),
  )

/** The calls that created a key of this exploration; none for a key that was there before. */
function creationOf(x: Explorer, key: string): Step[] {
  const creates = (step: CallStep): boolean => nameOf(step) === key && isCreation(step)
  const at = x.log.findIndex(({ seen }) => seen.some(({ step, answer }) => creates(step) && answer.kind === 'accepted'))
  const creation = x.log[at]?.seen.find(({ step }) => creates(step))?.step
  if (creation === undefined) return []
  // Of creations at once only this one is meant.
  return restingOn([...closure(x, at).slice(0, -1), creation])
}

/** Every secret of this exploration. */
function secretsOf(x: Explorer): string[] {
  const { keys, access, refresh } = x.state()
  return [...Array.from(keys.values(), ({ secret }) => secret), ...access.keys(), ...refresh.keys()]
}

/** The race as it was measured, with the names of the steps, which may be those of an equal race or of another key. */
function historyOf(
  x: Explorer,
  { entry }: Candidate,
  steps: readonly Step[],
  sent: (text: string) => string,
): Finding['history'] {
  const seen = x.log[entry]?.seen ?? []
  const start = Math.min(...seen.map(({ span }) => span.from))
  const told = steps.slice(-1).flatMap(callsOf)
  const isAlike = told.length === seen.length && told.every(({ call }, at) => call === seen[at]?.step.call)
  return seen.map(({ step, span, answer }, lane) => ({
    connection: `${lane + 1}`,
    startMs: span.from - start,
    endMs: span.to - start,
    call: sent(describeStep((isAlike ? told[lane] : undefined) ?? step, true)),
    answer: answer.kind,
  }))
}

/** A server may lock a key, or an address, after this many wrong attempts. */
const triesOfLock = { key: 5, address: 20 }

/** How many wrong attempts on a key, or on any, may have locked it. */
type TriesOf = (id: string | null) => number

/** Whether the key of a refused call is refused everywhere after wrong attempts, which is open: it may be locked. */
export async function isLocked(x: Explorer, { kind, entry }: Candidate, triesOf: TriesOf): Promise<boolean> {
  if (kind === 'accepted' || kind === 'shape') return false
  const state = x.state()
  const ids = (x.log[entry]?.seen ?? []).flatMap(({ call }) => keyBehind(state, call) ?? [])
  for (const id of [...new Set([...ids, state.root])]) {
    const isAddress = id === state.root && !ids.includes(id)
    const enough = isAddress ? triesOf(null) >= triesOfLock.address : triesOf(id) >= triesOfLock.key
    if (enough && (await isRefusedEverywhere(x, id))) return true
  }
  // A lost key is no locked address: another key must be refused, too.
  return ids.includes(state.root) && triesOf(null) >= triesOfLock.address && (await areKeysRefused(x))
}

/** Whether the initial key and another one are refused everywhere. */
async function areKeysRefused(x: Explorer): Promise<boolean> {
  const state = x.state()
  const other = [...state.keys.values()].find(
    ({ id, scope, ended }) => id !== state.root && ended === undefined && scope?.includes('solution') !== false,
  )
  return other !== undefined && (await isRefusedEverywhere(x, state.root)) && (await isRefusedEverywhere(x, other.id))
}

/** The key of a call, direct or through a token. */
function keyBehind(state: State, call: Call): string | undefined {
  const { keyId, found } = readCall(state, call)
  return keyId ?? found?.pair.key
}

async function isRefusedEverywhere(x: Explorer, id: string): Promise<boolean> {
  const [name, value] = [...x.names].find(([, one]) => one.id === id) ?? []
  if (name === undefined || x.state().keys.get(id)?.scope?.includes('solution') === false) return false
  return unreported(x, async () => {
    const ways = value?.seed === undefined ? [basic(name), hmac(name)] : [ecc(name)]
    for (const auth of ways) if (await isAccepted(x, list(auth, { connection: 'new' }))) return false
    return true
  })
}

/** How long a lock of one way to authorize may last, tried one after the other. In ms. */
const lockMs = [5000, 60_000]
/** How many waits for the end of a lock may fail before no more are made. */
const mostWaits = 2

/**
 * Watches for locks of one way to authorize: after wrong attempts a server may refuse Basic credentials, signatures or grants by themselves.
 *
 * @returns whether a candidate may come from such a lock: its way is refused now and accepted after a while, or was so before
 */
function watchLocks(x: Explorer): (candidate: Candidate, triesOf: TriesOf) => Promise<boolean> {
  const locking = new Set<string>()
  let waitedInVain = 0
  return async ({ kind, entry }, triesOf) => {
    const step = x.log[entry]?.step
    if (step === undefined || kind === 'accepted' || kind === 'shape') return false
    const perhapsLocked = plainCallsOf(step).filter(({ who }) => {
      const id = x.names.get(who)?.id
      return id !== undefined && triesOf(id) >= triesOfLock.key
    })
    if (perhapsLocked.some(({ way }) => locking.has(way))) return true
    if (waitedInVain >= mostWaits || !(await areRefused(x, perhapsLocked))) return false
    for (const ms of lockMs) {
      if (!x.clock.controlled && x.options.timeLeftMs() < 2 * ms) break
      await x.wait(ms)
      if (!(await areAccepted(x, perhapsLocked))) continue
      for (const { way } of perhapsLocked) locking.add(way)
      return true
    }
    waitedInVain += 1
    return false
  }
}

/** A lock refuses every time; a server that only refuses now and then has another mistake. */
async function areRefused(x: Explorer, calls: ReturnType<typeof plainCallsOf>): Promise<boolean> {
  for (let again = 0; again < 3; again++) if (await areAccepted(x, calls)) return false
  return true
}

/** More lines tell a reader nothing. */
const mostLines = 6
/** Fewer calls that change nothing are no clue. */
const fewCalls = 5

/**
 * The calls that create or end a key, or make or refresh a pair of the same keys, since the last right answer to the same call, or since its key
 * was created. A last line counts the other calls with these keys.
 *
 * @param steps the steps of the finding, which are told anyway
 * @returns undefined where nothing came between, or next to nothing
 */
export function cameBetween({ log }: Explorer, { kind, entry }: Candidate, steps: readonly Step[]): Since | undefined {
  const wrong = log[entry]?.step
  if ((kind !== 'accepted' && kind !== 'refused') || !isCall(wrong)) return undefined
  const find = findMadeBy(log.map(({ step }) => step))
  const keys = keysOf(wrong, find)
  const before = log.slice(0, entry)
  const { from, at } = lastRight(before, wrong, kind, find) ?? creationBefore(before, keys, wrong, kind) ?? {}
  if (from === undefined || at === undefined) return undefined
  const isOfKeys = (call: CallStep): boolean => keysOf(call, find).some((key) => keys.includes(key))
  const own = steps.flatMap(madeBy)
  const between = before.slice(at + 1).filter(({ step }) => !madeBy(step).some((name) => own.includes(name)))
  const shown = between
    .flatMap(acceptedCalls)
    .filter((call) => changesKeys(call) || (call.call === 'manager/auth' && isOfKeys(call)))
    .slice(-mostLines)
  const ofKeys = between.filter(({ step }) => callsOf(step).some(isOfKeys))
  const others = ofKeys.length - shown.filter(isOfKeys).length
  const calls = [...shown.map(lineOf), ...passed((log[entry]?.at ?? 0) - (log[at]?.at ?? 0))]
  if (calls.length === 0 && others < fewCalls) return undefined
  return {
    from,
    calls: [...calls, ...(others > 0 ? [`${counted(others, 'other call')} with ${keys.join(' or ')}`] : [])],
  }
}

type Wrong = 'accepted' | 'refused'

function lastRight(before: readonly Entry[], wrong: CallStep, kind: Wrong, find: FindMade) {
  const right = kind === 'accepted' ? 'refused' : 'accepted'
  const like = likenessOf(wrong, kind, find)
  const at = before.findLastIndex(
    ({ step, seen }) => isCall(step) && seen[0]?.answer.kind === right && likenessOf(step, kind, find) === like,
  )
  return at < 0 ? undefined : { from: `The same call was ${right} before`, at }
}

/** Of a wrong acceptance the creation explains nothing, and a refused call in another form is about the form. */
function creationBefore(
  before: readonly Entry[],
  keys: readonly string[],
  { body, nonce, alter, headers }: CallStep,
  kind: Wrong,
) {
  if (kind === 'accepted' || [body, nonce, alter, headers].some((one) => one !== undefined)) return undefined
  const createdIn = (one: Entry): CallStep | undefined =>
    acceptedCalls(one).find((call) => isCreation(call) && keys.includes(nameOf(call) ?? ''))
  const at = before.findLastIndex((one) => createdIn(one) !== undefined)
  const creation = before[at] === undefined ? undefined : createdIn(before[at])
  return creation === undefined ? undefined : { from: `${nameOf(creation)} was created before${labelOf(creation)}`, at }
}

function lineOf(call: CallStep): string {
  const as = nameOf(call)
  const made = isCreation(call) ? `, which made ${as ?? 'a key'}${labelOf(call)}` : as === undefined ? '' : ` as ${as}`
  return `${describeStep(call, true)}${made}: accepted`
}

/** With what name a key is created: keys of one name may be mixed up. */
const labelOf = ({ params: { name } }: CallStep): string => (typeof name === 'string' ? ` with the name "${name}"` : '')

const minuteMs = 60_000

function passed(ms: number): string[] {
  if (ms < 2 * minuteMs) return []
  const minutes = Math.round(ms / minuteMs)
  return [`${minutes < 120 ? counted(minutes, 'minute') : counted(Math.round(minutes / 60), 'hour')} passed`]
}

const acceptedCalls = ({ seen }: Entry): CallStep[] =>
  seen.flatMap(({ step, answer }) => (answer.kind === 'accepted' ? [step] : []))

/** A creation, or a method that the document does not name and that is about a key. */
const changesKeys = (call: CallStep): boolean =>
  isCreation(call) || (!isDocumentedMethod(call.call) && /"\$[\w-]+\.id"/.test(JSON.stringify(call.params)))

/** The keys that a call names, and those to which its pairs were granted. */
const keysOf = (call: CallStep, find: FindMade): string[] => [
  ...new Set(namesIn(call).map((name) => granteeOf(name, find) ?? ownerOf(name))),
]

/**
 * What calls have in common that differ in nothing but the session, the connection and which fresh pair of the same scope they use. A pair that must be
 * refused is like no other: its own past decides.
 */
function likenessOf(step: CallStep, kind: Wrong, find: FindMade): string {
  const { call, auth, params, alter, body, headers, from } = step
  const pair = pairUsed(step) ?? refreshedIn(step)
  const grant = kind === 'accepted' ? undefined : grantOf(pair, find)
  const caller = grant === undefined ? [auth, params] : [wayOf(auth), grant.params, generationOf(pair, find)]
  return JSON.stringify([call, caller, alter, body, headers, from]).replace(/"session:[^"]*"/g, '"session:"')
}
