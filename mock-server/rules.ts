import { authorizationRules } from './rules/authorization.ts'
import { envelopeRules } from './rules/envelope.ts'
import { keyRules } from './rules/keys.ts'
import { scopeRules } from './rules/scopes.ts'
import { signatureRules } from './rules/signatures.ts'
import { tokenRules } from './rules/tokens.ts'

/**
 * Every decision of the server that a requirement depends on, one small function each. A mutant is this table with an entry
 * replaced; what the document leaves open is in profile.ts instead.
 */
export const rules = {
  ...envelopeRules,
  ...authorizationRules,
  ...signatureRules,
  ...keyRules,
  ...tokenRules,
  ...scopeRules,
}

export type Rules = typeof rules
