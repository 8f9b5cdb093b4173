/** Why a call was refused, as far as what was seen before it tells: one sentence for each reason. */
import { newerSessions } from '../engine/model/learn.ts'
import { readCall } from '../engine/model/read-call.ts'
import type { Span } from '../engine/model/sessions.ts'
import { type Answer, type Call, type Fact, pairsOfLine, type State } from '../engine/model/state.ts'
import type { Observed } from './records.ts'

interface Refused {
  /** What was known before the call. */
  state: State
  call: Call
  span: Span
  known: readonly Fact[]
  answer: Answer
  observed: Observed
  /** The mistakes in its signature. */
  mistakes: readonly string[]
  /** The server's clock minus ours, by its Date header. */
  offsetMs: number | null
  /** When the session of its pair was used last. */
  lastUseMs: number
  /** Whether the secret that was given for its key was never shown to be right. */
  isUnproved: boolean
  sentenceOf(requirement: string): string
}

export function whyRefused(refused: Refused): string[] {
  const { known, mistakes, observed } = refused
  if (mistakes.length > 0) return [...mistakes]
  const reasons = known.filter(({ is }) => is === 'no').map((fact) => reasonOf(refused, fact))
  const own = [...new Set([...reasons, ...likelyReasons(refused)])]
  if (own.length > 0) return own
  const said = refused.answer.kind === 'refused' && refused.answer.said !== undefined ? ` (${refused.answer.said})` : ''
  if (observed.unknown.includes('authorization')) return [`Not known: the record does not show who called${said}`]
  const missing = missingFor(refused)
  if (missing !== null) return [`${missing}${said}`]
  return [`${openReason(refused)}${said}`]
}

/** Facts on which every call of a key or with a token rests. Their sentences say why it is accepted, so they explain no refusal. */
const ofEveryCall: ReadonlySet<string> = new Set([
  'keys/created-key-works',
  'tokens/authorize',
  'tokens/expire',
  'scopes/area-opens',
  'sessions/sixteen-live',
  'refresh/new-pair',
])

function openReason({ state, call, known, sentenceOf }: Refused): string {
  const unknown = known.filter(({ is }) => is === 'unknown').map(({ requirement }) => requirement)
  const pair = readCall(state, call).found?.pair
  if (pair?.standing === 'unknown') return 'Open: calls before it leave open whether its pair is still valid'
  const narrow = unknown.find((requirement) => !ofEveryCall.has(requirement))
  if (narrow !== undefined) return `Open: it may rest on "${sentenceOf(narrow)}" (${narrow})`
  if (pair !== undefined)
    return 'Open: nothing that was seen ended its token. It may have expired, the scope of its key may not cover the call, or others may have refreshed it or removed its key or session'
  return unknown.length > 0
    ? 'Open: its key may be disabled, deleted or locked'
    : 'Nothing that was seen makes this refusal right; others may have changed the server unseen'
}

/** What would have to be known to say more; null if it is known. */
function missingFor({ state, call, isUnproved }: Refused): string | null {
  const { auth, keyId: id, token, found, body } = readCall(state, call)
  if (id !== undefined && !state.keys.has(id))
    return `Not known: nothing was seen of the key "${id}"; "--keys FILE" or "--key-id" gives its secret`
  if (id !== undefined && isUnproved)
    return `It does not fit the secret that was given for the key "${id}", and no call has shown yet that this secret is right`
  const isRefresh = body.method === 'manager/auth' && token !== undefined
  if (auth.kind === 'other-scheme' || ((isRefresh || auth.kind === 'token') && found === undefined))
    return 'Not known: its token was not issued in sight, so it may be of before, or of nobody'
  return null
}

function reasonOf(refused: Refused, { requirement }: Fact): string {
  const { state, span, call, sentenceOf } = refused
  const { found, body } = readCall(state, call)
  const pair = found?.pair
  const sentence = `"${sentenceOf(requirement)}" (${requirement})`
  if (pair === undefined) return `${reasonsOfKeys[requirement] ?? 'It breaks'}: ${sentence}`
  switch (requirement) {
    case 'refresh/revokes-access':
    case 'refresh/revokes-refresh': {
      const next = pairsOfLine(state, pair.line).find(({ generation }) => generation === pair.generation + 1)
      const when = next === undefined ? 'was refreshed' : `was refreshed ${ago(span.from - next.made.to)}`
      return `Its pair ${when}, which revokes it: use the newest pair. ${sentence}`
    }
    case 'tokens/expire':
    case 'expires-in/enforced':
      return `The access token expired ${ago(span.from - (pair.accessEnds?.to ?? span.from))}: refresh it. ${sentence}`
    case 'refresh/own-expiry':
      return `The refresh token expired ${ago(span.from - (pair.refreshEnds?.to ?? span.from))}: request a new grant. ${sentence}`
    default:
      if (requirement.startsWith('scopes/') || requirement === 'keys/apikey-scope')
        return `The scope "${pair.scope.join(' ')}" of its token does not cover ${String(body.method)}. ${sentence}`
      if (/^addresses\/|address-kept$/.test(requirement))
        return `The token is bound to "${pair.scope.filter((word) => word.startsWith('ipAddr:')).join(' ')}", and the call comes from elsewhere. ${sentence}`
      return `It breaks ${sentence}`
  }
}

const reasonsOfKeys: { readonly [requirement: string]: string } = {
  'authorization/required': 'The call has no authorization',
  'basic/credentials': 'The secret is not that of the key',
  'grants/credentials': 'The secret is not that of the key',
  'basic/public-key-refused': 'The key has a public key, so it takes only ECC signatures',
  'grants/public-key-refused': 'The key has a public key, so it takes only ECC signatures',
  'keys/scope-held': 'The scope of the key does not cover the method',
  'keys/apikey-scope': 'The scope of the key does not cover the method',
  'tokens/refresh-is-no-access': 'A refresh token is sent where an access token belongs',
  'tokens/access-is-no-refresh': 'An access token is sent where a refresh token belongs',
  'envelope/malformed-answered': 'The body is not JSON',
}

/** Reasons that nothing else on the server could take away, and that the model leaves open: they accuse nobody. */
function likelyReasons({ state, call, span, offsetMs, lastUseMs }: Refused): string[] {
  const pair = readCall(state, call).found?.pair
  if (pair === undefined) return clockReasons(state, call, span, offsetMs)
  const newer = newerSessions(state, pair, lastUseMs)
  return newer === undefined
    ? []
    : [`Its session was removed: ${newer} sessions of this key are newer, and a user has 16 at most`]
}

/** A server may take timestamps in a window; a clock that is minutes off is the likely reason. */
const likelyWindowMs = 60_000

function clockReasons(state: State, call: Call, { from }: Span, offsetMs: number | null): string[] {
  const { auth } = readCall(state, call)
  const [, , timestamp = '', nonce = ''] = auth.kind === 'signature' ? auth.fields : []
  if (!/^\d{13}$/.test(timestamp)) return []
  const off = Number(timestamp) - (from + (offsetMs ?? 0))
  const reasons =
    Math.abs(off) < likelyWindowMs
      ? []
      : [
          `Its timestamp is ${duration(Math.abs(off))} ${off < 0 ? 'behind' : 'ahead of'} the clock of the server, which may take it for too old or too new`,
        ]
  return state.nonces.has(nonce) ? [...reasons, 'Its nonce was used before: make a new one for each call'] : reasons
}

const ago = (ms: number): string => `${duration(Math.max(0, ms))} ago`

function duration(ms: number): string {
  if (ms < 1000) return `${Math.round(ms)} ms`
  if (ms < 120_000) return `${(ms / 1000).toFixed(1)} s`
  return `${Math.round(ms / 60_000)} min`
}
