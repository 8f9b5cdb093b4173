/** Steps and findings in words. */
import { countBy, counted } from '../engine/group.ts'
import { isStrings } from '../engine/json.ts'
import { changesOf } from '../engine/language/deviations.ts'
import type { Answer, Verdict } from '../engine/model/state.ts'
import { removed } from '../engine/signer/changed-call.ts'
import {
  areSessionsOfOneKind,
  type BurstStep,
  type CallStep,
  type Candidate,
  type Change,
  callsOf,
  crowdOf,
  findMadeBy,
  generationOf,
  grantedTo,
  grantOf,
  isBurst,
  isCall,
  isChunked,
  isRefresh,
  nameIn,
  nameOf,
  namesIn,
  pairUsed,
  refreshedIn,
  type Shown,
  type Step,
  sessionOf,
  waitMs,
  whoOf,
  withSessionsTogether,
} from './step.ts'

export function contradiction(step: CallStep, verdict: Verdict, answer: Answer): string {
  const what = describeStep(step)
  if (verdict.is === 'refused') return `${what} was accepted`
  if (answer.kind === 'broken') return `${what} was not answered (${answer.reason})`
  // An instance that an earlier run has used refuses it, too.
  const premise =
    verdict.requirement === 'limits/ten-can-be-made' ? ', although the instance is fresh, as --disposable says' : ''
  return `${what} was refused${premise}`
}

/** Describes a step in words. @param isNamed with the names of pairs, as in a sequence */
export function describeStep(step: CallStep, isNamed = false): string {
  const { call, alter, from, params, body, nonce } = step
  const refreshed = isNamed ? refreshedIn(step) : undefined
  const what =
    call !== 'manager/auth'
      ? `A call of ${call}`
      : isRefresh(step)
        ? `A refresh${refreshed === undefined ? '' : ` of ${refreshed}`}`
        : describeGrant(step)
  const where = from === undefined ? '' : ` from ${from.replace(/^(\w+)-/, 'the $1 ')}`
  const changes = changesOf(alter).map((one) => ` ${describeChange(one)}`)
  const chunks = isChunked(step) ? ' and its body in chunks' : ''
  return `${what}${howOf(step, isNamed)}${describeParams(call, params)}${where}${describeBody(body)}${chunks}${describeNonce(nonce)}${changes.join(' and')}`
}

/** Whose grant it is, and for what: what a token may do follows from it. */
function describeGrant(step: CallStep): string {
  const who = grantedTo(step)
  const { scope } = step.params
  const words = isStrings(scope) ? ` for the scope "${cut(scope.join(' '))}"` : ''
  return `A grant${who === undefined ? '' : ` to ${who}`}${words}`
}

/** Params that the document does not show. */
function describeParams(method: string, params: CallStep['params']): string {
  if (method !== 'solution/listSolutions' || Object.keys(params).length === 0) return ''
  return ` with the params ${cut(JSON.stringify(params))}`
}

const mostOfScope = 120
/** Ends before a placeholder or the name of a session rather than inside it. */
const cut = (text: string): string =>
  text.length > mostOfScope ? text.slice(0, mostOfScope).replace(/(?:session:\S*|\$[\w.{}-]*)$/, '') : text

/** Of the forms `cut-letters-…`. */
export const cutLetters = 'a body of 69 kB in 3-byte letters, some of which lie across the border of two reads'

function describeBody(form: CallStep['body']): string {
  if (form === undefined) return ''
  if (typeof form === 'object') return ` and a body of ${form.size} bytes`
  if (form.startsWith('cut-letters')) return ` and ${cutLetters}`
  return ` and its body written otherwise (${form})`
}

const nonces = {
  digits: ' and a nonce of digits',
  padded: ' and a padded nonce',
  letters: ' and a nonce of letters',
  marks: ' and a nonce that ends in "////++++"',
  'leading-zero': ' and a signature whose most significant byte is zero',
  'trailing-zero': ' and a signature whose least significant byte is zero',
}

const describeNonce = (nonce: CallStep['nonce']): string => (nonce === undefined ? '' : nonces[nonce])

function howOf(step: CallStep, isNamed: boolean): string {
  const { auth } = step
  if (typeof auth === 'string') return step.call === 'manager/auth' ? '' : ' without authorization'
  if ('token' in auth) {
    const kind = auth.token.endsWith('.refreshToken') ? 'refresh token' : 'access token'
    const pair = isNamed ? nameIn(auth.token, '(?:access|refresh)Token') : undefined
    return pair === undefined ? ` with ${kind === 'access token' ? 'an' : 'a'} ${kind}` : ` with the ${kind} of ${pair}`
  }
  if ('header' in auth)
    return auth.header.startsWith('$')
      ? ' with the header of an earlier call, which signs another body'
      : ` with the header "${auth.header}"`
  const what = 'basic' in auth ? 'Basic credentials' : 'hmac' in auth ? 'an HMAC' : 'an ED25519 signature'
  return ` with ${what} of ${whoOf(auth)}`
}

function describeChange({ field, operation, value }: Change): string {
  const part = field.replace(/^(param|member) /, '')
  if (field === 'mistake') return `with the mistake ${operation}`
  if (operation === removed) return `without ${part}`
  if (operation !== undefined) return `with its ${part} changed (${operation})`
  const isPlace = typeof value === 'string' && value.startsWith('$')
  return `with ${isPlace ? value.slice(1) : JSON.stringify(value)} as its ${part}`
}

/** Why the answers to calls cannot be right. @param calls how many calls have no order that the document allows */
export function notAllowed(calls: number): string {
  return calls === 1 ? 'the document does not allow it' : 'the document allows it in no order of the calls at once'
}

/**
 * The last call as the steps have it, which may be simpler than the one that was found first, with what its token went through.
 *
 * @param found the step that was found first
 */
export function headline({ message, requirement, kind }: Candidate, shown: Shown, found?: Step): string {
  const { steps } = shown
  const last = steps.at(-1)
  if (isBurst(last) && isBurst(found)) return ofSimplerBurst(message, last, found)
  if (!isCall(last)) return message
  const crowd = kind === 'accepted' ? crowdOf(shown) : undefined
  if (crowd !== undefined)
    return `${crowd.live} of ${callsOf(crowd.burst).length} sessions that were granted at once live`
  const [, outcome] = / was (accepted|refused)$/.exec(message) ?? []
  const text = outcome === undefined ? message : `${describeStep(last)} was ${outcome}`
  const refresh = refreshesOf[`${requirement} ${outcome}`]
  if (refresh !== undefined) return text.replace(/^A refresh (?=was )/, `${refresh} `)
  return isUsedBefore(refreshedIn(last), steps)
    ? text.replace(/^A refresh\b/, 'A refresh with a refresh token that was used before')
    : withPair(text, last, steps)
}

/** What a refresh is that breaks a requirement in this way. */
const refreshesOf: { readonly [broken: string]: string } = {
  'sessions/removed-refresh accepted': 'A refresh with the refresh token of a removed session',
  'refresh/own-expiry accepted': 'A refresh with an expired refresh token',
  'refresh/after-access-expiry refused': 'A refresh after the access token had expired',
}

/** The call of a burst that a message tells, as the simpler burst has it. */
function ofSimplerBurst(message: string, simpler: BurstStep, found: BurstStep): string {
  const [before, now] = [callsOf(found), callsOf(simpler)]
  const told = before.findIndex((call) => message.startsWith(`${describeStep(call)} was `))
  const [old, other] = [before[told], now[told]]
  return old === undefined || other === undefined || now.length !== before.length || old.call !== other.call
    ? message
    : message.replace(describeStep(old), () => describeStep(other))
}

/** What a token may do follows from the scope that was requested for it, and from the refreshes. */
function withPair(text: string, last: CallStep, steps: readonly Step[]): string {
  const pair = pairUsed(last)
  const find = findMadeBy(steps)
  const scope = grantOf(pair, find)?.params.scope
  if (!Array.isArray(scope)) return text
  const times = generationOf(pair, find)
  const past = [
    ...(times > 0 ? [`of a pair that was refreshed ${times === 1 ? 'once' : counted(times, 'time')}`] : []),
    ...(isUsedBefore(pair, steps) ? ['revoked by a refresh'] : []),
  ]
  const told = past.length === 0 ? '' : ` (${past.join(', ')})`
  return text.replace('with an access token', `with an access token for the scope "${scope.join(' ')}"${told}`)
}

/** Whether a pair was refreshed before the last step. */
const isUsedBefore = (pair: string | undefined, steps: readonly Step[]): boolean =>
  pair !== undefined &&
  steps
    .slice(0, -1)
    .flatMap(callsOf)
    .some((call) => call.alter === undefined && refreshedIn(call) === pair)

interface Told {
  /** Of the last step. */
  readonly outcome: string
  /** What a reader must know of keys. */
  explain(names: readonly string[]): readonly string[]
  readonly addresses: readonly { readonly name: string; readonly seen: string }[]
}

export function stepLines(shown: Shown & { sharesConnection: boolean }, told: Told): string[] {
  const { steps, outcomes } = shown
  const explained = new Set<string>()
  const connectionOf = shown.sharesConnection ? connectionsIn(steps) : () => undefined
  const isAboutAddresses = steps.some((step) => /"ipAddr:|"from":/.test(JSON.stringify(step)))
  const groups = withSessionsTogether({ steps, outcomes }, 'all')
  return groups.map(({ steps: [step, ...more], outcome: seenOutcome }, index) => {
    const outcome = index === groups.length - 1 ? told.outcome : seenOutcome
    const keys = told.explain(namesIn(step)).filter((text) => !explained.has(text))
    for (const text of keys) explained.add(text)
    const about = keys.map((text) => ` (${text})`).join('')
    if ('wait' in step) return `wait ${Math.round(waitMs(step))} ms${expiredAfter(steps, steps.indexOf(step))}`
    if (isBurst(step)) return `${burstText(step, steps)}${about}`
    const seen = isAboutAddresses ? addressSeen(told, step.from) : ''
    const connection = connectionOf(step)
    const from = seen === '' ? '' : step.from === undefined ? ` (from ${seen})` : ` (${seen})`
    const where = `${from}${connection === undefined ? '' : ` (on connection ${connection})`}`
    const what = describeStep(step, true)
    if (more.length > 0) return `${what}${where}, ${moreText(step, more)}: ${outcome}${about}`
    return `${what}${asOf(step)}${where}: ${outcome}${about}`
  })
}

const asOf = (step: CallStep): string => (nameOf(step) === undefined ? '' : ` as ${nameOf(step)}`)

/** The tokens that have expired once this pause is over, as far as their grants tell. @param at the place of the pause */
function expiredAfter(steps: readonly Step[], at: number): string {
  const waitedMs = (from: number, to: number): number =>
    steps.slice(from, to).reduce((sum, step) => sum + waitMs(step), 0)
  const expired = steps.slice(0, at).flatMap((step, index) => {
    const [, lifetimeMs] = /"expiresIn:(\d+)"/.exec(isCall(step) ? JSON.stringify(step.params.scope ?? '') : '') ?? []
    const made = isCall(step) ? nameOf(step) : undefined
    if (made === undefined || lifetimeMs === undefined) return []
    const isNew = waitedMs(index, at) < Number(lifetimeMs) && waitedMs(index, at + 1) >= Number(lifetimeMs)
    return isNew ? [made] : []
  })
  return expired.length === 0 ? '' : `, until the access token of ${expired.join(' and of ')} has expired`
}

/** How the further steps of a group differ from its first one. */
function moreText(step: CallStep, more: readonly Step[]): string {
  if (sessionOf(step) !== undefined) return `and the same for ${sessionsText(more)}`
  const tokens = more.flatMap(namesIn)
  if (new Set([...namesIn(step), ...tokens]).size === 1) return `${more.length + 1} times`
  return `and the same with ${tokens.length === 1 ? 'that' : 'those'} of ${fewNames(tokens)}`
}

/** Calls at once; those whose result is used later have a name. */
function burstText(step: BurstStep, steps: readonly Step[]): string {
  const calls = callsOf(step)
  const [first, ...others] = calls
  if (first !== undefined && others.length > 0 && areSessionsOfOneKind(calls))
    return `${calls.length} calls at once: ${describeStep(first, true)}${asOf(first)}, and the same for ${sessionsText(others)}`
  const used = new Set(steps.filter((other) => other !== step).flatMap(namesIn))
  const texts = calls.map((call) => `${describeStep(call, true)}${used.has(nameOf(call) ?? '') ? asOf(call) : ''}`)
  const parts = [...countBy(texts, (text) => text)].map(([text, count]) =>
    count === 1 ? text : `${text}, ${count} times`,
  )
  return `${calls.length} calls at once: ${parts.join('; ')}`
}

/** More names tell a reader nothing. */
const mostNames = 4

function sessionsText(grants: readonly Step[]): string {
  const names = grants.flatMap((step) => sessionOf(step) ?? [])
  return `${counted(names.length, 'more session')}: ${fewNames(names)}`
}

const fewNames = (names: readonly string[]): string =>
  (names.length > mostNames ? [names[0], names[1], '…', names.at(-1)] : names).join(', ')

/** One of our addresses as the target sees it; empty if that is not known. */
const addressSeen = ({ addresses }: Told, name: string | undefined): string =>
  (name === undefined ? addresses[0] : addresses.find((one) => one.name === name))?.seen ?? ''

/** The connection of steps that name none. */
const unnamed = 0

const numbers = ['one', 'two', 'three']

/** Calls from two addresses share no connection. */
const connectionOf = ({ connection = unnamed, from = 'first-address' }: CallStep): string => `${connection} ${from}`

/** `one`, `two`, … in the order of the steps; a call on a new connection shares none. */
export function connectionsIn(steps: readonly Step[]): (step: CallStep) => string | undefined {
  const used = steps.flatMap((step) => (isCall(step) && step.connection !== 'new' ? [connectionOf(step)] : []))
  const names = new Map([...new Set(used)].map((connection, at) => [connection, numbers[at] ?? `number-${at + 1}`]))
  return (step) => names.get(connectionOf(step))
}
