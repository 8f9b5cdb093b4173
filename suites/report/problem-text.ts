/** The one place that makes sentences of problems, reasons and hints. Nothing reads these sentences back. */
import { describeSummary } from '../engine/judge/classify.ts'
import type { RequirementReason } from '../engine/judge/judge-requirement.ts'
import type {
  EnvelopeProblem,
  Failure,
  Gap,
  Hint,
  Mismatch,
  Obstacle,
  ProblemFacts,
  SecondAddressProblem,
  StopReason,
} from '../engine/judge/problem.ts'
import { mistakeById } from '../engine/signer/mistakes.ts'
import { serverHint } from '../engine/signer/server-mistakes.ts'

/** Makes the sentence of a problem; a test replaces it to show that no verdict depends on words. */
export type ProblemRenderer = (problem: ProblemFacts & { inPreparation?: true }) => string

export function problemText(problem: (ProblemFacts & { inPreparation?: true }) | null | undefined): string {
  if (problem === null || problem === undefined) return ''
  return problem.inPreparation === true ? `preparation: ${factsText(problem)}` : factsText(problem)
}

function factsText(problem: ProblemFacts): string {
  if (isFailure(problem)) return failureText(problem)
  return isObstacle(problem) ? obstacleText(problem) : gapText(problem)
}

const failureKinds: { [kind in Failure['kind']]: true } = {
  'wrong-outcome': true,
  'wrong-value': true,
  'wrong-count': true,
  'call-not-answered': true,
  'wrong-jsonrpc': true,
  'wrong-id': true,
  'wrong-result-type': true,
  'envelope-of-answers': true,
  'creation-result': true,
  'effect-shown': true,
}

const obstacleKinds: { [kind in Obstacle['kind']]: true } = {
  'not-run': true,
  throttled: true,
  unread: true,
  'control-after-broken': true,
  'effect-unknown': true,
  'calls-dropped': true,
  'clock-jumped': true,
  'too-late': true,
  'junk-accepted': true,
  'open-to-all': true,
  'value-missing': true,
  'value-unusable': true,
  'expiry-not-a-timestamp': true,
  'not-a-moment': true,
  'not-a-duration': true,
  'test-key-missing': true,
  'not-a-test-key': true,
  'no-token': true,
  'no-token-word': true,
  'no-way-to-create': true,
  'nobody-creates-it-this-way': true,
  'no-successful-answer': true,
  'limit-spoilt': true,
}

const isFailure = (problem: ProblemFacts): problem is Failure => problem.kind in failureKinds
const isObstacle = (problem: ProblemFacts): problem is Obstacle => problem.kind in obstacleKinds

function failureText(problem: Failure): string {
  switch (problem.kind) {
    case 'wrong-outcome':
      return `expected the call to be ${problem.expected}, it was ${describeSummary(problem.got)}`
    case 'wrong-value':
      return `${problem.path}: ${mismatchText(problem.mismatch)}`
    case 'wrong-count':
      return problem.round === undefined
        ? `expected ${countWords(problem.wanted)} of ${problem.calls} calls to be ${problem.side}, ${problem.counted} were`
        : `expected ${countWords(problem.wanted)} of ${problem.calls} calls at once to be ${problem.side}, ${problem.counted} were (race ${problem.round}, on ${problem.connections} connections)`
    case 'call-not-answered':
      return `expected every one of ${problem.calls} calls to be answered, one was ${describeSummary(problem.got)}`
    case 'envelope-of-answers': {
      const more = problem.more > 0 ? `; and ${problem.more} more like these` : ''
      return `${problem.count} of ${problem.answers} successful answers: ${problem.departures.map(envelopeText).join('; ')}${more}`
    }
    case 'effect-shown':
      return `expected the call to be refused, it was ${describeSummary(problem.got)}, and the ${problem.effect} in its answer works`
    case 'creation-result':
      return lackingText[problem.lacks]
    default:
      return envelopeText(problem)
  }
}

/** `at most 16`, for the fixtures' `at-most 16`. */
function countWords(wanted: number | string): string {
  return String(wanted).replace('-', ' ')
}

const lackingText = {
  id: 'the result has no id',
  secret: 'the result has no secret',
  'sendable-id': 'the id of the result cannot stand in an HTTP header',
} as const

function envelopeText(problem: EnvelopeProblem): string {
  switch (problem.kind) {
    case 'wrong-jsonrpc':
      return `expected jsonrpc "2.0", got ${problem.got}`
    case 'wrong-id':
      return `expected the id ${problem.sent} of the request, got ${problem.got}`
    case 'wrong-result-type':
      return `expected the result of ${problem.method} to be an object, got ${problem.got}`
  }
}

function mismatchText(mismatch: Mismatch): string {
  const { got } = mismatch
  switch (mismatch.rule) {
    case 'equals':
      return `expected ${mismatch.wanted}, got ${got}`
    case 'not':
      return `expected something other than ${mismatch.wanted}, got ${got}`
    case 'excludes':
      return `expected a text or a list without ${mismatch.wanted}, got ${got}`
    case 'at-most':
      return `expected at most ${mismatch.wanted}, got ${got}`
    case 'at-least':
      return `expected at least ${mismatch.wanted}, got ${got}`
    case 'schema': {
      const place = mismatch.place === '' ? '' : ` at ${mismatch.place}`
      return `expected a value that ${mismatch.wanted}${place}, got ${got}`
    }
    case 'in': {
      if (mismatch.offByMs === undefined) return `expected a moment in ms, got ${got}`
      const side = mismatch.offByMs > 0 ? 'later' : 'earlier'
      return `expected a moment ${mismatch.inMs} ms from now, got ${got}, which is ${Math.abs(mismatch.offByMs)} ms ${side} than that`
    }
  }
}

function obstacleText(problem: Obstacle): string {
  switch (problem.kind) {
    case 'not-run':
      return `not run: ${notRunText(problem.because)}`
    case 'throttled':
      return `the server kept asking to wait (HTTP ${problem.status})`
    case 'unread':
      return `the answer is longer than ${problem.limitBytes} bytes, so it was not read; maxAnswerBytes in the target file allows more`
    case 'control-after-broken':
      return `the call was ${describeSummary(problem.got)}, and a right call after it was ${describeSummary(problem.control)}`
    case 'effect-unknown':
      return `the call was ${describeSummary(problem.got)}, and nothing shows that no ${problem.effect} was issued`
    case 'calls-dropped':
      return `${problem.dropped} of ${problem.calls} calls at once were dropped; the target may not bear so many connections`
    case 'clock-jumped':
      return 'the clock of the target jumped during each of several tries'
    case 'too-late':
      return 'the answer came too late to be judged: less than a second before the moment'
    case 'junk-accepted':
      return `${problem.method} also accepts junk credentials, or none at all, so that this acceptance shows nothing`
    case 'open-to-all':
      return `${problem.method} also accepts calls without any authorization, so that what it accepts shows nothing here`
    case 'value-missing':
      return `"${problem.reference}" has no value: the answer that should have given it lacked it`
    case 'value-unusable': {
      const wanted = problem.wanted === 'token' ? 'a text as the token' : 'an API key with an id and a secret'
      return `this needs ${wanted}, and an earlier answer gave ${problem.got}`
    }
    case 'expiry-not-a-timestamp':
      return `the reported expiry is not a 13-digit timestamp in milliseconds, it has ${problem.digits} digits, so that nothing can be judged by it`
    case 'not-a-moment':
      return `the moment to wait for or judge by is not a number: ${problem.got}`
    case 'not-a-duration':
      return `"${problem.got}" is not a duration`
    case 'test-key-missing':
      return testKeyMissingText(problem)
    case 'not-a-test-key':
      return `"${problem.testKey}" is not a test key`
    case 'no-token':
      return `no access token for "${problem.testKey}" was granted`
    case 'no-token-word':
      return problem.because.kind === 'not-found'
        ? 'access tokens are refused behind Bearer, Token, the reported tokenType and no word at all; --token-prefix (or tokenPrefix in the target file) names the word of this deployment'
        : `access tokens are refused behind the word that was given, "${problem.because.prefix}"`
    case 'no-way-to-create':
      return 'no way to create it is declared'
    case 'nobody-creates-it-this-way':
      return 'the root key has a public key, so nobody can create it this way'
    case 'no-successful-answer':
      return 'No call was accepted, so there was no successful answer to look at'
    case 'limit-spoilt':
      return `${problem.by} left more ${problem.what} on the target than the limit allows, so that nothing can be said here; a fresh target shows it`
  }
}

function testKeyMissingText({ testKey, tried, fresh }: Extract<Obstacle, { kind: 'test-key-missing' }>): string {
  const words = { 'no-token': 'no access token was granted', 'no-scope': 'it has no scope' } as const
  const ways = tried.map(({ way, outcome }) => {
    const word = outcome === 'no-token' || outcome === 'no-scope' ? words[outcome] : outcome
    return `${way}: ${word}`
  })
  const perhaps = fresh
    ? ''
    : '; most likely all ten places for API keys are taken, or the given key lacks the scope apikey: use another key, name a cleanup method in the target file, or leave "keys" out of --allow'
  return `the key of "${testKey}" could not be created (${ways.join(', ')})${perhaps}`
}

export function notRunText(because: Extract<Obstacle, { kind: 'not-run' }>['because']): string {
  return because.kind === 'defect' ? 'the suite could not run this case' : stopText(because)
}

/** Why a run ended before its last case. */
export function stopText(stop: StopReason): string {
  switch (stop.kind) {
    case 'time':
      return stop.cleanUpLimitMs === undefined
        ? 'the time for the whole run (--timeout) is up'
        : `the clean-up took longer than ${stop.cleanUpLimitMs / 1000} s`
    case 'interrupted':
      return `the ${stop.during} was interrupted`
    case 'bail':
      return stop.failures === 1
        ? 'a case failed (--bail 1)'
        : `${stop.failures} cases failed (--bail ${stop.failures})`
    case 'locked-out':
      return `${stop.target} refuses the root key that it accepted before; it may have locked the key out`
    case 'gone': {
      const { because } = stop
      if (because.kind === 'refuses-connections') return `${stop.target} went away: it refuses connections`
      return `${stop.target} went away: ${because.reason ?? `${because.calls} calls in a row got no answer`}`
    }
  }
}

function gapText(problem: Gap): string {
  switch (problem.kind) {
    case 'needs-permission':
      return permissionTexts[problem.permission]
    case 'needs-fresh-instance':
      return 'it needs a fresh instance; --disposable says that this is one'
    case 'needs-second-address':
      return `it calls from a second address; ${secondAddressText(problem.because)}`
    case 'needs-client-address':
      return 'the address that the server sees is not known; clientAddress in the target file tells it'
    case 'needs-clock-control':
      return 'it lets days pass, which takes a clock that can be moved (the bundled server has one), or --wait SECONDS beyond the refresh lifetime'
    case 'needs-cleanup':
      return 'it creates a key that only a cleanup method removes; cleanup in the target file names that method'
    case 'needs-solutions':
      return 'it needs two solutions; solutions in the target file names them'
    case 'area-absent':
      return `the target file declares the API area ${problem.area} absent`
    case 'needs-probe':
      return probesText([problem.probe])
    case 'few-places-for-keys':
      return `fewer than ${problem.places} places for API keys remain on the target; a cleanup method in the target file frees them`
    case 'no-place-for-keys':
      return problem.fresh
        ? `no further API key can be created, though the target is fresh and ${problem.created} were; it may count refused creations`
        : 'no further API key can be created, most likely since the target has its ten; a cleanup method in the target file frees places'
    case 'places-perhaps-used':
      return `fewer keys than that could be created, but ${problem.count} were removed or refused before, and the target may count them; a fresh target shows it`
    case 'left-out':
      return `left out by --skip: ${problem.reason}`
    case 'as-declared':
      return problem.reason
    case 'nothing-to-ask':
      return `there is nothing to ask: "${problem.list}" is empty`
    case 'clock-unknown':
      return 'the answers of the target carry no Date header, so its clock is not known and no moment can be judged by it'
    case 'wait-too-long': {
      const seconds = Math.ceil(problem.waitMs / 1000)
      return `this takes ${seconds} s of waiting; --wait ${seconds} allows it`
    }
    case 'lifetime-too-long': {
      const seconds = Math.round(problem.refreshLifeMs / 1000)
      return `expiresIn:${problem.askedMs} is more than the target must take: its refresh tokens live for about ${seconds} s`
    }
    case 'token-ended':
      return 'a token had come to its end, or nearly, when it was used, so its refusal cannot be judged'
    case 'cannot-be-sent':
      return problem.reason
    case 'test-key-kept':
      return 'its key is kept from an earlier run; without the kept test keys a new one is created'
    case 'test-key-made-before':
      return 'its key was needed by another case before, and is there already'
    case 'no-call':
      return 'No call was made'
    case 'nothing-judged':
      return 'the target gave nothing that this case could try, so nothing was judged'
  }
}

const permissionTexts = {
  sessions: 'it takes access tokens; --allow sessions permits it',
  keys: 'it creates API keys; --allow keys permits it',
  limits: 'it fills a limit of the target; --allow sessions,keys,limits permits it',
} as const

function secondAddressText(because: SecondAddressProblem | undefined): string {
  switch (because?.kind) {
    case undefined:
      return 'secondAddress in the target file names one'
    case 'same-address':
      return `${because.address} is the address that all other calls come from; secondAddress in the target file names another one`
    case 'no-answer':
      return `no call from ${because.address} gets an answer (${because.reason}); secondAddress in the target file names an address of this machine`
    case 'seen-as-another':
      return `the target does not see ${because.address} as the address of our calls from there: is a proxy in front of it?`
    case 'no-token-accepted':
      return `the target takes no token from ${because.address}: is that address allowed to call it?`
  }
}

/** Cases that ask for one probe each have one reason. */
function probesText(probes: readonly string[]): string {
  const names = [...probes].sort().map((probe) => `probes.${probe}`)
  return names.length === 1
    ? `it calls a method that the document does not show; ${names[0]} in the target file names one`
    : `it calls methods that the document does not show; ${names.join(', ')} in the target file name them`
}

/** One or several reasons that are told as one (see joinReasons). */
export function reasonText(reasons: readonly RequirementReason[]): string {
  const probes = reasons.flatMap((reason) => (reason.kind === 'needs-probe' ? [reason.probe] : []))
  if (probes.length > 1 && probes.length === reasons.length) return probesText(probes)
  return [...new Set(reasons.map(oneReasonText))].join('; and ')
}

function oneReasonText(reason: RequirementReason): string {
  switch (reason.kind) {
    case 'not-selected':
      return reason.by === 'shard' ? 'Not selected: it is in another shard' : 'Not selected by --only'
    case 'skipped':
      return `Skipped: ${reason.reason}`
    case 'never-run':
      return 'Not run'
    case 'untestable':
      return reason.reason
    case 'no-scenario':
      return 'No scenario proves it'
    case 'one-sided':
      return `Nothing ${reason.lacking.join(' or ')} was shown: a rule that lets in or keeps out is proved by both sides`
    default:
      return problemText(reason)
  }
}

export function hintText(hint: Hint): string {
  switch (hint.kind) {
    case 'server-mistake': {
      const mistake = mistakeById(hint.mistake)
      return mistake === undefined
        ? `The server accepts this call when it is signed with the mistake "${hint.mistake}".`
        : serverHint(mistake)
    }
    case 'signature-unexplained': {
      const perhaps = hint.schemeIsKnown ? '' : ` Is "${hint.scheme}" the scheme word of this deployment (--scheme)?`
      return `No classic mistake explains it.${perhaps} "svc-conformance sign" shows every stage of a right signature.`
    }
    case 'no-token-accepted':
      return `${triedPrefixes(hint.prefix)}, and none was accepted. --token-prefix (or tokenPrefix in the target file) names the word of this deployment.`
    case 'client-address':
      return `Does the target see our calls come from ${hint.address}, as clientAddress in the target file says?`
    case 'perhaps-not-fresh':
      return 'No kind of authorization creates a key here. Is this instance fresh, as --disposable says? At most ten API keys can be created.'
  }
}

function triedPrefixes(prefix: string | undefined): string {
  if (prefix === undefined) return 'Tokens were tried behind Bearer, Token, the reported tokenType and no word at all'
  return prefix === '' ? 'Tokens are sent without a word before them' : `Tokens are sent behind "${prefix}"`
}
