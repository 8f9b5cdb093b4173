/** The steps of an exploration as values, with names instead of credentials, so that a sequence can be run again; how they are made, and what they make. */
import type { Change as ChangeOfPart, Json, NonceKind } from '../engine/signer/changed-call.ts'

export type Auth =
  | { readonly kind: 'none' }
  | { readonly kind: 'basic' | 'hmac' | 'ecc'; readonly who: string }
  /** `token`: `$pair.accessToken` as a rule. */
  | { readonly kind: 'token'; readonly token: string }
  /** Exactly these characters; `$name.header` is the header of an earlier step. */
  | { readonly kind: 'header'; readonly header: string }

/** One change of one part of a call. */
export interface Change extends ChangeOfPart {
  /** Another credential in this place: a text with names. */
  readonly place?: string
}

export interface CallStep {
  readonly do: 'call'
  readonly method: string
  readonly params: { readonly [name: string]: Json }
  readonly auth: Auth
  readonly change?: Change
  /** Changes of other parts, such as another spelling of a word before wrong credentials. */
  readonly also?: readonly Change[]
  /** How the JSON is written, before it is signed: operations of fixtures/deviations.yaml on bodies, or a size in bytes. */
  readonly form?: string | number
  readonly from?: string
  readonly connection?: Connection
  /** The length of the body is not announced (`Transfer-Encoding: chunked`). */
  readonly inChunks?: boolean
  /** Later steps know the result by this name. */
  readonly as?: string
  readonly id?: number
  readonly nonce?: NonceKind
}

/** A number or another name: a kept connection of its own. */
export type Connection = string | number

interface WaitStep {
  readonly do: 'wait'
  readonly ms: number
}

/** Calls at once. */
export interface BurstStep {
  readonly do: 'burst'
  readonly calls: readonly CallStep[]
  readonly on: 'new' | 'warm'
}

export type Step = CallStep | WaitStep | BurstStep

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

/** Every name that a step refers to. */
export function namesIn(step: Step): string[] {
  if (step.do === 'wait') return []
  if (step.do === 'burst') return [...new Set(step.calls.flatMap(namesIn))]
  const who = 'who' in step.auth ? [step.auth.who] : []
  const texts = JSON.stringify([step.params, step.auth, step.change ?? null, step.also ?? null])
  const named = Array.from(texts.matchAll(/\$([A-Za-z][\w-]*)/g), ([, name = '']) => name)
  return [...new Set([...who, ...named])].filter((name) => !/^(unique|digits)\b/.test(name))
}

// Steps that scripts are made of.

const listMethod = 'solution/listSolutions'
const createMethod = 'manager/createApiKey'
const authMethod = 'manager/auth'

type More = Partial<Pick<CallStep, 'as' | 'from' | 'form' | 'change' | 'id' | 'nonce' | 'inChunks' | 'also'>> & {
  connection?: Connection
}

export const none: Auth = { kind: 'none' }
export const basic = (who: string): Auth => ({ kind: 'basic', who })
export const hmac = (who: string): Auth => ({ kind: 'hmac', who })
export const ecc = (who: string): Auth => ({ kind: 'ecc', who })
/** The access token of a pair. */
export const token = (pair: string): Auth => ({ kind: 'token', token: `$${pair}.accessToken` })

export const list = (auth: Auth, more: More = {}): CallStep => ({
  do: 'call',
  method: listMethod,
  params: {},
  auth,
  ...more,
})

/** The grant api_key_credentials. */
export function grant(who: string, scope: readonly string[], more: More = {}): CallStep {
  const params = { grantType: 'api_key_credentials', apiKeyId: `$${who}.id`, apiKeySecret: `$${who}.secret`, scope }
  return { do: 'call', method: authMethod, params: inSomeOrder(params), auth: none, ...more }
}

/** The grant refresh_token. */
export function refresh(pair: string, more: More = {}): CallStep {
  const params = { grantType: 'refresh_token', refreshToken: `$${pair}.refreshToken` }
  return { do: 'call', method: authMethod, params, auth: none, ...more }
}

export function create(auth: Auth, params: Params, more: More = {}): CallStep {
  return { do: 'call', method: createMethod, params: inSomeOrder(params), auth, ...more }
}

type Params = CallStep['params']

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
  if (step.do === 'burst') return { ...step, calls: step.calls.map(inDocumentOrder) }
  if (step.do === 'wait') return step
  const place = ([name]: readonly [string, unknown]): number => orderOfDocument.indexOf(name)
  const params = Object.fromEntries(Object.entries(step.params).sort((a, b) => place(a) - place(b)))
  return { ...step, params }
}

export const changed = (step: CallStep, change: Change): CallStep => ({ ...step, change })
