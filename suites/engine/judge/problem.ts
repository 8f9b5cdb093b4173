/**
 * Why a case did not pass, as data. A problem keeps its `kind` and fields until the renderer (suites/report/problem-text.ts) turns it into
 * a sentence. Nothing reads a sentence back.
 */
import type { Exchange } from '../target.ts'

/** The outcome of an answer, with the fields that tell two answers apart. */
export type AnswerSummary =
  | { outcome: 'accepted' }
  /** `withResult`: the answer has a result too. */
  | { outcome: 'refused'; status: number; code?: number | string; withResult?: true }
  | { outcome: 'throttled'; status: number }
  | { outcome: 'unread'; limitBytes: number }
  | { outcome: 'broken'; reason: string }

/** A value that does not match. `wanted` and `got` are JSON, cut to a readable length; `got` is "nothing" for a missing value. */
export type Mismatch =
  | {
      rule: 'equals' | 'not' | 'includes' | 'excludes' | 'at-most' | 'at-least'
      wanted: string
      got: string
    }
  | { rule: 'in'; inMs: number; got: string; offByMs?: number }
  /** `wanted`: what the JSON Schema requires at a place inside the value. Where a member is missing there, `got` names the others. */
  | { rule: 'schema'; wanted: string; place: string; got: string }

/** One problem for each of these kinds, all with the same fields. */
type Of<Kind extends string, Fields = unknown> = Kind extends string ? { kind: Kind } & Fields : never

/** An expectation that did not hold. */
export type Failure =
  | Of<'wrong-outcome', { expected: 'accepted' | 'refused' | 'refused or accepted'; got: AnswerSummary; doubt?: Doubt }>
  | Of<'wrong-value', { path: string; mismatch: Mismatch }>
  | Of<'wrong-count', Count & { doubt?: Doubt }>
  | Of<'call-not-answered', { calls: number; got: AnswerSummary }>
  /** A call that must be refused got a broken answer, but the key or token in the answer works. */
  | Of<'effect-shown', { effect: Effect; got: AnswerSummary }>
  | EnvelopeProblem
  /** Departures from the envelope, collected over a whole run. */
  | Of<'envelope-of-answers', { departures: EnvelopeProblem[]; more: number; count: number; answers: number }>
  | Of<'creation-result', { lacks: 'id' | 'secret' | 'sendable-id' }>
  /** An access token is "for the Authorization header" (part 4.2). */
  | Of<'token-unsendable'>

/** How many of several calls were accepted or refused. */
interface Count {
  side: 'accepted' | 'refused'
  wanted: number | string
  calls: number
  counted: number
  /** Of calls in turn: which of them were refused, from 1; absent if they are many. */
  refusedAt?: number[]
  /** Of the calls that were counted: how many of their keys each step of the case had created; no title: they were there before. */
  makers?: { title?: string; keys: number }[]
  /** For a race: its round, from 1, and its connections. */
  round?: number
  connections?: 'new' | 'warm'
}

/** What an accepted call creates. */
export type Effect = 'key' | 'token'

/** A successful answer that departs from the response envelope (part 1). */
export type EnvelopeProblem =
  | Of<'wrong-jsonrpc', { got: string }>
  | Of<'wrong-id', { sent: string; got: string }>
  | Of<'wrong-result-type', { method: string; got: string }>

/** Why a run ended before its last case. `gone` gives exit code 3 and `interrupted` 130. */
export type StopReason =
  | Of<'gone', { target: string; because: Of<'refuses-connections'> | Of<'no-answers', { reason: string }> }>
  | Of<'locked-out', { target: string; answered: string }>
  /** The time of `--timeout` is up, or that of the clean-up. */
  | Of<'time', { cleanUpLimitMs?: number }>
  /** `by`: the signal. */
  | Of<'interrupted', { during: 'run' | 'clean-up'; by?: NodeJS.Signals }>
  /** As many cases failed as `--bail` allows. */
  | Of<'bail', { failures: number }>

/** Why nothing could be judged: something before the judged step did not work. */
export type Obstacle =
  | Of<'not-run', { because: StopReason | Of<'defect'> }>
  | Of<'throttled', { status: number }>
  | Of<'unread', { limitBytes: number }>
  /** A broken answer may be a refusal, but the control right after it was not accepted. */
  | Of<'control-after-broken', { got: AnswerSummary; control: AnswerSummary }>
  /** A call with an effect got a broken answer, and the effect may have happened. */
  | Of<'effect-unknown', { effect: Effect; got: AnswerSummary }>
  /** An overloaded server may drop connections; that says nothing about the race. */
  | Of<'calls-dropped', { calls: number; dropped: number }>
  | Of<'clock-jumped' | 'too-late' | 'no-way-to-create' | 'root-has-public-key' | 'no-successful-answer'>
  | Of<'junk-accepted' | 'open-to-all', { method: string }>
  | Of<'value-missing', { reference: string }>
  | Of<'value-unusable', { wanted: 'token' | 'key'; got: string }>
  | Of<'expiry-not-a-timestamp', { digits: number }>
  | Of<'not-a-time' | 'not-a-duration', { got: string }>
  /** `fresh`: on a target that is not fresh, all ten places may be taken. */
  | Of<'test-key-missing', { testKey: string; tried: TriedWay[]; fresh: boolean }>
  | Of<'not-a-test-key' | 'no-token', { testKey: string }>
  | Of<'no-token-word', { because: Of<'not-found'> | Of<'not-accepted', { prefix: string }> }>
  /** An earlier case broke a limit and left the target beyond it. */
  | Of<'limit-spoilt', { what: 'sessions' | 'keys'; by: string }>
  /** A key was refused in a way in which it was accepted before: `refused` calls with it were refused one after another. */
  | Of<'key-locked', { key: string; refused: number }>
  /** The target refuses every further session instead of removing the oldest. */
  | Of<'no-room-for-sessions'>

interface TriedWay {
  way: string
  outcome: AnswerSummary['outcome'] | 'no-token' | 'no-scope'
}

/**
 * Why a call that was right when its case began had to be refused later: what the target's own answers made certain. With the requirement
 * that says so.
 */
export type LostPreparation = { requirement: string } & (
  | /** `newer`: how many sessions of its key were created after its last use; absent where the model follows the sessions themselves. */
  Of<'session-removed', { newer?: number }>
  | Of<'pair-refreshed'>
  /** `agoMs`: how long before the call, at least. */
  | Of<'token-expired', { agoMs: number }>
)

/** What may have made a refusal right, where the document or the calls of the run leave that open; with the open question. */
export type Doubt =
  /** `newer`: how many newer tokens of its key were issued; a server may limit how many live. */
  | Of<'newer-tokens', { newer: number; question: string }>
  /** A refresh of its pair was lost or refused, or a used refresh token was sent. */
  | Of<'pair-uncertain', { question: string }>
  /** An eleventh key was created, or a method that the document does not show named its key. */
  | Of<'key-perhaps-removed'>
  /** `refused`: how many calls with its key were refused before it, one after another; a server may lock a key. */
  | Of<'key-perhaps-locked', { refused: number; question: string }>
  /** Its token is bound to a session, and others may create sessions on the target. */
  | Of<'sessions-of-others'>

/** What the model says of a refused call that a case needed accepted: it had to be refused, or that is open. */
export type RefusalJudgement = { is: 'required'; because: LostPreparation } | { is: 'open'; because: Doubt }

/** What a target or its user does not offer. */
export type Gap =
  | Of<'needs-permission', { permission: 'sessions' | 'keys' | 'limits' }>
  | Of<'needs-fresh-instance' | 'needs-client-address' | 'needs-clock-control' | 'needs-cleanup' | 'needs-solutions'>
  | Of<'needs-second-address', { because?: SecondAddressProblem }>
  | Of<'needs-probe', { probe: string }>
  /** The target file says so (`absent`): the case does not apply. */
  | Of<'area-absent', { area: string }>
  /** `wrongly`: enough would remain if the server had refused every creation that it had to refuse. */
  | Of<'few-places-for-keys', { places: number; wrongly?: true }>
  | Of<'no-place-for-keys', { fresh: boolean; created: number }>
  /** Removed keys and refused creations may count towards the limit. */
  | Of<'places-perhaps-used', { count: number }>
  /** `as-declared`: the fixture says why this is not a failure (`if-refused`, `if-accepted`). */
  | Of<'left-out' | 'as-declared' | 'cannot-be-sent', { reason: string }>
  | Of<'empty-list', { list: string }>
  | Of<'wait-too-long', { waitMs: number }>
  | Of<'lifetime-too-long', { requestedMs: number; refreshLifeMs: number }>
  | Of<'preparation-lost', { because: LostPreparation }>
  /** `nothing-judged`: no judging step made a call. */
  | Of<'clock-unknown' | 'token-ended' | 'test-key-kept' | 'test-key-made-before' | 'no-call' | 'nothing-judged'>

/** Why the given second address cannot be used. */
export type SecondAddressProblem =
  | Of<'same-address' | 'seen-as-another' | 'no-token-accepted', { address: string }>
  | Of<'no-answer', { address: string; reason: string }>

export type ProblemFacts = Failure | Obstacle | Gap

/** A possible explanation of a failure, found by further calls. */
export type Hint =
  /** A deliberate mistake with which the server accepts the call: its id in the signer's list. */
  | Of<'server-mistake', { mistake: string }>
  /** The server takes this call when this path is signed: the one that is called, or a part of it. */
  | Of<'other-signed-uri', { uri: string; instead: string }>
  | Of<'signature-unexplained', { scheme: string; schemeIsKnown: boolean }>
  | Of<'no-token-accepted', { prefix?: string }>
  | Of<'client-address', { address: string }>
  /** The target compares the IPv4-mapped form of our address. */
  | Of<'mapped-address', { address: string }>
  | Of<'perhaps-not-fresh'>
  /** Right Basic credentials were refused, and the secret has what a server may read wrongly. */
  | Of<'basic-secret', { has: 'a colon' | 'letters beyond ASCII' }>
  /** A right signature over a body with letters beyond ASCII was refused, others are accepted. */
  | Of<'body-beyond-ascii'>
  /** `ended`: which sessions do not work, of all in the order of their creation; an older one lives, or the newest alone. */
  | Of<'sessions-ended', { ended: number[]; of: number }>

/** The verdict of a case, and of a requirement. */
export type Verdict =
  | 'passed'
  | 'failed'
  | 'warned'
  | 'blocked'
  | 'known'
  | 'not-testable'
  /** The target file declares the API area absent. */
  | 'not-applicable'
  /** The run ended before it. */
  | 'not-run'

/** Worst first: a requirement has the worst verdict of its cases. What is not applicable takes nothing from a case that passed. */
const worstFirst: readonly Verdict[] = [
  'failed',
  'blocked',
  'known',
  'warned',
  'not-run',
  'not-testable',
  'passed',
  'not-applicable',
]

/** The worst of several verdicts; `passed` for none. */
export function worst(verdicts: readonly Verdict[]): Verdict {
  return worstFirst.find((verdict) => verdicts.includes(verdict)) ?? 'passed'
}

// The outcome of a case, already redacted. Plain values, because it is sent from thread to thread.

/** What went wrong in a case: its kind and fields, and where. */
export type Problem = ProblemFacts & {
  /** The requirements that the step was to prove; empty for a blocked or untestable case. */
  requirements: string[]
  /** The step's sentence, or its call. */
  step: string
  /** The step prepares the case, so its failure says nothing about the requirements. */
  inPreparation?: true
  /** fixtures/…yaml:line:column of the step. */
  where?: string
  hint?: Hint
  /** The access token of the first call that is shown, if a grant of the same case led to it. */
  token?: {
    /** What the grant asked for, joined by spaces. */
    scope: string
    /** How often its pair was refreshed since. */
    refreshes: number
  }
  exchanges: Exchange[]
}

/** What an observing step saw. */
export interface CaseObservation {
  question: string
  /** In a phrase. */
  answer: string
  /** The sentence of the step, if it has one. */
  step?: string
  /** The answers as data, from which a profile of the target and a comparison of two targets are made. */
  seen?: readonly SeenAnswer[]
}

/** An answer without its secrets. */
export interface SeenAnswer {
  outcome: 'accepted' | 'refused' | 'throttled' | 'unread' | 'broken'
  /** HTTP; null: no answer. */
  status: number | null
  /** Of the JSON-RPC error. */
  code: number | string | null
  message: string | null
  /** The id of a refusal. */
  id: 'request' | 'null' | 'none'
  /** The members of the result with their types: `list: array`. */
  members: readonly string[] | null
  scope: readonly string[] | null
  tokenLength: number | null
  /** Reported expiries minus the server's clock. */
  accessLifeMs: number | null
  refreshLifeMs: number | null
  /** Both expiries are whole seconds. */
  isRounded: boolean
  /** The answer announces that its connection ends. */
  closes: boolean
}

export interface CaseOutcome {
  id: string
  case: string | null
  /** `id` or `id/case-slug`: unique, selectable. */
  key: string
  title: string
  verdict: Verdict
  proves: string[]
  /** Verdict per requirement of `proves` (a failing step fails only what it proves). */
  requirements: { [id: string]: Verdict }
  /** The sides of each requirement that this case showed. */
  sides: { [id: string]: ('accepted' | 'refused')[] }
  problem: Problem | null
  observations: CaseObservation[]
  /** Departures from the success envelope, collected over the whole run. */
  envelope: EnvelopeNote[]
  /** How many successful answers were checked for such departures. */
  envelopeAnswers: number
  /** What the model noticed while the case ran; the case itself does not judge it. */
  findings?: ListeningFinding[]
  calls: number
  /** How many of these calls the target throttled. */
  throttled?: number
  durationMs: number
}

/** An answer that no reading of the document allows, in an exchange of a case that was about something else. */
export interface ListeningFinding {
  /** `found/REQUIREMENT/FACT`. */
  id: string
  requirement: string
  level: 'must' | 'implied'
  message: string
  /** One line for each call that led to it, and its own as the last. */
  steps: string[]
  /** The scenario that asks for it again; null where another answer may be right another time. */
  fixture: string | null
}

interface EnvelopeNote {
  problem: EnvelopeProblem
  exchange: Exchange
}
