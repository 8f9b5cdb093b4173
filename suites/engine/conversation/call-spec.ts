import type { Auth, BodyForm } from '../language/fixture-types.ts'
import type { Change } from '../signer/change.ts'
import type { NonceKind } from '../signer/nonces.ts'

interface AnySpec {
  method: string
  auth: Auth
  from?: 'first-address' | 'second-address' | undefined
  /** How long to wait for the answer, if shorter than usual. */
  timeoutMs?: number | undefined
  /** How many calls a step makes whose answers are judged together. */
  sharedBy?: number | undefined
  mayBeRefused?: boolean
}

/** A JSON-RPC call with its references resolved. */
export interface CallSpec extends AnySpec {
  params: unknown
  /** Chosen where undefined. */
  id?: unknown
  form?: BodyForm | undefined
  /** Changes of its parts, applied to the bytes that would otherwise be sent. */
  changes?: readonly Change[] | undefined
  /** What its nonce looks like. */
  nonce?: NonceKind | undefined
  headers?: { [name: string]: string } | undefined
  /** The private key of a `publicKey` param, to use the key that is created. */
  privateKey?: string
  /** Not on a kept connection. */
  freshConnection?: boolean
  /** The name of a connection that only calls with this name use. */
  ownConnection?: string | undefined
  /** In a race: use a connection that carried a call before. */
  warmConnection?: boolean
  /** The id of the key that this call deletes, if any. */
  removes?: string
  /** The test key that this call creates. */
  member?: string
  /** A correct server refuses it, so it takes no session. */
  mustBeRefused?: boolean
}

/** Raw HTTP with its references resolved. */
export interface RawSpec extends AnySpec {
  path: string
  headers: { [name: string]: string }
  body: Uint8Array
}
