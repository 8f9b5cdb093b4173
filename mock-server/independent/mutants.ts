import type { IndependentMutant } from './independent-mutant.ts'
import { addressMutants } from './mutants/addresses.ts'
import { basicMutants } from './mutants/basic.ts'
import { eccMutants } from './mutants/ecc.ts'
import { eighthCredentialMutants } from './mutants/eighth-credentials.ts'
import { eighthEccMutants } from './mutants/eighth-ecc.ts'
import { eighthEnvelopeMutants } from './mutants/eighth-envelope.ts'
import { eighthHmacMutants } from './mutants/eighth-hmac.ts'
import { eighthKeyMutants } from './mutants/eighth-keys.ts'
import { eighthRefreshMutants } from './mutants/eighth-refresh.ts'
import { eighthRestrictionMutants } from './mutants/eighth-restrictions.ts'
import { eighthSessionMutants } from './mutants/eighth-sessions.ts'
import { eighthTokenMutants } from './mutants/eighth-tokens.ts'
import { envelopeMutants } from './mutants/envelope.ts'
import { expiryMutants } from './mutants/expiry.ts'
import { fifthCredentialMutants } from './mutants/fifth-credentials.ts'
import { fifthEccMutants } from './mutants/fifth-ecc.ts'
import { fifthHmacMutants } from './mutants/fifth-hmac.ts'
import { fifthKeyMutants } from './mutants/fifth-keys.ts'
import { fifthRefreshMutants } from './mutants/fifth-refresh.ts'
import { fifthRestrictionMutants } from './mutants/fifth-restrictions.ts'
import { fifthSessionMutants } from './mutants/fifth-sessions.ts'
import { fifthTokenMutants } from './mutants/fifth-tokens.ts'
import { fourthCombinationMutants } from './mutants/fourth-combinations.ts'
import { fourthCredentialMutants } from './mutants/fourth-credentials.ts'
import { fourthEnvelopeMutants } from './mutants/fourth-envelope.ts'
import { fourthKeyMutants } from './mutants/fourth-keys.ts'
import { fourthRefreshMutants } from './mutants/fourth-refresh.ts'
import { fourthScopeMutants } from './mutants/fourth-scopes.ts'
import { fourthSessionMutants } from './mutants/fourth-sessions.ts'
import { fourthSignatureMutants } from './mutants/fourth-signatures.ts'
import { fourthTokenMutants } from './mutants/fourth-tokens.ts'
import { grantMutants } from './mutants/grants.ts'
import { hmacMutants } from './mutants/hmac.ts'
import { keyLimitMutants } from './mutants/key-limit.ts'
import { keyMutants } from './mutants/keys.ts'
import { ninthCredentialMutants } from './mutants/ninth-credentials.ts'
import { ninthEccMutants } from './mutants/ninth-ecc.ts'
import { ninthEnvelopeMutants } from './mutants/ninth-envelope.ts'
import { ninthHmacMutants } from './mutants/ninth-hmac.ts'
import { ninthKeyMutants } from './mutants/ninth-keys.ts'
import { ninthRefreshMutants } from './mutants/ninth-refresh.ts'
import { ninthRestrictionMutants } from './mutants/ninth-restrictions.ts'
import { ninthSessionMutants } from './mutants/ninth-sessions.ts'
import { ninthTokenMutants } from './mutants/ninth-tokens.ts'
import { raceMutants } from './mutants/races.ts'
import { refreshMutants } from './mutants/refresh.ts'
import { revocationMutants } from './mutants/revocation.ts'
import { scopeMutants } from './mutants/scopes.ts'
import { secondCredentialMutants } from './mutants/second-credentials.ts'
import { secondEnvelopeMutants } from './mutants/second-envelope.ts'
import { secondKeyMutants } from './mutants/second-keys.ts'
import { secondLifetimeMutants } from './mutants/second-lifetimes.ts'
import { secondRefreshMutants } from './mutants/second-refresh.ts'
import { secondRevocationMutants } from './mutants/second-revocation.ts'
import { secondScopeMutants } from './mutants/second-scopes.ts'
import { secondSessionMutants } from './mutants/second-sessions.ts'
import { secondSignatureMutants } from './mutants/second-signatures.ts'
import { sessionMutants } from './mutants/sessions.ts'
import { signedDataMutants } from './mutants/signed-data.ts'
import { tenthCredentialMutants } from './mutants/tenth-credentials.ts'
import { tenthEccMutants } from './mutants/tenth-ecc.ts'
import { tenthEnvelopeMutants } from './mutants/tenth-envelope.ts'
import { tenthHmacMutants } from './mutants/tenth-hmac.ts'
import { tenthKeyMutants } from './mutants/tenth-keys.ts'
import { tenthRefreshMutants } from './mutants/tenth-refresh.ts'
import { tenthRestrictionMutants } from './mutants/tenth-restrictions.ts'
import { tenthSessionMutants } from './mutants/tenth-sessions.ts'
import { tenthTokenMutants } from './mutants/tenth-tokens.ts'
import { thirdCredentialMutants } from './mutants/third-credentials.ts'
import { thirdEnvelopeMutants } from './mutants/third-envelope.ts'
import { thirdKeyMutants } from './mutants/third-keys.ts'
import { thirdRefreshMutants } from './mutants/third-refresh.ts'
import { thirdSessionMutants } from './mutants/third-sessions.ts'
import { thirdSignatureMutants } from './mutants/third-signatures.ts'
import { thirdTokenMutants } from './mutants/third-tokens.ts'
import { tokenMutants } from './mutants/tokens.ts'
import { twelfthCredentialMutants } from './mutants/twelfth-credentials.ts'
import { twelfthEnvelopeMutants } from './mutants/twelfth-envelope.ts'
import { twelfthKeyMutants } from './mutants/twelfth-keys.ts'
import { twelfthSessionMutants } from './mutants/twelfth-sessions.ts'
import { twelfthSignatureMutants } from './mutants/twelfth-signatures.ts'
import { twelfthTokenMutants } from './mutants/twelfth-tokens.ts'

/** The first set, by an author who did not know the cases. */
const firstMutants: readonly IndependentMutant[] = [
  ...hmacMutants,
  ...signedDataMutants,
  ...eccMutants,
  ...basicMutants,
  ...grantMutants,
  ...tokenMutants,
  ...refreshMutants,
  ...revocationMutants,
  ...expiryMutants,
  ...sessionMutants,
  ...addressMutants,
  ...scopeMutants,
  ...keyMutants,
  ...keyLimitMutants,
  ...envelopeMutants,
  ...raceMutants,
]

/** The second set: another author, who knows neither the cases nor the first set. */
const secondMutants: readonly IndependentMutant[] = [
  ...secondSignatureMutants,
  ...secondCredentialMutants,
  ...secondLifetimeMutants,
  ...secondRefreshMutants,
  ...secondRevocationMutants,
  ...secondSessionMutants,
  ...secondScopeMutants,
  ...secondKeyMutants,
  ...secondEnvelopeMutants,
]

/** The third set: another author, who does not know the cases (README.md). */
const thirdMutants: readonly IndependentMutant[] = [
  ...thirdSignatureMutants,
  ...thirdCredentialMutants,
  ...thirdTokenMutants,
  ...thirdRefreshMutants,
  ...thirdSessionMutants,
  ...thirdKeyMutants,
  ...thirdEnvelopeMutants,
]

/** The fourth set: another author, who does not know the cases (README.md). */
const fourthMutants: readonly IndependentMutant[] = [
  ...fourthSignatureMutants,
  ...fourthCredentialMutants,
  ...fourthTokenMutants,
  ...fourthScopeMutants,
  ...fourthRefreshMutants,
  ...fourthSessionMutants,
  ...fourthKeyMutants,
  ...fourthEnvelopeMutants,
  ...fourthCombinationMutants,
]

/** The fifth set: another author, who does not know the cases (README.md). */
const fifthMutants: readonly IndependentMutant[] = [
  ...fifthHmacMutants,
  ...fifthEccMutants,
  ...fifthCredentialMutants,
  ...fifthTokenMutants,
  ...fifthRestrictionMutants,
  ...fifthSessionMutants,
  ...fifthRefreshMutants,
  ...fifthKeyMutants,
]

/** The eighth set: another author, who does not know the cases (README.md). */
const eighthMutants: readonly IndependentMutant[] = [
  ...eighthHmacMutants,
  ...eighthEccMutants,
  ...eighthCredentialMutants,
  ...eighthTokenMutants,
  ...eighthRestrictionMutants,
  ...eighthSessionMutants,
  ...eighthRefreshMutants,
  ...eighthKeyMutants,
  ...eighthEnvelopeMutants,
]

/** The ninth set: another author, who does not know the cases (README.md). */
const ninthMutants: readonly IndependentMutant[] = [
  ...ninthHmacMutants,
  ...ninthEccMutants,
  ...ninthCredentialMutants,
  ...ninthTokenMutants,
  ...ninthRestrictionMutants,
  ...ninthSessionMutants,
  ...ninthRefreshMutants,
  ...ninthKeyMutants,
  ...ninthEnvelopeMutants,
]

/** The tenth set: another author, who does not know the cases (README.md). */
const tenthMutants: readonly IndependentMutant[] = [
  ...tenthHmacMutants,
  ...tenthEccMutants,
  ...tenthCredentialMutants,
  ...tenthTokenMutants,
  ...tenthRestrictionMutants,
  ...tenthSessionMutants,
  ...tenthRefreshMutants,
  ...tenthKeyMutants,
  ...tenthEnvelopeMutants,
]

/** The twelfth set: another author, who does not know the cases (README.md). */
const twelfthMutants: readonly IndependentMutant[] = [
  ...twelfthSignatureMutants,
  ...twelfthCredentialMutants,
  ...twelfthTokenMutants,
  ...twelfthSessionMutants,
  ...twelfthKeyMutants,
  ...twelfthEnvelopeMutants,
]

/** Deliberately broken servers whose authors do not know the suite's cases, by the set that they belong to (README.md). */
export const mutantSets: { readonly [set: string]: readonly IndependentMutant[] } = {
  first: firstMutants,
  second: secondMutants,
  third: thirdMutants,
  fourth: fourthMutants,
  fifth: fifthMutants,
  eighth: eighthMutants,
  ninth: ninthMutants,
  tenth: tenthMutants,
  twelfth: twelfthMutants,
}

/** All of them. */
export const independentMutants: readonly IndependentMutant[] = Object.values(mutantSets).flat()
