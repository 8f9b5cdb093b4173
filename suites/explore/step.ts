/** The steps of an exploration as values, with names instead of credentials, so that a sequence can be run again from its beginning. */

/** A JSON value in which `$name.path` stands for a value of an earlier step, and `$unique` for a text of this run, `$digits` for one of digits. */
export type Json = string | number | boolean | null | readonly Json[] | { readonly [name: string]: Json }

export type Auth =
  | { readonly kind: 'none' }
  | { readonly kind: 'basic' | 'hmac' | 'ecc'; readonly who: string }
  /** `token`: `$pair.accessToken` as a rule. */
  | { readonly kind: 'token'; readonly token: string }
  /** Exactly these characters; `$name.header` is the header of an earlier step. */
  | { readonly kind: 'header'; readonly header: string }

/** One change of one part of a call. Parts are the `field` words of fixtures/deviations.yaml. */
export interface Change {
  readonly field: string
  /** An operation of fixtures/deviations.yaml, or a known mistake (`data/with-commas`). */
  readonly operation?: string
  /** Another credential in this place. */
  readonly place?: string
  /** Another JSON value; undefined with `remove`. */
  readonly value?: Json
  readonly remove?: boolean
  /** The same value in another JSON form. */
  readonly wrap?: Wrap
}

export type Wrap =
  | 'in-list'
  | 'in-object'
  | 'joined'
  | 'joined-by-comma'
  | 'first-alone'
  | 'with-number'
  | 'with-null'
  | 'as-map'
  | 'in-list-twice'
  | 'as-json-text'

export interface CallStep {
  readonly do: 'call'
  readonly method: string
  readonly params: { readonly [name: string]: Json }
  readonly auth: Auth
  readonly change?: Change
  /** How the JSON is written, before it is signed: operations of fixtures/deviations.yaml on bodies, or a size in bytes. */
  readonly form?: string | number
  readonly from?: string
  readonly connection?: Connection
  /** The length of the body is not announced (`Transfer-Encoding: chunked`). */
  readonly inChunks?: boolean
  /** Later steps know the result by this name. */
  readonly as?: string
  readonly id?: number
  /** What the nonce looks like; base64 unless given, `marks` is base64 that ends in `////++++`. With `leading-zero` the most significant byte of the MAC, or of S in an ED25519 signature, is zero; with `trailing-zero` the least significant one. */
  readonly nonce?: 'digits' | 'padded' | 'letters' | 'marks' | 'leading-zero' | 'trailing-zero'
}

/** A number or another name: a kept connection of its own. */
export type Connection = string | number

export interface WaitStep {
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
  const texts = JSON.stringify([step.params, step.auth, step.change ?? null])
  const named = Array.from(texts.matchAll(/\$([A-Za-z][\w-]*)/g), ([, name = '']) => name)
  return [...new Set([...who, ...named])].filter((name) => !/^(unique|digits)\b/.test(name))
}
