/** Junk credentials that the target accepts: where it takes anything, an acceptance shows nothing. */

/** Kinds of credentials that are tried with junk; `none` is no Authorization header at all. */
export type CredentialKind = 'none' | 'basic' | 'hmac' | 'ecc' | 'token' | 'credentials' | 'refresh'

export interface JunkControl {
  /** `method kind` pairs on which junk was accepted. */
  junkTaken: string[]
}

/** An acceptance of this kind of credential on this method shows nothing: junk, or nothing at all, is accepted there too. */
export function takesJunk({ junkTaken }: JunkControl, method: string, kind: CredentialKind): boolean {
  return junkTaken.includes(`${method} ${kind}`) || junkTaken.includes(`${method} none`)
}
