import type { SigningKey } from '../engine/signer/draft.ts'
import type { VerifyInput } from './verify.ts'

export interface DiagnoseInput extends VerifyInput {
  /** The whole URL that was called; without it, mistakes with host, base path or query are rarely found. */
  url?: string | undefined
  /** Other keys that may have been used by accident, each with the name under which to report it. */
  otherKeys?: readonly { name: string; key: SigningKey }[]
}
