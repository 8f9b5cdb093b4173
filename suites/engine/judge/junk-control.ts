/** Junk credentials that the target accepts. A method that accepts anything proves nothing by accepting a call. */

/** Kinds of credentials that are tried with junk; `none` is no Authorization header at all. */
export type CredentialKind = 'none' | 'basic' | 'hmac' | 'ecc' | 'token' | 'credentials' | 'refresh'

export interface JunkControl {
  /** `method kind` pairs on which junk was accepted. */
  junkTaken: string[]
}

/** Whether a method also accepts junk of this kind, or calls without authorization: an acceptance proves nothing then. */
export function takesJunk({ junkTaken }: JunkControl, method: string, kind: CredentialKind): boolean {
  return junkTaken.includes(`${method} ${kind}`) || junkTaken.includes(`${method} none`)
}
