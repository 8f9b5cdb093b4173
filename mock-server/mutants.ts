import { authorizationMutants } from './mutants/authorization.ts'
import { envelopeMutants } from './mutants/envelope.ts'
import { keyMutants, limitMutants } from './mutants/keys.ts'
import type { Mutant } from './mutants/mutant.ts'
import { refreshMutants } from './mutants/refresh.ts'
import { scopeMutants, sessionMutants } from './mutants/scopes.ts'
import { signatureMutants } from './mutants/signatures.ts'
import { tokenMutants } from './mutants/tokens.ts'

export type { Mutant }

/** Servers that are wrong in one way each: what the suite must find, requirement by requirement. */
export const mutants: readonly Mutant[] = [
  ...envelopeMutants,
  ...authorizationMutants,
  ...signatureMutants,
  ...keyMutants,
  ...limitMutants,
  ...tokenMutants,
  ...refreshMutants,
  ...scopeMutants,
  ...sessionMutants,
]
