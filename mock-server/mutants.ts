import { authorizationMutants } from './mutants/authorization.ts'
import { dataToSignMutants } from './mutants/data-to-sign.ts'
import { eccMutants } from './mutants/ecc.ts'
import { envelopeMutants } from './mutants/envelope.ts'
import { grantMutants } from './mutants/grants.ts'
import { hmacMutants } from './mutants/hmac.ts'
import { keyMutants } from './mutants/keys.ts'
import { limitMutants } from './mutants/limits.ts'
import type { Mutant } from './mutants/mutant.ts'
import { refreshMutants } from './mutants/refresh.ts'
import { scopeMutants, sessionMutants } from './mutants/scopes.ts'
import { signatureHeaderMutants } from './mutants/signature-header.ts'
import { tokenMutants } from './mutants/tokens.ts'

export type { Mutant }

/** Servers that are wrong in one way each: what the suite must find, requirement by requirement. */
export const mutants: readonly Mutant[] = [
  ...envelopeMutants,
  ...authorizationMutants,
  ...dataToSignMutants,
  ...hmacMutants,
  ...eccMutants,
  ...signatureHeaderMutants,
  ...keyMutants,
  ...limitMutants,
  ...grantMutants,
  ...tokenMutants,
  ...refreshMutants,
  ...scopeMutants,
  ...sessionMutants,
]
