/** Turns a contradiction into a finding for readers: a sentence, the shortest sequence, and a scenario to run again. */
import type { Requirement } from '../engine/language/fixture-types.ts'
import type { Matchers } from '../engine/model/state.ts'
import { printable } from '../engine/printable.ts'
import { createRedactor } from '../engine/redact.ts'
import type { Finding, HistoryCall } from '../report/report.ts'
import { list } from './calls.ts'
import { cameBetween } from './came-between.ts'
import { describeNamedStep } from './describe-step.ts'
import { closure } from './earlier-steps.ts'
import { bodySigned, isSignedOtherBody } from './explorer.ts'
import type { Candidate, Explorer } from './explorer-types.ts'
import { headline, stepLines } from './finding-words.ts'
import { type FixtureInput, fixtureText } from './fixture-text.ts'
import { inSequence } from './in-sequence.ts'
import { byRoot, explainKeys } from './keyring.ts'
import { isLocked, type TriesOf, triesOfLock, watchLocks } from './locks.ts'
import { isRefusal } from './replay.ts'
import { type Reproduced, reproduce } from './shrink.ts'
import { type CallStep, namesIn, type Step } from './step.ts'
import { callsOf, stepsFor } from './whole-sequence.ts'

/** `whyNoFixture`: why no scenario could be written. */
export type Found = Omit<Finding, 'known'> & { readonly whyNoFixture?: string }

/** For reports. */
export const withoutReason = ({ whyNoFixture: _why, ...finding }: Found): Omit<Finding, 'known'> => finding

export interface Findings {
  readonly found: Found[]
  take(candidate: Candidate): Promise<void>
  /** How often each was seen, including the first time. */
  readonly seen: ReadonlyMap<string, number>
}

/** How many findings are shortened; others keep their first sequence. */
const mostShrunk = 12

/** How many answers that break a requirement in one way are tried again, until one is seen again. */
const mostChances = 4
/** After this many refusals of one kind that were not seen again, no more are tried: a server that locks keys now and then would be asked thousands of times. */
const mostNotSeenAgain = 8

/** A finding that did not occur again in thirty tries may be our own mistake: `explore` shows it, but it decides no verdict of a run. */
export const isShownAgain = ({ reproduced: { failed, tries } }: Found): boolean => failed > 0 || tries === 0

export function collectFindings(x: Explorer, requirements: readonly Requirement[]): Findings {
  const found: Found[] = []
  const seen = new Map<string, number>()
  /** By the id before a simpler form was tried, which may have another. */
  const reportedTimes = new Map<string, number>()
  const notSeenAgain = new Map<string, number>()
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
    seen,
    take: async (reported) => {
      const chances = (reportedTimes.get(idOf(reported)) ?? 0) + 1
      reportedTimes.set(idOf(reported), chances)
      if (chances > mostChances && reported.kind === 'history') return
      const candidate = chances > mostChances ? reported : await inSequence(x, await aboutBody(x, reported))
      const id = idOf(candidate)
      const missed = notSeenAgain.get(id) ?? 0
      if (missed >= mostNotSeenAgain || (await mayBeLocked(candidate))) return
      const count = (seen.get(id) ?? 0) + 1
      seen.set(id, count)
      const earlier = found.findIndex((one) => one.id === id && !isShownAgain(one))
      if (count > 1 && (earlier < 0 || count > mostChances)) return
      const shrunk =
        found.length < mostShrunk
          ? await reproduce(x, candidate)
          : { steps: candidate.steps ?? closure(x, candidate.entry), outcomes: [], failed: 0, tries: 0 }
      // Repeating it may have locked the key, so that it only seems to repeat.
      if (isUnproved(candidate, shrunk) || (await mayBeLocked(candidate))) {
        notSeenAgain.set(id, missed + 1)
        seen.delete(id)
        return
      }
      const finding = findingOf(x, candidate, shrunk, requirements)
      if (earlier >= 0 && !isShownAgain(finding)) return
      if (earlier >= 0) found.splice(earlier, 1)
      found.push(finding)
    },
  }
}

/** A signed call whose body is in another form: if the target takes such a body with Basic credentials, and this signature of a plain one, then the body is the cause. */
async function aboutBody(x: Explorer, candidate: Candidate): Promise<Candidate> {
  const step = x.log[candidate.entry]?.step
  if (candidate.kind !== 'refused' || step?.do !== 'call' || !isSignedOtherBody(step)) return candidate
  const { form, inChunks } = step
  const right = list(byRoot(x), { ...(form === undefined ? {} : { form }), ...(inChunks === true ? { inChunks } : {}) })
  const isTaken = async (call: CallStep): Promise<boolean> => (await x.call(call))?.answer.kind === 'accepted'
  if (right.auth.kind !== 'basic' || !(await isTaken(right)) || !(await isTaken(list(step.auth)))) return candidate
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

function findingOf(
  x: Explorer,
  candidate: Candidate,
  { steps, outcomes, failed, tries, sharesConnection = false, isLeast = false }: Reproduced,
  requirements: readonly Requirement[],
): Found {
  const { requirement, level, kind } = candidate
  // It may show what a server sent, which knows secrets.
  const message = printable(
    createRedactor(secretsOf(x)).text(headline(candidate, { steps, outcomes }, x.log[candidate.entry]?.step)),
  )
  const since = failed === tries && isOfSameKeys(x, candidate, steps) ? cameBetween(x, candidate, steps) : undefined
  const { text: sentence = '', part = '?' } = requirements.find(({ id }) => id === requirement) ?? {}
  return {
    id: idOf(candidate),
    case: candidate.script.replace(/^walk\/.*/, 'walk'),
    requirement,
    level,
    message,
    steps: stepLines(x, { steps, outcomes, sharesConnection }, lastOutcome(x, candidate)),
    reproduced: { failed, tries },
    ...(isLeast ? { least: true } : {}),
    ...(since === undefined ? {} : { since }),
    ...written({
      requirement,
      part,
      sentence,
      message,
      steps,
      outcomes,
      ...demanded(candidate),
      isSeenAgain: failed > 0 || tries === 0,
      isSeenSometimes: failed < tries,
      sharesConnection,
      mayBeRefused: mayBeRefused(x, candidate),
      ofTarget: ofTarget(x),
      before: countsBefore(x, candidate),
      creationOf: (key) => creationOf(x, key),
      since,
      about: (key) => explainKeys(x, [key])[0]?.replace(`${key} is `, ''),
    }),
    exchanges: [],
    history: kind === 'history' ? historyOf(x, candidate, steps) : [],
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

function written(input: FixtureInput): Pick<Found, 'fixture' | 'whyNoFixture'> {
  const made = fixtureText(input)
  return 'text' in made ? { fixture: made.text } : { fixture: null, whyNoFixture: made.why }
}

/** What the document demands of the last call. */
function demanded({ kind, demands = {} }: Candidate): { expect: 'accepted' | 'refused'; result?: Matchers } {
  if (kind === 'accepted') return { expect: 'refused' }
  return { expect: 'accepted', ...(kind === 'shape' ? { result: demands } : {}) }
}

/** Whether the document lets a server refuse the last call as well. */
const mayBeRefused = (x: Explorer, { entry }: Candidate): boolean =>
  x.log[entry]?.seen.some(({ verdict }) => verdict.is !== 'accepted') ?? true

/** How often a call like this one was refused before it was accepted, and how often the right call was accepted. */
function countsBefore({ log }: Explorer, { entry }: Candidate): { refused: number; accepted: number } {
  const last = log[entry]?.step
  if (last?.do !== 'call') return { refused: 0, accepted: 0 }
  const { change: _change, also: _also, ...right } = last
  const count = (call: CallStep, kind: 'refused' | 'accepted'): number =>
    log.slice(0, entry).filter(({ step, seen }) => isLike(step, call) && seen[0]?.answer.kind === kind).length
  return { refused: count(last, 'refused'), accepted: count(right, 'accepted') }
}

/** Whether two calls differ in nothing but the session, the connection and the like. */
const isLike = (step: Step, other: CallStep): boolean => step.do === 'call' && likeness(step) === likeness(other)

const likeness = ({ method, auth, params, change, also }: CallStep): string =>
  JSON.stringify([method, auth, params, change ?? null, also ?? null]).replace(/"session:[^"]*"/g, '""')

/** Solutions and addresses are others on another target. */
function ofTarget({ options: { solutions }, addresses }: Explorer): ReadonlyMap<string, string> {
  const named = addresses.slice(0, 2).map(({ seen }, at): [string, string] => [seen, `$${addressNames[at]}.address`])
  return new Map([
    ...solutions.map((id, at): [string, string] => [id, `$solutions.${at}`]),
    ...named.filter(([seen]) => seen !== ''),
  ])
}

const addressNames = ['client', 'second']

/** The calls that created a key of this exploration; none for a key that was there before. */
function creationOf(x: Explorer, key: string): Step[] {
  const isCreation = ({ as, method }: CallStep): boolean => as === key && method === 'manager/createApiKey'
  const at = x.log.findIndex(({ seen }) =>
    seen.some(({ step, answer }) => isCreation(step) && answer.kind === 'accepted'),
  )
  const creation = x.log[at]?.seen.find(({ step }) => isCreation(step))?.step
  if (creation === undefined) return []
  // Of creations at once only this one is meant.
  return stepsFor([...closure(x, at).slice(0, -1), creation])
}

/** Every secret of this exploration. */
function* secretsOf(x: Explorer): Generator<string> {
  const { keys, access, refresh } = x.state()
  yield x.options.root.secret ?? ''
  for (const { secret } of keys.values()) yield secret
  yield* access.keys()
  yield* refresh.keys()
}

/** The race as it was measured, with the names of the steps, which may be those of an equal race or of another key. */
function historyOf({ log }: Explorer, { entry }: Candidate, steps: readonly Step[]): HistoryCall[] {
  const seen = log[entry]?.seen ?? []
  const start = Math.min(...seen.map(({ span }) => span.from))
  const told = steps.slice(-1).flatMap(callsOf)
  const isAlike = told.length === seen.length && told.every(({ method }, at) => method === seen[at]?.step.method)
  return seen.map(({ step, span, answer }, lane) => ({
    connection: `${lane + 1}`,
    startMs: span.from - start,
    endMs: span.to - start,
    call: describeNamedStep((isAlike ? told[lane] : undefined) ?? step),
    answer: answer.kind,
  }))
}
