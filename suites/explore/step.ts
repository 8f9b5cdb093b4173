/**
 * The steps of an exploration: calls of the fixture language, with references instead of credentials, so that a sequence can be run again and
 * written as a scenario. How they are made, and what they are about.
 */
import { sessionLimit } from '../engine/document.ts'
import { alterOf } from '../engine/language/deviations.ts'
import type { Alter, Auth, Call, Value as Json } from '../engine/language/fixture-types.ts'
import type { Problem } from '../engine/model/state.ts'
import type { Change, NonceKind } from '../engine/signer/changed-call.ts'
import type { Exchange } from '../engine/target.ts'

export type { Auth, Change }

type Params = { readonly [name: string]: Json }

/** A number or another name: a kept connection of its own; `new`: one for this call alone. */
type Connection = string | number

/** A call as generators make it. What it keeps is its result, under one name. */
export interface CallStep extends Omit<Call, 'connection'> {
  readonly params: Params
  readonly alter?: Alter
  readonly nonce?: NonceKind
  readonly connection?: Connection
  readonly beside?: undefined
}

/** Calls at once: one, and others beside it. */
export interface BurstStep extends Omit<CallStep, 'beside'> {
  readonly beside: readonly CallStep[]
  readonly connections: 'new' | 'warm'
}

interface WaitStep {
  /** `350ms` */
  readonly wait: string
}

export type Step = CallStep | BurstStep | WaitStep

/** What a name stands for. */
export interface Value {
  readonly id?: string
  readonly secret?: string
  /** Of an ED25519 key. */
  readonly seed?: Uint8Array
  readonly publicKey?: string
  readonly accessToken?: string
  readonly refreshToken?: string
  readonly scope?: readonly string[]
  /** Of a key. */
  readonly name?: string
  /** The Authorization header that was sent. */
  readonly header?: string
  /** The last field of that header. */
  readonly signature?: string
}

// The keys that steps name.

interface PlannedKey {
  /** What a reader must know of it. */
  readonly about: string
  /** How it is created, if the target lets it be. */
  readonly way?: 'basic' | 'ecc' | 'token'
  /** The test key that stands for it. */
  readonly member?: string
  /** Where that is narrow. */
  readonly scope?: readonly string[]
}

/** The keys of an exploration by their names. */
export const plannedKeys: { readonly [name: string]: PlannedKey } = {
  'by-basic': { about: 'a key that Basic credentials created', way: 'basic' },
  'by-ecc': { about: 'a key that an ECC signature created', way: 'ecc', member: 'erin' },
  'by-token': { about: 'a key that an access token created', way: 'token' },
  'by-child': { about: 'a key that an access token of a created key created', way: 'token' },
  'ecc-a': { about: 'a key with a public key', member: 'bob' },
  'ecc-b': { about: 'a key with a public key, which an access token created', way: 'token', member: 'carol' },
  'ecc-by-ecc': { about: 'a key with a public key, which an ECC signature created', way: 'ecc', scope: ['solution'] },
  'ecc-solution': { about: 'a key with a public key and the scope solution', scope: ['solution'] },
  'context-key': { about: 'a key with the scope context', member: 'dave', scope: ['context'] },
  'solution-key': { about: 'a key with the scope solution', scope: ['solution'] },
  'second-solution-key': { about: 'a key with the scope solution', scope: ['solution'] },
  'third-solution-key': { about: 'a key with the scope solution', scope: ['solution'] },
  'untried-key': { about: 'the key of the case keys/apikey-scope, which an access token created', scope: ['solution'] },
}

/** Whether one of these keys has a public key. */
export const isSigner = (name: string): boolean => name.startsWith('ecc-')

/** Keys that may only list solutions, with a secret and with a public key; a run has some that its cases created. */
export const solutionKeys = {
  secret: ['solution-key', 'second-solution-key', 'third-solution-key'],
  ecc: ['ecc-solution', 'ecc-by-ecc'],
}

// What a step is.

export const isWait = (step: Step | undefined): step is WaitStep => step !== undefined && 'wait' in step
export const isBurst = (step: Step | undefined): step is BurstStep =>
  step !== undefined && 'call' in step && step.beside !== undefined
export const isCall = (step: Step | undefined): step is CallStep =>
  step !== undefined && 'call' in step && step.beside === undefined

/** The calls of a step: none of a pause, and several of calls at once. */
export function callsOf(step: Step): readonly CallStep[] {
  if ('wait' in step) return []
  if (isCall(step)) return [step]
  const { beside, connections: _, ...first } = step
  return [first, ...beside]
}

/** How long a step waits. In ms. */
export const waitMs = (step: Step): number => ('wait' in step ? Number.parseFloat(step.wait) : 0)

/** By which name later steps know the result of a call. */
export const nameOf = ({ keep }: Pick<CallStep, 'keep'>): string | undefined =>
  keep === undefined ? undefined : Object.keys(keep)[0]

/** The same call; later steps know its result by this name. */
export const named = (step: CallStep, name: string): CallStep => ({ ...step, keep: { [name]: 'result' } })

/** How a call is authorized: `none`, `basic`, `hmac`, `ecc`, `token` or `header`. */
export const wayOf = (auth: Auth): string => (typeof auth === 'string' ? auth : (Object.keys(auth)[0] ?? ''))

/** The key whose credentials authorize a call. */
export function whoOf(auth: Auth): string | undefined {
  if (typeof auth === 'string' || 'token' in auth || 'header' in auth) return undefined
  return Object.values(auth)[0].slice(1)
}

/** The name in a reference to a member of its value: `pair` of `$pair.accessToken`. */
export const nameIn = (reference: unknown, member: string): string | undefined =>
  new RegExp(`^\\$([\\w-]+)\\.${member}$`).exec(String(reference))?.[1]

/** The pair whose access token authorizes a call. */
export const pairUsed = ({ auth }: Pick<CallStep, 'auth'>): string | undefined =>
  typeof auth === 'object' && 'token' in auth ? nameIn(auth.token, 'accessToken') : undefined

/** The pair that a call refreshes. */
export const refreshedIn = ({ params }: Pick<CallStep, 'params'>): string | undefined =>
  nameIn(params.refreshToken, 'refreshToken')

/** The key to which a call grants a pair. */
export const grantedTo = ({ params }: Pick<CallStep, 'params'>): string | undefined => nameIn(params.apiKeyId, 'id')

export const isCreation = ({ call }: Pick<CallStep, 'call'>): boolean => call === createMethod
export const isRefresh = ({ params }: Pick<CallStep, 'params'>): boolean => params.grantType === 'refresh_token'

/** The length of the body is not announced. */
export const isChunked = ({ headers }: Pick<CallStep, 'headers'>): boolean =>
  headers?.['transfer-encoding'] === 'chunked'

const references = /\$\{?([a-z]\w*(?:-\w+)*)/gi

/** Every name that a step refers to. */
export function namesIn(step: Step): string[] {
  if ('wait' in step) return []
  const found = Array.from(JSON.stringify(step).matchAll(references), ([, name = '']) => name)
  return [...new Set(found)].filter((name) => name !== 'unique' && name !== 'digits')
}

/** The same steps with other names in their references. @param other undefined: the reference stays */
export function withReferences<S>(steps: S, other: (name: string) => string | undefined): S {
  const text = JSON.stringify(steps).replace(references, (whole, name: string) => {
    const found = other(name)
    return found === undefined ? whole : `${whole.slice(0, -name.length)}${found}`
  })
  return JSON.parse(text) as S
}

// How steps are made.

const listMethod = 'solution/listSolutions'
const createMethod = 'manager/createApiKey'
const authMethod = 'manager/auth'

/** `as`: later steps know the result by this name. */
type More = Partial<Omit<CallStep, 'call' | 'params' | 'auth' | 'keep'>> & { readonly as?: string }

export function anyCall(method: string, params: Params, auth: Auth, { as, ...more }: More = {}): CallStep {
  return { call: method, params, auth, ...more, ...(as === undefined ? {} : { keep: { [as]: 'result' } }) }
}

export const none: Auth = 'none'
export const basic = (who: string): Auth => ({ basic: `$${who}` })
export const hmac = (who: string): Auth => ({ hmac: `$${who}` })
export const ecc = (who: string): Auth => ({ ecc: `$${who}` })
/** The access token of a pair. */
export const token = (pair: string): Auth => ({ token: `$${pair}.accessToken` })

export const list = (auth: Auth, more: More = {}): CallStep => anyCall(listMethod, {}, auth, more)

/** The grant api_key_credentials. */
export function grant(who: string, scope: readonly string[], more: More = {}): CallStep {
  const params = { grantType: 'api_key_credentials', apiKeyId: `$${who}.id`, apiKeySecret: `$${who}.secret`, scope }
  return anyCall(authMethod, inSomeOrder(params), none, more)
}

/** The grant refresh_token. */
export const refresh = (pair: string, more: More = {}): CallStep =>
  anyCall(authMethod, { grantType: 'refresh_token', refreshToken: `$${pair}.refreshToken` }, none, more)

export const create = (auth: Auth, params: Params, more: More = {}): CallStep =>
  anyCall(createMethod, inSomeOrder(params), auth, more)

/**
 * The order of params has no meaning. It follows from the params, so that a repeated step sends them in the same order. A public key comes
 * first, because the cases send it last.
 */
function inSomeOrder(params: Params): Params {
  const { publicKey, ...others } = params
  const entries = Object.entries(others)
  const first = JSON.stringify(params).length % Math.max(1, entries.length)
  const rest = Object.fromEntries([...entries.slice(first), ...entries.slice(0, first)])
  return publicKey === undefined ? rest : { publicKey, ...rest }
}

const orderOfDocument = ['grantType', 'apiKeyId', 'apiKeySecret', 'refreshToken', 'name', 'scope', 'publicKey']

/** The same step with the params of its calls in the order in which the document lists them. */
export function inDocumentOrder<One extends Step>(step: One): One {
  if ('wait' in step) return step
  const place = ([name]: readonly [string, unknown]): number => orderOfDocument.indexOf(name)
  const params = Object.fromEntries(Object.entries(step.params).sort((a, b) => place(a) - place(b)))
  return { ...step, params, ...(isBurst(step) ? { beside: step.beside.map(inDocumentOrder) } : {}) }
}

export const changed = (step: CallStep, ...changes: readonly Change[]): CallStep => ({
  ...step,
  alter: alterOf(...changes),
})

/** Several calls at once. @param on new connections, or such that carried calls before */
export function atOnce([first, ...beside]: readonly CallStep[], on: BurstStep['connections']): BurstStep {
  if (first === undefined) throw new Error('no calls')
  return { ...first, beside, connections: on }
}

export const pause = (ms: number): Step => ({ wait: `${ms}ms` })

// Sequences of steps: what they make and name, what they are about, and which steps are alike.

export function madeBy(step: Step): string[] {
  return callsOf(step).flatMap((call) => nameOf(call) ?? [])
}

export type Outcome = 'accepted' | 'refused' | 'broken'

/** An answer that no reading of the document allows, before it is tried again. */
export interface Candidate extends Problem {
  readonly kind: 'accepted' | 'refused' | 'broken' | 'shape' | 'history'
  /** Of a history: the answer that no order explains. */
  readonly outcome?: 'accepted' | 'refused' | 'broken'
  /** Of a history: the call with that answer, and whether the document refuses it whatever the others do. */
  readonly wrong?: { readonly at: number; readonly isByItself: boolean } | undefined
  /** Distinguishes findings of one requirement for the reader. */
  readonly fact: string
  /** Index of the log entry that shows it. */
  readonly entry: number
  /** The steps that show it, where the log has them in another form. */
  readonly steps?: readonly Step[]
  readonly script: string
}

/** A sequence that showed a finding. */
export interface Shown {
  /** The last step is the one that shows it. */
  readonly steps: readonly Step[]
  /** The outcome of each step. A burst counts as accepted. */
  readonly outcomes: readonly Outcome[]
  /** Its last call, secrets included. */
  readonly exchange?: Exchange | undefined
  /** What it shows broken, where that is another sentence than the one that was found first. */
  readonly as?: { readonly requirement: string; readonly fact: string } | undefined
}

/** The call that made what a name stands for. */
type FindMade = (name: string) => CallStep | undefined

export function findMadeBy(steps: readonly Step[]): FindMade {
  const made = new Map(steps.flatMap(callsOf).map((call) => [nameOf(call) ?? '', call]))
  return (name) => made.get(name)
}

/** The calls that made a pair, from its last refresh back to its grant. */
function lineOf(pair: string | undefined, find: FindMade): CallStep[] {
  const made = pair === undefined ? undefined : find(pair)
  if (made === undefined) return []
  const refreshed = refreshedIn(made)
  return refreshed === undefined || refreshed === pair ? [made] : [made, ...lineOf(refreshed, find)]
}

export const grantOf = (pair: string | undefined, find: FindMade): CallStep | undefined => lineOf(pair, find).at(-1)

/** How often a pair was refreshed. */
export const generationOf = (pair: string | undefined, find: FindMade): number =>
  Math.max(0, lineOf(pair, find).length - 1)

/** The key to which a pair was granted. */
export function granteeOf(pair: string | undefined, find: FindMade): string | undefined {
  const granted = grantOf(pair, find)
  return granted === undefined ? undefined : grantedTo(granted)
}

/** A step, or several that are alike. */
interface Group {
  readonly steps: readonly [Step, ...Step[]]
  readonly outcome: Outcome
}

/**
 * Groups of grants that make sessions of one key. The last step, which shows the finding, stays alone.
 *
 * @param which `put in`: only sessions that were put in, whose names say nothing: the language of fixtures repeats a call
 */
export function withSessionsTogether(shown: Shown, which: 'all' | 'put in'): Group[] {
  if (which === 'put in')
    return grouped(shown, (step) => (isOtherSession(step) ? sessionGrantOf(step) : listingOf(step)))
  const atOnce = new Set(shown.steps.flatMap((step) => (isBurst(step) ? madeBy(step) : [])))
  const kindOf = (step: CallStep): string | undefined =>
    sessionGrantOf(step) ?? listingOf(isPlainUse(step, atOnce) ? { ...step, auth: 'none' } : step)
  return grouped(shown, kindOf)
}

/** Whether a step is a call with the access token of one of these pairs. */
const isPlainUse = (step: Step, pairs: ReadonlySet<string>): boolean =>
  isCall(step) && step.call === 'solution/listSolutions' && step.alter === undefined && pairs.has(pairUsed(step) ?? '')

/** Whether calls are grants of sessions that differ in nothing else but the order of params. */
export function areSessionsOfOneKind(calls: readonly CallStep[]): boolean {
  const kinds = new Set(calls.map((call) => sessionGrantOf(inDocumentOrder(call))))
  return kinds.size === 1 && !kinds.has(undefined)
}

/** @param kindOf steps of one kind may be put together; undefined: not with others */
function grouped({ steps, outcomes }: Shown, kindOf: (step: CallStep) => string | undefined): Group[] {
  const groups: { steps: [Step, ...Step[]]; outcome: Outcome; kind: string | undefined }[] = []
  // A reader looks for the step that makes what a later one uses.
  const used = new Set(steps.flatMap((step) => namesIn(step).filter((name) => !madeBy(step).includes(name))))
  const sessions = new Set<string | undefined>()
  for (const [index, step] of steps.entries()) {
    const outcome = outcomes[index] ?? 'accepted'
    // A session whose name is used again may be the point.
    const isAgain = sessions.has(sessionOf(step) ?? '')
    sessions.add(sessionOf(step))
    const isAlone = !isCall(step) || used.has(nameOf(step) ?? '') || isAgain || index === steps.length - 1
    const kind = isAlone ? undefined : kindOf(step)
    const before = groups.at(-1)
    if (kind !== undefined && before?.kind === kind && before.outcome === outcome) before.steps.push(step)
    else groups.push({ steps: [step], outcome, kind })
  }
  return groups
}

const sessionWord = /,?"session:([^"]+)"/

/** What a grant of a session has in common with others. */
function sessionGrantOf({ keep: _keep, connection: _connection, ...grant }: CallStep): string | undefined {
  const { grantType, scope } = grant.params
  if (grantType !== 'api_key_credentials' || grant.alter !== undefined) return undefined
  const text = JSON.stringify(scope)
  if (!sessionWord.test(text)) return undefined
  return JSON.stringify({ ...grant, params: { ...grant.params, scope: text.replace(sessionWord, '') } })
}

/** A listing, which may be made several times. */
const listingOf = (step: CallStep): string | undefined =>
  step.call === 'solution/listSolutions' ? JSON.stringify(step) : undefined

/** The name of the session that a grant makes. */
export const sessionOf = (step: Step): string | undefined =>
  isCall(step) ? sessionWord.exec(JSON.stringify(step.params.scope))?.[1] : undefined

/** Over a second: a server may note in whole seconds when a session was made. */
export const quietMs = 1300

/** Whether it is the grant of a session that was put in. */
export const isOtherSession = (step: Step): step is CallStep =>
  isCall(step) && /^crowd\d+[nob]$/.test(nameOf(step) ?? '')

export const isCrowd = (step: Step | undefined): step is BurstStep =>
  isBurst(step) && step.beside.length >= sessionLimit && areSessionsOfOneKind(callsOf(step))

/**
 * @returns `live`: how many of the sessions were seen to live, more than may; undefined unless the steps are such grants and uses of their
 * tokens; older sessions before them do not matter
 */
export function crowdOf({ steps, outcomes }: Shown) {
  const at = steps.findIndex((step) => !('wait' in step) && !isOtherSession(step))
  const burst = steps[at]
  if (!isCrowd(burst)) return undefined
  const pairs = new Set(madeBy(burst))
  const uses = steps.slice(at + 1)
  if (!uses.every((use) => isPlainUse(use, pairs))) return undefined
  const live = new Set(uses.flatMap((use, index) => (outcomes[at + 1 + index] === 'accepted' ? namesIn(use) : []))).size
  return live > sessionLimit ? { burst, live } : undefined
}

/** Whether a requirement says when a token ends. */
export const isOfExpiry = (requirement: string): boolean =>
  /^(tokens\/expire|tokens\/expire-by-default|refresh\/own-expiry|expires-in\/enforced)$/.test(requirement)
