/** The steps of an exploration as values, with names instead of credentials, so that a sequence can be run again from its beginning. */

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
  const texts = JSON.stringify([step.params, step.auth, step.change ?? null, step.also ?? null])
  const named = Array.from(texts.matchAll(/\$([A-Za-z][\w-]*)/g), ([, name = '']) => name)
  return [...new Set([...who, ...named])].filter((name) => !/^(unique|digits)\b/.test(name))
}
