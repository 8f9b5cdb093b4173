/** The only place that turns problems, reasons and hints into sentences. Nothing reads these sentences back. */
import { describeSummary } from '../engine/judge/classify.ts'
import type { RequirementReason } from '../engine/judge/judge-case.ts'
import type {
  Doubt,
  EnvelopeProblem,
  Failure,
  Gap,
  Hint,
  LostPreparation,
  Mismatch,
  Obstacle,
  ProblemFacts,
  SecondAddressProblem,
  StopReason,
} from '../engine/judge/problem.ts'
import { mistakeById, serverHint } from '../engine/signer/mistakes.ts'

/** What a sentence tells of a problem. */
type ToldProblem = ProblemFacts & { inPreparation?: true; hint?: Hint }

export function problemText(problem: ToldProblem | null | undefined): string {
  if (problem === null || problem === undefined) return ''
  const text = textOfKind<ProblemFacts>(problemTexts, isExplained(problem) ? withoutDoubt(problem) : problem)
  return problem.inPreparation === true ? `preparation: ${text}` : text
}

/** Whether the cause is certain, so that no other explanation is worth a word. */
const isExplained = ({ hint }: ToldProblem): boolean => hint !== undefined && certainHints.includes(hint.kind)

const certainHints: readonly Hint['kind'][] = [
  'server-mistake',
  'other-signed-uri',
  'basic-secret',
  'body-beyond-ascii',
]

function withoutDoubt(problem: ProblemFacts): ProblemFacts {
  if (problem.kind !== 'wrong-outcome' && problem.kind !== 'wrong-count') return problem
  const { doubt: _perhaps, ...certain } = problem
  return certain
}

/** Renders one reason, or several that joinReasons put together. */
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
      return `No ${reason.lacking.join(' or ')} call was seen; this requirement is proved by calls of both kinds`
    default:
      return problemText(reason)
  }
}

/** Equal reasons have the same key. */
export function keyOfReason(reason: RequirementReason): string {
  return JSON.stringify(Object.entries(reason).sort(([one], [other]) => (one < other ? -1 : 1)))
}

/** Each reason once; those that need a probe form one group. */
export function joinReasons<Reason extends RequirementReason>(reasons: readonly Reason[]): { reasons: Reason[] }[] {
  const distinct = [...new Map(reasons.map((reason) => [keyOfReason(reason), reason])).values()]
  const probing = distinct.filter(({ kind }) => kind === 'needs-probe')
  const others = distinct.filter(({ kind }) => kind !== 'needs-probe')
  const groups = others.map((reason) => ({ reasons: [reason] }))
  return probing.length === 0 ? groups : [...groups, { reasons: probing }]
}

const envelopeTexts: TextOfKind<EnvelopeProblem> = {
  'wrong-jsonrpc': ({ got }) => `expected jsonrpc "2.0", got ${got}`,
  'wrong-id': ({ sent, got }) => `expected the id ${sent} of the request, got ${got}`,
  'wrong-result-type': ({ method, got }) => `expected the result of ${method} to be an object, got ${got}`,
}

const lackingText = {
  id: 'the result has no id',
  secret: 'the result has no secret',
  'sendable-id': 'the id of the result is not allowed in an HTTP header',
} as const

/** How an expectation was broken. */
const failureTexts: TextOfKind<Failure> = {
  ...envelopeTexts,
  'wrong-outcome': ({ expected, got, doubt }) =>
    `expected the call to be ${expected}, it was ${describeSummary(got)}${doubtText(doubt)}`,
  'wrong-value': ({ path, mismatch }) => `${path}: ${mismatchText(mismatch)}`,
  'wrong-count': ({ wanted, calls, side, counted, refusedAt = [], makers = [], round, connections, doubt }) => {
    const atOnce = round === undefined ? '' : ' at once'
    const places = refusedAt.length === 0 ? '' : `, not ${numbersText(refusedAt)}`
    const made = makers.map(
      ({ title, keys }) => `${keys} ${title === undefined ? 'that were there before' : `of "${title}"`}`,
    )
    const keys = made.length === 0 ? '' : `: the keys are ${made.join(', ')}`
    const race = round === undefined ? '' : ` (race ${round}, on ${connections} connections)`
    return `expected ${String(wanted).replace('-', ' ')} of ${calls} calls${atOnce} to be ${side}, ${counted} ${counted === 1 ? 'was' : 'were'}${race}${places}${keys}${doubtText(doubt)}`
  },
  'call-not-answered': ({ calls, got }) =>
    `expected every one of ${calls} calls to be answered, one was ${describeSummary(got)}`,
  'effect-shown': ({ got, effect }) =>
    `expected the call to be refused, it was ${describeSummary(got)}, and the ${effect} in its answer works`,
  'envelope-of-answers': ({ departures, more, count, answers }) => {
    const examples = departures.map((one) => textOfKind(envelopeTexts, one)).join('; ')
    return `${count} of ${answers} successful answers: ${examples}${more > 0 ? `; and ${more} more like these` : ''}`
  },
  'creation-result': ({ lacks }) => lackingText[lacks],
  'token-unsendable': () => 'the access token has characters that no HTTP header can carry',
}

const doubtTexts: TextOfKind<Doubt> = {
  'newer-tokens': ({ newer, question }) =>
    `${newer} newer tokens of its key were issued, and whether the number of live ones is limited is open (${question})`,
  'pair-uncertain': ({ question }) =>
    `what became of its pair is not known: a refresh of it was lost or refused, or a used refresh token was sent (${question})`,
  'key-perhaps-removed': () => 'its key may have been removed, by the eleventh creation or by a method that named it',
  'key-perhaps-locked': ({ refused, question }) =>
    `${refused} calls with its key were refused before, one after another, and a server may lock a key (${question})`,
  'sessions-of-others': () =>
    'the session of the refused token is removed by sixteen newer ones, and others may have created some with its key',
}

/** Behind a sentence about a refusal. */
function doubtText(doubt: Doubt | undefined): string {
  return doubt === undefined ? '' : `; what may explain it: ${textOfKind(doubtTexts, doubt)}`
}

/** Places counted from 1: `number 3`, `numbers 1, 2 and 9`. */
function numbersText(places: readonly number[]): string {
  const last = places.at(-1)
  return places.length < 2 ? `number ${last}` : `numbers ${places.slice(0, -1).join(', ')} and ${last}`
}

function mismatchText(mismatch: Mismatch): string {
  const { got } = mismatch
  switch (mismatch.rule) {
    case 'schema': {
      const place = mismatch.place === '' ? '' : ` at ${mismatch.place}`
      const [, missing] = /^must have required property '(.*)'$/s.exec(mismatch.wanted) ?? []
      if (missing !== undefined) return `expected the member "${missing}"${place}, got only ${got}`
      return `expected a value that ${mismatch.wanted}${place}, got ${got}`
    }
    case 'in': {
      if (mismatch.offByMs === undefined) return `expected a time in ms, got ${got}`
      const side = mismatch.offByMs > 0 ? 'later' : 'earlier'
      return `expected a time ${mismatch.inMs} ms from now, got ${got}, which is ${Math.abs(mismatch.offByMs)} ms ${side} than that`
    }
    default:
      return `expected ${comparisons[mismatch.rule]}${mismatch.wanted}, got ${got}`
  }
}

const comparisons = {
  equals: '',
  not: 'something other than ',
  includes: 'a text or a list with ',
  excludes: 'a text or a list without ',
  'at-most': 'at most ',
  'at-least': 'at least ',
} as const

/** Why nothing could be judged. */
const obstacleTexts: TextOfKind<Obstacle> = {
  'not-run': ({ because }) =>
    `not run: ${because.kind === 'defect' ? 'the suite could not run this case' : stopText(because)}`,
  throttled: ({ status }) => `the server throttled every try (HTTP ${status})`,
  unread: ({ limitBytes }) =>
    `the answer is longer than ${limitBytes} bytes, so it was not read; raise maxAnswerBytes in the target file`,
  'control-after-broken': ({ got, control }) =>
    `the call was ${describeSummary(got)}, and a right call after it was ${describeSummary(control)}`,
  'effect-unknown': ({ got, effect }) =>
    `the call was ${describeSummary(got)}, and the suite cannot tell whether a ${effect} was issued`,
  'calls-dropped': ({ dropped, calls }) =>
    `${dropped} of ${calls} calls at once were dropped; the target may not accept that many connections`,
  'clock-jumped': () => "the target's clock jumped in every try",
  'too-late': () => 'the answer came too late to be judged: less than a second before the time that decides',
  'junk-accepted': ({ method }) =>
    `${method} also accepts junk credentials or no credentials, so this acceptance proves nothing`,
  'open-to-all': ({ method }) =>
    `${method} also accepts calls without any authorization, so what it accepts here proves nothing`,
  'value-missing': ({ reference }) => `"${reference}" has no value, because an earlier answer did not contain it`,
  'value-unusable': ({ wanted, got }) =>
    `the step needs ${wanted === 'token' ? 'a string as the token' : 'an API key with an id and a secret'}, but an earlier answer gave ${got}`,
  'expiry-not-a-timestamp': ({ digits }) =>
    `the reported expiry has ${digits} digits; a timestamp in milliseconds has 13, so nothing can be judged by it`,
  'not-a-time': ({ got }) => `the time to wait for or to judge by is not a number: ${got}`,
  'not-a-duration': ({ got }) => `"${got}" is not a duration`,
  'test-key-missing': testKeyMissingText,
  'not-a-test-key': ({ testKey }) => `"${testKey}" is not a test key`,
  'no-token': ({ testKey }) => `no access token was granted for "${testKey}"`,
  'no-token-word': ({ because }) =>
    because.kind === 'not-found'
      ? 'access tokens are refused with the prefixes "Bearer" and "Token", with the reported tokenType and without a prefix; set --token-prefix (tokenPrefix in the target file) to the one of this deployment'
      : `access tokens are refused with the given prefix "${because.prefix}"`,
  'no-way-to-create': () => 'test-keys.yaml names no way to create it',
  'root-has-public-key': () => 'the root key has a public key, so no key can be created in this way',
  'no-successful-answer': () => 'no call was accepted, so there was no successful answer to look at',
  'limit-spoilt': ({ by, what }) =>
    `${by} left more ${what} on the target than the limit allows, so nothing can be judged here; run against a fresh target`,
  'key-locked': ({ key, refused }) =>
    `the key of ${key} was refused in a way in which it was accepted before, after ${refused} refused calls with it; a server may lock a key (limits/lock-out)`,
  'no-room-for-sessions': () =>
    'the target refuses every further session, although it should remove the oldest (sessions/next-works)',
}

function testKeyMissingText({ testKey, tried, fresh }: Extract<Obstacle, { kind: 'test-key-missing' }>): string {
  const words = { 'no-token': 'no access token was granted', 'no-scope': 'it has no scope' } as const
  const ways = tried.map(({ way, outcome }) => `${way}: ${outcome in words ? words[outcome as 'no-token'] : outcome}`)
  const isFull = tried.length > 0 && tried.every(({ outcome }) => outcome === 'refused')
  const perhaps = fresh
    ? isFull
      ? '; if an earlier run with --disposable took all ten places for API keys, restart the server'
      : ''
    : '; most likely all ten places for API keys are taken, or the given key lacks the scope apikey: use another key, name a cleanup method in the target file, or leave "keys" out of --allow'
  return `the key of "${testKey}" could not be created (${ways.join(', ')})${perhaps}`
}

const stopTexts: TextOfKind<StopReason> = {
  time: ({ cleanUpLimitMs }) =>
    cleanUpLimitMs === undefined
      ? 'the time for the whole run (--timeout) is up'
      : `the clean-up took longer than ${cleanUpLimitMs / 1000} s`,
  interrupted: ({ during, by = '' }) =>
    `the ${during} was interrupted${by === '' ? '' : ` by ${by === 'SIGINT' ? 'Ctrl-C' : by}`}`,
  bail: ({ failures }) =>
    failures === 1 ? 'a case failed (--bail 1)' : `${failures} cases failed (--bail ${failures})`,
  'locked-out': ({ target, answered }) =>
    `${target} accepted the root key before, and now its answer is: ${answered}; it may have locked the key out`,
  gone: ({ target, because }) =>
    because.kind === 'refuses-connections'
      ? `${target} went away: it refuses connections`
      : `${target} went away: ${because.reason}`,
}

/** Why a run ended before its last case. */
export function stopText(stop: StopReason): string {
  return textOfKind(stopTexts, stop)
}

const permissionTexts = {
  sessions: 'requesting access tokens needs --allow sessions',
  keys: 'creating API keys needs --allow keys',
  limits: 'filling a limit of the target needs --allow sessions,keys,limits',
} as const

const lossTexts: TextOfKind<LostPreparation> = {
  'session-removed': ({ newer }) =>
    newer === undefined
      ? 'the session of its token was removed by newer ones'
      : `the session of its token was removed, because ${newer} newer ones of its key were created since it was last used`,
  'pair-refreshed': () => 'its token had been exchanged for a new pair',
  'token-expired': ({ agoMs }) => `its token had expired at least ${(agoMs / 1000).toFixed(1)} s before`,
}

/** What a target or its user does not offer, and what to do about it. */
const gapTexts: TextOfKind<Gap> = {
  'needs-permission': ({ permission }) => permissionTexts[permission],
  'needs-fresh-instance': () => 'a fresh instance is needed; use --disposable if the target is one',
  'needs-second-address': ({ because }) => `a second address to call from is needed; ${secondAddressText(because)}`,
  'needs-client-address': () => 'the address that the server sees is not known; set clientAddress in the target file',
  'needs-clock-control': () =>
    'a server clock that can be moved is needed, or --wait SECONDS longer than the refresh lifetime',
  'needs-cleanup': () =>
    'only a method of this deployment can remove the created key; name it as cleanup in the target file',
  'needs-solutions': () => 'two solutions are needed; name them as solutions in the target file',
  'area-absent': ({ area }) => `the target file declares the API area ${area} absent`,
  'needs-probe': ({ probe }) => probesText([probe]),
  'few-places-for-keys': ({ places, wrongly }) =>
    `fewer than ${places} places for API keys remain on the target${wrongly ? ', because it created keys where it had to refuse' : ''}; a cleanup method in the target file would free some, and "svc-conformance keys" lists what runs left there`,
  'no-place-for-keys': ({ fresh, created }) =>
    fresh && created === 0
      ? 'the target creates no API key at all; if it is fresh, as --disposable says, its creation of keys is broken, and otherwise its ten places are taken: start a fresh one'
      : fresh
        ? `the target creates no more API keys after ${created}, although it is fresh; it may count refused creations`
        : 'the target creates no more API keys, most likely because it already has ten; a cleanup method in the target file would free places',
  'places-perhaps-used': ({ count }) =>
    `fewer keys could be created than the limit allows, but ${count} were removed, refused or not answered before, and the target may count them; run against a fresh target`,
  'left-out': ({ reason }) => `left out by --skip: ${reason}`,
  'as-declared': ({ reason }) => reason,
  'empty-list': ({ list }) =>
    `no earlier call was answered with anything for the list ${list}, so a later step has no call to make`,
  'clock-unknown': () =>
    "the target's answers carry no Date header that can be relied on, so its clock is not known and no time can be judged by it",
  'wait-too-long': ({ waitMs }) => {
    const seconds = Math.ceil(waitMs / 1000)
    return `waiting for ${seconds} s needs --wait ${seconds}`
  },
  'lifetime-too-long': ({ requestedMs, refreshLifeMs }) =>
    `the target need not grant expiresIn:${requestedMs}: its refresh tokens live for about ${Math.round(refreshLifeMs / 1000)} s`,
  'token-ended': () => 'a token had expired, or was about to, when it was used, so its refusal cannot be judged',
  'preparation-lost': ({ because }) =>
    `a preparation of the case no longer held: ${textOfKind(lossTexts, because)} (${because.requirement})`,
  'cannot-be-sent': ({ reason }) => reason,
  'test-key-kept': () => 'the test key is kept from an earlier run; without the kept test keys a new one is created',
  'test-key-made-before': () => 'an earlier case needed the test key, so it already exists',
  'no-call': () => 'no call was made',
  'nothing-judged': () => 'the target offered nothing that this case could try, so nothing was judged',
}

function secondAddressText(because: SecondAddressProblem | undefined): string {
  switch (because?.kind) {
    case undefined:
      return 'set secondAddress in the target file'
    case 'same-address':
      return `${because.address} is the address that all other calls come from; set secondAddress in the target file to another one`
    case 'no-answer':
      return `no call from ${because.address} gets an answer (${because.reason}); set secondAddress in the target file to an address of this machine`
    case 'seen-as-another':
      return `the target does not see ${because.address} as the address of these calls; a proxy may be in front of it, or it compares the IPv4-mapped form of the address`
    case 'no-token-accepted':
      return `the target accepts no token from ${because.address}; that address may not be allowed to call it`
  }
}

/** One sentence for all probes that a target file could name. */
function probesText(probes: readonly string[]): string {
  const names = [...probes].sort().map((probe) => `probes.${probe}`)
  return names.length === 1
    ? `a method that the document does not show is needed; name it as ${names[0]} in the target file, or list the area under absent if this server does not have it`
    : `methods that the document does not show are needed; name them as ${names.join(', ')} in the target file, or list under absent the areas that this server does not have`
}

const problemTexts: TextOfKind<ProblemFacts> = { ...failureTexts, ...obstacleTexts, ...gapTexts }

const hintTexts: TextOfKind<Hint> = {
  'server-mistake': ({ mistake: id }) => {
    const mistake = mistakeById(id)
    return mistake === undefined
      ? `The server accepts this call when it is signed with the mistake "${id}".`
      : serverHint(mistake)
  },
  'other-signed-uri': ({ uri, instead }) =>
    `The server accepts this call when the URI ${uri} is signed instead of ${instead}, as behind a gateway with a base path. Sign ${instead}, or set "signedUri: ${uri}" in the target file if this deployment signs that path on purpose.`,
  'signature-unexplained': ({ scheme, schemeIsKnown }) => {
    const perhaps = schemeIsKnown
      ? ''
      : ` Is "${scheme}" the scheme word of this deployment (--scheme)? Or does the server's clock differ from its Date header? A run with --allow sessions measures that clock.`
    return `No known mistake explains it.${perhaps} "svc-conformance sign" shows every stage of a right signature.`
  },
  'no-token-accepted': ({ prefix }) =>
    `No token was accepted; tokens were sent ${triedPrefixes(prefix)}. Set --token-prefix (or tokenPrefix in the target file) to the prefix of this deployment.`,
  'client-address': ({ address }) =>
    `Does the target see our calls come from ${address}, as clientAddress in the target file says?`,
  'mapped-address': ({ address }) =>
    `A token of ipAddr:::ffff:${address} works: the server compares the form in which a socket for IPv6 and IPv4 shows ${address}. Remove "::ffff:" from the address of the connection before comparing it.`,
  'perhaps-not-fresh': () =>
    'No API key could be created in any way. At most ten can be, so this proves nothing unless the instance is fresh, as --disposable says: a run before may have taken the places. Start a fresh one, or name the method that deletes keys as cleanup in the target file.',
  'basic-secret': ({ has }) =>
    has === 'a colon'
      ? 'The secret of this key has a colon. Split the credentials at the first colon only: an id has none, and all that follows is the secret.'
      : 'The secret of this key has letters beyond ASCII. Decode the credentials as UTF-8, not as ISO 8859-1.',
  'body-beyond-ascii': () =>
    'Other signatures of this key are accepted, and this body has letters beyond ASCII. Compute the signature over the bytes of the body as they were received: text that was decoded as ISO 8859-1 and encoded again has different bytes.',
  'sessions-ended': ({ ended, of }) => {
    const [first = 0, last = 0] = [ended[0], ended.at(-1)]
    const isRow = last - first === ended.length - 1
    const places = isRow && ended.length > 2 ? `numbers ${first} to ${last}` : numbersText(ended)
    const told = `Of ${of} sessions in the order of their creation, ${places} ended`
    if (ended.length === of - 1 && last === of - 1)
      return `${told}, each when the next was created: it looks as if the newest session were removed instead of the oldest, while older sessions hold the other places of this user, or as if a user had one session only.`
    return `${told}, and older ones live: it looks as if ${isRow && last === of - 1 ? 'the newest session were removed instead of the oldest' : 'another session than the oldest were removed'}.`
  },
}

/** The sentence of a hint, for the `Hint` line of a failure. */
export function hintText(hint: Hint): string {
  return textOfKind(hintTexts, hint)
}

function triedPrefixes(prefix: string | undefined): string {
  if (prefix === undefined)
    return 'with the prefixes "Bearer" and "Token", with the reported tokenType and without a prefix'
  return prefix === '' ? 'without a prefix' : `with the prefix "${prefix}"`
}

/** A sentence for each kind of a union; the compiler names the kinds that have none. */
type TextOfKind<Union extends { kind: string }> = {
  readonly [kind in Union['kind']]: (one: Extract<Union, { kind: kind }>) => string
}

function textOfKind<Union extends { kind: string }>(texts: TextOfKind<Union>, one: Union): string {
  const write = texts[one.kind as Union['kind']] as (one: Union) => string
  return write(one)
}
