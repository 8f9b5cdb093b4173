import type { Auth, BodyForm } from '../fixture/fixture-types.ts'

/** A JSON-RPC call with its references resolved. */
export interface CallSpec {
  method: string
  params: unknown
  auth: Auth
  /** Chosen where undefined. */
  id?: unknown
  form?: BodyForm | undefined
  headers?: { [name: string]: string } | undefined
  from?: 'first-address' | 'second-address' | undefined
  /** The private key of a `publicKey` param, to use the key that is created. */
  privateKey?: string
  /** Not on a kept connection. */
  freshConnection?: boolean
  /** In a race: use a connection that carried a call before. */
  warmConnection?: boolean
  /** The id of the key that this call deletes, if any. */
  removes?: string
  /** The test key that this call creates. */
  member?: string
  /** A correct server refuses it, so it takes no session. */
  mustBeRefused?: boolean
  /** How long to wait for the answer, if shorter than usual. */
  timeoutMs?: number | undefined
  /** How many calls a step makes whose answers are judged together. */
  sharedBy?: number | undefined
  mayBeRefused?: boolean
}

/** Raw HTTP with its references resolved. */
export interface RawSpec {
  method: string
  path: string
  headers: { [name: string]: string }
  body: Uint8Array
  auth: Auth
  from?: 'first-address' | 'second-address' | undefined
  timeoutMs?: number | undefined
  sharedBy?: number | undefined
  mayBeRefused?: boolean
}
